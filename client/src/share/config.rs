//! What a share consumer is configured with.

use std::collections::BTreeMap;
use std::time::Duration;

use ackflow_protocol::machine::{AcquireMode, AutoRenew, ShareConsumerOptions};
use ackflow_protocol::records::DEFAULT_DECOMPRESSION_LIMIT;

use crate::config::{ClientConfig, IGNORED_CLIENT_KEYS, Properties};
use crate::error::ClientError;

/// The most bytes of a group id that requests without compact strings can say.
const LONGEST_GROUP_ID: usize = i16::MAX as usize;

/// Who decides about records (`share.acknowledgement.mode`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AcknowledgementMode {
    /// The next poll or commit accepts what was handed out.
    #[default]
    Implicit,
    /// The application decides about every record before it polls again.
    Explicit,
}

/// The settings of a share consumer. Each field names the property that sets it.
///
/// A group begins at the **end** of its topics unless the group has `share.auto.offset.reset=earliest`, which is set on the group itself
/// and not here, as are its lock duration and delivery limit.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ShareConsumerConfig {
    /// What every client has.
    pub client: ClientConfig,
    /// `group.id`.
    pub group_id: String,
    /// `ackflow.member.id`: the id of this member, 1 to 36 characters; a random one by default. A member that comes back under the id it had
    /// takes its old place at once, where otherwise the group waits for the old member's session to time out. Of two at a time that use one
    /// id the one whose sessions the other takes, mostly the older, stops with an error of [`ErrorKind::Fenced`](crate::ErrorKind::Fenced),
    /// once it asks for records.
    pub member_id: Option<String>,
    /// `client.rack`.
    pub client_rack: Option<String>,
    /// `share.acknowledgement.mode`. The owned consumer does not regard it.
    pub acknowledgement_mode: AcknowledgementMode,
    /// `share.acquire.mode`. `record_limit` takes brokers of Kafka 4.2 or later: older ones are told of, and nothing is acquired from them.
    /// While `max.poll.records` records are undecided, a poll waits until some are settled.
    pub acquire_mode: AcquireMode,
    /// `max.poll.records`: no poll returns more.
    pub max_poll_records: u32,
    /// `ackflow.fetch.max.records`: how many records a fetch asks for under `batch_optimized`. A broker goes on to the end of a batch.
    pub fetch_max_records: u32,
    /// `fetch.max.bytes`: how many bytes a fetch asks for at most. It asks for as many as its records take.
    pub fetch_max_bytes: i32,
    /// `fetch.min.bytes`.
    pub fetch_min_bytes: i32,
    /// `fetch.max.wait.ms`: how long a broker without records holds a fetch.
    pub fetch_max_wait: Duration,
    /// `max.poll.interval.ms`: a member that does not poll for so long leaves the group, and joins again when it polls.
    pub max_poll_interval: Duration,
    /// `ackflow.renew.enable`, and how, by `ackflow.renew.at.percent`, `ackflow.renew.max.count` and `ackflow.renew.max.ms`: whether the
    /// locks of records that the application was handed are renewed by themselves until it has decided about them (KIP-1222, Kafka 4.2 or
    /// later). Off by default.
    pub auto_renew: Option<AutoRenew>,
    /// `allow.auto.create.topics`: whether a broker that creates topics by itself (`auto.create.topics.enable`) may create those that are
    /// subscribed to and do not exist. Off by default, unlike in Kafka: a misspelt name is an error then, and no new topic.
    pub allow_auto_create_topics: bool,
    /// `exclude.internal.topics`: whether a subscription by pattern leaves out Kafka's internal topics. By name they can be subscribed to.
    pub exclude_internal_topics: bool,
    /// `check.crcs`: whether corrupt batches are looked for.
    pub check_crcs: bool,
    /// `ackflow.decompression.max.bytes`: how far one batch may inflate.
    pub decompression_limit: usize,
}

/// Keys that Kafka's share consumer refuses, each with what to do instead.
const REFUSED: &[(&str, &str)] = &[
    ("auto.offset.reset", "set share.auto.offset.reset on the group instead"),
    ("enable.auto.commit", "remove it; share.acknowledgement.mode says who acknowledges"),
    ("group.instance.id", "remove it; a share group has no static members"),
    ("isolation.level", "set share.isolation.level on the group instead"),
    ("partition.assignment.strategy", "remove it; the broker assigns (group.share.assignors)"),
    ("interceptor.classes", "remove it; a share consumer has no interceptors"),
    ("session.timeout.ms", "set share.session.timeout.ms on the group instead"),
    ("heartbeat.interval.ms", "set share.heartbeat.interval.ms on the group instead"),
    ("group.protocol", "remove it; a share consumer speaks no other protocol"),
    ("group.remote.assignor", "remove it; the broker assigns (group.share.assignors)"),
    ("share.auto.offset.reset", OF_THE_GROUP),
    ("share.delivery.count.limit", OF_THE_GROUP),
    ("share.heartbeat.interval.ms", OF_THE_GROUP),
    ("share.isolation.level", OF_THE_GROUP),
    ("share.partition.max.record.locks", OF_THE_GROUP),
    ("share.record.lock.duration.ms", OF_THE_GROUP),
    ("share.renew.acknowledge.enable", OF_THE_GROUP),
    ("share.session.timeout.ms", OF_THE_GROUP),
];

