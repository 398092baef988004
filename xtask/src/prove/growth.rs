//! What a record costs a share consumer of a real Kafka as partitions, records and members grow.
//!
//! Batches are of one size throughout, and what is measured begins with a group's first record: so each figure is what a record costs, not
//! what it takes to join. Few records are consumed by many groups, one after the other.

use std::process::Command;

use anyhow::{Context, Result};

use super::Proof;
use super::support::bench::Bench;
use super::verdict::Verdict;
use crate::kafka::{Cluster, Options};

pub(super) const PROOF: Proof = Proof {
    name: "growth",
    shows: "a record costs no more than 1.3 times as much CPU time with 1,000 partitions, 10^7 records or 100 members; nor memory",
    run,
};

/// By how much a cost may grow.
const MOST: f64 = 1.3;
/// How often each case is measured. Another program can only make it dearer.
const TIMES: usize = 2;

/// A topic and who consumes it.
#[derive(Clone, Copy)]
struct Case {
    partitions: u32,
    records: u64,
    members: u32,
    /// How many groups do so, one after the other.
    groups: u32,
}

impl Case {
    const fn of(partitions: u32, records: u64) -> Self {
        Self { partitions, records, members: 1, groups: 1 }
    }

    fn topic(self) -> String {
        format!("growth-{}-{}", self.partitions, self.records)
    }
}

const PARTITIONS: [Case; 3] = [Case::of(1, 1_000_000), Case::of(100, 1_000_000), Case::of(1_000, 1_000_000)];
const RECORDS: [Case; 4] = [
    Case { groups: 20, ..Case::of(100, 10_000) },
    Case { groups: 10, ..Case::of(100, 100_000) },
    Case::of(100, 1_000_000),
    Case::of(100, 10_000_000),
];
/// A partition for each: of one alone a broker gives 2,000 records at a time (`group.share.partition.max.record.locks`), so that a
/// request costs more a record than one about many partitions, whoever has them.
const MEMBERS: [Case; 3] = [
    Case::of(1, 1_000_000),
    Case { members: 10, ..Case::of(10, 10_000_000) },
    Case { members: 100, ..Case::of(100, 10_000_000) },
];

/// What a case costs.
#[derive(Clone, Copy)]
struct Cost {
    cpu_ns_a_record: f64,
    /// Of the whole process at its peak.
    memory_kb: f64,
    /// Beyond what it had before it consumed anything.
    added_kb: f64,
}

fn run() -> Result<Verdict> {
    let bench = Bench::build("growth")?;
    let cluster = Cluster::start(&Options::default())?;
    let bootstrap = cluster.bootstrap();
    let mut topics: Vec<Case> = PARTITIONS.into_iter().chain(RECORDS).chain(MEMBERS).collect();
    topics.sort_by_key(|case| (case.partitions, case.records));
    topics.dedup_by_key(|case| case.topic());
    for case in topics {
        let (partitions, records) = (case.partitions.to_string(), case.records.to_string());
        let fill = ["fill", "--topic", &case.topic(), "--partitions", &partitions, "--records", &records];
        bench.run(&mut growth(bench, &bootstrap, &fill))?;
    }
    let mut verdict = Verdict::default();
    let partitions = measure(bench, &bootstrap, &PARTITIONS)?;
    judge("partitions", &PARTITIONS.map(|case| case.partitions.into()), &partitions, &mut verdict);
    let records = measure(bench, &bootstrap, &RECORDS)?;
    judge("records", &RECORDS.map(|case| case.records), &records, &mut verdict);
    let mut members = measure(bench, &bootstrap, &MEMBERS)?;
    for (case, cost) in MEMBERS.iter().zip(&mut members) {
        cost.memory_kb = cost.added_kb / f64::from(case.members);
    }
    judge("members", &MEMBERS.map(|case| case.members.into()), &members, &mut verdict);
    Ok(verdict)
}

fn growth(bench: Bench, bootstrap: &str, arguments: &[&str]) -> Command {
    let mut command = bench.command();
    command.args(["--bootstrap-server", bootstrap]).args(arguments);
    command
}

/// The least that each case costs.
fn measure(bench: Bench, bootstrap: &str, cases: &[Case]) -> Result<Vec<Cost>> {
    cases
        .iter()
        .map(|case| {
            let costs = (0..TIMES).map(|_| consume(bench, bootstrap, *case)).collect::<Result<Vec<Cost>>>()?;
            let least = |of: fn(&Cost) -> f64| costs.iter().map(of).fold(f64::INFINITY, f64::min);
            Ok(Cost {
                cpu_ns_a_record: least(|cost| cost.cpu_ns_a_record),
                memory_kb: least(|cost| cost.memory_kb),
                added_kb: least(|cost| cost.added_kb),
            })
        })
        .collect()
}

fn consume(bench: Bench, bootstrap: &str, case: Case) -> Result<Cost> {
    let (records, members, groups) = (case.records.to_string(), case.members.to_string(), case.groups.to_string());
    let group = format!("growth-{}", crate::random::u64());
    println!("{} partitions:", case.partitions);
    let mut command = growth(
        bench,
        bootstrap,
        &[
            "consume",
            "--topic",
            &case.topic(),
            "--records",
            &records,
            "--members",
            &members,
            "--times",
            &groups,
            "--group",
            &group,
        ],
    );
    let result = bench.figures(&mut command)?;
    let number = |name: &str| result[name].as_f64().with_context(|| format!("there is no figure `{name}`"));
    Ok(Cost {
        cpu_ns_a_record: number("cpu_ns_per_record")?,
        memory_kb: number("peak_kb")?,
        added_kb: number("added_kb")?,
    })
}

/// Compares each with the smallest.
fn judge(axis: &str, sizes: &[u64], costs: &[Cost], verdict: &mut Verdict) {
    for (what, of) in [
        ("cpu_ns", (|cost| cost.cpu_ns_a_record) as fn(&Cost) -> f64),
        (if axis == "members" { "kb_a_member" } else { "kb" }, |cost| cost.memory_kb),
    ] {
        let values: Vec<f64> = costs.iter().map(of).collect();
        let shown: Vec<String> = values.iter().map(|value| format!("{value:.1}")).collect();
        verdict.figure(&format!("{axis}_{what}"), shown.join("/"));
        for (size, value) in sizes.iter().zip(&values).skip(1) {
            let claim = format!("{what} with {size} {axis} is within {MOST} times that with {}", sizes[0]);
            verdict.require(*value <= MOST * values[0], claim);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_grows_too_much_is_named() {
        let cost = |cpu_ns_a_record, memory_kb| Cost { cpu_ns_a_record, memory_kb, added_kb: 0.0 };
        let mut verdict = Verdict::default();
        judge("records", &[10, 100], &[cost(10.0, 100.0), cost(13.0, 90.0)], &mut verdict);
        assert!(verdict.holds());
        judge("records", &[10, 100], &[cost(10.0, 100.0), cost(13.1, 131.0)], &mut verdict);
        assert!(!verdict.holds());
        let text = verdict.to_string();
        assert!(text.contains("cpu_ns with 100 records") && text.contains("kb with 100 records"), "{text}");
    }
}
