//! Start offsets of groups: told, set, deleted.

use ackflow_protocol::messages::alter_share_group_offsets::{
    AlterShareGroupOffsetsRequest, AlterShareGroupOffsetsRequestPartition, AlterShareGroupOffsetsRequestTopic,
    AlterShareGroupOffsetsResponse,
};
use ackflow_protocol::messages::delete_share_group_offsets::{
    DeleteShareGroupOffsetsRequest, DeleteShareGroupOffsetsRequestTopic, DeleteShareGroupOffsetsResponse,
};
use ackflow_protocol::messages::describe_share_group_offsets::{
    DescribeShareGroupOffsetsRequest, DescribeShareGroupOffsetsRequestGroup, DescribeShareGroupOffsetsRequestTopic,
    DescribeShareGroupOffsetsResponseGroup,
};
use ackflow_protocol::messages::share_group_describe::ShareGroupDescribeRequest;
use ackflow_protocol::wire::ErrorCode;

use crate::broker::case::cases;
use crate::broker::lab::{Acquired, Kind, Lab, Link, Outcome, Stop};

cases! {
    AdminAndOffsets;
    a_start_offset_that_was_set_is_told:
        "AlterShareGroupOffsets sets the start offset of a group without members, and DescribeShareGroupOffsets tells it.",
        "KIP-932, AlterShareGroupOffsets API";
    a_group_goes_on_at_the_offset_that_was_set:
        "Members that join after AlterShareGroupOffsets acquire the record at that offset first.",
        "KIP-932, AlterShareGroupOffsets API";
    an_offset_that_is_set_back_gives_records_again:
        "After AlterShareGroupOffsets has set the start offset back, records that were accepted are acquired again, with a delivery count of 1.",
        "KIP-932, AlterShareGroupOffsets API",
        note "Kafka 4.4.0 forgets what a leader has in memory of a group when the connection of its last share session ends, so the case closes it.";
    offsets_of_a_group_with_members_cannot_be_set:
        "AlterShareGroupOffsets of a group with members is refused with NON_EMPTY_GROUP.",
        "KIP-932, AlterShareGroupOffsets API";
    setting_offsets_makes_a_group_that_was_not_there:
        "AlterShareGroupOffsets of a group that does not exist makes it: a share group without members.",
        "KIP-932, AlterShareGroupOffsets API";
    setting_an_offset_of_what_is_not_there_fails_alone:
        "AlterShareGroupOffsets answers UNKNOWN_TOPIC_OR_PARTITION for each topic and partition that is not there, and sets the others.",
        "KIP-932, AlterShareGroupOffsets API";
    setting_offsets_wants_a_group_id:
        "AlterShareGroupOffsets with an empty group id is refused with INVALID_GROUP_ID.",
        "KIP-932, AlterShareGroupOffsets API";
    offsets_of_another_kind_of_group_cannot_be_set:
        "AlterShareGroupOffsets of a group that is not a share group is refused with GROUP_ID_NOT_FOUND.",
        "KIP-932, AlterShareGroupOffsets API";
    offsets_that_were_deleted_are_told_no_more:
        "DeleteShareGroupOffsets of a topic makes a group without members forget it: DescribeShareGroupOffsets of all its topics has it no more.",
        "KIP-932, DeleteShareGroupOffsets API";
    a_group_whose_offsets_were_deleted_starts_anew:
        "Members that join after DeleteShareGroupOffsets begin where share.auto.offset.reset says.",
        "KIP-932, DeleteShareGroupOffsets API";
    offsets_of_a_group_with_members_cannot_be_deleted:
        "DeleteShareGroupOffsets of a group with members is refused with NON_EMPTY_GROUP.",
        "KIP-932, DeleteShareGroupOffsets API";
    deleting_offsets_that_are_not_there_fails_alone:
        "DeleteShareGroupOffsets answers UNKNOWN_TOPIC_OR_PARTITION for each topic that is not there or that the group has no offsets of, and deletes the others.",
        "KIP-932, DeleteShareGroupOffsets API";
    deleting_offsets_of_an_unknown_group_is_refused:
        "DeleteShareGroupOffsets of a group that does not exist is refused with GROUP_ID_NOT_FOUND.",
        "KIP-932, DeleteShareGroupOffsets API";
    deleting_offsets_wants_a_group_id:
        "DeleteShareGroupOffsets with an empty group id is refused with INVALID_GROUP_ID.",
        "KIP-932, DeleteShareGroupOffsets API";
    an_offset_that_is_not_known_is_minus_one:
        "DescribeShareGroupOffsets answers a start offset of -1 and no error for a partition that the group has nothing to do with.",
        "KIP-932, DescribeShareGroupOffsets API";
    offsets_of_all_partitions_are_told_where_no_topic_is_named:
        "DescribeShareGroupOffsets with null topics tells of each partition that the group has an offset of, and of no other.",
        "DescribeShareGroupOffsetsRequest schema, topics: null for all topic-partitions";
    offsets_of_several_groups_are_told_at_once:
        "DescribeShareGroupOffsets answers for each group that it names, under its id.",
        "DescribeShareGroupOffsetsRequest schema";
}

