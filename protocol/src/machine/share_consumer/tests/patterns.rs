//! Subscriptions by pattern.

use std::time::Duration;

use super::{rig::*, script::*};
use crate::{
    machine::{ClientRequest, ClientResponse, RequestFailure, TopicFilter},
    messages::metadata::{MetadataResponse, MetadataResponsePartition, MetadataResponseTopic},
    wire::{ErrorCode, Uuid},
};

const AGE: Duration = Duration::from_secs(300);

fn subscribed(pattern: &'static str) -> Rig {
    let mut rig = Rig::new();
    rig.machine.subscribe_matching(rig.now, TopicFilter::new(move |name| name.contains(pattern)));
    rig.polled();
    rig
}

fn id(name: &str) -> Uuid {
    Uuid([name.len() as u8; 16])
}

/// Answers every question about the group, metadata with these topics: all of them, or those of them that were asked for.
fn answer(rig: &mut Rig, exist: &[&str]) {
    while let Some(at) = rig.sent.iter().position(|sent| matches!(sent.request, ClientRequest::Metadata(_))) {
        let sent = rig.sent.remove(at).unwrap();
        let ClientRequest::Metadata(request) = &sent.request else { unreachable!() };
        let asked = |name: &str| match &request.topics {
            None => true,
            Some(topics) => {
                topics.iter().any(|asked| asked.name.as_deref() == Some(name) || asked.topic_id == id(name))
            }
        };
        let topics = exist.iter().filter(|name| asked(name)).map(|name| MetadataResponseTopic {
            name: Some((*name).to_owned()),
            topic_id: id(name),
            is_internal: name.starts_with("__"),
            partitions: vec![MetadataResponsePartition { leader_id: 1, leader_epoch: 1, ..Default::default() }],
            ..Default::default()
        });
        let missing = request.topics.iter().flatten().filter_map(|asked| asked.name.clone());
        let missing = missing.filter(|name| !exist.contains(&name.as_str())).map(|name| MetadataResponseTopic {
            error_code: ErrorCode::UNKNOWN_TOPIC_OR_PARTITION,
            name: Some(name),
            ..Default::default()
        });
        let topics = topics.chain(missing).collect();
        let response = MetadataResponse { topics, ..rig.metadata(request) };
        rig.respond(&sent, ClientResponse::Metadata(response));
    }
    rig.answer_group();
}

/// How often all topics, and how often some were asked for.
fn asked(rig: &Rig) -> (usize, usize) {
    let all = |sent: &&Sent| matches!(&sent.request, ClientRequest::Metadata(request) if request.topics.is_none());
    let metadata = rig.log.iter().filter(|sent| matches!(sent.request, ClientRequest::Metadata(_)));
    let (all, some): (Vec<_>, Vec<_>) = metadata.partition(all);
    (all.len(), some.len())
}

fn told(sent: &Sent) -> Option<Vec<&str>> {
    Some(sent.heartbeat().subscribed_topic_names.as_ref()?.iter().map(String::as_str).collect())
}

#[test]
fn the_group_is_told_the_topics_that_match_as_they_come_and_go() {
    let mut rig = subscribed("orders");
    answer(&mut rig, &["bills", "orders", "__orders"]);
    let join = rig.take_heartbeat();
    assert_eq!(told(&join), Some(vec!["orders"]));
    rig.respond(&join, heartbeat(1, Some(&[(id("orders"), &[0])])));
    assert_eq!(rig.last_assignment().unwrap()[0].0.as_ref(), "orders");

    let mut exist = vec!["bills", "orders", "__orders", "late-orders"];
    let mut heartbeats = Vec::new();
    for round in 0..3 {
        if round == 1 {
            exist.remove(1);
        }
        for _ in 0..AGE.as_secs() + 5 {
            rig.sleep(ms(1_000));
            rig.polled();
            answer(&mut rig, &exist);
            while let Some(sent) = rig.try_heartbeat() {
                heartbeats
                    .extend(told(&sent).map(|topics| topics.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>()));
                let assigned: Vec<(Uuid, &[i32])> =
                    heartbeats.last().map_or(vec![(id("orders"), &[0][..])], |topics| {
                        topics.iter().map(|topic| (id(topic), &[0][..])).collect()
                    });
                rig.respond(&sent, heartbeat(2, Some(&assigned)));
            }
        }
    }
    assert_eq!(heartbeats, [vec!["late-orders", "orders"], vec!["late-orders"]]);
    assert_eq!(rig.last_assignment().unwrap()[0].0.as_ref(), "late-orders");
    assert!(rig.errors().is_empty(), "{:?}", rig.errors());
    // Each age once, at the start, and once more to look for the topic that was gone; that by its id until the assignment is without it.
    let (all, some) = asked(&rig);
    assert!((4..=6).contains(&all) && some <= 2, "asked for all topics {all} times, for some {some} times");
}

#[test]
fn who_matches_nothing_is_no_member_until_something_matches() {
    let mut rig = subscribed("orders");
    answer(&mut rig, &["bills"]);
    rig.sleep(AGE - ms(1_000));
    assert!(rig.try_heartbeat().is_none());
    rig.polled();
    rig.sleep(ms(2_000));
    answer(&mut rig, &["bills", "orders"]);
    let join = rig.take_heartbeat();
    assert_eq!((join.heartbeat().member_epoch, told(&join)), (0, Some(vec!["orders"])));
    rig.respond(&join, heartbeat(1, Some(&[(id("orders"), &[0])])));
    rig.take_session(1);

    let mut left = None;
    for _ in 0..2 * AGE.as_secs() {
        rig.sleep(ms(1_000));
        rig.polled();
        answer(&mut rig, &["bills"]);
        while let Some(sent) = rig.try_heartbeat() {
            let epoch = sent.heartbeat().member_epoch;
            left = Some(epoch);
            rig.respond(&sent, heartbeat(epoch, None));
        }
    }
    assert_eq!(left, Some(-1));
    assert_eq!(rig.last_assignment(), Some(vec![]));
}

#[test]
fn a_question_that_fails_is_asked_again_and_another_subscription_ends_it() {
    let mut rig = subscribed("orders");
    for _ in 0..3 {
        let at = rig.sent.iter().position(|sent| matches!(sent.request, ClientRequest::Metadata(_))).unwrap();
        let sent = rig.sent.remove(at).unwrap();
        rig.fail(&sent, RequestFailure::TimedOut);
        rig.sleep(ms(1_300));
    }
    assert_eq!(asked(&rig), (4, 0));
    rig.subscribe(&["topic"]);
    answer(&mut rig, &["orders"]);
    rig.sleep(ms(1_300));
    rig.answer_group();
    let join = rig.take_heartbeat();
    assert_eq!(told(&join), Some(vec!["topic"]));
    rig.sleep(4 * AGE);
    assert_eq!(asked(&rig).0, 4);
}
