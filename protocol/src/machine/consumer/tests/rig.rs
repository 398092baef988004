//! A machine, a virtual clock, an application that takes what it is given, and what was sent.

use std::{
    collections::{BTreeMap, VecDeque},
    time::{Duration, Instant},
};

use super::cluster::*;
use crate::{
    machine::{
        BrokerAddress, Destination, MachineError, MachineErrorKind, Output, RequestFailure, RequestId,
        consumer::{
            Answer, CallId, ConsumerEvent, ConsumerFault, ConsumerMachine, ConsumerOptions, ConsumerRequest,
            ConsumerResponse, Fetched, OffsetReset, Offsets, Position, RebalanceId, Run, SeekTo, TopicPartition,
        },
    },
    messages::{consumer_group_heartbeat::ConsumerGroupHeartbeatRequest, fetch::FetchRequest},
};

#[derive(Debug, Clone)]
pub(super) struct Sent {
    pub(super) id: RequestId,
    pub(super) to: Destination,
    pub(super) request: ConsumerRequest,
    pub(super) at: Instant,
}

impl Sent {
    /// When a broker answers at the latest.
    fn held_until(&self) -> Instant {
        match &self.request {
            ConsumerRequest::Fetch(request) => self.at + ms(request.max_wait_ms as u64),
            _ => self.at,
        }
    }

    pub(super) fn node(&self) -> i32 {
        match &self.to {
            Destination::Any => COORDINATOR,
            Destination::Coordinator(address) | Destination::Session(address) | Destination::Leader(address) => {
                address.node
            }
        }
    }
}

pub(super) struct Rig {
    pub(super) machine: ConsumerMachine,
    pub(super) now: Instant,
    pub(super) wait: Option<Instant>,
    /// What was sent and not answered.
    pub(super) sent: VecDeque<Sent>,
    /// All that was ever sent.
    pub(super) log: Vec<Sent>,
    pub(super) cluster: Cluster,
    /// Steps of rebalances that the application has not confirmed.
    pub(super) steps: VecDeque<Step>,
    /// What the application has: the stretch, and what waits to be handed out.
    pub(super) runs: BTreeMap<i32, Run>,
    pub(super) waiting: BTreeMap<i32, VecDeque<Fetched>>,
    /// What was handed out: assignment, partition, offset.
    pub(super) handed: Vec<(u64, i32, i64)>,
    pub(super) answers: Vec<(CallId, Result<Answer, MachineError>)>,
    pub(super) errors: Vec<MachineError>,
    pub(super) closed: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    Revoke(RebalanceId, Vec<i32>),
    Assign(RebalanceId, Vec<(i32, Run)>),
    Lost(Vec<i32>),
}

pub(super) fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

pub(super) fn partition(index: i32) -> TopicPartition {
    TopicPartition::new("topic", index)
}

fn indexes(partitions: &[TopicPartition]) -> Vec<i32> {
    partitions.iter().map(|partition| partition.partition).collect()
}

impl Rig {
    pub(super) fn with(leaders: &[i32], change: impl FnOnce(&mut ConsumerOptions)) -> Self {
        let now = Instant::now();
        let mut options = ConsumerOptions::new(Some("group"), "member");
        options.offset_reset = OffsetReset::Earliest;
        change(&mut options);
        Self {
            machine: ConsumerMachine::new(now, 1_000_000, 42, options),
            now,
            wait: None,
            sent: VecDeque::new(),
            log: Vec::new(),
            cluster: Cluster::new(leaders),
            steps: VecDeque::new(),
            runs: BTreeMap::new(),
            waiting: BTreeMap::new(),
            handed: Vec::new(),
            answers: Vec::new(),
            errors: Vec::new(),
            closed: false,
        }
    }

    /// A member that has its partitions and polls, with fetches out or answered.
    pub(super) fn joined(leaders: &[i32], change: impl FnOnce(&mut ConsumerOptions)) -> Self {
        let mut rig = Self::with(leaders, change);
        rig.subscribe();
        rig.polled();
        rig.serve();
        rig
    }

