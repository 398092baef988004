//! How a command finds the cluster: the flags of Kafka's own tools.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Context, bail};
use clap::Args;

/// Where the cluster is, and client properties.
#[derive(Debug, Args)]
pub(crate) struct Connection {
    /// Brokers to start from: host:port, several separated by commas
    #[arg(long, value_name = "HOST:PORT,..")]
    bootstrap_server: String,

    /// A Kafka properties file with client settings
    #[arg(long, value_name = "FILE")]
    command_config: Option<PathBuf>,

    /// One client setting; wins over --command-config
    #[arg(long, value_name = "KEY=VALUE", value_parser = key_value)]
    command_property: Vec<(String, String)>,
}

impl Connection {
    /// The client properties of the command line, `bootstrap.servers` among them.
    pub(crate) fn properties(&self) -> anyhow::Result<BTreeMap<String, String>> {
        let mut properties = match &self.command_config {
            Some(path) => {
                let text = std::fs::read_to_string(path)
                    .with_context(|| format!("cannot read --command-config {}", path.display()))?;
                ackflow_sink_runtime::config::parse_properties(&text)
                    .with_context(|| format!("--command-config {}", path.display()))?
            }
            None => BTreeMap::new(),
        };
        properties.extend(self.command_property.iter().cloned());
        properties.insert("bootstrap.servers".to_owned(), self.bootstrap_server.clone());
        Ok(properties)
    }
}

/// Names the group in client properties, which may name it themselves where `--group` does not.
pub(crate) fn name_group(
    properties: &mut BTreeMap<String, String>,
    flag: Option<&str>,
    default: &str,
) -> anyhow::Result<()> {
    match (flag, properties.get("group.id")) {
        (Some(flag), Some(property)) if flag != property => {
            bail!("--group {flag} and group.id={property} name two groups; give one of them")
        }
        (None, Some(_)) => {}
        (flag, _) => _ = properties.insert("group.id".to_owned(), flag.unwrap_or(default).to_owned()),
    }
    Ok(())
}

/// Splits `key=value`.
pub(crate) fn key_value(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.trim().is_empty() => Ok((key.trim().to_owned(), value.trim().to_owned())),
        _ => Err("expected KEY=VALUE".to_owned()),
    }
}
