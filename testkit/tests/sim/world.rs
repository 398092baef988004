//! One run, from its seed to the last record.

use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, Instant};

use ackflow_protocol::machine::AcquireMode;
use ackflow_protocol::records::{BatchBuilder, BatchOptions};
use ackflow_protocol::wire::ApiKey;
use ackflow_testkit::core::{Cluster, ClusterOptions, NodeOptions, ShareRecordState};
use bytes::Bytes;

use crate::chaos::Chaos;
use crate::driver::FIRST_PORT;
use crate::member::{Member, MemberEvent};
use crate::network::Packet;
use crate::plan::{GROUP, Plan};
use crate::random::Random;
use crate::sim::{Counts, Sim, What};
use crate::trace::Trace;

/// The wall clock at the start, in ms.
const STARTED_MS: i64 = 1_700_000_000_000;

/// How often the run is looked at.
const LOOK: Duration = Duration::from_millis(250);

/// How long a member that polls may go without a record while one waits for it.
const HUNGRY: Duration = Duration::from_secs(10);

/// How long it may take a member to leave when nothing goes wrong.
const CLOSING: Duration = Duration::from_secs(10);

/// How long a word may go unanswered: it is tried again for 10 s, and each try may wait for its time-out.
const ANSWERED: Duration = Duration::from_secs(60);

#[derive(Debug)]
pub(crate) struct World {
    pub(crate) sim: Sim,
    pub(crate) members: Vec<Member>,
    batches: HashMap<u64, Bytes>,
    batches_left: u32,
    phase: Phase,
    /// Since when each member finds nothing though there is something.
    hungry: BTreeMap<usize, Instant>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Active,
    /// Nothing goes wrong any more, and what is left has to be consumed by then.
    Draining {
        until: Instant,
    },
    Closing,
}

/// What a run came to.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) counts: Counts,
    pub(crate) hash: u64,
    pub(crate) accepted: u64,
    pub(crate) rejected: u64,
    pub(crate) exhausted: u64,
}

fn options(start: Instant, seed: u64, plan: &Plan) -> ClusterOptions {
    let text = |pairs: &[(&str, String)]| {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect::<BTreeMap<_, _>>()
    };
    let ms = |duration: Duration| duration.as_millis().to_string();
    ClusterOptions {
        nodes: (0..plan.nodes).map(|node| NodeOptions::local(FIRST_PORT + node)).collect(),
        topics: plan.topics.clone(),
        configs: text(&[
            ("group.share.min.heartbeat.interval.ms", "100".to_owned()),
            ("group.share.heartbeat.interval.ms", ms(plan.heartbeat)),
            ("group.share.min.session.timeout.ms", "1000".to_owned()),
            ("group.share.session.timeout.ms", ms(plan.session_timeout)),
            ("group.share.assignment.interval.ms", ms(plan.assignment_interval)),
            ("group.share.min.record.lock.duration.ms", "1000".to_owned()),
        ]),
        group_configs: BTreeMap::from([(
            GROUP.to_owned(),
            text(&[
                ("share.auto.offset.reset", "earliest".to_owned()),
                ("share.record.lock.duration.ms", ms(plan.lock)),
                ("share.delivery.count.limit", plan.delivery_limit.to_string()),
                ("share.partition.max.record.locks", plan.record_locks.to_string()),
            ]),
        )]),
        seed,
        ..ClusterOptions::new(start, STARTED_MS)
    }
}

impl World {
    /// A run that has not begun.
    pub(crate) fn new(seed: u64, trace: Trace) -> Self {
        let mut random = Random::new(seed);
        let plan = Plan::new(&mut random);
        let start = Instant::now();
        let mut cluster = Cluster::new(options(start, seed, &plan)).expect("plans are valid");
        cluster.keep_history();
        let mut sim = Sim::new(start, plan, random, cluster, trace);
        crate::trace!(sim, "seed {seed}: {:?}", sim.plan);
        for (name, _) in sim.plan.topics.clone() {
            let id = sim.cluster.topic_id(&name).expect("the plan's topics are there");
            sim.oracle.topic(id, &name);
        }
        let members = (0..sim.plan.members).map(Member::new).collect();
        let batches_left = sim.plan.batches;
        let (batches, hungry) = (HashMap::new(), BTreeMap::new());
        Self { sim, members, batches, batches_left, phase: Phase::Active, hungry }
    }

