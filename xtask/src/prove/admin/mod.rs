//! Each call of the admin client on a real Kafka of three brokers, beside Kafka's own tools: what a call changes a tool has to show, and what a tool
//! shows a call has to say.

mod access;
mod calls;
mod cluster;
mod configs;
mod groups;
mod partitions;
mod records;
mod share;
mod stage;
mod table;
mod topics;
mod transactions;

use anyhow::Result;

use super::Proof;
use super::support::bench::Bench;
use super::verdict::Verdict;
use crate::kafka::{Cluster, Options};
use stage::Stage;

pub(super) const PROOF: Proof = Proof {
    name: "admin",
    shows: "each call of the admin client on a real Kafka: what it changes Kafka's own tools show, and what they show it says",
    run,
};

/// What is done and compared, in order: later ones find what earlier ones left.
type Step = fn(&mut Stage) -> Result<()>;

const STEPS: [(&str, Step); 15] = [
    ("topics", topics::created_listed_deleted),
    ("partitions", partitions::added),
    ("leaders", partitions::moved_and_elected),
    ("records", records::found_and_deleted),
    ("configs", configs::changed_and_described),
    ("config_resources", configs::listed),
    ("consumer_groups", groups::described_with_members),
    ("consumer_group_offsets", groups::offsets),
    ("share_groups", share::described_with_members),
    ("share_group_offsets", share::offsets),
    ("acls", access::rules),
    ("scram", access::credentials),
    ("features", cluster::features),
    ("transactions", transactions::listed_described_aborted),
    ("brokers", cluster::brokers),
];

fn run() -> Result<Verdict> {
    let bench = Bench::build("admin")?;
    // A leader stays where it is until it is told to move.
    let config = vec![("auto.leader.rebalance.enable".to_owned(), "false".to_owned())];
    let options = Options { brokers: 3, fast: true, heap: "500m".to_owned(), config, ..Options::default() };
    let mut stage = Stage::new(bench, Cluster::start(&options)?);

    let mut verdict = Verdict::default();
    let mut failed = 0;
    for (name, step) in STEPS {
        println!("{name}");
        if let Err(error) = step(&mut stage) {
            failed += 1;
            verdict.require(false, format!("{name}: {error:#}"));
        }
    }
    let all = calls::public()?;
    let missing: Vec<_> = all.iter().filter(|call| !stage.calls().contains(*call)).cloned().collect();
    verdict.figure("calls", format!("{}/{}", all.len() - missing.len(), all.len()));
    verdict.figure("tools", stage.tools_used());
    verdict.figure("comparisons", stage.comparisons());
    verdict.figure("differences", failed);
    verdict.require(missing.is_empty(), format!("these calls are made too: {}", missing.join(", ")));
    Ok(verdict)
}
