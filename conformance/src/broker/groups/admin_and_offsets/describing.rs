//! Groups: described, listed, deleted.

use ackflow_protocol::messages::delete_groups::DeleteGroupsRequest;
use ackflow_protocol::messages::list_groups::{ListGroupsRequest, ListedGroup};
use ackflow_protocol::messages::share_group_describe::{DescribedGroup, ShareGroupDescribeRequest};
use ackflow_protocol::wire::ErrorCode;

use super::offsets::alter;
use crate::broker::case::cases;
use crate::broker::lab::{Kind, Lab, Link, Outcome, Stop, Topic};

cases! {
    AdminAndOffsets;
    a_group_that_lost_its_members_is_empty:
        "ShareGroupDescribe tells the state Empty and no members of a group whose members have left.",
        "KIP-932, ShareGroupDescribe API";
    a_group_with_members_is_stable:
        "ShareGroupDescribe tells the state Stable of a group with members, and its epochs and members.",
        "KIP-932, ShareGroupDescribe API";
    a_group_that_does_not_exist_is_not_found:
        "ShareGroupDescribe of a group that does not exist answers GROUP_ID_NOT_FOUND for it, and the others are described.",
        "KIP-932, ShareGroupDescribe API; KIP-1043";
    another_kind_of_group_is_not_described:
        "ShareGroupDescribe of a group that is not a share group answers GROUP_ID_NOT_FOUND.",
        "KIP-1043, Administration of groups";
    operations_are_told_where_they_are_asked_for:
        "ShareGroupDescribe tells authorizedOperations where includeAuthorizedOperations is set, and -2147483648 elsewhere.",
        "ShareGroupDescribeRequest and ShareGroupDescribeResponse schemas";
    share_groups_are_listed_by_their_type:
        "ListGroups with the types filter `share` lists share groups, with the protocol type share and their state, and no others.",
        "KIP-932, Group listing; KIP-848, ListGroups API";
    share_groups_are_listed_by_their_state:
        "ListGroups with a states filter lists the groups in these states alone.",
        "KIP-518; KIP-932";
    an_empty_group_is_deleted:
        "DeleteGroups of a share group without members deletes it: it is described and listed no more.",
        "KIP-932, DeleteGroups";
    a_group_with_members_is_not_deleted:
        "DeleteGroups of a share group with members is refused with NON_EMPTY_GROUP, and its members go on.",
        "KIP-932, DeleteGroups";
    deleting_a_group_that_does_not_exist_is_refused:
        "DeleteGroups of a group that does not exist answers GROUP_ID_NOT_FOUND.",
        "KIP-229, DeleteGroups API";
    a_group_that_was_deleted_starts_anew:
        "A share group that was deleted and has members again begins where share.auto.offset.reset says: what it had accepted is forgotten.",
        "KIP-932, DeleteGroups",
        note "Kafka 4.4.0 forgets what a leader has in memory of a group when the connection of its last share session ends, so the case closes it.";
}

async fn described(link: &mut Link, group: &str, operations: bool) -> Outcome<DescribedGroup> {
    let request =
        ShareGroupDescribeRequest { group_ids: vec![group.to_owned()], include_authorized_operations: operations };
    let found = link.call(&request).await?.groups.pop();
    found.ok_or_else(|| Stop::failed("ShareGroupDescribe answers for the group", "it does not"))
}

async fn delete(link: &mut Link, group: &str) -> Outcome<ErrorCode> {
    let result = link.call(&DeleteGroupsRequest { groups_names: vec![group.to_owned()] }).await?.results.pop();
    result
        .map(|result| result.error_code)
        .ok_or_else(|| Stop::failed("DeleteGroups answers for the group", "it does not"))
}

/// A group that was made and has no members.
async fn empty_group(lab: &Lab, topic: &Topic) -> Outcome<String> {
    let group = lab.group().await?;
    let mut link = lab.coordinator(Kind::Group, &group).await?.unrecorded();
    let made = alter(&mut link, &group, &[(&topic.name, &[(0, 0)])]).await?;
    lab.granted("AlterShareGroupOffsets", made.error_code, made.error_message.as_deref())?;
    Ok(group)
}