/// The offsets to set: of each topic by name, the partitions.
type Offsets<'a> = &'a [(&'a str, &'a [(i32, i64)])];

pub(super) async fn alter(
    link: &mut Link,
    group: &str,
    offsets: Offsets<'_>,
) -> Outcome<AlterShareGroupOffsetsResponse> {
    let partition = |&(partition_index, start_offset): &(i32, i64)| AlterShareGroupOffsetsRequestPartition {
        partition_index,
        start_offset,
    };
    let topic = |(name, partitions): &(&str, &[(i32, i64)])| AlterShareGroupOffsetsRequestTopic {
        topic_name: (*name).to_owned(),
        partitions: partitions.iter().map(partition).collect(),
    };
    let topics = offsets.iter().map(topic).collect();
    link.call(&AlterShareGroupOffsetsRequest { group_id: group.to_owned(), topics }).await
}

/// Sets the start offset of a partition, which works.
async fn set(lab: &Lab, link: &mut Link, group: &str, topic: &str, partition: i32, offset: i64) -> Outcome {
    let response = alter(link, group, &[(topic, &[(partition, offset)])]).await?;
    lab.check("the error of AlterShareGroupOffsets", response.error_code, ErrorCode::NONE)?;
    lab.check("the errors of its partitions", codes(&response), vec![(topic.to_owned(), partition, ErrorCode::NONE)])
}

/// Topic, partition and error of each, in order.
fn codes(response: &AlterShareGroupOffsetsResponse) -> Vec<(String, i32, ErrorCode)> {
    let topics = response.responses.iter();
    let mut codes: Vec<_> = topics
        .flat_map(|topic| topic.partitions.iter().map(|p| (topic.topic_name.clone(), p.partition_index, p.error_code)))
        .collect();
    codes.sort_by_key(|(topic, partition, _)| (topic.clone(), *partition));
    codes
}

async fn delete(link: &mut Link, group: &str, topics: &[&str]) -> Outcome<DeleteShareGroupOffsetsResponse> {
    let topic = |name: &&str| DeleteShareGroupOffsetsRequestTopic { topic_name: (*name).to_owned() };
    let topics = topics.iter().map(topic).collect();
    link.call(&DeleteShareGroupOffsetsRequest { group_id: group.to_owned(), topics }).await
}

/// What is told of these partitions of a topic, or of all that the group knows.
async fn told(
    link: &mut Link,
    group: &str,
    topic: Option<(&str, &[i32])>,
) -> Outcome<DescribeShareGroupOffsetsResponseGroup> {
    let topics = topic.map(|(name, partitions)| {
        vec![DescribeShareGroupOffsetsRequestTopic { topic_name: name.to_owned(), partitions: partitions.to_vec() }]
    });
    let asked = DescribeShareGroupOffsetsRequestGroup { group_id: group.to_owned(), topics };
    let response = link.call(&DescribeShareGroupOffsetsRequest { groups: vec![asked] }).await?;
    response.groups.into_iter().next().ok_or_else(|| Stop::failed("an answer for the group", "there is none"))
}

