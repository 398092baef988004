//! Whether a transactional batch may be written (KIP-890).

use std::time::Instant;

use ackflow_protocol::records::{Batches, RecordBatch};
use ackflow_protocol::wire::ErrorCode;
use bytes::Bytes;

use super::{Part, Producer};
use crate::core::Cluster;
use crate::core::topics::TopicIdPartition;

/// Since this version of Produce, writing to a partition makes it part of the transaction.
const ADDS_SINCE: i16 = 12;
/// Since this version of Produce, clients know TRANSACTION_ABORTABLE.
const ABORTABLE_SINCE: i16 = 11;

/// The batch of a partition's records, where it is part of a transaction of a producer. What cannot be read is looked at later.
pub(crate) fn transactional(records: &Bytes) -> Option<RecordBatch> {
    let batch = Batches::new(records.clone()).next()?.ok()?;
    (batch.is_transactional() && batch.producer_id() >= 0).then_some(batch)
}

impl Cluster {
    /// Checks that a batch is part of the transaction of its producer, or makes it so.
    ///
    /// # Errors
    /// As Kafka's: INVALID_PRODUCER_ID_MAPPING, INVALID_PRODUCER_EPOCH, INVALID_TXN_STATE or TRANSACTION_ABORTABLE, CONCURRENT_TRANSACTIONS or
    /// NOT_ENOUGH_REPLICAS, OUT_OF_ORDER_SEQUENCE_NUMBER.
    pub(crate) fn admit(
        &mut self,
        now: Instant,
        version: i16,
        id: &str,
        partition: TopicIdPartition,
        batch: &RecordBatch,
    ) -> Result<(), ErrorCode> {
        let producer = Producer { id: batch.producer_id(), epoch: batch.producer_epoch() };
        let log = self.topics.log(partition)?;
        let known = log.producers().get(producer.id);
        // What has begun in this partition was checked when it did.
        if known.is_some_and(|known| known.epoch == producer.epoch && known.open_since.is_some()) {
            return Ok(());
        }
        let is_lost = known.is_none() && batch.base_sequence() != 0;
        let part = Part::Partition(partition);
        if version >= ADDS_SINCE {
            let added = self.add_to_transaction(now, id, producer, &[part]);
            added.map_err(|code| match code {
                ErrorCode::PRODUCER_FENCED => ErrorCode::INVALID_PRODUCER_EPOCH,
                other => other,
            })?;
            return if is_lost { Err(ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER) } else { Ok(()) };
        }
        self.check_in_transaction(id, producer, &part).map_err(|code| match code {
            ErrorCode::PRODUCER_FENCED => ErrorCode::INVALID_PRODUCER_EPOCH,
            ErrorCode::TRANSACTION_ABORTABLE if version < ABORTABLE_SINCE => ErrorCode::INVALID_TXN_STATE,
            // Older clients would give up for this.
            ErrorCode::CONCURRENT_TRANSACTIONS => ErrorCode::NOT_ENOUGH_REPLICAS,
            other => other,
        })
    }
}
