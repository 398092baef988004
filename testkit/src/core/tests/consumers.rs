//! Consumer groups: what depends on time, and who gets what. What a single request is answered is compared with Kafka in the client's
//! tests of brokers.

use std::collections::BTreeSet;
use std::time::Duration;

use ackflow_protocol::messages::consumer_group_describe::ConsumerGroupDescribeRequest;
use ackflow_protocol::messages::consumer_group_heartbeat::{
    ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse, TopicPartitions,
};
use ackflow_protocol::messages::find_coordinator::FindCoordinatorRequest;
use ackflow_protocol::wire::{ErrorCode, Uuid};

use super::rig::{Rig, TOPIC};

const READERS: &str = "readers";

/// A member, and what it was told.
struct Reader {
    id: String,
    epoch: i32,
    held: BTreeSet<(Uuid, i32)>,
}

impl Reader {
    fn new(id: &str) -> Self {
        Self { id: id.to_owned(), epoch: 0, held: BTreeSet::new() }
    }

    /// Joins with a change of the usual request: all of [`TOPIC`], 10 s to give up partitions.
    fn join_with(rig: &mut Rig, id: &str, change: impl FnOnce(&mut ConsumerGroupHeartbeatRequest)) -> Self {
        let mut reader = Self::new(id);
        let mut request = ConsumerGroupHeartbeatRequest {
            rebalance_timeout_ms: 10_000,
            subscribed_topic_names: Some(vec![TOPIC.to_owned()]),
            topic_partitions: Some(Vec::new()),
            ..reader.request()
        };
        change(&mut request);
        let response = rig.call(1, &request);
        assert_eq!(response.error_code, ErrorCode::NONE);
        reader.hear(response);
        reader
    }

    fn join(rig: &mut Rig, id: &str) -> Self {
        Self::join_with(rig, id, |_| {})
    }

    fn request(&self) -> ConsumerGroupHeartbeatRequest {
        ConsumerGroupHeartbeatRequest {
            group_id: READERS.to_owned(),
            member_id: self.id.clone(),
            member_epoch: self.epoch,
            rebalance_timeout_ms: -1,
            ..Default::default()
        }
    }

    /// Says what it holds, and takes what it is told.
    fn beat(&mut self, rig: &mut Rig) -> ErrorCode {
        let mut owned: Vec<TopicPartitions> = Vec::new();
        for &(topic_id, partition) in &self.held {
            match owned.last_mut().filter(|last| last.topic_id == topic_id) {
                Some(last) => last.partitions.push(partition),
                None => owned.push(TopicPartitions { topic_id, partitions: vec![partition] }),
            }
        }
        let request = ConsumerGroupHeartbeatRequest { topic_partitions: Some(owned), ..self.request() };
        let response = rig.call(1, &request);
        let code = response.error_code;
        self.hear(response);
        code
    }

    /// Says that it is there, and holds what it held.
    fn stay(&self, rig: &mut Rig) -> ErrorCode {
        rig.call(1, &self.request()).error_code
    }

    fn hear(&mut self, response: ConsumerGroupHeartbeatResponse) {
        if response.error_code.is_none() {
            self.epoch = response.member_epoch;
        }
        if let Some(assignment) = response.assignment {
            let topics = assignment.topic_partitions.into_iter();
            self.held = topics.flat_map(|t| t.partitions.into_iter().map(move |p| (t.topic_id, p))).collect();
        }
    }

    fn partitions(&self) -> Vec<i32> {
        self.held.iter().map(|(_, partition)| *partition).collect()
    }
}

/// A rig whose groups assign at once.
fn rig() -> Rig {
    Rig::with(&[("group.consumer.assignment.interval.ms", "0")], &[])
}

fn state(rig: &mut Rig) -> String {
    let request = ConsumerGroupDescribeRequest { group_ids: vec![READERS.to_owned()], ..Default::default() };
    rig.call(1, &request).groups.remove(0).group_state
}

