//! What goes wrong.

use std::time::Duration;

use ackflow_protocol::machine::TopicIdPartition;
use ackflow_protocol::wire::{ApiKey, ErrorCode};
use ackflow_testkit::core::{FaultAction, FaultRule, ShareRecordState};

use crate::app::AppEvent;
use crate::driver::Role;
use crate::member::MemberEvent;
use crate::plan::GROUP;
use crate::sim::{Sim, What};
use crate::world::World;

/// A kind of things that go wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Cut,
    CutSession,
    Stall,
    MoveLeader,
    KillNode,
    MoveCoordinator,
    Crash,
    Vanish,
    CloseAndStart,
    Slow,
    Pause,
    ExpireLocks,
    RefuseRequest,
    RefusePartitions,
    RefuseAcknowledgements,
    LoseAnswer,
    Throttle,
    DelayAnswer,
    RecreateTopic,
    AddPartition,
    Resubscribe,
}

impl Kind {
    pub(crate) const ALL: [Self; 21] = [
        Self::Cut,
        Self::CutSession,
        Self::Stall,
        Self::MoveLeader,
        Self::KillNode,
        Self::MoveCoordinator,
        Self::Crash,
        Self::Vanish,
        Self::CloseAndStart,
        Self::Slow,
        Self::Pause,
        Self::ExpireLocks,
        Self::RefuseRequest,
        Self::RefusePartitions,
        Self::RefuseAcknowledgements,
        Self::LoseAnswer,
        Self::Throttle,
        Self::DelayAnswer,
        Self::RecreateTopic,
        Self::AddPartition,
        Self::Resubscribe,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Cut => "connection cut",
            Self::CutSession => "session connection cut",
            Self::Stall => "links to a node stalled",
            Self::MoveLeader => "leader moved",
            Self::KillNode => "node killed",
            Self::MoveCoordinator => "coordinator moved",
            Self::Crash => "member crashed",
            Self::Vanish => "member vanished unnoticed",
            Self::CloseAndStart => "member closed",
            Self::Slow => "slow caller",
            Self::Pause => "paused caller",
            Self::ExpireLocks => "locks ended",
            Self::RefuseRequest => "request refused",
            Self::RefusePartitions => "partitions refused",
            Self::RefuseAcknowledgements => "acknowledgements refused",
            Self::LoseAnswer => "answer lost",
            Self::Throttle => "client throttled",
            Self::DelayAnswer => "answer delayed",
            Self::RecreateTopic => "topic re-created",
            Self::AddPartition => "partition added",
            Self::Resubscribe => "subscription changed",
        }
    }
}

/// A step of what goes wrong.
#[derive(Debug)]
pub(crate) enum Chaos {
    /// The next thing.
    Next,
    StartNode(i32),
    CreateTopic(usize),
    /// Nothing goes wrong any more.
    Over,
}

/// Errors that a broker may give to a whole request, of each API that a member uses. INVALID_SHARE_SESSION_EPOCH, of a session in which nothing
/// has failed, is no error of a broker: it tells that another process has the session.
const REFUSALS: [(ApiKey, &[ErrorCode]); 5] = [
    (ApiKey::METADATA, &[ErrorCode::REBOOTSTRAP_REQUIRED, ErrorCode::UNKNOWN_SERVER_ERROR]),
    (ApiKey::FIND_COORDINATOR, &[ErrorCode::COORDINATOR_NOT_AVAILABLE, ErrorCode::COORDINATOR_LOAD_IN_PROGRESS]),
    (
        ApiKey::SHARE_GROUP_HEARTBEAT,
        &[
            ErrorCode::COORDINATOR_LOAD_IN_PROGRESS,
            ErrorCode::COORDINATOR_NOT_AVAILABLE,
            ErrorCode::NOT_COORDINATOR,
            ErrorCode::UNKNOWN_MEMBER_ID,
            ErrorCode::FENCED_MEMBER_EPOCH,
        ],
    ),
    (
        ApiKey::SHARE_FETCH,
        &[
            ErrorCode::SHARE_SESSION_NOT_FOUND,
            ErrorCode::SHARE_SESSION_LIMIT_REACHED,
            ErrorCode::UNKNOWN_SERVER_ERROR,
            ErrorCode::UNKNOWN_TOPIC_ID,
        ],
    ),
    (ApiKey::SHARE_ACKNOWLEDGE, &[ErrorCode::SHARE_SESSION_NOT_FOUND, ErrorCode::UNKNOWN_SERVER_ERROR]),
];

