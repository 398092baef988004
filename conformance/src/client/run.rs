//! Plays situations, some at a time.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use tokio::task::{JoinSet, LocalSet};

use super::select::Selection;
use super::situation::Situation;
use super::stage::{Mode, Stage};
use crate::report::{CaseReport, Report, Subject, Verdict};
use crate::stop::{Outcome, Stop};

/// How long a situation may take.
const LIMIT: Duration = Duration::from_secs(300);

/// What is played, and how.
#[derive(Debug, Clone)]
pub struct Options {
    /// Which situations.
    pub selection: Selection,
    /// How many are played at a time.
    pub jobs: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self { selection: Selection::default(), jobs: 8 }
    }
}

/// Plays situations to the client whose shim `command` starts, a line for `sh -c`, and tells each verdict to `told` as it is known. Each has a broker and a
/// process of its own.
///
/// Cancel-safe: dropping it ends the brokers and the processes. All situations share the caller's thread, so the future cannot move to another one.
///
/// # Errors
/// Where the shim does not start: then nothing was played, and nothing is known of the client.
pub async fn run(command: &str, options: &Options, mut told: impl FnMut(&CaseReport)) -> Result<Report, NoShim> {
    let playing = async {
        starts(command).await?;
        Ok(play_all(command, options, &mut told).await)
    };
    LocalSet::new().run_until(playing).await
}

/// The shim does not start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoShim(String);

impl std::fmt::Display for NoShim {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the shim does not start: {}", self.0)
    }
}

impl std::error::Error for NoShim {}

/// Sees that the command is a shim at all.
async fn starts(command: &str) -> Result<(), NoShim> {
    let mut stage = Stage::new(command.to_owned());
    let outcome = async {
        stage.broker().await?;
        stage.client(Mode::Implicit).await.map(drop)
    }
    .await;
    let record = stage.end().await;
    match outcome {
        // A client that lacks a mode is one all the same.
        Ok(()) | Err(Stop::NotOffered(_)) => Ok(()),
        Err(Stop::Failed { expected, got }) => {
            Err(NoShim(format!("expected: {expected}; got: {got}; it told: {}", record.told.trim_end())))
        }
    }
}

async fn play_all(command: &str, options: &Options, told: &mut impl FnMut(&CaseReport)) -> Report {
    let began = Instant::now();
    let mut waiting: VecDeque<_> = options.selection.situations().collect();
    let mut cases = Vec::new();
    let mut running = JoinSet::new();
    loop {
        while running.len() < options.jobs.max(1)
            && let Some(situation) = waiting.pop_front()
        {
            running.spawn_local(play(situation, command.to_owned()));
        }
        match running.join_next().await {
            None => break,
            Some(Ok(report)) => {
                told(&report);
                cases.push(report);
            }
            // Nothing aborts it, so that it panicked: a fault of the suite, which must not look like a verdict.
            Some(Err(error)) => std::panic::resume_unwind(error.into_panic()),
        }
    }
    let order = |report: &CaseReport| options.selection.situations().position(|played| played.name() == report.name);
    cases.sort_by_key(order);
    Report { subject: Subject::Client { command: command.to_owned() }, cases, gone: None, took: began.elapsed() }
}

async fn play(situation: &'static Situation, command: String) -> CaseReport {
    let mut stage = Stage::new(command);
    let began = Instant::now();
    let outcome: Outcome = match tokio::time::timeout(LIMIT, (situation.play)(&stage)).await {
        Ok(outcome) => outcome,
        Err(_) => Err(Stop::failed(
            format!("the situation ends within {} s", LIMIT.as_secs()),
            "it was still under way; see what was told last",
        )),
    };
    let took = began.elapsed();
    let record = stage.end().await;
    let (verdict, expected, got) = match outcome {
        Ok(()) => (Verdict::Passed, record.held, record.told),
        Err(Stop::NotOffered(what)) => (Verdict::NotOffered, String::new(), what),
        Err(Stop::Failed { expected, got }) => (Verdict::Failed, expected, format!("{got}\ntold:\n{}", record.told)),
    };
    CaseReport {
        name: situation.name(),
        group: situation.group.name(),
        verdict,
        rule: situation.rule,
        source: situation.source,
        note: situation.note,
        sent: record.sent,
        expected,
        got,
        took,
    }
}
