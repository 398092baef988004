//! Of APIs about transactions.

use ackflow_protocol::messages::add_offsets_to_txn::{AddOffsetsToTxnRequest, AddOffsetsToTxnResponse};
use ackflow_protocol::messages::add_partitions_to_txn::{
    AddPartitionsToTxnPartitionResult, AddPartitionsToTxnRequest, AddPartitionsToTxnResponse, AddPartitionsToTxnTopic,
    AddPartitionsToTxnTopicResult,
};
use ackflow_protocol::messages::describe_transactions::{
    DescribeTransactionsRequest, DescribeTransactionsResponse, TransactionState,
};
use ackflow_protocol::messages::end_txn::{EndTxnRequest, EndTxnResponse};
use ackflow_protocol::messages::list_transactions::{ListTransactionsRequest, ListTransactionsResponse};
use ackflow_protocol::messages::txn_offset_commit::{
    TxnOffsetCommitRequest, TxnOffsetCommitResponse, TxnOffsetCommitResponsePartition, TxnOffsetCommitResponseTopic,
};
#[cfg(feature = "unstable-kip-1289")]
use ackflow_protocol::messages::txn_share_acknowledge::{TxnShareAcknowledgeRequest, TxnShareAcknowledgeResponse};
use ackflow_protocol::wire::ErrorCode;

pub(super) fn add_partitions_to_txn(
    request: AddPartitionsToTxnRequest,
    error_code: ErrorCode,
    _: i16,
) -> AddPartitionsToTxnResponse {
    let partition =
        |partition_index| AddPartitionsToTxnPartitionResult { partition_index, partition_error_code: error_code };
    let topic = |topic: AddPartitionsToTxnTopic| AddPartitionsToTxnTopicResult {
        results_by_partition: topic.partitions.into_iter().map(partition).collect(),
        name: topic.name,
    };
    let results_by_topic_v3_and_below = request.v3_and_below_topics.into_iter().map(topic).collect();
    AddPartitionsToTxnResponse { error_code, results_by_topic_v3_and_below, ..Default::default() }
}

pub(super) fn add_offsets_to_txn(_: AddOffsetsToTxnRequest, error_code: ErrorCode, _: i16) -> AddOffsetsToTxnResponse {
    AddOffsetsToTxnResponse { error_code, ..Default::default() }
}

pub(super) fn end_txn(_: EndTxnRequest, error_code: ErrorCode, _: i16) -> EndTxnResponse {
    EndTxnResponse { error_code, ..Default::default() }
}

pub(super) fn txn_offset_commit(
    request: TxnOffsetCommitRequest,
    error_code: ErrorCode,
    _: i16,
) -> TxnOffsetCommitResponse {
    let partition = |partition_index| TxnOffsetCommitResponsePartition { partition_index, error_code };
    let topics = request.topics.into_iter().map(|topic| TxnOffsetCommitResponseTopic {
        partitions: topic.partitions.iter().map(|asked| partition(asked.partition_index)).collect(),
        name: topic.name,
        topic_id: topic.topic_id,
    });
    TxnOffsetCommitResponse { topics: topics.collect(), ..Default::default() }
}

pub(super) fn describe_transactions(
    request: DescribeTransactionsRequest,
    error_code: ErrorCode,
    _: i16,
) -> DescribeTransactionsResponse {
    let state = |transactional_id| TransactionState { error_code, transactional_id, ..Default::default() };
    let transaction_states = request.transactional_ids.into_iter().map(state).collect();
    DescribeTransactionsResponse { transaction_states, ..Default::default() }
}

pub(super) fn list_transactions(_: ListTransactionsRequest, error_code: ErrorCode, _: i16) -> ListTransactionsResponse {
    ListTransactionsResponse { error_code, ..Default::default() }
}

#[cfg(feature = "unstable-kip-1289")]
pub(super) fn txn_share_acknowledge(
    _: TxnShareAcknowledgeRequest,
    error_code: ErrorCode,
    _: i16,
) -> TxnShareAcknowledgeResponse {
    TxnShareAcknowledgeResponse { error_code, ..Default::default() }
}
