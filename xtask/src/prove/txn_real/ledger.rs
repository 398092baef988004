//! What producers know of their transactions, and what Java's consumer reads of them.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail};

use crate::prove::verdict::Verdict;

/// How a transaction has to have ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    Committed,
    Aborted,
    /// The producer died on the way: as a whole or not at all.
    Unknown,
}

#[derive(Debug, Default)]
pub(super) struct Ledger {
    fates: BTreeMap<u64, Fate>,
    /// Of each transaction, how often each of its records was read.
    read: BTreeMap<u64, Vec<u32>>,
}

impl Ledger {
    pub(super) fn set(&mut self, number: u64, fate: Fate) {
        self.fates.insert(number, fate);
    }

    /// Takes in the journal of one producer. Gives the number of the last transaction.
    pub(super) fn take(&mut self, journal: &str) -> Result<Option<u64>> {
        let mut last = None;
        for line in journal.lines() {
            let (what, rest) = line.split_once(' ').unwrap_or((line, ""));
            let fate = match what {
                "begun" => Fate::Unknown,
                "committed" => Fate::Committed,
                "aborted" => Fate::Aborted,
                "initialized" | "error" | "at" => continue,
                _ => bail!("a journal has the line {line:?}"),
            };
            let number = rest.parse().with_context(|| format!("{rest:?} is no number"))?;
            self.set(number, fate);
            last = Some(number);
        }
        Ok(last)
    }

    /// Takes in what was read of one topic: transaction, which record of it, and of how many.
    pub(super) fn read(&mut self, lines: &str) -> Result<()> {
        // The console consumer tells on its output why it ended, in several lines: nothing came for as long as it was to wait.
        let is_record = |line: &&str| line.starts_with(|c: char| c.is_ascii_digit()) && !line.contains("ERROR");
        for line in lines.lines().filter(is_record) {
            let words: Vec<u64> = line
                .split(' ')
                .map(|word| word.parse().with_context(|| format!("a record is {line:?}")))
                .collect::<Result<_>>()?;
            let &[number, at, of] = &words[..] else { bail!("a record is {line:?}") };
            let read = self.read.entry(number).or_insert_with(|| vec![0; of as usize]);
            *read.get_mut(at as usize).with_context(|| format!("a record is {line:?}"))? += 1;
        }
        Ok(())
    }

    pub(super) fn judge(&self, verdict: &mut Verdict) {
        let count = |fate| self.fates.values().filter(|other| **other == fate).count();
        verdict.figure("transactions", self.fates.len());
        verdict.figure("committed", count(Fate::Committed));
        verdict.figure("aborted", count(Fate::Aborted));
        verdict.figure("unknown", count(Fate::Unknown));
        let faults = self.faults();
        verdict.figure("faults", faults.len());
        verdict
            .require(faults.is_empty(), format!("nothing is partial, twice, lost or there though aborted: {faults:?}"));
    }

    fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        for (number, fate) in &self.fates {
            let read = self.read.get(number).map_or(&[][..], Vec::as_slice);
            let has_all = !read.is_empty() && read.iter().all(|times| *times == 1);
            let is_right = match fate {
                Fate::Committed => has_all,
                Fate::Aborted => read.is_empty(),
                Fate::Unknown => has_all || read.is_empty(),
            };
            if !is_right {
                faults.push(format!("{number} is {fate:?}, and was read {read:?}"));
            }
        }
        let strange = self.read.keys().filter(|number| !self.fates.contains_key(number));
        faults.extend(strange.map(|number| format!("nobody has begun {number}")));
        faults
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_partial_twice_lost_or_not_to_be_there_is_seen() {
        let journal = "initialized\nbegun 0\ncommitted 0\nbegun 1\naborted 1\nbegun 2\nat Written\nbegun 3\nerror x\n";
        let faults = |read: &str| {
            let mut ledger = Ledger::default();
            assert_eq!(ledger.take(journal).expect("a journal"), Some(3));
            ledger.read(read).expect("records");
            ledger.faults().len()
        };
        assert_eq!(faults("0 0 2\n0 1 2\n3 0 2\n3 1 2\n2026-12-01T04:01:54Z main ERROR ended: \n\n timed out"), 0);
        assert_eq!(faults("0 0 2\n0 1 2\n0 1 2"), 1, "twice");
        assert_eq!(faults("0 0 2"), 1, "partial");
        assert_eq!(faults(""), 1, "lost");
        assert_eq!(faults("0 0 2\n0 1 2\n1 0 2\n1 1 2"), 1, "aborted");
        assert_eq!(faults("0 0 2\n0 1 2\n2 1 2"), 1, "half of what is unknown");
        assert_eq!(faults("0 0 2\n0 1 2\n9 0 1"), 1, "of nobody");
    }
}
