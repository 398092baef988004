//! A report for people.

use std::fmt::Write;

use super::{CaseReport, Report, Subject, Verdict};
use crate::broker::BrokerInfo;

pub(super) fn report(report: &Report) -> String {
    format!(
        "{} passed, {} failed, {} not offered, in {:.1} s: {}\n",
        report.count(Verdict::Passed),
        report.count(Verdict::Failed),
        report.count(Verdict::NotOffered),
        report.took.as_secs_f64(),
        match &report.subject {
            Subject::Broker(info) => broker(info),
            Subject::Client { command } => command.clone(),
        },
    )
}

fn broker(broker: &BrokerInfo) -> String {
    let features: Vec<_> = broker.features.iter().map(|(name, level)| format!("{name}={level}")).collect();
    format!(
        "{} ({} broker{}; {})",
        broker.bootstrap_servers,
        broker.nodes.len(),
        if broker.nodes.len() == 1 { "" } else { "s" },
        features.join(", "),
    )
}

pub(super) fn case(case: &CaseReport) -> String {
    let name = format!("{} {}", case.group, case.name);
    match case.verdict {
        Verdict::Passed => format!("passed       {name} ({} ms)", case.took.as_millis()),
        Verdict::NotOffered => format!("not offered  {name}: {}", case.got),
        Verdict::Failed => failed(&name, case),
    }
}

fn failed(name: &str, case: &CaseReport) -> String {
    let mut text = format!("FAILED       {name} ({} ms)", case.took.as_millis());
    let mut part = |title: &str, what: &str| {
        // Everything into a String can be written.
        let _ = write!(text, "\n  {title}: {}", what.replace('\n', "\n    "));
    };
    part("rule", case.rule);
    part("source", case.source);
    if let Some(note) = case.note {
        part("note", note);
    }
    part("sent", if case.sent.is_empty() { "(only what the case takes for granted)" } else { &case.sent });
    part("expected", &case.expected);
    part("got", &case.got);
    text
}
