//! What to do next: timers, the parts of the machine in turn, which partitions each node fetches, the nodes' requests.

use std::{
    collections::{BTreeMap, BTreeSet, btree_map::Entry},
    time::{Duration, Instant},
};

use super::{
    Phase, ShareConsumerMachine,
    demand::Ask,
    node::{BUSY_WAIT, FEATURES_SINCE, InFlight, Kind, Node, Step},
    options::AcquireMode,
    wire,
};
use crate::{
    machine::{
        ack_ledger::AckLedger,
        error::{Feature, MachineError, MachineErrorKind},
        membership::MembershipEvent,
        metadata::{MetadataEvent, Urgency},
        types::{self, ClientRequest, Destination, Event, Output, RequestId, TopicIdPartition, earlier},
    },
    wire::{ErrorCode, Uuid},
};

impl ShareConsumerMachine {
    /// Does everything that can be done now. Returns when there is more to do, if nothing comes in before.
    pub(super) fn advance(&mut self, now: Instant) -> Option<Instant> {
        let mut wait = self.check_poll_interval(now);
        wait = earlier(wait, self.check_pauses(now));
        self.advance_group(now);
        self.advance_metadata(now);
        if self.reassign {
            self.reassign(now);
        }
        // First, since a session that has ended may be opened again.
        self.advance_close();
        wait = earlier(wait, self.advance_nodes(now));
        // The last steps may have begun to leave, or asked for metadata.
        wait = earlier(wait, self.advance_group(now));
        earlier(wait, self.advance_metadata(now))
    }

    /// The member leaves when the application does not poll. Returns when.
    fn check_poll_interval(&mut self, now: Instant) -> Option<Instant> {
        if self.phase != Phase::Active || !self.membership.is_member() {
            return None;
        }
        let deadline = self.last_polled? + self.options.max_poll_interval;
        if now < deadline {
            return Some(deadline);
        }
        self.phase = Phase::Away;
        self.end_sessions();
        self.membership.leave();
        self.fail_with(MachineError::passing(MachineErrorKind::PollInterval {
            interval: self.options.max_poll_interval,
        }));
        None
    }

    /// Returns when the next paused partition is to be tried again.
    fn check_pauses(&mut self, now: Instant) -> Option<Instant> {
        for pause in self.paused.values_mut() {
            if pause.until.take_if(|until| *until <= now).is_some() {
                self.reassign = true;
            }
        }
        self.paused.values().filter_map(|pause| pause.until).min()
    }

    fn is_paused(&self, partition: TopicIdPartition, leader: i32) -> bool {
        self.paused.get(&partition).is_some_and(|pause| pause.until.is_some() && pause.node == leader)
    }

    fn advance_group(&mut self, now: Instant) -> Option<Instant> {
        loop {
            let known = self.coordinator.address().is_some();
            match self.membership.poll(now, known) {
                types::Step::Event(event) => self.take_membership_event(now, event),
                types::Step::Send(request) => {
                    if let Some(address) = self.coordinator.address().cloned() {
                        let to = Destination::Coordinator(address);
                        self.pending.heartbeat = Some(self.ask_of(to, ClientRequest::Heartbeat(request)));
                    }
                }
                types::Step::Wait(heartbeat) => {
                    if !self.membership.needs_coordinator() {
                        return heartbeat;
                    }
                    match self.coordinator.poll(now) {
                        types::Step::Event(error) => {
                            self.membership.give_up();
                            self.fail_with(error);
                        }
                        types::Step::Send(request) => {
                            let request = ClientRequest::FindCoordinator(request);
                            self.pending.coordinator = Some(self.ask_of(Destination::Any, request));
                        }
                        types::Step::Wait(coordinator) => return earlier(heartbeat, coordinator),
                    }
                }
            }
        }
    }

