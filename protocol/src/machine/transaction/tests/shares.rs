//! The rules of acknowledgements in transactions (draft of KIP-1289).

use super::rig::*;
use crate::{
    machine::{
        AckRange, AckType, BrokerAddress, Destination, RequestFailure, TopicIdPartition,
        transaction::{
            ShareAcknowledgements, ShareGroupMetadata, ShareLack, SourceAcknowledgements, TransactionFault,
            TransactionRequest as Request, TransactionResponse as Response,
        },
    },
    messages::txn_share_acknowledge::{
        PartitionData, TxnShareAcknowledgeRequest, TxnShareAcknowledgeResponse, TxnShareAcknowledgeTopicResponse,
    },
    wire::{ErrorCode, Uuid},
};

/// The answer to a request whose partitions all end with this code.
pub(super) fn taken(request: &TxnShareAcknowledgeRequest, code: ErrorCode) -> TxnShareAcknowledgeResponse {
    let topic = |topic: &crate::messages::txn_share_acknowledge::AcknowledgeTopic| TxnShareAcknowledgeTopicResponse {
        topic_id: topic.topic_id,
        partitions: topic
            .partitions
            .iter()
            .map(|asked| PartitionData {
                partition_index: asked.partition_index,
                error_code: code,
                error_message: (!code.is_none()).then(|| "late".to_owned()),
            })
            .collect(),
    };
    TxnShareAcknowledgeResponse { responses: request.topics.iter().map(topic).collect(), ..Default::default() }
}

fn member() -> ShareGroupMetadata {
    ShareGroupMetadata { group_id: "shared".into(), member_id: "m".into(), member_epoch: 4 }
}

fn source(node: i32, partition: i32, ranges: &[(i64, i64, AckType)]) -> SourceAcknowledgements {
    SourceAcknowledgements {
        leader: BrokerAddress { node, host: format!("h{node}"), port: 9000 },
        topic: "topic".into(),
        topic_partition: TopicIdPartition { topic_id: Uuid([7; 16]), partition },
        ranges: ranges.iter().map(|&(first, last, ack)| AckRange { first, last, ack }).collect(),
    }
}

/// Of two partitions on node 1 and of one on node 2.
fn acknowledgements() -> ShareAcknowledgements {
    let mut acknowledgements = ShareAcknowledgements::default();
    acknowledgements.add(source(2, 1, &[(0, 9, AckType::Accept)])).unwrap();
    acknowledgements.add(source(1, 2, &[(4, 4, AckType::Reject)])).unwrap();
    acknowledgements.add(source(1, 0, &[(5, 6, AckType::Accept), (7, 7, AckType::Gap)])).unwrap();
    acknowledgements.add(source(1, 0, &[(0, 2, AckType::Accept), (3, 4, AckType::Accept)])).unwrap();
    acknowledgements
}

fn is_shares(request: &Request) -> bool {
    matches!(request, Request::TxnShareAcknowledge(_))
}

fn shares(request: &Request) -> &TxnShareAcknowledgeRequest {
    match request {
        Request::TxnShareAcknowledge(request) => request,
        other => panic!("{other:?}"),
    }
}

#[test]
fn each_broker_that_holds_records_is_told_once_and_the_commit_waits_for_all() {
    let mut rig = Rig::ready(true);
    rig.machine.begin().unwrap();
    let producer = rig.machine.producer().unwrap();
    rig.machine.send_share_acknowledgements(acknowledgements(), member());
    rig.machine.commit();
    rig.serve();
    assert!(rig.answers.iter().all(|(_, result)| result.is_ok()) && rig.answers.len() == 2, "{:?}", rig.answers);
    let said: Vec<_> = rig.log.iter().filter(|sent| is_shares(&sent.request)).collect();
    let to = |node: i32| Destination::Leader(BrokerAddress { node, host: format!("h{node}"), port: 9000 });
    assert_eq!(said.iter().map(|sent| sent.to.clone()).collect::<Vec<_>>(), [to(1), to(2)]);
    let first = shares(&said[0].request);
    assert_eq!(first.transactional_id.as_deref(), Some("id"));
    assert_eq!((first.producer_id, first.producer_epoch), (producer.id, producer.epoch));
    assert_eq!((first.group_id.as_str(), first.member_id.as_str(), first.member_epoch), ("shared", "m", 4));
    let ranges = |request: &TxnShareAcknowledgeRequest| {
        let partitions = request.topics.iter().flat_map(|topic| &topic.partitions);
        let ranges = partitions.flat_map(|partition| {
            let index = partition.partition_index;
            partition
                .acknowledgement_batches
                .iter()
                .map(move |b| (index, b.first_offset, b.last_offset, b.acknowledge_types.clone()))
        });
        ranges.collect::<Vec<_>>()
    };
    assert_eq!(ranges(first), [(0, 0, 6, vec![1]), (0, 7, 7, vec![0]), (2, 4, 4, vec![3])]);
    assert_eq!(ranges(shares(&said[1].request)), [(1, 0, 9, vec![1])]);
    let kinds: Vec<bool> = rig
        .log
        .iter()
        .filter(|sent| is_shares(&sent.request) || matches!(sent.request, Request::EndTxn(_)))
        .map(|sent| is_shares(&sent.request))
        .collect();
    assert_eq!(kinds, [true, true, false], "a transaction without a record is ended at the coordinator too");
    assert_eq!(rig.coordinator.ended, [true]);
}

