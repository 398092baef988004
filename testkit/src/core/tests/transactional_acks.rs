//! Acknowledgements in transactions (draft of KIP-1289): what the broker does with them. No Kafka has them yet, so that the draft alone says what is right.

use std::time::Duration;

use ackflow_protocol::messages::api_versions::ApiVersionsRequest;
use ackflow_protocol::messages::end_txn::EndTxnRequest;
use ackflow_protocol::messages::init_producer_id::InitProducerIdRequest;
use ackflow_protocol::messages::share_group_heartbeat::ShareGroupHeartbeatRequest;
use ackflow_protocol::messages::txn_share_acknowledge::{
    AcknowledgePartition, AcknowledgeTopic, AcknowledgementBatch, TxnShareAcknowledgeRequest,
    TxnShareAcknowledgeResponse,
};
use ackflow_protocol::wire::{ApiKey, ErrorCode};

use super::dead_letters::{QUEUE, TAKES, create_queue, letters};
use super::rig::{GROUP, Member, Rig, TOPIC};
use crate::core::transactions::Producer;
use crate::core::{Answer, ShareRecordState};

const ID: &str = "tx";
/// A lock of the group, and a transaction's time.
const LOCK: Duration = Duration::from_secs(30);
const TIMEOUT: Duration = Duration::from_secs(60);

fn rig() -> Rig {
    Rig::at_share_version(3, 1, &[])
}

fn init(rig: &mut Rig, id: &str) -> Result<Producer, ErrorCode> {
    let request = InitProducerIdRequest {
        transactional_id: Some(id.to_owned()),
        transaction_timeout_ms: 60_000,
        ..Default::default()
    };
    let response = rig.call(1, &request);
    response.error_code.ok().map(|()| Producer { id: response.producer_id, epoch: response.producer_epoch })
}

/// Ends a transaction, and gives who the producer is then.
fn end(rig: &mut Rig, id: &str, producer: Producer, committed: bool) -> Result<Producer, ErrorCode> {
    let Producer { id: producer_id, epoch: producer_epoch } = producer;
    let response =
        rig.call(1, &EndTxnRequest { transactional_id: id.to_owned(), producer_id, producer_epoch, committed });
    response.error_code.ok().map(|()| Producer { id: response.producer_id, epoch: response.producer_epoch })
}

/// Makes a member of the group, or keeps it one, and gives its epoch.
fn join(rig: &mut Rig, member: &str, epoch: i32) -> i32 {
    let request = ShareGroupHeartbeatRequest {
        group_id: GROUP.to_owned(),
        member_id: member.to_owned(),
        member_epoch: epoch,
        subscribed_topic_names: Some(vec![TOPIC.to_owned()]),
        ..Default::default()
    };
    let response = rig.call(1, &request);
    assert_eq!(response.error_code, ErrorCode::NONE);
    response.member_epoch
}

/// Acknowledges ranges of partition 0: first, last, types.
fn request(
    rig: &Rig,
    producer: Producer,
    (member, epoch): (&str, i32),
    acks: &[(i64, i64, &[i8])],
) -> TxnShareAcknowledgeRequest {
    let batch = |&(first_offset, last_offset, types): &(i64, i64, &[i8])| AcknowledgementBatch {
        first_offset,
        last_offset,
        acknowledge_types: types.to_vec(),
    };
    let partition =
        AcknowledgePartition { partition_index: 0, acknowledgement_batches: acks.iter().map(batch).collect() };
    TxnShareAcknowledgeRequest {
        transactional_id: Some(ID.to_owned()),
        group_id: GROUP.to_owned(),
        producer_id: producer.id,
        producer_epoch: producer.epoch,
        member_id: member.to_owned(),
        member_epoch: epoch,
        topics: vec![AcknowledgeTopic { topic_id: rig.topic_id(TOPIC), partitions: vec![partition] }],
    }
}

