//! Partitions, beside TopicCommand, ReassignPartitionsCommand and LeaderElectionCommand.

use anyhow::{Result, ensure};

use super::stage::{Stage, text};
use super::table::rows;
use super::topics::same_description;

pub(super) fn added(stage: &mut Stage) -> Result<()> {
    stage.done("validate_partitions", &["t", "9"])?;
    let refused = stage.ours("validate_partitions", &["t", "1"])?;
    ensure!(text(&refused["t"]).contains("INVALID_PARTITIONS"), "{refused}");
    stage.done("create_partitions", &["t", "4"])?;
    same_description(stage, "t", 4)
}

pub(super) fn moved_and_elected(stage: &mut Stage) -> Result<()> {
    let describe = ["--describe", "--topic", "led"];
    stage.ours("create_topics", &["led", "1:2"])?;
    stage.shows("TopicCommand", &describe, &["Leader: 1", "Replicas: 1,2"])?;
    // The same brokers in another order do not move the leader by themselves.
    stage.done("alter_partition_reassignments", &["led", "0", "2,1"])?;
    stage.shows("TopicCommand", &describe, &["Leader: 1", "Replicas: 2,1"])?;
    stage.done("elect_leaders", &["led", "0"])?;
    stage.shows("TopicCommand", &describe, &["Leader: 2"])?;
    let elect = ["--election-type", "preferred", "--topic", "led", "--partition", "0"];
    stage.shows("LeaderElectionCommand", &elect, &["Valid replica already elected for partitions led-0"])?;
    same_description(stage, "led", 1)?;

    // A move to a broker that is away goes on until it is stopped.
    stage.shows("reassign.ReassignPartitionsCommand", &["--list"], &["No partition reassignments found"])?;
    stage.cluster().kill(3)?;
    let moved = moving_to_the_dead(stage);
    stage.cluster().restart(3)?;
    moved
}

fn moving_to_the_dead(stage: &mut Stage) -> Result<()> {
    stage.says("describe_cluster_and_fenced", &[], "that broker 3 is fenced", |cluster| {
        cluster["brokers"].as_array().into_iter().flatten().any(|broker| broker["id"] == 3 && broker["fenced"] == true)
    })?;
    let endpoints = stage.tool_first("ClusterTool", &["list-endpoints", "--include-fenced-brokers"])?;
    let is_fenced = rows(&endpoints, "ID").iter().any(|row| row["ID"] == "3" && row["STATE"] == "fenced");
    ensure!(is_fenced, "{endpoints}");
    stage.done("alter_partition_reassignments", &["led", "0", "2,3"])?;
    let moves =
        stage.says("list_partition_reassignments", &[], "a move of led-0", |moves| moves["led-0"].is_object())?;
    ensure!(moves["led-0"]["adding"] == serde_json::json!([3]), "{moves}");
    ensure!(moves["led-0"]["removing"] == serde_json::json!([1]), "{moves}");
    let list = ["--list"];
    stage.shows("reassign.ReassignPartitionsCommand", &list, &["led-0: replicas: ", "adding: 3.", "removing: 1."])?;
    stage.done("alter_partition_reassignments", &["led", "0", "cancel"])?;
    stage.shows("reassign.ReassignPartitionsCommand", &list, &["No partition reassignments found"])?;
    stage.says("list_partition_reassignments", &[], "no move", |moves| {
        moves.as_object().is_some_and(|m| m.is_empty())
    })?;
    Ok(())
}
