//! What the figures have to be.

use crate::prove::support::throughput::{OURS, Results};
use crate::prove::verdict::Verdict;

/// Of one setting. Comparisons are such that a figure that is missing fails them.
pub(super) fn judge(verdict: &mut Verdict, setting: &str, results: &Results) {
    results.tell(verdict, setting);
    for peer in ["librdkafka", "java"] {
        let ratio = results.rate(OURS) / results.rate(peer);
        verdict.figure(&format!("times_{peer}_{setting}"), format!("{ratio:.2}"));
        verdict.require(ratio >= 1.0, format!("with batches of {setting} at least the records/s of {peer}"));
    }
    let share = results.cpu(OURS) / results.cpu("librdkafka");
    verdict.figure(&format!("cpu_share_of_librdkafka_{setting}"), format!("{share:.2}"));
    verdict.require(share <= 0.5, format!("with batches of {setting} at most half of librdkafka's CPU time a record"));
    let allocations = results.allocations();
    verdict.figure(&format!("{OURS}_{setting}_allocations_per_record"), format!("{allocations:.4}"));
    verdict.require(allocations < 0.2, format!("with batches of {setting} no allocation a record"));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prove::support::throughput::Run;

    fn results(clients: &[(&'static str, f64, f64)]) -> Results {
        let mut results = Results::default();
        for &(name, rate, cpu) in clients {
            let allocations = (name == OURS).then_some(0.1);
            results.add(name, Run { rate, cpu, memory: 9e6, allocations });
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
