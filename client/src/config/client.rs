//! What every client is configured with.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::{IGNORED_CLIENT_KEYS, Properties};
use crate::error::ClientError;
use crate::metrics::MetricsConfig;
use crate::net::{Backoff, BootstrapServers, NetConfig};

/// The settings that producer, consumer and admin client share. Each field names the property that sets it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ClientConfig {
    /// `bootstrap.servers`: where to find a first broker.
    pub bootstrap_servers: BootstrapServers,
    /// How connections are made.
    pub net: NetConfig,
    /// `retry.backoff.ms`: the pause before a request is tried again.
    pub retry_backoff: Duration,
    /// `retry.backoff.max.ms`: what the former grows to over failures in a row.
    pub retry_backoff_max: Duration,
    /// `metadata.max.age.ms`: after how long the cluster's metadata is asked for again though nothing has failed.
    pub metadata_max_age: Duration,
    /// `default.api.timeout.ms`: how long a call may take with all its retries.
    pub default_api_timeout: Duration,
    /// `bootstrap.resolve.timeout.ms`: for how long a cluster that was never reached, whose names may not resolve yet, is tried before that is an
    /// error; 0 leaves it at 5 s. Names are resolved whenever a connection is made, and never when a client is.
    pub bootstrap_resolve_timeout: Duration,
    /// `metadata.recovery.strategy`: what happens when none of the brokers that metadata named can be asked.
    pub metadata_recovery: MetadataRecovery,
    /// `metadata.recovery.rebootstrap.trigger.ms`: for how long those brokers are asked for metadata in vain, though they can be reached, before the
    /// client starts again from `bootstrap.servers`.
    pub rebootstrap_trigger: Duration,
    /// `metadata.cluster.check.enable`: whether a connection says which broker of which cluster it is meant for, so that another one refuses it.
    /// Brokers of before Kafka 4.4 do not look.
    pub cluster_check: bool,
    /// `metrics.*` and `enable.metrics.push`: how the client measures what it does, and whether it tells its brokers.
    pub metrics: MetricsConfig,
}

/// What a client does that has lost all brokers that it knows (`metadata.recovery.strategy`, KIP-899).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MetadataRecovery {
    /// It starts again from `bootstrap.servers`, whose names are resolved anew.
    #[default]
    Rebootstrap,
    /// It goes on with the brokers that it knew, and says so.
    None,
}

/// The longest time that Kafka's settings of type int can say.
const INT_MILLIS: u64 = i32::MAX as u64;
/// The longest time that is taken where Kafka's setting is a long: 10 000 years would overflow clocks.
const LONG_MILLIS: u64 = 1000 * 60 * 60 * 24 * 365 * 100;

/// How long a cluster that was never reached is tried unless it is said otherwise. A broker that is just starting is there by then.
const UNREACHED_PATIENCE: Duration = Duration::from_secs(5);

impl ClientConfig {
    /// The defaults, with these bootstrap servers.
    ///
    /// # Errors
    /// [`ErrorKind::Config`](crate::ErrorKind::Config) where `bootstrap_servers` holds no addresses.
    pub fn new(bootstrap_servers: &str) -> Result<Self, ClientError> {
        Ok(Self {
            bootstrap_servers: BootstrapServers::parse(bootstrap_servers)?,
            net: NetConfig::default(),
            retry_backoff: Duration::from_millis(100),
            retry_backoff_max: Duration::from_secs(1),
            metadata_max_age: Duration::from_secs(300),
            default_api_timeout: Duration::from_secs(60),
            bootstrap_resolve_timeout: Duration::ZERO,
            metadata_recovery: MetadataRecovery::default(),
            rebootstrap_trigger: Duration::from_secs(300),
            cluster_check: true,
            metrics: MetricsConfig::default(),
        })
    }

