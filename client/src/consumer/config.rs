//! What a consumer is configured with.

use std::collections::BTreeMap;
use std::time::Duration;

use ackflow_protocol::machine::consumer::{ConsumerOptions, IsolationLevel, OffsetReset};
use ackflow_protocol::records::DEFAULT_DECOMPRESSION_LIMIT;

use super::duration;
use crate::config::{ClientConfig, IGNORED_CLIENT_KEYS, Properties};
use crate::error::ClientError;

/// The most bytes of a group id that requests without compact strings can say.
const LONGEST_GROUP_ID: usize = i16::MAX as usize;

/// The settings of a consumer. Each field names the property that sets it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConsumerConfig {
    /// What every client has.
    pub client: ClientConfig,
    /// `group.id`. Without it only partitions of one's own choice can be read, and nothing committed.
    pub group_id: Option<String>,
    /// `group.instance.id`: makes this a static member of that name, which keeps its partitions over a restart that is shorter than the session
    /// timeout of the group.
    pub group_instance_id: Option<String>,
    /// `group.remote.assignor`: the assignor of the broker; its choice without it.
    pub group_remote_assignor: Option<String>,
    /// `client.rack`: where this client is, for the assignor, and to read from the nearest replica (KIP-392).
    pub client_rack: Option<String>,
    /// `auto.offset.reset`: where a partition begins that the group has no offset of, and goes on whose offset is gone.
    pub auto_offset_reset: OffsetReset,
    /// `isolation.level`.
    pub isolation_level: IsolationLevel,
    /// `enable.auto.commit`: whether what polls have handed out is committed by later ones. Without `group.id` it has no effect.
    pub enable_auto_commit: bool,
    /// `auto.commit.interval.ms`.
    pub auto_commit_interval: Duration,
    /// `max.poll.records`: no poll returns more.
    pub max_poll_records: u32,
    /// `fetch.max.bytes`: for how many bytes a fetch asks at most. No more is fetched ahead of the polls.
    pub fetch_max_bytes: i32,
    /// `max.partition.fetch.bytes`: the same of one partition. A single batch that is larger comes all the same.
    pub max_partition_fetch_bytes: i32,
    /// `fetch.min.bytes`.
    pub fetch_min_bytes: i32,
    /// `fetch.max.wait.ms`: how long a broker without records holds a fetch.
    pub fetch_max_wait: Duration,
    /// `max.poll.interval.ms`: a member that does not poll for so long leaves the group, and joins again when it polls. So long it may take
    /// to give up partitions, too.
    pub max_poll_interval: Duration,
    /// `allow.auto.create.topics`: whether a broker that creates topics by itself (`auto.create.topics.enable`) may create those that are
    /// subscribed to and do not exist. Off by default, unlike in Kafka: a misspelt name is an error then, and no new topic.
    pub allow_auto_create_topics: bool,
    /// `check.crcs`: whether corrupt batches are looked for.
    pub check_crcs: bool,
    /// `ackflow.decompression.max.bytes`: how far one batch may inflate.
    pub decompression_limit: usize,
}

/// Keys that mean nothing under `group.protocol=consumer`, each with what to do instead. Kafka refuses the first three too.
const REFUSED: &[(&str, &str)] = &[
    ("partition.assignment.strategy", "remove it; group.remote.assignor chooses one of the broker's assignors"),
    ("session.timeout.ms", "remove it; set consumer.session.timeout.ms on the group instead"),
    ("heartbeat.interval.ms", "remove it; set consumer.heartbeat.interval.ms on the group instead"),
    ("interceptor.classes", "remove it; this consumer has no interceptors"),
    ("share.acknowledgement.mode", "remove it, or use the share consumer (group.protocol=share)"),
    ("share.acquire.mode", "remove it, or use the share consumer (group.protocol=share)"),
];

/// Keys of Kafka's consumers that have no effect here: deserializers are given to the consumer, and which topics match a pattern the coordinator
/// decides.
const IGNORED: &[&str] = &["exclude.internal.topics", "key.deserializer", "value.deserializer"];

impl ConsumerConfig {
    /// Begins with the defaults.
    pub fn builder(bootstrap_servers: &str) -> ConsumerBuilder {
        ConsumerBuilder(ClientConfig::new(bootstrap_servers).map(Self::new))
    }

