//! Random sequences of what an application, brokers and networks do: within one assignment no record is handed out twice and none is left
//! out, unless the application seeks; nothing is committed that was not handed out.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::rig::*;
use crate::{
    machine::{
        RequestFailure,
        consumer::{ConsumerResponse, Offsets},
    },
    messages::{consumer_group_heartbeat::ConsumerGroupHeartbeatResponse, fetch::FetchResponse},
    wire::ErrorCode,
};

const PARTITIONS: i32 = 4;

#[derive(Debug, Clone)]
enum Operation {
    Poll,
    Confirm,
    Take {
        partition: i32,
        part: Option<i64>,
    },
    Commit,
    Pause {
        partition: i32,
        is_paused: bool,
    },
    /// A broker answers one of the requests that are out.
    Answer(usize),
    Fail(usize, RequestFailure),
    Refuse(usize, ErrorCode),
    Produce {
        partition: i32,
        records: i64,
    },
    MoveLeader {
        partition: i32,
        to: i32,
    },
    Reassign(u8),
    Pass(u64),
}

fn operation() -> impl Strategy<Value = Operation> {
    let failure = prop::sample::select(vec![
        RequestFailure::Disconnected,
        RequestFailure::TimedOut,
        RequestFailure::Unreachable,
        RequestFailure::Malformed,
    ]);
    let code = prop::sample::select(vec![
        ErrorCode::FENCED_MEMBER_EPOCH,
        ErrorCode::NOT_COORDINATOR,
        ErrorCode::FETCH_SESSION_ID_NOT_FOUND,
        ErrorCode::INVALID_FETCH_SESSION_EPOCH,
        ErrorCode::UNKNOWN_TOPIC_ID,
    ]);
    prop_oneof![
        4 => Just(Operation::Poll),
        4 => Just(Operation::Confirm),
        8 => (0..PARTITIONS, prop::option::of(0..15i64)).prop_map(|(partition, part)| Operation::Take { partition, part }),
        2 => Just(Operation::Commit),
        1 => (0..PARTITIONS, any::<bool>()).prop_map(|(partition, is_paused)| Operation::Pause { partition, is_paused }),
        16 => (0..8usize).prop_map(Operation::Answer),
        2 => (0..8usize, failure).prop_map(|(at, failure)| Operation::Fail(at, failure)),
        2 => (0..8usize, code).prop_map(|(at, code)| Operation::Refuse(at, code)),
        4 => (0..PARTITIONS, 1..30i64).prop_map(|(partition, records)| Operation::Produce { partition, records }),
        1 => (0..PARTITIONS, 1..=3i32).prop_map(|(partition, to)| Operation::MoveLeader { partition, to }),
        1 => (0..16u8).prop_map(Operation::Reassign),
        3 => prop_oneof![1..100u64, 100..6_000u64].prop_map(Operation::Pass),
    ]
}

struct World {
    rig: Rig,
    /// Behind the last record that was handed out of a partition, by any assignment.
    handed_up_to: BTreeMap<i32, i64>,
    checked: usize,
    /// What came last of a partition, by assignment.
    last: BTreeMap<(u64, i32), i64>,
}

impl World {
    fn run(&mut self, operation: Operation) {
        let rig = &mut self.rig;
        match operation {
            Operation::Poll => rig.polled(),
            Operation::Confirm => _ = rig.confirm(),
            Operation::Take { partition, part } => {
                let from = rig.waiting.get(&partition).and_then(|parts| parts.front()).map(|part| part.first);
                let end = part.zip(from).map_or(i64::MAX, |(part, from)| from + part);
                rig.take_up_to(partition, end);
            }
            Operation::Commit => {
                rig.machine.commit(rig.now, None);
                rig.drain();
            }
            Operation::Pause { partition: index, is_paused } => {
                rig.machine.pause(rig.now, &[partition(index)], is_paused);
                rig.drain();
            }
            Operation::Answer(at) if at < rig.sent.len() => _ = rig.serve_at(at),
            Operation::Fail(at, failure) if at < rig.sent.len() => {
                let sent = rig.sent.remove(at).unwrap();
                rig.fail(&sent, failure);
            }
            Operation::Refuse(at, code) if at < rig.sent.len() => self.refuse(at, code),
            Operation::Answer(_) | Operation::Fail(..) | Operation::Refuse(..) => {}
            Operation::Produce { partition, records } => rig.cluster.logs[partition as usize].end += records,
            Operation::MoveLeader { partition, to } => {
                let log = &mut rig.cluster.logs[partition as usize];
                log.leader = to;
                log.epoch += 1;
            }
            Operation::Reassign(bits) => {
                let target: Vec<i32> = (0..PARTITIONS).filter(|index| bits & (1 << index) != 0).collect();
                rig.cluster.reassign(&target);
            }
            Operation::Pass(milliseconds) => {
                let end = rig.now + ms(milliseconds);
                while let Some(wait) = rig.wait.filter(|wait| *wait <= end) {
                    rig.now = wait;
                    rig.drain();
                }
                rig.now = end;
                rig.drain();
            }
        }
        self.check();
    }