async fn a_group_that_lost_its_members_is_empty(lab: &Lab) -> Outcome {
    let topic = lab.topic(1).await?;
    let group = lab.group().await?;
    let member = lab.member(&group, &[&topic]).await?;
    lab.leave(member).await?;
    let mut link = lab.coordinator(Kind::Group, &group).await?;
    let group = described(&mut link, &group, false).await?;
    lab.check("the error", group.error_code, ErrorCode::NONE)?;
    lab.check("the state", group.group_state.as_str(), "Empty")?;
    lab.check("how many members are told", group.members.len(), 0)
}

async fn a_group_with_members_is_stable(lab: &Lab) -> Outcome {
    let topic = lab.topic(1).await?;
    let group = lab.group().await?;
    let member = lab.member(&group, &[&topic]).await?;
    let mut link = lab.coordinator(Kind::Group, &group).await?;
    let group = described(&mut link, &group, false).await?;
    lab.check("the error", group.error_code, ErrorCode::NONE)?;
    lab.check("the state", group.group_state.as_str(), "Stable")?;
    lab.check("the epoch of the assignment, beside that of the group", group.assignment_epoch, group.group_epoch)?;
    let members: Vec<_> = group.members.iter().map(|member| member.member_id.as_str()).collect();
    lab.check("the members", members, vec![&*member.id])
}

async fn a_group_that_does_not_exist_is_not_found(lab: &Lab) -> Outcome {
    let topic = lab.topic(1).await?;
    let known = empty_group(lab, &topic).await?;
    let unknown = lab.group_at_latest();
    let mut link = lab.coordinator(Kind::Group, &unknown).await?;
    let group_ids = vec![unknown.clone(), known.clone()];
    let response = link.call(&ShareGroupDescribeRequest { group_ids, ..Default::default() }).await?;
    let code = |id: &str| response.groups.iter().find(|group| group.group_id == id).map(|group| group.error_code);
    lab.check("the error of the group that does not exist", code(&unknown), Some(ErrorCode::GROUP_ID_NOT_FOUND))?;
    let elsewhere = lab.coordinator(Kind::Group, &known).await?;
    drop(elsewhere);
    let other = code(&known);
    // Its coordinator may be another broker.
    let answers = [Some(ErrorCode::NONE), Some(ErrorCode::NOT_COORDINATOR)];
    lab.check_that(
        "the error of the other group",
        answers.contains(&other),
        "NONE, or NOT_COORDINATOR elsewhere",
        &other,
    )
}

async fn another_kind_of_group_is_not_described(lab: &Lab) -> Outcome {
    let topic = lab.topic(1).await?;
    let group = lab.group_of_offsets(&topic).await?;
    let mut link = lab.coordinator(Kind::Group, &group).await?;
    let described = described(&mut link, &group, false).await?;
    lab.check("the error", described.error_code, ErrorCode::GROUP_ID_NOT_FOUND)
}

async fn operations_are_told_where_they_are_asked_for(lab: &Lab) -> Outcome {
    let topic = lab.topic(1).await?;
    let group = empty_group(lab, &topic).await?;
    let mut link = lab.coordinator(Kind::Group, &group).await?;
    let silent = described(&mut link, &group, false).await?.authorized_operations;
    lab.check("the operations where nobody asks", silent, i32::MIN)?;
    let asked = described(&mut link, &group, true).await?.authorized_operations;
    lab.check_that("the operations where they are asked for", asked != i32::MIN, "anything but -2147483648", &asked)
}

async fn listed(link: &mut Link, types: &[&str], states: &[&str], group: &str) -> Outcome<Option<ListedGroup>> {
    let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
    let request = ListGroupsRequest { states_filter: owned(states), types_filter: owned(types) };
    // All groups of the broker are in the answer, which is too much for a report.
    let response = link.call(&request).await?;
    Ok(response.groups.into_iter().find(|listed| listed.group_id == group))
}

