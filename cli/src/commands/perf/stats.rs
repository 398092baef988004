//! What a run measured, in the columns of Kafka's `ShareConsumerPerformance`.

use jiff::Zoned;

/// The header of [`Stats::row`].
pub(super) const HEADER: &str =
    "start.time, end.time, data.consumed.in.MB, MB.sec, nMsg.sec, data.consumed.in.nMsg, fetch.time.ms";

/// Bytes and records between two points in time.
pub(super) struct Stats {
    pub(super) start: Zoned,
    pub(super) end: Zoned,
    /// Key and value bytes.
    pub(super) bytes: u64,
    pub(super) records: u64,
}

impl Stats {
    fn millis(&self) -> u64 {
        let elapsed = self.end.timestamp().as_millisecond() - self.start.timestamp().as_millisecond();
        // Kafka's tool divides by the elapsed time too; a run of less than a millisecond is not infinitely fast.
        u64::try_from(elapsed).unwrap_or(0).max(1)
    }

    /// Records a second.
    pub(super) fn records_per_second(&self) -> f64 {
        self.records as f64 * 1000.0 / self.millis() as f64
    }

    /// One line in the columns of [`HEADER`].
    pub(super) fn row(&self) -> String {
        let megabytes = self.bytes as f64 / (1024.0 * 1024.0);
        format!(
            "{}, {}, {:.4}, {:.4}, {:.4}, {}, {}",
            time(&self.start),
            time(&self.end),
            megabytes,
            megabytes * 1000.0 / self.millis() as f64,
            self.records_per_second(),
            self.records,
            self.millis(),
        )
    }
}

/// Kafka's default date format, `yyyy-MM-dd HH:mm:ss:SSS`.
fn time(at: &Zoned) -> String {
    at.strftime("%Y-%m-%d %H:%M:%S:%3f").to_string().replacen('.', ":", 1)
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use jiff::tz::TimeZone;

    use super::*;

    #[test]
    fn row_has_the_columns_of_kafkas_tool() {
        let at = |text: &str| text.parse::<Timestamp>().unwrap().to_zoned(TimeZone::UTC);
        let (start, end) = (at("2026-01-02T03:04:05.006Z"), at("2026-01-02T03:04:07.006Z"));
        let stats = Stats { start, end, bytes: 4 << 20, records: 1000 };
        assert_eq!(
            stats.row(),
            "2026-01-02 03:04:05:006, 2026-01-02 03:04:07:006, 4.0000, 2.0000, 500.0000, 1000, 2000"
        );
        assert_eq!(stats.row().matches(',').count(), HEADER.matches(',').count());
    }
}
