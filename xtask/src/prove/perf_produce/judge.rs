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
}

/// Of one setting. Comparisons are such that a figure that is missing fails them.
pub(super) fn judge(verdict: &mut Verdict, setting: &str, results: &Results) {
    for name in results.0.keys() {
        verdict.figure(&format!("{name}_{setting}_records_per_s"), format!("{:.0}", results.rate(name)));
        verdict.figure(&format!("{name}_{setting}_cpu_ns"), format!("{:.0}", results.cpu(name)));
        let memory = results.median(name, |run| run.memory) / 1e6;
        verdict.figure(&format!("{name}_{setting}_mb"), format!("{memory:.1}"));
    }
    for peer in ["librdkafka", "java"] {
        let ratio = results.rate(OURS) / results.rate(peer);
        verdict.figure(&format!("times_{peer}_{setting}"), format!("{ratio:.2}"));
        verdict.require(ratio >= 1.0, format!("with batches of {setting} at least the records/s of {peer}"));
    }
    let share = results.cpu(OURS) / results.cpu("librdkafka");
    verdict.figure(&format!("cpu_share_of_librdkafka_{setting}"), format!("{share:.2}"));
    verdict.require(share <= 0.5, format!("with batches of {setting} at most half of librdkafka's CPU time a record"));
    let allocations = results.median(OURS, |run| run.allocations.unwrap_or(f64::NAN));
    verdict.figure(&format!("{OURS}_{setting}_allocations_per_record"), format!("{allocations:.4}"));
    verdict.require(allocations < 0.2, format!("with batches of {setting} no allocation a record"));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn results(clients: &[(&'static str, f64, f64)]) -> Results {
        let mut results = Results::default();
        for &(name, rate, cpu) in clients {
            let allocations = (name == OURS).then_some(0.1);
            results.add(name, Run { records: 1, rate, cpu, memory: 9e6, allocations });
        }
        results
    }

    #[test]
    fn every_bound_is_looked_at() {
        let judged = |change: fn(&mut Results)| {
            let mut results = results(&[(OURS, 600e3, 200.0), ("librdkafka", 600e3, 400.0), ("java", 590e3, 4_000.0)]);
            change(&mut results);
            let mut verdict = Verdict::default();
            judge(&mut verdict, "16k", &results);
            verdict
        };
        fn ours(results: &mut Results, change: fn(&mut Run)) {
            results.0.get_mut(OURS).into_iter().flatten().for_each(change);
        }
        assert!(judged(|_| {}).holds());
        assert!(!judged(|results| ours(results, |run| run.rate = 595e3)).holds());
        assert!(!judged(|results| ours(results, |run| run.cpu = 201.0)).holds());
        assert!(!judged(|results| ours(results, |run| run.allocations = Some(0.3))).holds());
        assert!(!judged(|results| ours(results, |run| run.allocations = None)).holds());
        assert!(!judged(|results| drop(results.0.remove("java"))).holds());
        assert!(!judged(|results| drop(results.0.remove("librdkafka"))).holds());
    }
}
