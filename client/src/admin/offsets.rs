//! Offsets of partitions by what is wanted there: the start, the end, a time. The leader of a partition knows them.

use std::collections::BTreeMap;

use ackflow_protocol::messages::list_offsets::{
    ListOffsetsPartition, ListOffsetsPartitionResponse, ListOffsetsRequest, ListOffsetsTopic,
};

use super::{Admin, Results, result};
use crate::error::{ClientError, ErrorKind};
use crate::share::TopicPartition;

/// Which offset of a partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OffsetSpec {
    /// That of the first record.
    Earliest,
    /// The one that follows the last record.
    Latest,
    /// That of the first record among those of the largest timestamp.
    MaxTimestamp,
    /// That of the first record whose timestamp is this or a later one, in milliseconds since 1970.
    Timestamp(i64),
    /// The first that the leader keeps itself, not in tiered storage alone.
    EarliestLocal,
    /// The last that is in tiered storage.
    LatestTiered,
    /// The first that waits to be uploaded to tiered storage (KIP-1023).
    EarliestPendingUpload,
}

impl OffsetSpec {
    fn timestamp(self) -> i64 {
        match self {
            Self::Timestamp(time) => time,
            Self::Latest => -1,
            Self::Earliest => -2,
            Self::MaxTimestamp => -3,
            Self::EarliestLocal => -4,
            Self::LatestTiered => -5,
            Self::EarliestPendingUpload => -6,
        }
    }
}

/// What a reader may see of transactions, with the wire's numbers (`isolation.level`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(i8)]
pub enum IsolationLevel {
    /// All records: a partition ends at its high watermark.
    #[default]
    ReadUncommitted = 0,
    /// Records of transactions that have ended: a partition ends where the first open one begins.
    ReadCommitted = 1,
}

/// An offset that was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListedOffset {
    /// The offset; `None` where there is no such record.
    pub offset: Option<i64>,
    /// The timestamp of the record, in milliseconds since 1970; `None` for the ends of a partition, and where there is no such record.
    pub timestamp: Option<i64>,
    /// The epoch of the leader that took the record; `None` where it is not known.
    pub leader_epoch: Option<i32>,
}

impl Admin {
    /// Finds offsets (ListOffsets), as `isolation` sees the end of partitions.
    ///
    /// Cancel-safe, as all calls of the module are.
    ///
    /// # Errors
    /// None for the whole call: a partition of which the offset cannot be found has an error of its own.
    pub async fn list_offsets(
        &self,
        partitions: impl IntoIterator<Item = (TopicPartition, OffsetSpec)>,
        isolation: IsolationLevel,
    ) -> Results<TopicPartition, ListedOffset> {
        self.at_leaders(
            partitions,
            |topics| ListOffsetsRequest {
                replica_id: -1,
                isolation_level: isolation as i8,
                topics: topics.into_iter().map(wanted).collect(),
                timeout_ms: self.request_timeout_ms(),
            },
            |asked, response| {
                let mut results = Vec::new();
                for topic in response.topics {
                    for partition in topic.partitions {
                        let key = TopicPartition::new(topic.name.as_str(), partition.partition_index);
                        let doing = || format!("finding an offset of {key}");
                        let found = result(listed(&partition), doing, asked.connection, partition.error_code, None);
                        results.push((key, found));
                    }
                }
                results
            },
        )
        .await
    }
}

fn wanted((name, partitions): (String, Vec<(i32, &OffsetSpec)>)) -> ListOffsetsTopic {
    let partition = |(partition_index, spec): (i32, &OffsetSpec)| ListOffsetsPartition {
        partition_index,
        timestamp: spec.timestamp(),
        ..Default::default()
    };
    ListOffsetsTopic { name, partitions: partitions.into_iter().map(partition).collect() }
}

fn listed(found: &ListOffsetsPartitionResponse) -> ListedOffset {
    // -1 says that there is none.
    ListedOffset {
        offset: Some(found.offset).filter(|offset| *offset >= 0),
        timestamp: Some(found.timestamp).filter(|timestamp| *timestamp >= 0),
        leader_epoch: Some(found.leader_epoch).filter(|epoch| *epoch >= 0),
    }
}

/// The offsets that a group can have, and the refusal of each that it cannot: to a broker an offset below 0 says that there is none any more, so it
/// answers that all is well and forgets what was committed.
pub(super) fn from_zero<O>(
    offsets: impl IntoIterator<Item = (TopicPartition, O)>,
    offset: impl Fn(&O) -> i64,
    remedy: &'static str,
) -> (BTreeMap<TopicPartition, O>, Results<TopicPartition, ()>) {
    let (mut settable, mut refused) = (BTreeMap::new(), Results::new());
    for (partition, wanted) in offsets {
        let below = offset(&wanted);
        if below >= 0 {
            settable.insert(partition, wanted);
            continue;
        }
        let doing = format!("setting the offset of {partition}");
        let error = ClientError::new(ErrorKind::Invalid, doing, format!("{below} is below 0")).remedy(remedy);
        refused.insert(partition, Err(error));
    }
    (settable, refused)
}
