//! DescribeTransactions: the state of transactions.

use std::collections::BTreeMap;

use ackflow_protocol::messages::describe_transactions::{
    DescribeTransactionsRequest, DescribeTransactionsResponse, TopicData, TransactionState,
};
use ackflow_protocol::wire::ErrorCode;

use crate::core::Cluster;
use crate::core::dispatch::RequestContext;
use crate::core::leadership::offsets_partition;
use crate::core::transactions::Transaction;

/// Offsets of groups are part of a transaction as records of this topic.
const OFFSETS_TOPIC: &str = "__consumer_offsets";

pub(crate) fn handle(
    cluster: &mut Cluster,
    cx: &RequestContext<'_>,
    request: DescribeTransactionsRequest,
) -> DescribeTransactionsResponse {
    let states = request.transactional_ids.into_iter().map(|id| {
        let found = find(cluster, cx.node, &id);
        let state = found.map_or_else(
            |error_code| TransactionState { error_code, ..TransactionState::default() },
            |transaction| describe(cluster, transaction),
        );
        TransactionState { transactional_id: id, ..state }
    });
    DescribeTransactionsResponse { transaction_states: states.collect(), ..DescribeTransactionsResponse::default() }
}

fn find<'a>(cluster: &'a Cluster, node: i32, id: &str) -> Result<&'a Transaction, ErrorCode> {
    if id.is_empty() {
        return Err(ErrorCode::INVALID_REQUEST);
    }
    cluster.check_transaction_coordinator(node, id)?;
    cluster.transactions.get(id).ok_or(ErrorCode::TRANSACTIONAL_ID_NOT_FOUND)
}

fn describe(cluster: &Cluster, transaction: &Transaction) -> TransactionState {
    let mut topics: BTreeMap<String, Vec<i32>> = BTreeMap::new();
    for partition in &transaction.partitions {
        if let Some(topic) = cluster.topics.by_id(partition.topic_id) {
            topics.entry(topic.name.to_string()).or_default().push(partition.partition);
        }
    }
    for group in &transaction.groups {
        topics.entry(OFFSETS_TOPIC.to_owned()).or_default().push(offsets_partition(group));
    }
    TransactionState {
        transaction_state: transaction.state.name().to_owned(),
        transaction_timeout_ms: transaction.timeout_ms,
        transaction_start_time_ms: transaction.started_ms,
        producer_id: transaction.producer.id,
        producer_epoch: transaction.producer.epoch,
        topics: topics.into_iter().map(|(topic, partitions)| TopicData { topic, partitions }).collect(),
        ..TransactionState::default()
    }
}
