//! DescribeConfigs of topics, groups and this broker.

use ackflow_protocol::messages::describe_configs::{
    DescribeConfigsRequest, DescribeConfigsResource, DescribeConfigsResourceResult, DescribeConfigsResponse,
    DescribeConfigsResult, DescribeConfigsSynonym,
};
use ackflow_protocol::wire::ErrorCode;

use crate::core::Cluster;
use crate::core::configs::broker::BrokerConfig;
use crate::core::configs::{self, ConfigDef, Source, Values};
use crate::core::dispatch::RequestContext;

pub(crate) const TOPIC: i8 = 2;
pub(crate) const BROKER: i8 = 4;
pub(crate) const GROUP: i8 = 32;

/// A setting with the value that applies.
#[derive(Debug, Clone)]
pub(crate) struct Described<'a> {
    /// The setting.
    pub(crate) def: &'static ConfigDef,
    /// The value.
    pub(crate) value: &'a str,
    /// Where it comes from.
    pub(crate) source: Source,
    /// Every value that is set, the one that applies first: name, value, source.
    synonyms: Vec<(&'static str, &'a str, Source)>,
}

pub(crate) fn handle(
    cluster: &mut Cluster,
    cx: &RequestContext<'_>,
    request: DescribeConfigsRequest,
) -> DescribeConfigsResponse {
    let synonyms = request.include_synonyms;
    let results =
        request.resources.into_iter().map(|resource| describe(cluster, cx.node, resource, synonyms)).collect();
    DescribeConfigsResponse { results, ..DescribeConfigsResponse::default() }
}

fn describe(cluster: &Cluster, node: i32, resource: DescribeConfigsResource, synonyms: bool) -> DescribeConfigsResult {
    let none = Values::new();
    let described: Result<Vec<Described<'_>>, (ErrorCode, String)> = match resource.resource_type {
        TOPIC => match cluster.topics.by_name(&resource.resource_name) {
            Some(found) => Ok(topic(&found.configs, &cluster.config).collect()),
            None => Err((ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, String::new())),
        },
        GROUP if resource.resource_name.is_empty() => {
            Err((ErrorCode::INVALID_REQUEST, "Group name must not be empty".to_owned()))
        }
        GROUP => {
            let values = cluster.group_configs.get(&resource.resource_name).unwrap_or(&none);
            Ok(layered(configs::group::DEFS, values, Source::Group, &cluster.config).collect())
        }
        // The empty name stands for settings of all brokers that were changed at run time, of which there are none.
        BROKER if resource.resource_name.is_empty() => Ok(Vec::new()),
        BROKER if resource.resource_name == node.to_string() => {
            Ok(layered(configs::broker::DEFS, cluster.config.values(), Source::StaticBroker, &cluster.config).collect())
        }
        BROKER => Err((
            ErrorCode::INVALID_REQUEST,
            format!("Unexpected broker id, expected {} or empty string, but received {}", node, resource.resource_name),
        )),
        other => Err((ErrorCode::INVALID_REQUEST, format!("Unsupported resource type {other}"))),
    };
    let wanted = |def: &ConfigDef| match &resource.configuration_keys {
        Some(keys) if !keys.is_empty() => keys.iter().any(|key| key == def.name),
        _ => true,
    };
    let (error_code, error_message, configs) = match described {
        Ok(described) => (
            ErrorCode::NONE,
            String::new(),
            described
                .iter()
                .filter(|described| wanted(described.def))
                .map(|described| entry(described, resource.resource_type == BROKER, synonyms))
                .collect(),
        ),
        Err((code, message)) => (code, message, Vec::new()),
    };
    DescribeConfigsResult {
        error_code,
        error_message: Some(error_message),
        resource_type: resource.resource_type,
        resource_name: resource.resource_name,
        configs,
    }
}

fn entry(described: &Described<'_>, read_only: bool, synonyms: bool) -> DescribeConfigsResourceResult {
    let synonym = |&(name, value, source): &(&str, &str, Source)| DescribeConfigsSynonym {
        name: name.to_owned(),
        value: Some(value.to_owned()),
        source: source as i8,
    };
    DescribeConfigsResourceResult {
        name: described.def.name.to_owned(),
        value: Some(described.value.to_owned()),
        read_only,
        config_source: described.source as i8,
        is_sensitive: false,
        synonyms: if synonyms { described.synonyms.iter().map(synonym).collect() } else { Vec::new() },
        config_type: described.def.kind as i8,
        documentation: None,
    }
}

/// The settings of a topic on which `values` were set.
pub(crate) fn topic<'a>(values: &'a Values, broker: &'a BrokerConfig) -> impl Iterator<Item = Described<'a>> {
    layered(configs::topic::DEFS, values, Source::Topic, broker)
}

/// What was set on the resource, over what was set on the broker, over Kafka's defaults.
fn layered<'a>(
    defs: &'static [ConfigDef],
    values: &'a Values,
    own: Source,
    broker: &'a BrokerConfig,
) -> impl Iterator<Item = Described<'a>> {
    defs.iter().map(move |def| {
        let inherited = def.broker_synonym.unwrap_or(def.name);
        let on_broker = def.broker_synonym.and_then(|name| broker.values().get(name));
        let synonyms: Vec<(&str, &str, Source)> = [
            values.get(def.name).map(|value| (def.name, value.as_str(), own)),
            on_broker.map(|value| (inherited, value.as_str(), Source::StaticBroker)),
            // Kafka names no synonym for a topic's setting that brokers do not have.
            (own != Source::Topic || def.broker_synonym.is_some()).then_some((inherited, def.default, Source::Default)),
        ]
        .into_iter()
        .flatten()
        .collect();
        let (value, source) =
            synonyms.first().map_or((def.default, Source::Default), |&(_, value, source)| (value, source));
        Described { def, value, source, synonyms }
    })
}
