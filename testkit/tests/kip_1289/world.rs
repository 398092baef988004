//! One run: virtual time, what happens in it, and when it is over.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use ackflow_protocol::records::{BatchBuilder, BatchOptions};
use ackflow_testkit::core::{Cluster, ClusterOptions, NodeOptions};

use crate::chaos::Chaos;
use crate::network::{Network, Packet};
use crate::oracle::Oracle;
use crate::random::Random;
use crate::worker::{Step, Worker};

pub(crate) const GROUP: &str = "g";
pub(crate) const IN: &str = "in";
pub(crate) const OUT: &str = "out";
/// The wall clock at the start, in ms.
const STARTED_MS: i64 = 1_700_000_000_000;
/// How long it may take until all is passed on once nothing goes wrong any more.
const PATIENCE: Duration = Duration::from_secs(120);
const LOOK: Duration = Duration::from_millis(250);
/// Values that divide by it are rejected, and not passed on.
const POISON: u64 = 13;

/// Whether a value is not to be passed on.
pub(crate) fn is_poison(value: u64) -> bool {
    value.is_multiple_of(POISON)
}

/// Something that happens at a time.
#[derive(Debug)]
pub(crate) enum What {
    Packet(u64, Packet),
    /// A call of this worker's connection has had its time.
    TimedOut(u64, u64),
    Worker {
        worker: usize,
        life: u32,
        step: Step,
    },
    Produce,
    Chaos(Chaos),
    Look,
}

/// What the seed decides about a run.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub(crate) nodes: u16,
    pub(crate) partitions: i32,
    pub(crate) outputs: i32,
    pub(crate) workers: usize,
    pub(crate) batches: u32,
    pub(crate) active: Duration,
    pub(crate) lock: Duration,
    pub(crate) transaction_timeout: Duration,
    pub(crate) request_timeout: Duration,
    /// One way, in µs.
    pub(crate) latency: (u64, u64),
    /// In percent of packets: they come very late, and all behind them.
    pub(crate) stalls: u64,
    /// What goes wrong, once in `gap` on average.
    pub(crate) chaos: Vec<Chaos>,
    pub(crate) gap: Duration,
    /// In percent of transactions: aborted by the application; crashed at the end, before it is sent or after.
    pub(crate) aborts: u64,
    pub(crate) crashes: u64,
    /// In percent of transactions: so slow that locks end before staging, or that the transaction times out behind it.
    pub(crate) slow: u64,
}

impl Plan {
    fn new(random: &mut Random) -> Self {
        let calm = random.percent(10);
        let faults: Vec<Chaos> = Chaos::ALL.into_iter().filter(|_| random.percent(50)).collect();
        Self {
            nodes: random.between(1, 3) as u16,
            partitions: random.between(1, 3) as i32,
            outputs: random.between(1, 2) as i32,
            workers: random.between(1, 3) as usize,
            batches: random.between(5, 20) as u32,
            active: random.millis(1_000, 6_000),
            lock: Duration::from_millis(random.pick(&[1_000, 2_000, 5_000])),
            transaction_timeout: Duration::from_millis(random.pick(&[2_000, 5_000, 10_000])),
            request_timeout: Duration::from_millis(random.pick(&[1_000, 2_000])),
            latency: random.pick(&[(50, 200), (100, 2_000), (2_000, 20_000)]),
            stalls: if calm { 0 } else { random.pick(&[0, 0, 2]) },
            chaos: if calm { Vec::new() } else { faults },
            gap: Duration::from_millis(random.pick(&[200, 500, 1_000])),
            aborts: random.pick(&[0, 10, 20]),
            crashes: if calm { 0 } else { random.pick(&[0, 5, 15]) },
            slow: if calm { 0 } else { random.pick(&[0, 5, 20]) },
        }
    }
}

