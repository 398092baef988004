//! What was handed out, what became of it, and whether that is exact.

use std::collections::{BTreeMap, BTreeSet};

use ackflow_client::share::ShareRecord;
use ackflow_protocol::records::crc32c;
use anyhow::{Context, Result};
use serde_json::{Value, json};

/// A record: partition, offset, CRC-32C of its value.
pub(crate) type Key = (i32, i64, u32);

pub(crate) fn key(record: &ShareRecord<'_>) -> Key {
    (record.partition, record.offset, crc32c(record.value.unwrap_or_default()))
}

/// What the output of ReadTopic.java says.
pub(crate) fn content(lines: &str) -> Result<BTreeSet<Key>> {
    lines
        .lines()
        .map(|line| {
            let mut fields = line.split(' ');
            let mut field = || fields.next().context("a line has three fields");
            Ok((field()?.parse()?, field()?.parse()?, field()?.parse()?))
        })
        .collect()
}

/// The life of each record that was handed out.
#[derive(Default)]
pub(crate) struct Ledger {
    records: BTreeMap<Key, Life>,
    deliveries: u64,
    refused: u64,
    leader_is_going: bool,
    takes_back: bool,
    faults: Vec<String>,
}

#[derive(Clone, Copy)]
struct Life {
    delivery_count: i16,
    /// The broker has confirmed that it is accepted or rejected.
    ended: bool,
    /// Its leader was lost while it was out: the broker forgets that it was acquired, and may give the same count again.
    forgotten: bool,
    /// The broker has taken back that it was delivered.
    taken_back: bool,
}

impl Ledger {
    /// A member got the record.
    pub(crate) fn hand_out(&mut self, key: Key, delivery_count: i16) {
        self.deliveries += 1;
        let Some(life) = self.records.get_mut(&key) else {
            self.records.insert(key, Life { delivery_count, ended: false, forgotten: false, taken_back: false });
            return;
        };
        let fault = match life {
            Life { forgotten: true, .. } => None,
            Life { ended: true, .. } => Some("again after it was accepted"),
            Life { taken_back: true, delivery_count: before, .. } if delivery_count == *before => None,
            Life { delivery_count: before, .. } if delivery_count <= *before => {
                Some("again with no new delivery count")
            }
            _ => None,
        };
        if let Some(fault) = fault {
            self.faults.push(format!("{}@{} {fault} ({} then {delivery_count})", key.0, key.1, life.delivery_count));
        }
        *life = Life { delivery_count, ended: false, forgotten: false, taken_back: false };
    }

    /// The broker confirmed that the record is done with.
    pub(crate) fn end(&mut self, key: Key) {
        if let Some(life) = self.records.get_mut(&key) {
            life.ended = true;
        }
    }

    /// The acknowledgement did not take effect, and the member was told so.
    pub(crate) fn refuse(&mut self, key: Key) {
        self.refused += 1;
        if let Some(life) = self.records.get_mut(&key) {
            life.forgotten |= self.leader_is_going;
            life.taken_back |= self.takes_back;
        }
    }

    /// Until this is taken back, a record whose acknowledgement is refused was out when its leader went, which has forgotten that.
    pub(crate) fn leader_is_going(&mut self, is_going: bool) {
        self.leader_is_going = is_going;
    }

    /// A record whose acknowledgement is refused was given back with its connection, and the broker does not count that delivery: so do
    /// brokers of before 4.2.
    pub(crate) fn takes_back_what_a_connection_held(&mut self, takes_back: bool) {
        self.takes_back = takes_back;
    }

    /// Something that must not be.
    pub(crate) fn fault(&mut self, fault: impl Into<String>) {
        self.faults.push(fault.into());
    }

    /// How many records are done with, or may be: of those that were out when a leader was killed nobody knows whether it took the
    /// acknowledgement. They come again, or the lag says that they are done with.
    pub(crate) fn accounted(&self) -> usize {
        self.records.values().filter(|life| life.ended || life.forgotten).count()
    }

    /// How many records are done with.
    pub(crate) fn ended(&self) -> usize {
        self.ended_among(|_| true)
    }

    /// How many of those that the condition picks are done with.
    pub(crate) fn ended_among(&self, picks: impl Fn(&Key) -> bool) -> usize {
        self.records.iter().filter(|(key, life)| life.ended && picks(key)).count()
    }

    /// Compares with what the topic holds. `gone` is what it held before, and need not have been handed out.
    pub(crate) fn judge(mut self, content: &BTreeSet<Key>, gone: &BTreeSet<Key>, lag: Option<i64>) -> Report {
        let is_accounted = |key: &&Key| self.records.get(key).is_some_and(|life| life.ended || life.forgotten);
        let lost = content.len() - content.iter().filter(is_accounted).count();
        let strangers: Vec<_> =
            self.records.keys().filter(|key| !content.contains(key) && !gone.contains(key)).copied().collect();
        self.faults.extend(strangers.iter().map(|key| format!("{}@{} is not in the topic", key.0, key.1)));
        let records = content.len();
        let again = self.deliveries - self.records.len() as u64;
        Report { records, again, refused: self.refused, lost, lag, faults: self.faults, notes: BTreeMap::new() }
    }
}

