//! Whether what is advertised is what is answered.

use ackflow_protocol::messages::alter_share_group_offsets::{
    AlterShareGroupOffsetsRequest, AlterShareGroupOffsetsRequestPartition, AlterShareGroupOffsetsRequestTopic,
};
use ackflow_protocol::messages::delete_share_group_offsets::{
    DeleteShareGroupOffsetsRequest, DeleteShareGroupOffsetsRequestTopic,
};
use ackflow_protocol::messages::describe_share_group_offsets::{
    DescribeShareGroupOffsetsRequest, DescribeShareGroupOffsetsRequestGroup,
};
use ackflow_protocol::messages::share_acknowledge::ShareAcknowledgeRequest;
use ackflow_protocol::messages::share_fetch::ShareFetchRequest;
use ackflow_protocol::messages::share_group_describe::ShareGroupDescribeRequest;
use ackflow_protocol::messages::share_group_heartbeat::ShareGroupHeartbeatRequest;
use ackflow_protocol::wire::{ErrorCode, Request};

use super::advertised;
use crate::broker::case::cases;
use crate::broker::lab::{ACCEPT, Kind, Lab, Outcome, acquired, join, partitions, random_uuid, with_version};

cases! {
    Versions;
    each_version_of_share_group_heartbeat_is_answered_in_its_schema:
        "ShareGroupHeartbeat is answered in each version that is advertised, in the schema of that version.",
        "ShareGroupHeartbeatResponse.json";
    each_version_of_share_group_describe_is_answered_in_its_schema:
        "ShareGroupDescribe is answered in each version that is advertised, in the schema of that version.",
        "ShareGroupDescribeResponse.json";
    each_version_of_share_fetch_is_answered_in_its_schema:
        "ShareFetch is answered in each version that is advertised, in the schema of that version, with the records of what was acquired.",
        "ShareFetchResponse.json";
    a_share_fetch_without_records_is_answered_in_its_schema:
        "A ShareFetch that finds nothing is answered in the schema of its version too: records are empty and not null, which no version allows.",
        "ShareFetchResponse.json: Records is not nullable from version 1 on";
    each_version_of_share_acknowledge_is_answered_in_its_schema:
        "ShareAcknowledge is answered in each version that is advertised, in the schema of that version.",
        "ShareAcknowledgeResponse.json";
    each_version_of_the_offset_apis_is_answered_in_its_schema:
        "DescribeShareGroupOffsets, AlterShareGroupOffsets and DeleteShareGroupOffsets are answered in each version that is advertised, in the schema of \
         that version.",
        "DescribeShareGroupOffsetsResponse.json, AlterShareGroupOffsetsResponse.json, DeleteShareGroupOffsetsResponse.json";
    a_version_above_the_advertised_range_closes_the_connection:
        "A share request in a version above the range that is advertised is not answered, and its connection is closed.",
        "KIP-35; Kafka protocol guide, Network";
    a_version_below_the_advertised_range_closes_the_connection:
        "A share request in a version below the range that is advertised is not answered, and its connection is closed.",
        "KIP-35; Kafka protocol guide, Network";
}

/// The versions of `R` that are advertised and known here.
fn versions<R: Request>(lab: &Lab) -> Outcome<impl Iterator<Item = i16>> {
    let newest = lab.target.version::<R>()?;
    let (from, _) = advertised(lab, R::KEY)?;
    Ok(from.max(*R::VERSIONS.start())..=newest)
}

async fn each_version_of_share_group_heartbeat_is_answered_in_its_schema(lab: &Lab) -> Outcome {
    lab.needs_feature("share.version", 1)?;
    let topic = lab.topic(1).await?;
    let group = lab.group().await?;
    let mut link = lab.coordinator(Kind::Group, &group).await?;
    for version in versions::<ShareGroupHeartbeatRequest>(lab)? {
        let id = random_uuid().to_string();
        lab.made_member(&group, &id);
        let joining = join(&group, &id, &[&topic]);
        let joined = link.call_in(version, &joining).await?;
        lab.check(&format!("the error of a join in version {version}"), joined.error_code, ErrorCode::NONE)?;
        let leaving = ShareGroupHeartbeatRequest { member_epoch: -1, subscribed_topic_names: None, ..joining };
        let left = link.call_in(version, &leaving).await?;
        lab.check(&format!("the error of a leave in version {version}"), left.error_code, ErrorCode::NONE)?;
    }
    Ok(())
}

async fn each_version_of_share_group_describe_is_answered_in_its_schema(lab: &Lab) -> Outcome {
    let topic = lab.topic(1).await?;
    let group = lab.group().await?;
    let _member = lab.member(&group, &[&topic]).await?;
    let mut link = lab.coordinator(Kind::Group, &group).await?;
    for version in versions::<ShareGroupDescribeRequest>(lab)? {
        let request = ShareGroupDescribeRequest { group_ids: vec![group.clone()], include_authorized_operations: true };
        let described = link.call_in(version, &request).await?;
        let codes: Vec<_> = described.groups.iter().map(|group| group.error_code).collect();
        lab.check(&format!("the errors of version {version}"), codes, vec![ErrorCode::NONE])?;
    }
    Ok(())
}

async fn each_version_of_share_fetch_is_answered_in_its_schema(lab: &Lab) -> Outcome {
    let topic = lab.topic(1).await?;
    let member = lab.member(&lab.group().await?, &[&topic]).await?;
    lab.produce(&topic, 0, 5).await?;
    for version in versions::<ShareFetchRequest>(lab)? {
        let mut session = lab.session(&member, &[&topic]).await?;
        let response = lab.eventually("records are acquired", async || {
            let request = ShareFetchRequest { max_wait_ms: 200, min_bytes: 1, ..session.request() };
            let response = session.link.call_in(version, &request).await?;
            session.epoch += 1;
            Ok((!acquired(&response)?.is_empty()).then_some(response))
        });
        let response = response.await?;
        let bytes: usize =
            partitions(&response).filter_map(|partition| partition.records.as_ref()).map(|r| r.len()).sum();
        lab.check_that(&format!("the bytes of records in version {version}"), bytes > 0, "some", &bytes)?;
        session.close().await?;
    }
    Ok(())
}