    fn new(client: ClientConfig) -> Self {
        let defaults = ConsumerOptions::new(None, "");
        Self {
            client,
            group_id: None,
            group_instance_id: None,
            group_remote_assignor: None,
            client_rack: None,
            auto_offset_reset: defaults.offset_reset,
            isolation_level: defaults.isolation,
            enable_auto_commit: true,
            auto_commit_interval: Duration::from_secs(5),
            max_poll_records: 500,
            fetch_max_bytes: defaults.fetch_max_bytes,
            max_partition_fetch_bytes: defaults.partition_fetch_bytes,
            fetch_min_bytes: defaults.fetch_min_bytes,
            fetch_max_wait: defaults.fetch_max_wait,
            max_poll_interval: defaults.max_poll_interval,
            allow_auto_create_topics: defaults.allow_auto_create_topics,
            check_crcs: true,
            decompression_limit: DEFAULT_DECOMPRESSION_LIMIT,
        }
    }

    /// Reads Kafka's own keys.
    ///
    /// # Errors
    /// [`ErrorKind::Config`](crate::ErrorKind::Config), which names the key, the value and the remedy: for a value that cannot work, for
    /// `group.protocol=classic`, for a key that the protocol of KIP-848 has no use for, and for one that is unknown.
    pub fn from_properties(values: &BTreeMap<String, String>) -> Result<Self, ClientError> {
        if let Some((key, remedy)) = REFUSED.iter().find(|(key, _)| values.contains_key(*key)) {
            return Err(ClientError::config(key, &values[*key], "not a setting of this consumer", *remedy));
        }
        let mut p = Properties::new(values);
        check_protocol(&mut p)?;
        let mut config = Self::new(ClientConfig::read(&mut p)?);
        config.group_id = p.get("group.id").map(str::to_owned);
        config.group_instance_id = p.get("group.instance.id").map(str::to_owned);
        let mut text = |key| p.get(key).filter(|value| !value.is_empty()).map(str::to_owned);
        config.group_remote_assignor = text("group.remote.assignor");
        config.client_rack = text("client.rack");
        read_offset_reset(&mut p, &mut config.auto_offset_reset)?;
        let levels =
            [("read_uncommitted", IsolationLevel::ReadUncommitted), ("read_committed", IsolationLevel::ReadCommitted)];
        p.one_of("isolation.level", &levels, &mut config.isolation_level)?;
        p.boolean("enable.auto.commit", &mut config.enable_auto_commit)?;
        p.millis("auto.commit.interval.ms", 0..=i32::MAX as u64, &mut config.auto_commit_interval)?;
        p.number("max.poll.records", 1..=i32::MAX as u32, &mut config.max_poll_records)?;
        p.number("fetch.max.bytes", 1..=i32::MAX, &mut config.fetch_max_bytes)?;
        p.number("max.partition.fetch.bytes", 1..=i32::MAX, &mut config.max_partition_fetch_bytes)?;
        p.number("fetch.min.bytes", 0..=i32::MAX, &mut config.fetch_min_bytes)?;
        p.millis("fetch.max.wait.ms", 0..=i32::MAX as u64, &mut config.fetch_max_wait)?;
        p.millis("max.poll.interval.ms", 1..=i32::MAX as u64, &mut config.max_poll_interval)?;
        p.boolean("allow.auto.create.topics", &mut config.allow_auto_create_topics)?;
        p.boolean("check.crcs", &mut config.check_crcs)?;
        p.number("ackflow.decompression.max.bytes", 1..=u32::MAX as usize, &mut config.decompression_limit)?;
        p.finish(&[IGNORED, IGNORED_CLIENT_KEYS].concat())?;
        config.validate()?;
        Ok(config)
    }

