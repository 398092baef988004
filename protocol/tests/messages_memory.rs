//! What reading messages costs in memory: a `Vec` an array on the hot path, and never more than the bytes bear out.

#[path = "support/counting.rs"]
mod counting;

use ackflow_protocol::messages::delete_groups::DeleteGroupsRequest;
use ackflow_protocol::messages::metadata::{MetadataResponse, MetadataResponsePartition, MetadataResponseTopic};
use ackflow_protocol::messages::share_fetch::{
    AcquiredRecords, PartitionData, ShareFetchResponse, ShareFetchableTopicResponse,
};
use ackflow_protocol::wire::{DecodeErrorKind, Message, decode_response, encode_response, varint};
use bytes::{BufMut, Bytes};
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
// - let first = count.min(FIRST_ROOM / size);
// + let first = count;
#[test]
fn row_46_counts_that_the_bytes_do_not_bear_out_cost_little_memory() {
    // Each count claims fewer elements than there are bytes left, and less memory than a message of this size may take.
    let claimed = |size: usize| [(size & 0x7f) as u8 | 0x80, (size >> 7 & 0x7f) as u8 | 0x80, (size >> 14) as u8];
    let mut topics = [&[0; 11][..], &claimed(200_000), &[0; 16], &claimed(100_000)].concat();
    topics.resize((1 << 20) + 100, 0);
    let (held, read) = peak(|| ShareFetchResponse::from_bytes(Bytes::from(topics), 2).map(|_| ()));
    assert!(read.is_err());
    assert!(held < 3 << 20, "{held} bytes");

    let mut brokers = [&[0; 4][..], &claimed(200_000)].concat();
    brokers.resize((1 << 20) + 100, 0);
    let (held, read) = peak(|| MetadataResponse::from_bytes(Bytes::from(brokers), 13).map(|_| ()));
    assert!(read.is_err());
    assert!(held < 1 << 20, "{held} bytes");
}

/// A request with so many group ids, all of them empty: a byte each, 24 in memory.
fn empty_group_ids(count: u32) -> Bytes {
    let mut bytes = Vec::new();
    varint::write_u32(&mut bytes, count + 1);
    bytes.put_bytes(1, count as usize);
    bytes.push(0);
    bytes.into()
}

// Mutation: protocol/src/wire/reader.rs
// - let wanted = count.saturating_mul(size);
// + let wanted = count;
#[test]
fn row_46_elements_of_a_byte_each_take_no_more_than_16_mib_and_eight_times_the_bytes() {
    let bytes = empty_group_ids(16 << 20);
    // Without what the first elements of an array take while they move.
    let allowed = 7 * bytes.len() + (16 << 20) - (256 << 10);
    let (held, read) = peak(|| DeleteGroupsRequest::from_bytes(bytes, 2).map(|_| ()));
    let error = read.unwrap_err();
    let kind = DecodeErrorKind::Memory { count: 16 << 20, wanted: 384 << 20, left: allowed, allowed };
    assert_eq!((error.path().as_str(), error.kind()), ("groupsNames", &kind));
    assert!(error.to_string().starts_with("DeleteGroupsRequest v2: groupsNames has 16777216 elements"), "{error}");
    assert!(held < 4096, "{held} bytes held");

    // As many as are allowed, which are more than fit the first room.
    let bytes = empty_group_ids(900_000);
    let most = (16 << 20) + 8 * bytes.len();
    let (held, read) = peak(|| DeleteGroupsRequest::from_bytes(bytes, 2).unwrap());
    assert_eq!(read.groups_names.len(), 900_000);
    assert!(held <= most, "{held} bytes held, allowed are {most}");
    assert_eq!(read.groups_names.capacity(), 900_000);
}

#[test]
fn responses_about_a_hundred_thousand_partitions_are_far_from_what_a_message_may_take() {
    let partition = |i| MetadataResponsePartition {
        partition_index: i,
        replica_nodes: vec![1, 2, 3],
        isr_nodes: vec![1, 2, 3],
        ..Default::default()
    };
    let topic = MetadataResponseTopic {
        name: Some("t".to_owned()),
        partitions: (0..100_000).map(partition).collect(),
        ..Default::default()
    };
    let metadata = MetadataResponse { topics: vec![topic], ..Default::default() };
    assert_eq!(MetadataResponse::from_bytes(metadata.to_bytes(13).unwrap(), 13), Ok(metadata));

    let fetched = share_fetch(100_000, 0, 0);
    assert_eq!(ShareFetchResponse::from_bytes(fetched.to_bytes(2).unwrap(), 2), Ok(fetched));
}
