//! WriteTxnMarkers: ends transactions in logs. The embedded broker's own coordinator writes its markers without it.

use std::collections::BTreeSet;

use ackflow_protocol::messages::write_txn_markers::{
    WritableTxnMarker, WritableTxnMarkerPartitionResult, WritableTxnMarkerResult, WritableTxnMarkerTopicResult,
    WriteTxnMarkersRequest, WriteTxnMarkersResponse,
};
use ackflow_protocol::wire::ErrorCode;

use crate::core::Cluster;
use crate::core::dispatch::RequestContext;
use crate::core::log::Marker;
use crate::core::topics::TopicIdPartition;

/// Since this `transaction.version` each end of a transaction begins another epoch (KIP-890).
const RAISES_EPOCH_SINCE: i8 = 2;

pub(crate) fn handle(
    cluster: &mut Cluster,
    cx: &RequestContext<'_>,
    request: WriteTxnMarkersRequest,
) -> WriteTxnMarkersResponse {
    // One marker a producer and partition: a request that says the same often is not to fill a log.
    let mut written = BTreeSet::new();
    let markers = request.markers.iter().map(|asked| {
        let marker = marker(cluster, cx, asked);
        let topics = asked.topics.iter().map(|topic| {
            let partitions = topic.partition_indexes.iter().map(|&partition_index| {
                let led = cluster.led(cx.node, &topic.name, partition_index, -1);
                // As Kafka, which fails over a negative number only when it writes.
                let is_none = asked.producer_id < 0 || asked.producer_epoch < 0;
                let led = if is_none { led.and(Err(ErrorCode::UNKNOWN_SERVER_ERROR)) } else { led };
                let ended = led.and_then(|id| match written.insert((asked.producer_id, id)) {
                    true => cluster.end_transaction_in(id, marker),
                    false => Err(ErrorCode::INVALID_PRODUCER_EPOCH),
                });
                let error_code = ended.err().unwrap_or(ErrorCode::NONE);
                WritableTxnMarkerPartitionResult { partition_index, error_code }
            });
            WritableTxnMarkerTopicResult { partitions: partitions.collect(), name: topic.name.clone() }
        });
        WritableTxnMarkerResult { producer_id: asked.producer_id, topics: topics.collect() }
    });
    WriteTxnMarkersResponse { markers: markers.collect() }
}

fn marker(cluster: &Cluster, cx: &RequestContext<'_>, asked: &WritableTxnMarker) -> Marker {
    Marker {
        producer_id: asked.producer_id,
        epoch: asked.producer_epoch,
        raises_epoch: asked.transaction_version >= RAISES_EPOCH_SINCE,
        committed: asked.transaction_result,
        coordinator_epoch: asked.coordinator_epoch,
        timestamp: cluster.clock.millis(cx.now),
    }
}

impl Cluster {
    /// Writes the end of a transaction into the log of a partition, and wakes whoever waits for it.
    ///
    /// # Errors
    /// What a marker is refused with.
    pub(crate) fn end_transaction_in(&mut self, id: TopicIdPartition, marker: Marker) -> Result<(), ErrorCode> {
        let partition = self.topics.partition_mut(id).ok_or(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION)?;
        partition.log.end_transaction(marker, partition.leader_epoch)?;
        self.woken.insert(id);
        Ok(())
    }
}
