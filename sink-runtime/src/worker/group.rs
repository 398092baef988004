//! What must hold before a task joins its group: the cluster has share groups, the topics exist, the group's name is free, and the group has
//! the settings that the connector asks for.

use std::collections::BTreeMap;

use ackflow_client::{
    Admin, ClientError,
    admin::{ConfigChange, ConfigEntry, ConfigResource, ConfigSource},
};

use ackflow_protocol::wire::ErrorCode;

use crate::config::{ConfigProblem, ConnectorConfig, GroupSetting};

/// What the tasks have to know about their group.
#[derive(Debug, Clone, Copy)]
pub(super) struct GroupFacts {
    pub(super) delivery_limit: i16,
    /// How many records of a partition are locked at most.
    pub(super) record_locks: u64,
}

/// Why a group cannot be used.
#[derive(Debug)]
pub(super) enum GroupError {
    /// The configuration does not fit the cluster.
    Problems(Vec<ConfigProblem>),
    /// The cluster did not answer.
    Client(ClientError),
}

impl From<ClientError> for GroupError {
    fn from(error: ClientError) -> Self {
        Self::Client(error)
    }
}

const LIMIT: &str = "share.delivery.count.limit";
const LOCKS: &str = "share.partition.max.record.locks";
const RENEW: &str = "share.renew.acknowledge.enable";

/// Kafka's defaults, where the group's settings cannot be read.
const DEFAULT_LIMIT: i16 = 5;
const DEFAULT_LOCKS: u64 = 2_000;

/// Checks the cluster, the topics and the name of the group of a connector. Nothing is changed.
pub(super) async fn check(admin: &Admin, connector: &ConnectorConfig) -> Result<(), GroupError> {
    let group = &connector.share.group_id;
    check_cluster(admin, group).await?;
    let mut problems = check_topics(admin, &connector.topics).await?;
    problems.extend(check_name(admin, group).await);
    if problems.is_empty() { Ok(()) } else { Err(GroupError::Problems(problems)) }
}

/// Gives the group of a connector the settings that are asked for, and tells what its tasks have to know.
pub(super) async fn configure(admin: &Admin, connector: &ConnectorConfig) -> Result<GroupFacts, GroupError> {
    let group = &connector.share.group_id;
    let mut problems = Vec::new();
    let mut entries = match read(admin, group).await {
        Ok(entries) => entries,
        Err(error) if error.is_retriable() => return Err(error.into()),
        Err(error) => {
            tracing::warn!("{error}: the settings of the group are taken to be Kafka's defaults");
            BTreeMap::new()
        }
    };
    for setting in &connector.share.group_settings {
        match apply(admin, group, setting, entries.get(setting.name)).await {
            Ok(None) => {}
            Ok(Some(entry)) => drop(entries.insert(setting.name.to_owned(), entry)),
            Err(problem) => problems.push(problem),
        }
    }
    if value(&entries, RENEW) == Some("false") {
        tracing::warn!("group {group} has {RENEW}=false: a put that takes longer than the lock is delivered again");
    }
    if problems.is_empty() {
        let delivery_limit = parsed(&entries, LIMIT).unwrap_or(DEFAULT_LIMIT);
        Ok(GroupFacts { delivery_limit, record_locks: parsed(&entries, LOCKS).unwrap_or(DEFAULT_LOCKS) })
    } else {
        Err(GroupError::Problems(problems))
    }
}

/// The group's delivery limit.
pub(super) async fn delivery_limit(admin: &Admin, group: &str) -> Result<i16, ClientError> {
    Ok(parsed(&read(admin, group).await?, LIMIT).unwrap_or(DEFAULT_LIMIT))
}

async fn read(admin: &Admin, group: &str) -> Result<BTreeMap<String, ConfigEntry>, ClientError> {
    let resource = ConfigResource::group(group);
    admin.describe_configs([resource.clone()]).await?.remove(&resource).unwrap_or_else(|| Ok(BTreeMap::new()))
}

fn value<'a>(entries: &'a BTreeMap<String, ConfigEntry>, name: &str) -> Option<&'a str> {
    entries.get(name)?.value.as_deref()
}

fn parsed<T: std::str::FromStr>(entries: &BTreeMap<String, ConfigEntry>, name: &str) -> Option<T> {
    value(entries, name)?.parse().ok()
}