/// Errors that a partition may have.
const PARTITION_ERRORS: [ErrorCode; 5] = [
    ErrorCode::NOT_LEADER_OR_FOLLOWER,
    ErrorCode::FENCED_LEADER_EPOCH,
    ErrorCode::UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode::KAFKA_STORAGE_ERROR,
    ErrorCode::UNKNOWN_SERVER_ERROR,
];

/// Errors that acknowledgements may have.
const ACKNOWLEDGE_ERRORS: [ErrorCode; 5] = [
    ErrorCode::INVALID_RECORD_STATE,
    ErrorCode::COORDINATOR_NOT_AVAILABLE,
    ErrorCode::COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode::FENCED_STATE_EPOCH,
    ErrorCode::UNKNOWN_SERVER_ERROR,
];

const SHARE_APIS: [ApiKey; 2] = [ApiKey::SHARE_FETCH, ApiKey::SHARE_ACKNOWLEDGE];

impl World {
    pub(crate) fn chaos(&mut self, step: Chaos) {
        match step {
            Chaos::Next => {
                if self.sim.passed() < self.sim.plan.active {
                    let kind = self.sim.random.pick(&self.sim.plan.chaos.clone());
                    if self.go_wrong(kind) {
                        self.sim.counts.fault(kind.name());
                    }
                    let gap = self.sim.plan.gap.as_micros() as u64;
                    let gap = self.sim.random.micros(gap / 10, 2 * gap);
                    self.sim.after(gap, What::Chaos(Chaos::Next));
                }
            }
            Chaos::StartNode(node) => self.start_node(node),
            Chaos::CreateTopic(topic) => self.create_topic(topic),
            Chaos::Over => self.over(),
        }
    }

    fn start_node(&mut self, node: i32) {
        crate::trace!(self.sim, "node {node} starts");
        self.sim.cluster.start_node(self.sim.now, node).expect("it is a node");
        if self.sim.random.percent(50) {
            self.sim.cluster.elect_preferred_leaders(self.sim.now);
        }
    }

    fn create_topic(&mut self, topic: usize) {
        let (name, partitions) = self.sim.plan.topics[topic].clone();
        // A topic of fewer or more partitions than before.
        let partitions = (partitions + self.sim.random.below(3) as i32 - 1).max(1);
        if let Ok(id) = self.sim.cluster.create_topic(&name, partitions) {
            crate::trace!(self.sim, "topic {name} is there with {partitions} partitions: {id}");
            self.sim.oracle.topic(id, &name);
        }
    }

