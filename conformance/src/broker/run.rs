//! Runs cases, many at a time.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use ackflow_client::{ClientConfig, ClientError};
use tokio::task::{JoinSet, LocalSet, spawn_local};

use super::case::Case;
use super::lab::{Lab, Outcome, Stop};
use super::select::Selection;
use super::target::Target;
use crate::report::{CaseReport, Report, Subject, Verdict};

/// What runs, and how.
#[derive(Debug, Clone)]
pub struct Options {
    /// Which cases.
    pub selection: Selection,
    /// How many run at a time.
    pub jobs: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self { selection: Selection::default(), jobs: 16 }
    }
}

/// Plays cases to the cluster that `config` names, and tells each verdict to `told` as it is known. Topics and groups of cases have names that begin
/// with `conformance-`, and are deleted behind each case.
///
/// Cancel-safe: dropping it ends what runs, and leaves its topics and groups behind. All cases share the caller's thread, which waits for brokers most of
/// the time; so the future cannot move to another thread.
///
/// # Errors
/// Where no broker of `bootstrap.servers` can be reached or says what it offers.
pub async fn run(
    config: &ClientConfig,
    options: &Options,
    mut told: impl FnMut(&CaseReport),
) -> Result<Report, ClientError> {
    let target = Arc::new(Target::find(config).await?);
    let cases = LocalSet::new();
    cases.run_until(play_all(target, options, &mut told)).await
}

async fn play_all(
    target: Arc<Target>,
    options: &Options,
    told: &mut impl FnMut(&CaseReport),
) -> Result<Report, ClientError> {
    let began = Instant::now();
    let (alone, mut beside): (VecDeque<&Case>, VecDeque<&Case>) =
        options.selection.cases().partition(|case| case.alone);
    let mut reports = Vec::new();
    let mut gone = None;
    let mut running = JoinSet::new();
    let mut under_way = BTreeSet::new();
    loop {
        while running.len() < options.jobs.max(1)
            && let Some(case) = beside.pop_front()
        {
            under_way.insert(case.name());
            running.spawn_local(play(case, Arc::clone(&target)));
        }
        let Some(done) = running.join_next().await else { break };
        keep(done, &mut reports, told);
        if died(&target, &reports).await {
            gone = Some(under_way.into_iter().collect());
            break;
        }
        if let Some(report) = reports.last() {
            under_way.remove(&report.name);
        }
    }
    // What is still under way can only say that nobody is there.
    drop(running);
    for case in alone.into_iter().take_while(|_| gone.is_none()).collect::<Vec<_>>() {
        keep(spawn_local(play(case, Arc::clone(&target))).await, &mut reports, told);
        if died(&target, &reports).await {
            gone = Some(vec![case.name()]);
            break;
        }
    }
    let order = |report: &CaseReport| options.selection.cases().position(|case| case.name() == report.name);
    reports.sort_by_key(order);
    Ok(Report { subject: Subject::Broker(target.info.clone()), cases: reports, gone, took: began.elapsed() })
}

/// Whether the case that was reported last has failed because there is no broker any more.
async fn died(target: &Target, reports: &[CaseReport]) -> bool {
    let failed = reports.last().is_some_and(|report| report.verdict == Verdict::Failed);
    failed && target.is_gone().await
}

fn keep(
    done: Result<CaseReport, tokio::task::JoinError>,
    reports: &mut Vec<CaseReport>,
    told: &mut impl FnMut(&CaseReport),
) {
    match done {
        Ok(report) => {
            told(&report);
            reports.push(report);
        }
        // Nothing aborts it, so that it panicked: a fault of the suite, which must not look like a verdict.
        Err(error) => std::panic::resume_unwind(error.into_panic()),
    }
}

async fn play(case: &'static Case, target: Arc<Target>) -> CaseReport {
    let lab = Lab::new(case.name(), target);
    let began = Instant::now();
    let limit = limit(&lab);
    let offered = if case.group.is_of_share_groups() { lab.needs_feature("share.version", 1) } else { Ok(()) };
    let steps = async {
        offered?;
        (case.run)(&lab).await
    };
    let outcome: Outcome = match tokio::time::timeout(limit, steps).await {
        Ok(outcome) => outcome,
        Err(_) => Err(Stop::failed(
            format!("the case ends within {} s", limit.as_secs()),
            "it was still waiting; see what was sent last",
        )),
    };
    let took = began.elapsed();
    let (sent, answers, held) = lab.take_record();
    lab.clean_up().await;
    let (verdict, expected, got) = match outcome {
        Ok(()) => (Verdict::Passed, held, answers),
        Err(Stop::NotOffered(what)) => (Verdict::NotOffered, String::new(), what),
        Err(Stop::Failed { expected, got }) => {
            let got = if answers.is_empty() { got } else { format!("{got}\nanswers:\n{answers}") };
            (Verdict::Failed, expected, got)
        }
    };
    CaseReport {
        name: case.name(),
        group: case.group.name(),
        verdict,
        rule: case.rule,
        source: case.source,
        note: case.note,
        sent,
        expected,
        got,
        took,
    }
}

/// How long a case may take: some wait for locks or sessions to end, a few times.
fn limit(lab: &Lab) -> Duration {
    let waits = lab.target.waits;
    Duration::from_secs(60) + 4 * waits.lock + 2 * waits.session
}