    /// Runs to the end. Panics where anything is wrong; the trace has what happened before.
    pub(crate) fn run(&mut self) -> Outcome {
        let active = self.sim.plan.active;
        for member in 0..self.members.len() {
            let delay = if member == 0 { Duration::ZERO } else { self.sim.random.millis(0, 500) };
            let event = MemberEvent::Start { same_id: false };
            self.sim.after(delay, What::Member { member, life: 0, event });
        }
        self.sim.after(Duration::ZERO, What::Produce);
        self.sim.after(LOOK, What::Look);
        if !self.sim.plan.is_calm() {
            self.sim.after(self.sim.plan.gap, What::Chaos(Chaos::Next));
        }
        self.sim.after(active, What::Chaos(Chaos::Over));
        while self.phase != Phase::Closing || self.members.iter().any(Member::is_up) {
            match self.sim.next() {
                None => {}
                Some(what) => self.happens(what),
            }
            self.sim.pump_cluster();
        }
        for api in [ApiKey::SHARE_FETCH, ApiKey::SHARE_ACKNOWLEDGE] {
            let early = self.sim.cluster.early_requests(api);
            self.sim
                .oracle
                .check(early == 0, || format!("{early} {api} requests came though their client was throttled"));
        }
        self.sim.oracle.finish();
        let mut counts = self.sim.counts.clone();
        counts.virtual_time = self.sim.passed();
        counts.checks = self.sim.oracle.checks;
        Outcome {
            counts,
            hash: self.sim.trace.hash(),
            accepted: self.sim.oracle.accepted,
            rejected: self.sim.oracle.rejected,
            exhausted: self.sim.oracle.exhausted,
        }
    }

    fn happens(&mut self, what: What) {
        match what {
            What::Packet(connection, packet) => self.packet(connection, packet),
            What::Driver { member, life, event } => {
                let member = &mut self.members[member];
                if member.life == life {
                    member.handle_driver(&mut self.sim, event);
                }
            }
            What::Member { member, life, event } => {
                let member = &mut self.members[member];
                if member.life == life {
                    member.handle(&mut self.sim, event);
                }
            }
            What::Produce => self.produce(),
            What::Chaos(step) => self.chaos(step),
            What::Look => self.look(),
        }
    }

    fn packet(&mut self, connection: u64, packet: Packet) {
        match packet {
            Packet::Request(frame, words) => self.sim.at_node(connection, Some((frame, words))),
            Packet::EndAtNode => self.sim.at_node(connection, None),
            Packet::Response(frame) => {
                if let Some((member, life)) = self.sim.at_member(connection, false)
                    && self.members[member].life == life
                {
                    self.members[member].answered(&mut self.sim, connection, frame);
                }
            }
            Packet::EndAtMember => {
                if let Some((member, life)) = self.sim.at_member(connection, true)
                    && self.members[member].life == life
                {
                    self.members[member].connection_ended(&mut self.sim, connection);
                }
            }
        }
    }

    fn produce(&mut self) {
        if self.batches_left == 0 {
            return;
        }
        self.batches_left -= 1;
        if let Some((topic, partition)) = self.sim.any_partition() {
            let records = self.sim.random.between(1, self.sim.plan.batch_records);
            let batch = self.batches.entry(records).or_insert_with(|| batch(records)).clone();
            let offset = self.sim.cluster.produce(self.sim.now, &topic, partition, &batch).expect("the batch is valid");
            crate::trace!(self.sim, "{topic}/{partition} gets {offset}-{}", offset + records as i64 - 1);
            let id = self.sim.id_of(&topic, partition).expect("it has just got records");
            self.sim.oracle.produced(id, records);
            self.sim.counts.produced += records;
        }
        let most = 2 * self.sim.plan.active.as_micros() as u64 / u64::from(self.sim.plan.batches);
        let delay = self.sim.random.micros(0, most);
        let left = self.sim.plan.active.saturating_sub(self.sim.passed());
        self.sim.after(delay.min(left), What::Produce);
    }

