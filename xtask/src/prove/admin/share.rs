//! Share groups, beside ShareGroupCommand and Kafka's own share consumer.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Stdio;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::groups::{member, same_list};
use super::stage::{Stage, text};
use super::table::rows;
use crate::process::Process;

const COMMAND: &str = "consumer.group.ShareGroupCommand";

pub(super) fn described_with_members(stage: &mut Stage) -> Result<()> {
    stage.ours("create_topics", &["shared", "1:2,2:3"])?;
    let arguments = ["--topic", "shared", "--group", "sharing"];
    let mut consumer = stage.tools().tool("consumer.ConsoleShareConsumer", &arguments);
    let mut consumer = Process::start("ConsoleShareConsumer", consumer.stdout(Stdio::null()).stderr(Stdio::null()))?;
    let has_all = |described: &Value| {
        let members = described["sharing"]["members"].as_array();
        members.is_some_and(|m| m.len() == 1 && m[0]["assignment"].as_array().is_some_and(|p| p.len() == 2))
    };
    stage.says("describe_share_groups", &["sharing"], "a member with two partitions", has_all)?;
    let ours = |stage: &mut Stage| {
        let described = stage.ours("describe_share_groups", &["sharing"])?;
        let members = described["sharing"]["members"].as_array().context("members")?.clone();
        let without_count = |m: &Value| {
            let [id, client, host, _] = member(m);
            [id, client, host]
        };
        Ok(members.iter().map(without_count).collect::<BTreeSet<_>>())
    };
    let kafkas = |stage: &mut Stage| {
        let printed = stage.tool(COMMAND, &["--describe", "--group", "sharing", "--members"])?;
        let columns = ["CONSUMER-ID", "CLIENT-ID", "HOST"];
        Ok(rows(&printed, "GROUP").iter().map(|row| columns.map(|column| row[column].to_owned())).collect())
    };
    stage.same("the members of a share group", ours, kafkas)?;
    let ours = |stage: &mut Stage| {
        let described = stage.ours("describe_share_groups", &["sharing"])?;
        let of_group = &described["sharing"];
        let members = of_group["members"].as_array().map_or(0, Vec::len);
        Ok([format!("({})", of_group["coordinator"]), text(&of_group["state"]), members.to_string()])
    };
    let kafkas = |stage: &mut Stage| {
        let printed = stage.tool(COMMAND, &["--describe", "--group", "sharing", "--state"])?;
        let rows = rows(&printed, "GROUP");
        let row = rows.first().context("the group has a row")?;
        Ok(["(ID)", "STATE", "#MEMBERS"].map(|column| row[column].to_owned()))
    };
    stage.same("the state of a share group", ours, kafkas)?;
    consumer.kill()?;
    same_list(stage)
}

pub(super) fn offsets(stage: &mut Stage) -> Result<()> {
    stage.ours("create_topics", &["delivered", "1:2"])?;
    stage.tools().produce("delivered", 100, 10, -1)?;
    stage.done("alter_share_group_offsets", &["settled", "delivered", "0", "40"])?;
    ensure!(
        same_offsets(stage)? == BTreeSet::from([["delivered-0".into(), "40".into(), "60".into()]]),
        "offset 40, lag 60"
    );
    let to = ["--reset-offsets", "--group", "settled", "--topic", "delivered", "--to-earliest", "--execute"];
    stage.tool(COMMAND, &to)?;
    ensure!(
        same_offsets(stage)? == BTreeSet::from([["delivered-0".into(), "0".into(), "100".into()]]),
        "offset 0, lag 100"
    );
    stage.done("delete_share_group_offsets", &["settled", "delivered"])?;
    ensure!(same_offsets(stage)?.is_empty(), "there are no offsets any more");
    stage.done("delete_groups", &["settled"])?;
    stage.hides("GroupsCommand", &["--list"], "settled ")
}

/// Both sides say the same of the offsets: partition, start, lag.
fn same_offsets(stage: &mut Stage) -> Result<BTreeSet<[String; 3]>> {
    let ours = |stage: &mut Stage| {
        let said = stage.ours("share_group_offsets", &["settled"])?;
        let offset =
            |o: &Value| [format!("{}-{}", text(&o["topic"]), o["partition"]), text(&o["start"]), text(&o["lag"])];
        Ok(said.as_array().into_iter().flatten().map(offset).collect())
    };
    let kafkas = |stage: &mut Stage| {
        let printed = stage.tool(COMMAND, &["--describe", "--group", "settled"])?;
        let row = |row: &BTreeMap<&str, &str>| {
            let partition = format!("{}-{}", row["TOPIC"], row["PARTITION"]);
            [partition, row["START-OFFSET"].to_owned(), row["LAG"].to_owned()]
        };
        // A group without offsets has no row, or one of dashes.
        let rows = rows(&printed, "GROUP");
        Ok(rows.iter().filter(|row| row.get("TOPIC").is_some_and(|topic| *topic != "-")).map(row).collect())
    };
    stage.same("the offsets of a share group", ours, kafkas)
}
