//! Counts by writer, reader and codec.

use std::collections::BTreeMap;
use std::fmt;

use super::topics::CODECS;

/// How many records each reader found equal.
#[derive(Debug, Default)]
pub(super) struct Table(BTreeMap<(&'static str, &'static str), [usize; CODECS.len()]>);

impl Table {
    pub(super) fn add(&mut self, writer: &'static str, reader: &'static str, codec: &str, equal: usize) {
        let row = self.0.entry((writer, reader)).or_default();
        if let Some(at) = CODECS.iter().position(|known| *known == codec) {
            row[at] += equal;
        }
    }

    /// A row as a figure: `none:1,gzip:2,...`.
    pub(super) fn row(&self, writer: &'static str, reader: &'static str) -> String {
        let row = self.0.get(&(writer, reader)).copied().unwrap_or_default();
        let cells = CODECS.iter().zip(row).map(|(codec, count)| format!("{codec}:{count}"));
        cells.collect::<Vec<_>>().join(",")
    }

    /// Whether every codec of a row has counts.
    pub(super) fn is_full(&self, writer: &'static str, reader: &'static str) -> bool {
        self.0.get(&(writer, reader)).is_some_and(|row| row.iter().all(|count| *count > 0))
    }

    pub(super) fn total(&self) -> usize {
        self.0.values().flatten().sum()
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:<12}{:<16}", "written by", "read by")?;
        for codec in CODECS {
            write!(f, "{codec:>9}")?;
        }
        for ((writer, reader), row) in &self.0 {
            write!(f, "\n{writer:<12}{reader:<16}")?;
            for count in row {
                write!(f, "{count:>9}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_add_up() {
        let mut table = Table::default();
        for codec in CODECS {
            assert!(!table.is_full("a", "b"));
            table.add("a", "b", codec, 2);
        }
        table.add("a", "b", "lz4", 1);
        assert_eq!(table.row("a", "b"), "none:2,gzip:2,snappy:2,lz4:3,zstd:2");
        assert!(table.is_full("a", "b"));
        assert_eq!(table.total(), 11);
    }
}
