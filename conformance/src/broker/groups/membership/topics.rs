//! Topics that come, grow and go under a group.

use ackflow_protocol::messages::create_partitions::{CreatePartitionsRequest, CreatePartitionsTopic};
use ackflow_protocol::messages::delete_topics::{DeleteTopicState, DeleteTopicsRequest};
use ackflow_protocol::wire::ErrorCode;

use super::{Hand, all_of};
use crate::broker::case::cases;
use crate::broker::lab::{Kind, Lab, Outcome, join, random_uuid};

cases! {
    Membership;
    a_topic_that_does_not_exist_is_no_error:
        "A member may subscribe to a topic that does not exist: it joins, and is assigned nothing of it.",
        "KIP-932, ShareGroupHeartbeat API";
    a_topic_that_comes_is_assigned:
        "The partitions of a subscribed topic are assigned when the topic is created.",
        "KIP-932, Share group assignment";
    partitions_that_come_are_assigned:
        "Partitions that are added to a subscribed topic are assigned.",
        "KIP-932, Share group assignment";
    a_topic_that_is_deleted_is_assigned_no_more:
        "The partitions of a topic that is deleted are assigned no more, those of others still.",
        "KIP-932, Share group assignment";
}

async fn a_topic_that_does_not_exist_is_no_error(lab: &Lab) -> Outcome {
    let (topic, missing) = (lab.topic(2).await?, lab.unique("missing"));
    let group = lab.group().await?;
    let mut hand = Hand::new(lab, &group, &[&topic]).await?;
    hand.request.subscribed_topic_names = Some(vec![topic.name.clone(), missing]);
    let joined = hand.beat().await?;
    lab.check("the error of the join", joined.error_code, ErrorCode::NONE)?;
    hand.until(lab, "a member gets the partitions of the topic that exists", |got| !got.is_empty()).await?;
    lab.check("what the member is assigned", hand.assigned, all_of(&[&topic]))
}

async fn a_topic_that_comes_is_assigned(lab: &Lab) -> Outcome {
    let name = lab.unique("topic");
    let group = lab.group().await?;
    let id = random_uuid().to_string();
    lab.made_member(&group, &id);
    let mut request = join(&group, &id, &[]);
    request.subscribed_topic_names = Some(vec![name.clone()]);
    let link = lab.coordinator(Kind::Group, &group).await?;
    let mut hand = Hand { link, request, assigned: Default::default() };
    lab.check("the error of the join", hand.beat().await?.error_code, ErrorCode::NONE)?;
    lab.check("what the member is assigned before", hand.assigned.clone(), Default::default())?;
    let topic = lab.topic_named(&name, 3, &[]).await?;
    let wanted = all_of(&[&topic]);
    hand.until(lab, "the member gets the partitions of the new topic", |assigned| *assigned == wanted).await?;
    lab.check("what the member is assigned then", hand.assigned, wanted)
}

async fn partitions_that_come_are_assigned(lab: &Lab) -> Outcome {
    let topic = lab.topic(1).await?;
    let mut hand = Hand::joined(lab, &lab.group().await?, &[&topic]).await?;
    let more = CreatePartitionsTopic { name: topic.name.clone(), count: 3, assignments: None };
    let request = CreatePartitionsRequest { topics: vec![more], timeout_ms: 20_000, validate_only: false };
    for done in lab.link().await?.unrecorded().call(&request).await?.results {
        lab.granted("CreatePartitions", done.error_code, done.error_message.as_deref())?;
    }
    let wanted = (0..3).map(|index| (topic.id, index)).collect();
    hand.until(lab, "the member gets the new partitions", |assigned| *assigned == wanted).await?;
    lab.check("what the member is assigned", hand.assigned, wanted)
}

async fn a_topic_that_is_deleted_is_assigned_no_more(lab: &Lab) -> Outcome {
    let (stays, goes) = (lab.topic(2).await?, lab.topic(2).await?);
    let mut hand = Hand::new(lab, &lab.group().await?, &[&stays, &goes]).await?;
    let both = all_of(&[&stays, &goes]);
    hand.until(lab, "the member gets the partitions of both topics", |assigned| *assigned == both).await?;
    let state = DeleteTopicState { name: Some(goes.name.clone()), ..Default::default() };
    let request = DeleteTopicsRequest { topics: vec![state], topic_names: vec![goes.name.clone()], timeout_ms: 20_000 };
    for done in lab.link().await?.unrecorded().call(&request).await?.responses {
        lab.granted("DeleteTopics", done.error_code, done.error_message.as_deref())?;
    }
    let wanted = all_of(&[&stays]);
    hand.until(lab, "the member has the partitions of the other topic alone", |assigned| *assigned == wanted).await?;
    lab.check("what the member is assigned", hand.assigned, wanted)
}
