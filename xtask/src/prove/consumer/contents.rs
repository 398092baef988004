//! A topic of committed and aborted transactions, read as Kafka's console consumer reads it.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::kafka::{Cluster, Options};
use crate::process::Process;
use crate::prove::support::program::Program;
use crate::prove::verdict::Verdict;
use crate::{process, workspace};

const PARTITIONS: &str = "3";
const LIMIT: Duration = Duration::from_secs(120);

pub(super) fn prove(program: &Program, verdict: &mut Verdict) -> Result<()> {
    let cluster = Cluster::start(&Options { fast: true, ..Options::default() })?;
    let tools = cluster.tools();
    tools.create_topic("contents", 3)?;
    let source = workspace::root().join("testdata/gen/Transactions.java");
    let committed = write(&cluster, &source)?;

    let mut ours = program.command(&["read", tools.bootstrap(), "contents", PARTITIONS]);
    let (ours, _) = Process::finish("our consumer", &mut ours, LIMIT)?;
    let all = committed.to_string();
    let arguments = [
        "--topic",
        "contents",
        "--from-beginning",
        "--isolation-level",
        "read_committed",
        "--max-messages",
        &all,
        "--timeout-ms",
        "60000",
        "--formatter-property",
        "print.partition=true",
        "--formatter-property",
        "print.offset=true",
    ];
    let javas = tools.run("consumer.ConsoleConsumer", &arguments)?;
    let plain = |text: &str| text.lines().map(|line| line.replace("Partition:", "").replace("Offset:", "")).collect();
    let (ours, javas): (BTreeSet<String>, BTreeSet<String>) = (plain(&ours), plain(&javas));
    verdict.figure("committed", committed);
    verdict.figure("read_committed_ours", ours.len());
    verdict.figure("read_committed_java", javas.len());
    let differ: Vec<_> = ours.symmetric_difference(&javas).take(3).collect();
    verdict.require(differ.is_empty(), format!("both read the same records; {differ:?} differ"));
    verdict.require(ours.len() == committed, "all that was committed is read");
    Ok(())
}

/// Fills the topic. Gives how many records were committed.
fn write(cluster: &Cluster, source: &Path) -> Result<usize> {
    let mut java = cluster.tools().java();
    java.arg(source).args([&*cluster.bootstrap(), "contents", "500", "12", "4", PARTITIONS]);
    process::output(&mut java)?.trim().parse().context("Transactions.java prints a number")
}