#[test]
fn whatever_a_broker_does_not_take_makes_the_transaction_abortable() {
    let refusals: [(Result<ErrorCode, RequestFailure>, &str); 6] = [
        (Ok(ErrorCode::INVALID_RECORD_STATE), "of topic-0 into the transaction: INVALID_RECORD_STATE (121)"),
        (Ok(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION), "the leader has moved"),
        (Ok(ErrorCode::NOT_LEADER_OR_FOLLOWER), "the leader has moved"),
        (Err(RequestFailure::Disconnected), "the broker h1:9000 did not answer"),
        (Err(RequestFailure::TimedOut), "the broker h1:9000 did not answer"),
        (Err(RequestFailure::UnsupportedVersion(None)), "does not offer TxnShareAcknowledge"),
    ];
    for (refusal, words) in refusals {
        let mut rig = Rig::ready(true);
        rig.machine.begin().unwrap();
        rig.machine.send_share_acknowledgements(acknowledgements(), member());
        rig.machine.commit();
        let sent = rig.take(is_shares);
        match refusal {
            Ok(code) => rig.answer(&sent, Response::TxnShareAcknowledge(taken(shares(&sent.request), code))),
            Err(failure) => rig.fail(&sent, failure),
        }
        assert_eq!(rig.answers.len(), 2);
        for (_, result) in &rig.answers {
            let error = result.as_ref().unwrap_err();
            assert!(error.is_abortable && error.to_string().contains(words), "{error}");
        }
        rig.machine.abort();
        rig.serve();
        // What the broker may have taken is settled by the coordinator.
        assert_eq!(rig.ends(), [false]);
        assert_eq!(rig.log.iter().filter(|sent| is_shares(&sent.request)).count(), 1, "nobody else is asked");
        assert!(rig.machine.begin().is_ok());
    }
}

#[test]
fn a_partition_that_is_not_spoken_of_is_not_taken() {
    let mut rig = Rig::ready(true);
    rig.machine.begin().unwrap();
    rig.machine.send_share_acknowledgements(acknowledgements(), member());
    let sent = rig.take(is_shares);
    let mut response = taken(shares(&sent.request), ErrorCode::NONE);
    response.responses[0].partitions.pop();
    rig.answer(&sent, Response::TxnShareAcknowledge(response));
    let error = rig.answers[0].1.clone().unwrap_err();
    assert!(error.is_abortable && error.to_string().contains("topic-2"), "{error}");
}

#[test]
fn what_a_broker_says_before_it_takes_anything_is_tried_again_or_is_the_end() {
    for (code, is_abortable, is_fatal) in [
        (ErrorCode::CONCURRENT_TRANSACTIONS, false, false),
        (ErrorCode::COORDINATOR_LOAD_IN_PROGRESS, false, false),
        (ErrorCode::COORDINATOR_NOT_AVAILABLE, false, false),
        (ErrorCode::NOT_COORDINATOR, false, false),
        (ErrorCode::STALE_MEMBER_EPOCH, true, false),
        (ErrorCode::UNKNOWN_MEMBER_ID, true, false),
        (ErrorCode::GROUP_AUTHORIZATION_FAILED, true, false),
        (ErrorCode::NOT_LEADER_OR_FOLLOWER, true, false),
        (ErrorCode::UNSUPPORTED_VERSION, true, false),
        (ErrorCode::PRODUCER_FENCED, false, true),
        (ErrorCode::INVALID_PRODUCER_ID_MAPPING, false, true),
        (ErrorCode::TRANSACTIONAL_ID_AUTHORIZATION_FAILED, false, true),
    ] {
        let mut rig = Rig::ready(true);
        rig.machine.begin().unwrap();
        rig.machine.send_share_acknowledgements(acknowledgements(), member());
        let sent = rig.take(is_shares);
        let response = TxnShareAcknowledgeResponse { error_code: code, ..Default::default() };
        rig.answer(&sent, Response::TxnShareAcknowledge(response));
        if !is_abortable && !is_fatal {
            assert_eq!(rig.answers, [], "{code}");
            rig.serve();
            assert!(rig.answers[0].1.is_ok(), "{code}");
            continue;
        }
        let error = rig.answers[0].1.clone().unwrap_err();
        assert_eq!((error.is_abortable, error.is_fatal), (is_abortable, is_fatal), "{error}");
    }
}

