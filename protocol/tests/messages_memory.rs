//! What reading messages costs in memory: a `Vec` an array on the hot path, and never more than the bytes bear out.

#[path = "support/counting.rs"]
mod counting;

use ackflow_protocol::messages::metadata::MetadataResponse;
use ackflow_protocol::messages::share_fetch::{
    AcquiredRecords, PartitionData, ShareFetchResponse, ShareFetchableTopicResponse,
};
use ackflow_protocol::wire::{Message, decode_response, encode_response};
use bytes::Bytes;
use counting::{allocations, peak};

fn share_fetch(partitions: usize, ranges: usize, record_bytes: usize) -> ShareFetchResponse {
    let partition = PartitionData {
        records: Some(Bytes::from(vec![7; record_bytes])),
        acquired_records: vec![AcquiredRecords { first_offset: 5, last_offset: 9, delivery_count: 1 }; ranges],
        ..PartitionData::default()
    };
    let topic = ShareFetchableTopicResponse { partitions: vec![partition; partitions], ..Default::default() };
    ShareFetchResponse { responses: vec![topic], ..Default::default() }
}

#[test]
fn share_fetch_allocates_one_vec_an_array_and_nothing_a_range_or_record() {
    for (ranges, record_bytes) in [(1, 100), (500, 1 << 20)] {
        let response = share_fetch(3, ranges, record_bytes);
        let frame = encode_response(&response, 2, 1).unwrap().slice(4..);
        let (count, (_, read)) = allocations(|| decode_response::<ShareFetchResponse>(frame.clone(), 2).unwrap());
        // Topics, partitions, and the ranges of each of three partitions.
        assert_eq!(count, 5, "{ranges} ranges, {record_bytes} bytes of records");
        assert_eq!(read, response);
    }
}

#[test]
fn share_fetch_with_nothing_in_it_allocates_nothing() {
    let frame = encode_response(&ShareFetchResponse::default(), 2, 1).unwrap().slice(4..);
    assert_eq!(allocations(|| decode_response::<ShareFetchResponse>(frame.clone(), 2).unwrap()).0, 0);
}

// Mutation: protocol/src/wire/reader.rs
// - Vec::with_capacity(count.min(RESERVE_AT_MOST));
// + Vec::with_capacity(count);
#[test]
fn row_46_counts_that_the_bytes_do_not_bear_out_cost_little_memory() {
    // Each count claims as many elements as there are bytes left, which the length check lets pass.
    let claimed = |size: usize| [(size & 0x7f) as u8 | 0x80, (size >> 7 & 0x7f) as u8 | 0x80, (size >> 14) as u8];
    let mut topics = [&[0; 11][..], &claimed(1 << 20), &[0; 16], &claimed(1 << 20)].concat();
    topics.resize((1 << 20) + 100, 0);
    let (held, read) = peak(|| ShareFetchResponse::from_bytes(Bytes::from(topics), 2).map(|_| ()));
    assert!(read.is_err());
    assert!(held < 3 << 20, "{held} bytes");

    let mut brokers = [&[0; 4][..], &claimed(1 << 20)].concat();
    brokers.resize((1 << 20) + 100, 0);
    let (held, read) = peak(|| MetadataResponse::from_bytes(Bytes::from(brokers), 13).map(|_| ()));
    assert!(read.is_err());
    assert!(held < 1 << 20, "{held} bytes");
}
