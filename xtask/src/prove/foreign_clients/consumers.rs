//! ConsoleConsumer, ConsumerPerformance and VerifiableConsumer, of both group protocols.

use anyhow::{Context, Result, ensure};

use super::producers::{RECORDS, VERIFIABLE, events};
use super::stage::Stage;

/// Kafka's two protocols of consumer groups.
pub(super) const PROTOCOLS: [&str; 2] = ["classic", "consumer"];

pub(super) fn console(stage: &mut Stage) -> Result<()> {
    let limit = RECORDS.to_string();
    for protocol in PROTOCOLS {
        let (group, protocol) = (format!("console-{protocol}"), format!("group.protocol={protocol}"));
        let arguments = ["--topic", VERIFIABLE, "--group", &group, "--command-property", &protocol, "--from-beginning"];
        let end = ["--max-messages", &limit, "--timeout-ms", "60000"];
        let printed = stage.counts("consumer.ConsoleConsumer", &[&arguments[..], &end].concat())?;
        let records: Vec<&str> = printed.lines().filter(|line| line.starts_with("7.")).collect();
        stage.is("records read", records.len() as u64, RECORDS)?;
        let in_order = records.iter().enumerate().all(|(index, record)| *record == format!("7.{index}"));
        ensure!(in_order, "the records come in the order in which they were written");
    }
    // Without a limit it ends when nothing comes any more, so that it counts what there is.
    let arguments =
        ["--topic", "atomic", "--partition", "0", "--offset", "earliest", "--isolation-level", "read_committed"];
    let printed = stage.counts("consumer.ConsoleConsumer", &[&arguments[..], &["--timeout-ms", "15000"]].concat())?;
    let said = format!("Processed a total of {RECORDS} messages");
    ensure!(printed.contains(&said), "`{said}` is not in what it printed of the records of transactions");
    let shows = ["--formatter-property", "print.key=true", "--formatter-property", "print.offset=true"];
    let arguments = ["--topic", "typed", "--partition", "0", "--offset", "1", "--max-messages", "2"];
    let printed = stage.asks("consumer.ConsoleConsumer", &[&arguments[..], &shows].concat())?;
    let lines: Vec<&str> = printed.lines().take(2).collect();
    ensure!(lines == ["Offset:1\tb\t2", "Offset:2\ta\t3"], "it printed {lines:?}");
    Ok(())
}

pub(super) fn performance(stage: &mut Stage) -> Result<()> {
    let limit = RECORDS.to_string();
    for protocol in PROTOCOLS {
        let (group, protocol) = (format!("performance-{protocol}"), format!("group.protocol={protocol}"));
        let arguments =
            ["--topic", "fast", "--group", &group, "--num-records", &limit, "--command-property", &protocol];
        let printed = stage.counts("ConsumerPerformance", &[&arguments[..], &["--timeout", "60000"]].concat())?;
        let count = column(&printed, "data.consumed.in.nMsg")?;
        stage.is("records read", count, RECORDS)?;
    }
    Ok(())
}

/// The number in a column of the only row that a performance tool prints.
pub(super) fn column(printed: &str, name: &str) -> Result<u64> {
    let mut lines = printed.lines().skip_while(|line| !line.starts_with("start.time"));
    let header = lines.next().context("it prints a header")?;
    let at = header.split(", ").position(|column| column == name).with_context(|| format!("a column {name}"))?;
    let row = lines.next().context("it prints a row")?;
    let cell = row.split(", ").nth(at).context("the row has this column")?;
    cell.parse().with_context(|| format!("it printed `{row}`"))
}

pub(super) fn verifiable(stage: &mut Stage) -> Result<()> {
    let limit = RECORDS.to_string();
    for protocol in PROTOCOLS {
        let group = format!("verifiable-{protocol}");
        let arguments = ["--topic", VERIFIABLE, "--group-id", &group, "--group-protocol", protocol];
        let end = ["--max-messages", &limit, "--reset-policy", "earliest"];
        let events = events(&stage.counts("VerifiableConsumer", &[&arguments[..], &end].concat())?);
        let of = |name: &'static str| events.iter().filter(move |event| event["name"] == name);
        let read: u64 = of("records_consumed").filter_map(|event| event["count"].as_u64()).sum();
        stage.is("records read", read, RECORDS)?;
        let committed = of("offsets_committed").filter(|event| event["success"] == true);
        let last = { committed }.next_back().and_then(|event| event["offsets"][0]["offset"].as_u64());
        stage.is("committed", last.unwrap_or_default(), RECORDS)?;
        for name in ["partitions_assigned", "partitions_revoked"] {
            let partitions: usize = of(name).filter_map(|event| event["partitions"].as_array()).map(Vec::len).sum();
            stage.is(name, partitions as u64, 1)?;
        }
    }
    Ok(())
}
