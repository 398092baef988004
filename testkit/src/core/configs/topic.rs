//! Topic settings. All of Kafka's names are taken and kept; the embedded broker acts on `max.message.bytes`,
//! `message.timestamp.*`, `cleanup.policy`, `retention.*`, `delete.retention.ms` and `min.compaction.lag.ms`. The others have no effect on
//! records in memory: nothing is recompressed, and compaction comes when logs are looked at, whatever `min.cleanable.dirty.ratio` and
//! `max.compaction.lag.ms` say.

use super::{ConfigDef, ConfigType, Valid, Values, broker::BrokerConfig, def, find};
use crate::core::log::{AppendRules, Compaction, Retention};

/// The settings of topics.
pub(crate) static DEFS: &[ConfigDef] = &[
    def("segment.bytes", ConfigType::Int, "1073741824", Valid::AtLeast(1_048_576)).of_broker("log.segment.bytes"),
    def("segment.ms", ConfigType::Long, "604800000", Valid::AtLeast(1)),
    def("segment.jitter.ms", ConfigType::Long, "0", Valid::AtLeast(0)),
    def("segment.index.bytes", ConfigType::Int, "10485760", Valid::AtLeast(4)).of_broker("log.index.size.max.bytes"),
    def("flush.messages", ConfigType::Long, "9223372036854775807", Valid::AtLeast(1))
        .of_broker("log.flush.interval.messages"),
    def("flush.ms", ConfigType::Long, "9223372036854775807", Valid::AtLeast(0)),
    def("retention.bytes", ConfigType::Long, "-1", Valid::Any).of_broker("log.retention.bytes"),
    def("retention.ms", ConfigType::Long, "604800000", Valid::AtLeast(-1)),
    def("max.message.bytes", ConfigType::Int, "1048588", Valid::AtLeast(0)).of_broker("message.max.bytes"),
    def("max.decompressed.message.bytes", ConfigType::Int, "2147483639", Valid::Between(1, 2_147_483_639))
        .of_broker("max.decompressed.message.bytes"),
    def("index.interval.bytes", ConfigType::Int, "4096", Valid::AtLeast(0)).of_broker("log.index.interval.bytes"),
    def("delete.retention.ms", ConfigType::Long, "86400000", Valid::AtLeast(0))
        .of_broker("log.cleaner.delete.retention.ms"),
    def("min.compaction.lag.ms", ConfigType::Long, "0", Valid::AtLeast(0))
        .of_broker("log.cleaner.min.compaction.lag.ms"),
    def("max.compaction.lag.ms", ConfigType::Long, "9223372036854775807", Valid::AtLeast(1))
        .of_broker("log.cleaner.max.compaction.lag.ms"),
    def("file.delete.delay.ms", ConfigType::Long, "60000", Valid::AtLeast(0)).of_broker("log.segment.delete.delay.ms"),
    def("min.cleanable.dirty.ratio", ConfigType::Double, "0.5", Valid::Between(0, 1))
        .of_broker("log.cleaner.min.cleanable.ratio"),
    def("cleanup.policy", ConfigType::List, "delete", Valid::OneOf(&["compact", "delete"]))
        .of_broker("log.cleanup.policy"),
    def("unclean.leader.election.enable", ConfigType::Boolean, "false", Valid::Any)
        .of_broker("unclean.leader.election.enable"),
    def("min.insync.replicas", ConfigType::Int, "1", Valid::AtLeast(1)).of_broker("min.insync.replicas"),
    def(
        "compression.type",
        ConfigType::String,
        "producer",
        Valid::OneOf(&["uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"]),
    )
    .of_broker("compression.type"),
    def("compression.gzip.level", ConfigType::Int, "-1", Valid::Between(-1, 9)).of_broker("compression.gzip.level"),
    def("compression.lz4.level", ConfigType::Int, "9", Valid::Between(1, 17)).of_broker("compression.lz4.level"),
    def("compression.zstd.level", ConfigType::Int, "3", Valid::Between(-131_072, 22))
        .of_broker("compression.zstd.level"),
    def("preallocate", ConfigType::Boolean, "false", Valid::Any).of_broker("log.preallocate"),
    def("message.timestamp.type", ConfigType::String, "CreateTime", Valid::OneOf(&["CreateTime", "LogAppendTime"]))
        .of_broker("log.message.timestamp.type"),
    def("message.timestamp.before.max.ms", ConfigType::Long, "9223372036854775807", Valid::AtLeast(0))
        .of_broker("log.message.timestamp.before.max.ms"),
    def("message.timestamp.after.max.ms", ConfigType::Long, "3600000", Valid::AtLeast(0))
        .of_broker("log.message.timestamp.after.max.ms"),
    def("leader.replication.throttled.replicas", ConfigType::List, "", Valid::Any),
    def("follower.replication.throttled.replicas", ConfigType::List, "", Valid::Any),
    def("remote.storage.enable", ConfigType::Boolean, "false", Valid::Any),
    def("local.retention.ms", ConfigType::Long, "-2", Valid::AtLeast(-2)).of_broker("log.local.retention.ms"),
    def("local.retention.bytes", ConfigType::Long, "-2", Valid::AtLeast(-2)).of_broker("log.local.retention.bytes"),
    def("remote.log.copy.disable", ConfigType::Boolean, "false", Valid::Any),
    def("remote.copy.lag.ms", ConfigType::Long, "0", Valid::AtLeast(-1)).of_broker("log.remote.copy.lag.ms"),
    def("remote.copy.lag.bytes", ConfigType::Long, "-1", Valid::AtLeast(-1)).of_broker("log.remote.copy.lag.bytes"),
    def("remote.log.delete.on.disable", ConfigType::Boolean, "false", Valid::Any),
    def(TAKES_DEAD_LETTERS, ConfigType::Boolean, "false", Valid::Any),
];

