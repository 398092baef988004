//! The producers that a partition remembers. Its leader knows them.

use ackflow_protocol::messages::describe_producers::{
    DescribeProducersRequest, ProducerState as Described, TopicRequest,
};

use super::{Admin, Results, result};
use crate::share::TopicPartition;

/// A producer that has written to a partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProducerState {
    /// Its id.
    pub producer_id: i64,
    /// Its epoch, which fences older ones of the same transactional id.
    pub producer_epoch: i32,
    /// The sequence number of its last record.
    pub last_sequence: Option<i32>,
    /// The time of its last batch, in milliseconds since 1970.
    pub last_timestamp: Option<i64>,
    /// The epoch of the coordinator that ended its last transaction here.
    pub coordinator_epoch: Option<i32>,
    /// The first offset of its open transaction, if there is one.
    pub transaction_start: Option<i64>,
}

impl Admin {
    /// Says who has written to partitions lately (DescribeProducers): idempotent and transactional producers, until
    /// `producer.id.expiration.ms` has passed.
    ///
    /// Cancel-safe, as all calls of the module are.
    ///
    /// # Errors
    /// None for the whole call: a partition that cannot be described has an error of its own.
    pub async fn describe_producers(
        &self,
        partitions: impl IntoIterator<Item = TopicPartition>,
    ) -> Results<TopicPartition, Vec<ProducerState>> {
        self.at_leaders(
            partitions.into_iter().map(|partition| (partition, ())),
            |topics| DescribeProducersRequest { topics: topics.into_iter().map(wanted).collect() },
            |asked, response| {
                let mut results = Vec::new();
                for topic in response.topics {
                    for partition in topic.partitions {
                        let key = TopicPartition::new(topic.name.as_str(), partition.partition_index);
                        let doing = || format!("describing the producers of {key}");
                        let mut producers: Vec<_> = partition.active_producers.iter().map(described).collect();
                        producers.sort_by_key(|producer| producer.producer_id);
                        let message = partition.error_message.as_deref();
                        let found = result(producers, doing, asked.connection, partition.error_code, message);
                        results.push((key, found));
                    }
                }
                results
            },
        )
        .await
    }
}

fn wanted((name, partitions): (String, Vec<(i32, &())>)) -> TopicRequest {
    TopicRequest { name, partition_indexes: partitions.into_iter().map(|(partition, ())| partition).collect() }
}

fn described(producer: &Described) -> ProducerState {
    // -1 says that there is none.
    ProducerState {
        producer_id: producer.producer_id,
        producer_epoch: producer.producer_epoch,
        last_sequence: Some(producer.last_sequence).filter(|sequence| *sequence >= 0),
        last_timestamp: Some(producer.last_timestamp).filter(|time| *time >= 0),
        coordinator_epoch: Some(producer.coordinator_epoch).filter(|epoch| *epoch >= 0),
        transaction_start: Some(producer.current_txn_start_offset).filter(|offset| *offset >= 0),
    }
}