    fn refuse(&mut self, at: usize, code: ErrorCode) {
        let is_heartbeat_code = matches!(code, ErrorCode::FENCED_MEMBER_EPOCH | ErrorCode::NOT_COORDINATOR);
        let request = &self.rig.sent[at].request;
        let response = match is_heartbeat_code {
            true if is_heartbeat(request) => {
                ConsumerResponse::Heartbeat(ConsumerGroupHeartbeatResponse { error_code: code, ..Default::default() })
            }
            false if is_fetch(request) => {
                ConsumerResponse::Fetch(FetchResponse { error_code: code, ..Default::default() })
            }
            _ => return,
        };
        let sent = self.rig.sent.remove(at).unwrap();
        self.rig.answer(&sent, response);
    }

    fn check(&mut self) {
        for (assignment, index, offset) in &self.rig.handed[self.checked..] {
            if let Some(last) = self.last.insert((*assignment, *index), *offset) {
                assert_eq!(*offset, last + 1, "of partition {index} in assignment {assignment}");
            }
            let up_to = self.handed_up_to.entry(*index).or_default();
            *up_to = (*up_to).max(offset + 1);
        }
        self.checked = self.rig.handed.len();
        for (index, (offset, _)) in &self.rig.cluster.committed {
            let up_to = self.handed_up_to.get(index).copied().unwrap_or_default();
            assert!(*offset <= up_to, "{offset} of partition {index} is committed, and {up_to} was handed out");
        }
    }

    /// After all faults, everything is handed out that was written, whoever had it.
    fn finish(&mut self) {
        let all: Vec<i32> = (0..PARTITIONS).collect();
        self.rig.cluster.reassign(&all);
        let paused: Vec<_> = all.iter().map(|index| partition(*index)).collect();
        for _ in 0..400 {
            self.rig.machine.pause(self.rig.now, &paused, false);
            self.rig.polled();
            self.rig.serve();
            all.iter().for_each(|index| _ = self.rig.take_part(*index));
            self.check();
            self.rig.sleep(ms(100));
        }
        let handed: BTreeSet<(i32, i64)> = self.rig.handed.iter().map(|(_, index, offset)| (*index, *offset)).collect();
        for index in all {
            let end = self.rig.cluster.logs[index as usize].end;
            let missing: Vec<i64> = (0..end).filter(|offset| !handed.contains(&(index, *offset))).collect();
            assert!(missing.is_empty(), "of partition {index} were lost: {missing:?}");
        }
        self.rig.machine.close(self.rig.now, Offsets::new(), true, ms(30_000));
        self.rig.drain();
        self.rig.serve();
        assert!(self.rig.closed);
        for (index, (offset, _)) in &self.rig.cluster.committed {
            assert_eq!(*offset, self.rig.cluster.logs[*index as usize].end);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]
    #[test]
    fn nothing_is_handed_out_twice_or_lost_or_committed_too_early(
        operations in prop::collection::vec(operation(), 1..250),
    ) {
        let rig = Rig::joined(&[1, 1, 2, 3], |options| options.max_poll_interval = ms(86_400_000));
        let mut world = World { rig, handed_up_to: BTreeMap::new(), checked: 0, last: BTreeMap::new() };
        for operation in operations {
            world.run(operation);
        }
        world.finish();
    }
}