fn call(rig: &mut Rig, connection: u64, request: &TxnShareAcknowledgeRequest) -> TxnShareAcknowledgeResponse {
    rig.call_version(connection, 0, request)
}

/// The error of the request, else that of its only partition.
fn code(response: &TxnShareAcknowledgeResponse) -> ErrorCode {
    match response.error_code {
        ErrorCode::NONE => response.responses[0].partitions[0].error_code,
        code => code,
    }
}

fn stage(rig: &mut Rig, producer: Producer, member: (&str, i32), acks: &[(i64, i64, &[i8])]) -> ErrorCode {
    let request = request(rig, producer, member, acks);
    code(&call(rig, 1, &request))
}

/// The records of partition 0 in short: `0-4p1` are pending after one delivery.
fn states(rig: &Rig) -> String {
    let records = rig.cluster.share_records(GROUP, TOPIC, 0).into_iter().map(|records| {
        let state = match records.state {
            ShareRecordState::Available => 'a',
            ShareRecordState::Acquired { .. } => 'h',
            ShareRecordState::Pending { .. } => 'p',
            ShareRecordState::Acknowledged => 'd',
            ShareRecordState::Archived => 'x',
        };
        format!("{}-{}{state}{}", records.first, records.last, records.delivery_count)
    });
    records.collect::<Vec<_>>().join(" ")
}

/// A member with ten records of partition 0, and the producer.
fn holding(rig: &mut Rig) -> (Member, i32, Producer) {
    rig.produce(0, 10);
    let epoch = join(rig, "m1", 0);
    let mut member = Member::new(rig, "m1", 1, &[0]);
    assert_eq!(member.fetch(rig, 100), "0[0-9x1]");
    (member, epoch, init(rig, ID).unwrap())
}

#[test]
fn a_commit_settles_accepted_rejected_and_gaps_and_nobody_gets_them_before() {
    let mut rig = rig();
    let (mut member, epoch, producer) = holding(&mut rig);
    assert_eq!(stage(&mut rig, producer, ("m1", epoch), &[(0, 3, &[1]), (4, 6, &[3, 0, 1])]), ErrorCode::NONE);
    assert_eq!(states(&rig), "0-3p1 4-4p1 5-5p1 6-6p1 7-9h1");
    assert_eq!(rig.lag(0), Some(10));
    let mut other = Member::new(&rig, "m2", 2, &[0]);
    assert_eq!(other.fetch(&mut rig, 100), "0[]");
    assert_eq!(member.ack(&mut rig, 0, 3, 1), ErrorCode::INVALID_RECORD_STATE, "the transaction has them");
    assert_eq!(member.ack(&mut rig, 7, 9, 1), ErrorCode::NONE);
    assert_eq!(states(&rig), "0-3p1 4-4p1 5-5p1 6-6p1 7-9d1");
    end(&mut rig, ID, producer, true).unwrap();
    assert_eq!((states(&rig).as_str(), rig.lag(0)), ("", Some(0)));
    assert_eq!(other.fetch(&mut rig, 100), "");
}

#[test]
fn rejected_records_and_gaps_are_archived_by_the_commit() {
    let mut rig = rig();
    let (_, epoch, producer) = holding(&mut rig);
    // The first record stays held, so that the others can be looked at.
    assert_eq!(stage(&mut rig, producer, ("m1", epoch), &[(1, 4, &[1]), (5, 9, &[3, 3, 0, 1, 1])]), ErrorCode::NONE);
    end(&mut rig, ID, producer, true).unwrap();
    assert_eq!(states(&rig), "0-0h1 1-4d1 5-7x1 8-9d1");
}

// Mutation: testkit/src/core/share/partition/stage.rs
// - self.note_ends(limits, noted);
// + self.note(noted);
#[test]
fn rejected_records_are_in_the_dead_letter_queue_when_the_transaction_is_committed() {
    let mut rig = Rig::at_share_version(3, 1, &[QUEUE]);
    create_queue(&mut rig, &[TAKES]);
    let (_, epoch, producer) = holding(&mut rig);
    assert_eq!(stage(&mut rig, producer, ("m1", epoch), &[(0, 2, &[1, 3, 0])]), ErrorCode::NONE);
    assert_eq!(letters(&rig), [""; 0]);
    end(&mut rig, ID, producer, true).unwrap();
    assert_eq!(letters(&rig), ["1x1 -"]);
}

