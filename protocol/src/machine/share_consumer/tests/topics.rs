//! Metadata of topics: missing ones, ids before names, brokers that know nothing.

use super::{rig::*, script::*};
use crate::{
    machine::{ClientRequest, ClientResponse},
    messages::metadata::MetadataResponse,
    wire::{ErrorCode, Uuid},
};

#[test]
fn a_topic_that_does_not_exist_is_named_once_and_not_before_it_could_have_been_heard_of() {
    let mut rig = Rig::new();
    rig.subscribe(&["topic", "nope"]);
    let begun = rig.now;
    while rig.errors().is_empty() {
        rig.answer_group();
        rig.sleep(ms(10));
        assert!(rig.now < begun + ms(3_000));
    }
    assert!(rig.now >= begun + ms(1_000));
    let refreshes = rig.log.iter().filter(|sent| matches!(sent.request, ClientRequest::Metadata(_))).count();
    assert!(refreshes <= 10, "{refreshes}");
    for _ in 0..1_000 {
        rig.answer_group();
        rig.polled();
        rig.sleep(ms(1_000));
    }
    let errors = rig.errors();
    assert_eq!(errors.len(), 1, "{errors:?}");
    assert!(!errors[0].fatal && errors[0].to_string().contains("topic nope does not exist"));
}

#[test]
fn metadata_asks_for_no_topic_to_be_made_unless_that_is_wanted() {
    for wanted in [false, true] {
        let mut rig = Rig::with(|options| options.allow_auto_create_topics |= wanted);
        rig.subscribe(&["nope"]);
        let asked = rig.log.iter().find_map(|sent| match &sent.request {
            ClientRequest::Metadata(request) => Some(request.allow_auto_topic_creation),
            _ => None,
        });
        assert_eq!(asked, Some(wanted));
    }
}

// Mutation: protocol/src/machine/metadata.rs
// - let is_old = self.state == State::Idle && self.due.is_none() && !names.is_empty();
// + let is_old = false;
#[test]
fn metadata_that_has_grown_old_while_nothing_was_subscribed_to_is_asked_for_again() {
    let mut rig = Rig::joined_with(&[1], |options| options.metadata_max_age = ms(10_000));
    rig.subscribe(&[]);
    rig.sleep(ms(20_000));
    let before = rig.log.len();
    rig.subscribe(&["topic"]);
    assert!(rig.log[before..].iter().any(|sent| matches!(sent.request, ClientRequest::Metadata(_))));
}

#[test]
fn an_empty_list_of_brokers_does_not_wipe_out_what_is_known() {
    let mut rig = Rig::joined(&[1]);
    let fetch = rig.take_session(1);
    rig.respond(&fetch, fetched(vec![partition_error(0, ErrorCode::NOT_LEADER_OR_FOLLOWER)]));
    rig.sleep(ms(100));
    let at = rig.sent.iter().position(|sent| matches!(sent.request, ClientRequest::Metadata(_))).unwrap();
    let refresh = rig.sent.remove(at).unwrap();
    let ClientRequest::Metadata(request) = &refresh.request else { panic!("{refresh:?}") };
    rig.leader_epoch += 1;
    let answer = MetadataResponse { brokers: vec![], ..rig.metadata(request) };
    rig.respond(&refresh, ClientResponse::Metadata(answer));
    let end = rig.take_session(1);
    rig.answer_well(&end);
    rig.sleep(ms(150));
    rig.take_session(1);
}

// Mutation: protocol/src/machine/metadata.rs
// - (None, Some(known)) => known.name.clone(),
// + (None, Some(_)) => return false,
#[test]
fn row_26_an_answer_by_id_may_leave_the_name_out_of_a_topic_that_is_known() {
    let mut rig = Rig::joined(&[1]);
    rig.sleep(ms(5_000));
    let next = rig.take_heartbeat();
    rig.respond(&next, heartbeat(2, Some(&[(TOPIC, &[0, 1])])));
    let mut asked_by_id = 0;
    for _ in 0..5 {
        while let Some(at) = rig.sent.iter().position(|sent| matches!(sent.request, ClientRequest::Metadata(_))) {
            let sent = rig.sent.remove(at).unwrap();
            let ClientRequest::Metadata(request) = &sent.request else { unreachable!() };
            // By name the broker that is asked does not know of the second partition yet.
            let by_id = request.topics.iter().flatten().all(|topic| topic.name.is_none());
            rig.leaders = if by_id { vec![1, 1] } else { vec![1] };
            let mut answer = rig.metadata(request);
            if by_id {
                asked_by_id += 1;
                answer.topics.iter_mut().for_each(|topic| topic.name = None);
            }
            rig.respond(&sent, ClientResponse::Metadata(answer));
        }
        rig.sleep(ms(150));
    }
    assert!(asked_by_id > 0);
    let assigned: Vec<_> =
        rig.last_assignment().unwrap().into_iter().map(|(name, id)| (name.to_string(), id)).collect();
    assert_eq!(assigned, [("topic".into(), partition(0)), ("topic".into(), partition(1))]);
    let idle = rig.take_session(1);
    rig.answer_well(&idle);
    // What the answer by id said counts.
    let fetch = rig.take_session(1);
    assert_eq!(fetch.fetch().topics[0].partitions[0].partition_index, 1);
}

// Mutation: protocol/src/machine/metadata.rs
// - if unknown && by != AskBy::Ids {
// + if false {
#[test]
fn row_26_an_id_that_is_known_before_its_name_is_asked_for_by_id() {
    let mut rig = Rig::new();
    rig.topic_id = Uuid([9; 16]);
    rig.subscribe(&["other"]);
    rig.polled();
    rig.answer_group();
    let join = rig.take_heartbeat();
    rig.respond(&join, heartbeat(1, Some(&[(Uuid([9; 16]), &[0])])));
    for _ in 0..3 {
        rig.answer_group();
        rig.sleep(ms(150));
    }
    assert_eq!(rig.last_assignment().unwrap()[0].0.as_ref(), "topic");
    assert_eq!(rig.take_session(1).fetch().topics[0].topic_id, Uuid([9; 16]));
}

// Mutation: protocol/src/machine/metadata.rs
// - max_age: max_age.max(LEAST_AGE),
// + max_age: max_age.max(Duration::from_millis(1)),
#[test]
fn metadata_that_is_always_too_old_is_asked_for_in_no_loop() {
    let mut rig = Rig::joined_with(&[1], |options| options.metadata_max_age = ms(0));
    let before = rig.log.len();
    for _ in 0..1_000 {
        rig.answer_group();
        rig.sleep(ms(1));
    }
    let asked = rig.log[before..].iter().filter(|sent| matches!(sent.request, ClientRequest::Metadata(_))).count();
    assert!((5..=20).contains(&asked), "{asked}");
}
