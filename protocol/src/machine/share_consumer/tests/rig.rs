//! A machine, a virtual clock, and brokers that answer what the test says.

use std::{
    collections::VecDeque,
    sync::Arc,
    time::{Duration, Instant},
};

use super::script::*;
use crate::{
    machine::{
        AckId, AckRange, Acquisition, AcquisitionId, AutoRenew, ClientRequest, ClientResponse, CommitId, CommitResult,
        Destination, Event, KeepEnd, KeepId, MachineError, Output, RequestFailure, SessionId, ShareConsumerMachine,
        ShareConsumerOptions, TopicIdPartition,
    },
    messages::{
        find_coordinator::{Coordinator, FindCoordinatorResponse},
        metadata::{
            MetadataRequest, MetadataResponse, MetadataResponseBroker, MetadataResponsePartition, MetadataResponseTopic,
        },
        share_fetch::PartitionData,
    },
    wire::{ErrorCode, Uuid},
};

/// The consumer under test, with everything that it has sent and told.
pub(super) struct Rig {
    pub(super) machine: ShareConsumerMachine,
    pub(super) start: Instant,
    pub(super) now: Instant,
    /// What was sent and not answered.
    pub(super) sent: VecDeque<Sent>,
    pub(super) events: Vec<Event>,
    /// All that was ever sent.
    pub(super) log: Vec<Sent>,
    /// When the machine wants to be polled next.
    pub(super) wait: Option<Instant>,
    /// Leaders by partition of the topic, and the epoch of all.
    pub(super) leaders: Vec<i32>,
    pub(super) leader_epoch: i32,
    pub(super) topic_id: Uuid,
}

impl Rig {
    pub(super) fn new() -> Self {
        Self::with(|_| {})
    }

    pub(super) fn with(change: impl FnOnce(&mut ShareConsumerOptions)) -> Self {
        let now = Instant::now();
        let mut options = ShareConsumerOptions::new("group", "member");
        change(&mut options);
        Self {
            machine: ShareConsumerMachine::new(now, 42, options),
            start: now,
            now,
            sent: VecDeque::new(),
            events: Vec::new(),
            log: Vec::new(),
            wait: None,
            leaders: vec![1],
            leader_epoch: 5,
            topic_id: TOPIC,
        }
    }

    /// A consumer that is joined and has polled, with the partitions led as given, and the first fetches out.
    pub(super) fn joined(leaders: &[i32]) -> Self {
        Self::joined_with(leaders, |_| {})
    }

    pub(super) fn joined_with(leaders: &[i32], change: impl FnOnce(&mut ShareConsumerOptions)) -> Self {
        let mut rig = Self::with(change);
        rig.leaders = leaders.to_vec();
        rig.subscribe(&["topic"]);
        rig.polled();
        rig.answer_group();
        rig.join(1);
        rig.answer_group();
        rig
    }

    /// Polls until the machine waits.
    pub(super) fn drain(&mut self) {
        for _ in 0..10_000 {
            match self.machine.poll(self.now) {
                Output::Send { id, to, request, least_version } => {
                    let sent = Sent { id, to, request, least_version, at: self.now };
                    self.log.push(sent.clone());
                    self.sent.push_back(sent);
                }
                Output::Event(event) => self.events.push(event),
                Output::Wait(wait) => {
                    assert!(wait.is_none_or(|wait| wait > self.now), "a deadline that has passed, not acted on");
                    self.wait = wait;
                    return;
                }
            }
        }
        panic!("the machine never waits");
    }

    /// Lets time pass, waking the machine as it wants.
    pub(super) fn sleep(&mut self, time: Duration) {
        let end = self.now + time;
        while let Some(wait) = self.wait.filter(|wait| *wait <= end) {
            self.now = wait;
            self.drain();
        }
        self.now = end;
        self.drain();
    }

    pub(super) fn subscribe(&mut self, topics: &[&str]) {
        self.machine.subscribe(self.now, topics.iter().map(|topic| (*topic).to_owned()).collect());
        self.drain();
    }

    pub(super) fn polled(&mut self) {
        self.machine.polled(self.now);
        self.drain();
    }

    pub(super) fn taken(&mut self, records: u32) {
        self.machine.taken(self.now, records);
        self.drain();
    }

    /// The application polls and takes an acquisition over.
    pub(super) fn take(&mut self) -> Acquisition {
        let acquisition = self.acquisitions().remove(0);
        self.polled();
        self.taken(acquisition.records);
        acquisition
    }

    /// Acknowledges offsets of the last acquisition that has the first of them.
    pub(super) fn acknowledge(
        &mut self,
        session: SessionId,
        topic_partition: TopicIdPartition,
        ranges: &[AckRange],
    ) -> AckId {
        let covers = |acquisition: &Acquisition| {
            let acquired = acquisition.ranges.iter().map(|range| range.first..=range.last);
            (acquisition.session, acquisition.topic_partition) == (session, topic_partition)
                && acquired
                    .into_iter()
                    .any(|acquired| ranges.first().is_some_and(|range| acquired.contains(&range.first)))
        };
        let last = self.events.iter().rev().find_map(|event| match event {
            Event::Acquired(acquisition) if covers(acquisition) => Some(acquisition.id()),
            _ => None,
        });
        self.acknowledge_of(last.unwrap_or(AcquisitionId { session, number: 0 }), topic_partition, ranges)
    }