/// Lets time pass, and what is due in it happen.
fn sleep(rig: &mut Rig, time: Duration) {
    let end = rig.now + time;
    while let Some(deadline) = rig.cluster.next_deadline().filter(|deadline| *deadline <= end) {
        rig.now = deadline.max(rig.now);
        assert_eq!(rig.cluster.poll(rig.now), None);
    }
    rig.now = end;
}

#[test]
fn a_member_that_says_nothing_loses_its_place_to_the_others() {
    let mut rig = rig();
    let mut first = Reader::join(&mut rig, "a");
    assert_eq!(first.partitions(), [0, 1, 2]);
    sleep(&mut rig, Duration::from_secs(20));
    let mut second = Reader::join(&mut rig, "b");
    assert_eq!((second.partitions(), state(&mut rig).as_str()), (vec![], "Reconciling"));
    first.beat(&mut rig);
    assert_eq!(first.partitions().len(), 2);
    first.beat(&mut rig);
    second.beat(&mut rig);
    assert_eq!((second.partitions().len(), state(&mut rig).as_str()), (1, "Stable"));
    // Nothing is heard of the first one for its session of 45 s.
    sleep(&mut rig, Duration::from_secs(30));
    second.beat(&mut rig);
    assert_eq!(second.partitions().len(), 1);
    sleep(&mut rig, Duration::from_secs(16));
    second.beat(&mut rig);
    assert_eq!(second.partitions(), [0, 1, 2]);
    assert_eq!(first.stay(&mut rig), ErrorCode::UNKNOWN_MEMBER_ID);
    assert_eq!(rig.cluster.group_members(READERS), ["b"]);
}

#[test]
fn a_member_that_does_not_give_up_partitions_in_time_loses_its_place() {
    let mut rig = rig();
    let first = Reader::join(&mut rig, "a");
    let mut second = Reader::join(&mut rig, "b");
    assert_eq!(first.stay(&mut rig), ErrorCode::NONE);
    sleep(&mut rig, Duration::from_millis(9_900));
    // It lives, but that does not help.
    assert_eq!(first.stay(&mut rig), ErrorCode::NONE);
    second.beat(&mut rig);
    assert!(second.partitions().is_empty());
    sleep(&mut rig, Duration::from_millis(200));
    assert_eq!(first.stay(&mut rig), ErrorCode::UNKNOWN_MEMBER_ID);
    second.beat(&mut rig);
    assert_eq!(second.partitions(), [0, 1, 2]);
}

#[test]
fn a_member_that_gave_up_partitions_in_time_stays() {
    let mut rig = rig();
    let mut first = Reader::join(&mut rig, "a");
    Reader::join(&mut rig, "b");
    first.beat(&mut rig);
    first.beat(&mut rig);
    sleep(&mut rig, Duration::from_secs(20));
    assert_eq!(first.stay(&mut rig), ErrorCode::NONE);
}

#[test]
fn assignments_are_made_once_an_interval() {
    let mut rig = Rig::new();
    let mut first = Reader::join(&mut rig, "a");
    assert_eq!(first.partitions(), [0, 1, 2]);
    Reader::join(&mut rig, "b");
    assert_eq!(state(&mut rig), "Assigning");
    sleep(&mut rig, Duration::from_millis(999));
    first.beat(&mut rig);
    assert_eq!(first.partitions().len(), 3);
    sleep(&mut rig, Duration::from_millis(1));
    first.beat(&mut rig);
    assert_eq!(first.partitions().len(), 2);
}

