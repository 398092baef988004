//! A report as one document of JSON.

use serde_json::{Value, json};

use super::{CaseReport, Report, Subject};
use crate::broker::BrokerInfo;

pub(super) fn report(report: &Report) -> String {
    let cases: Vec<_> = report.cases.iter().map(case).collect();
    let mut document = json!({
        "millis": millis(report.took),
        "cases": cases,
    });
    match &report.subject {
        Subject::Broker(info) => document["broker"] = broker(info),
        Subject::Client { command } => document["client"] = json!({ "command": command }),
    }
    if let Some(cases) = &report.gone {
        document["gone"] = json!({ "underWay": cases });
    }
    format!("{document}\n")
}

fn broker(broker: &BrokerInfo) -> Value {
    let api = |(key, (from, to)): (&i16, &(i16, i16))| json!({"apiKey": key, "minVersion": from, "maxVersion": to});
    json!({
        "bootstrapServers": broker.bootstrap_servers,
        "clusterId": broker.cluster_id,
        "nodes": broker.nodes,
        "features": broker.features,
        "apis": broker.apis.iter().map(api).collect::<Vec<_>>(),
    })
}

fn case(case: &CaseReport) -> Value {
    let mut value = json!({
        "name": case.name,
        "group": case.group,
        "verdict": case.verdict.name(),
        "rule": case.rule,
        "source": case.source,
        "sent": case.sent,
        "expected": case.expected,
        "got": case.got,
        "millis": millis(case.took),
    });
    if let Some(note) = case.note {
        value["note"] = note.into();
    }
    value
}

fn millis(took: std::time::Duration) -> u64 {
    u64::try_from(took.as_millis()).unwrap_or(u64::MAX)
}
