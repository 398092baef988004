//! Fields that make no sense.

use ackflow_protocol::messages::share_acknowledge::ShareAcknowledgeRequest;
use ackflow_protocol::messages::share_fetch::{FetchPartition, FetchTopic, ShareFetchRequest};
use ackflow_protocol::wire::ErrorCode;

use crate::broker::case::cases;
use crate::broker::lab::{ACCEPT, Lab, Outcome, acquired, partitions};

cases! {
    Errors;
    a_share_fetch_names_its_group_and_member:
        "A ShareFetch with a null group id, a null, empty or too long member id is refused with INVALID_REQUEST, and opens no session.",
        "KIP-932, ShareFetch API",
        note "The fields are nullable in the schema; Kafka takes member ids of 36 characters at most.";
    a_share_acknowledge_names_its_group_and_member:
        "A ShareAcknowledge with a null group id, a null, empty or too long member id is refused with INVALID_REQUEST, and takes nothing.",
        "KIP-932, ShareAcknowledge API",
        note "The fields are nullable in the schema; Kafka takes member ids of 36 characters at most.";
    a_negative_partition_is_an_error_of_its_own:
        "A negative partition index in a ShareFetch is answered with UNKNOWN_TOPIC_OR_PARTITION for the partition.",
        "KIP-932, ShareFetch API";
    a_fetch_of_less_than_nothing_acquires_nothing:
        "A ShareFetch with negative bounds of records or bytes acquires nothing: it is refused with INVALID_REQUEST, or answered at once and empty.",
        "KIP-932, ShareFetch API",
        note "Kafka answers it, empty.";
}

/// What a share request says of its group and member: null, empty, and too long. An empty group id is left out: Kafka fails on it with an
/// UNKNOWN_SERVER_ERROR.
fn spoiled<'a>(
    group: &'a str,
    member: &'a str,
    long: &'a str,
) -> [(&'static str, Option<&'a str>, Option<&'a str>); 4] {
    [
        ("a null group id", None, Some(member)),
        ("a null member id", Some(group), None),
        ("an empty member id", Some(group), Some("")),
        ("a member id of 37 characters", Some(group), Some(long)),
    ]
}

async fn a_share_fetch_names_its_group_and_member(lab: &Lab) -> Outcome {
    let topic = lab.topic(1).await?;
    let member = lab.member(&lab.group().await?, &[&topic]).await?;
    let mut session = lab.session(&member, &[&topic]).await?;
    let long = "m".repeat(37);
    for (what, group_id, member_id) in spoiled(&member.group, &member.id, &long) {
        let (group_id, member_id) = (group_id.map(str::to_owned), member_id.map(str::to_owned));
        let request = ShareFetchRequest { group_id, member_id, ..session.request() };
        let refused = session.link.call(&request).await?.error_code;
        lab.check(&format!("the error of {what}"), refused, ErrorCode::INVALID_REQUEST)?;
    }
    session.epoch = 1;
    let next = session.link.call(&session.request()).await?.error_code;
    lab.check("the error of epoch 1 then", next, ErrorCode::SHARE_SESSION_NOT_FOUND)
}

async fn a_share_acknowledge_names_its_group_and_member(lab: &Lab) -> Outcome {
    let topic = lab.topic(1).await?;
    let member = lab.member(&lab.group().await?, &[&topic]).await?;
    lab.produce(&topic, 0, 1).await?;
    let mut session = lab.session(&member, &[&topic]).await?;
    session.acquire(1).await?;
    let good = session.acknowledgement(&topic, 0, &[(0, 0, &[ACCEPT])]);
    let long = "m".repeat(37);
    for (what, group_id, member_id) in spoiled(&member.group, &member.id, &long) {
        let (group_id, member_id) = (group_id.map(str::to_owned), member_id.map(str::to_owned));
        let request = ShareAcknowledgeRequest { group_id, member_id, ..good.clone() };
        let refused = session.link.call(&request).await?.error_code;
        lab.check(&format!("the error of {what}"), refused, ErrorCode::INVALID_REQUEST)?;
    }
    let taken = session.acknowledge(&topic, 0, &[(0, 0, &[ACCEPT])]).await?;
    lab.check("the error of the request as it should be", taken, ErrorCode::NONE)
}

async fn a_negative_partition_is_an_error_of_its_own(lab: &Lab) -> Outcome {
    let topic = lab.topic(1).await?;
    let member = lab.member(&lab.group().await?, &[&topic]).await?;
    for partition_index in [-1, i32::MIN] {
        let mut session = lab.session(&member, &[&topic]).await?;
        let asked = vec![FetchPartition { partition_index, ..Default::default() }];
        let topics = vec![FetchTopic { topic_id: topic.id, partitions: asked }];
        let response = session.fetch_as(&ShareFetchRequest { topics, ..session.request() }).await?;
        lab.check("the error of the request", response.error_code, ErrorCode::NONE)?;
        let codes: Vec<_> = partitions(&response).map(|partition| partition.error_code).collect();
        let what = format!("the error of partition {partition_index}");
        lab.check(&what, codes, vec![ErrorCode::UNKNOWN_TOPIC_OR_PARTITION])?;
    }
    Ok(())
}

async fn a_fetch_of_less_than_nothing_acquires_nothing(lab: &Lab) -> Outcome {
    let topic = lab.topic(1).await?;
    let member = lab.member(&lab.group().await?, &[&topic]).await?;
    lab.produce(&topic, 0, 3).await?;
    for (what, max_records, max_bytes) in [("-1 records", -1, 1 << 20), ("-1 bytes", 500, -1)] {
        let mut session = lab.session(&member, &[&topic]).await?;
        let request = ShareFetchRequest { max_records, max_bytes, ..session.request() };
        let response = session.fetch_as(&request).await?;
        let code = response.error_code;
        let known = [ErrorCode::NONE, ErrorCode::INVALID_REQUEST];
        lab.check_that(&format!("the error of {what}"), known.contains(&code), "none or INVALID_REQUEST", &code)?;
        if code.is_none() {
            lab.check(&format!("what a fetch of {what} acquires"), acquired(&response)?, Vec::new())?;
        }
    }
    Ok(())
}
