//! Records that are too old or too much.

use std::time::Duration;

use ackflow_protocol::messages::incremental_alter_configs::{
    AlterConfigsResource, AlterableConfig, IncrementalAlterConfigsRequest,
};
use ackflow_protocol::wire::ErrorCode;

use super::logs::list;
use super::rig::{Member, Rig, STARTED_MS, TOPIC, batch};

const START: i64 = -2;
const END: i64 = -1;

/// A cluster that looks at its logs every minute.
fn rig() -> Rig {
    Rig::with(&[("log.retention.check.interval.ms", "60000")], &[])
}

pub(super) fn set(rig: &mut Rig, name: &str, value: &str) {
    let config = AlterableConfig { name: name.to_owned(), config_operation: 0, value: Some(value.to_owned()) };
    let resource = AlterConfigsResource { resource_type: 2, resource_name: TOPIC.to_owned(), configs: vec![config] };
    let request = IncrementalAlterConfigsRequest { resources: vec![resource], validate_only: false };
    assert_eq!(rig.call(1, &request).responses[0].error_code, ErrorCode::NONE);
}

/// Two records, so many seconds before the start.
fn produce_aged(rig: &mut Rig, seconds: i64) {
    rig.cluster.produce(rig.now, TOPIC, 0, &batch(2, STARTED_MS - seconds * 1000)).unwrap();
}

fn start(rig: &mut Rig) -> i64 {
    assert_eq!(rig.cluster.poll(rig.now), None);
    list(rig, START, 0).unwrap().1
}

#[test]
fn records_go_at_the_first_check_after_they_were_too_old() {
    let mut rig = rig();
    set(&mut rig, "retention.ms", "100000");
    for seconds in [90, 10, 30] {
        produce_aged(&mut rig, seconds);
    }
    rig.advance(Duration::from_secs(59));
    assert_eq!(start(&mut rig), 0);
    rig.advance(Duration::from_secs(1));
    assert_eq!(start(&mut rig), 2);
    // The last one is old enough then, and the one before it is not.
    rig.advance(Duration::from_secs(20));
    rig.cluster.clean_logs(rig.now);
    assert_eq!(start(&mut rig), 2);
    rig.advance(Duration::from_secs(40));
    assert_eq!((start(&mut rig), list(&mut rig, END, 0).unwrap().1), (6, 6));
    assert_eq!(rig.cluster.next_deadline(), None, "what is empty is not looked at");
}

#[test]
fn records_go_while_those_behind_them_are_enough() {
    let mut rig = rig();
    for _ in 0..4 {
        produce_aged(&mut rig, 0);
    }
    let size = batch(2, STARTED_MS).len();
    set(&mut rig, "retention.bytes", &(2 * size + 1).to_string());
    rig.cluster.clean_logs(rig.now);
    assert_eq!(start(&mut rig), 2);
    set(&mut rig, "retention.bytes", &(2 * size).to_string());
    rig.cluster.clean_logs(rig.now);
    assert_eq!(start(&mut rig), 4);
}

#[test]
fn a_topic_that_is_only_compacted_keeps_what_is_old() {
    let mut rig = rig();
    produce_aged(&mut rig, 0);
    set(&mut rig, "retention.ms", "1");
    set(&mut rig, "cleanup.policy", "compact");
    rig.advance(Duration::from_secs(60));
    assert_eq!(start(&mut rig), 0);
    set(&mut rig, "cleanup.policy", "compact,delete");
    rig.advance(Duration::from_secs(60));
    assert_eq!(start(&mut rig), 2);
}

#[test]
fn records_of_no_age_limit_stay() {
    let mut rig = rig();
    produce_aged(&mut rig, 0);
    set(&mut rig, "retention.ms", "-1");
    rig.advance(Duration::from_secs(100 * 24 * 3600));
    assert_eq!(start(&mut rig), 0);
    set(&mut rig, "retention.ms", "604800000");
    rig.cluster.clean_logs(rig.now);
    assert_eq!(start(&mut rig), 2);
}

#[test]
fn a_share_group_goes_on_where_the_log_begins() {
    let mut rig = rig();
    for seconds in [50, 0] {
        produce_aged(&mut rig, seconds);
    }
    let mut member = Member::new(&rig, "m1", 1, &[0]);
    assert_eq!(member.fetch(&mut rig, 1), "0[0-1x1]");
    assert_eq!(rig.lag(0), Some(4));
    set(&mut rig, "retention.ms", "40000");
    rig.cluster.clean_logs(rig.now);
    assert_eq!(rig.lag(0), Some(2));
    assert_eq!(member.fetch(&mut rig, 10), "0[2-3x1]");
    assert_eq!(member.ack(&mut rig, 2, 3, 1), ErrorCode::NONE);
    assert_eq!(rig.lag(0), Some(0));
}
