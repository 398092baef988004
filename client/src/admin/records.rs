//! Deleting records. The leader of a partition does it.

use ackflow_protocol::messages::delete_records::{DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic};

use super::{Admin, Results, result};
use crate::share::TopicPartition;

/// Which records of a partition to delete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordsToDelete {
    /// Those before this offset, which has to be in the partition or be its end.
    Before(i64),
    /// All that are there.
    All,
}

impl RecordsToDelete {
    /// The first offset to keep; -1 stands for the high watermark.
    fn offset(self) -> i64 {
        match self {
            Self::Before(offset) => offset,
            Self::All => -1,
        }
    }
}

impl Admin {
    /// Deletes the first records of partitions (DeleteRecords), and gives the offset that each begins at now.
    ///
    /// Cancel-safe, as all calls of the module are.
    ///
    /// # Errors
    /// None for the whole call: a partition of which records cannot be deleted has an error of its own. They may be deleted nevertheless.
    pub async fn delete_records(
        &self,
        partitions: impl IntoIterator<Item = (TopicPartition, RecordsToDelete)>,
    ) -> Results<TopicPartition, i64> {
        self.at_leaders(
            partitions,
            |topics| DeleteRecordsRequest {
                topics: topics.into_iter().map(wanted).collect(),
                timeout_ms: self.request_timeout_ms(),
            },
            |asked, response| {
                let mut results = Vec::new();
                for topic in response.topics {
                    for partition in topic.partitions {
                        let key = TopicPartition::new(topic.name.as_str(), partition.partition_index);
                        let doing = || format!("deleting records of {key}");
                        let low = partition.low_watermark;
                        let outcome = result(low, doing, asked.connection, partition.error_code, None);
                        results.push((key, outcome));
                    }
                }
                results
            },
        )
        .await
    }
}

fn wanted((name, partitions): (String, Vec<(i32, &RecordsToDelete)>)) -> DeleteRecordsTopic {
    let partition = |(partition_index, records): (i32, &RecordsToDelete)| DeleteRecordsPartition {
        partition_index,
        offset: records.offset(),
    };
    DeleteRecordsTopic { name, partitions: partitions.into_iter().map(partition).collect() }
}
