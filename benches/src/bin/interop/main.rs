//! ackflow as one of the peers of `cargo xtask prove records-interop`. `testdata/interop/README.md` says what `write` and `read` take
//! and print; the other commands are ours alone.

mod batches;
mod lines;
mod log;
mod read;
mod share;
mod topics;
mod transactions;
mod write;

use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum};

/// Write and read records as a script says.
#[derive(Parser)]
struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Create the topics of a file, one JSON object a line: topic, partitions, configs.
    Create { bootstrap: String, topics: PathBuf },
    /// Do what a script says.
    Write { bootstrap: String, script: PathBuf },
    /// Print the records of the partitions of a plan.
    Read { bootstrap: String, plan: PathBuf, isolation: Isolation },
    /// Print the batches of the partitions of a plan.
    Batches { bootstrap: String, plan: PathBuf },
    /// Print what a share group gets of the topics of a plan, which is so many records.
    Share { bootstrap: String, plan: PathBuf, isolation: Isolation, records: usize },
}

/// Whether records of transactions that are open or were aborted are left out.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Isolation {
    #[value(name = "read_committed")]
    Committed,
    #[value(name = "read_uncommitted")]
    Uncommitted,
}

impl Isolation {
    /// As the settings of Kafka call it.
    fn name(self) -> &'static str {
        match self {
            Self::Committed => "read_committed",
            Self::Uncommitted => "read_uncommitted",
        }
    }
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let mut out = BufWriter::new(io::stdout().lock());
    match Args::parse().command {
        Command::Create { bootstrap, topics } => topics::create(&bootstrap, &topics).await?,
        Command::Write { bootstrap, script } => write::run(&bootstrap, &script).await?,
        Command::Read { bootstrap, plan, isolation } => read::run(&bootstrap, &plan, isolation, &mut out).await?,
        Command::Batches { bootstrap, plan } => batches::run(&bootstrap, &plan, &mut out).await?,
        Command::Share { bootstrap, plan, isolation, records } => {
            share::run(&bootstrap, &plan, isolation, records, &mut out).await?;
        }
    }
    Ok(out.flush()?)
}
