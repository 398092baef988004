//! How long a process takes from its start to its first record.
//!
//! This program starts itself again as a member of a share group, and looks at the clock from before the spawn to when the member says that
//! it has a record. The records wait already: in an existing group that has no member, in a group that is new, and in one whose only member
//! was killed with records in its hands and comes back under its id.

mod member;
mod situations;

use std::time::Duration;

use clap::{Parser, Subcommand};
use serde_json::{Value, json};

/// Measure the time from the start of a process to the first record of its share consumer.
#[derive(Parser)]
struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Measure all situations.
    Measure {
        /// Addresses of the cluster.
        #[arg(long)]
        bootstrap_server: String,
        /// How often each situation is measured.
        #[arg(long, default_value_t = 10)]
        repetitions: u32,
    },
    /// Be the process that is measured.
    Member(member::Args),
}

fn main() -> anyhow::Result<()> {
    match Args::parse().command {
        Command::Member(args) => member::run(&args),
        Command::Measure { bootstrap_server, repetitions } => {
            let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
            runtime.block_on(measure(&bootstrap_server, repetitions))
        }
    }
}

async fn measure(bootstrap: &str, repetitions: u32) -> anyhow::Result<()> {
    let existing = situations::existing_group(bootstrap, repetitions).await?;
    println!("existing group  {}", existing.text());
    let new = situations::new_groups(bootstrap, repetitions).await?;
    println!("new group       {}", new.text());
    let killed = situations::after_a_kill(bootstrap, repetitions).await?;
    println!("after kill -9   {}", killed.text());
    println!("{}", json!({"existing_group": existing.json(), "new_group": new.json(), "after_kill": killed.json()}));
    Ok(())
}

/// What was measured of one situation.
struct Measured(Vec<Duration>);

impl Measured {
    fn median_and_worst(&self) -> (f64, f64) {
        let mut sorted = self.0.clone();
        sorted.sort_unstable();
        let ms = |time: Option<&Duration>| time.map_or(f64::NAN, |time| (time.as_secs_f64() * 10_000.0).round() / 10.0);
        (ms(sorted.get(sorted.len() / 2)), ms(sorted.last()))
    }

    fn text(&self) -> String {
        let (median, worst) = self.median_and_worst();
        format!("median {median} ms  worst {worst} ms  of {}", self.0.len())
    }

    fn json(&self) -> Value {
        let (median, worst) = self.median_and_worst();
        json!({"median_ms": median, "worst_ms": worst, "count": self.0.len()})
    }
}