#[test]
fn an_abort_gives_accepted_and_rejected_back_and_the_delivery_count_stays() {
    let mut rig = rig();
    let (_, epoch, producer) = holding(&mut rig);
    assert_eq!(stage(&mut rig, producer, ("m1", epoch), &[(0, 4, &[1]), (5, 9, &[3])]), ErrorCode::NONE);
    let mut other = Member::new(&rig, "m2", 2, &[0]);
    // It waits for records while they are pending, and gets them when they are not.
    assert!(other.fetch_waiting(&mut rig, Duration::from_secs(10)).is_none());
    end(&mut rig, ID, producer, false).unwrap();
    assert_eq!(rig.ready(), Some((2, "0[0-9x2]".to_owned())));
}

#[test]
fn aborts_walk_to_the_delivery_limit() {
    let mut rig = Rig::at_share_version(3, 1, &[("share.delivery.count.limit", "2")]);
    let (mut member, epoch, mut producer) = holding(&mut rig);
    for (before, after) in [("0-9p1", "0-9a1"), ("0-9p2", "")] {
        assert_eq!(stage(&mut rig, producer, ("m1", epoch), &[(0, 9, &[1])]), ErrorCode::NONE);
        assert_eq!(states(&rig), before);
        producer = end(&mut rig, ID, producer, false).unwrap();
        assert_eq!(states(&rig), after);
        if !after.is_empty() {
            // The last attempt of each is delivered alone.
            rig.cluster.group_configs.get_mut(GROUP).unwrap().insert("share.delivery.count.limit".into(), "5".into());
            assert_eq!(member.fetch(&mut rig, 100), "0[0-9x2]");
            rig.cluster.group_configs.get_mut(GROUP).unwrap().insert("share.delivery.count.limit".into(), "2".into());
        }
    }
}

#[test]
fn no_lock_ends_what_is_pending_but_the_time_of_the_transaction_does() {
    let mut rig = rig();
    let (mut member, epoch, producer) = holding(&mut rig);
    assert_eq!(stage(&mut rig, producer, ("m1", epoch), &[(0, 4, &[1])]), ErrorCode::NONE);
    rig.advance(LOCK);
    assert_eq!(rig.cluster.poll(rig.now), None);
    assert_eq!(states(&rig), "0-4p1 5-9a1");
    // What the member holds no more it cannot stage either.
    assert_eq!(stage(&mut rig, producer, ("m1", epoch), &[(5, 9, &[1])]), ErrorCode::INVALID_RECORD_STATE);
    rig.cluster.expire_group_locks(rig.now, GROUP);
    assert_eq!(member.close(&mut rig), "");
    rig.disconnect(1);
    assert_eq!(states(&rig), "0-4p1 5-9a1");
    rig.advance(TIMEOUT - LOCK - Duration::from_millis(1));
    assert_eq!(rig.cluster.poll(rig.now), None);
    assert_eq!(states(&rig), "0-4p1 5-9a1");
    rig.advance(Duration::from_millis(1));
    assert_eq!(rig.cluster.poll(rig.now), None);
    assert_eq!(states(&rig), "0-9a1");
    assert!(end(&mut rig, ID, producer, true).is_err(), "it was too late");
    assert_eq!(states(&rig), "0-9a1");
}

