//! Random sequences of what an application, brokers and networks do. Brokers check each request as Kafka does.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::{rig::*, script::*};
use crate::{
    machine::{
        AckId, AckType, Acquisition, ClientRequest, ClientResponse, CommitId, Event, RequestFailure, TopicIdPartition,
    },
    messages::share_fetch::PartitionData,
    wire::ErrorCode,
};

#[derive(Debug, Clone)]
enum Operation {
    Poll,
    Take,
    /// Decides about a part of something taken.
    Decide {
        which: usize,
        part: (i64, i64),
        ack: AckType,
    },
    Commit,
    Drop,
    Answer {
        node: i32,
        how: How,
    },
    Pass(u64),
    Disconnect(i32),
    Heartbeat(Beat),
    MoveLeader {
        partition: usize,
        to: i32,
    },
}

#[derive(Debug, Clone, Copy)]
enum How {
    Well { records: i64 },
    PartitionError(ErrorCode),
    AcknowledgeError(ErrorCode),
    TopError(ErrorCode),
    Failure(RequestFailure),
}

#[derive(Debug, Clone, Copy)]
enum Beat {
    All,
    Half,
    Error(ErrorCode),
}

fn operation() -> impl Strategy<Value = Operation> {
    let ack = prop_oneof![
        3 => Just(AckType::Accept),
        1 => Just(AckType::Release),
        1 => Just(AckType::Reject),
        2 => Just(AckType::Renew)
    ];
    let how = prop_oneof![
        10 => (0..40i64).prop_map(|records| How::Well { records }),
        1 => prop::sample::select(vec![
            ErrorCode::NOT_LEADER_OR_FOLLOWER, ErrorCode::UNKNOWN_TOPIC_ID, ErrorCode::KAFKA_STORAGE_ERROR,
            ErrorCode::TOPIC_AUTHORIZATION_FAILED,
        ]).prop_map(How::PartitionError),
        1 => prop::sample::select(vec![
            ErrorCode::NOT_LEADER_OR_FOLLOWER, ErrorCode::INVALID_RECORD_STATE, ErrorCode::COORDINATOR_NOT_AVAILABLE,
        ]).prop_map(How::AcknowledgeError),
        // INVALID_SHARE_SESSION_EPOCH, about an epoch that is right, is another process of the same id: tests of their own have that.
        1 => prop::sample::select(vec![
            ErrorCode::SHARE_SESSION_NOT_FOUND, ErrorCode::UNKNOWN_SERVER_ERROR, ErrorCode::SHARE_SESSION_LIMIT_REACHED,
            ErrorCode::UNKNOWN_TOPIC_ID,
        ]).prop_map(How::TopError),
        1 => prop::sample::select(vec![RequestFailure::Disconnected, RequestFailure::TimedOut, RequestFailure::Unreachable])
            .prop_map(How::Failure),
    ];
    let beat = prop_oneof![
        3 => Just(Beat::All),
        1 => Just(Beat::Half),
        1 => prop::sample::select(vec![ErrorCode::FENCED_MEMBER_EPOCH, ErrorCode::NOT_COORDINATOR]).prop_map(Beat::Error)
    ];
    prop_oneof![
        2 => Just(Operation::Poll),
        5 => Just(Operation::Take),
        8 => (0..4usize, (0..30i64, 0..30i64), ack)
            .prop_map(|(which, (from, more), ack)| Operation::Decide { which, part: (from, from + more), ack }),
        2 => Just(Operation::Commit),
        1 => Just(Operation::Drop),
        12 => (1..=3i32, how).prop_map(|(node, how)| Operation::Answer { node, how }),
        6 => prop_oneof![1..30u64, 1..2_000u64].prop_map(Operation::Pass),
        1 => (1..=3i32).prop_map(Operation::Disconnect),
        2 => beat.prop_map(Operation::Heartbeat),
        1 => (0..4usize, 1..=3i32).prop_map(|(partition, to)| Operation::MoveLeader { partition, to }),
    ]
}

/// The broker's side of one session.
#[derive(Debug, Default)]
struct Session {
    /// The epoch that the next request must have; `None` without a session.
    next: Option<i32>,
    members: BTreeSet<TopicIdPartition>,
    /// Offsets that are locked, as the client may believe.
    locked: BTreeSet<(TopicIdPartition, i64)>,
}

struct World {
    rig: Rig,
    sessions: BTreeMap<i32, Session>,
    next_offset: i64,
    taken: Vec<Acquisition>,
    handed_out: usize,
    acks: Vec<AckId>,
    commits: Vec<CommitId>,
    seen: usize,
}

