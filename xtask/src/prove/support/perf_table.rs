//! The table of Kafka's ShareConsumerPerformance, which `ackflow perf share-consume` prints as well.

/// What one run consumed.
#[derive(Debug, PartialEq)]
pub(in crate::prove) struct Consumed {
    pub(in crate::prove) records: u64,
    pub(in crate::prove) per_second: f64,
}

/// Reads the columns by their names; the last row counts. `None` when there is no such table.
pub(in crate::prove) fn consumed(text: &str) -> Option<Consumed> {
    let cells = |line: &str| line.split(',').map(|cell| cell.trim().to_owned()).collect::<Vec<_>>();
    let mut lines = text.lines().skip_while(|line| !line.starts_with("start.time"));
    let header = cells(lines.next()?);
    let row = lines.map(cells).filter(|row| row.len() == header.len()).last()?;
    let cell = |name: &str| header.iter().position(|column| column == name).map(|index| row[index].as_str());
    Some(Consumed {
        records: cell("data.consumed.in.nMsg")?.parse().ok()?,
        per_second: cell("nMsg.sec")?.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_found_by_name() {
        let text = "warning\nstart.time, end.time, data.consumed.in.MB, MB.sec, nMsg.sec, data.consumed.in.nMsg, fetch.time.ms\n\
                    2026-11-29 18:48:07:133, 2026-11-29 18:48:11:656, 9.5412, 2.1095, 22119.6109, 100047, 4523\n";
        assert_eq!(consumed(text), Some(Consumed { records: 100_047, per_second: 22119.6109 }));
        assert_eq!(consumed("no table"), None);
    }
}
