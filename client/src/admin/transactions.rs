//! Transactions: which there are, how they stand, and the end of those that hang.

use std::collections::BTreeMap;
use std::time::Duration;

use ackflow_protocol::messages::describe_transactions::{DescribeTransactionsRequest, TransactionState};
use ackflow_protocol::messages::list_transactions::{
    ListTransactionsRequest, ListTransactionsResponse, TransactionState as Listed,
};
use ackflow_protocol::messages::write_txn_markers::{
    WritableTxnMarker, WritableTxnMarkerTopic, WriteTxnMarkersRequest,
};
use ackflow_protocol::wire::Request;

use super::coordinators::Coordinators;
use super::leaders::sorted;
use super::routed::Asked;
use super::{Admin, Results, result};
use crate::error::{ClientError, ErrorKind};
use crate::share::TopicPartition;

/// Which transactions to list. The default lists all.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TransactionFilter {
    /// Those in these states, such as `Ongoing` or `CompleteAbort`; all states where none is given.
    pub states: Vec<String>,
    /// Those of these producers; all producers where none is given.
    pub producer_ids: Vec<i64>,
    /// Those that have been open for longer (KIP-994, since Kafka 3.8).
    pub open_for: Option<Duration>,
    /// Those whose whole transactional id this regular expression (of Java's kind) matches (KIP-1152, since Kafka 4.1).
    pub id_pattern: Option<String>,
}

/// A transaction in the list of transactions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransactionListing {
    /// Its transactional id.
    pub transactional_id: String,
    /// Its producer.
    pub producer_id: i64,
    /// Such as `Ongoing` or `CompleteCommit`.
    pub state: String,
    /// The broker that coordinates it.
    pub coordinator: i32,
}

/// A transaction, as its coordinator sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransactionDescription {
    /// The broker that coordinates it.
    pub coordinator: i32,
    /// Such as `Ongoing` or `CompleteCommit`.
    pub state: String,
    /// Its producer.
    pub producer_id: i64,
    /// The epoch of its producer.
    pub producer_epoch: i16,
    /// After how long the coordinator aborts it.
    pub timeout: Duration,
    /// When it began, in milliseconds since 1970; `None` where none is open.
    pub started: Option<i64>,
    /// The partitions that are part of it.
    pub partitions: Vec<TopicPartition>,
}

/// A transaction that is open in a partition, as [`describe_producers`](Admin::describe_producers) shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HangingTransaction {
    /// The partition.
    pub partition: TopicPartition,
    /// Its producer.
    pub producer_id: i64,
    /// The epoch of its producer.
    pub producer_epoch: i16,
    /// The epoch of the coordinator that ended the last transaction of this producer in the partition; 0 where there was none.
    pub coordinator_epoch: i32,
}

impl Admin {
    /// Lists the transactions of all brokers (ListTransactions), by transactional id.
    ///
    /// Cancel-safe, as all calls of the module are.
    ///
    /// # Errors
    /// [`ClientError`] where a broker does not answer, or does not know a state or the pattern of the filter.
    pub async fn list_transactions(&self, filter: &TransactionFilter) -> Result<Vec<TransactionListing>, ClientError> {
        let request = ListTransactionsRequest {
            state_filters: filter.states.clone(),
            producer_id_filters: filter.producer_ids.clone(),
            duration_filter: filter.open_for.map_or(-1, |d| i64::try_from(d.as_millis()).unwrap_or(i64::MAX)),
            transactional_id_pattern: filter.id_pattern.clone(),
        };
        let mut listed = self.ask_all(&request, listings).await?;
        listed.sort_by(|a, b| a.transactional_id.cmp(&b.transactional_id));
        Ok(listed)
    }