impl World {
    fn new() -> Self {
        let rig = Rig::joined_with(&[1, 1, 2, 3], |options| options.max_poll_interval = ms(3_600_000));
        let sessions = (1..=3).map(|node| (node, Session::default())).collect();
        let (taken, acks, commits) = (Vec::new(), Vec::new(), Vec::new());
        Self { rig, sessions, next_offset: 0, taken, handed_out: 0, acks, commits, seen: 0 }
    }

    fn run(&mut self, operation: Operation) {
        match operation {
            Operation::Poll => self.rig.polled(),
            Operation::Take => {
                self.rig.polled();
                if let Some(acquisition) = self.rig.acquisitions().get(self.handed_out).cloned() {
                    self.handed_out += 1;
                    self.rig.taken(acquisition.records);
                    self.taken.push(acquisition);
                }
            }
            Operation::Decide { which, part, ack } => {
                let last = self.taken.len();
                if let Some(acquisition) = self.taken.get(last.wrapping_sub(which + 1)).cloned() {
                    let first = acquisition.ranges[0].first;
                    let ranges = [range(first + part.0, first + part.1, ack)];
                    self.acks.push(self.rig.acknowledge(acquisition.session, acquisition.topic_partition, &ranges));
                }
            }
            Operation::Commit => self.commits.push(self.rig.commit()),
            Operation::Drop => {
                if let Some(acquisition) = self.rig.acquisitions().get(self.handed_out).cloned() {
                    self.handed_out += 1;
                    self.rig.machine.dropped(self.rig.now, &acquisition);
                    self.rig.drain();
                }
            }
            Operation::Answer { node, how } => self.answer(node, how),
            Operation::Pass(milliseconds) => self.rig.sleep(ms(milliseconds)),
            Operation::Disconnect(node) => {
                self.sessions.insert(node, Session::default());
                self.rig.sent.retain(|sent| sent.node() != Some(node));
                self.rig.disconnect(node);
            }
            Operation::Heartbeat(beat) => self.heartbeat(beat),
            Operation::MoveLeader { partition, to } => {
                self.rig.leaders[partition] = to;
                self.rig.leader_epoch += 1;
            }
        }
        self.rig.answer_group();
        self.check();
    }

    fn heartbeat(&mut self, beat: Beat) {
        let Some(sent) = self.rig.try_heartbeat() else { return };
        let response = match beat {
            Beat::All => heartbeat(sent.heartbeat().member_epoch.max(0) + 1, Some(&[(TOPIC, &[0, 1, 2, 3])])),
            Beat::Half => heartbeat(sent.heartbeat().member_epoch.max(0) + 1, Some(&[(TOPIC, &[1, 2])])),
            Beat::Error(code) => heartbeat_error(code),
        };
        self.rig.respond(&sent, response);
    }