/// Topic, partition, start offset and error of each, in order.
fn starts(group: &DescribeShareGroupOffsetsResponseGroup) -> Vec<(String, i32, i64, ErrorCode)> {
    let topics = group.topics.iter();
    let mut starts: Vec<_> = topics
        .flat_map(|topic| {
            let name = &topic.topic_name;
            topic.partitions.iter().map(|p| (name.clone(), p.partition_index, p.start_offset, p.error_code))
        })
        .collect();
    starts.sort_by_key(|(topic, partition, ..)| (topic.clone(), *partition));
    starts
}

async fn a_start_offset_that_was_set_is_told(lab: &Lab) -> Outcome {
    let topic = lab.topic(1).await?;
    let group = lab.group().await?;
    lab.produce(&topic, 0, 5).await?;
    let mut link = lab.coordinator(Kind::Group, &group).await?;
    set(lab, &mut link, &group, &topic.name, 0, 2).await?;
    let described = told(&mut link, &group, Some((&topic.name, &[0]))).await?;
    lab.check("what is told", starts(&described), vec![(topic.name, 0, 2, ErrorCode::NONE)])?;
    let ids: Vec<_> = described.topics.iter().map(|topic| topic.topic_id).collect();
    lab.check("the topic id that is told", ids, vec![topic.id])
}

async fn a_group_goes_on_at_the_offset_that_was_set(lab: &Lab) -> Outcome {
    let topic = lab.topic(1).await?;
    let group = lab.group().await?;
    lab.produce_one_by_one(&topic, 0, 5).await?;
    let mut link = lab.coordinator(Kind::Group, &group).await?;
    set(lab, &mut link, &group, &topic.name, 0, 3).await?;
    let member = lab.member(&group, &[&topic]).await?;
    let acquired = lab.session(&member, &[&topic]).await?.acquire(2).await?;
    lab.check("the first offset that is acquired", acquired[0].first, 3)
}

async fn an_offset_that_is_set_back_gives_records_again(lab: &Lab) -> Outcome {
    let (group, topic) = lab.group_that_accepted(3).await?;
    let mut link = lab.coordinator(Kind::Group, &group).await?;
    set(lab, &mut link, &group, &topic.name, 0, 1).await?;
    let member = lab.member(&group, &[&topic]).await?;
    let again = lab.session(&member, &[&topic]).await?.acquire(2).await?;
    lab.check("what is acquired then", again, vec![Acquired { partition: 0, first: 1, last: 2, delivery_count: 1 }])
}

async fn offsets_of_a_group_with_members_cannot_be_set(lab: &Lab) -> Outcome {
    let topic = lab.topic(1).await?;
    let group = lab.group().await?;
    let _member = lab.member(&group, &[&topic]).await?;
    let mut link = lab.coordinator(Kind::Group, &group).await?;
    let refused = alter(&mut link, &group, &[(&topic.name, &[(0, 0)])]).await?;
    lab.check("the error", refused.error_code, ErrorCode::NON_EMPTY_GROUP)
}

async fn setting_offsets_makes_a_group_that_was_not_there(lab: &Lab) -> Outcome {
    let topic = lab.topic(1).await?;
    let group = lab.group_at_latest();
    let mut link = lab.coordinator(Kind::Group, &group).await?;
    set(lab, &mut link, &group, &topic.name, 0, 0).await?;
    let request = ShareGroupDescribeRequest { group_ids: vec![group], ..Default::default() };
    let described = link.call(&request).await?.groups.pop().unwrap_or_default();
    lab.check("the error of ShareGroupDescribe", described.error_code, ErrorCode::NONE)?;
    lab.check("the state", described.group_state.as_str(), "Empty")
}

