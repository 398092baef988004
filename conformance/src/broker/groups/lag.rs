//! What is left to do for a group (KIP-1226).

use ackflow_protocol::wire::{ApiKey, ErrorCode};

use crate::broker::case::cases;
use crate::broker::lab::{ACCEPT, GAP, Lab, Outcome, REJECT, RELEASE, Stage};

cases! {
    Lag;
    a_lag_that_nobody_knows_is_minus_one:
        "Of a partition from which a group has fetched nothing yet, lag and start offset are -1.",
        "KIP-1226; DescribeShareGroupOffsetsResponse.json, StartOffset and Lag";
    records_that_were_never_acquired_are_left_to_do:
        "The lag counts the records behind those that were acquired, and rises as records are written.",
        "KIP-1226";
    records_that_are_held_are_left_to_do:
        "Records that a member has acquired and not acknowledged count.",
        "KIP-1226";
    accepted_records_are_not_left_to_do:
        "Records that were accepted do not count, though records before them do.",
        "KIP-1226";
    rejected_records_are_not_left_to_do:
        "Records that were rejected do not count, though records before them do.",
        "KIP-1226";
    gaps_are_not_left_to_do:
        "Offsets that were acknowledged as gaps do not count, though records before them do.",
        "KIP-1226";
    released_records_are_left_to_do:
        "Records that were released count, whether they are available or acquired again.",
        "KIP-1226";
    records_that_were_given_up_are_not_left_to_do:
        "Records that were given up at share.delivery.count.limit do not count.",
        "KIP-1226; KIP-932, Delivery count";
    nothing_is_left_to_do_when_all_is_accepted:
        "The lag is 0 when all records have been accepted, in whatever order.",
        "KIP-1226";
    each_group_has_a_lag_of_its_own:
        "What one group has done does not count for another.",
        "KIP-1226";
    each_partition_has_a_lag_of_its_own:
        "What was done in one partition does not count for another.",
        "KIP-1226";
    offsets_that_were_set_are_the_lag_of_an_empty_group:
        "The lag of a group whose start offset was set by AlterShareGroupOffsets is what lies between it and the end of the log.",
        "KIP-1226; KIP-932, AlterShareGroupOffsets";
}

/// A stage whose member holds ten records, where a lag can be asked for.
async fn holding_ten(lab: &Lab, configs: &[(&str, &str)]) -> Outcome<Stage> {
    lab.target.offers(ApiKey::DESCRIBE_SHARE_GROUP_OFFSETS, 1)?;
    lab.stage_holding(10, configs).await
}

/// The lag once 4 to 6 of ten records were acknowledged by this type.
async fn after(lab: &Lab, kind: i8, wanted: i64) -> Outcome {
    let mut stage = holding_ten(lab, &[]).await?;
    let code = stage.session.acknowledge(&stage.topic, 0, &[(4, 6, &[kind])]).await?;
    lab.check("the error of the acknowledgement", code, ErrorCode::NONE)?;
    lab.check_lag("the lag of ten records", &stage.group, &stage.topic, wanted).await
}

async fn a_lag_that_nobody_knows_is_minus_one(lab: &Lab) -> Outcome {
    lab.target.offers(ApiKey::DESCRIBE_SHARE_GROUP_OFFSETS, 1)?;
    let stage = lab.stage(1, &[]).await?;
    lab.produce(&stage.topic, 0, 10).await?;
    let described = lab.described(&stage.group, &stage.topic, 0).await?;
    lab.check("start offset and lag", (described.start_offset, described.lag), (-1, -1))
}

async fn records_that_were_never_acquired_are_left_to_do(lab: &Lab) -> Outcome {
    let mut stage = holding_ten(lab, &[]).await?;
    let code = stage.session.acknowledge(&stage.topic, 0, &[(0, 9, &[ACCEPT])]).await?;
    lab.granted("ShareAcknowledge", code, None)?;
    lab.produce(&stage.topic, 0, 4).await?;
    lab.check_lag("the lag once 4 more records were written", &stage.group, &stage.topic, 4).await?;
    lab.produce(&stage.topic, 0, 3).await?;
    lab.check_lag("the lag once 3 more were", &stage.group, &stage.topic, 7).await
}

async fn records_that_are_held_are_left_to_do(lab: &Lab) -> Outcome {
    let mut stage = holding_ten(lab, &[]).await?;
    let code = stage.session.acknowledge(&stage.topic, 0, &[(0, 3, &[ACCEPT])]).await?;
    lab.granted("ShareAcknowledge", code, None)?;
    lab.check_lag("the lag while 6 of 10 records are held", &stage.group, &stage.topic, 6).await
}

async fn accepted_records_are_not_left_to_do(lab: &Lab) -> Outcome {
    after(lab, ACCEPT, 7).await
}

async fn rejected_records_are_not_left_to_do(lab: &Lab) -> Outcome {
    after(lab, REJECT, 7).await
}

async fn gaps_are_not_left_to_do(lab: &Lab) -> Outcome {
    after(lab, GAP, 7).await
}

