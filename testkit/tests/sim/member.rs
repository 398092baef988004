//! One member: its machine, its connections and its caller.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use ackflow_protocol::machine::{ClientRequest, ClientResponse, Event, Output, ShareConsumerMachine, TopicIdPartition};
use ackflow_protocol::wire::ErrorCode;

use crate::app::{App, AppEvent};
use crate::driver::{Driver, DriverEvent, Told};
use crate::promises;
use crate::sim::{Sim, What};
use crate::storm::Storm;

/// Something that a member waits for.
#[derive(Debug)]
pub(crate) enum MemberEvent {
    /// The machine's deadline.
    Wake(u64),
    App(AppEvent),
    /// A new life begins, with the id of the one before or with another.
    Start {
        same_id: bool,
    },
    /// It subscribes to all topics again.
    Subscribe,
    /// Closing takes too long; with `strict` nothing went wrong that could account for it.
    GiveUp {
        strict: bool,
    },
}

#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) index: usize,
    /// Counts the lives.
    pub(crate) life: u32,
    pub(crate) id: String,
    is_id_reused: bool,
    /// `None` while it is down.
    pub(crate) machine: Option<ShareConsumerMachine>,
    pub(crate) app: App,
    pub(crate) closing: bool,
    driver: Driver,
    wakes: u64,
    wake_at: Option<Instant>,
    /// The highest leader epoch that it was told of, by partition.
    epochs: BTreeMap<TopicIdPartition, i32>,
    storm: Storm,
}

impl Member {
    pub(crate) fn new(index: usize) -> Self {
        Self {
            index,
            life: 0,
            id: String::new(),
            is_id_reused: false,
            machine: None,
            app: App::new(index, 0),
            closing: false,
            driver: Driver::new(index, 0),
            wakes: 0,
            wake_at: None,
            epochs: BTreeMap::new(),
            storm: Storm::default(),
        }
    }

    pub(crate) fn is_up(&self) -> bool {
        self.machine.is_some()
    }

    /// Whether it is up and means to stay.
    pub(crate) fn is_serving(&self) -> bool {
        self.is_up() && !self.closing
    }

    pub(crate) fn start(&mut self, sim: &mut Sim, same_id: bool) {
        if self.is_up() {
            return;
        }
        self.life += 1;
        self.is_id_reused = same_id && !self.id.is_empty();
        if !self.is_id_reused {
            self.id = format!("m{}-{}", self.index, self.life);
        }
        crate::trace!(sim, "m{} starts as {}", self.index, self.id);
        let seed = sim.random.number();
        let options = sim.plan.options(&self.id);
        self.machine = Some(ShareConsumerMachine::new(sim.now, seed, options));
        self.driver = Driver::new(self.index, self.life);
        self.app = App::new(self.index, self.life);
        self.closing = false;
        self.wake_at = None;
        self.epochs.clear();
        self.storm = Storm::default();
        let topics = sim.plan.topics.iter().map(|(name, _)| name.clone()).collect();
        self.with_machine(sim, |machine, now| machine.subscribe(now, topics));
        self.app.begin(sim);
    }

    /// Calls the machine, and does what it says then.
    pub(crate) fn with_machine(&mut self, sim: &mut Sim, call: impl FnOnce(&mut ShareConsumerMachine, Instant)) {
        if let Some(machine) = &mut self.machine {
            call(machine, sim.now);
            self.drain(sim);
        }
    }

    pub(crate) fn handle(&mut self, sim: &mut Sim, event: MemberEvent) {
        match event {
            MemberEvent::Wake(wake) if wake == self.wakes => {
                self.wake_at = None;
                self.drain(sim);
            }
            MemberEvent::Wake(_) => {}
            MemberEvent::App(event) => {
                if let (Some(machine), false) = (&mut self.machine, self.closing) {
                    self.app.handle(sim, machine, &self.id, event);
                    self.drain(sim);
                }
            }
            MemberEvent::Start { same_id } if self.closing => {
                // One after the other.
                let event = MemberEvent::Start { same_id };
                sim.after(Duration::from_millis(200), What::Member { member: self.index, life: self.life, event });
            }
            MemberEvent::Start { same_id } => self.start(sim, same_id),
            MemberEvent::Subscribe => {
                if self.is_serving() {
                    let topics = sim.plan.topics.iter().map(|(name, _)| name.clone()).collect();
                    self.with_machine(sim, |machine, now| machine.subscribe(now, topics));
                }
            }
            MemberEvent::GiveUp { strict } => {
                if self.closing {
                    sim.oracle.check(!strict, || format!("m{}: closing takes too long", self.index));
                    self.crash(sim, None);
                }
            }
        }
    }

