//! What is written where, and what a log holds then.

use std::collections::{BTreeMap, HashMap};

use serde_json::{Value, json};

use super::content::{COMBINATIONS, Content, Record};
use super::shown::{Place, Shown};

/// The codecs by Kafka's names.
pub(super) const CODECS: [&str; 5] = ["none", "gzip", "snappy", "lz4", "zstd"];

/// What a topic is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Plain,
    /// Transactions, some of which are aborted.
    Transactional,
    /// The broker sets the time.
    AppendTime,
    /// The codec's highest level, or what the client takes for it.
    Level(i32),
    /// The cleaner leaves the last record of each key.
    Compacted,
    CompactedTransactional,
}

/// A topic of one writer.
#[derive(Clone, Debug)]
pub(super) struct Topic {
    pub(super) name: String,
    pub(super) writer: &'static str,
    pub(super) codec: &'static str,
    pub(super) kind: Kind,
    pub(super) partitions: i32,
    steps: Vec<Step>,
    /// Of a second producer, which comes later.
    later: Vec<Step>,
}

#[derive(Clone, Debug)]
enum Step {
    Record(Record),
    Flush,
    Begin,
    Commit,
    Abort,
}

/// Records between two flushes, which end a batch.
const TOGETHER: usize = 40;
/// A day: later than any other record of a topic, and than its segment may last.
const MUCH_LATER_MS: i64 = 86_400_000;

impl Topic {
    pub(super) fn new(
        writer: &'static str,
        codec: &'static str,
        kind: Kind,
        content: &mut Content,
        around: i64,
    ) -> Self {
        let (suffix, partitions) = match kind {
            Kind::Plain => ("plain", 2),
            Kind::Transactional => ("transactional", 2),
            Kind::AppendTime => ("append-time", 1),
            Kind::Level(_) => ("level", 1),
            Kind::Compacted => ("compacted", 1),
            Kind::CompactedTransactional => ("compacted-transactional", 1),
        };
        let name = format!("{writer}-{codec}-{suffix}");
        let (steps, later) = Default::default();
        let mut topic = Self { name, writer, codec, kind, partitions, steps, later };
        topic.fill(content);
        if topic.is_compacted() {
            topic.finish(content, around);
        }
        topic
    }

    fn fill(&mut self, content: &mut Content) {
        let count = COMBINATIONS * self.partitions as usize;
        for (number, start) in (0..count).step_by(TOGETHER).enumerate() {
            let mut steps = Vec::new();
            for i in start..count.min(start + TOGETHER) {
                let partition = i as i32 % self.partitions;
                steps.push(Step::Record(if self.is_compacted() {
                    content.keyed(partition)
                } else if i == 2 * TOGETHER {
                    content.large(partition)
                } else {
                    content.record(partition)
                }));
            }
            steps.push(Step::Flush);
            let end = if number % 3 == 1 { Step::Abort } else { Step::Commit };
            let steps = self.bracketed(steps, end);
            self.steps.extend(steps);
        }
    }

    /// What makes the cleaner begin. A segment ends when a record comes that is so much later than its first; the cleaner leaves the last
    /// segment alone. What the first producer wrote last is overwritten by the second one: the cleaner takes the record away but keeps its
    /// batch, which holds the producer's sequence number.
    fn finish(&mut self, content: &mut Content, around: i64) {
        let record = |key: &str, content: &mut Content| Record { key: Some(key.into()), ..content.keyed(0) };
        let overwritten = record("overwritten", content);
        let overwriting = Record { timestamp: overwritten.timestamp, ..record("overwritten", content) };
        let last = Record { timestamp: around + MUCH_LATER_MS, ..record("last", content) };
        let alone = |topic: &Self, record| topic.bracketed(vec![Step::Record(record), Step::Flush], Step::Commit);
        let first = alone(self, overwritten);
        self.steps.extend(first);
        self.later = [alone(self, overwriting), alone(self, last)].concat();
    }

    /// In a transaction, if the topic has them.
    fn bracketed(&self, steps: Vec<Step>, end: Step) -> Vec<Step> {
        if !self.is_transactional() {
            return steps;
        }
        [Step::Begin].into_iter().chain(steps).chain([end]).collect()
    }

    pub(super) fn is_transactional(&self) -> bool {
        matches!(self.kind, Kind::Transactional | Kind::CompactedTransactional)
    }

    pub(super) fn is_compacted(&self) -> bool {
        matches!(self.kind, Kind::Compacted | Kind::CompactedTransactional)
    }

    /// The line that creates it.
    pub(super) fn to_json(&self) -> Value {
        let configs = match self.kind {
            Kind::AppendTime => json!({"message.timestamp.type": "LogAppendTime"}),
            // Tombstones stay for a day, the default of delete.retention.ms.
            Kind::Compacted | Kind::CompactedTransactional => json!({
                "cleanup.policy": "compact",
                "segment.ms": "1000",
                "min.cleanable.dirty.ratio": "0.01",
                "min.compaction.lag.ms": "0",
            }),
            _ => json!({}),
        };
        let mut topic = json!({"topic": self.name, "partitions": self.partitions, "configs": configs});
        // Times of records lie in the past.
        topic["configs"]["retention.ms"] = "-1".into();
        topic
    }