async fn released_records_are_left_to_do(lab: &Lab) -> Outcome {
    let mut stage = holding_ten(lab, &[]).await?;
    let code = stage.session.acknowledge(&stage.topic, 0, &[(0, 2, &[ACCEPT]), (4, 6, &[RELEASE])]).await?;
    lab.granted("ShareAcknowledge", code, None)?;
    lab.check_lag("the lag once 3 were accepted and 3 released", &stage.group, &stage.topic, 7).await?;
    stage.session.acquire(3).await?;
    lab.check_lag("the lag once those were acquired again", &stage.group, &stage.topic, 7).await
}

async fn records_that_were_given_up_are_not_left_to_do(lab: &Lab) -> Outcome {
    let mut stage = holding_ten(lab, &[("share.delivery.count.limit", "2")]).await?;
    for attempt in 1..=2 {
        let code = stage.session.acknowledge(&stage.topic, 0, &[(4, 6, &[RELEASE])]).await?;
        lab.granted("ShareAcknowledge", code, None)?;
        if attempt == 1 {
            stage.session.acquire(3).await?;
        }
    }
    lab.check_lag("the lag of ten records, of which 3 were given up", &stage.group, &stage.topic, 7).await
}

async fn nothing_is_left_to_do_when_all_is_accepted(lab: &Lab) -> Outcome {
    let mut stage = holding_ten(lab, &[]).await?;
    for (first, last, left) in [(7, 9, 7), (0, 3, 3), (4, 6, 0)] {
        let code = stage.session.acknowledge(&stage.topic, 0, &[(first, last, &[ACCEPT])]).await?;
        lab.granted("ShareAcknowledge", code, None)?;
        lab.check_lag(&format!("the lag once {first} to {last} are accepted"), &stage.group, &stage.topic, left)
            .await?;
    }
    Ok(())
}

async fn each_group_has_a_lag_of_its_own(lab: &Lab) -> Outcome {
    let other = lab.group().await?;
    let mut stage = holding_ten(lab, &[]).await?;
    let member = lab.member(&other, &[&stage.topic]).await?;
    let mut session = lab.session(&member, &[&stage.topic]).await?;
    session.acquire(10).await?;
    for (session, last) in [(&mut stage.session, 9), (&mut session, 2)] {
        let code = session.acknowledge(&stage.topic, 0, &[(0, last, &[ACCEPT])]).await?;
        lab.granted("ShareAcknowledge", code, None)?;
    }
    lab.check_lag("the lag of the group that has accepted all", &stage.group, &stage.topic, 0).await?;
    lab.check_lag("the lag of the one that has accepted 3 of 10", &other, &stage.topic, 7).await
}

async fn each_partition_has_a_lag_of_its_own(lab: &Lab) -> Outcome {
    lab.target.offers(ApiKey::DESCRIBE_SHARE_GROUP_OFFSETS, 1)?;
    let mut stage = lab.stage(2, &[]).await?;
    for (partition, count) in [(0, 4), (1, 6)] {
        lab.produce(&stage.topic, partition, count).await?;
    }
    stage.session.acquire(10).await?;
    for (partition, last) in [(0, 3), (1, 0)] {
        let code = stage.session.acknowledge(&stage.topic, partition, &[(0, last, &[ACCEPT])]).await?;
        lab.granted("ShareAcknowledge", code, None)?;
    }
    lab.check_lag("the lag of partition 0, where all is accepted", &stage.group, &stage.topic, 0).await?;
    let lag = lab.lag(&stage.group, &stage.topic, 1).await?;
    lab.check("the lag of partition 1, where 1 of 6 is accepted", lag, 5)
}

async fn offsets_that_were_set_are_the_lag_of_an_empty_group(lab: &Lab) -> Outcome {
    use ackflow_protocol::messages::alter_share_group_offsets::{
        AlterShareGroupOffsetsRequest, AlterShareGroupOffsetsRequestPartition, AlterShareGroupOffsetsRequestTopic,
    };
    lab.target.offers(ApiKey::DESCRIBE_SHARE_GROUP_OFFSETS, 1)?;
    let group = lab.group().await?;
    let topic = lab.topic(1).await?;
    lab.produce(&topic, 0, 10).await?;
    let partitions = vec![AlterShareGroupOffsetsRequestPartition { partition_index: 0, start_offset: 4 }];
    let topics = vec![AlterShareGroupOffsetsRequestTopic { topic_name: topic.name.clone(), partitions }];
    let request = AlterShareGroupOffsetsRequest { group_id: group.clone(), topics };
    let set = lab.coordinator(crate::broker::lab::Kind::Group, &group).await?.call(&request).await?;
    lab.granted("AlterShareGroupOffsets", set.error_code, set.error_message.as_deref())?;
    for partition in set.responses.iter().flat_map(|topic| &topic.partitions) {
        lab.granted("AlterShareGroupOffsets", partition.error_code, partition.error_message.as_deref())?;
    }
    lab.check_lag("the lag", &group, &topic, 6).await
}
