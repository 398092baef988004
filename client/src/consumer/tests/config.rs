//! Settings: what is read, and what is refused with its remedy.

use std::time::Duration;

use super::super::*;
use crate::error::{ClientError, ErrorKind};

fn read(pairs: &[(&str, &str)]) -> Result<ConsumerConfig, ClientError> {
    let basics = [("bootstrap.servers", "a:1")];
    let values = basics.iter().chain(pairs).map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    ConsumerConfig::from_properties(&values)
}

#[test]
fn kafkas_defaults_hold_for_what_is_not_said() {
    let config = read(&[]).unwrap();
    assert_eq!(config, ConsumerConfig::builder("a:1").build().unwrap());
    assert_eq!((config.max_poll_records, config.fetch_max_bytes), (500, 52_428_800));
    assert_eq!((config.max_partition_fetch_bytes, config.fetch_min_bytes), (1_048_576, 1));
    assert_eq!(
        (config.auto_offset_reset, config.isolation_level),
        (OffsetReset::Latest, IsolationLevel::ReadUncommitted)
    );
    assert!(config.enable_auto_commit && config.auto_commit_interval == Duration::from_secs(5));
    assert_eq!(config.options("m").auto_commit, None, "without a group");
}

#[test]
fn properties_and_builder_say_the_same() {
    let properties = read(&[
        ("group.id", "g"),
        ("group.protocol", "CONSUMER"),
        ("group.instance.id", "i"),
        ("group.remote.assignor", "range"),
        ("client.rack", "r"),
        ("auto.offset.reset", "by_duration:PT1H"),
        ("isolation.level", "read_committed"),
        ("enable.auto.commit", "false"),
        ("max.poll.records", "7"),
        ("key.deserializer", "org.apache.kafka.common.serialization.StringDeserializer"),
    ]);
    let builder = ConsumerConfig::builder("a:1")
        .group_id("g")
        .group_instance_id("i")
        .group_remote_assignor("range")
        .client_rack("r")
        .auto_offset_reset(OffsetReset::ByDuration(Duration::from_secs(3_600)))
        .isolation_level(IsolationLevel::ReadCommitted)
        .enable_auto_commit(false)
        .max_poll_records(7);
    assert_eq!(properties.unwrap(), builder.build().unwrap());
}

#[test]
fn the_classic_protocol_is_refused_with_the_remedy() {
    let error = read(&[("group.id", "g"), ("group.protocol", "classic")]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Config);
    let text = error.to_string();
    assert!(text.contains("group.protocol=classic") && text.contains("set group.protocol=consumer"), "{text}");
}

#[test]
fn values_that_cannot_work_name_key_value_and_remedy() {
    for (key, value, said) in [
        ("group.protocol", "share", "share consumer"),
        ("group.protocol", "x", "use consumer"),
        ("group.id", "", "name the group"),
        ("group.instance.id", "i", "set group.id"),
        ("auto.offset.reset", "by_duration:1h", "by_duration:P1DT2H"),
        ("auto.offset.reset", "by_duration:-PT1H", "earliest, latest"),
        ("isolation.level", "serializable", "read_committed"),
        ("session.timeout.ms", "1", "consumer.session.timeout.ms"),
        ("partition.assignment.strategy", "x", "group.remote.assignor"),
        ("fetch.max.wait.ms", "30000", "request.timeout.ms"),
        ("max.poll.records", "0", "1 to"),
        ("max.poll.recods", "1", "did you mean max.poll.records?"),
    ] {
        let error = read(&[(key, value)]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Config);
        let text = error.to_string();
        assert!(text.contains(key) && text.contains(said), "{text}");
    }
}
