//! Settings: bounds, refusals in Kafka's words, where values come from.

use std::time::Instant;

use ackflow_protocol::messages::describe_configs::{DescribeConfigsRequest, DescribeConfigsResource};
use ackflow_protocol::messages::incremental_alter_configs::{
    AlterConfigsResource, AlterConfigsResourceResponse, AlterableConfig, IncrementalAlterConfigsRequest,
};
use ackflow_protocol::wire::ErrorCode;

use super::rig::{GROUP, Rig, TOPIC};
use crate::core::{Cluster, ClusterOptions};

const SET: i8 = 0;
const DELETE: i8 = 1;
const APPEND: i8 = 2;
const SUBTRACT: i8 = 3;

fn alter(
    rig: &mut Rig,
    (resource_type, resource_name): (i8, &str),
    config_operation: i8,
    name: &str,
    value: Option<&str>,
) -> AlterConfigsResourceResponse {
    let config = AlterableConfig { name: name.to_owned(), config_operation, value: value.map(str::to_owned) };
    let resource_name = resource_name.to_owned();
    let resource = AlterConfigsResource { resource_type, resource_name, configs: vec![config] };
    let request = IncrementalAlterConfigsRequest { resources: vec![resource], validate_only: false };
    rig.call(1, &request).responses.remove(0)
}

fn describe(rig: &mut Rig, resource_type: i8, name: &str, key: &str) -> (String, i8, usize) {
    let resource = DescribeConfigsResource {
        resource_type,
        resource_name: name.to_owned(),
        configuration_keys: Some(vec![key.to_owned()]),
    };
    let request = DescribeConfigsRequest { resources: vec![resource], include_synonyms: true, ..Default::default() };
    let config = rig.call(1, &request).results.remove(0).configs.remove(0);
    (config.value.unwrap(), config.config_source, config.synonyms.len())
}

#[test]
fn group_settings_have_kafkas_bounds_and_words() {
    let mut rig = Rig::new();
    for (name, value, message) in [
        (
            "share.record.lock.duration.ms",
            "500",
            "Invalid value 500 for configuration share.record.lock.duration.ms: Value must be at least 1000",
        ),
        (
            "share.record.lock.duration.ms",
            "2000",
            "share.record.lock.duration.ms must be in the range 15000 to 60000 inclusive.",
        ),
        (
            "share.record.lock.duration.ms",
            "90000",
            "share.record.lock.duration.ms must be in the range 15000 to 60000 inclusive.",
        ),
        (
            "share.record.lock.duration.ms",
            "abc",
            "Invalid value abc for configuration share.record.lock.duration.ms: Not a number of type INT",
        ),
        (
            "share.delivery.count.limit",
            "1",
            "Invalid value 1 for configuration share.delivery.count.limit: Value must be at least 2",
        ),
        ("share.delivery.count.limit", "11", "share.delivery.count.limit must be in the range 2 to 10 inclusive."),
        (
            "share.partition.max.record.locks",
            "50",
            "Invalid value 50 for configuration share.partition.max.record.locks: Value must be at least 100",
        ),
        (
            "share.partition.max.record.locks",
            "4001",
            "share.partition.max.record.locks must be in the range 100 to 4000 inclusive.",
        ),
        (
            "share.isolation.level",
            "x",
            "Invalid value x for configuration share.isolation.level: String must be one of: read_committed, read_uncommitted",
        ),
        (
            "share.renew.acknowledge.enable",
            "maybe",
            "Invalid value maybe for configuration share.renew.acknowledge.enable: Expected value to be either true or false",
        ),
        (
            "share.heartbeat.interval.ms",
            "60000",
            "share.heartbeat.interval.ms must be in the range 5000 to 15000 inclusive.",
        ),
        ("share.session.timeout.ms", "1000", "share.session.timeout.ms must be in the range 45000 to 60000 inclusive."),
        (
            "share.assignment.interval.ms",
            "16000",
            "share.assignment.interval.ms must be in the range 0 to 15000 inclusive.",
        ),
        (
            "errors.deadletterqueue.topic.name",
            "__x",
            "errors.deadletterqueue.topic.name: DLQ topic name must not start with '__'",
        ),
        ("no.such", "x", "Unknown group config name: no.such"),
    ] {
        let refused = alter(&mut rig, (32, GROUP), SET, name, Some(value));
        assert_eq!((refused.error_code, refused.error_message.as_deref()), (ErrorCode::INVALID_CONFIG, Some(message)));
    }
    for value in [
        "nope",
        "by_duration:xx",
        "by_duration:",
        "by_duration:P",
        "by_duration:PT",
        "by_duration:-PT1H",
        "by_duration:PT1H1D",
    ] {
        let refused = alter(&mut rig, (32, GROUP), SET, "share.auto.offset.reset", Some(value));
        assert_eq!(refused.error_code, ErrorCode::INVALID_CONFIG, "{value}");
    }
    for value in ["by_duration:PT1H", "by_duration:P1DT2H3M4.5S", "by_duration:P2D", "earliest", "latest"] {
        let taken = alter(&mut rig, (32, GROUP), SET, "share.auto.offset.reset", Some(value));
        assert_eq!(taken.error_code, ErrorCode::NONE, "{value}");
    }
    for (resource, operation, value) in
        [((32, ""), SET, Some("3")), ((32, GROUP), SET, None), ((99, "x"), SET, Some("3")), ((4, "1"), SET, Some("3"))]
    {
        let refused = alter(&mut rig, resource, operation, "share.delivery.count.limit", value);
        assert_eq!(refused.error_code, ErrorCode::INVALID_REQUEST, "{resource:?} {value:?}");
    }
}

