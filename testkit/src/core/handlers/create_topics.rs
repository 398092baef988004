//! CreateTopics.

use std::collections::{BTreeMap, BTreeSet};

use ackflow_protocol::messages::create_topics::{
    CreatableReplicaAssignment, CreatableTopic, CreatableTopicConfigs, CreatableTopicResult, CreateTopicsRequest,
    CreateTopicsResponse,
};
use ackflow_protocol::wire::{ErrorCode, Uuid};

use super::describe_configs::{self, Described};
use crate::core::Cluster;
use crate::core::configs::{Values, topic};
use crate::core::dispatch::RequestContext;

/// The most partitions that a request can create.
pub(super) const MAX_PARTITIONS: i32 = 10_000;

/// A topic that was created, or would have been.
pub(crate) struct Created {
    /// Its id.
    pub(crate) id: Uuid,
    /// Its partitions.
    pub(crate) partitions: i32,
    /// The replicas of each.
    replicas: usize,
}

type Refusal = (ErrorCode, String);

pub(crate) fn handle(
    cluster: &mut Cluster,
    _: &RequestContext<'_>,
    request: CreateTopicsRequest,
) -> CreateTopicsResponse {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for topic in &request.topics {
        *seen.entry(topic.name.clone()).or_default() += 1;
    }
    let mut answered = BTreeSet::new();
    let mut topics = Vec::new();
    let mut left = MAX_PARTITIONS;
    for topic in request.topics {
        if seen[&topic.name] > 1 {
            if answered.insert(topic.name.clone()) {
                topics.push(refused(topic.name, ErrorCode::INVALID_REQUEST, "Duplicate topic name.".to_owned()));
            }
            continue;
        }
        let name = topic.name.clone();
        topics.push(match create_one(cluster, topic, left, request.validate_only) {
            Ok(created) => {
                left -= created.num_partitions;
                created
            }
            Err((code, message)) => refused(name, code, message),
        });
    }
    CreateTopicsResponse { topics, ..CreateTopicsResponse::default() }
}

fn refused(name: String, error_code: ErrorCode, message: String) -> CreatableTopicResult {
    CreatableTopicResult {
        name,
        error_code,
        error_message: Some(message),
        configs: Some(Vec::new()),
        ..CreatableTopicResult::default()
    }
}

/// Replicas that the client chose, the preferred leader first, by partition; `None` leaves it to the cluster.
type Placement = Option<Vec<Vec<i32>>>;

fn create_one(
    cluster: &mut Cluster,
    asked: CreatableTopic,
    most_partitions: i32,
    validate_only: bool,
) -> Result<CreatableTopicResult, Refusal> {
    let (partitions, placement) = check_placement(cluster, &asked)?;
    check_count(partitions, most_partitions)?;
    let placement = match (placement, usize::try_from(asked.replication_factor)) {
        (None, Ok(factor)) => Some(cluster.place(0, partitions_or_default(cluster, partitions), factor)),
        (placement, _) => placement,
    };
    let mut values = Values::new();
    for config in asked.configs {
        if let Some(value) = config.value {
            values.insert(config.name, value);
        }
    }
    let created = create(cluster, &asked.name, partitions, placement, values.clone(), validate_only)?;
    let configs = describe_configs::topic(&values, &cluster.config)
        .map(|Described { def, value, source, .. }| CreatableTopicConfigs {
            name: def.name.to_owned(),
            value: Some(value.to_owned()),
            read_only: false,
            config_source: source as i8,
            is_sensitive: false,
        })
        .collect();
    Ok(CreatableTopicResult {
        name: asked.name,
        topic_id: created.id,
        num_partitions: created.partitions,
        replication_factor: i16::try_from(created.replicas).unwrap_or(i16::MAX),
        configs: Some(configs),
        ..CreatableTopicResult::default()
    })
}

