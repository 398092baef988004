//! How a command finds the cluster: the flags of Kafka's own tools.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use ackflow_client::config::{LONGEST_SETTINGS, read_text};
use ackflow_client::{Admin, ClientConfig, ClientError};
use ackflow_sink_runtime::config::{parse_properties, property_lines};
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

/// Client properties on their way into a configuration, and where they stand.
#[derive(Debug)]
pub(crate) struct Properties {
    pub(crate) values: BTreeMap<String, String>,
    /// `--command-config`, and the line of each key in it.
    file: Option<(PathBuf, BTreeMap<String, usize>)>,
}

impl Properties {
    /// Has the configuration read.
    ///
    /// # Errors
    /// Those of `read`. One about a setting of the file names the file and the line.
    pub(crate) fn read<T>(
        &self,
        read: impl FnOnce(&BTreeMap<String, String>) -> Result<T, ClientError>,
    ) -> anyhow::Result<T> {
        read(&self.values).map_err(|error| {
            let line = |(file, lines): &(PathBuf, BTreeMap<String, usize>)| {
                Some(format!("--command-config {}, line {}", file.display(), lines.get(error.setting()?)?))
            };
            match self.file.as_ref().and_then(line) {
                Some(line) => anyhow::Error::new(error).context(line),
                None => error.into(),
            }
        })
    }
}

/// The same, for a command that has something else to name in place of a cluster, by `--client`.
#[derive(Debug, Args)]
pub(crate) struct ConnectionOrClient {
    /// Brokers to start from: host:port, several separated by commas
    #[arg(long, value_name = "HOST:PORT,..", required_unless_present = "client", conflicts_with = "client")]
    bootstrap_server: Option<String>,

    /// A Kafka properties file with client settings
    #[arg(long, value_name = "FILE", conflicts_with = "client")]
    command_config: Option<PathBuf>,

    /// One client setting; wins over --command-config
    #[arg(long, value_name = "KEY=VALUE", value_parser = key_value, conflicts_with = "client")]
    command_property: Vec<(String, String)>,
}

impl ConnectionOrClient {
    /// How to reach the cluster, where one is named.
    pub(crate) fn connection(self) -> Option<Connection> {
        let Self { bootstrap_server, command_config, command_property } = self;
        Some(Connection { bootstrap_server: bootstrap_server?, command_config, command_property })
    }
}

impl Connection {
    /// The client properties of the command line, `bootstrap.servers` among them.
    pub(crate) fn properties(&self) -> anyhow::Result<Properties> {
        let mut properties = Properties { values: BTreeMap::new(), file: None };
        if let Some(path) = &self.command_config {
            let (values, text) = read_properties("--command-config", path)?;
            properties.values = values;
            properties.file = Some((path.clone(), property_lines(&text)));
        }
        let flag = ("bootstrap.servers".to_owned(), self.bootstrap_server.clone());
        for (key, value) in self.command_property.iter().cloned().chain([flag]) {
            // It stands in the file no more.
            if let Some((_, lines)) = &mut properties.file {
                lines.remove(&key);
            }
            properties.values.insert(key, value);
        }
        Ok(properties)
    }

    /// A client for administration. A file of properties may be one that consumers and producers use too: what is theirs means nothing here, as in
    /// Kafka's own tools.
    pub(crate) fn admin(&self) -> anyhow::Result<Admin> {
        let mut properties = self.properties()?;
        properties.values.retain(|key, _| !OF_OTHER_CLIENTS.contains(&key.as_str()));
        Ok(Admin::new(properties.read(ClientConfig::from_properties)?))
    }
}

/// The properties of a file that a flag names, and its text.
pub(crate) fn read_properties(flag: &str, path: &Path) -> anyhow::Result<(BTreeMap<String, String>, String)> {
    let shown = path.display();
    let text = read_text(path, LONGEST_SETTINGS).with_context(|| format!("cannot read {flag} {shown}"))?;
    let values = parse_properties(&text).with_context(|| format!("{flag} {shown}"))?;
    Ok((values, text))
}

/// The settings of Kafka's consumers and producers that its admin client does not have, and `retries`, which it has.
const OF_OTHER_CLIENTS: &[&str] = &[
    "acks",
    "allow.auto.create.topics",
    "auto.commit.interval.ms",
    "auto.offset.reset",
    "batch.size",
    "buffer.memory",
    "check.crcs",
    "client.rack",
    "compression.gzip.level",
    "compression.lz4.level",
    "compression.type",
    "compression.zstd.level",
    "delivery.timeout.ms",
    "enable.auto.commit",
    "enable.idempotence",
    "exclude.internal.topics",
    "fetch.max.bytes",
    "fetch.max.wait.ms",
    "fetch.min.bytes",
    "group.id",
    "group.instance.id",
    "group.protocol",
    "group.remote.assignor",
    "heartbeat.interval.ms",
    "interceptor.classes",
    "isolation.level",
    "key.deserializer",
    "key.serializer",
    "linger.ms",
    "max.block.ms",
    "max.in.flight.requests.per.connection",
    "max.partition.fetch.bytes",
    "max.poll.interval.ms",
    "max.poll.records",
    "max.request.size",
    "metadata.max.idle.ms",
    "partition.assignment.strategy",
    "partitioner.adaptive.partitioning.enable",
    "partitioner.availability.timeout.ms",
    "partitioner.class",
    "partitioner.ignore.keys",
    "retries",
    "session.timeout.ms",
    "share.acknowledgement.mode",
    "share.acquire.mode",
    "transaction.timeout.ms",
    "transaction.two.phase.commit.enable",
    "transactional.id",
    "value.deserializer",
    "value.serializer",
];

/// Names the group in client properties, which may name it themselves where `--group` does not.
pub(crate) fn name_group(properties: &mut Properties, flag: Option<&str>, default: &str) -> anyhow::Result<()> {
    match (flag, properties.values.get("group.id")) {
        (Some(flag), Some(property)) if flag != property => {
            bail!("--group {flag} and group.id={property} name two groups; give one of them")
        }
        (None, Some(_)) => {}
        (flag, _) => _ = properties.values.insert("group.id".to_owned(), flag.unwrap_or(default).to_owned()),
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