    /// The broker takes a request in and answers it.
    fn answer(&mut self, node: i32, how: How) {
        let Some(sent) = self.rig.try_session(node) else { return };
        assert!(self.rig.sent.iter().all(|other| other.node() != Some(node)), "two requests out to node {node}");
        let acks = sent.acks();
        for pair in acks.windows(2) {
            assert!(pair[0].0 < pair[1].0 || pair[0].2 < pair[1].1, "not sorted and disjoint: {acks:?}");
        }
        if let How::Failure(failure) = how {
            self.sessions.insert(node, Session::default());
            return self.rig.fail(&sent, failure);
        }
        let session = self.sessions.get_mut(&node).unwrap();
        match sent.epoch() {
            0 => {
                assert!(matches!(sent.request, ClientRequest::ShareFetch(_)) && acks.is_empty());
                *session = Session { next: Some(0), ..Session::default() };
            }
            -1 => assert!(session.next.is_some(), "a session that is not there is ended"),
            epoch => assert_eq!(Some(epoch), session.next, "node {node} expected another epoch"),
        }
        if let How::TopError(code) = how {
            let is_session_error = code != ErrorCode::UNKNOWN_SERVER_ERROR && code != ErrorCode::UNKNOWN_TOPIC_ID;
            if is_session_error || sent.epoch() <= 0 {
                *session = Session::default();
            } else {
                session.next = session.next.map(|next| next + 1);
                // What was to be added or forgotten has not been, so a broker may not know a partition that the client
                // lists.
            }
            return match sent.request {
                ClientRequest::ShareFetch(_) => self.rig.respond(&sent, fetch_error(code)),
                _ => self.rig.respond(&sent, top_ack_error(code)),
            };
        }
        session.next = session.next.map(|next| next + 1);
        let refused = match how {
            How::AcknowledgeError(code) => code,
            _ => ErrorCode::NONE,
        };
        for (index, first, last, types) in &acks {
            for (at, offset) in (*first..=*last).enumerate() {
                let key = (partition(*index), offset);
                assert!(
                    session.locked.contains(&key),
                    "offset {offset} of partition {index} is not locked at node {node}"
                );
                let ack = if types.len() == 1 { types[0] } else { types[at] };
                if refused.is_none() && ack != AckType::Renew as i8 {
                    session.locked.remove(&key);
                }
            }
        }
        let indexes: BTreeSet<i32> = acks.iter().map(|(index, ..)| *index).collect();
        let ClientRequest::ShareFetch(request) = &sent.request else {
            let partitions: Vec<_> = indexes.iter().map(|index| (*index, refused)).collect();
            if sent.epoch() == -1 {
                *session = Session::default();
            }
            return self.rig.respond(&sent, acked(&partitions));
        };
        for topic in &request.topics {
            session.members.extend(topic.partitions.iter().map(|listed| partition(listed.partition_index)));
        }
        for topic in &request.forgotten_topics_data {
            topic.partitions.iter().for_each(|index| _ = session.members.remove(&partition(*index)));
        }
        let mut answers: BTreeMap<i32, PartitionData> = BTreeMap::new();
        for index in &indexes {
            let answer =
                PartitionData { partition_index: *index, acknowledge_error_code: refused, ..Default::default() };
            answers.insert(*index, answer);
        }
        if let Some(member) = session.members.first().filter(|_| request.max_records > 0).copied() {
            let index = member.partition;
            let answer =
                answers.entry(index).or_insert_with(|| PartitionData { partition_index: index, ..Default::default() });
            match how {
                How::Well { records: records @ 1.. } => {
                    let (first, last) = (self.next_offset, self.next_offset + records - 1);
                    self.next_offset = last + 1;
                    session.locked.extend((first..=last).map(|offset| (member, offset)));
                    let code = answer.acknowledge_error_code;
                    *answer = PartitionData { acknowledge_error_code: code, ..acquired(index, first, last) };
                }
                How::PartitionError(code) => answer.error_code = code,
                _ => {}
            }
        }
        self.rig.respond(&sent, fetched(answers.into_values().collect()));
    }

    fn check(&mut self) {
        // A partition that moved is not the old leader's any more, as far as the client has heard.
        for event in &self.rig.events[self.seen..] {
            if let Event::Acknowledged { id, .. } = event {
                assert_eq!(self.rig.results(*id).len(), 1, "{id:?} ended twice");
            }
        }
        self.seen = self.rig.events.len();
    }

    /// Everything ends well from here on.
    fn finish(&mut self) {
        self.rig.close();
        for _ in 0..2_000 {
            self.rig.answer_group();
            for node in 1..=3 {
                self.answer(node, How::Well { records: 0 });
            }
            if let Some(leave) = self.rig.try_heartbeat() {
                let epoch = leave.heartbeat().member_epoch;
                self.rig.respond(&leave, heartbeat(epoch.min(1), None));
            }
            if matches!(self.rig.events.last(), Some(Event::Closed)) {
                break;
            }
            self.rig.sleep(ms(50));
        }
        assert!(matches!(self.rig.events.last(), Some(Event::Closed)), "never closed: {:?}", self.rig.sent);
        for id in &self.acks {
            assert_eq!(self.rig.results(*id).len(), 1, "{id:?}");
        }
        for id in &self.commits {
            let told = self
                .rig
                .events
                .iter()
                .filter(|event| matches!(event, Event::Committed { id: other, .. } if other == id));
            assert_eq!(told.count(), 1, "{id:?}");
        }
    }
}

fn top_ack_error(code: ErrorCode) -> ClientResponse {
    let ClientResponse::ShareAcknowledge(response) = acked(&[]) else { unreachable!() };
    ClientResponse::ShareAcknowledge(crate::messages::share_acknowledge::ShareAcknowledgeResponse {
        error_code: code,
        ..response
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn each_acknowledgement_and_commit_ends_once_and_brokers_get_only_what_they_allow(
        operations in prop::collection::vec(operation(), 1..120)
    ) {
        let mut world = World::new();
        for operation in operations {
            world.run(operation);
        }
        world.finish();
    }
}