    fn take_membership_event(&mut self, now: Instant, event: MembershipEvent) {
        match event {
            MembershipEvent::Assigned => {
                self.metadata.want_partitions(now, self.membership.assignment().clone());
                self.reassign = true;
            }
            MembershipEvent::CoordinatorLost => self.coordinator.lost(now),
            MembershipEvent::CoordinatorConfirmed => self.coordinator.confirmed(),
            MembershipEvent::Left => {}
            MembershipEvent::Failed(error) => self.fail_with(error),
        }
    }

    fn advance_metadata(&mut self, now: Instant) -> Option<Instant> {
        loop {
            match self.metadata.poll(now) {
                types::Step::Event(MetadataEvent::Changed) => self.reassign = true,
                types::Step::Event(MetadataEvent::Gone(topic)) => self.lose_topic(topic),
                types::Step::Event(MetadataEvent::Matched(topics)) => self.matched(&topics),
                types::Step::Event(MetadataEvent::Failed(error)) => self.fail_with(error),
                types::Step::Send(request) => {
                    self.pending.metadata = Some(self.ask_of(Destination::Any, ClientRequest::Metadata(request)));
                }
                types::Step::Wait(wait) => return wait,
            }
        }
    }

    fn lose_topic(&mut self, topic: Uuid) {
        let lost: Vec<(i32, TopicIdPartition)> = self
            .nodes
            .iter()
            .flat_map(|(id, node)| node.ledger.partitions().map(|partition| (*id, partition)))
            .filter(|(_, partition)| partition.topic_id == topic)
            .collect();
        for (node, partition) in lost {
            self.lose_partition(node, partition, ErrorCode::UNKNOWN_TOPIC_ID);
        }
        self.reassign = true;
    }

    pub(super) fn lose_partition(&mut self, id: i32, topic_partition: TopicIdPartition, error: ErrorCode) {
        if let Some(node) = self.nodes.get_mut(&id) {
            node.ledger.fail_partition(topic_partition, error);
            let session = node.session.id();
            self.outputs.push_back(Output::Event(Event::PartitionLost { session, topic_partition, error }));
            self.report_outcomes(id);
        }
    }

    /// Gives each assigned partition to the node that leads it.
    fn reassign(&mut self, now: Instant) {
        self.reassign = false;
        let assignment = self.membership.assignment();
        self.paused.retain(|partition, _| assignment.contains(partition));
        let mut wanted: BTreeMap<i32, BTreeSet<TopicIdPartition>> = BTreeMap::new();
        let mut suspects: BTreeMap<i32, TopicIdPartition> = BTreeMap::new();
        let mut names = Vec::new();
        let mut unreachable = false;
        for partition in assignment {
            names.extend(self.metadata.topic_name(partition.topic_id).map(|name| (name.clone(), *partition)));
            let Some(leader) = self.metadata.leader(*partition) else { continue };
            if self.metadata.address(leader).is_none() {
                unreachable = true;
            } else if !self.is_paused(*partition, leader) {
                wanted.entry(leader).or_default().insert(*partition);
                if self.is_suspect(*partition, leader) {
                    suspects.entry(leader).or_insert(*partition);
                }
            }
        }
        let assignment_len = assignment.len();
        if unreachable {
            self.metadata.refresh(now, Urgency::Now);
        }
        for address in wanted.keys().filter_map(|leader| self.metadata.address(*leader)) {
            match self.nodes.entry(address.node) {
                Entry::Vacant(entry) => _ = entry.insert(Node::new(address.clone(), &self.options, self.seed)),
                Entry::Occupied(mut entry) if entry.get().is_done() => entry.get_mut().address.clone_from(address),
                Entry::Occupied(_) => {}
            }
        }
        for (id, node) in &mut self.nodes {
            node.suspect = suspects.remove(id);
            let wanted = wanted.remove(id).unwrap_or_default();
            node.session.want(node.suspect.map_or(wanted, |suspect| [suspect].into()));
        }
        self.lose_moved_partitions();
        names.sort();
        if names.len() == assignment_len && names != self.assigned {
            self.assigned.clone_from(&names);
            self.outputs.push_back(Output::Event(Event::Assigned(names)));
        }
    }

