//! Members of a group, all in one process.

use std::cell::Cell;
use std::rc::Rc;
use std::time::{Duration, Instant};

use ackflow_benches::begin_at_start;
use ackflow_client::share::{OwnedShareConsumer, ShareConsumerConfig};
use ackflow_client::{Admin, ClientConfig};
use anyhow::{Context, Result, ensure};
use serde_json::json;
use tokio::sync::Notify;
use tokio::task::LocalSet;

use crate::usage::{cpu, peak_memory};

/// What does not get on for so long hangs.
const STALL: Duration = Duration::from_secs(60);
const COMMIT: Duration = Duration::from_secs(30);

#[derive(clap::Args)]
pub(crate) struct Args {
    #[arg(long)]
    topic: String,
    /// How many records the topic has.
    #[arg(long)]
    records: u64,
    #[arg(long, default_value_t = 1)]
    members: usize,
    /// How many groups consume it, one after the other.
    #[arg(long, default_value_t = 1)]
    times: u32,
    /// What the names of the groups begin with.
    #[arg(long)]
    group: String,
}

/// What it took one group, from its first record to the last answer about one.
struct Spent {
    cpu: Duration,
    time: Duration,
    polls: u64,
}

/// What all members of a group have in common.
struct Progress {
    wanted: u64,
    taken: Cell<u64>,
    /// CPU time and time at the first record.
    began: Cell<Option<(Duration, Instant)>>,
    polls: Cell<u64>,
    done: Notify,
}

impl Progress {
    fn took(&self, records: u64) {
        if self.began.get().is_none() {
            self.began.set(Some((cpu(), Instant::now())));
        }
        self.polls.set(self.polls.get() + 1);
        self.taken.set(self.taken.get() + records);
        if self.is_done() {
            self.done.notify_waiters();
        }
    }

    fn is_done(&self) -> bool {
        self.taken.get() >= self.wanted
    }
}

pub(crate) async fn run(bootstrap: &str, args: Args) -> Result<()> {
    let before = peak_memory()?;
    let (mut spent, mut seconds, mut polls) = (Duration::ZERO, 0.0, 0);
    for number in 0..args.times {
        let group = format!("{}-{number}", args.group);
        let group_spent = consume(bootstrap, &args, &group).await?;
        spent += group_spent.cpu;
        seconds += group_spent.time.as_secs_f64();
        polls += group_spent.polls;
    }
    let records = args.records * u64::from(args.times);
    let peak = peak_memory()?;
    println!(
        "{}",
        json!({
            "records": records, "members": args.members, "polls": polls, "seconds": seconds,
            "cpu_ns_per_record": spent.as_nanos() as f64 / records as f64,
            "peak_kb": peak / 1024, "added_kb": (peak - before) / 1024,
        })
    );
    Ok(())
}

async fn consume(bootstrap: &str, args: &Args, group: &str) -> Result<Spent> {
    let admin = Admin::new(ClientConfig::new(bootstrap)?);
    begin_at_start(&admin, group).await?;
    let progress = Rc::new(Progress {
        wanted: args.records,
        taken: Cell::new(0),
        began: Cell::new(None),
        polls: Cell::new(0),
        done: Notify::new(),
    });
    let members = LocalSet::new();
    let mut running = Vec::new();
    for _ in 0..args.members {
        let mut consumer = OwnedShareConsumer::new(ShareConsumerConfig::builder(bootstrap, group).build()?)?;
        consumer.subscribe([&args.topic])?;
        running.push(members.spawn_local(member(consumer, Rc::clone(&progress))));
    }
    let consumers = members
        .run_until(async {
            let mut consumers = Vec::new();
            for member in running {
                consumers.push(member.await??);
            }
            anyhow::Ok(consumers)
        })
        .await?;
    ensure!(progress.taken.get() == args.records, "{} records came, not {}", progress.taken.get(), args.records);
    let (began, at) = progress.began.get().context("there was no record")?;
    let spent = Spent { cpu: cpu() - began, time: at.elapsed(), polls: progress.polls.get() };
    // Leaving is not what is measured, but it has to go well.
    let closing = consumers.into_iter().map(|consumer| consumer.close(COMMIT));
    for closing in closing.map(tokio::spawn).collect::<Vec<_>>() {
        closing.await??;
    }
    Ok(spent)
}

/// Polls and accepts until the group has everything.
async fn member(mut consumer: OwnedShareConsumer, progress: Rc<Progress>) -> Result<OwnedShareConsumer> {
    let mut stalls_at = Instant::now() + STALL;
    while !progress.is_done() {
        let before = progress.taken.get();
        tokio::select! {
            delivery = consumer.poll(Duration::from_secs(1)) => {
                if let Some(delivery) = delivery? {
                    progress.took(delivery.len() as u64);
                    drop(delivery.accept());
                }
            }
            () = progress.done.notified() => {}
        }
        if progress.taken.get() > before {
            stalls_at = Instant::now() + STALL;
        }
        ensure!(Instant::now() < stalls_at, "nothing comes any more at {} records", progress.taken.get());
    }
    let results = consumer.commit_sync(COMMIT).await?;
    ensure!(results.first_error().is_none(), "accepting failed: {results:?}");
    Ok(consumer)
}
