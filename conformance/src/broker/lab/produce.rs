//! Records of a case.

use std::time::SystemTime;

use ackflow_protocol::messages::produce::{
    PartitionProduceData, PartitionProduceResponse, ProduceRequest, ProduceResponse, TopicProduceData,
};
use ackflow_protocol::records::{BatchBuilder, BatchOptions};
use bytes::Bytes;

use super::{Lab, Link, Outcome, Stop, Topic};

impl Lab {
    /// Writes so many records to a partition, in one batch, and says the offset of the first.
    pub(crate) async fn produce(&self, topic: &Topic, partition: i32, count: usize) -> Outcome<i64> {
        self.produce_batch(topic, partition, batch(values(count), BatchOptions::default())).await
    }

    /// Writes so many batches of one record each, and says the offset of the first.
    pub(crate) async fn produce_one_by_one(&self, topic: &Topic, partition: i32, count: usize) -> Outcome<i64> {
        let batches: Vec<u8> = (0..count).flat_map(|_| batch(values(1), BatchOptions::default())).collect();
        // A request has one batch a partition.
        let mut first = None;
        let size = batches.len() / count.max(1);
        for batch in batches.chunks(size.max(1)) {
            let offset = self.produce_batch(topic, partition, Bytes::copy_from_slice(batch)).await?;
            first.get_or_insert(offset);
        }
        Ok(first.unwrap_or_default())
    }

    /// Writes a batch, and says the offset of its first record.
    pub(crate) async fn produce_batch(&self, topic: &Topic, partition: i32, batch: Bytes) -> Outcome<i64> {
        let mut link = self.leader(topic, partition).await?.unrecorded();
        let done = write(&mut link, topic, partition, None, batch).await?;
        self.granted("Produce", done.error_code, done.error_message.as_deref())?;
        Ok(done.base_offset)
    }
}

/// Asks a leader to write a batch, in a transaction where one is named, whatever comes of it.
pub(crate) async fn write(
    link: &mut Link,
    topic: &Topic,
    partition: i32,
    transactional_id: Option<&str>,
    batch: Bytes,
) -> Outcome<PartitionProduceResponse> {
    let response = link.call(&request(topic, partition, transactional_id, batch)).await?;
    answered(response)
}

/// The request that asks for it.
pub(crate) fn request(topic: &Topic, partition: i32, transactional_id: Option<&str>, batch: Bytes) -> ProduceRequest {
    let data = PartitionProduceData { index: partition, records: Some(batch) };
    // Name and id: each version has a place for one of them.
    let topic_data =
        vec![TopicProduceData { name: topic.name.clone(), topic_id: topic.id, partition_data: vec![data] }];
    ProduceRequest { transactional_id: transactional_id.map(str::to_owned), acks: -1, timeout_ms: 20_000, topic_data }
}

/// What is answered about the only partition.
pub(crate) fn answered(response: ProduceResponse) -> Outcome<PartitionProduceResponse> {
    let partition = response.responses.into_iter().flat_map(|topic| topic.partition_responses).next();
    partition.ok_or_else(|| Stop::failed("Produce answers for the partition", "it does not"))
}

/// A batch of these values.
pub(crate) fn batch(values: impl IntoIterator<Item = String>, options: BatchOptions) -> Bytes {
    batch_at(now_ms(), values, options)
}

/// A batch of these values, all written at this time, in milliseconds since 1970.
pub(crate) fn batch_at(time: i64, values: impl IntoIterator<Item = String>, options: BatchOptions) -> Bytes {
    let mut builder = BatchBuilder::new(options);
    for value in values {
        let appended = builder.try_append(time, None, Some(value.as_bytes()), []);
        appended.expect("a small record fits");
    }
    builder.build().expect("a batch of small records can be built")
}

/// The time, in milliseconds since 1970.
pub(crate) fn now_ms() -> i64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    now.as_millis() as i64
}

/// Values of so many records.
pub(crate) fn values(count: usize) -> impl Iterator<Item = String> {
    (0..count).map(|i| format!("value {i}"))
}