    /// Lets one thing go wrong. Returns whether anything did.
    fn go_wrong(&mut self, kind: Kind) -> bool {
        crate::trace!(self.sim, "-- {}", kind.name());
        match kind {
            Kind::Cut => self.cut(|_| true),
            Kind::CutSession => self.cut(|role| matches!(role, Role::Session(_))),
            Kind::Crash => self.with_member(|sim, member| {
                member.crash(sim, None);
                restart(sim, member.index, member.life)
            }),
            Kind::Vanish => self.with_member(|sim, member| {
                let noticed = sim.random.millis(100, 20_000);
                member.crash(sim, Some(noticed));
                restart(sim, member.index, member.life)
            }),
            Kind::CloseAndStart => self.with_member(|sim, member| {
                member.close(sim, Duration::from_secs(10), false);
                restart(sim, member.index, member.life)
            }),
            Kind::Slow => self.with_member(|sim, member| {
                let most = (2 * sim.plan.lock.as_millis() as u64).min(8_000);
                member.app.slow = Some(sim.random.millis(most / 4, most));
            }),
            Kind::Pause => self.with_member(|sim, member| {
                member.with_machine(sim, |machine, now| machine.want_records(now, false));
                let delay = sim.random.millis(10, 3_000);
                let event = MemberEvent::App(AppEvent::Resume);
                sim.after(delay, What::Member { member: member.index, life: member.life, event });
            }),
            Kind::Resubscribe => self.with_member(|sim, member| {
                let all: Vec<String> = sim.plan.topics.iter().map(|(name, _)| name.clone()).collect();
                let some = if sim.random.percent(50) { Vec::new() } else { vec![all[0].clone()] };
                member.with_machine(sim, |machine, now| machine.subscribe(now, some));
                let delay = sim.random.pick(&[0, 1, 300, 2_000]);
                let event = MemberEvent::Subscribe;
                sim.after(
                    Duration::from_millis(delay),
                    What::Member { member: member.index, life: member.life, event },
                );
            }),
            kind => self.sim.go_wrong(kind),
        }
    }

    fn cut(&mut self, of: impl Fn(Role) -> bool) -> bool {
        let open = self.sim.net.links.iter().filter(|(_, link)| !link.cut && of(link.role));
        let open: Vec<u64> = open.map(|(id, _)| *id).collect();
        let Some(connection) = self.sim.random.pick_any(open) else { return false };
        crate::trace!(self.sim, "c{connection} is cut");
        self.sim.cut(connection);
        true
    }

    fn with_member(&mut self, act: impl FnOnce(&mut Sim, &mut crate::member::Member)) -> bool {
        let up: Vec<usize> =
            self.members.iter().filter(|member| member.is_serving()).map(|member| member.index).collect();
        let Some(index) = self.sim.random.pick_any(up) else { return false };
        crate::trace!(self.sim, "m{index} is picked");
        act(&mut self.sim, &mut self.members[index]);
        true
    }
}

fn restart(sim: &mut Sim, member: usize, life: u32) {
    let (delay, same_id) = (sim.random.millis(10, 3_000), sim.random.percent(50));
    sim.after(delay, What::Member { member, life, event: MemberEvent::Start { same_id } });
}

impl Sim {
    /// What goes wrong at the cluster.
    fn go_wrong(&mut self, kind: Kind) -> bool {
        let now = self.now;
        let running: Vec<i32> =
            self.cluster.node_ids().into_iter().filter(|node| self.cluster.is_running(*node)).collect();
        let node = self.random.pick(&running);
        match kind {
            Kind::Stall => {
                let until = now + self.random.millis(20, 2 * self.plan.request_timeout.as_millis().min(4_000) as u64);
                self.net.stalled.insert(node, until);
                true
            }
            Kind::MoveLeader => {
                let Some((topic, partition)) = self.busy_partition() else { return false };
                crate::trace!(self, "{topic}/{partition} goes to node {node}");
                self.cluster.move_leader(now, &topic, partition, node).is_ok()
            }
            Kind::KillNode if running.len() < 2 => false,
            Kind::KillNode => {
                let noticed_after = self.random.millis(0, 3_000);
                crate::trace!(self, "node {node} is killed");
                self.cluster.kill_node(now, node, noticed_after).expect("it is a node");
                let delay = self.random.millis(100, 5_000);
                self.after(delay, What::Chaos(Chaos::StartNode(node)));
                true
            }
            Kind::MoveCoordinator => self.cluster.move_coordinator(now, GROUP, node).is_ok(),
            Kind::ExpireLocks => {
                self.oracle.forcing = true;
                self.cluster.expire_group_locks(now, GROUP);
                self.pump_cluster();
                self.oracle.forcing = false;
                true
            }
            Kind::RecreateTopic => {
                let topic = self.random.below(self.plan.topics.len() as u64) as usize;
                let name = self.plan.topics[topic].0.clone();
                let Some(id) = self.cluster.topic_id(&name) else { return false };
                self.cluster.delete_topic(now, &name).expect("it is there");
                self.oracle.deleted(id);
                let delay = self.random.pick(&[0, 100, 1_500]);
                self.after(Duration::from_millis(delay), What::Chaos(Chaos::CreateTopic(topic)));
                true
            }
            Kind::AddPartition => {
                let topic = self.random.below(self.plan.topics.len() as u64) as usize;
                let name = self.plan.topics[topic].0.clone();
                let count = self.partitions_of(&name);
                count > 0 && count < 8 && self.cluster.create_partitions(&name, count + 1).is_ok()
            }
            kind => {
                let Some(rule) = self.rule(kind) else { return false };
                let times = self.random.between(1, 3) as u32;
                let rule = if self.random.percent(50) { rule.node(node) } else { rule };
                crate::trace!(self, "{rule:?}");
                self.cluster.add_fault(rule.times(times));
                true
            }
        }
    }

