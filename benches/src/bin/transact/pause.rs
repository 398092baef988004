//! One transaction that stops on the way, so that its process can be killed there.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use clap::ValueEnum;

use super::journal::Journal;
use super::transaction::{Who, send, send_offset};

/// Run transaction `number` as far as `at`, write that down, and sleep; then go on to commit it.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    who: Who,
    journal: PathBuf,
    number: u64,
    at: State,
    /// How long.
    #[arg(long, default_value_t = 3_600_000)]
    sleep_ms: u64,
}

/// How far a transaction may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum State {
    /// The producer has its id and epoch.
    Initialized,
    /// Nothing is sent.
    Begun,
    /// The records are in batches.
    Buffered,
    /// The leaders have the records.
    Written,
    /// The group's coordinator has the offset.
    Offsets,
    /// The commit is on its way, and its answer is not waited for.
    Committing,
    /// The abort is on its way.
    Aborting,
}

pub(crate) async fn run(args: Args) -> Result<()> {
    Journal::keep(&args.journal, async |journal| transact(&args, journal).await).await
}

async fn transact(args: &Args, journal: &mut Journal) -> Result<()> {
    let producer = args.who.producer().await?;
    let sleep = Duration::from_millis(args.sleep_ms);
    let mut reached = async |state: State| {
        if args.at == state {
            journal.note(&format!("at {state:?}"))?;
            tokio::time::sleep(sleep).await;
        }
        anyhow::Ok(())
    };
    reached(State::Initialized).await?;
    producer.begin_transaction()?;
    reached(State::Begun).await?;
    send(&producer, args.number).await?;
    reached(State::Buffered).await?;
    producer.flush().await?;
    reached(State::Written).await?;
    send_offset(&producer, args.number).await?;
    reached(State::Offsets).await?;
    if args.at == State::Aborting {
        // It goes on whether or not anybody waits.
        let _ = tokio::time::timeout(Duration::ZERO, producer.abort_transaction()).await;
        reached(State::Aborting).await?;
    }
    let _ = tokio::time::timeout(Duration::ZERO, producer.commit_transaction()).await;
    reached(State::Committing).await?;
    producer.commit_transaction().await?;
    journal.note(&format!("committed {}", args.number))?;
    Ok(())
}