async fn a_share_fetch_without_records_is_answered_in_its_schema(lab: &Lab) -> Outcome {
    let topic = lab.topic(2).await?;
    let member = lab.member(&lab.group().await?, &[&topic]).await?;
    for version in versions::<ShareFetchRequest>(lab)? {
        let mut session = lab.session(&member, &[&topic]).await?;
        for epoch in 0..3 {
            let response = session.link.call_in(version, &session.request()).await?;
            let what = format!("the ranges that version {version} has with session epoch {epoch}");
            lab.check(&what, acquired(&response)?, Vec::new())?;
            session.epoch += 1;
        }
        session.close().await?;
    }
    Ok(())
}

async fn each_version_of_share_acknowledge_is_answered_in_its_schema(lab: &Lab) -> Outcome {
    let topic = lab.topic(1).await?;
    let member = lab.member(&lab.group().await?, &[&topic]).await?;
    lab.produce(&topic, 0, 10).await?;
    let mut session = lab.session(&member, &[&topic]).await?;
    session.acquire(10).await?;
    for version in versions::<ShareAcknowledgeRequest>(lab)? {
        let offset = i64::from(version);
        let request = session.acknowledgement(&topic, 0, &[(offset, offset, &[ACCEPT])]);
        let response = session.link.call_in(version, &request).await?;
        session.epoch += 1;
        let answered = response.responses.iter().flat_map(|topic| &topic.partitions);
        let answered: Vec<_> = answered.map(|partition| (partition.partition_index, partition.error_code)).collect();
        let what = format!("partitions and errors in version {version}");
        lab.check(&what, (response.error_code, answered), (ErrorCode::NONE, vec![(0, ErrorCode::NONE)]))?;
    }
    Ok(())
}

async fn each_version_of_the_offset_apis_is_answered_in_its_schema(lab: &Lab) -> Outcome {
    lab.needs_feature("share.version", 1)?;
    let topic = lab.topic(1).await?;
    lab.produce(&topic, 0, 5).await?;
    let group = lab.group().await?;
    let mut link = lab.coordinator(Kind::Group, &group).await?;
    let partitions = vec![AlterShareGroupOffsetsRequestPartition { partition_index: 0, start_offset: 2 }];
    let topics = vec![AlterShareGroupOffsetsRequestTopic { topic_name: topic.name.clone(), partitions }];
    let alter = AlterShareGroupOffsetsRequest { group_id: group.clone(), topics };
    for version in versions::<AlterShareGroupOffsetsRequest>(lab)? {
        let code = link.call_in(version, &alter).await?.error_code;
        lab.check(&format!("the error of AlterShareGroupOffsets {version}"), code, ErrorCode::NONE)?;
    }
    let groups = vec![DescribeShareGroupOffsetsRequestGroup { group_id: group.clone(), topics: None }];
    let describe = DescribeShareGroupOffsetsRequest { groups };
    for version in versions::<DescribeShareGroupOffsetsRequest>(lab)? {
        let response = link.call_in(version, &describe).await?;
        let codes: Vec<_> = response.groups.iter().map(|group| group.error_code).collect();
        lab.check(&format!("the errors of DescribeShareGroupOffsets {version}"), codes, vec![ErrorCode::NONE])?;
    }
    let topics = vec![DeleteShareGroupOffsetsRequestTopic { topic_name: topic.name.clone() }];
    let delete = DeleteShareGroupOffsetsRequest { group_id: group.clone(), topics };
    for version in versions::<DeleteShareGroupOffsetsRequest>(lab)? {
        let code = link.call_in(version, &delete).await?.error_code;
        lab.check(&format!("the error of DeleteShareGroupOffsets {version}"), code, ErrorCode::NONE)?;
    }
    Ok(())
}

/// Sends a request, as its newest version has it, in a version beside the range that is advertised.
async fn beside<R: Request>(lab: &Lab, request: &R, version: fn(i16, i16) -> i16) -> Outcome {
    let (from, to) = advertised(lab, R::KEY)?;
    let version = version(from, to);
    let mut link = lab.link().await?;
    let newest = link.newest::<R>()?;
    let frame = with_version(link.frame_of(newest, request), version);
    link.send_bytes(&format!("{} {version}, where {from} to {to} is advertised", R::KEY), &frame).await?;
    lab.closes(&mut link, &format!("what comes of {} {version}", R::KEY)).await
}

async fn a_version_above_the_advertised_range_closes_the_connection(lab: &Lab) -> Outcome {
    beside(lab, &ShareGroupHeartbeatRequest::default(), |_, to| to + 1).await?;
    beside(lab, &ShareGroupDescribeRequest::default(), |_, to| to + 1).await?;
    beside(lab, &ShareFetchRequest::default(), |_, to| to + 1).await?;
    beside(lab, &ShareAcknowledgeRequest::default(), |_, to| to + 1).await
}

async fn a_version_below_the_advertised_range_closes_the_connection(lab: &Lab) -> Outcome {
    beside(lab, &ShareGroupHeartbeatRequest::default(), |from, _| from - 1).await?;
    beside(lab, &ShareGroupDescribeRequest::default(), |from, _| from - 1).await?;
    beside(lab, &ShareFetchRequest::default(), |from, _| from - 1).await?;
    beside(lab, &ShareAcknowledgeRequest::default(), |from, _| from - 1).await
}
