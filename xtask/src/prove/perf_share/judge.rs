//! What the figures have to be.

use crate::prove::support::throughput::{OURS, Results};
use crate::prove::verdict::Verdict;

/// With everyone's defaults, and with 2,000 records a fetch. Comparisons are such that a figure that is missing fails them.
pub(super) fn judge(verdict: &mut Verdict, defaults: &Results, full: &Results) {
    for (setting, results) in [("default", defaults), ("2000", full)] {
        results.tell(verdict, setting);
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
        let allocations = results.allocations();
        verdict.figure(&format!("{OURS}_{key}_allocations_per_record"), format!("{allocations:.4}"));
        verdict.require(allocations < 0.05, format!("{setting} fewer than 0.05 allocations a record"));
    }
    verdict.require(full.cpu(OURS) <= 180.0, "with 2,000 a fetch 0.18 us of CPU time a record");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prove::support::throughput::Run;

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
