//! What an embedded broker is made with.

use std::collections::BTreeMap;
use std::time::Instant;

use super::sasl::Users;

/// What a [`Cluster`](super::Cluster) is made with.
#[derive(Debug, Clone)]
pub struct ClusterOptions {
    /// The brokers, at least one. The first has the id that `node.id` of [`configs`](Self::configs) says, 1 by default, and each
    /// other one the next.
    pub nodes: Vec<NodeOptions>,
    /// The finalized level of the feature `share.version`: 0 turns share groups off, 1 is KIP-932, 2 adds the broker's
    /// dead letter queue (KIP-1191). With the feature `unstable-kip-1289`, level 3 is the draft of KIP-1289, acknowledgements in transactions.
    pub share_version: i16,
    /// The finalized level of the feature `transaction.version`: with 2, each end of a transaction begins another epoch of its producer, and
    /// partitions become part of it by being written to (KIP-890).
    pub transaction_version: i16,
    /// Broker settings by Kafka's names, such as `group.share.record.lock.duration.ms`.
    pub configs: BTreeMap<String, String>,
    /// Settings of groups, by group id: `share.auto.offset.reset` and its like.
    pub group_configs: BTreeMap<String, BTreeMap<String, String>>,
    /// Topics that exist from the start: name and partitions.
    pub topics: Vec<(String, i32)>,
    /// The instant that [`started_ms`](Self::started_ms) is about.
    pub started: Instant,
    /// Who may come in, where the listeners want SASL; `None` where anybody may. Which mechanisms are served and how long a session lasts say
    /// `sasl.enabled.mechanisms` and `connections.max.reauth.ms` of [`configs`](Self::configs).
    pub sasl: Option<Users>,
    /// Milliseconds since 1970 at [`started`](Self::started).
    pub started_ms: i64,
    /// Where random ids come from: the same seed gives the same ids.
    pub seed: u64,
}

/// One broker.
#[derive(Debug, Clone)]
pub struct NodeOptions {
    /// The host that clients are told.
    pub host: String,
    /// The port that clients are told.
    pub port: u16,
    /// Its rack (`broker.rack`), where it has one.
    pub rack: Option<String>,
}

impl NodeOptions {
    /// A broker on this port of 127.0.0.1, in no rack.
    pub fn local(port: u16) -> Self {
        Self { host: "127.0.0.1".to_owned(), port, rack: None }
    }
}

impl ClusterOptions {
    /// One broker with Kafka's defaults and no topics, at an instant that stands for `started_ms`, milliseconds since 1970.
    pub fn new(started: Instant, started_ms: i64) -> Self {
        Self {
            nodes: vec![NodeOptions::local(9092)],
            share_version: 2,
            transaction_version: 2,
            configs: BTreeMap::new(),
            group_configs: BTreeMap::new(),
            topics: Vec::new(),
            sasl: None,
            started,
            started_ms,
            seed: 0,
        }
    }
}

/// Options that make no broker.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OptionsError {
    /// There is no broker.
    #[error("a cluster has at least one node")]
    NoNodes,
    /// A broker setting is unknown or has a value that is not allowed.
    #[error("broker setting: {0}")]
    Config(String),
    /// A setting of a group is unknown or has a value that is not allowed.
    #[error("setting of group {group:?}: {reason}")]
    GroupConfig {
        /// The group.
        group: String,
        /// What is wrong, in Kafka's words.
        reason: String,
    },
    /// A topic cannot be created.
    #[error("topic {topic:?} with {partitions} partitions: {reason}")]
    Topic {
        /// The topic.
        topic: String,
        /// Its partitions.
        partitions: i32,
        /// What is wrong, in Kafka's words.
        reason: String,
    },
    /// The feature level is not served.
    #[error("share.version={0} is not served: 0 turns share groups off, 1 turns them on, 2 adds dead letter queues{drafts}", drafts = of_drafts())]
    ShareVersion(i16),
    /// The feature level does not exist.
    #[error("transaction.version={0} does not exist: it is 0, 1 or 2")]
    TransactionVersion(i16),
}

/// The levels that only drafts know, in words.
fn of_drafts() -> &'static str {
    if cfg!(feature = "unstable-kip-1289") { ", 3 adds acknowledgements in transactions (KIP-1289)" } else { "" }
}