async fn share_groups_are_listed_by_their_type(lab: &Lab) -> Outcome {
    let topic = lab.topic(1).await?;
    let (share, other) = (empty_group(lab, &topic).await?, lab.group_of_offsets(&topic).await?);
    let mut link = lab.coordinator(Kind::Group, &share).await?;
    let found = listed(&mut link, &["share"], &[], &share).await?;
    let told = found.map(|group| (group.group_type, group.protocol_type, group.group_state));
    lab.check("type, protocol type and state", told, Some(("share".into(), "share".into(), "Empty".into())))?;
    let consumers = listed(&mut link, &["consumer", "classic"], &[], &share).await?;
    lab.check("what is listed of it among other types", consumers, None)?;
    let mut link = lab.coordinator(Kind::Group, &other).await?;
    let found = listed(&mut link, &["share"], &[], &other).await?;
    lab.check("what is listed of another group among share groups", found, None)
}

async fn share_groups_are_listed_by_their_state(lab: &Lab) -> Outcome {
    let topic = lab.topic(1).await?;
    let (empty, stable) = (empty_group(lab, &topic).await?, lab.group().await?);
    let _member = lab.member(&stable, &[&topic]).await?;
    for (group, state, other) in [(&empty, "Empty", "Stable"), (&stable, "Stable", "Empty")] {
        let mut link = lab.coordinator(Kind::Group, group).await?;
        let found = listed(&mut link, &[], &[state], group).await?.map(|group| group.group_state);
        lab.check(&format!("the state of a group that is listed with {state}"), found.as_deref(), Some(state))?;
        let found = listed(&mut link, &[], &[other], group).await?;
        lab.check(&format!("what is listed of it with {other}"), found, None)?;
    }
    Ok(())
}

async fn an_empty_group_is_deleted(lab: &Lab) -> Outcome {
    let topic = lab.topic(1).await?;
    let group = empty_group(lab, &topic).await?;
    let mut link = lab.coordinator(Kind::Group, &group).await?;
    lab.check("the error of DeleteGroups", delete(&mut link, &group).await?, ErrorCode::NONE)?;
    let described = described(&mut link, &group, false).await?;
    lab.check("the error of ShareGroupDescribe", described.error_code, ErrorCode::GROUP_ID_NOT_FOUND)?;
    lab.check("what is listed of it", listed(&mut link, &["share"], &[], &group).await?, None)
}

async fn a_group_with_members_is_not_deleted(lab: &Lab) -> Outcome {
    let topic = lab.topic(1).await?;
    let group = lab.group().await?;
    let _member = lab.member(&group, &[&topic]).await?;
    let mut link = lab.coordinator(Kind::Group, &group).await?;
    lab.check("the error of DeleteGroups", delete(&mut link, &group).await?, ErrorCode::NON_EMPTY_GROUP)?;
    let described = described(&mut link, &group, false).await?;
    lab.check("the state then", described.group_state.as_str(), "Stable")
}

async fn deleting_a_group_that_does_not_exist_is_refused(lab: &Lab) -> Outcome {
    let group = lab.group_at_latest();
    let mut link = lab.coordinator(Kind::Group, &group).await?;
    lab.check("the error", delete(&mut link, &group).await?, ErrorCode::GROUP_ID_NOT_FOUND)
}

async fn a_group_that_was_deleted_starts_anew(lab: &Lab) -> Outcome {
    let (group, topic) = lab.group_that_accepted(3).await?;
    let mut link = lab.coordinator(Kind::Group, &group).await?;
    lab.check("the error of DeleteGroups", delete(&mut link, &group).await?, ErrorCode::NONE)?;
    let member = lab.member(&group, &[&topic]).await?;
    let again = lab.session(&member, &[&topic]).await?.acquire(3).await?;
    lab.check("the first offset that is acquired then", again[0].first, 0)
}