/// How a scenario ended.
pub(crate) struct Report {
    records: usize,
    /// Deliveries beyond one a record.
    again: u64,
    /// Acknowledgements of a record that did not take effect.
    refused: u64,
    lost: usize,
    /// `None` where the broker does not know.
    lag: Option<i64>,
    faults: Vec<String>,
    notes: BTreeMap<&'static str, Value>,
}

impl Report {
    /// A scenario that could not be played to its end.
    pub(crate) fn failed(error: &anyhow::Error) -> Self {
        let faults = vec![format!("{error:#}")];
        Self { records: 0, again: 0, refused: 0, lost: 0, lag: None, faults, notes: BTreeMap::new() }
    }

    /// Of two parts of one scenario.
    pub(crate) fn and(mut self, other: Self) -> Self {
        self.records += other.records;
        self.again += other.again;
        self.refused += other.refused;
        self.lost += other.lost;
        self.lag = self.lag.zip(other.lag).map(|(one, two)| one + two);
        self.faults.extend(other.faults);
        self.notes.extend(other.notes);
        self
    }

    pub(crate) fn note(&mut self, name: &'static str, value: impl Into<Value>) {
        self.notes.insert(name, value.into());
    }

    /// Requires something more.
    pub(crate) fn require(&mut self, condition: bool, what: impl Into<String>) {
        if !condition {
            self.faults.push(format!("not so: {}", what.into()));
        }
    }

    pub(crate) fn exact(&self) -> bool {
        self.lost == 0 && self.faults.is_empty() && self.lag.is_none_or(|lag| lag == 0)
    }

    pub(crate) fn to_json(&self) -> Value {
        let faults: Vec<&String> = self.faults.iter().take(10).collect();
        json!({
            "records": self.records, "lost": self.lost, "again": self.again, "refused": self.refused, "lag": self.lag,
            "fault_count": self.faults.len(), "faults": faults, "notes": self.notes,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: Key = (0, 7, 42);

    fn judge(ledger: Ledger) -> Report {
        ledger.judge(&BTreeSet::from([KEY]), &BTreeSet::new(), Some(0))
    }

    #[test]
    fn a_record_that_comes_once_and_is_confirmed_is_exact() {
        let mut ledger = Ledger::default();
        ledger.hand_out(KEY, 1);
        ledger.end(KEY);
        assert!(judge(ledger).exact());
    }

    #[test]
    fn a_record_whose_acknowledgement_was_never_confirmed_is_lost() {
        let mut ledger = Ledger::default();
        ledger.hand_out(KEY, 1);
        assert_eq!(judge(ledger).lost, 1);
    }

    #[test]
    fn coming_again_takes_a_new_delivery_count_or_a_lost_leader() {
        let again = |second: i16, forgotten: bool, ended: bool| {
            let mut ledger = Ledger::default();
            ledger.hand_out(KEY, 1);
            if ended {
                ledger.end(KEY);
            }
            ledger.leader_is_going(forgotten);
            if !ended {
                ledger.refuse(KEY);
            }
            ledger.hand_out(KEY, second);
            ledger.end(KEY);
            judge(ledger).exact()
        };
        assert!(again(2, false, false));
        assert!(!again(1, false, false));
        assert!(again(1, true, false));
        assert!(!again(2, false, true));
        assert!(!again(1, true, true), "what was confirmed was not out");
    }

    #[test]
    fn a_delivery_may_be_taken_back_once_and_not_what_was_confirmed() {
        let again = |second: i16, refused: bool| {
            let mut ledger = Ledger::default();
            ledger.hand_out(KEY, 2);
            ledger.takes_back_what_a_connection_held(true);
            if refused {
                ledger.refuse(KEY);
            } else {
                ledger.end(KEY);
            }
            ledger.hand_out(KEY, second);
            ledger.end(KEY);
            judge(ledger).exact()
        };
        assert!(again(2, true) && again(3, true));
        assert!(!again(1, true) && !again(2, false));
    }

    #[test]
    fn a_record_that_the_topic_does_not_hold_is_a_fault_and_lag_is_too() {
        let mut ledger = Ledger::default();
        ledger.hand_out(KEY, 1);
        ledger.end(KEY);
        ledger.hand_out((0, 8, 1), 1);
        assert!(!judge(ledger).exact());
        let mut ledger = Ledger::default();
        ledger.hand_out(KEY, 1);
        ledger.end(KEY);
        assert!(!ledger.judge(&BTreeSet::from([KEY]), &BTreeSet::new(), Some(1)).exact());
    }
}
