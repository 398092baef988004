//! Where a group starts.

use ackflow_protocol::messages::delete_records::{DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic};
use ackflow_protocol::records::BatchOptions;

use crate::broker::lab::{Kind, Lab, Outcome, RELEASE, acquired, batch_at, now_ms, offsets, values};

pub(super) async fn a_group_starts_at_the_end_by_default(lab: &Lab) -> Outcome {
    let group = lab.group_at_latest();
    lab.coordinator(Kind::Group, &group).await?;
    let mut stage = lab.stage_of(group, 1).await?;
    lab.produce(&stage.topic, 0, 5).await?;
    // When exactly the group begins is not the rule's concern: a record comes after each look, until one is acquired.
    let first = lab.eventually("a record that was written behind the beginning", async || {
        let got = stage.session.fetch().await?;
        lab.produce(&stage.topic, 0, 1).await?;
        Ok(got.first().copied())
    });
    let first = first.await?.first;
    lab.check_that("the first offset that is acquired", first >= 5, "5 or more", &first)
}

pub(super) async fn a_group_at_earliest_starts_with_the_first_record(lab: &Lab) -> Outcome {
    let group = lab.group().await?;
    let topic = lab.topic(1).await?;
    lab.produce(&topic, 0, 5).await?;
    let member = lab.member(&group, &[&topic]).await?;
    let mut session = lab.session(&member, &[&topic]).await?;
    lab.check_acquired("what is acquired", &session.acquire(5).await?, "0[0-4x1]")
}

pub(super) async fn a_group_can_start_at_an_age(lab: &Lab) -> Outcome {
    let group = lab.group_at_latest();
    lab.configure(&group, &[("share.auto.offset.reset", "by_duration:PT1H")]).await?;
    let topic = lab.topic(1).await?;
    let hour = 60 * 60 * 1000;
    for age in [3 * hour, 2 * hour, hour / 2, 0] {
        lab.produce_batch(&topic, 0, batch_at(now_ms() - age, values(2), BatchOptions::default())).await?;
    }
    let member = lab.member(&group, &[&topic]).await?;
    let mut session = lab.session(&member, &[&topic]).await?;
    let got = session.acquire_through(7).await?;
    lab.check("the offsets that are acquired", offsets(&got), (4..=7).collect())
}

pub(super) async fn records_that_were_deleted_are_not_acquired(lab: &Lab) -> Outcome {
    let mut stage = lab.stage(1, &[]).await?;
    lab.produce_one_by_one(&stage.topic, 0, 6).await?;
    stage.session.acquire(6).await?;
    let released = stage.session.acknowledge(&stage.topic, 0, &[(0, 5, &[RELEASE])]).await?;
    lab.granted("ShareAcknowledge", released, None)?;
    let partitions = vec![DeleteRecordsPartition { partition_index: 0, offset: 4 }];
    let topics = vec![DeleteRecordsTopic { name: stage.topic.name.clone(), partitions }];
    let request = DeleteRecordsRequest { topics, timeout_ms: 20_000 };
    let deleted = lab.leader(&stage.topic, 0).await?.call(&request).await?;
    for partition in deleted.topics.iter().flat_map(|topic| &topic.partitions) {
        lab.granted("DeleteRecords", partition.error_code, None)?;
    }
    let got = stage.session.fetch_some(&stage.session.request()).await?;
    lab.check_acquired("what is acquired", &acquired(&got)?, "0[4-5x2]")
}
