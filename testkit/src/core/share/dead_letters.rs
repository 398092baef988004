//! The broker's dead letter queue (KIP-1191): what a group has given up goes to a topic, with why in its headers.
//!
//! A record is archived whether or not that works, as in Kafka; there the broker tries for a while, here it tries once.

use std::sync::Arc;
use std::time::Instant;

use ackflow_protocol::records::{BatchBuilder, BatchOptions, Header, Records};

use super::partition::{RecordChange, RecordEvent};
use crate::core::configs::{Values, topic};
use crate::core::topics::TopicIdPartition;
use crate::core::{Cluster, handlers};

/// The level of `share.version` from which on there is such a queue.
const SINCE: i16 = 2;

/// Of a batch that cannot be read so many offsets are told of at most: what it says of itself may be wrong.
const UNREADABLE: usize = 10_000;

/// Why a record is given up, in Kafka's words. `None` where it is not.
pub(crate) fn reason(event: RecordEvent) -> Option<&'static str> {
    match event {
        RecordEvent::Rejected => Some("Offset rejected by client."),
        RecordEvent::Failed { archived: true, .. } => Some("Offset delivery count exceeded the threshold."),
        _ => None,
    }
}

/// Key and value of a record, where they are copied and it has them.
type Content<'a> = (Option<&'a [u8]>, Option<&'a [u8]>);

/// A queue that a group writes to.
struct Queue {
    group: Arc<str>,
    source: Arc<str>,
    source_partition: i32,
    partition: TopicIdPartition,
    max_size: usize,
    now_ms: i64,
}

impl Cluster {
    /// Writes what groups have given up to where they want it.
    pub(in crate::core) fn write_dead_letters(&mut self, now: Instant) {
        let mut given_up = Vec::new();
        for group in &self.dead_letter_groups {
            let of_group = self.share_partitions.take_given_up(group).into_iter();
            given_up.extend(of_group.map(|(partition, changes)| (group.clone(), partition, changes)));
        }
        if self.share_version < SINCE {
            return;
        }
        for (group, partition, changes) in given_up {
            if let Err(reason) = self.write_given_up(now, group.clone(), partition, &changes) {
                tracing::warn!(group = &*group, %reason, "records that were given up are in no dead letter queue");
            }
        }
    }

    fn write_given_up(
        &mut self,
        now: Instant,
        group: Arc<str>,
        partition: TopicIdPartition,
        given_up: &[RecordChange],
    ) -> Result<(), String> {
        let copies = self.group_config(&group).copies_dead_letters();
        let queue = self.queue(now, group, partition)?;
        // What is refused of one batch says nothing of the others.
        let mut first_error = Ok(());
        for change in given_up {
            for batch in self.letters(&queue, partition, change, copies) {
                let appended = handlers::produce::append(self, now, queue.partition, &batch);
                first_error = first_error.and(appended.map(drop).map_err(|error| error.message));
            }
        }
        first_error
    }

    /// Where a group's dead letters of a partition go. The topic is created where that is wanted.
    fn queue(&mut self, now: Instant, group: Arc<str>, partition: TopicIdPartition) -> Result<Queue, String> {
        const AUTO_CREATE: &str = "errors.deadletterqueue.auto.create.topics.enable";
        let name = self.group_config(&group).dead_letter_topic().to_owned();
        let prefix = self.config.text("errors.deadletterqueue.topic.name.prefix");
        if !name.starts_with(prefix) {
            return Err(format!("{name:?} does not begin with errors.deadletterqueue.topic.name.prefix={prefix}"));
        }
        if self.topics.by_name(&name).is_none() && self.config.is_true(AUTO_CREATE) {
            let values = Values::from([(topic::TAKES_DEAD_LETTERS.to_owned(), "true".to_owned())]);
            let created = handlers::create_topics::create(self, &name, -1, None, values, false);
            created.map_err(|(_, reason)| format!("{name:?} cannot be created: {reason}"))?;
        }
        let unknown = || format!("there is no topic {name:?}, and {AUTO_CREATE} is not true");
        let queue = self.topics.by_name(&name).ok_or_else(unknown)?;
        if !topic::takes_dead_letters(&queue.configs, &self.config) {
            return Err(format!("topic {name:?} has not set {}", topic::TAKES_DEAD_LETTERS));
        }
        let partitions = i32::try_from(queue.partitions.len()).unwrap_or(i32::MAX);
        let target = TopicIdPartition { topic_id: queue.id, partition: partition.partition % partitions };
        let now_ms = self.clock.millis(now);
        let max_size = topic::append_rules(&queue.configs, &self.config, now_ms, 0).max_message_bytes;
        let source = self.topics.by_id(partition.topic_id).map(|topic| topic.name.clone());
        let source = source.ok_or("the topic of the records is gone")?;
        Ok(Queue { group, source, source_partition: partition.partition, partition: target, max_size, now_ms })
    }

