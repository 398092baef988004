//! AddPartitionsToTxn: makes partitions part of a transaction, or asks whether they are.

use ackflow_protocol::messages::add_partitions_to_txn::{
    AddPartitionsToTxnPartitionResult, AddPartitionsToTxnRequest, AddPartitionsToTxnResponse, AddPartitionsToTxnResult,
    AddPartitionsToTxnTopic, AddPartitionsToTxnTopicResult, AddPartitionsToTxnTransaction,
};
use ackflow_protocol::wire::ErrorCode;

use super::init_producer_id::older;
use crate::core::Cluster;
use crate::core::dispatch::RequestContext;
use crate::core::topics::TopicIdPartition;
use crate::core::transactions::{Part, Producer};

/// Since this version brokers ask, for several transactions at once.
const BY_BROKERS_SINCE: i16 = 4;
/// Since this version a producer that is fenced hears so in the word for it.
const FENCED_SINCE: i16 = 2;

pub(crate) fn handle(
    cluster: &mut Cluster,
    cx: &RequestContext<'_>,
    request: AddPartitionsToTxnRequest,
) -> AddPartitionsToTxnResponse {
    if cx.version >= BY_BROKERS_SINCE {
        let results = request.transactions.into_iter().map(|transaction| AddPartitionsToTxnResult {
            topic_results: add(cluster, cx, &transaction),
            transactional_id: transaction.transactional_id,
        });
        return AddPartitionsToTxnResponse { results_by_transaction: results.collect(), ..Default::default() };
    }
    let transaction = AddPartitionsToTxnTransaction {
        transactional_id: request.v3_and_below_transactional_id,
        producer_id: request.v3_and_below_producer_id,
        producer_epoch: request.v3_and_below_producer_epoch,
        verify_only: false,
        topics: request.v3_and_below_topics,
    };
    let results_by_topic_v3_and_below = add(cluster, cx, &transaction);
    AddPartitionsToTxnResponse { results_by_topic_v3_and_below, ..Default::default() }
}

fn add(
    cluster: &mut Cluster,
    cx: &RequestContext<'_>,
    asked: &AddPartitionsToTxnTransaction,
) -> Vec<AddPartitionsToTxnTopicResult> {
    let find = |cluster: &Cluster, topic: &str, partition| cluster.partition_of(topic, partition).ok();
    let all = asked.topics.iter().flat_map(|topic| topic.partitions.iter().map(move |p| (topic.name.as_str(), *p)));
    let found: Option<Vec<TopicIdPartition>> = all.map(|(topic, index)| find(cluster, topic, index)).collect();
    let Some(found) = found else {
        // What is wrong with one partition keeps all out.
        return results(&asked.topics, |topic, index| match find(cluster, topic, index) {
            Some(_) => ErrorCode::OPERATION_NOT_ATTEMPTED,
            None => ErrorCode::UNKNOWN_TOPIC_OR_PARTITION,
        });
    };
    let producer = Producer { id: asked.producer_id, epoch: asked.producer_epoch };
    let id = &asked.transactional_id;
    let checked = match id.is_empty() {
        true => Err(ErrorCode::INVALID_REQUEST),
        false => cluster.check_transaction_coordinator(cx.node, id),
    };
    let code = |result: Result<(), ErrorCode>| match result {
        Ok(()) => ErrorCode::NONE,
        Err(code) => older(code, cx.version >= FENCED_SINCE),
    };
    if asked.verify_only && checked.is_ok() {
        return results(&asked.topics, |topic, index| {
            let part = find(cluster, topic, index).map(Part::Partition);
            code(part.map_or(Ok(()), |part| cluster.check_in_transaction(id, producer, &part)))
        });
    }
    let parts: Vec<Part> = found.into_iter().map(Part::Partition).collect();
    let added = code(checked.and_then(|()| cluster.add_to_transaction(cx.now, id, producer, &parts)));
    results(&asked.topics, |_, _| added)
}

fn results(
    topics: &[AddPartitionsToTxnTopic],
    code: impl Fn(&str, i32) -> ErrorCode,
) -> Vec<AddPartitionsToTxnTopicResult> {
    let topic = |topic: &AddPartitionsToTxnTopic| {
        let partition = |&partition_index: &i32| AddPartitionsToTxnPartitionResult {
            partition_index,
            partition_error_code: code(&topic.name, partition_index),
        };
        AddPartitionsToTxnTopicResult {
            name: topic.name.clone(),
            results_by_partition: topic.partitions.iter().map(partition).collect(),
        }
    };
    topics.iter().map(topic).collect()
}
