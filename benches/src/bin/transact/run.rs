//! One transaction after the other, some of them aborted, until there are enough.

use std::path::PathBuf;

use ackflow_client::{ClientError, ErrorKind, Producer};
use anyhow::Result;

use super::journal::Journal;
use super::transaction::{Who, send, send_offset};

/// Run transactions `from` to `until`, and write down how each has ended.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    who: Who,
    journal: PathBuf,
    from: u64,
    until: u64,
    /// Every so many a transaction is aborted, and another has no offset.
    #[arg(long, default_value_t = 7)]
    abort_every: u64,
}

pub(crate) async fn run(args: Args) -> Result<()> {
    Journal::keep(&args.journal, async |journal| transact(&args, journal).await).await
}

async fn transact(args: &Args, journal: &mut Journal) -> Result<()> {
    let producer = args.who.producer().await?;
    journal.note("initialized")?;
    for number in args.from..args.until {
        producer.begin_transaction()?;
        journal.note(&format!("begun {number}"))?;
        let place = number % args.abort_every;
        let wanted = place != 0;
        match attempt(&producer, number, place != 1, wanted).await {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::Abortable => {
                journal.note(&format!("error {error}"))?;
                producer.abort_transaction().await?;
                journal.note(&format!("aborted {number}"))?;
                continue;
            }
            Err(error) => return Err(error.into()),
        }
        journal.note(&format!("{} {number}", if wanted { "committed" } else { "aborted" }))?;
    }
    Ok(producer.close().await?)
}

async fn attempt(producer: &Producer, number: u64, with_offset: bool, commits: bool) -> Result<(), ClientError> {
    send(producer, number).await?;
    if with_offset {
        send_offset(producer, number).await?;
    }
    if commits { producer.commit_transaction().await } else { producer.abort_transaction().await }
}
