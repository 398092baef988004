//! Faults as data: what goes wrong, and what does not.

use std::collections::BTreeMap;
use std::time::Duration;

use ackflow_protocol::for_each_api;
use ackflow_protocol::messages::find_coordinator::FindCoordinatorRequest;
use ackflow_protocol::messages::list_groups::ListGroupsRequest;
use ackflow_protocol::messages::metadata::MetadataRequest;
use ackflow_protocol::messages::share_fetch::ShareFetchResponse;
use ackflow_protocol::wire::frame::SIZE_LENGTH;
use ackflow_protocol::wire::{ApiKey, ErrorCode, Message, Request, RequestHeader, decode_response};
use bytes::Bytes;

use super::rig::{GROUP, Member, Rig};
use crate::core::dispatch::served;
use crate::core::{Answer, ConnectionId, FaultAction, FaultRule, Output};

const SECOND: Duration = Duration::from_secs(1);

fn all() -> MetadataRequest {
    MetadataRequest { topics: None, ..MetadataRequest::default() }
}

fn metadata_code(rig: &mut Rig, connection: u64) -> ErrorCode {
    rig.call(connection, &all()).error_code
}

/// Sends metadata, and says what becomes of it in a word.
fn fate(rig: &mut Rig, connection: u64) -> &'static str {
    match rig.send(connection, MetadataRequest::NEWEST_STABLE, &all()) {
        Answer::Reply(_) => "answered",
        Answer::Parked => "waits",
        Answer::Cut(_) | Answer::Close(_) => "cut",
        Answer::Silent => "silent",
    }
}

#[test]
fn a_rule_meets_the_requests_that_it_names_after_some_and_so_many_times() {
    let mut rig = Rig::with_nodes(2, &[], &[]);
    let code = ErrorCode::UNKNOWN_SERVER_ERROR;
    let rule = FaultRule::new(FaultAction::Refuse(code)).api(ApiKey::METADATA).node(2).after(1).times(2);
    let id = rig.cluster.add_fault(rule);
    assert_eq!(metadata_code(&mut rig, 101), ErrorCode::NONE, "another node");
    rig.call(201, &ListGroupsRequest::default());
    let codes: Vec<ErrorCode> = (0..4).map(|_| metadata_code(&mut rig, 201)).collect();
    assert_eq!(codes, [ErrorCode::NONE, code, code, ErrorCode::NONE]);
    assert_eq!(rig.cluster.fault_hits(id), 2);
}

#[test]
fn a_rule_can_name_a_client_and_a_connection() {
    let mut rig = Rig::new();
    let code = ErrorCode::UNKNOWN_SERVER_ERROR;
    let other = rig.cluster.add_fault(FaultRule::new(FaultAction::Refuse(code)).client_id("somebody else"));
    let here = rig.cluster.add_fault(FaultRule::new(FaultAction::Refuse(code)).connection(ConnectionId(2)));
    let mine = rig.cluster.add_fault(FaultRule::new(FaultAction::Refuse(code)).client_id("rig").times(1));
    assert_eq!(metadata_code(&mut rig, 2), code);
    assert_eq!(metadata_code(&mut rig, 1), code);
    assert_eq!(metadata_code(&mut rig, 1), ErrorCode::NONE);
    let hits: Vec<u32> = [other, here, mine].iter().map(|id| rig.cluster.fault_hits(*id)).collect();
    assert_eq!(hits, [0, 1, 1]);
    rig.cluster.clear_faults();
    assert_eq!(metadata_code(&mut rig, 2), ErrorCode::NONE);
}

#[test]
fn a_refusal_stands_where_each_api_has_its_errors() {
    let mut rig = Rig::new();
    let code = ErrorCode::COORDINATOR_LOAD_IN_PROGRESS;
    rig.cluster.add_fault(FaultRule::new(FaultAction::Refuse(code)));
    let find = FindCoordinatorRequest { coordinator_keys: vec![GROUP.to_owned()], ..Default::default() };
    assert_eq!(rig.call(1, &find).coordinators[0].error_code, code);
    let old = FindCoordinatorRequest { key: GROUP.to_owned(), ..Default::default() };
    assert_eq!(rig.call_version(1, 1, &old).error_code, code);
    assert_eq!(rig.call(1, &ListGroupsRequest::default()).error_code, code);
    assert_eq!(metadata_code(&mut rig, 1), code);
    let mut member = Member::new(&rig, "m1", 1, &[0]);
    assert_eq!(member.fetch(&mut rig, 10), "COORDINATOR_LOAD_IN_PROGRESS");
    rig.cluster.clear_faults();
    member.epoch = 1;
    assert_eq!(member.fetch(&mut rig, 10), "SHARE_SESSION_NOT_FOUND", "nothing was done");
}