const OF_THE_GROUP: &str =
    "set it on the group: kafka-configs.sh --alter --entity-type groups --entity-name GROUP --add-config KEY=VALUE";

/// Keys of Kafka's consumers that mean nothing here: records are bytes, and share fetches have no limit by partition.
const IGNORED: &[&str] =
    &["auto.commit.interval.ms", "key.deserializer", "max.partition.fetch.bytes", "value.deserializer"];

impl ShareConsumerConfig {
    /// Begins with the defaults.
    pub fn builder(bootstrap_servers: &str, group_id: impl Into<String>) -> ShareConsumerBuilder {
        let client = ClientConfig::new(bootstrap_servers);
        ShareConsumerBuilder(client.map(|client| Self::new(client, group_id.into())))
    }

    fn new(client: ClientConfig, group_id: String) -> Self {
        let defaults = ShareConsumerOptions::new("", "");
        Self {
            client,
            group_id,
            member_id: None,
            client_rack: None,
            acknowledgement_mode: AcknowledgementMode::default(),
            acquire_mode: defaults.acquire_mode,
            max_poll_records: defaults.max_poll_records,
            fetch_max_records: defaults.fetch_max_records,
            fetch_max_bytes: defaults.fetch_max_bytes,
            fetch_min_bytes: defaults.fetch_min_bytes,
            fetch_max_wait: defaults.fetch_max_wait,
            max_poll_interval: defaults.max_poll_interval,
            auto_renew: None,
            allow_auto_create_topics: defaults.allow_auto_create_topics,
            exclude_internal_topics: defaults.exclude_internal_topics,
            check_crcs: true,
            decompression_limit: DEFAULT_DECOMPRESSION_LIMIT,
        }
    }