#[derive(Debug)]
pub(crate) struct World {
    pub(crate) start: Instant,
    pub(crate) now: Instant,
    queue: BTreeMap<(Instant, u64), What>,
    scheduled: u64,
    pub(crate) plan: Plan,
    pub(crate) random: Random,
    pub(crate) cluster: Cluster,
    pub(crate) net: Network,
    pub(crate) oracle: Oracle,
    pub(crate) workers: Vec<Option<Worker>>,
    pub(crate) counts: BTreeMap<&'static str, u64>,
    /// All values that were produced to the input.
    pub(crate) input: BTreeSet<u64>,
    batches_left: u32,
    /// Since nothing goes wrong any more, until when all has to be done.
    until: Option<Instant>,
    pub(crate) trace: Vec<String>,
    pub(crate) traces: bool,
    pub(crate) hash: u64,
}

/// Writes a line of the trace, where somebody reads it.
#[macro_export]
macro_rules! trace {
    ($world:expr, $($line:tt)*) => {
        if $world.traces {
            let at = $world.now.duration_since($world.start).as_micros();
            $world.trace.push(format!("{:>10}.{:03} {}", at / 1000, at % 1000, format_args!($($line)*)));
        }
    };
}

impl World {
    pub(crate) fn new(seed: u64, traces: bool) -> Self {
        let mut random = Random::new(seed);
        let plan = Plan::new(&mut random);
        let start = Instant::now();
        let mut options = ClusterOptions::new(start, STARTED_MS);
        options.nodes = (0..plan.nodes).map(|node| NodeOptions::local(9092 + node)).collect();
        options.share_version = 3;
        options.seed = random.number();
        options.topics = vec![(IN.to_owned(), plan.partitions), (OUT.to_owned(), plan.outputs)];
        let setting = |(name, value): (&str, String)| (name.to_owned(), value);
        options.configs = [
            ("group.share.min.heartbeat.interval.ms", "100".to_owned()),
            ("group.share.heartbeat.interval.ms", "300".to_owned()),
            ("group.share.min.session.timeout.ms", "1000".to_owned()),
            ("group.share.session.timeout.ms", "2000".to_owned()),
            ("group.share.assignment.interval.ms", "0".to_owned()),
            ("group.share.min.record.lock.duration.ms", "1000".to_owned()),
            ("group.share.max.delivery.count.limit", "25".to_owned()),
        ]
        .map(setting)
        .into();
        let group = [
            ("share.auto.offset.reset", "earliest".to_owned()),
            ("share.record.lock.duration.ms", plan.lock.as_millis().to_string()),
            // Nothing is to be archived for having failed too often.
            ("share.delivery.count.limit", "25".to_owned()),
        ];
        options.group_configs.insert(GROUP.to_owned(), group.map(setting).into());
        let mut cluster = Cluster::new(options).expect("the options are valid");
        cluster.keep_history();
        Self {
            start,
            now: start,
            queue: BTreeMap::new(),
            scheduled: 0,
            batches_left: plan.batches,
            random,
            cluster,
            net: Network::default(),
            oracle: Oracle::default(),
            workers: (0..plan.workers).map(|_| None).collect(),
            counts: BTreeMap::new(),
            input: BTreeSet::new(),
            until: None,
            trace: Vec::new(),
            traces,
            hash: seed,
            plan,
        }
    }

    pub(crate) fn count(&mut self, what: &'static str) {
        *self.counts.entry(what).or_default() += 1;
    }

    pub(crate) fn at(&mut self, at: Instant, what: What) {
        self.scheduled += 1;
        self.queue.insert((at.max(self.now), self.scheduled), what);
    }

    pub(crate) fn after(&mut self, delay: Duration, what: What) {
        self.at(self.now + delay, what);
    }

    /// Whether things still go wrong.
    pub(crate) fn is_active(&self) -> bool {
        self.until.is_none()
    }

