//! Topics, made for one run.

use std::path::Path;
use std::time::Duration;

use ackflow_client::admin::{Admin, NewTopic};
use ackflow_client::config::ClientConfig;
use anyhow::Context;
use serde_json::Value;
use tokio::time::sleep;

use crate::lines::{number, read, text};

/// Returns when brokers know the topics.
pub(crate) async fn create(bootstrap: &str, file: &Path) -> anyhow::Result<()> {
    let admin = Admin::new(ClientConfig::new(bootstrap)?);
    let topics = read(file)?.iter().map(topic).collect::<Result<Vec<_>, _>>()?;
    let names: Vec<_> = topics.iter().map(|topic| topic.name.clone()).collect();
    for (_, created) in admin.create_topics(topics).await? {
        created?;
    }
    while admin.describe_topics(names.clone()).await?.values().any(|topic| !topic.as_ref().is_ok_and(has_leaders)) {
        sleep(Duration::from_millis(50)).await;
    }
    Ok(())
}

fn has_leaders(topic: &ackflow_client::admin::TopicDescription) -> bool {
    topic.partitions.iter().all(|partition| partition.leader.is_some())
}

fn topic(line: &Value) -> anyhow::Result<NewTopic> {
    let mut topic = NewTopic::new(text(line, "topic")?, number(line, "partitions")?);
    for (key, value) in line["configs"].as_object().context("a topic has configs")? {
        topic = topic.config(key, value.as_str().context("a config is text")?);
    }
    Ok(topic)
}