    /// Reads Kafka's own keys.
    ///
    /// # Errors
    /// [`ErrorKind::Config`](crate::ErrorKind::Config), which names the key, the value and the remedy: for a value that cannot work, a key
    /// that Kafka's share consumer refuses, and a key that is unknown.
    pub fn from_properties(values: &BTreeMap<String, String>) -> Result<Self, ClientError> {
        if let Some((key, remedy)) = REFUSED.iter().find(|(key, _)| values.contains_key(*key)) {
            return Err(ClientError::config(key, &values[*key], "not a setting of a share consumer", *remedy));
        }
        let mut p = Properties::new(values);
        let client = ClientConfig::read(&mut p)?;
        let group_id = p.required("group.id", "name the share group")?;
        let mut config = Self::new(client, group_id.to_owned());
        config.member_id = p.get("ackflow.member.id").map(str::to_owned);
        config.client_rack = p.get("client.rack").filter(|rack| !rack.is_empty()).map(str::to_owned);
        let modes = [("implicit", AcknowledgementMode::Implicit), ("explicit", AcknowledgementMode::Explicit)];
        p.one_of("share.acknowledgement.mode", &modes, &mut config.acknowledgement_mode)?;
        let modes = [("batch_optimized", AcquireMode::BatchOptimized), ("record_limit", AcquireMode::RecordLimit)];
        p.one_of("share.acquire.mode", &modes, &mut config.acquire_mode)?;
        p.number("max.poll.records", 1..=i32::MAX as u32, &mut config.max_poll_records)?;
        p.number("ackflow.fetch.max.records", 1..=i32::MAX as u32, &mut config.fetch_max_records)?;
        p.number("fetch.max.bytes", 1..=i32::MAX, &mut config.fetch_max_bytes)?;
        p.number("fetch.min.bytes", 0..=i32::MAX, &mut config.fetch_min_bytes)?;
        p.millis("fetch.max.wait.ms", 0..=i32::MAX as u64, &mut config.fetch_max_wait)?;
        p.millis("max.poll.interval.ms", 1..=i32::MAX as u64, &mut config.max_poll_interval)?;
        config.auto_renew = read_auto_renew(&mut p)?;
        p.boolean("allow.auto.create.topics", &mut config.allow_auto_create_topics)?;
        p.boolean("exclude.internal.topics", &mut config.exclude_internal_topics)?;
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
        if self.group_id.is_empty() {
            return refuse("group.id", "", "a value is required", "name the share group");
        }
        let length = self.group_id.len();
        if length > LONGEST_GROUP_ID {
            let reason = format!("its {length} bytes are more than a request can say");
            let start: String = self.group_id.chars().take(20).collect();
            return Err(ClientError::config("group.id", &format!("{start}..."), &reason, "use a shorter one"));
        }
        // As Java counts them.
        if let Some(id) = self.member_id.as_ref().filter(|id| !(1..=36).contains(&id.encode_utf16().count())) {
            return refuse("ackflow.member.id", id, "a broker refuses it", "use 1 to 36 characters");
        }
        if let Some(renew) = self.auto_renew.filter(|renew| !(1..=90).contains(&renew.at_percent)) {
            let value = renew.at_percent.to_string();
            return refuse("ackflow.renew.at.percent", &value, "no part of a lock to renew at", "use 1 to 90");
        }
        if self.max_poll_records == 0 {
            return refuse("max.poll.records", "0", "no record would ever come", "use 1 or more");
        }
        if self.fetch_max_records == 0 {
            return refuse("ackflow.fetch.max.records", "0", "no record would ever come", "use 1 or more");
        }
        if self.fetch_max_bytes <= 0 {
            let value = self.fetch_max_bytes.to_string();
            return refuse("fetch.max.bytes", &value, "no record would ever come", "use 1 or more");
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

    pub(super) fn options(&self, member_id: &str) -> ShareConsumerOptions {
        ShareConsumerOptions {
            client_rack: self.client_rack.clone(),
            acquire_mode: self.acquire_mode,
            max_poll_records: self.max_poll_records,
            fetch_max_records: self.fetch_max_records,
            fetch_max_bytes: self.fetch_max_bytes,
            fetch_min_bytes: self.fetch_min_bytes,
            fetch_max_wait: self.fetch_max_wait,
            max_poll_interval: self.max_poll_interval,
            retry_backoff: self.client.retry_backoff,
            retry_backoff_max: self.client.retry_backoff_max,
            metadata_max_age: self.client.metadata_max_age,
            default_api_timeout: self.client.default_api_timeout,
            allow_auto_create_topics: self.allow_auto_create_topics,
            exclude_internal_topics: self.exclude_internal_topics,
            check_crcs: self.check_crcs,
            decompression_limit: self.decompression_limit,
            ..ShareConsumerOptions::new(&self.group_id, member_id)
        }
    }
}

/// The keys of automatic renewal.
fn read_auto_renew(p: &mut Properties<'_>) -> Result<Option<AutoRenew>, ClientError> {
    let (mut enabled, mut renew) = (false, AutoRenew::default());
    p.boolean("ackflow.renew.enable", &mut enabled)?;
    p.number("ackflow.renew.at.percent", 1..=90, &mut renew.at_percent)?;
    p.number("ackflow.renew.max.count", 0..=u32::MAX, &mut renew.max_renewals)?;
    p.millis("ackflow.renew.max.ms", 0..=i64::MAX as u64, &mut renew.max_time)?;
    Ok(enabled.then_some(renew))
}

/// Makes a [`ShareConsumerConfig`]. Each method says what the property of the same name says.
#[derive(Debug, Clone)]
#[must_use = "a builder does nothing until `build`"]
pub struct ShareConsumerBuilder(Result<ShareConsumerConfig, ClientError>);

impl ShareConsumerBuilder {
    fn set(mut self, change: impl FnOnce(&mut ShareConsumerConfig)) -> Self {
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

    /// `client.rack`.
    pub fn client_rack(self, rack: impl Into<String>) -> Self {
        self.set(|config| config.client_rack = Some(rack.into()))
    }

    /// `ackflow.member.id`.
    pub fn member_id(self, id: impl Into<String>) -> Self {
        self.set(|config| config.member_id = Some(id.into()))
    }

    /// `share.acknowledgement.mode`.
    pub fn acknowledgement_mode(self, mode: AcknowledgementMode) -> Self {
        self.set(|config| config.acknowledgement_mode = mode)
    }

    /// `share.acquire.mode`.
    pub fn acquire_mode(self, mode: AcquireMode) -> Self {
        self.set(|config| config.acquire_mode = mode)
    }

    /// `max.poll.records`.
    pub fn max_poll_records(self, records: u32) -> Self {
        self.set(|config| config.max_poll_records = records)
    }

    /// `ackflow.fetch.max.records`.
    pub fn fetch_max_records(self, records: u32) -> Self {
        self.set(|config| config.fetch_max_records = records)
    }

    /// `fetch.max.bytes`.
    pub fn fetch_max_bytes(self, bytes: i32) -> Self {
        self.set(|config| config.fetch_max_bytes = bytes)
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

    /// `ackflow.renew.enable=true`, with these limits.
    pub fn auto_renew(self, renew: AutoRenew) -> Self {
        self.set(|config| config.auto_renew = Some(renew))
    }

    /// `allow.auto.create.topics`.
    pub fn allow_auto_create_topics(self, allow: bool) -> Self {
        self.set(|config| config.allow_auto_create_topics = allow)
    }

    /// `exclude.internal.topics`.
    pub fn exclude_internal_topics(self, exclude: bool) -> Self {
        self.set(|config| config.exclude_internal_topics = exclude)
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
    pub fn build(self) -> Result<ShareConsumerConfig, ClientError> {
        self.0.and_then(|config| config.validate().map(|()| config))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pairs: &[(&str, &str)]) -> Result<ShareConsumerConfig, ClientError> {
        let basics = [("bootstrap.servers", "a:1"), ("group.id", "g")];
        let values = basics.iter().chain(pairs).map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        ShareConsumerConfig::from_properties(&values)
    }

    #[test]
    fn kafkas_defaults_hold_for_what_is_not_said() {
        let config = read(&[]).unwrap();
        assert_eq!(config, ShareConsumerConfig::builder("a:1", "g").build().unwrap());
        assert_eq!((config.max_poll_records, config.fetch_max_bytes), (500, 52_428_800));
        assert_eq!(config.fetch_max_wait, Duration::from_millis(500));
        assert_eq!(config.acknowledgement_mode, AcknowledgementMode::Implicit);
        assert_eq!(config.acquire_mode, AcquireMode::BatchOptimized);
    }

    #[test]
    fn properties_and_builder_say_the_same() {
        let properties = read(&[
            ("client.id", "c"),
            ("share.acknowledgement.mode", "EXPLICIT"),
            ("share.acquire.mode", "record_limit"),
            ("max.poll.records", "7"),
            ("ackflow.member.id", "m"),
            ("ackflow.renew.enable", "true"),
            ("ackflow.renew.max.count", "3"),
            ("key.deserializer", "org.apache.kafka.common.serialization.StringDeserializer"),
        ]);
        let builder = ShareConsumerConfig::builder("a:1", "g")
            .client_id("c")
            .acknowledgement_mode(AcknowledgementMode::Explicit)
            .acquire_mode(AcquireMode::RecordLimit)
            .max_poll_records(7)
            .auto_renew(AutoRenew { max_renewals: 3, ..AutoRenew::default() })
            .member_id("m");
        assert_eq!(properties.unwrap(), builder.build().unwrap());
    }

    #[test]
    fn what_kafkas_share_consumer_refuses_is_refused_with_the_remedy() {
        for (key, _) in REFUSED {
            let error = read(&[(key, "x")]).unwrap_err().to_string();
            assert!(error.contains(key) && (error.contains("remove it") || error.contains("on the group")), "{error}");
        }
    }

    #[test]
    fn values_that_cannot_work_name_key_value_and_remedy() {
        for (key, value) in [
            ("group.id", ""),
            ("max.poll.records", "0"),
            ("fetch.max.wait.ms", "30000"),
            ("share.acknowledgement.mode", "auto"),
            ("ackflow.member.id", "0123456789012345678901234567890123456"),
            ("ackflow.fetch.max.record", "5"),
            ("ackflow.renew.at.percent", "91"),
        ] {
            let error = read(&[(key, value)]).unwrap_err();
            assert_eq!(error.kind(), crate::ErrorKind::Config);
            assert!(error.to_string().contains(key), "{error}");
        }
        let error = read(&[("ackflow.fetch.max.record", "5")]).unwrap_err().to_string();
        assert!(error.contains("did you mean ackflow.fetch.max.records?"), "{error}");
        let crabs = ShareConsumerConfig::builder("a:1", "g").member_id("\u{1f980}".repeat(36));
        let builder = || ShareConsumerConfig::builder("a:1", "g");
        for refused in [builder().fetch_min_bytes(-1), builder().max_poll_interval(Duration::ZERO), crabs] {
            assert_eq!(refused.build().unwrap_err().kind(), crate::ErrorKind::Config);
        }
        let error = ShareConsumerConfig::builder("", "g").max_poll_records(1).build().unwrap_err().to_string();
        assert!(error.contains("bootstrap.servers"), "{error}");
    }
}