#[test]
fn what_the_cluster_lacks_is_named_with_the_broker() {
    assert_eq!(ShareLack::of(true, Some(3)), None);
    for (lack, words) in [
        (
            ShareLack::of(false, Some(3)),
            "h1:9000 does not take acknowledgements of share groups into transactions: it does not offer TxnShareAcknowledge",
        ),
        (ShareLack::of(true, Some(2)), "share.version is finalized at 2, and 3 is needed"),
        (ShareLack::of(true, None), "share.version is finalized at 0, and 3 is needed"),
    ] {
        let mut rig = Rig::ready(true);
        rig.machine.begin().unwrap();
        rig.machine.send_share_acknowledgements(acknowledgements(), member());
        let sent = rig.take(is_shares);
        rig.answer(&sent, Response::SharesLack(lack.unwrap()));
        let error = rig.answers[0].1.clone().unwrap_err();
        assert!(error.is_abortable && error.to_string().contains(words), "{error}");
        assert_eq!(error.fault.code(), Some(ErrorCode::UNSUPPORTED_VERSION));
    }
    // In a transaction of version 1 a request that comes late could count in the next transaction, so that none is sent.
    let mut rig = Rig::ready(false);
    rig.machine.begin().unwrap();
    rig.machine.send_share_acknowledgements(acknowledgements(), member());
    rig.serve();
    let error = rig.answers[0].1.clone().unwrap_err();
    assert!(error.is_abortable && error.to_string().contains("transaction.version 2"), "{error}");
    assert!(!rig.log.iter().any(|sent| is_shares(&sent.request)));
}

#[test]
fn without_a_transaction_none_are_taken_and_none_at_all_are_no_matter() {
    let mut rig = Rig::ready(true);
    rig.machine.send_share_acknowledgements(acknowledgements(), member());
    rig.serve();
    let error = rig.answers.pop().unwrap().1.unwrap_err();
    assert!(!error.is_abortable && !error.is_fatal && error.to_string().contains("there is no transaction"), "{error}");
    rig.machine.begin().unwrap();
    rig.machine.send_share_acknowledgements(ShareAcknowledgements::default(), member());
    rig.machine.commit();
    rig.serve();
    assert!(rig.answers.iter().all(|(_, result)| result.is_ok()));
    assert!(rig.ends().is_empty() && !rig.log.iter().any(|sent| is_shares(&sent.request)));
}

#[test]
fn an_abort_waits_for_the_answer_that_is_due_and_asks_nobody_else() {
    let mut rig = Rig::ready(true);
    rig.machine.begin().unwrap();
    rig.machine.send_share_acknowledgements(acknowledgements(), member());
    let sent = rig.take(is_shares);
    rig.machine.abort();
    rig.drain();
    assert!(matches!(rig.answers[..], [(_, Err(ref error))] if error.fault == TransactionFault::Aborted));
    assert!(rig.ends().is_empty(), "the broker could take them after the end");
    rig.answer(&sent, Response::TxnShareAcknowledge(taken(shares(&sent.request), ErrorCode::INVALID_RECORD_STATE)));
    rig.serve();
    assert!(rig.answers[1].1.is_ok(), "{:?}", rig.answers);
    assert_eq!((rig.ends(), rig.log.iter().filter(|sent| is_shares(&sent.request)).count()), (vec![false], 1));
}

#[test]
fn releases_and_renewals_are_no_part_of_transactions() {
    for ack in [AckType::Release, AckType::Renew] {
        let mut acknowledgements = ShareAcknowledgements::default();
        let refused = acknowledgements.add(source(1, 0, &[(0, 3, AckType::Accept), (4, 5, ack)]));
        assert_eq!(refused, Err(AckRange { first: 4, last: 5, ack }));
        assert!(acknowledgements.is_empty());
    }
    let mut all = acknowledgements();
    let mut more = ShareAcknowledgements::default();
    more.add(source(1, 0, &[(8, 9, AckType::Accept)])).unwrap();
    all.append(more);
    assert_eq!((all.records(), all.iter().count()), (21, 3));
}
