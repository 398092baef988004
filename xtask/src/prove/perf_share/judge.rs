//! What the figures have to be.

use std::collections::BTreeMap;

use super::program::Run;
use crate::prove::support::statistics::median;
use crate::prove::verdict::Verdict;

const OURS: &str = "ackflow";

/// All runs of one setting, by client.
#[derive(Default)]
pub(super) struct Results(BTreeMap<&'static str, Vec<Run>>);

impl Results {
    pub(super) fn add(&mut self, name: &'static str, run: Run) {
        self.0.entry(name).or_default().push(run);
    }

    fn median(&self, name: &str, of: impl Fn(&Run) -> f64) -> f64 {
        median(&self.0.get(name).map(|runs| runs.iter().map(of).collect::<Vec<_>>()).unwrap_or_default())
    }

    fn rate(&self, name: &str) -> f64 {
        self.median(name, |run| run.rate)
    }

    fn cpu(&self, name: &str) -> f64 {
        self.median(name, |run| run.cpu)
    }

    /// The highest rate of another client.
    fn fastest(&self) -> f64 {
        self.0.keys().filter(|name| **name != OURS).map(|name| self.rate(name)).fold(0.0, f64::max)
    }
}

/// With everyone's defaults, and with 2,000 records a fetch. Comparisons are such that a figure that is missing fails them.
pub(super) fn judge(verdict: &mut Verdict, defaults: &Results, full: &Results) {
    for (setting, results) in [("default", defaults), ("2000", full)] {
        for name in results.0.keys() {
            verdict.figure(&format!("{name}_{setting}_records_per_s"), format!("{:.0}", results.rate(name)));
            verdict.figure(&format!("{name}_{setting}_cpu_ns"), format!("{:.0}", results.cpu(name)));
            let memory = results.median(name, |run| run.memory) / 1e6;
            verdict.figure(&format!("{name}_{setting}_mb"), format!("{memory:.1}"));
        }
    }
    let rate = defaults.rate(OURS);
    verdict.require(rate >= 1.8 * defaults.rate("librdkafka"), "at defaults 1.8 times the records/s of librdkafka");
    verdict.require(rate >= 2.5 * defaults.rate("java"), "at defaults 2.5 times the records/s of Java");
    verdict.require(full.rate(OURS) >= full.fastest(), "with 2,000 a fetch not slower than the fastest");
    for (key, setting, results) in [("default", "at defaults", defaults), ("2000", "with 2,000 a fetch", full)] {
        let cpu = results.cpu(OURS);
        verdict
            .require(4.0 * cpu <= results.cpu("librdkafka"), format!("{setting} a quarter of librdkafka's CPU time"));
        verdict.require(20.0 * cpu <= results.cpu("java"), format!("{setting} a twentieth of Java's CPU time"));
        let memory = results.median(OURS, |run| run.memory);
        verdict.require(memory < 12e6, format!("{setting} less than 12 MB"));
        let allocations = results.median(OURS, |run| run.allocations.unwrap_or(f64::NAN));
        verdict.figure(&format!("{OURS}_{key}_allocations_per_record"), format!("{allocations:.4}"));
        verdict.require(allocations < 0.05, format!("{setting} fewer than 0.05 allocations a record"));
    }
    verdict.require(full.cpu(OURS) <= 180.0, "with 2,000 a fetch 0.18 us of CPU time a record");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn results(clients: &[(&'static str, f64, f64)]) -> Results {
        let mut results = Results::default();
        for &(name, rate, cpu) in clients {
            let allocations = (name == OURS).then_some(0.02);
            results.add(name, Run { rate, cpu, memory: 9e6, allocations });
        }
        results
    }

    #[test]
    fn every_bound_is_looked_at() {
        let good =
            || [(OURS, 600e3, 100.0), ("librdkafka", 300e3, 500.0), ("java", 200e3, 4_000.0), ("krafka", 400e3, 900.0)];
        let judged = |change: fn(&mut Results)| {
            let mut full = results(&good());
            change(&mut full);
            let mut verdict = Verdict::default();
            judge(&mut verdict, &results(&good()), &full);
            verdict
        };
        assert!(judged(|_| {}).holds());
        assert!(!judged(|full| full.0.get_mut(OURS).unwrap()[0].rate = 399e3).holds());
        assert!(!judged(|full| full.0.get_mut(OURS).unwrap()[0].cpu = 126.0).holds());
        assert!(!judged(|full| full.0.get_mut(OURS).unwrap()[0].memory = 12.1e6).holds());
        assert!(!judged(|full| full.0.get_mut(OURS).unwrap()[0].allocations = None).holds());
        assert!(!judged(|full| drop(full.0.remove("java"))).holds());
    }
}
