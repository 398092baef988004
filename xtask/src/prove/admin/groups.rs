//! Consumer groups, beside GroupsCommand, ConsumerGroupCommand and Kafka's own consumer.

use std::collections::BTreeSet;
use std::process::Stdio;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::stage::{Stage, text};
use super::table::rows;
use crate::process::Process;

const COMMAND: &str = "consumer.group.ConsumerGroupCommand";

pub(super) fn described_with_members(stage: &mut Stage) -> Result<()> {
    stage.ours("create_topics", &["consumed", "1:2,2:3,3:1"])?;
    for (group, protocol) in [("new", "consumer"), ("old", "classic")] {
        let property = format!("group.protocol={protocol}");
        let arguments = ["--topic", "consumed", "--group", group, "--command-property", &property];
        let mut consumer = stage.tools().tool("consumer.ConsoleConsumer", &arguments);
        let mut consumer = Process::start("ConsoleConsumer", consumer.stdout(Stdio::null()).stderr(Stdio::null()))?;
        let has_all = |described: &Value| {
            let members = described[group]["members"].as_array();
            members.is_some_and(|m| m.len() == 1 && m[0]["assignment"].as_array().is_some_and(|p| p.len() == 3))
        };
        let described = stage.says("describe_consumer_groups", &[group], "a member with three partitions", has_all)?;
        ensure!(described[group]["classic"] == (protocol == "classic"), "{described}");
        same_members(stage, group)?;
        same_state(stage, group)?;
        consumer.kill()?;
    }
    same_list(stage)
}

/// Both sides say the same of the members: id, client, host, how many partitions.
fn same_members(stage: &mut Stage, group: &str) -> Result<()> {
    let ours = |stage: &mut Stage| {
        let described = stage.ours("describe_consumer_groups", &[group])?;
        let members = described[group]["members"].as_array().context("members")?.clone();
        Ok(members.iter().map(member).collect::<BTreeSet<_>>())
    };
    let kafkas = |stage: &mut Stage| {
        let printed = stage.tool(COMMAND, &["--describe", "--group", group, "--members"])?;
        let columns = ["CONSUMER-ID", "CLIENT-ID", "HOST", "#PARTITIONS"];
        Ok(rows(&printed, "GROUP").iter().map(|row| columns.map(|column| row[column].to_owned())).collect())
    };
    let members = stage.same(&format!("the members of group {group}"), ours, kafkas)?;
    ensure!(members.len() == 1, "{members:?}");
    Ok(())
}

pub(super) fn member(member: &Value) -> [String; 4] {
    let partitions = member["assignment"].as_array().map_or(0, Vec::len).to_string();
    [text(&member["member_id"]), text(&member["client_id"]), text(&member["host"]), partitions]
}

/// Both sides say the same of the coordinator, the assignor, the state and the number of members.
fn same_state(stage: &mut Stage, group: &str) -> Result<()> {
    let ours = |stage: &mut Stage| {
        let described = stage.ours("describe_consumer_groups", &[group])?;
        let of_group = &described[group];
        let members = of_group["members"].as_array().map_or(0, Vec::len);
        let coordinator = format!("({})", of_group["coordinator"]);
        Ok([coordinator, text(&of_group["assignor"]), text(&of_group["state"]), members.to_string()])
    };
    let kafkas = |stage: &mut Stage| {
        let printed = stage.tool(COMMAND, &["--describe", "--group", group, "--state"])?;
        let rows = rows(&printed, "GROUP");
        let row = rows.first().context("the group has a row")?;
        Ok(["(ID)", "ASSIGNMENT-STRATEGY", "STATE", "#MEMBERS"].map(|column| row[column].to_owned()))
    };
    stage.same(&format!("the state of group {group}"), ours, kafkas).map(drop)
}

/// Both sides list the same groups, of the same types.
pub(super) fn same_list(stage: &mut Stage) -> Result<()> {
    let ours = |stage: &mut Stage| {
        let listed = stage.ours("list_groups", &[])?;
        let listed = listed.as_object().context("groups by id")?.clone();
        let group = |(id, group): (String, Value)| [id, text(&group["type"]).to_lowercase()];
        Ok(listed.into_iter().map(group).collect::<BTreeSet<_>>())
    };
    let kafkas = |stage: &mut Stage| {
        let printed = stage.tool("GroupsCommand", &["--list"])?;
        Ok(rows(&printed, "GROUP").iter().map(|row| [row["GROUP"].to_owned(), row["TYPE"].to_lowercase()]).collect())
    };
    stage.same("the list of groups", ours, kafkas).map(drop)
}

pub(super) fn offsets(stage: &mut Stage) -> Result<()> {
    stage.ours("create_topics", &["committed", "1:2,2:3"])?;
    stage.tools().produce("committed", 100, 10, -1)?;
    stage.done("alter_consumer_group_offsets", &["offsets", "committed", "0", "3"])?;
    let to = ["--reset-offsets", "--group", "offsets", "--topic", "committed:1", "--to-earliest", "--execute"];
    stage.tool(COMMAND, &to)?;
    let described = same_offsets(stage)?;
    ensure!(described.len() == 2, "{described:?}");
    ensure!(
        described.iter().any(|[partition, committed, ..]| partition == "committed-0" && committed == "3"),
        "{described:?}"
    );
    let listed = stage.ours("list_consumer_group_offsets", &["offsets"])?;
    ensure!(listed == serde_json::json!({ "committed-0": 3, "committed-1": 0 }), "{listed}");

    stage.done("delete_consumer_group_offsets", &["offsets", "committed", "0"])?;
    ensure!(same_offsets(stage)?.len() == 1, "the offset of committed-0 is gone");
    same_list(stage)?;
    stage.done("delete_groups", &["offsets"])?;
    stage.hides("GroupsCommand", &["--list"], "offsets ")?;
    same_list(stage)
}

/// Both sides say the same of the offsets: partition, committed, end, lag.
fn same_offsets(stage: &mut Stage) -> Result<BTreeSet<[String; 4]>> {
    let ours = |stage: &mut Stage| {
        let said = stage.ours("consumer_group_lag", &["offsets"])?;
        let said = said.as_object().context("lags by partition")?.clone();
        let lag = |(partition, lag): (String, Value)| {
            [partition, text(&lag["committed"]), text(&lag["end"]), text(&lag["lag"])]
        };
        Ok(said.into_iter().map(lag).collect())
    };
    let kafkas = |stage: &mut Stage| {
        let printed = stage.tool(COMMAND, &["--describe", "--group", "offsets"])?;
        let rows = rows(&printed, "GROUP");
        let row = |row: &std::collections::BTreeMap<&str, &str>| {
            let cell = |column: &str| row[column].to_owned();
            let partition = format!("{}-{}", row["TOPIC"], row["PARTITION"]);
            [partition, cell("CURRENT-OFFSET"), cell("LOG-END-OFFSET"), cell("LAG")]
        };
        Ok(rows.iter().map(row).collect())
    };
    stage.same("the offsets of a consumer group", ours, kafkas)
}