#[test]
fn what_is_staged_twice_or_done_by_others_is_refused_with_all_of_its_partition() {
    let mut rig = rig();
    let (_, epoch, producer) = holding(&mut rig);
    assert_eq!(stage(&mut rig, producer, ("m1", epoch), &[(3, 5, &[1])]), ErrorCode::NONE);
    for acks in [&[(0, 3, &[1][..])][..], &[(0, 0, &[1]), (5, 6, &[1])], &[(3, 5, &[1])]] {
        assert_eq!(stage(&mut rig, producer, ("m1", epoch), acks), ErrorCode::INVALID_RECORD_STATE);
    }
    assert_eq!(states(&rig), "0-2h1 3-5p1 6-9h1");
    assert_eq!(stage(&mut rig, producer, ("m1", epoch), &[(0, 2, &[1])]), ErrorCode::NONE);
    end(&mut rig, ID, producer, true).unwrap();
    assert_eq!(states(&rig), "6-9h1");
    // Below the start of the share partition everything is done. It does not count twice, though a plain acknowledgement of it is no error.
    let producer = init(&mut rig, ID).unwrap();
    assert_eq!(stage(&mut rig, producer, ("m1", epoch), &[(2, 6, &[1])]), ErrorCode::INVALID_RECORD_STATE);
    assert_eq!(stage(&mut rig, producer, ("m1", epoch), &[(6, 10, &[1])]), ErrorCode::INVALID_REQUEST);
    assert_eq!(states(&rig), "6-9h1");
}

#[test]
fn a_record_of_another_member_is_refused() {
    let mut rig = rig();
    let (.., producer) = holding(&mut rig);
    let epoch = join(&mut rig, "m2", 0);
    assert_eq!(stage(&mut rig, producer, ("m2", epoch), &[(0, 1, &[1])]), ErrorCode::INVALID_RECORD_STATE);
    assert_eq!(states(&rig), "0-9h1");
}

#[test]
fn the_member_is_checked_when_it_stages_and_not_when_the_transaction_ends() {
    let mut rig = rig();
    let (_, epoch, producer) = holding(&mut rig);
    for (member, epoch, code) in [
        ("m1", epoch - 1, ErrorCode::STALE_MEMBER_EPOCH),
        ("m1", epoch + 1, ErrorCode::FENCED_MEMBER_EPOCH),
        ("m9", epoch, ErrorCode::UNKNOWN_MEMBER_ID),
    ] {
        assert_eq!(stage(&mut rig, producer, (member, epoch), &[(0, 9, &[1])]), code);
    }
    let mut elsewhere = request(&rig, producer, ("m1", epoch), &[(0, 9, &[1])]);
    elsewhere.group_id = "nobody".to_owned();
    assert_eq!(code(&call(&mut rig, 1, &elsewhere)), ErrorCode::GROUP_ID_NOT_FOUND);
    assert_eq!(states(&rig), "0-9h1");
    assert_eq!(stage(&mut rig, producer, ("m1", epoch), &[(0, 9, &[1])]), ErrorCode::NONE);
    rig.cluster.groups.remove(GROUP, "m1").unwrap();
    end(&mut rig, ID, producer, true).unwrap();
    assert_eq!(rig.lag(0), Some(0));
}

#[test]
fn the_end_of_another_transaction_changes_nothing() {
    let mut rig = rig();
    let (_, epoch, one) = holding(&mut rig);
    let two = init(&mut rig, "tx-2").unwrap();
    let mut of_two = request(&rig, two, ("m1", epoch), &[(5, 9, &[1])]);
    of_two.transactional_id = Some("tx-2".to_owned());
    assert_eq!(stage(&mut rig, one, ("m1", epoch), &[(0, 4, &[1])]), ErrorCode::NONE);
    assert_eq!(code(&call(&mut rig, 1, &of_two)), ErrorCode::NONE);
    let next = end(&mut rig, "tx-2", two, true).unwrap();
    assert_eq!(states(&rig), "0-4p1 5-9d1");
    // Whoever has had an epoch before cannot touch it either.
    assert_eq!(
        stage(&mut rig, Producer { epoch: one.epoch - 1, ..one }, ("m1", epoch), &[(5, 5, &[1])]),
        ErrorCode::PRODUCER_FENCED
    );
    assert_eq!(end(&mut rig, "tx-2", next, false), Ok(Producer { epoch: next.epoch + 1, ..next }));
    assert_eq!(states(&rig), "0-4p1 5-9d1");
    let partition = crate::core::topics::TopicIdPartition { topic_id: rig.topic_id(TOPIC), partition: 0 };
    let limits = rig.cluster.group_config(GROUP).limits();
    let share = rig.cluster.share_partitions.stored_mut(GROUP, partition).unwrap();
    for other in [Producer { epoch: one.epoch + 1, ..one }, Producer { id: one.id + 7, ..one }] {
        assert!(!share.settle(&limits, other, true) && !share.settle(&limits, other, false));
    }
    assert_eq!(states(&rig), "0-4p1 5-9d1");
    end(&mut rig, ID, one, false).unwrap();
    assert_eq!(states(&rig), "0-4a1 5-9d1");
}