    /// Reads properties that may hold nothing but settings of this struct.
    ///
    /// # Errors
    /// [`ErrorKind::Config`](crate::ErrorKind::Config), which names the key, the value and the remedy.
    pub fn from_properties(values: &BTreeMap<String, String>) -> Result<Self, ClientError> {
        let mut properties = Properties::new(values);
        let config = Self::read(&mut properties)?;
        properties.finish(IGNORED_CLIENT_KEYS)?;
        Ok(config)
    }

    /// Reads what is of this struct, and leaves the rest to the caller.
    ///
    /// # Errors
    /// As [`ClientConfig::from_properties`], but for keys that are unknown.
    pub fn read(p: &mut Properties<'_>) -> Result<Self, ClientError> {
        let mut config = Self::new(p.required("bootstrap.servers", "give the host:port of a broker")?)?;
        let net = &mut config.net;
        if let Some(id) = p.get("client.id").filter(|id| !id.is_empty()) {
            if id.len() > i16::MAX as usize {
                return Err(ClientError::config("client.id", "...", "longer than 32767 bytes", "shorten it"));
            }
            net.client_id = Arc::from(id);
        }
        p.millis("request.timeout.ms", 1..=INT_MILLIS, &mut net.request_timeout)?;
        p.millis("socket.connection.setup.timeout.ms", 1..=LONG_MILLIS, &mut net.connect_timeout)?;
        net.connect_timeout_max = net.connect_timeout_max.max(net.connect_timeout);
        p.millis("socket.connection.setup.timeout.max.ms", 1..=LONG_MILLIS, &mut net.connect_timeout_max)?;
        match p.get("connections.max.idle.ms") {
            Some("-1") => net.max_idle = Duration::from_millis(LONG_MILLIS),
            _ => p.millis("connections.max.idle.ms", 1..=LONG_MILLIS, &mut net.max_idle)?,
        }
        p.number("receive.message.max.bytes", 1024..=i32::MAX as usize, &mut net.max_frame)?;
        p.millis("reconnect.backoff.ms", 0..=LONG_MILLIS, &mut net.reconnect_backoff)?;
        p.millis("reconnect.backoff.max.ms", 0..=LONG_MILLIS, &mut net.reconnect_backoff_max)?;
        p.millis("retry.backoff.ms", 0..=LONG_MILLIS, &mut config.retry_backoff)?;
        p.millis("retry.backoff.max.ms", 0..=LONG_MILLIS, &mut config.retry_backoff_max)?;
        p.millis("metadata.max.age.ms", 0..=LONG_MILLIS, &mut config.metadata_max_age)?;
        p.millis("default.api.timeout.ms", 0..=INT_MILLIS, &mut config.default_api_timeout)?;
        p.millis("bootstrap.resolve.timeout.ms", 0..=LONG_MILLIS, &mut config.bootstrap_resolve_timeout)?;
        let strategies = [("rebootstrap", MetadataRecovery::Rebootstrap), ("none", MetadataRecovery::None)];
        p.one_of("metadata.recovery.strategy", &strategies, &mut config.metadata_recovery)?;
        p.millis("metadata.recovery.rebootstrap.trigger.ms", 0..=LONG_MILLIS, &mut config.rebootstrap_trigger)?;
        p.boolean("metadata.cluster.check.enable", &mut config.cluster_check)?;
        let metrics = &mut config.metrics;
        p.millis("metrics.sample.window.ms", 1..=LONG_MILLIS, &mut metrics.sample_window)?;
        p.number("metrics.num.samples", 1..=1_000, &mut metrics.num_samples)?;
        p.boolean("enable.metrics.push", &mut metrics.push)?;
        config.net.security = super::security::read(p)?;
        Ok(config)
    }

    /// Whether the client starts again from `bootstrap.servers` when it has lost all brokers that it knows.
    pub(crate) fn rebootstraps(&self) -> bool {
        self.metadata_recovery == MetadataRecovery::Rebootstrap
    }

    /// Whether connections say whom they are meant for: as in Kafka, only where a wrong one can be got over.
    pub(crate) fn checks_cluster(&self) -> bool {
        self.cluster_check && self.rebootstraps()
    }