#[test]
fn whatever_is_served_can_be_refused_in_each_version() {
    macro_rules! bodies {
        ($($name:ident($request:ty, $response:ty)),* $(,)?) => {
            [$((<$request>::KEY, (|version| <$request>::default().to_bytes(version).unwrap()) as fn(i16) -> Bytes)),*]
        };
    }
    let bodies: BTreeMap<ApiKey, fn(i16) -> Bytes> = for_each_api!(bodies).into_iter().collect();
    let mut rig = Rig::new();
    rig.cluster.add_fault(FaultRule::new(FaultAction::Refuse(ErrorCode::UNKNOWN_SERVER_ERROR)));
    for (key, versions) in served() {
        for request_api_version in versions {
            let header =
                RequestHeader { request_api_key: key, request_api_version, correlation_id: 1, client_id: None };
            let connection = rig.connect(1);
            let body = bodies[&key](request_api_version);
            let answer = rig.cluster.handle(rig.now, connection, &header, body);
            // A produce request without a partition has nothing to refuse, and one that wants no answer gets none.
            assert!(matches!(answer, Answer::Reply(_) | Answer::Silent), "{key} {request_api_version}: {answer:?}");
        }
    }
}

#[test]
fn refused_acknowledgements_change_nothing_and_the_rest_of_the_fetch_is_done() {
    let mut rig = Rig::new();
    rig.produce(0, 2);
    let mut member = Member::new(&rig, "m1", 1, &[0]);
    assert_eq!(member.fetch(&mut rig, 10), "0[0-1x1]");
    rig.produce(0, 2);
    let code = ErrorCode::INVALID_RECORD_STATE;
    rig.cluster.add_fault(FaultRule::new(FaultAction::RefuseAcknowledgements(code)).times(2));
    let request = member.request_with(10, &[(0, 1, 1)]);
    assert_eq!(member.send(&mut rig, &request), "0[2-3x1]?INVALID_RECORD_STATE");
    assert_eq!(member.ack(&mut rig, 0, 1, 1), code);
    assert_eq!(member.ack(&mut rig, 0, 3, 1), ErrorCode::NONE, "the session has gone on, and all is still held");
}

#[test]
fn refused_partitions_are_not_fetched_from_and_the_session_goes_on() {
    let mut rig = Rig::new();
    rig.produce(0, 2);
    let mut member = Member::new(&rig, "m1", 1, &[0, 1]);
    let code = ErrorCode::KAFKA_STORAGE_ERROR;
    rig.cluster.add_fault(FaultRule::new(FaultAction::RefusePartitions(code)).api(ApiKey::SHARE_FETCH).times(1));
    assert_eq!(member.fetch(&mut rig, 10), "0[]!KAFKA_STORAGE_ERROR 1[]!KAFKA_STORAGE_ERROR");
    assert_eq!(member.fetch(&mut rig, 10), "0[0-1x1]");
}

#[test]
fn a_request_that_is_cut_before_is_not_done_and_one_that_is_cut_after_is() {
    for (action, applied) in [(FaultAction::CutBefore, false), (FaultAction::CutAfter, true)] {
        let mut rig = Rig::new();
        rig.produce(0, 2);
        let mut member = Member::new(&rig, "m1", 1, &[0]);
        assert_eq!(member.fetch(&mut rig, 10), "0[0-1x1]");
        rig.cluster.add_fault(FaultRule::new(action).api(ApiKey::SHARE_ACKNOWLEDGE).times(1));
        let request = member.acknowledgement(0, &[(0, 1, &[1])]);
        assert!(matches!(rig.send(1, 2, &request), Answer::Close(_)));
        let mut again = Member::new(&rig, "m1", 2, &[0]);
        assert_eq!(again.fetch(&mut rig, 10), if applied { "0[]" } else { "0[0-1x2]" }, "the session ended with it");
    }
}