async fn setting_an_offset_of_what_is_not_there_fails_alone(lab: &Lab) -> Outcome {
    let topic = lab.topic(1).await?;
    let group = lab.group().await?;
    let nothing = lab.unique("nothing");
    let mut link = lab.coordinator(Kind::Group, &group).await?;
    let offsets: Offsets<'_> = &[(&nothing, &[(0, 1)]), (&topic.name, &[(0, 1), (7, 1)])];
    let response = alter(&mut link, &group, offsets).await?;
    lab.check("the error of the request", response.error_code, ErrorCode::NONE)?;
    let unknown = ErrorCode::UNKNOWN_TOPIC_OR_PARTITION;
    let wanted =
        vec![(nothing, 0, unknown), (topic.name.clone(), 0, ErrorCode::NONE), (topic.name.clone(), 7, unknown)];
    lab.check("the errors", codes(&response), wanted)?;
    let described = told(&mut link, &group, None).await?;
    lab.check("what is told then", starts(&described), vec![(topic.name, 0, 1, ErrorCode::NONE)])
}

async fn setting_offsets_wants_a_group_id(lab: &Lab) -> Outcome {
    let topic = lab.topic(1).await?;
    let response = alter(&mut lab.link().await?, "", &[(&topic.name, &[(0, 1)])]).await?;
    lab.check("the error", response.error_code, ErrorCode::INVALID_GROUP_ID)
}

async fn offsets_of_another_kind_of_group_cannot_be_set(lab: &Lab) -> Outcome {
    let topic = lab.topic(1).await?;
    let group = lab.group_of_offsets(&topic).await?;
    let mut link = lab.coordinator(Kind::Group, &group).await?;
    let response = alter(&mut link, &group, &[(&topic.name, &[(0, 1)])]).await?;
    lab.check("the error", response.error_code, ErrorCode::GROUP_ID_NOT_FOUND)
}

async fn offsets_that_were_deleted_are_told_no_more(lab: &Lab) -> Outcome {
    let (gone, kept) = (lab.topic(1).await?, lab.topic(1).await?);
    let group = lab.group().await?;
    let mut link = lab.coordinator(Kind::Group, &group).await?;
    set(lab, &mut link, &group, &gone.name, 0, 0).await?;
    set(lab, &mut link, &group, &kept.name, 0, 0).await?;
    let response = delete(&mut link, &group, &[&gone.name]).await?;
    lab.check("the error of the request", response.error_code, ErrorCode::NONE)?;
    let deleted: Vec<_> = response.responses.iter().map(|topic| (&*topic.topic_name, topic.error_code)).collect();
    lab.check("the errors of its topics", deleted, vec![(&*gone.name, ErrorCode::NONE)])?;
    let described = told(&mut link, &group, None).await?;
    lab.check("what is told then", starts(&described), vec![(kept.name, 0, 0, ErrorCode::NONE)])
}

async fn a_group_whose_offsets_were_deleted_starts_anew(lab: &Lab) -> Outcome {
    let topic = lab.topic(1).await?;
    let group = lab.group().await?;
    lab.produce(&topic, 0, 3).await?;
    let mut link = lab.coordinator(Kind::Group, &group).await?;
    set(lab, &mut link, &group, &topic.name, 0, 3).await?;
    let response = delete(&mut link, &group, &[&topic.name]).await?;
    lab.check("the error of the request", response.error_code, ErrorCode::NONE)?;
    let member = lab.member(&group, &[&topic]).await?;
    let acquired = lab.session(&member, &[&topic]).await?.acquire(3).await?;
    lab.check("the first offset that is acquired, with earliest", acquired[0].first, 0)
}

async fn offsets_of_a_group_with_members_cannot_be_deleted(lab: &Lab) -> Outcome {
    let topic = lab.topic(1).await?;
    let group = lab.group().await?;
    let _member = lab.member(&group, &[&topic]).await?;
    let mut link = lab.coordinator(Kind::Group, &group).await?;
    let refused = delete(&mut link, &group, &[&topic.name]).await?;
    lab.check("the error", refused.error_code, ErrorCode::NON_EMPTY_GROUP)
}

