//! Groups of both kinds as one shape: state, members, and who reads a partition.

use std::collections::BTreeMap;

use ackflow_client::admin::{
    ConsumerGroupDescription, ConsumerGroupMember, ShareGroupDescription, ShareGroupMember, TopicPartition,
};
use ackflow_client::{Admin, ClientError};

use super::kind::Kind;

/// A group, whatever its kind.
#[derive(Debug)]
pub(crate) struct Group {
    /// As the list of groups has it, which knows classic groups from those of KIP-848.
    pub(crate) group_type: &'static str,
    pub(crate) state: String,
    pub(crate) coordinator: i32,
    pub(crate) epoch: Option<i32>,
    pub(crate) assignment_epoch: Option<i32>,
    pub(crate) assignor: String,
    pub(crate) members: Vec<Member>,
}

/// A member of it.
#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) id: String,
    pub(crate) instance: Option<String>,
    pub(crate) host: String,
    pub(crate) client: String,
    pub(crate) rack: Option<String>,
    pub(crate) epoch: Option<i32>,
    pub(crate) subscribed: Vec<String>,
    pub(crate) regex: Option<String>,
    pub(crate) assignment: Vec<TopicPartition>,
    pub(crate) target: Vec<TopicPartition>,
}

/// Describes groups, each as its kind has it.
pub(crate) async fn describe(admin: &Admin, groups: &[(String, Kind)]) -> BTreeMap<String, Result<Group, ClientError>> {
    let of = |wanted| groups.iter().filter(move |(_, kind)| *kind == wanted).map(|(group, _)| group.as_str());
    let shares = admin.describe_share_groups(of(Kind::Share)).await;
    let consumers = admin.describe_consumer_groups(of(Kind::Consumer)).await;
    let shares = shares.into_iter().map(|(group, described)| (group, described.map(share)));
    let consumers = consumers.into_iter().map(|(group, described)| (group, described.map(consumer)));
    shares.chain(consumers).collect()
}

fn share(group: ShareGroupDescription) -> Group {
    let member = |member: ShareGroupMember| {
        let mut assignment: Vec<_> =
            member.assignment.into_iter().map(|(topic, index)| TopicPartition::new(topic, index)).collect();
        assignment.sort();
        Member {
            id: member.member_id,
            instance: None,
            host: member.host,
            client: member.client_id,
            rack: member.rack,
            epoch: Some(member.epoch),
            subscribed: member.subscribed,
            regex: None,
            target: assignment.clone(),
            assignment,
        }
    };
    Group {
        group_type: "share",
        state: group.state,
        coordinator: group.coordinator,
        epoch: Some(group.epoch),
        assignment_epoch: Some(group.assignment_epoch),
        assignor: group.assignor,
        members: group.members.into_iter().map(member).collect(),
    }
}

fn consumer(group: ConsumerGroupDescription) -> Group {
    let member = |member: ConsumerGroupMember| Member {
        id: member.member_id,
        instance: member.instance_id,
        host: member.host,
        client: member.client_id,
        rack: member.rack,
        epoch: member.epoch,
        subscribed: member.subscribed,
        regex: member.subscribed_regex,
        assignment: member.assignment,
        target: member.target_assignment,
    };
    Group {
        group_type: if group.classic { "classic" } else { "consumer" },
        state: group.state,
        coordinator: group.coordinator,
        epoch: group.epoch,
        assignment_epoch: group.assignment_epoch,
        assignor: group.assignor,
        members: group.members.into_iter().map(member).collect(),
    }
}
