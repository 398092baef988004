//! Settings of the consumer's machine, under Kafka's names.

use std::time::Duration;

use crate::records::DEFAULT_DECOMPRESSION_LIMIT;

/// Where a partition is read from that the group has no offset of (`auto.offset.reset`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OffsetReset {
    /// From its first offset.
    Earliest,
    /// From its end.
    #[default]
    Latest,
    /// From the first record that is not older than so long (KIP-1106), or else from its end.
    ByDuration(Duration),
    /// Nowhere: that is an error.
    None,
}

/// Which records are read (`isolation.level`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum IsolationLevel {
    /// All, also of transactions that are open or aborted.
    #[default]
    ReadUncommitted,
    /// Those of no transaction, and those of committed ones; nothing behind one that is open.
    ReadCommitted,
}

impl IsolationLevel {
    /// Its value on the wire.
    pub(super) fn wire(self) -> i8 {
        match self {
            Self::ReadUncommitted => 0,
            Self::ReadCommitted => 1,
        }
    }
}

/// Settings of a [`ConsumerMachine`](super::ConsumerMachine). [`new`](Self::new) gives Kafka's defaults.
#[derive(Debug, Clone)]
pub struct ConsumerOptions {
    /// `group.id`; `None` reads without a group.
    pub group_id: Option<String>,
    /// Id of this member, made by the client and kept for its life.
    pub member_id: String,
    /// `group.instance.id`: the name of a static member.
    pub instance_id: Option<String>,
    /// `client.rack`, for the assignor and to read from the nearest replica (KIP-392). Never empty.
    pub client_rack: Option<String>,
    /// `group.remote.assignor`; `None` leaves it to the broker.
    pub server_assignor: Option<String>,
    /// `auto.offset.reset`.
    pub offset_reset: OffsetReset,
    /// `isolation.level`.
    pub isolation: IsolationLevel,
    /// `enable.auto.commit` with `auto.commit.interval.ms`; `None` commits nothing by itself.
    pub auto_commit: Option<Duration>,
    /// `fetch.max.bytes`: for so many bytes a fetch asks at most, and no more are fetched ahead.
    pub fetch_max_bytes: i32,
    /// `max.partition.fetch.bytes`: the same of one partition.
    pub partition_fetch_bytes: i32,
    /// `fetch.min.bytes`.
    pub fetch_min_bytes: i32,
    /// `fetch.max.wait.ms`.
    pub fetch_max_wait: Duration,
    /// `max.poll.interval.ms`: without a poll for so long the member leaves. It is the group's rebalance timeout too.
    pub max_poll_interval: Duration,
    /// `retry.backoff.ms`.
    pub retry_backoff: Duration,
    /// `retry.backoff.max.ms`.
    pub retry_backoff_max: Duration,
    /// `metadata.max.age.ms`.
    pub metadata_max_age: Duration,
    /// `default.api.timeout.ms`: how long a question is asked.
    pub default_api_timeout: Duration,
    /// `request.timeout.ms`.
    pub request_timeout: Duration,
    /// `allow.auto.create.topics`. Kafka's default is true; here it is false, so that a misspelt name is named.
    pub allow_auto_create_topics: bool,
    /// `check.crcs`: whether corrupt batches are looked for.
    pub check_crcs: bool,
    /// How far one batch may inflate.
    pub decompression_limit: usize,
}

impl ConsumerOptions {
    /// Kafka's defaults.
    pub fn new(group_id: Option<&str>, member_id: &str) -> Self {
        Self {
            group_id: group_id.map(str::to_owned),
            member_id: member_id.to_owned(),
            instance_id: None,
            client_rack: None,
            server_assignor: None,
            offset_reset: OffsetReset::default(),
            isolation: IsolationLevel::default(),
            auto_commit: Some(Duration::from_secs(5)),
            fetch_max_bytes: 50 << 20,
            partition_fetch_bytes: 1 << 20,
            fetch_min_bytes: 1,
            fetch_max_wait: Duration::from_millis(500),
            max_poll_interval: Duration::from_secs(300),
            retry_backoff: Duration::from_millis(100),
            retry_backoff_max: Duration::from_secs(1),
            metadata_max_age: Duration::from_secs(300),
            default_api_timeout: Duration::from_secs(60),
            request_timeout: Duration::from_secs(30),
            allow_auto_create_topics: false,
            check_crcs: true,
            decompression_limit: DEFAULT_DECOMPRESSION_LIMIT,
        }
    }
}