    /// As [`acknowledge`](Self::acknowledge), of an acquisition that need not be the last of its offsets.
    pub(super) fn acknowledge_of(
        &mut self,
        acquisition: AcquisitionId,
        topic_partition: TopicIdPartition,
        ranges: &[AckRange],
    ) -> AckId {
        let id = self.machine.acknowledge(self.now, acquisition, topic_partition, ranges.to_vec());
        self.drain();
        id
    }

    /// Has the locks of an acquisition renewed by themselves.
    pub(super) fn keep(&mut self, acquisition: &Acquisition, renew: AutoRenew) -> Option<KeepId> {
        let Acquisition { topic_partition, ranges, .. } = acquisition;
        let id = self.machine.keep(self.now, acquisition.id(), *topic_partition, ranges, renew);
        self.drain();
        id
    }

    pub(super) fn commit(&mut self) -> CommitId {
        let id = self.machine.commit(self.now);
        self.drain();
        id
    }

    pub(super) fn close(&mut self) {
        self.machine.close(self.now);
        self.drain();
    }

    pub(super) fn disconnect(&mut self, node: i32) {
        self.machine.handle_disconnect(self.now, node);
        self.drain();
    }

    pub(super) fn respond(&mut self, sent: &Sent, response: ClientResponse) {
        self.machine.handle_response(self.now, sent.id, Ok(response));
        self.drain();
    }

    pub(super) fn fail(&mut self, sent: &Sent, failure: RequestFailure) {
        self.machine.handle_response(self.now, sent.id, Err(failure));
        self.drain();
    }

    /// Takes the oldest unanswered request to a node's session.
    pub(super) fn take_session(&mut self, node: i32) -> Sent {
        self.try_session(node).unwrap_or_else(|| panic!("nothing was sent to node {node}; {:?}", self.sent))
    }

    pub(super) fn try_session(&mut self, node: i32) -> Option<Sent> {
        let at = self.sent.iter().position(|sent| sent.node() == Some(node))?;
        self.sent.remove(at)
    }

    pub(super) fn take_heartbeat(&mut self) -> Sent {
        self.try_heartbeat().expect("a heartbeat")
    }

    pub(super) fn try_heartbeat(&mut self) -> Option<Sent> {
        let at = self.sent.iter().position(|sent| matches!(sent.request, ClientRequest::Heartbeat(_)))?;
        self.sent.remove(at)
    }

    /// Answers FindCoordinator and Metadata.
    pub(super) fn answer_group(&mut self) {
        while let Some(at) = self.sent.iter().position(|sent| sent.to == Destination::Any) {
            let Some(sent) = self.sent.remove(at) else { return };
            let response = match &sent.request {
                ClientRequest::FindCoordinator(_) => self.coordinator(COORDINATOR),
                ClientRequest::Metadata(request) => ClientResponse::Metadata(self.metadata(request)),
                request => panic!("{request:?} to any broker"),
            };
            self.respond(&sent, response);
        }
    }

    pub(super) fn coordinator(&self, node: i32) -> ClientResponse {
        let coordinator = Coordinator {
            key: "group".into(),
            node_id: node,
            host: "h".into(),
            port: 9000 + node,
            error_code: ErrorCode::NONE,
            error_message: None,
        };
        ClientResponse::FindCoordinator(FindCoordinatorResponse {
            coordinators: vec![coordinator],
            ..Default::default()
        })
    }

    /// Metadata of the one topic, asked by name or by id; others do not exist.
    pub(super) fn metadata(&self, request: &MetadataRequest) -> MetadataResponse {
        let brokers = (1..=3).map(|node| MetadataResponseBroker {
            node_id: node,
            host: "h".into(),
            port: 9000 + node,
            rack: Some(format!("r{node}")),
        });
        let topics = request.topics.iter().flatten().map(|asked| {
            let is_known = asked.name.as_deref() == Some("topic") || asked.topic_id == self.topic_id;
            if !is_known {
                let error_code = if asked.name.is_some() {
                    ErrorCode::UNKNOWN_TOPIC_OR_PARTITION
                } else {
                    ErrorCode::UNKNOWN_TOPIC_ID
                };
                let (name, topic_id) = (asked.name.clone(), asked.topic_id);
                return MetadataResponseTopic { error_code, name, topic_id, ..Default::default() };
            }
            let partitions = self.leaders.iter().enumerate().map(|(index, leader)| MetadataResponsePartition {
                partition_index: index as i32,
                leader_id: *leader,
                leader_epoch: self.leader_epoch,
                ..Default::default()
            });
            MetadataResponseTopic {
                name: Some("topic".into()),
                topic_id: self.topic_id,
                partitions: partitions.collect(),
                ..Default::default()
            }
        });
        MetadataResponse { brokers: brokers.collect(), topics: topics.collect(), ..Default::default() }
    }