    /// Runs to the end. Panics where anything is wrong.
    pub(crate) fn run(&mut self) {
        for worker in 0..self.plan.workers {
            self.start_worker(worker);
        }
        self.after(Duration::ZERO, What::Produce);
        self.after(LOOK, What::Look);
        if !self.plan.chaos.is_empty() {
            self.after(self.plan.gap, What::Chaos(Chaos::Next));
        }
        self.after(self.plan.active, What::Chaos(Chaos::Over));
        while !self.is_done() {
            self.step();
        }
        self.check_output();
        self.count("runs");
    }

    fn step(&mut self) {
        let queued = self.queue.first_key_value().map(|(&(at, _), _)| at);
        let cluster = self.cluster.next_deadline();
        let at = queued.into_iter().chain(cluster).min().expect("somebody looks at the run from time to time");
        self.now = at.max(self.now);
        if cluster != Some(at)
            && let Some((_, what)) = self.queue.pop_first()
        {
            let passed = self.now.duration_since(self.start).as_nanos() as u64;
            self.hash = (self.hash ^ passed).wrapping_mul(0x0100_0000_01b3).rotate_left(5) ^ self.scheduled;
            self.happens(what);
        }
        self.pump_cluster();
    }

    fn happens(&mut self, what: What) {
        match what {
            What::Packet(link, packet) => self.arrives(link, packet),
            What::TimedOut(link, call) => self.timed_out(link, call),
            What::Worker { worker, life, step } => {
                self.with_worker(worker, life, |worker, world| worker.step(world, step))
            }
            What::Produce => self.produce(),
            What::Chaos(chaos) => self.chaos(chaos),
            What::Look => {
                if let Some(until) = self.until {
                    assert!(self.now < until, "records are never passed on: {:?}", self.lags());
                }
                self.after(LOOK, What::Look);
            }
        }
    }

    /// Has a worker of this life do something, and then all that its machines say.
    pub(crate) fn with_worker(&mut self, index: usize, life: u32, does: impl FnOnce(&mut Worker, &mut Self)) {
        let Some(mut worker) = self.workers[index].take_if(|worker| worker.life == life) else { return };
        does(&mut worker, self);
        worker.drain(self);
        if worker.has_crashed {
            self.crashed(worker);
        } else {
            self.workers[index] = Some(worker);
        }
    }

    fn produce(&mut self) {
        if self.batches_left == 0 {
            return;
        }
        self.batches_left -= 1;
        let partition = self.random.below(self.plan.partitions as u64) as i32;
        let mut builder = BatchBuilder::new(BatchOptions::default());
        for _ in 0..self.random.between(1, 12) {
            let value = self.input.len() as u64 + 1;
            self.input.insert(value);
            builder.try_append(STARTED_MS, None, Some(&value.to_be_bytes()), []).expect("the record fits");
        }
        let batch = builder.build().expect("there are records");
        self.cluster.produce(self.now, IN, partition, &batch).expect("the batch is valid");
        let most = 2 * self.plan.active.as_micros() as u64 / u64::from(self.plan.batches);
        let delay = self.random.micros(0, most);
        self.after(delay, What::Produce);
    }

    /// Nothing goes wrong any more.
    pub(crate) fn over(&mut self) {
        trace!(self, "-- nothing goes wrong any more");
        for node in self.cluster.node_ids() {
            self.cluster.start_node(self.now, node).expect("it is a node");
        }
        self.until = Some(self.now + PATIENCE);
    }

    fn lags(&self) -> Vec<Option<i64>> {
        (0..self.plan.partitions).map(|partition| self.cluster.group_lag(GROUP, IN, partition)).collect()
    }

    fn is_done(&self) -> bool {
        let idle = || self.workers.iter().all(|worker| worker.as_ref().is_some_and(Worker::is_idle));
        let done = |partition| {
            let end = self.cluster.end_offset(IN, partition).unwrap_or_default();
            self.cluster.group_lag(GROUP, IN, partition).unwrap_or(end) == 0
        };
        self.until.is_some() && self.batches_left == 0 && idle() && (0..self.plan.partitions).all(done)
    }
}
