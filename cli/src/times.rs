//! Times on the command line, as Kafka's tools take them.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use jiff::civil::DateTime;
use jiff::{SpanRelativeTo, Timestamp};

/// Reads a date and time of ISO 8601, to the millisecond, in milliseconds since 1970. Without a zone it is UTC, as in Kafka's tools.
pub(crate) fn datetime(text: &str) -> Result<i64, String> {
    let has_time = text.contains(['T', 't']);
    let zoned = text.parse::<Timestamp>();
    let utc = || text.parse::<DateTime>()?.to_zoned(jiff::tz::TimeZone::UTC).map(|time| time.timestamp());
    match zoned.or_else(|_| utc()) {
        Ok(time) if has_time && time.as_millisecond() >= 0 => Ok(time.as_millisecond()),
        _ => Err("expected a date and time since 1970 such as 2026-11-30T12:00:00.000, in UTC unless a zone \
                  (+02:00) follows"
            .to_owned()),
    }
}

/// Reads a duration of ISO 8601, such as `P1DT2H30M`; a day has 24 hours.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let span = text.parse::<jiff::Span>().and_then(|span| span.to_duration(SpanRelativeTo::days_are_24_hours()));
    span.ok()
        .and_then(|span| Duration::try_from(span).ok())
        .ok_or_else(|| "expected a duration such as PT30M or P1DT2H, not a negative one".to_owned())
}

/// Now, less `back`, in milliseconds since 1970.
pub(crate) fn before_now(back: Duration) -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(now.saturating_sub(back).as_millis()).unwrap_or(i64::MAX)
}

/// A time in milliseconds since 1970 as text; the number itself where no calendar has it.
pub(crate) fn text(millis: i64) -> String {
    Timestamp::from_millisecond(millis).map_or_else(|_| millis.to_string(), |time| format!("{time:.3}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn datetimes_are_utc_unless_a_zone_follows() {
        assert_eq!(datetime("1970-01-01T00:00:01.500"), Ok(1500));
        assert_eq!(datetime("1970-01-01T00:00:01Z"), Ok(1000));
        assert_eq!(datetime("1970-01-01T02:00:00.000+02:00"), Ok(0));
        assert_eq!(text(1500), "1970-01-01T00:00:01.500Z");
        for wrong in ["", "yesterday", "2026-11-30", "2026-13-01T00:00:00", "1969-12-31T23:59:59"] {
            assert!(datetime(wrong).unwrap_err().contains("2026-11-30T12:00:00.000"), "{wrong}");
        }
    }

    #[test]
    fn durations_are_those_of_iso_8601() {
        assert_eq!(duration("P1DT2H30M"), Ok(Duration::from_secs(((24 + 2) * 60 + 30) * 60)));
        assert_eq!(duration("PT0.5S"), Ok(Duration::from_millis(500)));
        for wrong in ["", "1", "-PT1S", "P1Y"] {
            assert!(duration(wrong).unwrap_err().contains("PT30M"), "{wrong}");
        }
        assert!(before_now(Duration::MAX) == 0 && before_now(Duration::ZERO) > 1_700_000_000_000);
    }
}