    pub(crate) fn handle_driver(&mut self, sim: &mut Sim, event: DriverEvent) {
        if self.is_up() {
            let told = self.driver.handle(sim, event);
            self.tell(sim, told);
        }
    }

    pub(crate) fn answered(&mut self, sim: &mut Sim, connection: u64, frame: bytes::Bytes) {
        if self.is_up() {
            let told = self.driver.answered(sim, connection, frame);
            self.tell(sim, told);
        }
    }

    pub(crate) fn connection_ended(&mut self, sim: &mut Sim, connection: u64) {
        if self.is_up() {
            crate::trace!(sim, "m{} c{connection} has ended", self.index);
            let told = self.driver.ended(sim, connection);
            self.tell(sim, told);
        }
    }

    /// Tells the machine, and checks that what cannot be held any more is out of the caller's reach then.
    fn tell(&mut self, sim: &mut Sim, told: Vec<Told>) {
        let mut gone: Vec<Gone> = Vec::new();
        let Some(machine) = &mut self.machine else { return };
        for told in told {
            match told {
                Told::ShareVersion => machine.handle_share_version(sim.now, Some(1)),
                Told::Disconnected(node) => {
                    crate::trace!(sim, "m{} lost the session connection to node {node}", self.index);
                    gone.push(Gone::Session(node));
                    machine.handle_disconnect(sim.now, node);
                }
                Told::Failure(id, failure) => {
                    crate::trace!(sim, "m{} r{} {failure:?}", self.index, id.0);
                    machine.handle_response(sim.now, id, Err(failure));
                }
                Told::Response(id, session, response) => {
                    crate::trace!(sim, "m{} r{} {}", self.index, id.0, describe_response(&response));
                    gone.extend(lost_session(session, &response));
                    gone.extend(moved(&mut self.epochs, &response));
                    self.app.refused(refusals(&response));
                    machine.handle_response(sim.now, id, Ok(*response));
                }
            }
        }
        self.drain(sim);
        for gone in gone {
            let left = self.app.buffered(sim.now, |session, partition| gone.means(session, partition));
            sim.oracle
                .check(left == 0, || format!("m{}: {left} records can still be handed out: {gone:?}", self.index));
        }
    }

    /// Does what the machine says until it waits.
    fn drain(&mut self, sim: &mut Sim) {
        loop {
            let Some(machine) = &mut self.machine else { return };
            match machine.poll(sim.now) {
                Output::Send { id, to, request, .. } => {
                    crate::trace!(sim, "m{} r{} -> {to:?} {}", self.index, id.0, describe_request(&request));
                    let storm = self.storm.sent(sim.now, &request, sim.plan.nodes.into(), self.app.activity());
                    sim.oracle.check(storm.is_none(), || format!("m{}: {}", self.index, storm.unwrap_or_default()));
                    let wrong = promises::broken(&request);
                    sim.oracle.check(wrong.is_none(), || {
                        format!("m{}: {}: {request:?}", self.index, wrong.unwrap_or_default())
                    });
                    self.driver.send(sim, id, to, request);
                }
                Output::Event(Event::Closed) => return self.closed(sim),
                Output::Event(event) => {
                    if self.app.event(sim, machine, &self.id, event) {
                        crate::trace!(sim, "m{} has failed for good", self.index);
                        // What its earlier life had under way may pass for another process of that id.
                        sim.oracle.check(self.is_id_reused, || format!("m{} fails for good", self.index));
                        let event = MemberEvent::Start { same_id: false };
                        let again = What::Member { member: self.index, life: self.life, event };
                        sim.after(Duration::from_secs(1), again);
                        return self.crash(sim, Some(Duration::from_millis(500)));
                    }
                }
                Output::Wait(until) => return self.wait(sim, until),
            }
        }
    }

