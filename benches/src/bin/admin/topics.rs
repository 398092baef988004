//! Topics.

use ackflow_client::admin::{Admin, CreatedTopic, NewTopic, PartitionDescription, TopicDescription, TopicListing};
use anyhow::Result;
use serde_json::{Value, json};

use crate::{all, done, numbers, pair};

pub(crate) async fn call(admin: &Admin, call: &str, arguments: &[&str]) -> Result<Option<Value>> {
    Ok(Some(match (call, arguments) {
        ("create_topics", [name, assignments, configs @ ..]) => {
            all(admin.create_topics([new(name, assignments, configs)?]).await?, created)?
        }
        ("validate_topics", [name, assignments, configs @ ..]) => {
            all(admin.validate_topics([new(name, assignments, configs)?]).await?, created)?
        }
        ("delete_topics", [name]) => done(admin.delete_topics([*name]).await?)?,
        ("describe_topics", [name]) => all(admin.describe_topics([*name]).await?, described)?,
        ("list_topics", []) => admin.list_topics().await?.into_iter().map(listed).collect(),
        _ => return Ok(None),
    }))
}

/// Assignments are those of TopicCommand: `1:2,2:3` are two partitions of two replicas each.
fn new(name: &str, assignments: &str, configs: &[&str]) -> Result<NewTopic> {
    let replicas = |partition: &str| numbers(&partition.replace(':', ","));
    let assignments = assignments.split(',').map(replicas).collect::<Result<_>>()?;
    let mut topic = NewTopic { name: name.to_owned(), assignments, ..NewTopic::default() };
    for config in configs {
        let (key, value) = pair(config)?;
        topic = topic.config(key, value);
    }
    Ok(topic)
}

fn created(topic: CreatedTopic) -> Value {
    json!({ "id": topic.id.to_string(), "partitions": topic.partitions, "replication_factor": topic.replication_factor })
}

fn described(topic: TopicDescription) -> Value {
    let partition = |p: PartitionDescription| json!({ "partition": p.partition, "leader": p.leader, "replicas": p.replicas, "in_sync": p.in_sync });
    let partitions: Vec<_> = topic.partitions.into_iter().map(partition).collect();
    json!({ "id": topic.id.to_string(), "internal": topic.internal, "partitions": partitions })
}

fn listed(topic: TopicListing) -> Value {
    topic.name.into()
}