    /// Nothing goes wrong any more.
    pub(crate) fn over(&mut self) {
        crate::trace!(self.sim, "-- nothing goes wrong any more");
        self.sim.cluster.clear_faults();
        self.sim.net.stalled.clear();
        for node in self.sim.cluster.node_ids() {
            self.sim.cluster.start_node(self.sim.now, node).expect("it is a node");
        }
        for topic in 0..self.sim.plan.topics.len() {
            self.chaos(Chaos::CreateTopic(topic));
        }
        let plan = &self.sim.plan;
        // What vanished members held is free when their locks end, and what was assigned to them when their sessions do.
        let mut within = plan.lock + plan.session_timeout + 2 * plan.request_timeout + Duration::from_secs(60);
        if plan.acquire_mode == AcquireMode::RecordLimit {
            // Leaders are asked one after the other, and none may hold the fetch while another has records.
            let polls = self.sim.counts.produced / u64::from(plan.max_poll_records);
            within += Duration::from_millis(100) * polls as u32;
        }
        self.phase = Phase::Draining { until: self.sim.now + within };
    }

    /// Looks whether the run gets on.
    fn look(&mut self) {
        let now = self.sim.now;
        for member in &self.members {
            let late = member.app.unanswered(now, ANSWERED);
            self.sim
                .oracle
                .check(late == 0 || !member.is_up(), || format!("m{}: {late} words unanswered", member.index));
        }
        match self.phase {
            Phase::Active => {}
            Phase::Draining { until } => {
                let left = self.left();
                self.sim.oracle.check(now < until, || format!("{left} records are never done"));
                let mut starting = false;
                for member in &mut self.members {
                    starting |= !member.is_serving();
                }
                if left == 0 && self.batches_left == 0 && !starting {
                    self.phase = Phase::Closing;
                    for member in &mut self.members {
                        member.close(&mut self.sim, CLOSING, true);
                    }
                } else {
                    self.look_for_hunger();
                }
            }
            Phase::Closing => {}
        }
        self.sim.after(LOOK, What::Look);
    }

    /// How many records are not done.
    fn left(&mut self) -> i64 {
        let mut left = 0;
        for (name, _) in self.sim.plan.topics.clone() {
            for partition in 0..self.sim.partitions_of(&name) {
                let end = self.sim.cluster.end_offset(&name, partition).expect("the partition is there");
                let lag = self.sim.cluster.group_lag(GROUP, &name, partition).unwrap_or(end);
                let id = self.sim.id_of(&name, partition).expect("the topic is there");
                let known = self.sim.oracle.left(id) as i64;
                self.sim
                    .oracle
                    .check(lag == known, || format!("{name}/{partition}: lag {lag}, but {known} are not done"));
                left += lag;
            }
        }
        left
    }

    /// Nobody who polls goes without records for long while there are some for it.
    fn look_for_hunger(&mut self) {
        let now = self.sim.now;
        for member in &self.members {
            let waits = member.app.waiting_since().is_some_and(|since| now.duration_since(since) >= LOOK);
            let has_some = waits && member.is_serving() && member.app.assigned.iter().any(|id| self.has_available(id));
            if !has_some {
                self.hungry.remove(&member.index);
                continue;
            }
            let since = *self.hungry.entry(member.index).or_insert(now);
            let hungry = now.duration_since(since);
            self.sim
                .oracle
                .check(hungry < HUNGRY, || format!("m{} starves: records wait for {hungry:?}", member.index));
        }
    }

    fn has_available(&self, id: &ackflow_protocol::machine::TopicIdPartition) -> bool {
        let topics = &self.sim.plan.topics;
        let Some((name, _)) = topics.iter().find(|(name, _)| self.sim.cluster.topic_id(name) == Some(id.topic_id))
        else {
            return false;
        };
        let records = self.sim.cluster.share_records(GROUP, name, id.partition);
        let window = records.first().zip(records.last()).map_or(0, |(first, last)| last.last - first.first + 1);
        let end = self.sim.cluster.end_offset(name, id.partition).unwrap_or_default();
        let fresh = records.last().map_or(self.sim.oracle.left(*id) > 0, |last| last.last + 1 < end);
        records.iter().any(|records| records.state == ShareRecordState::Available)
            || fresh && window < i64::from(self.sim.plan.record_locks)
    }
}

fn batch(records: u64) -> Bytes {
    let mut builder = BatchBuilder::new(BatchOptions { max_size: usize::MAX, ..BatchOptions::default() });
    for record in 0..records {
        builder.try_append(STARTED_MS, None, Some(&record.to_be_bytes()), []).expect("the record fits");
    }
    builder.build().expect("there are records")
}
