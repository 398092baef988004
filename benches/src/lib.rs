//! What the programs here need of a cluster before they measure.

pub mod secure;

use ackflow_client::Admin;
use ackflow_client::admin::{ConfigChange, ConfigResource, NewTopic};
use anyhow::{Context, Result};

/// Creates a topic.
///
/// # Errors
/// Where the broker refuses it, or is not there.
pub async fn create_topic(admin: &Admin, topic: NewTopic) -> Result<()> {
    let name = topic.name.clone();
    admin.create_topics([topic]).await?.remove(&name).context("the topic is left out")??;
    Ok(())
}

/// Changes settings of a group, which need not exist, and waits until brokers know them.
///
/// # Errors
/// Where a broker refuses them, or is not there.
pub async fn set_up_group(admin: &Admin, group: &str, settings: &[(&str, &str)]) -> Result<()> {
    let group = ConfigResource::group(group);
    let changes = settings.iter().map(|(key, value)| ConfigChange::set(*key, *value)).collect();
    admin.alter_configs([(group.clone(), changes)]).await?.remove(&group).context("the group is left out")??;
    Ok(admin.await_configs(&group, settings).await?)
}

/// Has a group begin at the start of its topics. That alone does not make the group.
///
/// # Errors
/// As [`set_up_group`].
pub async fn begin_at_start(admin: &Admin, group: &str) -> Result<()> {
    set_up_group(admin, group, &[("share.auto.offset.reset", "earliest")]).await
}