#[test]
fn an_answer_that_is_cut_in_half_is_the_first_half_of_the_right_one() {
    let mut rig = Rig::new();
    let Answer::Reply(whole) = rig.send(1, 13, &all()) else { panic!("not answered") };
    rig.cluster.add_fault(FaultRule::new(FaultAction::CutHalfway).times(1));
    let Answer::Cut(half) = rig.send(1, 13, &all()) else { panic!("not cut") };
    assert_eq!(half, whole.slice(..whole.len() / 2));
    assert_eq!(fate(&mut rig, 2), "answered");
}

#[test]
fn delays_hold_the_request_or_the_answer() {
    let mut rig = Rig::new();
    rig.cluster.add_fault(FaultRule::new(FaultAction::DelayRequest(SECOND)).times(1));
    rig.cluster.add_fault(FaultRule::new(FaultAction::DelayAnswer(SECOND)).times(1));
    let topics = |rig: &Rig| rig.cluster.topics.iter().count();
    let ask = |rig: &mut Rig, connection, name: &str| {
        let topic = ackflow_protocol::messages::metadata::MetadataRequestTopic {
            name: Some(name.to_owned()),
            ..Default::default()
        };
        let request = MetadataRequest { topics: Some(vec![topic]), allow_auto_topic_creation: true, ..all() };
        rig.send(connection, 13, &request)
    };
    assert_eq!(ask(&mut rig, 1, "late"), Answer::Parked);
    assert_eq!(topics(&rig), 1, "not done yet");
    assert_eq!(ask(&mut rig, 2, "early"), Answer::Parked);
    assert_eq!(topics(&rig), 2, "done, not answered");
    assert_eq!(rig.next(), SECOND);
    let answered: Vec<ConnectionId> = std::iter::from_fn(|| rig.cluster.poll(rig.now))
        .map(|output| match output {
            Output::Reply(connection, _) => connection,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(answered.len(), 2);
    assert_eq!(topics(&rig), 3);
}

#[test]
fn an_ignored_request_is_never_answered_and_its_connection_stays() {
    let mut rig = Rig::new();
    rig.cluster.add_fault(FaultRule::new(FaultAction::Ignore).times(1));
    assert_eq!(fate(&mut rig, 1), "waits");
    assert_eq!(rig.cluster.next_deadline(), None);
    assert_eq!(fate(&mut rig, 1), "answered");
}

#[test]
fn a_fault_meets_the_answer_to_a_fetch_that_waited() {
    let mut rig = Rig::new();
    let mut member = Member::new(&rig, "m1", 1, &[0]);
    rig.cluster.add_fault(FaultRule::new(FaultAction::CutAfter).api(ApiKey::SHARE_FETCH).times(1));
    assert_eq!(member.fetch_waiting(&mut rig, 5 * SECOND), None);
    rig.produce(0, 3);
    assert!(matches!(rig.cluster.poll(rig.now), Some(Output::Close(ConnectionId(1), _))));
    let mut other = Member::new(&rig, "m1", 2, &[0]);
    assert_eq!(other.fetch(&mut rig, 10), "0[0-2x2]", "it was acquired, and given back with the connection");
}

#[test]
fn a_throttled_client_is_told_so_and_waits_if_it_does_not_listen() {
    let mut rig = Rig::new();
    rig.produce(0, 1);
    let mut member = Member::new(&rig, "m1", 1, &[0]);
    rig.cluster.add_fault(FaultRule::new(FaultAction::Throttle(3 * SECOND)).times(1));
    let request = member.request(10);
    let response: ShareFetchResponse = rig.call(1, &request);
    assert_eq!((response.throttle_time_ms, response.responses[0].partitions[0].acquired_records.len()), (3_000, 1));
    rig.advance(SECOND);
    let request = member.request(10);
    assert_eq!(rig.send(1, 2, &request), Answer::Parked);
    assert_eq!(rig.next(), 2 * SECOND);
    let Some(Output::Reply(_, frame)) = rig.cluster.poll(rig.now) else { panic!("not answered") };
    let (_, response): (_, ShareFetchResponse) = decode_response(frame.slice(SIZE_LENGTH..), 2).unwrap();
    assert_eq!((response.throttle_time_ms, response.error_code), (0, ErrorCode::NONE));
}
