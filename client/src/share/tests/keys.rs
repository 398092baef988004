//! The settings of Kafka's consumers, one by one.

use std::collections::{BTreeMap, BTreeSet};

use super::super::config::ShareConsumerConfig;
use crate::error::{ClientError, ErrorKind};

/// What becomes of a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// It is obeyed, and Kafka's default is ours; with another value, which has to make a difference.
    Obeyed(&'static str),
    /// It is obeyed, with another default than Kafka's.
    OtherDefault,
    /// It means nothing here, and is let through for files that serve Kafka's clients too.
    Ignored,
    /// Kafka's share consumer refuses it, and so does this one.
    Refused,
}

use Fate::{Ignored, Obeyed, OtherDefault, Refused};

/// What `ConsumerConfig.configDef()` of Kafka 4.4.0 lists, with its defaults, but for `sasl.*`, `ssl.*` and `internal.*`.
const KAFKA: &[(&str, &str, Fate)] = &[
    ("allow.auto.create.topics", "true", OtherDefault),
    ("auto.commit.interval.ms", "5000", Ignored),
    ("auto.offset.reset", "latest", Refused),
    ("bootstrap.resolve.timeout.ms", "0", Obeyed("60000")),
    ("bootstrap.servers", "a:1", Obeyed("b:2")),
    ("check.crcs", "true", Obeyed("false")),
    ("client.dns.lookup", "use_all_dns_ips", Ignored),
    ("client.id", "", Obeyed("me")),
    ("client.rack", "", Obeyed("r1")),
    ("config.providers", "", Ignored),
    ("connections.max.idle.ms", "540000", Obeyed("-1")),
    ("default.api.timeout.ms", "60000", Obeyed("1")),
    ("enable.auto.commit", "true", Refused),
    ("enable.metrics.push", "true", Obeyed("false")),
    ("exclude.internal.topics", "true", Obeyed("false")),
    ("fetch.max.bytes", "52428800", Obeyed("1000")),
    ("fetch.max.wait.ms", "500", Obeyed("0")),
    ("fetch.min.bytes", "1", Obeyed("0")),
    ("group.id", "g", Obeyed("h")),
    ("group.instance.id", "i", Refused),
    ("group.protocol", "classic", Refused),
    ("group.remote.assignor", "a", Refused),
    ("heartbeat.interval.ms", "3000", Refused),
    ("interceptor.classes", "", Refused),
    ("isolation.level", "read_uncommitted", Refused),
    ("key.deserializer", "org.apache.kafka.common.serialization.StringDeserializer", Ignored),
    ("max.partition.fetch.bytes", "1048576", Ignored),
    ("max.poll.interval.ms", "300000", Obeyed("1")),
    ("max.poll.records", "500", Obeyed("1")),
    ("metadata.cluster.check.enable", "true", Obeyed("false")),
    ("metadata.max.age.ms", "300000", Obeyed("0")),
    ("metadata.recovery.rebootstrap.trigger.ms", "300000", Obeyed("0")),
    ("metadata.recovery.strategy", "REBOOTSTRAP", Obeyed("none")),
    ("metric.reporters", "org.apache.kafka.common.metrics.JmxReporter", Ignored),
    ("metrics.num.samples", "2", Obeyed("3")),
    ("metrics.recording.level", "INFO", Ignored),
    ("metrics.sample.window.ms", "30000", Obeyed("1000")),
    ("partition.assignment.strategy", "org.apache.kafka.clients.consumer.RangeAssignor", Refused),
    ("receive.buffer.bytes", "65536", Ignored),
    ("reconnect.backoff.max.ms", "1000", Obeyed("2")),
    ("reconnect.backoff.ms", "50", Obeyed("2")),
    ("request.timeout.ms", "30000", Obeyed("501")),
    ("retry.backoff.max.ms", "1000", Obeyed("2")),
    ("retry.backoff.ms", "100", Obeyed("2")),
    ("security.protocol", "PLAINTEXT", OtherDefault),
    ("send.buffer.bytes", "131072", Ignored),
    ("session.timeout.ms", "45000", Refused),
    ("share.acknowledgement.mode", "implicit", Obeyed("EXPLICIT")),
    ("share.acquire.mode", "batch_optimized", Obeyed("record_limit")),
    ("socket.connection.setup.timeout.max.ms", "30000", Obeyed("20000")),
    ("socket.connection.setup.timeout.ms", "10000", Obeyed("20000")),
    ("value.deserializer", "org.apache.kafka.common.serialization.StringDeserializer", Ignored),
];

fn read(key: &str, value: &str) -> Result<ShareConsumerConfig, ClientError> {
    let mut values = BTreeMap::from([("bootstrap.servers", "a:1"), ("group.id", "g")]);
    values.insert(key, value);
    let values = values.into_iter().map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
    ShareConsumerConfig::from_properties(&values)
}

#[test]
fn every_setting_of_kafkas_consumers_is_obeyed_ignored_or_refused_as_kafka_does() {
    let basis = read("group.id", "g").unwrap();
    for (key, default, fate) in KAFKA {
        let config = read(key, default);
        match fate {
            Obeyed(other) => {
                assert_eq!(config.unwrap(), basis, "{key} has Kafka's default");
                assert_ne!(read(key, other).unwrap(), basis, "{key} makes a difference");
            }
            OtherDefault => assert!(config.is_ok(), "{key}: {config:?}"),
            Ignored => assert_eq!(config.unwrap(), basis, "{key} changes nothing"),
            Refused => {
                let error = config.unwrap_err();
                assert_eq!(error.kind(), ErrorKind::Config);
                assert!(error.to_string().contains(key), "{error}");
            }
        }
        let distinct: BTreeSet<_> = KAFKA.iter().map(|(key, ..)| key).collect();
        assert_eq!(distinct.len(), KAFKA.len());
    }
}

#[test]
fn a_setting_that_is_nobodys_is_refused_with_the_nearest_one() {
    for (key, nearest) in [
        ("exclude.internal.topic", "exclude.internal.topics"),
        ("allow.auto.create.topic", "allow.auto.create.topics"),
        ("bootstrap.resolve.timeout", "bootstrap.resolve.timeout.ms"),
    ] {
        let error = read(key, "1").unwrap_err().to_string();
        assert!(error.contains(&format!("did you mean {nearest}?")), "{error}");
    }
}

// Mutation: client/src/share/config.rs
// - if length > LONGEST_GROUP_ID {
// + if length > 1_000 * LONGEST_GROUP_ID {
#[test]
fn a_group_id_that_no_request_can_say_is_refused() {
    assert!(read("group.id", &"g".repeat(32_767)).is_ok());
    let error = read("group.id", &"g".repeat(40_000)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Config);
    let text = error.to_string();
    assert!(text.contains("group.id") && text.contains("40000 bytes") && text.len() < 300, "{text}");
}