async fn deleting_offsets_that_are_not_there_fails_alone(lab: &Lab) -> Outcome {
    let (known, other) = (lab.topic(1).await?, lab.topic(1).await?);
    let group = lab.group().await?;
    let nothing = lab.unique("nothing");
    let mut link = lab.coordinator(Kind::Group, &group).await?;
    set(lab, &mut link, &group, &known.name, 0, 0).await?;
    let response = delete(&mut link, &group, &[&nothing, &known.name, &other.name]).await?;
    lab.check("the error of the request", response.error_code, ErrorCode::NONE)?;
    let code =
        |name: &str| response.responses.iter().find(|topic| topic.topic_name == name).map(|topic| topic.error_code);
    let unknown = Some(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
    lab.check("the error of a topic that is not there", code(&nothing), unknown)?;
    lab.check("the error of a topic that the group has nothing of", code(&other.name), unknown)?;
    lab.check("the error of the group's topic", code(&known.name), Some(ErrorCode::NONE))
}

async fn deleting_offsets_of_an_unknown_group_is_refused(lab: &Lab) -> Outcome {
    let topic = lab.topic(1).await?;
    let group = lab.group_at_latest();
    let mut link = lab.coordinator(Kind::Group, &group).await?;
    let refused = delete(&mut link, &group, &[&topic.name]).await?;
    lab.check("the error", refused.error_code, ErrorCode::GROUP_ID_NOT_FOUND)
}

async fn deleting_offsets_wants_a_group_id(lab: &Lab) -> Outcome {
    let topic = lab.topic(1).await?;
    let refused = delete(&mut lab.link().await?, "", &[&topic.name]).await?;
    lab.check("the error", refused.error_code, ErrorCode::INVALID_GROUP_ID)
}

async fn an_offset_that_is_not_known_is_minus_one(lab: &Lab) -> Outcome {
    let topic = lab.topic(2).await?;
    let group = lab.group().await?;
    let mut link = lab.coordinator(Kind::Group, &group).await?;
    set(lab, &mut link, &group, &topic.name, 0, 0).await?;
    let described = told(&mut link, &group, Some((&topic.name, &[1]))).await?;
    lab.check("what is told of the other partition", starts(&described), vec![(topic.name, 1, -1, ErrorCode::NONE)])
}

async fn offsets_of_all_partitions_are_told_where_no_topic_is_named(lab: &Lab) -> Outcome {
    let (two, one, _other) = (lab.topic(2).await?, lab.topic(1).await?, lab.topic(1).await?);
    let group = lab.group().await?;
    let mut link = lab.coordinator(Kind::Group, &group).await?;
    let response = alter(&mut link, &group, &[(&two.name, &[(0, 1), (1, 2)]), (&one.name, &[(0, 3)])]).await?;
    lab.check("the error of AlterShareGroupOffsets", response.error_code, ErrorCode::NONE)?;
    let described = told(&mut link, &group, None).await?;
    let mut wanted = vec![
        (two.name.clone(), 0, 1, ErrorCode::NONE),
        (two.name, 1, 2, ErrorCode::NONE),
        (one.name, 0, 3, ErrorCode::NONE),
    ];
    wanted.sort_by_key(|(topic, partition, ..)| (topic.clone(), *partition));
    lab.check("what is told", starts(&described), wanted)
}

async fn offsets_of_several_groups_are_told_at_once(lab: &Lab) -> Outcome {
    let topic = lab.topic(1).await?;
    let groups = [lab.group().await?, lab.group().await?];
    for (group, offset) in groups.iter().zip([4, 5]) {
        let mut link = lab.coordinator(Kind::Group, group).await?.unrecorded();
        set(lab, &mut link, group, &topic.name, 0, offset).await?;
    }
    let asked = |group: &String| DescribeShareGroupOffsetsRequestGroup { group_id: group.clone(), topics: None };
    let request = DescribeShareGroupOffsetsRequest { groups: groups.iter().map(asked).collect() };
    // The groups may have different coordinators, which answer for their own.
    for (group, offset) in groups.iter().zip([4, 5]) {
        let response = lab.coordinator(Kind::Group, group).await?.call(&request).await?;
        lab.check("how many groups are answered for", response.groups.len(), 2)?;
        let described = response.groups.iter().find(|described| described.group_id == *group);
        let wanted = Some(vec![(topic.name.clone(), 0, offset, ErrorCode::NONE)]);
        lab.check("what is told of the group that is asked there", described.map(starts), wanted)?;
    }
    Ok(())
}