#[test]
fn a_producer_that_comes_back_aborts_what_is_pending_and_its_late_requests_are_refused() {
    let mut rig = rig();
    let (_, epoch, producer) = holding(&mut rig);
    assert_eq!(stage(&mut rig, producer, ("m1", epoch), &[(0, 4, &[1])]), ErrorCode::NONE);
    assert_eq!(init(&mut rig, ID), Err(ErrorCode::CONCURRENT_TRANSACTIONS));
    assert_eq!(states(&rig), "0-4a1 5-9h1");
    assert_eq!(stage(&mut rig, producer, ("m1", epoch), &[(5, 9, &[1])]), ErrorCode::PRODUCER_FENCED);
    let next = init(&mut rig, ID).unwrap();
    assert_eq!(stage(&mut rig, producer, ("m1", epoch), &[(5, 9, &[1])]), ErrorCode::PRODUCER_FENCED);
    // The same after an end: a request of the transaction before cannot slip into the next one.
    assert_eq!(stage(&mut rig, next, ("m1", epoch), &[(5, 6, &[1])]), ErrorCode::NONE);
    end(&mut rig, ID, next, true).unwrap();
    assert_eq!(stage(&mut rig, next, ("m1", epoch), &[(7, 9, &[1])]), ErrorCode::PRODUCER_FENCED);
    assert_eq!(states(&rig), "0-4a1 5-6d1 7-9h1");
}

#[test]
fn what_is_pending_survives_its_leader() {
    for (commit, after) in [(true, "5-9a0"), (false, "0-4a1 5-9a0")] {
        let mut rig = Rig::at_share_version(3, 2, &[]);
        assert_eq!(rig.cluster.transaction_coordinator(ID), Some(1), "the test wants the coordinator to live on");
        rig.cluster.move_leader(rig.now, TOPIC, 0, 2).unwrap();
        rig.produce(0, 10);
        let coordinator = rig.cluster.coordinator(GROUP).unwrap();
        rig.cluster.move_coordinator(rig.now, GROUP, 1).unwrap();
        assert!((1..=2).contains(&coordinator));
        let epoch = join(&mut rig, "m1", 0);
        let mut member = Member::new(&rig, "m1", 200, &[0]);
        assert_eq!(member.fetch(&mut rig, 100), "0[0-9x1]");
        let producer = init(&mut rig, ID).unwrap();
        let staged = request(&rig, producer, ("m1", epoch), &[(0, 4, &[1])]);
        assert_eq!(code(&call(&mut rig, 1, &staged)), ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, "it does not lead");
        assert_eq!(code(&call(&mut rig, 200, &staged)), ErrorCode::NONE);
        rig.cluster.kill_node(rig.now, 2, Duration::ZERO).unwrap();
        while rig.cluster.poll(rig.now).is_some() {}
        // What was only held is free again, and the attempt does not count.
        assert_eq!(states(&rig), "0-4p1 5-9a0");
        let mut other = Member::new(&rig, "m2", 1, &[0]);
        assert_eq!(other.fetch(&mut rig, 1), "0[5-9x1]");
        rig.cluster.start_node(rig.now, 2).unwrap();
        rig.cluster.move_leader(rig.now, TOPIC, 0, 2).unwrap();
        assert_eq!(states(&rig), "0-4p1 5-9a0");
        end(&mut rig, ID, producer, commit).unwrap();
        assert_eq!(states(&rig), after);
    }
}

