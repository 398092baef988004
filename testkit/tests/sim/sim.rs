//! Virtual time, and what all parts of a run share.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use ackflow_protocol::wire::ApiKey;
use ackflow_testkit::core::Cluster;

use crate::chaos::Chaos;
use crate::driver::DriverEvent;
use crate::member::MemberEvent;
use crate::network::{Network, Packet};
use crate::oracle::Oracle;
use crate::plan::Plan;
use crate::random::Random;
use crate::trace::Trace;

/// Something that happens at a time.
#[derive(Debug)]
pub(crate) enum What {
    Packet(u64, Packet),
    Driver { member: usize, life: u32, event: DriverEvent },
    Member { member: usize, life: u32, event: MemberEvent },
    Produce,
    Chaos(Chaos),
    Look,
}

/// What all parts of a run share.
#[derive(Debug)]
pub(crate) struct Sim {
    pub(crate) start: Instant,
    pub(crate) now: Instant,
    queue: BTreeMap<(Instant, u64), What>,
    scheduled: u64,
    pub(crate) plan: Plan,
    pub(crate) random: Random,
    pub(crate) cluster: Cluster,
    pub(crate) net: Network,
    pub(crate) oracle: Oracle,
    pub(crate) trace: Trace,
    pub(crate) counts: Counts,
}

/// Figures of a run.
#[derive(Debug, Default, Clone)]
pub(crate) struct Counts {
    pub(crate) steps: u64,
    pub(crate) virtual_time: Duration,
    pub(crate) requests: BTreeMap<i16, u64>,
    pub(crate) produced: u64,
    pub(crate) handed_out: u64,
    pub(crate) acknowledgements: u64,
    pub(crate) checks: u64,
    pub(crate) faults: BTreeMap<&'static str, u64>,
}

impl Counts {
    pub(crate) fn request(&mut self, key: ApiKey) {
        *self.requests.entry(key.0).or_default() += 1;
    }

    pub(crate) fn fault(&mut self, kind: &'static str) {
        *self.faults.entry(kind).or_default() += 1;
    }

    pub(crate) fn add(&mut self, other: &Self) {
        self.steps += other.steps;
        self.virtual_time += other.virtual_time;
        self.produced += other.produced;
        self.handed_out += other.handed_out;
        self.acknowledgements += other.acknowledgements;
        self.checks += other.checks;
        for (key, count) in &other.requests {
            *self.requests.entry(*key).or_default() += count;
        }
        for (kind, count) in &other.faults {
            *self.faults.entry(kind).or_default() += count;
        }
    }
}

/// Writes a line of the trace. The text is made only where somebody reads it.
#[macro_export]
macro_rules! trace {
    ($sim:expr, $($line:tt)*) => {
        if $sim.trace.is_on() {
            let at = $sim.now.duration_since($sim.start);
            $sim.trace.line(at, format_args!($($line)*));
        }
    };
}

impl Sim {
    pub(crate) fn new(start: Instant, plan: Plan, random: Random, cluster: Cluster, trace: Trace) -> Self {
        let oracle = Oracle::new(start, &plan);
        Self {
            start,
            now: start,
            queue: BTreeMap::new(),
            scheduled: 0,
            plan,
            random,
            cluster,
            net: Network::default(),
            oracle,
            trace,
            counts: Counts::default(),
        }
    }

    pub(crate) fn schedule(&mut self, at: Instant, what: What) {
        self.scheduled += 1;
        self.queue.insert((at.max(self.now), self.scheduled), what);
    }

    pub(crate) fn after(&mut self, delay: Duration, what: What) {
        self.schedule(self.now + delay, what);
    }

    /// Goes on to the next thing that happens; `None` is a deadline of the cluster.
    pub(crate) fn next(&mut self) -> Option<What> {
        let queued = self.queue.first_key_value().map(|(&(at, _), _)| at);
        let cluster = self.cluster.next_deadline();
        let at = queued.into_iter().chain(cluster).min().expect("somebody looks at the run from time to time");
        self.now = at.max(self.now);
        self.counts.steps += 1;
        if cluster == Some(at) {
            return None;
        }
        self.queue.pop_first().map(|(_, what)| what)
    }

    /// How long the run has gone on.
    pub(crate) fn passed(&self) -> Duration {
        self.now.duration_since(self.start)
    }
}
