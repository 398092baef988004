//! A producer is killed, put to sleep too long, or fenced, in each state of a transaction; the next one of the same id goes on.

use std::time::{Duration, Instant};

use anyhow::Result;

use super::ledger::Fate;
use super::{PATIENCE, Stage};
use crate::prove::support::wait;
use crate::prove::verdict::Verdict;

const STATES: [&str; 7] = ["initialized", "begun", "buffered", "written", "offsets", "committing", "aborting"];
const ROUNDS: u32 = 3;

pub(super) fn prove(stage: &mut Stage<'_>, verdict: &mut Verdict) -> Result<()> {
    let mut longest = Duration::ZERO;
    for state in STATES {
        for _ in 0..ROUNDS {
            longest = longest.max(killed(stage, state)?);
        }
    }
    verdict.figure("killed_in_states", format!("{}x{ROUNDS}", STATES.len()));
    verdict.figure("next_producer_ms", longest.as_millis());
    verdict.require(longest < Duration::from_secs(5), "the next producer goes on within 5 s");

    let fenced = sleeps(stage, "fenced", &["--sleep-ms", "6000"], true)?;
    verdict.require(fenced.contains("has taken over"), format!("who is fenced is told so: {fenced}"));
    let late = sleeps(stage, "late", &["--sleep-ms", "6000", "--timeout-ms", "1500"], false)?;
    verdict.require(late.contains("transaction.timeout.ms=1500"), format!("who is late is told so: {late}"));
    Ok(())
}

/// A producer is killed in a state, and the next one of its id runs a transaction. Gives how long that took.
fn killed(stage: &mut Stage<'_>, state: &str) -> Result<Duration> {
    let (number, next) = (stage.number(), stage.number());
    let journal = format!("{state}-{number}");
    let mut process = stage.start("pause", "killed", &journal, &[&number.to_string(), state])?;
    wait::until(&format!("a producer is {state}"), PATIENCE, || Ok(stage.journal(&journal).contains("at ")))?;
    process.kill()?;
    // What was never to be committed must not count.
    stage.ledger.set(number, if state == "committing" { Fate::Unknown } else { Fate::Aborted });
    let began = Instant::now();
    let journal = format!("{state}-{next}");
    follow(stage, "killed", &journal, next)?;
    Ok(began.elapsed())
}

/// The next producer of an id commits one transaction.
pub(super) fn follow(stage: &mut Stage<'_>, id: &str, journal: &str, number: u64) -> Result<()> {
    // Neither the number that is aborted nor the one without an offset.
    let every = (number + 2).max(3).to_string();
    let (from, until) = (number.to_string(), (number + 1).to_string());
    stage.start("run", id, journal, &[&from, &until, "--abort-every", &every])?.success(PATIENCE)?;
    let text = stage.journal(journal);
    stage.ledger.take(&text)?;
    Ok(())
}

/// A producer sleeps with all of its transaction written, while, maybe, another one takes over. Gives what it was told when it woke.
fn sleeps(stage: &mut Stage<'_>, id: &str, arguments: &[&str], is_fenced: bool) -> Result<String> {
    let (number, next) = (stage.number(), stage.number());
    let journal = format!("{id}-{number}");
    let said = number.to_string();
    let arguments = [&[&*said, "offsets"][..], arguments].concat();
    let mut process = stage.start("pause", id, &journal, &arguments)?;
    wait::until("a producer sleeps", PATIENCE, || Ok(stage.journal(&journal).contains("at ")))?;
    if is_fenced {
        follow(stage, id, &format!("{id}-{next}"), next)?;
    }
    process.wait(PATIENCE)?;
    stage.ledger.set(number, Fate::Aborted);
    if !is_fenced {
        follow(stage, id, &format!("{id}-{next}"), next)?;
    }
    let told = stage.journal(&journal);
    Ok(told.lines().rev().find_map(|line| line.strip_prefix("error ")).unwrap_or_default().to_owned())
}