    /// What a broker acquired is gone with its leadership.
    fn lose_moved_partitions(&mut self) {
        let mut moved = Vec::new();
        for (id, node) in &self.nodes {
            let elsewhere =
                |partition: &TopicIdPartition| self.metadata.leader(*partition).is_some_and(|leader| leader != *id);
            moved.extend(node.ledger.partitions().filter(elsewhere).map(|partition| (*id, partition)));
        }
        for (node, partition) in moved {
            self.lose_partition(node, partition, ErrorCode::NOT_LEADER_OR_FOLLOWER);
        }
    }

    fn advance_nodes(&mut self, now: Instant) -> Option<Instant> {
        let mut wait = None;
        let ask = self.ask(now);
        let lock_timeout = self.lock_timeout.unwrap_or(super::DEFAULT_LOCK);
        let one_at_a_time = self.options.acquire_mode == AcquireMode::RecordLimit;
        for id in self.turns(now) {
            let is_taken = one_at_a_time && self.nodes.values().any(Node::is_asking);
            let ask = ask.filter(|_| !is_taken);
            let last_taken = self.demand.last_taken();
            let Some(node) = self.nodes.get_mut(&id) else { continue };
            if node.takes_a_look(now) {
                self.metadata.refresh(now, Urgency::Now);
            }
            if !node.session.wanted().is_empty() {
                wait = earlier(wait, node.look_for_leader);
            }
            node.ledger.expire(now);
            if !node.ending {
                node.ledger.renew(now, lock_timeout);
            }
            match node.next(now, ask, last_taken) {
                Step::Wait(until) => wait = earlier(wait, until),
                step => self.send(now, id, step),
            }
            self.report_outcomes(id);
        }
        wait
    }

    /// The nodes in the order in which they get their turn: where one broker is asked for records at a time, the one
    /// after the last, and those that had nothing a moment ago at the end.
    fn turns(&self, now: Instant) -> Vec<i32> {
        let mut turns: Vec<i32> = self.nodes.keys().copied().collect();
        if self.options.acquire_mode == AcquireMode::RecordLimit {
            let next = self.last_asked.map_or(0, |last| turns.partition_point(|id| *id <= last));
            turns.rotate_left(next);
            turns.sort_by_key(|id| self.nodes[id].is_dry(now));
        }
        turns
    }

    /// What the caller wants of each node.
    fn ask(&self, now: Instant) -> Option<Ask> {
        if self.phase != Phase::Active {
            return None;
        }
        let undecided = self.nodes.values().map(|node| node.ledger.held_records()).sum();
        let lock_timeout = self.lock_timeout.unwrap_or(super::DEFAULT_LOCK);
        self.demand.ask(now, &self.options, lock_timeout, self.leaders(), undecided)
    }

    /// How many nodes have partitions to fetch.
    fn leaders(&self) -> usize {
        self.nodes.values().filter(|node| !node.session.wanted().is_empty()).count()
    }

    /// How long a broker may hold a fetch for records.
    fn max_wait(&self, now: Instant, node_id: i32) -> Duration {
        let is_busy = |node: &Node| !node.ledger.is_empty();
        if self.nodes.get(&node_id).is_some_and(|node| node.suspect.is_some()) {
            // Others wait for their turn.
            return Duration::ZERO;
        }
        let (idle_wait, is_busy) = match self.options.acquire_mode {
            AcquireMode::BatchOptimized => (self.options.fetch_max_wait, self.nodes.get(&node_id).is_some_and(is_busy)),
            // Brokers are asked one after the other, and records may be at any of them: one that has none must not keep
            // the caller from those of another. So each is first asked what it has right now.
            AcquireMode::RecordLimit => {
                let leaders = self.leaders().max(1) as u32;
                if leaders > 1 && self.nodes.get(&node_id).is_some_and(|node| !node.is_dry(now)) {
                    return Duration::ZERO;
                }
                (self.options.fetch_max_wait / leaders, self.nodes.values().any(is_busy))
            }
        };
        if is_busy { idle_wait.min(BUSY_WAIT) } else { idle_wait }
    }

