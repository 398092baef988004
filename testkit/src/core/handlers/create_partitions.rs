//! CreatePartitions: more partitions for topics that exist.

use std::collections::BTreeMap;

use ackflow_protocol::messages::create_partitions::{
    CreatePartitionsAssignment, CreatePartitionsRequest, CreatePartitionsResponse, CreatePartitionsTopicResult,
};
use ackflow_protocol::wire::ErrorCode;

use super::create_topics::{MAX_PARTITIONS, check_count, check_replicas};
use crate::core::Cluster;
use crate::core::dispatch::RequestContext;

type Refusal = (ErrorCode, String);

pub(crate) fn handle(
    cluster: &mut Cluster,
    _: &RequestContext<'_>,
    request: CreatePartitionsRequest,
) -> CreatePartitionsResponse {
    let mut named: BTreeMap<String, usize> = BTreeMap::new();
    for topic in &request.topics {
        *named.entry(topic.name.clone()).or_default() += 1;
    }
    let mut results = Vec::new();
    for topic in request.topics {
        let result = match named.get_mut(&topic.name) {
            // All of its entries are answered by one.
            Some(0) => continue,
            Some(times @ 2..) => {
                *times = 0;
                Err((ErrorCode::INVALID_REQUEST, "Duplicate topic name.".to_owned()))
            }
            _ => create(cluster, &topic.name, topic.count, topic.assignments.as_deref(), request.validate_only),
        };
        let (error_code, error_message) = match result {
            Ok(()) => (ErrorCode::NONE, None),
            Err((code, message)) => (code, Some(message)),
        };
        results.push(CreatePartitionsTopicResult { name: topic.name, error_code, error_message });
    }
    CreatePartitionsResponse { results, ..CreatePartitionsResponse::default() }
}

/// Adds partitions to a topic, or only checks whether they could be.
pub(crate) fn create(
    cluster: &mut Cluster,
    name: &str,
    count: i32,
    assignments: Option<&[CreatePartitionsAssignment]>,
    validate_only: bool,
) -> Result<(), Refusal> {
    let invalid = |message: String| Err((ErrorCode::INVALID_PARTITIONS, message));
    let Some(topic) = cluster.topics.by_name(name) else {
        let code = ErrorCode::UNKNOWN_TOPIC_OR_PARTITION;
        return Err((code, code.meaning().to_owned()));
    };
    let current = i32::try_from(topic.partitions.len()).unwrap_or(i32::MAX);
    if count == current {
        return invalid(format!("Topic already has {current} partition(s)."));
    }
    if count < current {
        return invalid(format!(
            "The topic {} currently has {current} partition(s); {} would not be an increase.",
            name, count
        ));
    }
    let factor = topic.partitions.first().map_or(1, |partition| partition.replicas.len());
    let more = count - current;
    check_count(more, MAX_PARTITIONS)?;
    let replicas = match assignments {
        None => cluster.place(current, more, factor),
        Some(assignments) => {
            if i32::try_from(assignments.len()).ok() != Some(more) {
                let message = format!(
                    "Attempted to add {more} additional partition(s), but only {} assignment(s) were specified.",
                    assignments.len()
                );
                return Err((ErrorCode::INVALID_REPLICA_ASSIGNMENT, message));
            }
            for assignment in assignments {
                check_replicas(cluster, &assignment.broker_ids)
                    .map_err(|message| (ErrorCode::INVALID_REPLICA_ASSIGNMENT, message))?;
            }
            assignments.iter().map(|assignment| assignment.broker_ids.clone()).collect()
        }
    };
    if !validate_only {
        cluster.topics.add_partitions(name, replicas);
    }
    Ok(())
}