    fn wait(&mut self, sim: &mut Sim, until: Option<Instant>) {
        if let Some(until) = until {
            sim.oracle.check(until > sim.now, || format!("m{}: the machine waits for what is over", self.index));
        }
        if self.wake_at != until {
            self.wake_at = until;
            self.wakes += 1;
            if let Some(until) = until {
                let event = MemberEvent::Wake(self.wakes);
                sim.schedule(until, What::Member { member: self.index, life: self.life, event });
            }
        }
    }

    /// Leaves in order.
    pub(crate) fn close(&mut self, sim: &mut Sim, within: Duration, strict: bool) {
        if self.is_serving() {
            crate::trace!(sim, "m{} closes", self.index);
            self.closing = true;
            self.app.stop();
            sim.after(
                within,
                What::Member { member: self.index, life: self.life, event: MemberEvent::GiveUp { strict } },
            );
            self.with_machine(sim, |machine, now| machine.close(now));
        }
    }

    fn closed(&mut self, sim: &mut Sim) {
        crate::trace!(sim, "m{} is closed", self.index);
        self.app.ended(sim);
        self.machine = None;
        self.closing = false;
        for connection in self.driver.connections() {
            sim.close_by_member(connection);
        }
    }

    /// Ends at once. Nodes hear of it soon, or only after a while.
    pub(crate) fn crash(&mut self, sim: &mut Sim, noticed_after: Option<Duration>) {
        if self.is_up() {
            self.machine = None;
            self.closing = false;
            for connection in self.driver.connections() {
                match noticed_after {
                    Some(after) => sim.vanish(connection, after),
                    None => sim.close_by_member(connection),
                }
            }
        }
    }
}

/// What a member has been told that it cannot hold any more.
#[derive(Debug)]
enum Gone {
    /// The session with the node.
    Session(i32),
    /// The partition, anywhere but at its leader.
    Moved { partition: TopicIdPartition, leader: i32 },
}

impl Gone {
    fn means(&self, node: i32, partition: TopicIdPartition) -> bool {
        match self {
            Self::Session(gone) => *gone == node,
            Self::Moved { partition: moved, leader } => *moved == partition && *leader != node,
        }
    }
}

/// The session that a response ends.
fn lost_session(session: Option<i32>, response: &ClientResponse) -> Option<Gone> {
    let code = match response {
        ClientResponse::ShareFetch(response) => response.error_code,
        ClientResponse::ShareAcknowledge(response) => response.error_code,
        _ => ErrorCode::NONE,
    };
    let ends = [ErrorCode::SHARE_SESSION_NOT_FOUND];
    session.filter(|_| ends.contains(&code)).map(Gone::Session)
}

/// How many partitions a response refuses words about for one offset or more.
fn refusals(response: &ClientResponse) -> u64 {
    let is_refusal = |code: &ErrorCode| *code == ErrorCode::INVALID_RECORD_STATE;
    let count = match response {
        ClientResponse::ShareFetch(response) => {
            let partitions = response.responses.iter().flat_map(|topic| &topic.partitions);
            partitions.map(|partition| partition.acknowledge_error_code).filter(is_refusal).count()
        }
        ClientResponse::ShareAcknowledge(response) => {
            let partitions = response.responses.iter().flat_map(|topic| &topic.partitions);
            partitions.map(|partition| partition.error_code).filter(is_refusal).count()
        }
        _ => 0,
    };
    count as u64
}

/// The partitions whose leaders a response says to have moved.
fn moved(epochs: &mut BTreeMap<TopicIdPartition, i32>, response: &ClientResponse) -> Vec<Gone> {
    let mut moved = Vec::new();
    match response {
        ClientResponse::Metadata(response) => {
            for topic in &response.topics {
                for said in &topic.partitions {
                    let partition = TopicIdPartition { topic_id: topic.topic_id, partition: said.partition_index };
                    let known = epochs.entry(partition).or_insert(-1);
                    if said.leader_epoch > *known {
                        *known = said.leader_epoch;
                        moved
                            .extend((said.leader_id >= 0).then_some(Gone::Moved { partition, leader: said.leader_id }));
                    }
                }
            }
        }
        ClientResponse::ShareFetch(response) => {
            for topic in &response.responses {
                for said in &topic.partitions {
                    let partition = TopicIdPartition { topic_id: topic.topic_id, partition: said.partition_index };
                    let known = epochs.entry(partition).or_insert(-1);
                    *known = said.current_leader.leader_epoch.max(*known);
                }
            }
        }
        _ => {}
    }
    moved
}