    fn send(&mut self, now: Instant, node_id: i32, step: Step) {
        let id = self.request_id();
        let max_wait = self.max_wait(now, node_id);
        let Some(node) = self.nodes.get_mut(&node_id) else { return };
        let (kind, request, max_wait, opening) = match step {
            Step::Wait(_) => return,
            Step::Fetch(ask) => {
                // No more than one record is to pay for it.
                let careful = |ask: Ask| if node.suspect.is_some() { ask.least() } else { ask };
                let ask = ask.map(careful);
                let acks = if node.session.is_open() { node.ledger.take(now) } else { Vec::new() };
                let max_wait = ask.map_or(Duration::ZERO, |_| max_wait);
                let Some(step) = node.session.begin_fetch() else { return };
                let opening = step.epoch == 0;
                if opening {
                    node.ledger = AckLedger::default();
                }
                let partitions = node.session.wanted().len();
                let sized = ask.map(|ask| (ask, self.demand.bytes(&self.options, ask, partitions)));
                let request = wire::share_fetch(&self.options, step, acks, sized, max_wait);
                let asked = ask.map_or(0, |ask| ask.max_records.unsigned_abs());
                (Kind::Fetch { asked }, ClientRequest::ShareFetch(request), max_wait, opening)
            }
            Step::Acknowledge | Step::End => {
                let is_end = step == Step::End;
                let epoch = if is_end { node.session.begin_close() } else { node.session.begin_acknowledge() };
                let Some(epoch) = epoch else { return };
                let acks = match is_end {
                    true => node.ledger.take_last(now, ErrorCode::SHARE_SESSION_NOT_FOUND),
                    false => node.ledger.take(now),
                };
                if acks.is_empty() && !is_end {
                    return;
                }
                let request = wire::share_acknowledge(&self.options, epoch, acks);
                let kind = if is_end { Kind::End } else { Kind::Acknowledge };
                (kind, ClientRequest::ShareAcknowledge(request), Duration::ZERO, false)
            }
        };
        node.flush = false;
        let feature = match (&request, kind) {
            (ClientRequest::ShareAcknowledge(request), _) if request.is_renew_ack => Some(Feature::Renewal),
            (_, Kind::Fetch { asked: 1.. }) if self.options.acquire_mode == AcquireMode::RecordLimit => {
                Some(Feature::RecordLimit)
            }
            _ => None,
        };
        let least_version = feature.map_or(0, |_| FEATURES_SINCE);
        node.in_flight = Some(InFlight { id, kind, written: now, max_wait, opening, feature });
        if node.is_asking() {
            self.last_asked = Some(node_id);
        }
        let to = Destination::Session(node.address.clone());
        self.outputs.push_back(Output::Send { id, to, request, least_version });
    }

    /// Sends a request of which any version will do.
    fn ask_of(&mut self, to: Destination, request: ClientRequest) -> RequestId {
        let id = self.request_id();
        self.outputs.push_back(Output::Send { id, to, request, least_version: 0 });
        id
    }

    /// Sessions end first, then the member leaves, then all is closed.
    fn advance_close(&mut self) {
        for node in self.nodes.values_mut().filter(|node| node.ending && node.is_done()) {
            node.ending = false;
        }
        if self.phase != Phase::Closing || self.nodes.values().any(|node| node.ending) {
            return;
        }
        if self.membership.is_member() {
            self.membership.leave();
        }
        if !self.membership.needs_coordinator() {
            self.phase = Phase::Closed;
            self.outputs.push_back(Output::Event(Event::Closed));
        }
    }
}