    /// The lines that fill it.
    pub(super) fn script(&self) -> Vec<Value> {
        self.lines(&self.steps)
    }

    /// The lines that come later.
    pub(super) fn later(&self) -> Vec<Value> {
        self.lines(&self.later)
    }

    fn lines(&self, steps: &[Step]) -> Vec<Value> {
        if steps.is_empty() {
            return Vec::new();
        }
        let mut open = json!({"op": "open", "topic": self.name, "compression": self.codec});
        if let Kind::Level(level) = self.kind {
            open["level"] = level.into();
        }
        if self.is_transactional() {
            open["transactional_id"] = self.name.as_str().into();
        }
        let step = |step: &Step| match step {
            Step::Record(record) => record.to_json(),
            Step::Flush => json!({"op": "flush"}),
            Step::Begin => json!({"op": "begin"}),
            Step::Commit => json!({"op": "commit"}),
            Step::Abort => json!({"op": "abort"}),
        };
        [open].into_iter().chain(steps.iter().map(step)).collect()
    }

    /// What the log holds after all of that.
    pub(super) fn log(&self) -> Log {
        let mut log = Log { ends: vec![0; self.partitions as usize], ..Log::default() };
        let mut undecided = Vec::new();
        for step in self.steps.iter().chain(&self.later) {
            match step {
                Step::Record(record) => {
                    let end = &mut log.ends[record.partition as usize];
                    let place = (record.partition, *end);
                    *end += 1;
                    undecided.push(place);
                    log.records.insert(place, Entry { record: record.clone(), committed: !self.is_transactional() });
                }
                Step::Flush | Step::Begin => {}
                Step::Commit | Step::Abort => {
                    let committed = matches!(step, Step::Commit);
                    log.decide(std::mem::take(&mut undecided), committed);
                }
            }
        }
        if self.is_compacted() {
            log.compact();
        }
        log
    }
}

/// The records of a topic and the markers of its transactions.
#[derive(Debug, Default)]
pub(super) struct Log {
    records: BTreeMap<Place, Entry>,
    /// Where transactions end, and whether they are committed.
    pub(super) markers: BTreeMap<Place, bool>,
    /// By partition, the offset after the last one.
    pub(super) ends: Vec<i64>,
}

#[derive(Debug)]
struct Entry {
    record: Record,
    committed: bool,
}

impl Log {
    fn decide(&mut self, places: Vec<Place>, committed: bool) {
        let mut partitions: Vec<i32> = places.iter().map(|(partition, _)| *partition).collect();
        partitions.sort_unstable();
        partitions.dedup();
        for place in places {
            if let Some(entry) = self.records.get_mut(&place) {
                entry.committed = committed;
            }
        }
        for partition in partitions {
            let end = &mut self.ends[partition as usize];
            self.markers.insert((partition, *end), committed);
            *end += 1;
        }
    }

    /// What the cleaner leaves: of what was committed before the last record, the last of each key; and that record.
    fn compact(&mut self) {
        let Some(&last) = self.records.keys().next_back() else { return };
        let mut latest = HashMap::new();
        for (place, entry) in &self.records {
            if entry.committed && *place != last {
                latest.insert(entry.record.key.clone(), *place);
            }
        }
        self.records.retain(|place, entry| *place == last || latest.get(&entry.record.key) == Some(place));
    }

    /// What a reader prints of it.
    pub(super) fn expected(&self, committed_only: bool) -> BTreeMap<Place, Shown> {
        let entries = self.records.iter().filter(|(_, entry)| entry.committed || !committed_only);
        entries.map(|(place, entry)| (*place, entry.record.shown())).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Seeded;

    fn topic(kind: Kind) -> Topic {
        Topic::new("w", "gzip", kind, &mut Content::new(Seeded::new(1), 1 << 40), 1 << 40)
    }

    #[test]
    fn markers_take_offsets_and_aborted_records_stay_in_the_log() {
        let log = topic(Kind::Transactional).log();
        let (all, committed) = (log.expected(false), log.expected(true));
        assert_eq!(all.len(), 2 * COMBINATIONS);
        assert!(committed.len() < all.len());
        assert_eq!(log.markers.len() + all.len(), log.ends.iter().sum::<i64>() as usize);
        assert!(log.markers[&(0, 20)]);
        assert!(!log.markers[&(1, 41)]);
        assert!(all.contains_key(&(0, 21)) && !committed.contains_key(&(0, 21)));
    }

    #[test]
    fn a_compacted_log_has_each_key_once_and_the_last_record() {
        for kind in [Kind::Compacted, Kind::CompactedTransactional] {
            let log = topic(kind).log();
            let left = log.expected(false);
            assert_eq!(left, log.expected(true), "the cleaner takes aborted records away");
            let last = *left.keys().next_back().unwrap();
            let mut keys: Vec<_> = left.iter().filter(|(place, _)| **place != last).map(|(_, r)| &r.key).collect();
            let count = keys.len();
            keys.sort_unstable();
            keys.dedup();
            assert_eq!(keys.len(), count);
            assert!((count as i64) < log.ends[0] / 2);
        }
    }
}