fn describe_request(request: &ClientRequest) -> String {
    match request {
        ClientRequest::Metadata(request) => format!("Metadata of {:?}", request.topics.as_ref().map(Vec::len)),
        ClientRequest::FindCoordinator(_) => "FindCoordinator".to_owned(),
        ClientRequest::Heartbeat(request) => {
            format!("Heartbeat {} {:?}", request.member_epoch, request.subscribed_topic_names)
        }
        ClientRequest::ShareFetch(request) => {
            let partitions = request.topics.iter().flat_map(|topic| &topic.partitions);
            let listed: Vec<String> = partitions
                .map(|partition| {
                    let acks = partition.acknowledgement_batches.iter().map(|batch| {
                        format!("{}-{}{:?}", batch.first_offset, batch.last_offset, batch.acknowledge_types)
                    });
                    format!("{}({})", partition.partition_index, acks.collect::<Vec<_>>().join(" "))
                })
                .collect();
            let forgets: usize = request.forgotten_topics_data.iter().map(|topic| topic.partitions.len()).sum();
            format!(
                "ShareFetch e{} for {} within {} ms, mode {}, {listed:?}, forgets {forgets}",
                request.share_session_epoch, request.max_records, request.max_wait_ms, request.share_acquire_mode
            )
        }
        ClientRequest::ShareAcknowledge(request) => {
            let partitions = request.topics.iter().flat_map(|topic| &topic.partitions);
            let listed: Vec<String> = partitions
                .map(|partition| {
                    let acks = partition.acknowledgement_batches.iter().map(|batch| {
                        format!("{}-{}{:?}", batch.first_offset, batch.last_offset, batch.acknowledge_types)
                    });
                    format!("{}({})", partition.partition_index, acks.collect::<Vec<_>>().join(" "))
                })
                .collect();
            format!("ShareAcknowledge e{} {listed:?}", request.share_session_epoch)
        }
    }
}

fn describe_response(response: &ClientResponse) -> String {
    match response {
        ClientResponse::Metadata(response) => {
            let leaders: Vec<String> = response
                .topics
                .iter()
                .map(|topic| {
                    let leaders: Vec<(i32, i32)> = topic
                        .partitions
                        .iter()
                        .map(|partition| (partition.leader_id, partition.leader_epoch))
                        .collect();
                    format!("{:?} {:?} {leaders:?}", topic.name, topic.error_code)
                })
                .collect();
            format!("Metadata {:?} {}", response.error_code, leaders.join(", "))
        }
        ClientResponse::FindCoordinator(response) => {
            let found = response.coordinators.first().map(|found| (found.node_id, found.error_code));
            format!("FindCoordinator {found:?}")
        }
        ClientResponse::Heartbeat(response) => {
            let assigned = response.assignment.as_ref().map(|assignment| {
                assignment.topic_partitions.iter().map(|topic| topic.partitions.len()).sum::<usize>()
            });
            format!("Heartbeat {:?} epoch {} assigned {assigned:?}", response.error_code, response.member_epoch)
        }
        ClientResponse::ShareFetch(response) => {
            let partitions = response.responses.iter().flat_map(|topic| &topic.partitions);
            let told: Vec<String> = partitions
                .map(|partition| {
                    let ranges: Vec<String> = partition
                        .acquired_records
                        .iter()
                        .map(|range| format!("{}-{}x{}", range.first_offset, range.last_offset, range.delivery_count))
                        .collect();
                    format!(
                        "{}{ranges:?} {:?} {:?} leader {}/{}",
                        partition.partition_index,
                        partition.error_code,
                        partition.acknowledge_error_code,
                        partition.current_leader.leader_id,
                        partition.current_leader.leader_epoch
                    )
                })
                .collect();
            format!("ShareFetch {:?} {}", response.error_code, told.join(", "))
        }
        ClientResponse::ShareAcknowledge(response) => {
            let partitions = response.responses.iter().flat_map(|topic| &topic.partitions);
            let told: Vec<String> = partitions
                .map(|partition| format!("{} {:?}", partition.partition_index, partition.error_code))
                .collect();
            format!("ShareAcknowledge {:?} {}", response.error_code, told.join(", "))
        }
    }
}