#[test]
fn the_brokers_settings_widen_the_bounds_of_groups() {
    let mut rig = Rig::with(&[("group.share.min.record.lock.duration.ms", "1000")], &[]);
    let taken = alter(&mut rig, (32, GROUP), SET, "share.record.lock.duration.ms", Some("2000"));
    assert_eq!(taken.error_code, ErrorCode::NONE);
}

#[test]
fn a_value_is_described_with_where_it_comes_from() {
    let mut rig = Rig::with(&[("group.share.delivery.count.limit", "7")], &[]);
    let limit = "share.delivery.count.limit";
    assert_eq!(describe(&mut rig, 32, GROUP, limit), ("7".to_owned(), 4, 2), "set on the broker, over the default");
    alter(&mut rig, (32, GROUP), SET, limit, Some("3"));
    assert_eq!(describe(&mut rig, 32, GROUP, limit), ("3".to_owned(), 8, 3));
    alter(&mut rig, (32, GROUP), DELETE, limit, None);
    assert_eq!(describe(&mut rig, 32, GROUP, limit), ("7".to_owned(), 4, 2));
    assert_eq!(describe(&mut rig, 32, "nobody", "share.auto.offset.reset"), ("latest".to_owned(), 5, 1));
    assert_eq!(describe(&mut rig, 4, "1", "group.share.delivery.count.limit"), ("7".to_owned(), 4, 2));
    assert_eq!(describe(&mut rig, 2, TOPIC, "max.message.bytes"), ("1048588".to_owned(), 5, 1));
}

#[test]
fn lists_are_appended_to_and_subtracted_from() {
    let mut rig = Rig::new();
    let policy = "cleanup.policy";
    alter(&mut rig, (2, TOPIC), APPEND, policy, Some("compact"));
    assert_eq!(describe(&mut rig, 2, TOPIC, policy).0, "delete,compact");
    alter(&mut rig, (2, TOPIC), SUBTRACT, policy, Some("delete"));
    assert_eq!(describe(&mut rig, 2, TOPIC, policy).0, "compact");
    let refused = alter(&mut rig, (2, TOPIC), APPEND, "retention.ms", Some("5"));
    assert_eq!(
        refused.error_message.as_deref(),
        Some("Can't APPEND to key retention.ms because its type is not LIST.")
    );
    let refused = alter(&mut rig, (2, "nothing"), SET, policy, Some("compact"));
    assert_eq!(refused.error_code, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
}

#[test]
fn broker_settings_are_checked_when_the_broker_is_made() {
    let broker = |configs: &[(&str, &str)]| {
        let mut options = ClusterOptions::new(Instant::now(), 0);
        options.configs = configs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        Cluster::new(options).map(|_| ()).map_err(|error| error.to_string())
    };
    assert_eq!(broker(&[("group.share.session.timeout.ms", "60000")]), Ok(()));
    for (name, value, part) in [
        ("group.share.delivery.count.limt", "5", "did you mean \"group.share.delivery.count.limit\""),
        ("group.share.record.lock.duration.ms", "500", "Value must be at least 1000"),
        ("group.share.record.lock.duration.ms", "14000", "group.share.min.record.lock.duration.ms=15000"),
        ("group.share.delivery.count.limit", "11", "Value must be no more than 10"),
        ("auto.create.topics.enable", "yes", "either true or false"),
    ] {
        let error = broker(&[(name, value)]).unwrap_err();
        assert!(error.contains(part), "{error}");
    }
    let mut options = ClusterOptions::new(Instant::now(), 0);
    options.share_version = 4;
    assert!(Cluster::new(options.clone()).unwrap_err().to_string().contains("share.version=4"));
    options.share_version = 1;
    options.topics = vec![("bad name".to_owned(), 1)];
    assert!(Cluster::new(options.clone()).unwrap_err().to_string().contains("bad name"));
    options.topics.clear();
    options.group_configs.entry("g".to_owned()).or_default().insert("share.delivery.count.limit".into(), "99".into());
    assert!(Cluster::new(options).unwrap_err().to_string().contains("range 2 to 10"));
}