    /// The letters about the records of a change, in batches.
    fn letters(
        &self,
        queue: &Queue,
        partition: TopicIdPartition,
        change: &RecordChange,
        copies: bool,
    ) -> Vec<bytes::Bytes> {
        let Ok(source) = self.topics.partition(partition) else { return Vec::new() };
        let mut letters = Letters { queue, change, batch: None, built: Vec::new() };
        let mut next = change.first;
        while let [stored] = source.log.read(next, 0, true)
            && stored.first <= change.last
        {
            let (first, last) = (stored.first.max(change.first), stored.last.min(change.last));
            match stored.decompressed() {
                Some(batch) if batch.is_control() => {}
                Some(batch) => letters.write_all(batch.records(), first, last, copies),
                None => (first..=last).take(UNREADABLE).for_each(|offset| letters.write(offset, (None, None))),
            }
            next = stored.last + 1;
        }
        letters.finish()
    }
}

/// Batches for a queue, as they fill.
struct Letters<'a> {
    queue: &'a Queue,
    change: &'a RecordChange,
    batch: Option<BatchBuilder>,
    built: Vec<bytes::Bytes>,
}

impl Letters<'_> {
    fn write_all(&mut self, records: Records<'_>, first: i64, last: i64, copies: bool) {
        for record in records.map_while(Result::ok).filter(|record| (first..=last).contains(&record.offset)) {
            self.write(record.offset, if copies { (record.key, record.value) } else { (None, None) });
        }
    }

    /// Adds a letter; without key and value where the queue is too small for them, as in Kafka.
    fn write(&mut self, at: i64, (key, value): Content<'_>) {
        let (queue, change) = (self.queue, self.change);
        let (partition, offset) = (queue.source_partition.to_string(), at.to_string());
        let count = change.delivery_count.to_string();
        let headers = [
            ("__dlq.errors.topic", &*queue.source),
            ("__dlq.errors.partition", &partition),
            ("__dlq.errors.offset", &offset),
            ("__dlq.errors.group", &queue.group),
            ("__dlq.errors.delivery.count", &count),
            ("__dlq.errors.message", reason(change.what).unwrap_or_default()),
        ]
        .map(|(key, value)| Header::new(key, Some(value.as_bytes())));
        loop {
            let options = BatchOptions { max_size: queue.max_size, ..BatchOptions::default() };
            let batch = self.batch.get_or_insert_with(|| BatchBuilder::new(options));
            // What is too large for any batch cannot have come here.
            if !matches!(batch.try_append(queue.now_ms, key, value, headers.iter().copied()), Ok(None)) {
                break;
            }
            self.build();
        }
        // The first record always fits, though the queue may not take it.
        let too_large = self.batch.as_ref().is_some_and(|batch| batch.size_in_bytes() > queue.max_size);
        if too_large {
            self.batch = None;
            if (key, value) != (None, None) {
                return self.write(at, (None, None));
            }
            tracing::warn!(
                group = &*queue.group,
                offset,
                "max.message.bytes of the dead letter queue is too small for a letter"
            );
        }
    }

    fn build(&mut self) {
        if let Some(batch) = self.batch.take().filter(|batch| !batch.is_empty()) {
            self.built.extend(batch.build());
        }
    }

    fn finish(mut self) -> Vec<bytes::Bytes> {
        self.build();
        self.built
    }
}
