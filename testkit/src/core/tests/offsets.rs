//! Where a group starts, and how much it has left.

use std::time::Duration;

use ackflow_protocol::messages::alter_share_group_offsets::{
    AlterShareGroupOffsetsRequest, AlterShareGroupOffsetsRequestPartition, AlterShareGroupOffsetsRequestTopic,
};
use ackflow_protocol::messages::describe_share_group_offsets::{
    DescribeShareGroupOffsetsRequest, DescribeShareGroupOffsetsRequestGroup, DescribeShareGroupOffsetsRequestTopic,
};
use ackflow_protocol::wire::ErrorCode;

use super::logs::delete_records;
use super::rig::{GROUP, Member, Rig, STARTED_MS, TOPIC, batch};

fn reset(value: &str) -> Rig {
    Rig::with(&[], &[("share.auto.offset.reset", value)])
}

#[test]
fn latest_begins_with_what_comes_after_the_first_fetch() {
    let mut rig = reset("latest");
    rig.produce(0, 4);
    let mut member = Member::new(&rig, "m1", 1, &[0]);
    assert_eq!(member.fetch(&mut rig, 10), "0[]");
    rig.produce(0, 4);
    assert_eq!(member.fetch(&mut rig, 10), "0[4-7x1]");
}

#[test]
fn a_group_without_settings_begins_at_latest() {
    let mut rig = Rig::new();
    rig.produce(0, 4);
    let mut member = Member::new(&rig, "m1", 1, &[0]);
    member.group = "other".to_owned();
    assert_eq!(member.fetch(&mut rig, 10), "0[]");
}

#[test]
fn earliest_begins_at_the_first_record() {
    let mut rig = reset("earliest");
    rig.produce(0, 4);
    let mut member = Member::new(&rig, "m1", 1, &[0]);
    assert_eq!(member.fetch(&mut rig, 10), "0[0-3x1]");
}

#[test]
fn by_duration_begins_at_the_first_record_that_is_young_enough() {
    let mut rig = reset("by_duration:PT1H");
    for age in [7200, 3700, 3500, 10] {
        let batch = batch(2, STARTED_MS - age * 1000);
        rig.cluster.produce(rig.now, TOPIC, 0, &batch).unwrap();
    }
    let mut member = Member::new(&rig, "m1", 1, &[0]);
    assert_eq!(member.fetch(&mut rig, 10), "0[4-7x1]");
    rig.advance(Duration::from_secs(3595));
    let mut later = Member::new(&rig, "m2", 2, &[1]);
    assert_eq!(later.fetch(&mut rig, 10), "1[]");
}

#[test]
fn lag_counts_what_is_not_done_and_the_start_passes_what_is() {
    let mut rig = Rig::new();
    rig.produce(0, 10);
    assert_eq!(rig.lag(0), None);
    let mut member = Member::new(&rig, "m1", 1, &[0, 1]);
    member.fetch(&mut rig, 100);
    member.ack(&mut rig, 0, 3, 1);
    member.ack(&mut rig, 6, 7, 3);
    rig.produce(0, 5);
    assert_eq!(rig.lag(0), Some(9));

    let describe = |partitions: &[i32], topics: bool| DescribeShareGroupOffsetsRequest {
        groups: vec![DescribeShareGroupOffsetsRequestGroup {
            group_id: GROUP.to_owned(),
            topics: topics.then(|| {
                let topic_name = TOPIC.to_owned();
                vec![DescribeShareGroupOffsetsRequestTopic { topic_name, partitions: partitions.to_vec() }]
            }),
        }],
    };
    let response = rig.call(1, &describe(&[0, 1, 2], true));
    let partitions = &response.groups[0].topics[0].partitions;
    let seen: Vec<(i64, i64)> = partitions.iter().map(|p| (p.start_offset, p.lag)).collect();
    assert_eq!(seen, [(4, 9), (-1, -1), (-1, -1)], "a partition in which nothing was decided has no state yet");
    assert!(partitions.iter().all(|partition| partition.error_code == ErrorCode::NONE));
    assert_eq!(rig.call(1, &describe(&[], false)).groups[0].topics.len(), 0, "the group has no subscription");
}

#[test]
fn a_start_that_was_set_to_before_the_log_begins_is_where_the_log_begins() {
    let mut rig = Rig::new();
    rig.produce(0, 10);
    delete_records(&mut rig, 4).unwrap();
    let partitions = vec![AlterShareGroupOffsetsRequestPartition { partition_index: 0, start_offset: 2 }];
    let topics = vec![AlterShareGroupOffsetsRequestTopic { topic_name: TOPIC.to_owned(), partitions }];
    let request = AlterShareGroupOffsetsRequest { group_id: GROUP.to_owned(), topics };
    assert!(rig.call(1, &request).responses[0].partitions[0].error_code.is_none());
    assert_eq!(rig.lag(0), Some(8));
    let mut member = Member::new(&rig, "m1", 1, &[0]);
    assert_eq!(member.fetch_limited(&mut rig, 3), "0[4-6x1]");
    assert_eq!(rig.lag(0), Some(6));
}
