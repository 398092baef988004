//! Configurations, beside ConfigCommand.

use std::collections::BTreeSet;

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use super::stage::{Stage, text};

/// By kind: a name, a setting of ours, one of Kafka's.
const SETTINGS: [(&str, &str, &str, (&str, &str)); 4] = [
    ("topics", "t", "retention.ms=70000", ("segment.ms", "80000")),
    ("groups", "configured", "share.auto.offset.reset=earliest", ("share.delivery.count.limit", "7")),
    ("client-metrics", "configured", "interval.ms=5000", ("metrics", "org.apache.kafka.consumer.")),
    ("brokers", "1", "log.cleaner.backoff.ms=600", ("log.cleaner.threads", "2")),
];

pub(super) fn changed_and_described(stage: &mut Stage) -> Result<()> {
    for (kind, name, ours, (key, value)) in SETTINGS {
        let of = ["--entity-type", kind, "--entity-name", name];
        let describe = [&["--describe"], &of[..]].concat();
        stage.done("validate_configs", &[kind, name, ours])?;
        let printed = stage.tool("ConfigCommand", &describe)?;
        ensure!(!printed.contains(ours), "a change that was only to be validated was made:\n{printed}");
        stage.done("alter_configs", &[kind, name, ours])?;
        if ["topics", "groups"].contains(&kind) {
            stage.done("await_configs", &[kind, name, ours])?;
        }
        stage.shows("ConfigCommand", &describe, &[ours])?;
        let add = format!("{key}={value}");
        stage.tool("ConfigCommand", &[&["--alter"], &of[..], &["--add-config", &add]].concat())?;
        let resource = resource(kind, name);
        let is_so = |all: &Value| text(&all[&resource][key]["value"]) == value;
        stage.says("describe_configs", &[kind, name], &add, is_so)?;
        let (ours, _) = ours.split_once('=').unwrap_or((ours, ""));
        stage.done("alter_configs", &[kind, name, ours])?;
        stage.hides("ConfigCommand", &describe, &format!("  {ours}="))?;
    }
    loggers(stage)
}

fn resource(kind: &str, name: &str) -> String {
    let kind = match kind {
        "topics" => "topic",
        "groups" => "group",
        "brokers" => "broker",
        other => return format!("{} {name}", other.replace('-', " ")),
    };
    format!("{kind} {name}")
}

/// The levels of loggers are changed by ours and read by both.
fn loggers(stage: &mut Stage) -> Result<()> {
    let logger = "kafka.request.logger";
    stage.done("alter_configs", &["broker-loggers", "1", &format!("{logger}=ERROR")])?;
    let describe = ["--describe", "--entity-type", "broker-loggers", "--entity-name", "1"];
    stage.shows("ConfigCommand", &describe, &[&format!("{logger}=ERROR")])?;
    let is_so = |all: &Value| text(&all["the loggers of broker 1"][logger]["value"]) == "ERROR";
    stage.says("describe_configs", &["broker-loggers", "1"], "the level of the logger", is_so).map(drop)
}

pub(super) fn listed(stage: &mut Stage) -> Result<()> {
    for (kind, code, printed_as) in
        [("groups", 32, "group"), ("client-metrics", 16, "client-metric"), ("topics", 2, "topic")]
    {
        let ours = |stage: &mut Stage| {
            let all = stage.ours("list_config_resources", &[])?;
            let of_kind = all.as_array().into_iter().flatten().filter(|resource| resource[0] == json!(code));
            Ok(of_kind.map(|resource| text(&resource[1])).collect::<BTreeSet<_>>())
        };
        let kafkas = |stage: &mut Stage| {
            let printed = stage.tool("ConfigCommand", &["--describe", "--entity-type", kind])?;
            let prefix = format!("Dynamic configs for {printed_as} ");
            let names = printed.lines().filter_map(|line| line.strip_prefix(&prefix)?.strip_suffix(" are:"));
            Ok(names.map(str::to_owned).collect())
        };
        stage.same(&format!("the list of {kind} that have a configuration"), ours, kafkas)?;
    }
    Ok(())
}
