//! What members have written down, and what must be true of it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

/// All that a group was given.
#[derive(Debug, Default)]
pub(super) struct Journals {
    /// How often each value came, over all members.
    pub(super) came: BTreeMap<u64, u32>,
    /// Records that a member was given though it had read on behind them, or did not have their partition.
    pub(super) wrong: Vec<String>,
    /// What its members were told.
    pub(super) errors: Vec<String>,
}

impl Journals {
    /// Reads the journal of one member.
    pub(super) fn read(&mut self, journal: &Path) -> Result<()> {
        let text = fs::read_to_string(journal).with_context(|| format!("reading {}", journal.display()))?;
        self.take(&text)
    }

    fn take(&mut self, text: &str) -> Result<()> {
        let mut has: BTreeSet<&str> = BTreeSet::new();
        let mut next: BTreeMap<&str, u64> = BTreeMap::new();
        // The last line of a process that was killed may be torn.
        for line in text.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n')) {
            let (what, rest) = line.split_once(' ').unwrap_or((line, ""));
            let words: Vec<&str> = rest.split_whitespace().collect();
            match (what, &words[..]) {
                ("assigned", partitions) => {
                    has.extend(partitions);
                    partitions.iter().for_each(|partition| _ = next.remove(partition));
                }
                ("gone", partitions) => partitions.iter().for_each(|partition| _ = has.remove(partition)),
                ("record", &[partition, offset, value]) => {
                    let offset: u64 = offset.parse().context("an offset is a number")?;
                    if !has.contains(partition) || next.get(partition).is_some_and(|next| offset < *next) {
                        self.wrong.push(line.to_owned());
                    }
                    next.insert(partition, offset + 1);
                    *self.came.entry(value.parse().context("a value is a number")?).or_default() += 1;
                }
                ("error", _) => self.errors.push(rest.to_owned()),
                _ => anyhow::bail!("a journal has the line {line:?}"),
            }
        }
        Ok(())
    }

    /// How many of so many values never came.
    pub(super) fn missing(&self, records: u64) -> usize {
        (0..records).filter(|value| !self.came.contains_key(value)).count()
    }

    /// How many came more than once.
    pub(super) fn repeated(&self) -> u32 {
        self.came.values().map(|times| times - 1).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Journals {
        let mut journals = Journals::default();
        journals.take(text).expect("a journal");
        journals
    }

    #[test]
    fn what_is_missing_repeated_or_wrong_is_seen() {
        let good =
            of("assigned 0 1\nrecord 0 5 0\nrecord 0 7 1\ngone 0\nassigned 0\nrecord 0 7 1\nerror a pause\nrecord 0 8");
        assert!(good.wrong.is_empty(), "{good:?}");
        assert_eq!((good.missing(3), good.repeated(), good.errors.len()), (1, 1, 1));
        assert_eq!(of("assigned 0\nrecord 0 5 0\nrecord 0 5 0\n").wrong.len(), 1, "twice in one assignment");
        assert_eq!(of("assigned 0\ngone 0\nrecord 0 5 0\n").wrong.len(), 1, "of a partition that is gone");
    }
}
