//! DescribeProducers: the idempotent producers that a partition knows.

use ackflow_protocol::messages::describe_producers::{
    DescribeProducersRequest, DescribeProducersResponse, PartitionResponse, ProducerState, TopicResponse,
};

use crate::core::Cluster;
use crate::core::dispatch::RequestContext;
use crate::core::log::PartitionLog;

pub(crate) fn handle(
    cluster: &mut Cluster,
    cx: &RequestContext<'_>,
    request: DescribeProducersRequest,
) -> DescribeProducersResponse {
    let topics = request.topics.into_iter().map(|topic| {
        let partitions = topic.partition_indexes.iter().map(|&partition_index| {
            let led = cluster.led(cx.node, &topic.name, partition_index, -1);
            match led.and_then(|id| cluster.topics.log(id)) {
                Ok(log) => {
                    PartitionResponse { partition_index, active_producers: producers(log), ..Default::default() }
                }
                Err(error_code) => PartitionResponse { partition_index, error_code, ..Default::default() },
            }
        });
        TopicResponse { partitions: partitions.collect(), name: topic.name }
    });
    DescribeProducersResponse { topics: topics.collect(), ..DescribeProducersResponse::default() }
}

fn producers(log: &PartitionLog) -> Vec<ProducerState> {
    let state = |(producer_id, producer): (i64, &crate::core::log::Producer)| ProducerState {
        producer_id,
        producer_epoch: producer.epoch.into(),
        last_sequence: producer.last_sequence(),
        last_timestamp: producer.last_timestamp,
        coordinator_epoch: producer.coordinator_epoch,
        current_txn_start_offset: producer.open_since.unwrap_or(-1),
    };
    log.producers().iter().map(state).collect()
}
