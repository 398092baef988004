//! ListOffsets: the ends of a log, and the record of a time.

use std::collections::BTreeSet;

use ackflow_protocol::messages::list_offsets::{
    ListOffsetsPartition, ListOffsetsPartitionResponse, ListOffsetsRequest, ListOffsetsResponse,
    ListOffsetsTopicResponse,
};
use ackflow_protocol::wire::ErrorCode;

use crate::core::Cluster;
use crate::core::dispatch::RequestContext;
use crate::core::log::Isolation;

const LATEST: i64 = -1;
const EARLIEST: i64 = -2;
const MAX_TIMESTAMP: i64 = -3;
const EARLIEST_LOCAL: i64 = -4;
const LATEST_TIERED: i64 = -5;
const EARLIEST_PENDING_UPLOAD: i64 = -6;

pub(crate) fn handle(
    cluster: &mut Cluster,
    cx: &RequestContext<'_>,
    request: ListOffsetsRequest,
) -> ListOffsetsResponse {
    let isolation = Isolation::of(request.isolation_level);
    // What is named twice is refused once for all.
    let (mut seen, mut twice) = (BTreeSet::new(), BTreeSet::new());
    for topic in &request.topics {
        for asked in &topic.partitions {
            let key = (topic.name.as_str(), asked.partition_index);
            if !seen.insert(key) {
                twice.insert(key);
            }
        }
    }
    let topics = request.topics.iter().map(|topic| {
        let partitions = topic.partitions.iter().map(|asked| {
            let is_twice = twice.contains(&(topic.name.as_str(), asked.partition_index));
            let found = if is_twice {
                Err(ErrorCode::INVALID_REQUEST)
            } else {
                find(cluster, cx, &topic.name, asked, isolation)
            };
            let (error_code, (timestamp, offset, leader_epoch)) = match found {
                Ok(found) => (ErrorCode::NONE, found.unwrap_or((-1, -1, -1))),
                Err(code) => (code, (-1, -1, -1)),
            };
            let partition_index = asked.partition_index;
            ListOffsetsPartitionResponse { partition_index, error_code, timestamp, offset, leader_epoch }
        });
        ListOffsetsTopicResponse { name: topic.name.clone(), partitions: partitions.collect() }
    });
    ListOffsetsResponse { topics: topics.collect(), ..ListOffsetsResponse::default() }
}

/// Timestamp, offset and leader epoch, where there is such a record.
fn find(
    cluster: &Cluster,
    cx: &RequestContext<'_>,
    topic: &str,
    asked: &ListOffsetsPartition,
    isolation: Isolation,
) -> Result<Option<(i64, i64, i32)>, ErrorCode> {
    let id = cluster.led(cx.node, topic, asked.partition_index, asked.current_leader_epoch)?;
    let log = &cluster.topics.partition(id)?.log;
    let of = |timestamp, offset| (timestamp, offset, log.epochs().of_offset(offset).unwrap_or(-1));
    let readable = log.readable_end(isolation);
    let record = |found: Option<crate::core::log::Found>| {
        found.filter(|found| found.offset < readable).map(|found| of(found.timestamp, found.offset))
    };
    match asked.timestamp {
        LATEST => Ok(Some((-1, readable, log.epochs().latest().unwrap_or(-1)))),
        EARLIEST => Ok(Some(of(-1, log.start_offset()))),
        MAX_TIMESTAMP if cx.version >= 7 => Ok(record(log.find_latest_time())),
        EARLIEST_LOCAL if cx.version >= 8 => Ok(Some(of(-1, log.start_offset()))),
        // Nothing is in tiered storage, and nothing is to be uploaded there.
        LATEST_TIERED if cx.version >= 9 => Ok(None),
        EARLIEST_PENDING_UPLOAD if cx.version >= 11 => Ok(None),
        ..0 => Err(ErrorCode::UNSUPPORTED_VERSION),
        timestamp => Ok(record(log.find_time(timestamp))),
    }
}