/// Share groups are on if the finalized feature says so; the broker lists their APIs either way.
async fn check_cluster(admin: &Admin, group: &str) -> Result<(), GroupError> {
    let version = admin.features().await?.get("share.version").copied().unwrap_or(0);
    if version >= 1 {
        return Ok(());
    }
    Err(GroupError::Problems(vec![ConfigProblem::new(
        "share.group.id",
        Some(group),
        format!(
            "share groups are off on the cluster of {}: its feature share.version is 0, or it is older than Kafka 4.2",
            admin.bootstrap_servers()
        ),
        "switch them on: kafka-features.sh --bootstrap-server <broker> upgrade --feature share.version=1",
    )]))
}

async fn check_topics(admin: &Admin, topics: &[String]) -> Result<Vec<ConfigProblem>, ClientError> {
    let described = admin.describe_topics(topics.iter().cloned()).await?;
    let problem = |(topic, result): (String, Result<_, ClientError>)| {
        let error = result.err()?;
        let cluster = admin.bootstrap_servers();
        let problem = match error.code() {
            Some(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION) => format!("does not exist on the cluster of {cluster}"),
            _ => format!("the cluster of {cluster} says {}", error.reason()),
        };
        Some(ConfigProblem::new("topics", Some(&topic), problem, "check the name, or create the topic"))
    };
    Ok(described.into_iter().filter_map(problem).collect())
}

/// A name is taken if a group of another kind has it. Where groups may not be listed, the broker will say so later.
async fn check_name(admin: &Admin, group: &str) -> Option<ConfigProblem> {
    let groups = admin.list_groups(&[]).await.unwrap_or_default();
    let other = groups.iter().find(|listing| listing.group_id == group)?;
    let is_other = !other.group_type.is_empty() && !other.group_type.eq_ignore_ascii_case("share");
    is_other.then(|| {
        let problem = format!("is the name of a {} group", other.group_type.to_ascii_lowercase());
        ConfigProblem::new("share.group.id", Some(group), problem, "choose another name, or delete that group")
    })
}

/// Sees to it that the group has a setting; gives the entry that was made.
async fn apply(
    admin: &Admin,
    group: &str,
    setting: &GroupSetting,
    entry: Option<&ConfigEntry>,
) -> Result<Option<ConfigEntry>, ConfigProblem> {
    let current = entry.and_then(|entry| entry.value.as_deref());
    if current == Some(&setting.value) {
        return Ok(None);
    }
    let key = setting.key.unwrap_or(setting.name);
    let by_hand = format!(
        "kafka-configs.sh --bootstrap-server <broker> --alter --entity-type groups --entity-name {group} --add-config {}={}",
        setting.name, setting.value
    );
    match entry {
        Some(entry) if entry.source == ConfigSource::GROUP => {
            let own = current.unwrap_or_default();
            if setting.key.is_none() {
                tracing::info!("group {group} has {}={own} of its own, which is kept", setting.name);
                return Ok(None);
            }
            let problem = format!("the group {group} has {}={own} of its own", setting.name);
            let remedy = format!("remove the key, or change the group: {by_hand}");
            return Err(ConfigProblem::new(key, Some(&setting.value), problem, remedy));
        }
        None if setting.key.is_none() => return Ok(None),
        _ => {}
    }
    let resource = ConfigResource::group(group);
    let changes = vec![ConfigChange::set(setting.name, setting.value.clone())];
    let changed = match admin.alter_configs([(resource.clone(), changes)]).await {
        Ok(mut results) => results.remove(&resource).unwrap_or(Ok(())),
        Err(error) => Err(error),
    };
    let changed = match changed {
        // What the first fetch and the first lock of a group go by.
        Ok(()) => admin.await_configs(&resource, &[(setting.name, &setting.value)]).await,
        Err(error) => Err(error),
    };
    match changed {
        Ok(()) => {
            tracing::info!("group {group}: set {}={}", setting.name, setting.value);
            let value = Some(setting.value.clone());
            Ok(Some(ConfigEntry { value, source: ConfigSource::GROUP, read_only: false, sensitive: false }))
        }
        Err(error) => {
            let problem = match current {
                Some(current) => format!("the group {group} has {current}, and it cannot be set: {}", error.reason()),
                None => format!("it cannot be set on the group {group}: {}", error.reason()),
            };
            let remedy = format!("have it set by somebody who may: {by_hand}");
            Err(ConfigProblem::new(key, Some(&setting.value), problem, remedy))
        }
    }
}