/// Checks replicas; gives the number of partitions that is asked for, -1 for the default, and where they are to be.
fn check_placement(cluster: &Cluster, asked: &CreatableTopic) -> Result<(i32, Placement), Refusal> {
    let alive = cluster.nodes.registered_count();
    if asked.assignments.is_empty() {
        return match asked.replication_factor {
            -1 => Ok((asked.num_partitions, None)),
            factor @ 1.. if usize::try_from(factor).is_ok_and(|factor| factor <= alive) => {
                Ok((asked.num_partitions, None))
            }
            ..=0 => Err((
                ErrorCode::INVALID_REPLICATION_FACTOR,
                "Replication factor must be larger than 0, or -1 to use the default value.".to_owned(),
            )),
            factor => Err((
                ErrorCode::INVALID_REPLICATION_FACTOR,
                format!(
                    "Unable to replicate the partition {factor} time(s): The target replication factor of {factor} \
                     cannot be reached because only {alive} broker(s) are registered or some brokers have all their log \
                     directories cordoned."
                ),
            )),
        };
    }
    let invalid = |message: &str| Err((ErrorCode::INVALID_REQUEST, message.to_owned()));
    if asked.replication_factor != -1 {
        return invalid("A manual partition assignment was specified, but replication factor was not set to -1.");
    }
    if asked.num_partitions != -1 {
        return invalid("A manual partition assignment was specified, but numPartitions was not set to -1.");
    }
    check_assignments(cluster, &asked.assignments)
        .map_err(|message| (ErrorCode::INVALID_REPLICA_ASSIGNMENT, message))?;
    let mut assignments: Vec<&CreatableReplicaAssignment> = asked.assignments.iter().collect();
    assignments.sort_by_key(|assignment| assignment.partition_index);
    let replicas = assignments.into_iter().map(|assignment| assignment.broker_ids.clone()).collect();
    Ok((i32::try_from(asked.assignments.len()).unwrap_or(i32::MAX), Some(replicas)))
}

fn check_assignments(cluster: &Cluster, assignments: &[CreatableReplicaAssignment]) -> Result<(), String> {
    let indexes: BTreeSet<i32> = assignments.iter().map(|assignment| assignment.partition_index).collect();
    if indexes.len() != assignments.len() || indexes.iter().zip(0..).any(|(&index, expected)| index != expected) {
        return Err("partitions should be a consecutive 0-based integer sequence".to_owned());
    }
    assignments.iter().try_for_each(|assignment| check_replicas(cluster, &assignment.broker_ids))?;
    if assignments.iter().any(|assignment| assignment.broker_ids.len() != assignments[0].broker_ids.len()) {
        return Err(
            "The manual partition assignment includes partitions with different numbers of replicas.".to_owned()
        );
    }
    Ok(())
}

/// Checks the replicas of one partition that a client chose.
pub(crate) fn check_replicas(cluster: &Cluster, nodes: &[i32]) -> Result<(), String> {
    if nodes.is_empty() {
        return Err("The manual partition assignment includes an empty replica list.".to_owned());
    }
    if let Some(other) = nodes.iter().find(|node| !cluster.nodes.is_registered(**node)) {
        return Err(format!(
            "The manual partition assignment includes broker {other}, but no such broker is registered."
        ));
    }
    let mut seen = BTreeSet::new();
    if let Some(twice) = nodes.iter().find(|node| !seen.insert(**node)) {
        return Err(format!("The manual partition assignment includes the broker {twice} more than once."));
    }
    Ok(())
}

pub(super) fn check_count(partitions: i32, most: i32) -> Result<(), Refusal> {
    if partitions > most {
        let message = "Excessively large number of partitions per request.";
        return Err((ErrorCode::POLICY_VIOLATION, message.to_owned()));
    }
    Ok(())
}

/// Creates a topic, or only checks whether it could be.
pub(crate) fn create(
    cluster: &mut Cluster,
    name: &str,
    partitions: i32,
    placement: Placement,
    values: Values,
    validate_only: bool,
) -> Result<Created, Refusal> {
    cluster.topics.check_new_name(name)?;
    let partitions = partitions_or_default(cluster, partitions);
    if partitions < 1 {
        return Err((
            ErrorCode::INVALID_PARTITIONS,
            "Number of partitions was set to an invalid non-positive value.".to_owned(),
        ));
    }
    check_count(partitions, MAX_PARTITIONS)?;
    topic::check(&values).map_err(|reason| (ErrorCode::INVALID_CONFIG, reason))?;
    let placement = placement.unwrap_or_else(|| cluster.place(0, partitions, cluster.default_replication_factor()));
    let replicas = placement.first().map_or(0, Vec::len);
    let id = cluster.random.uuid();
    if !validate_only {
        cluster.topics.create(id, name, placement, values);
    }
    Ok(Created { id, partitions, replicas })
}

fn partitions_or_default(cluster: &Cluster, partitions: i32) -> i32 {
    match partitions {
        -1 => i32::try_from(cluster.config.int("num.partitions")).unwrap_or(i32::MAX),
        partitions => partitions,
    }
}