    /// How long a cluster that was never reached is tried before that is an error.
    pub(crate) fn unreached_patience(&self) -> Duration {
        Some(self.bootstrap_resolve_timeout).filter(|time| !time.is_zero()).unwrap_or(UNREACHED_PATIENCE)
    }

    /// The pauses between attempts of one request.
    pub fn retry_backoff(&self) -> Backoff {
        Backoff::new(self.retry_backoff, self.retry_backoff_max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pairs: &[(&str, &str)]) -> Result<ClientConfig, ClientError> {
        ClientConfig::from_properties(&pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect())
    }

    #[test]
    fn kafkas_keys_are_read() {
        let config = read(&[
            ("bootstrap.servers", "a:1,b:2"),
            ("client.id", "me"),
            ("request.timeout.ms", "1500"),
            ("connections.max.idle.ms", "-1"),
            ("security.protocol", "plaintext"),
            ("metrics.num.samples", "3"),
        ])
        .unwrap();
        assert_eq!(config.bootstrap_servers.addresses().len(), 2);
        assert_eq!(&*config.net.client_id, "me");
        assert_eq!(config.net.request_timeout, Duration::from_millis(1500));
        assert!(config.net.max_idle > Duration::from_secs(86_400 * 365));
    }

    // Mutation: client/src/config/properties.rs
    // - let suggested = self.known.iter().copied().chain(ignored.iter().copied().filter(|key| !is_family(key)));
    // + let suggested = self.known.iter().copied();
    #[test]
    fn keys_of_kafka_that_mean_nothing_here_are_taken_and_their_misspellings_are_not() {
        for key in IGNORED_CLIENT_KEYS.iter().filter(|key| !key.ends_with('.')) {
            assert!(read(&[("bootstrap.servers", "a:1"), (key, "1")]).is_ok(), "{key}");
            let misspelt = &key[..key.len() - 1];
            let error = read(&[("bootstrap.servers", "a:1"), (misspelt, "hunter2")]).unwrap_err().to_string();
            assert!(error.contains(&format!("{misspelt}=...: no such setting; did you mean {key}?")), "{error}");
        }
        for (misspelt, meant) in [
            ("sasl.oauthbearer.token.endpoint.uri", "sasl.oauthbearer.token.endpoint.url"),
            ("sasl.oauthbearer.client.credentials.client.secrt", "sasl.oauthbearer.client.credentials.client.secret"),
            ("sasl.login.refresh.window.facto", "sasl.login.refresh.window.factor"),
        ] {
            let error = read(&[("bootstrap.servers", "a:1"), (misspelt, "hunter2")]).unwrap_err().to_string();
            assert!(error.contains(&format!("did you mean {meant}?")) && !error.contains("hunter2"), "{error}");
        }
    }

    // Mutation: client/src/config/properties.rs
    // - _ => Err(self.missing(key, remedy)),
    // + _ => Err(ClientError::config(key, "", "a value is required", remedy)),
    #[test]
    fn a_key_that_is_required_and_misspelt_is_named_as_it_stands_there() {
        for misspelt in ["bootstrap.server", "boostrap.servers"] {
            let error = read(&[(misspelt, "a:1"), ("security.protocol", "TLS")]).unwrap_err().to_string();
            let expected = format!("{misspelt}=...: no such setting; did you mean bootstrap.servers?");
            assert!(error.contains(&expected), "{error}");
        }
    }

    #[test]
    fn what_cannot_work_is_refused_by_name() {
        for (pairs, expected) in [
            (&[("client.id", "x")][..], "bootstrap.servers=: a value is required"),
            (&[("bootstrap.servers", "a:1"), ("request.timeout.ms", "soon")], "request.timeout.ms=soon"),
            (&[("bootstrap.servers", "a:1"), ("security.protocol", "TLS")], "security.protocol=TLS"),
            (&[("bootstrap.servers", "a:1"), ("bootstrap.server", "a:1")], "did you mean bootstrap.servers?"),
        ] {
            let error = read(pairs).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