    /// Checks what the types do not say.
    pub(super) fn validate(&self) -> Result<(), ClientError> {
        let refuse =
            |key, value: &str, reason, remedy: &'static str| Err(ClientError::config(key, value, reason, remedy));
        if let Some(group) = &self.group_id {
            if group.is_empty() {
                return refuse("group.id", "", "a group has a name", "name the group, or leave the setting out");
            }
            if group.len() > LONGEST_GROUP_ID {
                let start: String = group.chars().take(20).collect();
                return refuse(
                    "group.id",
                    &format!("{start}..."),
                    "longer than a request can say",
                    "use a shorter one",
                );
            }
        }
        match &self.group_instance_id {
            Some(instance) if instance.is_empty() || instance.len() > LONGEST_GROUP_ID => {
                return refuse(
                    "group.instance.id",
                    "",
                    "a static member has a name",
                    "name it, or leave the setting out",
                );
            }
            Some(instance) if self.group_id.is_none() => {
                return refuse("group.instance.id", instance, "there is no group to be a member of", "set group.id");
            }
            _ => {}
        }
        for (key, value) in [
            ("max.poll.records", i64::from(self.max_poll_records)),
            ("fetch.max.bytes", i64::from(self.fetch_max_bytes)),
            ("max.partition.fetch.bytes", i64::from(self.max_partition_fetch_bytes)),
        ] {
            if value <= 0 {
                return refuse(key, &value.to_string(), "no record would ever come", "use 1 or more");
            }
        }
        if self.fetch_min_bytes < 0 {
            let value = self.fetch_min_bytes.to_string();
            return refuse("fetch.min.bytes", &value, "less than nothing", "use 0 or more");
        }
        if self.max_poll_interval.is_zero() {
            return refuse("max.poll.interval.ms", "0", "no poll could come in time", "use 1 or more");
        }
        if self.fetch_max_wait >= self.client.net.request_timeout {
            let value = self.fetch_max_wait.as_millis().to_string();
            let reason = "not less than request.timeout.ms, so every idle fetch would fail";
            return refuse("fetch.max.wait.ms", &value, reason, "lower it, or raise request.timeout.ms");
        }
        Ok(())
    }

    pub(super) fn options(&self, member_id: &str) -> ConsumerOptions {
        ConsumerOptions {
            instance_id: self.group_instance_id.clone(),
            client_rack: self.client_rack.clone(),
            server_assignor: self.group_remote_assignor.clone(),
            offset_reset: self.auto_offset_reset,
            isolation: self.isolation_level,
            auto_commit: (self.enable_auto_commit && self.group_id.is_some()).then_some(self.auto_commit_interval),
            fetch_max_bytes: self.fetch_max_bytes,
            partition_fetch_bytes: self.max_partition_fetch_bytes,
            fetch_min_bytes: self.fetch_min_bytes,
            fetch_max_wait: self.fetch_max_wait,
            max_poll_interval: self.max_poll_interval,
            retry_backoff: self.client.retry_backoff,
            retry_backoff_max: self.client.retry_backoff_max,
            metadata_max_age: self.client.metadata_max_age,
            default_api_timeout: self.client.default_api_timeout,
            request_timeout: self.client.net.request_timeout,
            allow_auto_create_topics: self.allow_auto_create_topics,
            check_crcs: self.check_crcs,
            decompression_limit: self.decompression_limit,
            ..ConsumerOptions::new(self.group_id.as_deref(), member_id)
        }
    }
}

/// `group.protocol` may say no other than the one that there is.
fn check_protocol(p: &mut Properties<'_>) -> Result<(), ClientError> {
    const KEY: &str = "group.protocol";
    let Some(protocol) = p.get(KEY) else { return Ok(()) };
    let (reason, remedy) = match protocol.to_ascii_lowercase().as_str() {
        "consumer" => return Ok(()),
        "classic" => (
            "this consumer does not speak the classic protocol, in which clients assign partitions",
            "set group.protocol=consumer (KIP-848, Kafka 4.0 or later): a group of the classic protocol becomes one when such a member joins \
             (group.consumer.migration.policy), and keeps its offsets",
        ),
        "share" => ("that is a share group", "use the share consumer"),
        _ => ("there is no such protocol", "use consumer"),
    };
    Err(ClientError::config(KEY, protocol, reason, remedy))
}

fn read_offset_reset(p: &mut Properties<'_>, reset: &mut OffsetReset) -> Result<(), ClientError> {
    const KEY: &str = "auto.offset.reset";
    let Some(value) = p.get(KEY) else { return Ok(()) };
    let lower = value.to_ascii_lowercase();
    *reset = match (lower.as_str(), lower.strip_prefix("by_duration:").and_then(duration::parse)) {
        ("earliest", _) => OffsetReset::Earliest,
        ("latest", _) => OffsetReset::Latest,
        ("none", _) => OffsetReset::None,
        (_, Some(age)) => OffsetReset::ByDuration(age),
        _ => {
            let remedy =
                "use earliest, latest, none, or by_duration: with a duration of ISO 8601, such as by_duration:P1DT2H";
            return Err(ClientError::config(KEY, value, "not a value of this setting", remedy));
        }
    };
    Ok(())
}