    pub(super) fn subscribe(&mut self) {
        self.machine.subscribe(self.now, vec!["topic".into()]);
        self.drain();
    }

    pub(super) fn polled(&mut self) {
        self.machine.polled(self.now);
        self.drain();
    }

    /// Does what the machine says until it waits.
    pub(super) fn drain(&mut self) {
        for _ in 0..10_000 {
            match self.machine.poll(self.now) {
                Output::Send { id, to, request, .. } => {
                    let sent = Sent { id, to, request, at: self.now };
                    self.log.push(sent.clone());
                    self.sent.push_back(sent);
                }
                Output::Event(event) => self.event(event),
                Output::Wait(wait) => {
                    assert!(wait.is_none_or(|wait| wait > self.now), "a deadline that has passed, not acted on");
                    self.wait = wait;
                    return;
                }
            }
        }
        panic!("the machine never waits");
    }

    fn event(&mut self, event: ConsumerEvent) {
        match event {
            ConsumerEvent::Fetched(fetched) => {
                self.waiting.entry(fetched.partition.partition).or_default().push_back(fetched);
            }
            ConsumerEvent::Revoking { id, partitions } => self.steps.push_back(Step::Revoke(id, indexes(&partitions))),
            ConsumerEvent::Assigning { id, partitions } => {
                let partitions = partitions.into_iter().map(|(name, run)| (name.partition, run)).collect();
                self.steps.push_back(Step::Assign(id, partitions));
            }
            ConsumerEvent::Lost(partitions) => self.steps.push_back(Step::Lost(indexes(&partitions))),
            ConsumerEvent::Answered { id, result } => self.answers.push((id, result)),
            ConsumerEvent::Failed(error) => self.errors.push(error),
            ConsumerEvent::Closed => self.closed = true,
        }
    }

    /// The application confirms the next step of a rebalance.
    pub(super) fn confirm(&mut self) -> Option<Step> {
        let step = self.steps.pop_front()?;
        match &step {
            Step::Revoke(id, partitions) => {
                self.drop_partitions(partitions);
                self.machine.revoked(self.now, *id, Offsets::new());
            }
            Step::Assign(id, partitions) => {
                self.runs.extend(partitions.iter().copied());
                self.machine.assigned(self.now, *id, Vec::new());
            }
            Step::Lost(partitions) => self.drop_partitions(partitions),
        }
        self.drain();
        Some(step)
    }

    fn drop_partitions(&mut self, partitions: &[i32]) {
        for index in partitions {
            self.runs.remove(index);
            self.waiting.remove(index);
        }
    }

    /// Brokers answer all that they do not hold, and the application confirms all steps, until nothing happens.
    pub(super) fn serve(&mut self) {
        for _ in 0..1_000 {
            while self.confirm().is_some() {}
            let Some(at) = (0..self.sent.len()).find(|at| self.serve_at(*at)) else { return };
            _ = at;
        }
        panic!("the machine asks without end");
    }

    /// A broker answers one request, unless it holds it.
    pub(super) fn serve_at(&mut self, at: usize) -> bool {
        let sent = self.sent[at].clone();
        let Some(response) = self.cluster.answer(sent.node(), &sent.request, sent.held_until() <= self.now) else {
            return false;
        };
        self.sent.remove(at);
        self.machine.handle_response(self.now, sent.id, Ok(response));
        self.drain();
        true
    }

    /// The last request of a kind that waits for its answer.
    pub(super) fn take(&mut self, wanted: impl Fn(&ConsumerRequest) -> bool) -> Sent {
        let at = self.sent.iter().rposition(|sent| wanted(&sent.request)).expect("no such request is out");
        self.sent.remove(at).unwrap()
    }

