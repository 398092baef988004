//! Answers that no broker should give, and requests that are kept for who judges them.

use ackflow_protocol::messages::list_groups::ListGroupsRequest;
use ackflow_protocol::messages::share_fetch::{ShareFetchRequest, ShareFetchResponse};
use ackflow_protocol::wire::frame::SIZE_LENGTH;
use ackflow_protocol::wire::{ErrorCode, Message, decode_response};
use bytes::Bytes;

use super::rig::{Member, Rig};
use crate::core::{Answer, FaultAction, FaultRule, STRANGE_PARTITION, Spoil};

/// The frame of a first fetch whose answer is spoiled, without its size.
fn spoiled(spoil: Spoil, records: usize) -> Bytes {
    let mut rig = Rig::new();
    if records > 0 {
        rig.produce(0, records);
    }
    rig.cluster.add_fault(FaultRule::new(FaultAction::Spoil(spoil)).times(1));
    let request = Member::new(&rig, "m1", 1, &[0]).request(10);
    let Answer::Reply(frame) = rig.send(1, 2, &request) else { panic!("not answered") };
    let size = i32::from_be_bytes(*frame.first_chunk().unwrap());
    assert_eq!(usize::try_from(size).unwrap(), frame.len() - SIZE_LENGTH, "{spoil:?}");
    frame.slice(SIZE_LENGTH..)
}

fn fetched(spoil: Spoil, records: usize) -> ShareFetchResponse {
    let (header, response) = decode_response::<ShareFetchResponse>(spoiled(spoil, records), 2).unwrap();
    assert_eq!((header.correlation_id, response.error_code), (7, ErrorCode::NONE));
    response
}

#[test]
fn a_spoiled_answer_to_a_share_fetch_is_wrong_in_one_thing() {
    let twice = fetched(Spoil::PartitionsTwice, 2);
    assert_eq!(twice.responses[0].partitions[0], twice.responses[0].partitions[1]);
    let strange = fetched(Spoil::StrangePartition, 2);
    let numbers: Vec<i32> = strange.responses[0].partitions.iter().map(|found| found.partition_index).collect();
    assert_eq!(numbers, [0, STRANGE_PARTITION]);
    let acquired = &fetched(Spoil::AcquiredTwice, 2).responses[0].partitions[0].acquired_records;
    assert_eq!((acquired.len(), &acquired[0]), (2, &acquired[1]));
    let missing = &fetched(Spoil::RecordsMissing, 2).responses[0].partitions[0];
    assert_eq!((missing.records.as_ref(), missing.acquired_records.len()), (Some(&Bytes::new()), 1));
    assert_eq!(fetched(Spoil::NullRecords, 0).responses[0].partitions[0].records, None);
    assert!(fetched(Spoil::NullRecords, 2).responses[0].partitions[0].records.is_some());
}

#[test]
fn a_spoiled_frame_is_none_or_another_one_to_its_reader() {
    assert!(decode_response::<ShareFetchResponse>(spoiled(Spoil::Unreadable, 2), 2).is_err());
    let (header, _) = decode_response::<ShareFetchResponse>(spoiled(Spoil::OtherCorrelationId, 2), 2).unwrap();
    assert_ne!(header.correlation_id, 7);
    let (tagged, right) = (spoiled(Spoil::UnknownTag, 0), fetched(Spoil::AcquiredTwice, 0));
    assert_eq!(decode_response::<ShareFetchResponse>(tagged.clone(), 2).unwrap().1, right);
    let mut rig = Rig::new();
    let request = Member::new(&rig, "m1", 1, &[0]).request(10);
    let Answer::Reply(plain) = rig.send(1, 2, &request) else { panic!("not answered") };
    assert!(tagged.len() > plain.len() - SIZE_LENGTH, "there is a field more");
}

#[test]
fn requests_are_kept_once_that_is_asked_for_and_taken_once() {
    let mut rig = Rig::with_nodes(2, &[], &[]);
    rig.call(101, &ListGroupsRequest::default());
    assert_eq!(rig.cluster.take_requests(), []);
    rig.cluster.keep_requests();
    rig.cluster.add_fault(FaultRule::new(FaultAction::CutBefore).times(1));
    let fetch = Member::new(&rig, "m1", 201, &[0]).request(10);
    assert!(matches!(rig.send(201, 2, &fetch), Answer::Close(_)));
    rig.call(101, &ListGroupsRequest::default());
    let kept = rig.cluster.take_requests();
    let known: Vec<_> = kept.iter().map(|kept| (kept.node, kept.connection.0, kept.header.request_api_key)).collect();
    assert_eq!(known, [(2, 201, ShareFetchRequest::KEY), (1, 101, ListGroupsRequest::KEY)]);
    assert_eq!(ShareFetchRequest::from_bytes(kept[0].body.clone(), 2).unwrap(), fetch);
    assert_eq!(rig.cluster.take_requests(), []);
}
