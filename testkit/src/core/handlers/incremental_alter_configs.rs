//! IncrementalAlterConfigs of topics and groups. Broker settings are fixed.

use std::collections::BTreeSet;

use ackflow_protocol::messages::incremental_alter_configs::{
    AlterConfigsResource, AlterConfigsResourceResponse, AlterableConfig, IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
};
use ackflow_protocol::wire::ErrorCode;

use super::describe_configs::{BROKER, GROUP, TOPIC};
use crate::core::Cluster;
use crate::core::configs::{self, ConfigDef, ConfigType, Values};
use crate::core::dispatch::RequestContext;

const SET: i8 = 0;
const DELETE: i8 = 1;
const APPEND: i8 = 2;
const SUBTRACT: i8 = 3;

type Refusal = (ErrorCode, String);

pub(crate) fn handle(
    cluster: &mut Cluster,
    cx: &RequestContext<'_>,
    request: IncrementalAlterConfigsRequest,
) -> IncrementalAlterConfigsResponse {
    let responses = request
        .resources
        .into_iter()
        .map(|resource| {
            let altered = alter(cluster, cx.node, &resource, request.validate_only);
            let (error_code, error_message) = match altered {
                Ok(()) => (ErrorCode::NONE, None),
                Err((code, message)) => (code, Some(message)),
            };
            AlterConfigsResourceResponse {
                error_code,
                error_message,
                resource_type: resource.resource_type,
                resource_name: resource.resource_name,
            }
        })
        .collect();
    IncrementalAlterConfigsResponse { responses, ..IncrementalAlterConfigsResponse::default() }
}

fn alter(
    cluster: &mut Cluster,
    node: i32,
    resource: &AlterConfigsResource,
    validate_only: bool,
) -> Result<(), Refusal> {
    let invalid = |message: String| (ErrorCode::INVALID_REQUEST, message);
    if let Some(config) = resource.configs.iter().find(|c| c.value.is_none() && c.config_operation != DELETE) {
        return Err(invalid(format!("Null value not supported for : {}", config.name)));
    }
    let name = &resource.resource_name;
    let names: BTreeSet<&String> = resource.configs.iter().map(|config| &config.name).collect();
    if names.len() < resource.configs.len() {
        return Err(invalid("Error due to duplicate config keys".to_owned()));
    }
    match resource.resource_type {
        TOPIC => {
            let unknown = || (ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, format!("The topic '{name}' does not exist."));
            let topic = cluster.topics.by_name_mut(name).ok_or_else(unknown)?;
            let values = changed(configs::topic::DEFS, topic.configs.clone(), &resource.configs)?;
            configs::topic::check(&values).map_err(|reason| (ErrorCode::INVALID_CONFIG, reason))?;
            if !validate_only {
                topic.configs = values;
            }
            Ok(())
        }
        GROUP if name.is_empty() => Err(invalid("Default group resources are not allowed.".to_owned())),
        GROUP => {
            let values = cluster.group_configs.get(name).cloned().unwrap_or_default();
            let values = changed(configs::group::DEFS, values, &resource.configs)?;
            configs::group::check(&values, &cluster.config).map_err(|reason| (ErrorCode::INVALID_CONFIG, reason))?;
            if !validate_only {
                cluster.set_group_config(name.clone(), values);
            }
            Ok(())
        }
        BROKER if name.is_empty() || *name == node.to_string() => {
            let names: Vec<&str> = resource.configs.iter().map(|config| config.name.as_str()).collect();
            Err(invalid(format!("Cannot update these configs dynamically: [{}]", names.join(", "))))
        }
        BROKER => Err(invalid(format!("Unexpected broker id, expected {node}, but received {name}"))),
        other => Err(invalid(format!("Unknown resource type {other}"))),
    }
}

/// The values after the changes; what is not a known setting is found by the check that follows.
fn changed(defs: &'static [ConfigDef], mut values: Values, configs: &[AlterableConfig]) -> Result<Values, Refusal> {
    for config in configs {
        let value = config.value.as_deref().unwrap_or_default();
        match config.config_operation {
            SET => {
                values.insert(config.name.clone(), value.to_owned());
            }
            DELETE => {
                values.remove(&config.name);
            }
            operation @ (APPEND | SUBTRACT) => {
                let def = configs::find(defs, &config.name);
                let Some(def) = def.filter(|def| def.kind == ConfigType::List) else {
                    let operation = if operation == APPEND { "APPEND" } else { "SUBTRACT" };
                    return Err((
                        ErrorCode::INVALID_CONFIG,
                        format!("Can't {operation} to key {} because its type is not LIST.", config.name),
                    ));
                };
                let current = values.get(&config.name).map_or(def.default, String::as_str);
                let mut elements: Vec<&str> = current.split(',').filter(|element| !element.is_empty()).collect();
                for element in value.split(',') {
                    elements.retain(|other| *other != element);
                    if operation == APPEND {
                        elements.push(element);
                    }
                }
                values.insert(config.name.clone(), elements.join(","));
            }
            other => {
                return Err((ErrorCode::INVALID_REQUEST, format!("Unknown operation {other} for {}", config.name)));
            }
        }
    }
    Ok(values)
}