    fn rule(&mut self, kind: Kind) -> Option<FaultRule> {
        let share_api = self.random.pick(&SHARE_APIS);
        let delay = self.random.millis(10, 2_000);
        Some(match kind {
            Kind::RefuseRequest => {
                let (api, codes) = self.random.pick(&REFUSALS);
                FaultRule::new(FaultAction::Refuse(self.random.pick(codes))).api(api)
            }
            Kind::RefusePartitions => {
                let code = self.random.pick(&PARTITION_ERRORS);
                FaultRule::new(FaultAction::RefusePartitions(code)).api(share_api)
            }
            Kind::RefuseAcknowledgements => {
                let code = self.random.pick(&ACKNOWLEDGE_ERRORS);
                FaultRule::new(FaultAction::RefuseAcknowledgements(code)).api(share_api)
            }
            Kind::LoseAnswer => {
                let actions =
                    [FaultAction::CutBefore, FaultAction::CutAfter, FaultAction::CutHalfway, FaultAction::Ignore];
                let api = self.random.pick(&REFUSALS).0;
                FaultRule::new(self.random.pick(&actions)).api(api)
            }
            Kind::Throttle => FaultRule::new(FaultAction::Throttle(delay)).api(self.random.pick(&REFUSALS).0),
            Kind::DelayAnswer => {
                let action = self.random.pick(&[FaultAction::DelayAnswer(delay), FaultAction::DelayRequest(delay)]);
                FaultRule::new(action).api(self.random.pick(&REFUSALS).0)
            }
            _ => return None,
        })
    }

    pub(crate) fn partitions_of(&self, topic: &str) -> i32 {
        (0..).find(|partition| self.cluster.leader(topic, *partition).is_err()).unwrap_or_default()
    }

    pub(crate) fn any_partition(&mut self) -> Option<(String, i32)> {
        let topics = self.plan.topics.clone();
        let partitions = topics
            .iter()
            .flat_map(|(name, _)| (0..self.partitions_of(name)).map(move |partition| (name.clone(), partition)));
        let partitions: Vec<(String, i32)> = partitions.collect();
        (!partitions.is_empty()).then(|| {
            let at = self.random.below(partitions.len() as u64) as usize;
            partitions[at].clone()
        })
    }

    /// Mostly one of which somebody holds records.
    fn busy_partition(&mut self) -> Option<(String, i32)> {
        for _ in 0..8 {
            let (topic, partition) = self.any_partition()?;
            let records = self.cluster.share_records(GROUP, &topic, partition);
            if records.iter().any(|records| matches!(records.state, ShareRecordState::Acquired { .. })) {
                return Some((topic, partition));
            }
        }
        self.any_partition()
    }

    pub(crate) fn id_of(&self, topic: &str, partition: i32) -> Option<TopicIdPartition> {
        self.cluster.topic_id(topic).map(|topic_id| TopicIdPartition { topic_id, partition })
    }
}