#[test]
fn topics_that_come_grow_and_go_change_the_assignment() {
    let mut rig = rig();
    let mut first = Reader::join_with(&mut rig, "a", |request| {
        request.subscribed_topic_names = Some(vec!["later".to_owned()]);
        request.subscribed_topic_regex = Some("o.*s".to_owned());
    });
    assert_eq!(first.partitions(), [0, 1, 2]);
    let epoch = first.epoch;
    rig.cluster.create_topic("later", 2).unwrap();
    rig.cluster.create_topic("xorders", 2).unwrap();
    rig.cluster.create_topic("os", 1).unwrap();
    first.beat(&mut rig);
    assert_eq!((first.partitions().len(), first.epoch), (6, epoch + 1));
    rig.cluster.create_partitions("later", 5).unwrap();
    first.beat(&mut rig);
    assert_eq!(first.partitions().len(), 9);
    rig.cluster.delete_topic(rig.now, TOPIC).unwrap();
    first.beat(&mut rig);
    assert_eq!(first.partitions().len(), 6);
    // Without the expression it gives up what matched it.
    let request = ConsumerGroupHeartbeatRequest { subscribed_topic_regex: Some(String::new()), ..first.request() };
    let response = rig.call(1, &request);
    first.hear(response);
    first.beat(&mut rig);
    assert_eq!(first.partitions(), [0, 1, 2, 3, 4]);
}

#[test]
fn range_gives_neighbours_and_uniform_moves_as_little_as_it_can() {
    let mut rig = rig();
    rig.cluster.create_topic("more", 4).unwrap();
    let all = |request: &mut ConsumerGroupHeartbeatRequest| {
        request.subscribed_topic_names = Some(vec![TOPIC.to_owned(), "more".to_owned()]);
    };
    let mut first = Reader::join_with(&mut rig, "a", all);
    let mut second = Reader::join_with(&mut rig, "b", all);
    for _ in 0..2 {
        first.beat(&mut rig);
        second.beat(&mut rig);
    }
    assert_eq!((first.held.len(), second.held.len()), (4, 3));
    // One that wants only one of the topics: what it gets comes from who has more.
    let mut third = Reader::join_with(&mut rig, "c", |_| {});
    let before = first.held.clone();
    for _ in 0..3 {
        for reader in [&mut first, &mut second, &mut third] {
            reader.beat(&mut rig);
        }
    }
    assert_eq!((first.held.len(), second.held.len(), third.held.len()), (3, 2, 2));
    // Who has most gives up one, and gets none.
    assert!(first.held.is_subset(&before));

    let range = |request: &mut ConsumerGroupHeartbeatRequest| request.server_assignor = Some("range".to_owned());
    let mut rig = self::rig();
    let mut first = Reader::join_with(&mut rig, "a", range);
    let mut second = Reader::join_with(&mut rig, "b", range);
    for _ in 0..2 {
        first.beat(&mut rig);
        second.beat(&mut rig);
    }
    assert_eq!((first.partitions(), second.partitions()), (vec![0, 1], vec![2]));
}

#[test]
fn a_coordinator_that_takes_over_gives_each_member_a_whole_session() {
    let mut rig = Rig::with_nodes(2, &[("group.consumer.assignment.interval.ms", "0")], &[]);
    rig.cluster.move_coordinator(rig.now, READERS, 1).unwrap();
    let first = Reader::join(&mut rig, "a");
    sleep(&mut rig, Duration::from_secs(40));
    rig.cluster.move_coordinator(rig.now, READERS, 2).unwrap();
    assert_eq!(first.stay(&mut rig), ErrorCode::NOT_COORDINATOR);
    let request = FindCoordinatorRequest { coordinator_keys: vec![READERS.to_owned()], ..Default::default() };
    assert_eq!(rig.call(1, &request).coordinators[0].node_id, 2);
    sleep(&mut rig, Duration::from_secs(40));
    assert_eq!(rig.call(200, &first.request()).error_code, ErrorCode::NONE);
}

#[test]
fn a_full_group_takes_no_more_members() {
    let mut rig = Rig::with(&[("group.consumer.max.size", "1")], &[]);
    let first = Reader::join(&mut rig, "a");
    let mut request = first.request();
    (request.member_id, request.member_epoch, request.rebalance_timeout_ms) = ("b".to_owned(), 0, 1);
    (request.subscribed_topic_names, request.topic_partitions) = (Some(Vec::new()), Some(Vec::new()));
    assert_eq!(rig.call(1, &request).error_code, ErrorCode::GROUP_MAX_SIZE_REACHED);
    request.member_id = "a".to_owned();
    assert_eq!(rig.call(1, &request).error_code, ErrorCode::NONE);
}