    pub(super) fn answer(&mut self, sent: &Sent, response: ConsumerResponse) {
        self.machine.handle_response(self.now, sent.id, Ok(response));
        self.drain();
    }

    pub(super) fn fail(&mut self, sent: &Sent, failure: RequestFailure) {
        self.machine.handle_response(self.now, sent.id, Err(failure));
        self.drain();
    }

    /// Lets time pass, waking the machine as it wants; brokers answer meanwhile.
    pub(super) fn sleep(&mut self, time: Duration) {
        let end = self.now + time;
        loop {
            let held = self.sent.iter().map(Sent::held_until).filter(|until| *until > self.now).min();
            let Some(next) = self.wait.into_iter().chain(held).min().filter(|next| *next <= end) else { break };
            self.now = next;
            self.drain();
            self.serve();
        }
        self.now = end;
        self.drain();
        self.serve();
    }

    /// The application takes the next part of what was fetched of a partition, and reads it.
    pub(super) fn take_part(&mut self, index: i32) -> Vec<i64> {
        self.take_up_to(index, i64::MAX)
    }

    /// As [`take_part`](Self::take_part), no offset from `end` on.
    pub(super) fn take_up_to(&mut self, index: i32, end: i64) -> Vec<i64> {
        let Some(run) = self.runs.get(&index).copied() else { return Vec::new() };
        let parts = self.waiting.entry(index).or_default();
        while parts.front().is_some_and(|part| part.run != run) {
            parts.pop_front();
        }
        let Some(part) = parts.front_mut() else { return Vec::new() };
        let offsets = part.batches.iter().flat_map(|batch| batch.records().map(|record| record.unwrap().offset));
        let offsets: Vec<i64> = offsets.filter(|offset| *offset >= part.first && *offset < end).collect();
        let next = match end < part.next.offset {
            true => Position { offset: end.max(part.first), leader_epoch: part.next.leader_epoch },
            false => part.next,
        };
        part.first = next.offset;
        if next == part.next {
            parts.pop_front();
        }
        self.handed.extend(offsets.iter().map(|offset| (run.assignment, index, *offset)));
        self.machine.taken(self.now, &partition(index), run, next);
        self.drain();
        offsets
    }

    pub(super) fn seek(&mut self, index: i32, to: SeekTo) {
        let Some(run) = self.runs.get_mut(&index) else { return };
        *run = run.after_seek();
        self.machine.seek(self.now, &partition(index), *run, to);
        self.drain();
    }

    pub(super) fn heartbeats(&self) -> Vec<&ConsumerGroupHeartbeatRequest> {
        let heartbeats = self.log.iter().filter_map(|sent| match &sent.request {
            ConsumerRequest::Heartbeat(request) => Some(request),
            _ => None,
        });
        heartbeats.collect()
    }

    pub(super) fn fetches(&self) -> Vec<&FetchRequest> {
        let fetches = self.log.iter().filter_map(|sent| match &sent.request {
            ConsumerRequest::Fetch(request) => Some(request),
            _ => None,
        });
        fetches.collect()
    }

    pub(super) fn faults(&self) -> Vec<&ConsumerFault> {
        let faults = self.errors.iter().filter_map(|error| match &error.kind {
            MachineErrorKind::Consumer(fault) => Some(fault),
            _ => None,
        });
        faults.collect()
    }

    /// Where the brokers and the coordinator are.
    pub(super) fn address(node: i32) -> BrokerAddress {
        BrokerAddress { node, host: "h".into(), port: 9000 + node as u16 }
    }
}

pub(super) fn is_heartbeat(request: &ConsumerRequest) -> bool {
    matches!(request, ConsumerRequest::Heartbeat(_))
}

pub(super) fn is_fetch(request: &ConsumerRequest) -> bool {
    matches!(request, ConsumerRequest::Fetch(_))
}

pub(super) fn is_commit(request: &ConsumerRequest) -> bool {
    matches!(request, ConsumerRequest::OffsetCommit(_))
}
