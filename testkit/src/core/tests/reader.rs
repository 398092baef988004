//! A consumer of its own, as bare requests, for the tests of logs.

use std::fmt::Write;

use ackflow_protocol::messages::fetch::{FetchPartition, FetchRequest, FetchResponse, FetchTopic};
use ackflow_protocol::records::Batches;
use bytes::Bytes;

use super::rig::{Rig, TOPIC};

/// A fetch of partitions of [`TOPIC`] from these offsets, without a session and without waiting.
pub(super) fn fetch(rig: &Rig, partitions: &[(i32, i64)]) -> FetchRequest {
    FetchRequest { max_bytes: 1 << 20, min_bytes: 1, topics: vec![topic(rig, partitions)], ..FetchRequest::default() }
}

/// These partitions of [`TOPIC`], from these offsets.
pub(super) fn topic(rig: &Rig, partitions: &[(i32, i64)]) -> FetchTopic {
    let partition = |&(partition, fetch_offset)| FetchPartition {
        partition,
        fetch_offset,
        partition_max_bytes: 1 << 20,
        ..FetchPartition::default()
    };
    let partitions = partitions.iter().map(partition).collect();
    FetchTopic { topic: TOPIC.to_owned(), topic_id: rig.topic_id(TOPIC), partitions }
}

/// A fetch response in short: `0[5-9 10-10]10/10` is partition 0 with two batches, high watermark and last stable offset; `~` is a batch that
/// is cut off, `x` and producer and first offset an aborted transaction, a code alone an error.
pub(super) fn summary(response: &FetchResponse) -> String {
    if !response.error_code.is_none() {
        return response.error_code.name().unwrap().to_owned();
    }
    let mut text = String::new();
    for partition in response.responses.iter().flat_map(|topic| &topic.partitions) {
        if !text.is_empty() {
            text.push(' ');
        }
        write!(text, "{}", partition.partition_index).unwrap();
        if !partition.error_code.is_none() {
            write!(text, "!{}", partition.error_code.name().unwrap()).unwrap();
            continue;
        }
        let batches = batches(partition.records.clone().unwrap_or_default()).join(" ");
        write!(text, "[{batches}]{}/{}", partition.high_watermark, partition.last_stable_offset).unwrap();
        for aborted in partition.aborted_transactions.iter().flatten() {
            write!(text, "x{}@{}", aborted.producer_id, aborted.first_offset).unwrap();
        }
        if partition.diverging_epoch.epoch >= 0 {
            let diverging = &partition.diverging_epoch;
            write!(text, "<{}@{}", diverging.epoch, diverging.end_offset).unwrap();
        }
    }
    text
}

fn batches(records: Bytes) -> Vec<String> {
    let mut walk = Batches::new(records);
    let mut all: Vec<String> = walk
        .by_ref()
        .map(|batch| batch.map(|batch| format!("{}-{}", batch.base_offset(), batch.last_offset())).unwrap())
        .collect();
    if walk.remaining() > 0 {
        all.push("~".to_owned());
    }
    all
}
