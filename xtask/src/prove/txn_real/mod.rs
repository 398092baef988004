//! Transactions on a real Kafka: what a reader of committed records sees is what producers were told, whatever happens to them.

mod ledger;
mod many;
mod states;

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};

use self::ledger::Ledger;
use super::Proof;
use super::support::program::Program;
use super::verdict::Verdict;
use crate::kafka::{Cluster, Options, Tools};
use crate::process::Process;

pub(super) const PROOF: Proof = Proof {
    name: "txn-real",
    shows: "transactions on a real Kafka: aborts, fencing, time-outs, kill -9 in each state and 10,000 in a row with random kills, as Java reads them",
    run,
};

const PATIENCE: Duration = Duration::from_secs(60);

/// Where a producer is tried.
struct Stage<'a> {
    program: Program,
    tools: Tools,
    folder: &'a Path,
    ledger: Ledger,
    /// The number of the next transaction.
    next: u64,
}

impl Stage<'_> {
    /// Starts a producer that keeps this journal.
    fn start(&self, mode: &str, id: &str, journal: &str, arguments: &[&str]) -> Result<Process> {
        let path = self.folder.join(journal);
        let path = path.to_str().context("the path is not UTF-8")?;
        let arguments = [&[mode, self.tools.bootstrap(), id, path], arguments].concat();
        Process::start(format!("producer {id}"), &mut self.program.command(&arguments))
    }

    fn journal(&self, journal: &str) -> String {
        std::fs::read_to_string(self.folder.join(journal)).unwrap_or_default()
    }

    fn number(&mut self) -> u64 {
        self.next += 1;
        self.next - 1
    }
}

fn run() -> Result<Verdict> {
    let config = [
        ("transaction.abort.timed.out.transaction.cleanup.interval.ms", "500"),
        ("offsets.topic.num.partitions", "1"),
        ("transaction.state.log.num.partitions", "1"),
    ];
    let config = config.map(|(key, value)| (key.to_owned(), value.to_owned())).to_vec();
    let program = Program::build("transact")?;
    let cluster = Cluster::start(&Options { fast: true, config, ..Options::default() })?;
    let tools = cluster.tools();
    for (topic, partitions) in [("left", 3), ("right", 1), ("source", 1)] {
        tools.create_topic(topic, partitions)?;
    }
    let folder = tempfile::tempdir()?;
    let mut stage = Stage { program, tools, folder: folder.path(), ledger: Ledger::default(), next: 0 };
    let mut verdict = Verdict::default();
    states::prove(&mut stage, &mut verdict)?;
    many::prove(&mut stage, &mut verdict)?;
    for topic in ["left", "right"] {
        let arguments =
            ["--topic", topic, "--from-beginning", "--isolation-level", "read_committed", "--timeout-ms", "15000"];
        stage.ledger.read(&stage.tools.run("consumer.ConsoleConsumer", &arguments)?)?;
    }
    stage.ledger.judge(&mut verdict);
    Ok(verdict)
}