    /// Describes transactions (DescribeTransactions).
    ///
    /// Cancel-safe, as all calls of the module are.
    ///
    /// # Errors
    /// None for the whole call: a transaction that cannot be described has an error of its own.
    pub async fn describe_transactions<S: Into<String>>(
        &self,
        transactional_ids: impl IntoIterator<Item = S>,
    ) -> Results<String, TransactionDescription> {
        let ids: BTreeMap<String, ()> = transactional_ids.into_iter().map(|id| (id.into(), ())).collect();
        let request = |_: &Asked<'_>, ids: &[(&String, &())]| DescribeTransactionsRequest {
            transactional_ids: ids.iter().map(|(id, ())| (*id).clone()).collect(),
        };
        let read = |asked: &Asked<'_>, response: <DescribeTransactionsRequest as Request>::Response| {
            let outcome = |state: TransactionState| {
                let id = state.transactional_id.clone();
                let doing = || format!("describing transactional id {id}");
                let code = state.error_code;
                let outcome = result(described(state, asked.node), doing, asked.connection, code, None);
                (id, outcome)
            };
            response.transaction_states.into_iter().map(outcome).collect()
        };
        self.routed(&Coordinators::Transactions, ids, i16::MAX, request, read).await
    }

    /// Ends a transaction in one partition by an abort (WriteTxnMarkers to the leader), for one that its coordinator has forgotten: readers that want
    /// committed records alone are stuck before it. What the producer wrote there in the transaction is lost to them.
    ///
    /// Cancel-safe, as all calls of the module are.
    ///
    /// # Errors
    /// [`ClientError`] where there is no answer, or the leader refuses, as where the epochs are not those of the transaction. It may have been aborted
    /// nevertheless.
    pub async fn abort_transaction(&self, transaction: &HangingTransaction) -> Result<(), ClientError> {
        let HangingTransaction { partition, producer_id, producer_epoch, coordinator_epoch } = transaction;
        let marker = |topics: BTreeMap<String, Vec<(i32, &())>>| WritableTxnMarker {
            producer_id: *producer_id,
            producer_epoch: *producer_epoch,
            transaction_result: false,
            topics: topics
                .into_iter()
                .map(|(name, partitions)| WritableTxnMarkerTopic {
                    name,
                    partition_indexes: partitions.into_iter().map(|(partition, ())| partition).collect(),
                })
                .collect(),
            coordinator_epoch: *coordinator_epoch,
            transaction_version: 0,
        };
        let mut results = self
            .at_leaders(
                [(partition.clone(), ())],
                |topics| WriteTxnMarkersRequest { markers: vec![marker(topics)] },
                |asked, response| {
                    let topics = response.markers.into_iter().flat_map(|marker| marker.topics);
                    let mut outcomes = Vec::new();
                    for topic in topics {
                        for partition in topic.partitions {
                            let key = TopicPartition::new(topic.name.as_str(), partition.partition_index);
                            let doing = || format!("aborting the transaction of producer {producer_id} in {key}");
                            let outcome = result((), doing, asked.connection, partition.error_code, None);
                            outcomes.push((key, outcome));
                        }
                    }
                    outcomes
                },
            )
            .await;
        results.remove(partition).expect("each item has its result")
    }
}

fn listings(asked: &Asked<'_>, response: ListTransactionsResponse) -> Result<Vec<TransactionListing>, ClientError> {
    let doing = || "listing transactions".to_owned();
    result((), doing, asked.connection, response.error_code, None)?;
    if !response.unknown_state_filters.is_empty() {
        let reason = format!("there is no state {}", response.unknown_state_filters.join(", "));
        return Err(ClientError::new(ErrorKind::Invalid, doing(), reason)
            .at(asked.connection.broker().to_owned())
            .remedy("states are Empty, Ongoing, PrepareCommit, PrepareAbort, CompleteCommit, CompleteAbort, Dead and PrepareEpochFence"));
    }
    let listing = |state: Listed| TransactionListing {
        transactional_id: state.transactional_id,
        producer_id: state.producer_id,
        state: state.transaction_state,
        coordinator: asked.node,
    };
    Ok(response.transaction_states.into_iter().map(listing).collect())
}

fn described(state: TransactionState, coordinator: i32) -> TransactionDescription {
    let partitions = sorted(state.topics.iter().map(|topic| (topic.topic.as_str(), &topic.partitions[..])));
    TransactionDescription {
        coordinator,
        state: state.transaction_state,
        producer_id: state.producer_id,
        producer_epoch: state.producer_epoch,
        timeout: Duration::from_millis(u64::try_from(state.transaction_timeout_ms).unwrap_or_default()),
        started: Some(state.transaction_start_time_ms).filter(|time| *time >= 0),
        partitions,
    }
}
