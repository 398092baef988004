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
const MAX_PARTITIONS: i32 = 10_000;

/// A topic that was created, or would have been.
pub(crate) struct Created {
    /// Its id.
    pub(crate) id: Uuid,
    /// Its partitions.
    pub(crate) partitions: i32,
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

fn create_one(
    cluster: &mut Cluster,
    asked: CreatableTopic,
    most_partitions: i32,
    validate_only: bool,
) -> Result<CreatableTopicResult, Refusal> {
    let partitions = check_placement(cluster, &asked)?;
    check_count(partitions, most_partitions)?;
    let mut values = Values::new();
    for config in asked.configs {
        if let Some(value) = config.value {
            values.insert(config.name, value);
        }
    }
    let created = create(cluster, &asked.name, partitions, values.clone(), validate_only)?;
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
        replication_factor: 1,
        configs: Some(configs),
        ..CreatableTopicResult::default()
    })
}

/// Checks replicas; gives the number of partitions that is asked for, -1 for the default.
fn check_placement(cluster: &Cluster, asked: &CreatableTopic) -> Result<i32, Refusal> {
    if asked.assignments.is_empty() {
        return match asked.replication_factor {
            -1 | 1 => Ok(asked.num_partitions),
            ..=0 => Err((
                ErrorCode::INVALID_REPLICATION_FACTOR,
                "Replication factor must be larger than 0, or -1 to use the default value.".to_owned(),
            )),
            factor => Err((
                ErrorCode::INVALID_REPLICATION_FACTOR,
                format!(
                    "Unable to replicate the partition {factor} time(s): The target replication factor of {factor} \
                     cannot be reached because only 1 broker(s) are registered."
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
    Ok(i32::try_from(asked.assignments.len()).unwrap_or(i32::MAX))
}

fn check_assignments(cluster: &Cluster, assignments: &[CreatableReplicaAssignment]) -> Result<(), String> {
    let indexes: BTreeSet<i32> = assignments.iter().map(|assignment| assignment.partition_index).collect();
    if indexes.len() != assignments.len() || indexes.iter().zip(0..).any(|(&index, expected)| index != expected) {
        return Err("partitions should be a consecutive 0-based integer sequence".to_owned());
    }
    for assignment in assignments {
        match assignment.broker_ids.as_slice() {
            [node] if *node == cluster.node_id => {}
            [] => return Err("The manual partition assignment includes an empty replica list.".to_owned()),
            nodes => {
                let other = nodes.iter().find(|node| **node != cluster.node_id);
                return Err(match other {
                    Some(other) => format!(
                        "The manual partition assignment includes broker {other}, but no such broker is registered."
                    ),
                    None => format!(
                        "The manual partition assignment includes the broker {} more than once.",
                        cluster.node_id
                    ),
                });
            }
        }
    }
    Ok(())
}

fn check_count(partitions: i32, most: i32) -> Result<(), Refusal> {
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
    values: Values,
    validate_only: bool,
) -> Result<Created, Refusal> {
    cluster.topics.check_new_name(name)?;
    let partitions = match partitions {
        -1 => i32::try_from(cluster.config.int("num.partitions")).unwrap_or(i32::MAX),
        partitions => partitions,
    };
    if partitions < 1 {
        return Err((
            ErrorCode::INVALID_PARTITIONS,
            "Number of partitions was set to an invalid non-positive value.".to_owned(),
        ));
    }
    check_count(partitions, MAX_PARTITIONS)?;
    topic::check(&values).map_err(|reason| (ErrorCode::INVALID_CONFIG, reason))?;
    let id = cluster.random.uuid();
    if !validate_only {
        cluster.topics.create(id, name, partitions, values);
    }
    Ok(Created { id, partitions })
}
