//! Configurations.

use std::collections::BTreeMap;

use ackflow_client::admin::{Admin, ConfigChange, ConfigEntry, ConfigResource, ResourceKind};
use anyhow::{Result, bail};
use serde_json::{Map, Value, json};

use crate::{all, done, outcomes, pair};

pub(crate) async fn call(admin: &Admin, call: &str, arguments: &[&str]) -> Result<Option<Value>> {
    Ok(Some(match (call, arguments) {
        ("alter_configs", [kind, name, changes @ ..]) => {
            done(admin.alter_configs([changed(kind, name, changes)?]).await?)?
        }
        ("validate_configs", [kind, name, changes @ ..]) => {
            outcomes(admin.validate_configs([changed(kind, name, changes)?]).await?)
        }
        ("describe_configs", [kind, name]) => all(admin.describe_configs([resource(kind, name)?]).await?, described)?,
        ("await_configs", [kind, name, setting]) => {
            admin.await_configs(&resource(kind, name)?, &[pair(setting)?]).await?;
            true.into()
        }
        ("list_config_resources", []) => {
            let listed = |resource: ConfigResource| json!([resource.kind as i8, resource.name]);
            admin.list_config_resources(&[]).await?.into_iter().map(listed).collect()
        }
        _ => return Ok(None),
    }))
}

/// By the names of ConfigCommand.
fn resource(kind: &str, name: &str) -> Result<ConfigResource> {
    let kind = match kind {
        "topics" => ResourceKind::Topic,
        "brokers" => ResourceKind::Broker,
        "broker-loggers" => ResourceKind::BrokerLogger,
        "client-metrics" => ResourceKind::ClientMetrics,
        "groups" => ResourceKind::Group,
        other => bail!("{other} have no configuration"),
    };
    Ok(ConfigResource { kind, name: name.to_owned() })
}

/// `key=value` sets, `key` alone deletes.
fn changed(kind: &str, name: &str, changes: &[&str]) -> Result<(ConfigResource, Vec<ConfigChange>)> {
    let change = |change: &&str| match change.split_once('=') {
        Some((key, value)) => ConfigChange::set(key, value),
        None => ConfigChange::delete(*change),
    };
    Ok((resource(kind, name)?, changes.iter().map(change).collect()))
}

fn described(entries: BTreeMap<String, ConfigEntry>) -> Value {
    let entry = |(key, entry): (String, ConfigEntry)| {
        (key, json!({ "value": entry.value, "source": entry.source.0, "sensitive": entry.sensitive }))
    };
    Value::Object(entries.into_iter().map(entry).collect::<Map<_, _>>())
}
