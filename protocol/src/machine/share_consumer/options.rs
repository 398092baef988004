//! Settings of the share consumer's machine, under Kafka's names.

use std::time::Duration;

use crate::records::DEFAULT_DECOMPRESSION_LIMIT;

/// How a fetch acquires (`share.acquire.mode`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AcquireMode {
    /// Whole producer batches, fetched ahead of the caller. `MaxRecords` bounds nothing below a batch.
    #[default]
    BatchOptimized,
    /// Never more than `max.poll.records` records acquired and undecided; one broker at a time, nothing ahead.
    RecordLimit,
}

/// Settings of a [`ShareConsumerMachine`](super::ShareConsumerMachine). [`new`](Self::new) gives Kafka's defaults.
#[derive(Debug, Clone)]
pub struct ShareConsumerOptions {
    /// `group.id`, not empty.
    pub group_id: String,
    /// Id of this member, 1 to 36 characters, made by the client and kept for its life.
    pub member_id: String,
    /// `client.rack`, which the assignor may use. Never empty.
    pub client_rack: Option<String>,
    /// `share.acquire.mode`.
    pub acquire_mode: AcquireMode,
    /// `max.poll.records`, at least 1.
    pub max_poll_records: u32,
    /// How many records a fetch asks for at most, where records are fetched ahead ([`AcquireMode::BatchOptimized`]).
    pub fetch_max_records: u32,
    /// `fetch.max.bytes`: how many bytes a fetch asks for at most. It asks for as many as its records take.
    pub fetch_max_bytes: i32,
    /// `fetch.min.bytes`.
    pub fetch_min_bytes: i32,
    /// `fetch.max.wait.ms`: how long an idle broker holds a fetch.
    pub fetch_max_wait: Duration,
    /// `max.poll.interval.ms`: without a poll for so long, the member leaves.
    pub max_poll_interval: Duration,
    /// `retry.backoff.ms`.
    pub retry_backoff: Duration,
    /// `retry.backoff.max.ms`.
    pub retry_backoff_max: Duration,
    /// `metadata.max.age.ms`.
    pub metadata_max_age: Duration,
    /// `allow.auto.create.topics`: whether a broker that creates topics by itself (`auto.create.topics.enable`) may create those that are
    /// subscribed to and do not exist. Kafka's default is true; here it is false, so that a misspelt name is named.
    pub allow_auto_create_topics: bool,
    /// `exclude.internal.topics`: whether a subscription by pattern leaves out internal topics.
    pub exclude_internal_topics: bool,
    /// `default.api.timeout.ms`: how long an acknowledgement is tried again.
    pub default_api_timeout: Duration,
    /// `check.crcs`.
    pub check_crcs: bool,
    /// How far one batch may inflate, in bytes.
    pub decompression_limit: usize,
}

impl ShareConsumerOptions {
    /// Kafka's defaults for this group and member.
    pub fn new(group_id: impl Into<String>, member_id: impl Into<String>) -> Self {
        Self {
            group_id: group_id.into(),
            member_id: member_id.into(),
            client_rack: None,
            acquire_mode: AcquireMode::default(),
            max_poll_records: 500,
            fetch_max_records: 6_000,
            fetch_max_bytes: 50 << 20,
            fetch_min_bytes: 1,
            fetch_max_wait: Duration::from_millis(500),
            max_poll_interval: Duration::from_secs(300),
            retry_backoff: Duration::from_millis(100),
            retry_backoff_max: Duration::from_secs(1),
            metadata_max_age: Duration::from_secs(300),
            allow_auto_create_topics: false,
            exclude_internal_topics: true,
            default_api_timeout: Duration::from_secs(60),
            check_crcs: true,
            decompression_limit: DEFAULT_DECOMPRESSION_LIMIT,
        }
    }
}
