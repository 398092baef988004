//! ConsoleShareConsumer, VerifiableShareConsumer and ShareConsumerPerformance.

use std::time::Duration;

use anyhow::{Result, ensure};

use super::consumers::column;
use super::producers::{RECORDS, VERIFIABLE, events};
use super::stage::Stage;
use crate::kafka::Tools;
use crate::prove::support::wait;

pub(super) fn console(stage: &mut Stage) -> Result<()> {
    let limit = RECORDS.to_string();
    for (group, decision) in [("accepting", &[][..]), ("rejecting", &["--reject"])] {
        stage.read_from_the_start(group)?;
        let arguments = ["--topic", VERIFIABLE, "--group", group, "--max-messages", &limit, "--timeout-ms", "60000"];
        let printed = stage.counts("consumer.ConsoleShareConsumer", &[&arguments[..], decision].concat())?;
        let records = printed.lines().filter(|line| line.starts_with("7.")).count() as u64;
        stage.is("records read", records, RECORDS)?;
        left(stage, group, 0)?;
    }
    // What is released comes again, to the last attempt that a record has.
    stage.read_from_the_start("releasing")?;
    let shows = ["--formatter-property", "print.delivery=true", "--formatter-property", "print.offset=true"];
    let arguments = ["--topic", "typed", "--group", "releasing", "--release", "--timeout-ms", "10000"];
    let printed = stage.counts("consumer.ConsoleShareConsumer", &[&arguments[..], &shows].concat())?;
    let count = printed.lines().filter(|line| line.contains("Delivery:")).count() as u64;
    // Three records, five times each.
    stage.is("deliveries", count, 15)?;
    left(stage, "releasing", 0)
}

pub(super) fn verifiable(stage: &mut Stage) -> Result<()> {
    let limit = RECORDS.to_string();
    for mode in ["auto", "sync", "async"] {
        let group = format!("verifiable-{mode}");
        let arguments = ["--topic", VERIFIABLE, "--group-id", &group, "--acknowledgement-mode", mode];
        let end = ["--max-messages", &limit, "--offset-reset-strategy", "earliest"];
        let events = events(&stage.counts("VerifiableShareConsumer", &[&arguments[..], &end].concat())?);
        for name in ["records_consumed", "offsets_acknowledged"] {
            let of_name = events.iter().filter(|event| event["name"] == name);
            ensure!(of_name.clone().all(|event| event["success"] != false), "an acknowledgement failed: {events:?}");
            let count: u64 = of_name.filter_map(|event| event["count"].as_u64()).sum();
            stage.is(name, count, RECORDS)?;
        }
        left(stage, &group, 0)?;
    }
    Ok(())
}

pub(super) fn performance(stage: &mut Stage) -> Result<()> {
    stage.read_from_the_start("measured")?;
    let limit = RECORDS.to_string();
    let arguments = ["--topic", "fast", "--group", "measured", "--num-records", &limit, "--timeout", "60000"];
    let printed = stage.counts("ShareConsumerPerformance", &arguments)?;
    let count = column(&printed, "data.consumed.in.nMsg")?;
    stage.is("records read", count, RECORDS)?;
    left(stage, "measured", 0)
}

/// Waits until a group has so much left to do: what a consumer decided last may still be on its way.
pub(super) fn left(stage: &mut Stage, group: &str, records: u64) -> Result<()> {
    wait::until(&format!("{group} has {records} records left"), Duration::from_secs(60), || {
        let printed = stage.quietly("consumer.group.ShareGroupCommand", &["--describe", "--group", group])?;
        Ok(Tools::lag_in(&printed)? == Some(records))
    })?;
    stage.say(format!("{group} has {records} left"));
    Ok(())
}
