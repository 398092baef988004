//! What was handed out, what was said about it, and what the brokers confirmed.

use std::collections::{BTreeMap, BTreeSet};

use ackflow_client::share::AckType;

/// Partition and offset.
pub(crate) type Key = (i32, i64);

/// The life of each record that was handed out.
#[derive(Default)]
pub(crate) struct Ledger {
    records: BTreeMap<Key, Life>,
    deliveries: u64,
    pub(crate) faults: Vec<String>,
}

struct Life {
    delivery_count: i16,
    /// What was said about this delivery, if anything was.
    said: Option<AckType>,
    /// What a broker has confirmed of it.
    confirmed: Option<AckType>,
}

impl Ledger {
    /// A member got a record.
    pub(crate) fn hand_out(&mut self, key: Key, delivery_count: i16) {
        self.deliveries += 1;
        let life = Life { delivery_count, said: None, confirmed: None };
        let Some(before) = self.records.insert(key, life) else { return };
        if matches!(before.confirmed, Some(AckType::Accept | AckType::Reject)) {
            self.fault(key, format!("comes again after a broker took {:?}", before.confirmed));
        }
        if delivery_count <= before.delivery_count {
            self.fault(key, format!("comes again with no new delivery count: {}", before.delivery_count));
        }
    }

    /// A member says something about a record, which may or may not reach a broker.
    pub(crate) fn say(&mut self, key: Key, ack: AckType) {
        match self.records.get_mut(&key) {
            Some(life) => life.said = Some(ack),
            None => self.fault(key, format!("{ack:?} is said, but it was never handed out")),
        }
    }

    /// A broker has taken what was said about a record.
    pub(crate) fn confirm(&mut self, key: Key, ack: AckType) {
        let Some(life) = self.records.get_mut(&key) else {
            return self.fault(key, format!("{ack:?} is confirmed, but it was never handed out"));
        };
        let (said, before) = (life.said, life.confirmed.replace(ack));
        if said != Some(ack) {
            self.fault(key, format!("{ack:?} is confirmed, but {said:?} was said"));
        }
        if before.is_some() {
            self.fault(key, format!("{ack:?} is confirmed after {before:?}"));
        }
    }

    /// A broker has refused what was said about a record.
    pub(crate) fn refuse(&mut self, key: Key, ack: AckType, why: impl std::fmt::Display) {
        self.fault(key, format!("{ack:?} is refused: {why}"));
    }

    fn fault(&mut self, key: Key, what: String) {
        self.faults.push(format!("{}@{} {what}", key.0, key.1));
    }

    /// Whether the record was handed out, ever.
    pub(crate) fn knows(&self, key: Key) -> bool {
        self.records.contains_key(&key)
    }

    /// How many records have an acceptance or rejection that was confirmed to the member.
    pub(crate) fn confirmed(&self) -> u64 {
        let ended = |life: &&Life| matches!(life.confirmed, Some(AckType::Accept | AckType::Reject));
        self.records.values().filter(ended).count() as u64
    }

    /// Deliveries beyond one a record.
    pub(crate) fn again(&self) -> u64 {
        self.deliveries - self.records.len() as u64
    }

    /// Compares with what was produced, when the group says that nothing is left: each record was handed out, and somebody has said
    /// that it is done with.
    pub(crate) fn judge(&mut self, produced: &BTreeSet<Key>) {
        let ended = |life: &Life| matches!(life.said, Some(AckType::Accept | AckType::Reject));
        for key in produced {
            match self.records.get(key) {
                None => self.fault(*key, "is done with, and nobody got it".to_owned()),
                Some(life) if !ended(life) => {
                    self.fault(*key, format!("is done with, and {:?} was said last", life.said))
                }
                Some(_) => {}
            }
        }
        let strangers: Vec<Key> = self.records.keys().filter(|key| !produced.contains(key)).copied().collect();
        strangers.into_iter().for_each(|key| self.fault(key, "was never produced".to_owned()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: Key = (0, 7);

    fn faults(play: impl FnOnce(&mut Ledger)) -> Vec<String> {
        let mut ledger = Ledger::default();
        play(&mut ledger);
        ledger.judge(&BTreeSet::from([KEY]));
        ledger.faults
    }

    #[test]
    fn a_record_that_is_released_and_accepted_with_the_next_delivery_is_well() {
        let none = faults(|ledger| {
            ledger.hand_out(KEY, 1);
            ledger.say(KEY, AckType::Release);
            ledger.confirm(KEY, AckType::Release);
            ledger.hand_out(KEY, 2);
            ledger.say(KEY, AckType::Accept);
        });
        assert_eq!(none, [""; 0]);
    }

    #[test]
    fn what_was_lost_or_came_too_often_is_a_fault() {
        assert_eq!(faults(|_| ()).len(), 1, "nobody got it");
        assert_eq!(faults(|ledger| ledger.hand_out(KEY, 1)).len(), 1, "nobody said that it is done with");
        let twice = |second_count| {
            faults(move |ledger| {
                ledger.hand_out(KEY, 1);
                ledger.say(KEY, AckType::Accept);
                ledger.confirm(KEY, AckType::Accept);
                ledger.hand_out(KEY, second_count);
                ledger.say(KEY, AckType::Accept);
            })
        };
        assert_eq!((twice(2).len(), twice(1).len()), (1, 2));
        let never_handed_out = faults(|ledger| ledger.confirm(KEY, AckType::Accept));
        assert_eq!(never_handed_out.len(), 2);
        let other_word = faults(|ledger| {
            ledger.hand_out(KEY, 1);
            ledger.say(KEY, AckType::Accept);
            ledger.confirm(KEY, AckType::Reject);
            ledger.confirm(KEY, AckType::Accept);
        });
        assert_eq!(other_word.len(), 2);
    }
}