#[test]
fn requests_that_say_nothing_are_refused() {
    let mut rig = rig();
    let (_, epoch, producer) = holding(&mut rig);
    let good = request(&rig, producer, ("m1", epoch), &[(0, 0, &[1])]);
    let invalid: [fn(&mut TxnShareAcknowledgeRequest); 5] = [
        |request| request.transactional_id = None,
        |request| request.transactional_id = Some(String::new()),
        |request| request.group_id = String::new(),
        |request| request.member_id = String::new(),
        |request| request.member_id = "m".repeat(37),
    ];
    for spoil in invalid {
        let mut bad = good.clone();
        spoil(&mut bad);
        assert_eq!(call(&mut rig, 1, &bad).error_code, ErrorCode::INVALID_REQUEST);
    }
    for acks in [
        &[(0, 0, &[2][..])][..], // a release
        &[(0, 0, &[4])],         // a renewal
        &[(0, 1, &[1, 4])],
        &[(0, 0, &[])],
        &[(0, 2, &[1, 1])],
        &[(1, 0, &[1])],
        &[(4, 5, &[1]), (0, 1, &[1])],
    ] {
        assert_eq!(stage(&mut rig, producer, ("m1", epoch), acks), ErrorCode::INVALID_REQUEST);
    }
    let unknown = TxnShareAcknowledgeRequest { transactional_id: Some("who".to_owned()), ..good.clone() };
    assert_eq!(call(&mut rig, 1, &unknown).error_code, ErrorCode::INVALID_PRODUCER_ID_MAPPING);
    let mut elsewhere = good;
    elsewhere.topics[0].partitions[0].partition_index = 2;
    assert_eq!(code(&call(&mut rig, 1, &elsewhere)), ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
    elsewhere.topics[0].partitions[0].partition_index = 9;
    assert_eq!(code(&call(&mut rig, 1, &elsewhere)), ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
    elsewhere.topics[0].topic_id = ackflow_protocol::wire::Uuid([7; 16]);
    assert_eq!(code(&call(&mut rig, 1, &elsewhere)), ErrorCode::UNKNOWN_TOPIC_ID);
    assert_eq!(states(&rig), "0-9h1");
}

#[test]
fn it_is_offered_at_share_version_3_alone_and_takes_transactions_of_version_2() {
    for (level, offered) in [(0, false), (1, false), (2, false), (3, true)] {
        let mut rig = Rig::at_share_version(level, 1, &[]);
        let (client_software_name, client_software_version) = ("ackflow".to_owned(), "1".to_owned());
        let request = ApiVersionsRequest { client_software_name, client_software_version, ..Default::default() };
        let versions = rig.call(1, &request);
        let found = versions.api_keys.iter().find(|api| api.api_key == ApiKey::TXN_SHARE_ACKNOWLEDGE.0);
        assert_eq!(found.map(|api| (api.min_version, api.max_version)), offered.then_some((0, 0)));
        let finalized = versions.finalized_features.iter().find(|feature| feature.name == "share.version");
        assert_eq!(finalized.map(|feature| feature.max_version_level), (level > 0).then_some(level));
        if !offered {
            let answer = rig.send(1, 0, &TxnShareAcknowledgeRequest::default());
            assert!(matches!(answer, Answer::Close(_)), "{answer:?}");
        }
    }
    let mut rig = rig();
    rig.cluster.transaction_version = 1;
    let response = call(&mut rig, 1, &TxnShareAcknowledgeRequest::default());
    assert_eq!(response.error_code, ErrorCode::UNSUPPORTED_VERSION);
}
