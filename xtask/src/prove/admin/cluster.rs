//! The cluster, its features and versions, beside FeatureCommand, BrokerApiVersionsCommand, MetadataQuorumCommand and ClusterTool.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::stage::{Stage, text};

pub(super) fn features(stage: &mut Stage) -> Result<()> {
    same_features(stage)?;
    stage.done("validate_features", &["share.version", "1", "downgrade"])?;
    let refused = stage.ours("validate_features", &["share.version", "1", "upgrade"])?;
    ensure!(refused["share.version"] != true, "{refused}");
    ensure!(same_features(stage)?["share.version"][2] == "2", "what was only to be validated has changed nothing");
    stage.done("update_features", &["share.version", "1", "downgrade"])?;
    stage.says("features", &[], "share.version 1", |features| features["share.version"] == 1)?;
    ensure!(same_features(stage)?["share.version"][2] == "1", "the level has fallen");
    stage.tool("FeatureCommand", &["upgrade", "--feature", "share.version=2"])?;
    stage.says("features", &[], "share.version 2", |features| features["share.version"] == 2)?;
    same_features(stage).map(drop)
}

/// Both sides say the same of features: the lowest and highest level that is supported, and the one in force. The levels of `metadata.version` have
/// names, which the tool prints instead.
fn same_features(stage: &mut Stage) -> Result<BTreeMap<String, [String; 3]>> {
    let ours = |stage: &mut Stage| {
        let said = stage.ours("describe_features", &[])?;
        let supported = said["supported"].as_object().context("features by name")?.clone();
        let feature = |(name, range): (String, Value)| {
            let level = said["finalized"].get(&name).map_or_else(|| "0".to_owned(), text);
            (name, [text(&range[0]), text(&range[1]), level])
        };
        Ok(supported.into_iter().map(feature).filter(|(name, _)| name != "metadata.version").collect())
    };
    let kafkas = |stage: &mut Stage| {
        let printed = stage.tool("FeatureCommand", &["describe"])?;
        let feature = |line: &str| {
            let mut words = line.split_whitespace();
            let mut after = |name: &str| words.by_ref().skip_while(|word| *word != name).nth(1).map(str::to_owned);
            let name = after("Feature:")?;
            let [min, max] = [after("SupportedMinVersion:")?, after("SupportedMaxVersion:")?];
            Some((name, [min, max, after("FinalizedVersionLevel:")?]))
        };
        Ok(printed.lines().filter_map(feature).filter(|(name, _)| name != "metadata.version").collect())
    };
    let features: BTreeMap<String, [String; 3]> = stage.same("the features", ours, kafkas)?;
    ensure!(features.contains_key("share.version"), "{features:?}");
    Ok(features)
}

pub(super) fn brokers(stage: &mut Stage) -> Result<()> {
    let broker = |broker: &Value| {
        format!(
            "{}:{} (id: {} rack: null isFenced: {})",
            text(&broker["host"]),
            broker["port"],
            broker["id"],
            broker["fenced"]
        )
    };
    let ours = |stage: &mut Stage| {
        let cluster = stage.ours("describe_cluster", &[])?;
        Ok(cluster["brokers"].as_array().into_iter().flatten().map(broker).collect::<BTreeSet<_>>())
    };
    let kafkas = |stage: &mut Stage| {
        let printed = stage.tool("BrokerApiVersionsCommand", &[])?;
        Ok(printed.lines().filter_map(|line| line.strip_suffix(" -> (")).map(str::to_owned).collect())
    };
    let brokers = stage.same("the brokers", ours, kafkas)?;
    ensure!(brokers.len() == 3, "{brokers:?}");
    let id = |stage: &mut Stage| Ok(text(&stage.ours("describe_cluster", &[])?["cluster_id"]));
    let kafkas = |stage: &mut Stage| {
        let printed = stage.tool_first("ClusterTool", &["cluster-id"])?;
        Ok(printed.trim().rsplit(' ').next().unwrap_or_default().to_owned())
    };
    stage.same("the id of the cluster", id, kafkas)?;
    versions(stage)
}

/// Both sides say the same of what broker 1 supports.
fn versions(stage: &mut Stage) -> Result<()> {
    let ours = |stage: &mut Stage| {
        let said = stage.ours("api_versions", &["1"])?;
        let api =
            |(name, api): (&String, &Value)| format!("{name}({}): {}", api["key"], range(&api["from"], &api["to"]));
        Ok(said.as_object().context("versions by API")?.iter().map(api).collect::<BTreeSet<_>>())
    };
    let kafkas = |stage: &mut Stage| {
        let printed = stage.tool("BrokerApiVersionsCommand", &[])?;
        let of_first = printed.lines().skip_while(|line| !line.contains("(id: 1 ")).skip(1);
        let api = |line: &str| Some(line.trim().split(" [").next()?.to_owned());
        let apis = of_first.take_while(|line| *line != ")").filter_map(api);
        Ok(apis.filter(|api| !api.ends_with("UNSUPPORTED") && !api.ends_with("UNSUPPORTED,")).collect())
    };
    let apis = stage.same("the versions of broker 1", ours, kafkas)?;
    ensure!(apis.len() > 50, "{apis:?}");
    Ok(())
}

/// As the tool prints it.
fn range(from: &Value, to: &Value) -> String {
    if from == to { from.to_string() } else { format!("{from} to {to}") }
}
