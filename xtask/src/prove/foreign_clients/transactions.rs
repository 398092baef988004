//! TransactionsCommand.

use std::process::Stdio;
use std::time::Duration;

use anyhow::{Result, ensure};

use super::stage::Stage;
use crate::process::Process;
use crate::prove::support::wait;

const TRANSACTIONS: &str = "TransactionsCommand";

pub(super) fn transactions(stage: &mut Stage) -> Result<()> {
    stage.asks("TopicCommand", &["--create", "--topic", "open"])?;
    let states = |stage: &mut Stage| {
        let printed = stage.quietly(TRANSACTIONS, &["list"])?;
        let mut rows: Vec<[String; 2]> = printed.lines().skip(1).map(|line| cells(line, [0, 3])).collect();
        rows.sort();
        anyhow::Ok(rows)
    };
    let row = |id: &str, state: &str| [id.to_owned(), state.to_owned()];
    ensure!(
        states(stage)? == [row("performance", "CompleteCommit")],
        "one transaction was there: {:?}",
        states(stage)?
    );

    // A transaction that lasts.
    let arguments = [
        "--topic",
        "open",
        "--num-records",
        "100000",
        "--record-size",
        "10",
        "--throughput",
        "20",
        "--transactional-id",
        "lasting",
        "--transaction-duration-ms",
        "600000",
        "--command-property",
        "transaction.timeout.ms=700000",
    ];
    let mut producer = stage.command("ProducerPerformance", &arguments);
    let producer = Process::start("ProducerPerformance", producer.stdout(Stdio::null()).stderr(Stdio::null()))?;
    let both = [row("lasting", "Ongoing"), row("performance", "CompleteCommit")];
    wait::until("an ongoing transaction", Duration::from_secs(30), || Ok(states(stage)? == both))?;
    said(stage, &["list"], [0, 1, 3])?;
    said(stage, &["list", "--duration-filter", "600000"], [0, 1, 3])?;
    said(stage, &["list", "--transactional-id-pattern", "l.*"], [0, 1, 3])?;
    said(stage, &["describe", "--transactional-id", "lasting"], [0, 1, 3, 4, 5, 8])?;
    said(stage, &["describe-producers", "--topic", "open", "--partition", "0"], [1, 2, 5])?;
    said(stage, &["find-hanging", "--topic", "open"], [0, 1, 5])?;
    said(stage, &["find-hanging", "--broker-id", "1"], [0, 1, 5])?;

    // The producer dies, and its transaction is ended from outside, by a producer of that id that comes and goes.
    { producer }.kill()?;
    said(stage, &["forceTerminateTransaction", "--transactionalId", "lasting"], [])?;
    let both = [row("lasting", "Empty"), row("performance", "CompleteCommit")];
    wait::until("a transaction that was ended", Duration::from_secs(30), || Ok(states(stage)? == both))?;
    said(stage, &["describe", "--transactional-id", "lasting"], [0, 1, 4, 8])?;
    said(stage, &["describe-producers", "--topic", "open", "--partition", "0"], [2, 3, 5])?;
    stage.refused(TRANSACTIONS, &["describe", "--transactional-id", "nothing"])?;
    stage.refused(TRANSACTIONS, &["abort", "--topic", "open", "--partition", "0", "--start-offset", "7"])?;
    Ok(())
}

/// These columns of what the tool prints go into the transcript, in an order of their own: ids of producers depend on who came before.
fn said<const N: usize>(stage: &mut Stage, arguments: &[&str], columns: [usize; N]) -> Result<()> {
    let printed = stage.quietly(TRANSACTIONS, arguments)?;
    stage.say(format!("$ {TRANSACTIONS} {}", arguments.join(" ")));
    let mut rows: Vec<String> = printed.lines().map(|line| cells(line, columns).join(" ")).collect();
    rows.sort();
    rows.into_iter().for_each(|row| stage.say(row));
    Ok(())
}

fn cells<const N: usize>(line: &str, columns: [usize; N]) -> [String; N] {
    let cells: Vec<&str> = line.split('\t').map(str::trim).collect();
    columns.map(|column| (*cells.get(column).unwrap_or(&"")).to_owned())
}
