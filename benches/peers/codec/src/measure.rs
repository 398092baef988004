//! The measurement: sides in turns, medians.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

use crate::counting::allocations;

/// One piece of work as one codec does it. What it gives is looked at, so that none of it can be left out.
pub struct Side {
    pub name: &'static str,
    pub work: Box<dyn Fn() -> u64>,
}

/// What one side took.
pub struct Taken {
    pub name: &'static str,
    /// Median of the rounds, in ns a run.
    pub ns: f64,
    pub allocations: usize,
}

const ROUNDS: usize = 101;
/// How long a side is measured in one round: less than the system lets a thread run at a time.
const TURN: Duration = Duration::from_millis(2);

/// Measures the sides in turns, each beginning a round as often as the others.
pub fn measure(sides: &[Side]) -> Vec<Taken> {
    let runs: Vec<u32> = sides.iter().map(|side| runs_in_a_turn(&side.work)).collect();
    let mut times = vec![Vec::with_capacity(ROUNDS); sides.len()];
    for round in 0..ROUNDS {
        for turn in 0..sides.len() {
            let side = (round + turn) % sides.len();
            times[side].push(time(&sides[side].work, runs[side]).as_nanos() as f64 / f64::from(runs[side]));
        }
    }
    let taken = sides.iter().zip(times).map(|(side, mut times)| {
        times.sort_unstable_by(f64::total_cmp);
        Taken { name: side.name, ns: times[ROUNDS / 2], allocations: allocations(&side.work).0 }
    });
    taken.collect()
}

/// How often the work fits into a turn; finding that out warms it up.
fn runs_in_a_turn(work: &dyn Fn() -> u64) -> u32 {
    let mut runs = 1;
    loop {
        let took = time(work, runs);
        if took >= TURN / 4 {
            return (f64::from(runs) * TURN.as_secs_f64() / took.as_secs_f64()) as u32 + 1;
        }
        runs *= 2;
    }
}

/// CPU time of this thread: what else runs on the machine does not count.
fn time(work: &dyn Fn() -> u64, runs: u32) -> Duration {
    let start = cpu_time();
    for _ in 0..runs {
        std::hint::black_box(work());
    }
    cpu_time() - start
}

fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}
