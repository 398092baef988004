//! CPU time.

use std::fmt;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

/// What consuming has taken.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Spent {
    /// Records that were consumed while the clocks ran.
    pub(crate) records: u64,
    /// Those before and after as well.
    pub(crate) all_records: u64,
    cpu: Duration,
    wall: Duration,
}

/// The clocks, running.
pub(crate) struct Clocks {
    cpu: Duration,
    wall: Instant,
}

impl Clocks {
    pub(crate) fn start() -> Self {
        Self { cpu: process_cpu(), wall: Instant::now() }
    }

    pub(crate) fn spent(&self, records: u64, all_records: u64) -> Spent {
        Spent { records, all_records, cpu: process_cpu() - self.cpu, wall: self.wall.elapsed() }
    }
}

impl Spent {
    pub(crate) fn cpu_ns_a_record(&self) -> f64 {
        self.cpu.as_nanos() as f64 / self.records as f64
    }

    pub(crate) fn records_a_second(&self) -> f64 {
        self.records as f64 / self.wall.as_secs_f64()
    }
}

impl fmt::Display for Spent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (cpu, rate) = (self.cpu_ns_a_record(), self.records_a_second() / 1e6);
        write!(f, "{cpu:>7.1} ns CPU a record  {:>5.1} M records/s a core  {rate:>5.1} M records/s", 1e3 / cpu)
    }
}

/// CPU time of this process so far, all threads, user and system.
fn process_cpu() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}