/// Makes a [`ConsumerConfig`]. Each method says what the property of the same name says.
#[derive(Debug, Clone)]
#[must_use = "a builder does nothing until `build`"]
pub struct ConsumerBuilder(Result<ConsumerConfig, ClientError>);

impl ConsumerBuilder {
    fn set(mut self, change: impl FnOnce(&mut ConsumerConfig)) -> Self {
        if let Ok(config) = &mut self.0 {
            change(config);
        }
        self
    }

    /// Settings that every client has, in place.
    pub fn client(self, change: impl FnOnce(&mut ClientConfig)) -> Self {
        self.set(|config| change(&mut config.client))
    }

    /// `client.id`.
    pub fn client_id(self, id: &str) -> Self {
        self.client(|client| client.net.client_id = id.into())
    }

    /// `group.id`.
    pub fn group_id(self, id: impl Into<String>) -> Self {
        self.set(|config| config.group_id = Some(id.into()))
    }

    /// `group.instance.id`.
    pub fn group_instance_id(self, id: impl Into<String>) -> Self {
        self.set(|config| config.group_instance_id = Some(id.into()))
    }

    /// `group.remote.assignor`.
    pub fn group_remote_assignor(self, assignor: impl Into<String>) -> Self {
        self.set(|config| config.group_remote_assignor = Some(assignor.into()))
    }

    /// `client.rack`.
    pub fn client_rack(self, rack: impl Into<String>) -> Self {
        self.set(|config| config.client_rack = Some(rack.into()))
    }

    /// `auto.offset.reset`.
    pub fn auto_offset_reset(self, reset: OffsetReset) -> Self {
        self.set(|config| config.auto_offset_reset = reset)
    }

    /// `isolation.level`.
    pub fn isolation_level(self, level: IsolationLevel) -> Self {
        self.set(|config| config.isolation_level = level)
    }

    /// `enable.auto.commit`.
    pub fn enable_auto_commit(self, enable: bool) -> Self {
        self.set(|config| config.enable_auto_commit = enable)
    }

    /// `auto.commit.interval.ms`.
    pub fn auto_commit_interval(self, interval: Duration) -> Self {
        self.set(|config| config.auto_commit_interval = interval)
    }

    /// `max.poll.records`.
    pub fn max_poll_records(self, records: u32) -> Self {
        self.set(|config| config.max_poll_records = records)
    }

    /// `fetch.max.bytes`.
    pub fn fetch_max_bytes(self, bytes: i32) -> Self {
        self.set(|config| config.fetch_max_bytes = bytes)
    }

    /// `max.partition.fetch.bytes`.
    pub fn max_partition_fetch_bytes(self, bytes: i32) -> Self {
        self.set(|config| config.max_partition_fetch_bytes = bytes)
    }

    /// `fetch.min.bytes`.
    pub fn fetch_min_bytes(self, bytes: i32) -> Self {
        self.set(|config| config.fetch_min_bytes = bytes)
    }

    /// `fetch.max.wait.ms`.
    pub fn fetch_max_wait(self, wait: Duration) -> Self {
        self.set(|config| config.fetch_max_wait = wait)
    }

    /// `max.poll.interval.ms`.
    pub fn max_poll_interval(self, interval: Duration) -> Self {
        self.set(|config| config.max_poll_interval = interval)
    }

    /// `allow.auto.create.topics`.
    pub fn allow_auto_create_topics(self, allow: bool) -> Self {
        self.set(|config| config.allow_auto_create_topics = allow)
    }

    /// `check.crcs`.
    pub fn check_crcs(self, check: bool) -> Self {
        self.set(|config| config.check_crcs = check)
    }

    /// `ackflow.decompression.max.bytes`.
    pub fn decompression_limit(self, bytes: usize) -> Self {
        self.set(|config| config.decompression_limit = bytes)
    }

    /// The configuration.
    ///
    /// # Errors
    /// [`ErrorKind::Config`](crate::ErrorKind::Config), which names the setting, the value and the remedy.
    pub fn build(self) -> Result<ConsumerConfig, ClientError> {
        self.0.and_then(|config| config.validate().map(|()| config))
    }
}