/// Whether share groups may send to the topic what they give up (KIP-1191).
pub(crate) const TAKES_DEAD_LETTERS: &str = "errors.deadletterqueue.group.enable";

/// Checks the settings that a topic would have.
///
/// # Errors
/// The reason, in Kafka's words.
pub(crate) fn check(values: &Values) -> Result<(), String> {
    for (name, value) in values {
        match find(DEFS, name) {
            Some(def) => def.check(value)?,
            None => return Err(format!("Unknown topic config name: {name}")),
        }
    }
    Ok(())
}

/// What a producer's batch has to meet in a topic with these settings, at `now_ms` under a leader of `leader_epoch`.
pub(crate) fn append_rules(values: &Values, broker: &BrokerConfig, now_ms: i64, leader_epoch: i32) -> AppendRules {
    let text = |name: &str| text(values, broker, name);
    let long = |name: &str| text(name).parse::<i64>().unwrap_or(i64::MAX);
    AppendRules {
        max_message_bytes: usize::try_from(long("max.message.bytes")).unwrap_or_default(),
        append_time: (text("message.timestamp.type") == "LogAppendTime").then_some(now_ms),
        earliest_timestamp: now_ms.saturating_sub(long("message.timestamp.before.max.ms")),
        latest_timestamp: now_ms.saturating_add(long("message.timestamp.after.max.ms")),
        keys_required: has_policy(values, broker, "compact"),
        leader_epoch,
    }
}

/// Whether share groups may send to a topic with these settings what they give up.
pub(crate) fn takes_dead_letters(values: &Values, broker: &BrokerConfig) -> bool {
    text(values, broker, TAKES_DEAD_LETTERS).eq_ignore_ascii_case("true")
}

/// Whether records may be deleted from a topic with these settings.
pub(crate) fn is_deleted_from(values: &Values, broker: &BrokerConfig) -> bool {
    has_policy(values, broker, "delete")
}

/// How the logs of a topic with these settings are compacted at `now_ms`; `None` where they are not.
pub(crate) fn compaction(values: &Values, broker: &BrokerConfig, now_ms: i64) -> Option<Compaction> {
    let long = |name| text(values, broker, name).parse::<i64>().unwrap_or_default();
    has_policy(values, broker, "compact").then(|| Compaction {
        now: now_ms,
        min_lag: long("min.compaction.lag.ms"),
        delete_retention: long("delete.retention.ms"),
    })
}

fn has_policy(values: &Values, broker: &BrokerConfig, policy: &str) -> bool {
    text(values, broker, "cleanup.policy").split(',').any(|found| found.trim() == policy)
}

/// How much is kept of a topic with these settings at `now_ms`; `None` where nothing is deleted. A negative limit is none.
pub(crate) fn retention(values: &Values, broker: &BrokerConfig, now_ms: i64) -> Option<Retention> {
    let limit = |name| text(values, broker, name).parse::<u64>().ok();
    let age = limit("retention.ms").map(|age| i64::try_from(age).unwrap_or(i64::MAX));
    is_deleted_from(values, broker)
        .then(|| Retention { oldest: age.map(|age| now_ms.saturating_sub(age)), bytes: limit("retention.bytes") })
}

fn text<'a>(values: &'a Values, broker: &'a BrokerConfig, name: &str) -> &'a str {
    match values.get(name) {
        Some(value) => value.trim(),
        None => find(DEFS, name).map_or("", |def| broker.default_of(def)).trim(),
    }
}