    /// Answers the heartbeat that is out: member of this epoch, with all partitions.
    pub(super) fn join(&mut self, epoch: i32) {
        let partitions: Vec<i32> = (0..self.leaders.len() as i32).collect();
        let sent = self.take_heartbeat();
        self.respond(&sent, heartbeat(epoch, Some(&[(self.topic_id, &partitions)])));
    }

    /// Answers the fetch that is out to a node with records `first..=last` of a partition, all acquired.
    pub(super) fn deliver(&mut self, node: i32, index: i32, first: i64, last: i64) -> Sent {
        let sent = self.take_session(node);
        let data = PartitionData { acknowledge_error_code: ErrorCode::NONE, ..acquired(index, first, last) };
        self.respond(&sent, fetched(vec![data]));
        sent
    }

    pub(super) fn acquisitions(&self) -> Vec<Acquisition> {
        let acquired = self.events.iter().filter_map(|event| match event {
            Event::Acquired(acquisition) => Some(acquisition.clone()),
            _ => None,
        });
        acquired.collect()
    }

    /// Lets time pass at idle brokers: each fetch is held as long as it says and brings nothing, each acknowledgement
    /// goes well.
    pub(super) fn pass(&mut self, time: Duration) {
        let end = self.now + time;
        while self.now < end {
            self.sleep(ms(1));
            while let Some(at) = self.sent.iter().position(|sent| {
                let held = match &sent.request {
                    ClientRequest::ShareFetch(request) => ms(request.max_wait_ms as u64),
                    ClientRequest::ShareAcknowledge(_) => Duration::ZERO,
                    _ => return false,
                };
                sent.at + held <= self.now
            }) {
                let Some(sent) = self.sent.remove(at) else { return };
                self.answer_well(&sent);
            }
        }
    }

    /// Brings no record, and takes all acknowledgements.
    pub(super) fn answer_well(&mut self, sent: &Sent) {
        let partitions =
            (0..self.leaders.len() as i32).filter(|index| sent.acks().iter().any(|(acked, ..)| acked == index));
        let response = match sent.request {
            ClientRequest::ShareFetch(_) => fetched(
                partitions.map(|partition_index| PartitionData { partition_index, ..Default::default() }).collect(),
            ),
            _ => acked(&partitions.map(|index| (index, ErrorCode::NONE)).collect::<Vec<_>>()),
        };
        self.respond(sent, response);
    }

    /// How an acknowledgement ended. It must have, once.
    pub(super) fn result(&self, id: AckId) -> Result<(), ErrorCode> {
        let results = self.results(id);
        assert_eq!(results.len(), 1, "{id:?} ended {results:?}");
        results[0]
    }

    pub(super) fn results(&self, wanted: AckId) -> Vec<Result<(), ErrorCode>> {
        let results = self.events.iter().filter_map(|event| match event {
            Event::Acknowledged { id, result, .. } if *id == wanted => Some(*result),
            _ => None,
        });
        results.collect()
    }

    pub(super) fn committed(&self, wanted: CommitId) -> Option<Vec<CommitResult>> {
        self.events.iter().find_map(|event| match event {
            Event::Committed { id, results } if *id == wanted => Some(results.clone()),
            _ => None,
        })
    }

    /// Why something is not kept any more.
    pub(super) fn keep_end(&self, wanted: KeepId) -> Option<KeepEnd> {
        self.events.iter().find_map(|event| match event {
            Event::KeepEnded { id, end } if *id == wanted => Some(*end),
            _ => None,
        })
    }

    /// To when the locks of something kept were renewed.
    pub(super) fn renewals(&self, wanted: KeepId) -> Vec<Instant> {
        let renewals = self.events.iter().filter_map(|event| match event {
            Event::Renewed { id, lock_deadline } if *id == wanted => Some(*lock_deadline),
            _ => None,
        });
        renewals.collect()
    }

    pub(super) fn errors(&self) -> Vec<MachineError> {
        let errors = self.events.iter().filter_map(|event| match event {
            Event::Failed(error) => Some(error.clone()),
            _ => None,
        });
        errors.collect()
    }

    pub(super) fn lost_sessions(&self) -> Vec<(SessionId, ErrorCode)> {
        let lost = self.events.iter().filter_map(|event| match event {
            Event::SessionLost { session, error } => Some((*session, *error)),
            _ => None,
        });
        lost.collect()
    }

    pub(super) fn last_assignment(&self) -> Option<Vec<(Arc<str>, TopicIdPartition)>> {
        self.events.iter().rev().find_map(|event| match event {
            Event::Assigned(partitions) => Some(partitions.clone()),
            _ => None,
        })
    }
}
