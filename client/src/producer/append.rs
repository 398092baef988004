//! The way of a record into the batch of its partition. It allocates nothing but with each batch, and waits for nothing: what has to be waited for,
//! it says.

use std::time::{SystemTime, UNIX_EPOCH};

use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Instant;

use super::delivery::DeliveryFuture;
use super::partitioner::partition_of_key;
use super::queue::Append;
use super::record::ProducerRecord;
use super::topics::Topic;
use super::{Shared, closed, invalid};
use crate::error::ClientError;

/// What came of a record.
pub(super) enum Step {
    /// It is in a batch.
    Queued(DeliveryFuture),
    /// There has to be room in `buffer.memory` for a batch, of the `size` of this record at least.
    NeedsRoom { size: usize },
    /// Its topic is not known.
    UnknownTopic,
    /// The topic has fewer partitions, as far as is known.
    UnknownPartition,
}

impl Shared {
    /// Puts a record into a batch; `room` is taken where one has to be begun. `looked` says that metadata is new enough to say which partitions there
    /// are.
    pub(super) fn append(
        &self,
        record: &ProducerRecord,
        room: &mut Option<OwnedSemaphorePermit>,
        looked: bool,
    ) -> Result<Step, ClientError> {
        self.check_transaction()?;
        let appended = self.topics.with(&record.topic, |topic| {
            if !looked && !topic.has(record.partition) {
                return Ok(Step::UnknownPartition);
            }
            self.append_to(topic, record, room)
        });
        appended.unwrap_or(Ok(Step::UnknownTopic))
    }

    fn append_to(
        &self,
        topic: &Topic,
        record: &ProducerRecord,
        room: &mut Option<OwnedSemaphorePermit>,
    ) -> Result<Step, ClientError> {
        let size = self.check_size(record)?;
        let timestamp = record.timestamp.unwrap_or_else(now_ms);
        let (mut at, is_free) = self.choose(topic, record)?;
        // Who has waited for room has chosen before.
        let mut may_move_on = is_free && room.is_none();
        let mut moved_on = false;
        loop {
            let partition = &topic.partitions[at];
            let appended = {
                let mut queue = partition.lock();
                // It may have been ended meanwhile.
                self.check_transaction()?;
                queue.append(record, timestamp, Instant::now, room, may_move_on)
            };
            match appended.map_err(|error| invalid(record, error.to_string()))? {
                Append::Queued { delivery, activated, changed } => {
                    if activated {
                        self.activate(partition);
                    }
                    if activated || changed || moved_on {
                        self.wake.notify_one();
                    }
                    return Ok(Step::Queued(delivery));
                }
                Append::MoveOn => {
                    (may_move_on, moved_on) = (false, true);
                    at = topic.choose_another(self.config.adaptive_partitioning);
                }
                Append::NeedsRoom => return Ok(Step::NeedsRoom { size }),
                Append::Closed => return Err(closed()),
            }
        }
    }

    /// The partition that a record goes to, and whether the record may go to another one just as well.
    fn choose(&self, topic: &Topic, record: &ProducerRecord) -> Result<(usize, bool), ClientError> {
        let count = topic.partitions.len();
        if let Some(partition) = record.partition {
            return match usize::try_from(partition) {
                Ok(at) if at < count => Ok((at, false)),
                _ => Err(invalid(record, format!("there is no partition {partition}, the topic has {count}"))),
            };
        }
        match &record.key {
            Some(key) if !self.config.ignore_keys => Ok((partition_of_key(key, count), false)),
            _ => Ok((topic.chosen(), true)),
        }
    }

    /// The size that a batch of this record alone has at most.
    fn check_size(&self, record: &ProducerRecord) -> Result<usize, ClientError> {
        let size = record.batch_size_at_most();
        for (key, limit) in
            [("max.request.size", self.config.max_request_size), ("buffer.memory", self.config.buffer_memory)]
        {
            if size > limit {
                let reason = format!("a record of {size} bytes exceeds {key}={limit}");
                return Err(invalid(record, reason).remedy(format!("raise {key}, or send smaller records")));
            }
        }
        Ok(size)
    }
}

fn now_ms() -> i64 {
    // Before 1970 there is no time that Kafka could store.
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as i64)
}
