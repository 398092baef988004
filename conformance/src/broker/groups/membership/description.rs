//! What ShareGroupDescribe tells of members.

use ackflow_protocol::messages::share_group_describe::{DescribedGroup, Member, ShareGroupDescribeRequest};
use ackflow_protocol::wire::ErrorCode;

use super::{Hand, all_of};
use crate::broker::case::cases;
use crate::broker::lab::{Lab, Link, Outcome, Stop};

cases! {
    Membership;
    a_description_tells_of_each_member:
        "ShareGroupDescribe tells of each member its id, its epoch, the client id and address that it has, and its topics.",
        "KIP-932, ShareGroupDescribe API; ShareGroupDescribeResponse.json";
    a_description_tells_what_each_member_is_assigned:
        "ShareGroupDescribe tells of each member the partitions that it is assigned, by topic id and name.",
        "KIP-932, ShareGroupDescribe API; ShareGroupDescribeResponse.json";
    a_description_tells_the_state_of_the_group:
        "A share group with members is Stable, one without Empty.",
        "KIP-932, Share group states";
    what_a_heartbeat_leaves_out_stays:
        "Rack id and topics that are null in a later heartbeat stay as the member has told them before.",
        "KIP-932, ShareGroupHeartbeat API; ShareGroupHeartbeatRequest.json";
    the_group_epoch_rises_with_each_change:
        "The epoch of a group rises when a member joins, when one changes its topics, and when one leaves, and not by heartbeats that say nothing new.",
        "KIP-932, Share group epoch";
}

/// What the coordinator tells of groups.
async fn describe(link: &mut Link, groups: &[&str], operations: bool) -> Outcome<Vec<DescribedGroup>> {
    let group_ids = groups.iter().map(|group| (*group).to_owned()).collect();
    let request = ShareGroupDescribeRequest { group_ids, include_authorized_operations: operations };
    Ok(link.call(&request).await?.groups)
}

/// What the coordinator tells of one group, which it has.
pub(super) async fn described(lab: &Lab, link: &mut Link, group: &str) -> Outcome<DescribedGroup> {
    let found = describe(link, &[group], false).await?.pop();
    let found = found.ok_or_else(|| Stop::failed("a description of the group", "none"))?;
    lab.check("the error of the description", found.error_code, ErrorCode::NONE)?;
    Ok(found)
}

/// What it tells of one member.
fn member<'a>(lab: &Lab, group: &'a DescribedGroup, id: &str) -> Outcome<&'a Member> {
    let ids: Vec<_> = group.members.iter().map(|member| member.member_id.as_str()).collect();
    lab.check_that("the members", ids.contains(&id), &format!("{id} among them"), &ids)?;
    group.members.iter().find(|member| member.member_id == id).ok_or_else(|| Stop::failed("the member", "not there"))
}

async fn a_description_tells_of_each_member(lab: &Lab) -> Outcome {
    let topic = lab.topic(2).await?;
    let group = lab.group().await?;
    let mut first = Hand::joined(lab, &group, &[&topic]).await?;
    let mut second = Hand::joined(lab, &group, &[&topic]).await?;
    for hand in [&mut first, &mut second] {
        // The description has the epoch of the newest heartbeat.
        let epoch = hand.beat().await?.member_epoch;
        let described = described(lab, &mut hand.link, &group).await?;
        lab.check("the number of members", described.members.len(), 2)?;
        let told = member(lab, &described, hand.id())?;
        lab.check("the member's epoch", told.member_epoch, epoch)?;
        lab.check("its client id", told.client_id.as_str(), "ackflow-conformance")?;
        lab.check_that("its address", !told.client_host.is_empty(), "some", &told.client_host)?;
        lab.check("its topics", told.subscribed_topic_names.clone(), vec![topic.name.clone()])?;
    }
    Ok(())
}

async fn a_description_tells_what_each_member_is_assigned(lab: &Lab) -> Outcome {
    let topic = lab.topic(3).await?;
    let group = lab.group().await?;
    let mut hand = Hand::new(lab, &group, &[&topic]).await?;
    let wanted = all_of(&[&topic]);
    hand.until(lab, "a member gets all partitions", |assigned| *assigned == wanted).await?;
    let described = described(lab, &mut hand.link, &group).await?;
    let told = &member(lab, &described, hand.id())?.assignment.topic_partitions;
    let names: Vec<_> = told.iter().map(|topic| topic.topic_name.clone()).collect();
    lab.check("the names of the topics", names, vec![topic.name.clone()])?;
    let of = told.iter().flat_map(|topic| topic.partitions.iter().map(|index| (topic.topic_id, *index)));
    lab.check("the partitions", of.collect(), wanted)
}

async fn a_description_tells_the_state_of_the_group(lab: &Lab) -> Outcome {
    let topic = lab.topic(1).await?;
    let group = lab.group().await?;
    let mut hand = Hand::joined(lab, &group, &[&topic]).await?;
    let stable = described(lab, &mut hand.link, &group).await?;
    lab.check("the state of a group with a member", stable.group_state.as_str(), "Stable")?;
    hand.leave().await?;
    let empty = described(lab, &mut hand.link, &group).await?;
    lab.check("the state of a group whose last member has left", empty.group_state.as_str(), "Empty")?;
    lab.check("the number of its members", empty.members.len(), 0)
}

async fn what_a_heartbeat_leaves_out_stays(lab: &Lab) -> Outcome {
    let topic = lab.topic(1).await?;
    let group = lab.group().await?;
    let mut hand = Hand::new(lab, &group, &[&topic]).await?;
    hand.request.rack_id = Some("rack-7".to_owned());
    let joined = hand.beat().await?;
    lab.granted("ShareGroupHeartbeat", joined.error_code, joined.error_message.as_deref())?;
    hand.request.rack_id = None;
    for _ in 0..2 {
        lab.check("the error of a later heartbeat", hand.beat().await?.error_code, ErrorCode::NONE)?;
    }
    let described = described(lab, &mut hand.link, &group).await?;
    let told = member(lab, &described, hand.id())?;
    lab.check("the member's rack", told.rack_id.as_deref(), Some("rack-7"))?;
    lab.check("its topics", told.subscribed_topic_names.clone(), vec![topic.name.clone()])
}

async fn the_group_epoch_rises_with_each_change(lab: &Lab) -> Outcome {
    let (first, second) = (lab.topic(1).await?, lab.topic(1).await?);
    let group = lab.group().await?;
    let mut hand = Hand::joined(lab, &group, &[&first]).await?;
    let mut before = described(lab, &mut hand.link, &group).await?.group_epoch;
    for _ in 0..3 {
        hand.beat().await?;
    }
    let now = described(lab, &mut hand.link, &group).await?.group_epoch;
    lab.check("the group's epoch after heartbeats that say nothing new", now, before)?;
    let mut other = Hand::new(lab, &group, &[&first]).await?;
    for change in ["a second member has joined", "it has changed its topics", "it has left"] {
        let answer = match change {
            "it has left" => other.leave().await?,
            _ => other.beat().await?,
        };
        lab.granted("ShareGroupHeartbeat", answer.error_code, answer.error_message.as_deref())?;
        let now = described(lab, &mut hand.link, &group).await?.group_epoch;
        let what = format!("the group's epoch when {change}");
        lab.check_that(&what, now > before, &format!("above {before}"), &now)?;
        before = now;
        other.request.subscribed_topic_names = Some(vec![second.name.clone()]);
    }
    Ok(())
}
