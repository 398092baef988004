//! Records of a case, read back by Fetch.

use std::collections::BTreeSet;

use ackflow_protocol::messages::fetch::{
    AbortedTransaction, FetchPartition, FetchRequest, FetchResponse, FetchTopic, PartitionData,
};
use ackflow_protocol::messages::list_offsets::{ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic};
use ackflow_protocol::records::control::ControlRecord;
use ackflow_protocol::records::{Batches, RecordBatch};

use super::{Lab, Outcome, Stop, Topic};

/// Which records a consumer gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Isolation {
    Uncommitted = 0,
    Committed = 1,
}

/// What a fetch found in a partition.
#[derive(Debug)]
pub(crate) struct Seen {
    pub(crate) data: PartitionData,
    pub(crate) batches: Vec<RecordBatch>,
}

/// A fetch of a partition from an offset on, which waits for nothing.
pub(crate) fn fetch(topic: &Topic, partition: i32, offset: i64, isolation: Isolation) -> FetchRequest {
    let partition =
        FetchPartition { partition, fetch_offset: offset, partition_max_bytes: 1 << 20, ..Default::default() };
    // Name and id: each version has a place for one of them.
    let topics = vec![FetchTopic { topic: topic.name.clone(), topic_id: topic.id, partitions: vec![partition] }];
    FetchRequest { isolation_level: isolation as i8, max_bytes: 1 << 20, topics, ..Default::default() }
}

impl Lab {
    /// Reads a partition from its start.
    pub(crate) async fn read(&self, topic: &Topic, partition: i32, isolation: Isolation) -> Outcome<Seen> {
        let mut link = self.leader(topic, partition).await?;
        Seen::of(link.call(&fetch(topic, partition, 0, isolation)).await?)
    }

    /// The end of a partition, for a consumer of this isolation.
    pub(crate) async fn end_for(&self, topic: &Topic, partition: i32, isolation: Isolation) -> Outcome<i64> {
        let mut link = self.leader(topic, partition).await?;
        let asked = ListOffsetsPartition { partition_index: partition, timestamp: -1, ..Default::default() };
        let topics = vec![ListOffsetsTopic { name: topic.name.clone(), partitions: vec![asked] }];
        let request =
            ListOffsetsRequest { replica_id: -1, isolation_level: isolation as i8, topics, ..Default::default() };
        let found = link.call(&request).await?.topics.into_iter().flat_map(|topic| topic.partitions).next();
        let found = found.ok_or_else(|| Stop::failed("ListOffsets answers for the partition", "it does not"))?;
        self.granted("ListOffsets", found.error_code, None)?;
        Ok(found.offset)
    }
}

impl Seen {
    /// What a fetch has answered for its only partition.
    pub(crate) fn of(response: FetchResponse) -> Outcome<Self> {
        let data = response.responses.into_iter().flat_map(|topic| topic.partitions).next();
        let data = data.ok_or_else(|| Stop::failed("Fetch answers for the partition", "it does not"))?;
        if !data.error_code.is_none() {
            return Err(Stop::failed("Fetch without an error", format!("{:?}", data.error_code)));
        }
        let batches: Result<Vec<_>, _> = Batches::new(data.records.clone().unwrap_or_default()).collect();
        let batches = batches.map_err(|error| Stop::failed("batches that can be read", error.to_string()))?;
        Ok(Self { data, batches })
    }

    /// The offsets of all records but markers, aborted ones too.
    pub(crate) fn offsets(&self) -> Vec<i64> {
        let batches = self.batches.iter().filter(|batch| !batch.is_control());
        batches.flat_map(|batch| batch.base_offset()..=batch.last_offset()).collect()
    }

    /// The offsets of what a consumer hands on that passes over what the answer names as aborted.
    pub(crate) fn committed(&self) -> Vec<i64> {
        let mut ahead: Vec<&AbortedTransaction> = self.data.aborted_transactions.iter().flatten().collect();
        ahead.sort_by_key(|aborted| aborted.first_offset);
        let mut ahead = ahead.into_iter().peekable();
        let (mut aborted, mut offsets) = (BTreeSet::new(), Vec::new());
        for batch in &self.batches {
            while let Some(next) = ahead.next_if(|next| next.first_offset <= batch.last_offset()) {
                aborted.insert(next.producer_id);
            }
            if batch.is_control() {
                aborted.remove(&batch.producer_id());
            } else if !(batch.is_transactional() && aborted.contains(&batch.producer_id())) {
                offsets.extend(batch.base_offset()..=batch.last_offset());
            }
        }
        offsets
    }

    /// The markers: offset, producer id, and whether they commit.
    pub(crate) fn markers(&self) -> Outcome<Vec<(i64, i64, bool)>> {
        let mut markers = Vec::new();
        for batch in self.batches.iter().filter(|batch| batch.is_control()) {
            for record in batch.records() {
                let record = record.map_err(|error| Stop::failed("records that can be read", error.to_string()))?;
                let says = ControlRecord::parse(&record);
                let says = says.map_err(|error| Stop::failed("markers that can be read", error.to_string()))?;
                match says {
                    ControlRecord::Commit { .. } => markers.push((record.offset, batch.producer_id(), true)),
                    ControlRecord::Abort { .. } => markers.push((record.offset, batch.producer_id(), false)),
                    ControlRecord::Other { .. } => {}
                }
            }
        }
        Ok(markers)
    }

    /// The first offset of each transaction that the answer names as aborted, by offset, and whose it is.
    pub(crate) fn aborted(&self) -> Vec<(i64, i64)> {
        let aborted = self.data.aborted_transactions.iter().flatten();
        let mut aborted: Vec<_> = aborted.map(|aborted| (aborted.first_offset, aborted.producer_id)).collect();
        aborted.sort_unstable();
        aborted
    }
}
