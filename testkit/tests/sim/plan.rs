//! What a run is about: the cluster, the members, their callers and what goes wrong, all chosen by the seed.

use std::time::Duration;

use ackflow_protocol::machine::{AcquireMode, ShareConsumerOptions};

use crate::chaos::Kind;
use crate::random::Random;

pub(crate) const GROUP: &str = "g";

/// How a run is made.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub(crate) nodes: u16,
    /// Topics with their partitions.
    pub(crate) topics: Vec<(String, i32)>,
    pub(crate) members: usize,
    pub(crate) lock: Duration,
    pub(crate) delivery_limit: i16,
    pub(crate) record_locks: u32,
    pub(crate) session_timeout: Duration,
    pub(crate) heartbeat: Duration,
    pub(crate) assignment_interval: Duration,
    pub(crate) acquire_mode: AcquireMode,
    pub(crate) max_poll_records: u32,
    pub(crate) fetch_max_records: u32,
    pub(crate) fetch_max_wait: Duration,
    pub(crate) request_timeout: Duration,
    pub(crate) max_poll_interval: Duration,
    pub(crate) metadata_max_age: Duration,
    /// One way, in µs.
    pub(crate) latency: (u64, u64),
    /// How many batches are appended, and how many records each has at most.
    pub(crate) batches: u32,
    pub(crate) batch_records: u64,
    /// How long producers go on, and things go wrong.
    pub(crate) active: Duration,
    /// What goes wrong, on average once in `gap`.
    pub(crate) chaos: Vec<Kind>,
    pub(crate) gap: Duration,
    pub(crate) caller: Caller,
}

/// How callers work.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Caller {
    /// Time a record, in µs.
    pub(crate) work: (u64, u64),
    /// In percent of deliveries.
    pub(crate) release: u64,
    pub(crate) reject: u64,
    pub(crate) renew: u64,
    /// Settled later than the next poll.
    pub(crate) keep: u64,
    /// Settled twice, with another word the second time.
    pub(crate) rethink: u64,
    /// Settled in two parts.
    pub(crate) split: u64,
    /// A commit follows.
    pub(crate) commit: u64,
}

impl Plan {
    pub(crate) fn new(random: &mut Random) -> Self {
        let calm = random.percent(15);
        let mut plan = Self {
            nodes: random.between(1, 4) as u16,
            topics: (0..random.between(1, 2)).map(|topic| (format!("t{topic}"), random.between(1, 4) as i32)).collect(),
            members: random.between(1, 4) as usize,
            lock: Duration::from_millis(random.pick(&[1_000, 2_000, 5_000, 30_000])),
            delivery_limit: random.pick(&[2, 3, 5, 10]),
            record_locks: random.pick(&[100, 200, 2_000]),
            session_timeout: Duration::from_millis(random.pick(&[1_000, 3_000, 10_000])),
            heartbeat: Duration::from_millis(random.pick(&[300, 500, 900])),
            assignment_interval: Duration::from_millis(random.pick(&[0, 100, 1_000])),
            acquire_mode: if random.percent(25) { AcquireMode::RecordLimit } else { AcquireMode::BatchOptimized },
            max_poll_records: random.pick(&[1, 10, 50, 500]),
            fetch_max_records: random.pick(&[10, 100, 2_000]),
            fetch_max_wait: Duration::from_millis(random.pick(&[100, 500])),
            request_timeout: Duration::from_millis(random.pick(&[1_000, 2_000, 5_000])),
            max_poll_interval: Duration::from_millis(random.pick(&[3_000, 300_000, 300_000])),
            metadata_max_age: Duration::from_millis(random.pick(&[300, 2_000, 30_000])),
            latency: random.pick(&[(50, 200), (100, 2_000), (2_000, 20_000)]),
            batches: random.between(3, 25) as u32,
            batch_records: random.pick(&[1, 5, 30, 60]),
            active: random.millis(500, 8_000),
            chaos: Vec::new(),
            gap: Duration::from_millis(random.pick(&[100, 300, 1_000])),
            caller: Caller {
                work: random.pick(&[(0, 10), (0, 1_000), (1_000, 20_000)]),
                release: random.pick(&[0, 5, 20]),
                reject: random.pick(&[0, 2]),
                renew: random.pick(&[0, 0, 10]),
                keep: random.pick(&[0, 10, 50]),
                rethink: random.pick(&[0, 0, 5]),
                split: random.pick(&[0, 20]),
                commit: random.pick(&[0, 10, 50]),
            },
        };
        if calm {
            plan.lock = Duration::from_secs(30);
            plan.max_poll_interval = Duration::from_secs(300);
        } else {
            // Some of all that can go wrong: what is wrong all the time hides what is wrong alone.
            plan.chaos = Kind::ALL.into_iter().filter(|_| random.percent(40)).collect();
        }
        plan
    }

    /// Whether nothing goes wrong but what callers do.
    pub(crate) fn is_calm(&self) -> bool {
        self.chaos.is_empty()
    }

    pub(crate) fn options(&self, member_id: &str) -> ShareConsumerOptions {
        ShareConsumerOptions {
            acquire_mode: self.acquire_mode,
            max_poll_records: self.max_poll_records,
            fetch_max_records: self.fetch_max_records,
            fetch_max_wait: self.fetch_max_wait,
            max_poll_interval: self.max_poll_interval,
            metadata_max_age: self.metadata_max_age,
            default_api_timeout: Duration::from_secs(10),
            ..ShareConsumerOptions::new(GROUP, member_id)
        }
    }
}
