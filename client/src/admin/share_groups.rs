//! Share groups and their members. The group's coordinator knows them.

use ackflow_protocol::messages::share_group_describe::{DescribedGroup, Member, ShareGroupDescribeRequest};

use super::{Admin, Results, result};

/// A share group and its members.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShareGroupDescription {
    /// `Empty`, `Stable` or `Dead`.
    pub state: String,
    /// Counts the changes of members and subscriptions.
    pub epoch: i32,
    /// The epoch that the assignment was made for.
    pub assignment_epoch: i32,
    /// What makes the assignment, such as `simple`.
    pub assignor: String,
    /// The broker that coordinates the group.
    pub coordinator: i32,
    /// The members, by id.
    pub members: Vec<ShareGroupMember>,
}

/// A member of a share group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShareGroupMember {
    /// Its id, made by the member.
    pub member_id: String,
    /// Its `client.id`.
    pub client_id: String,
    /// Where it connects from.
    pub host: String,
    /// Its `client.rack`.
    pub rack: Option<String>,
    /// The epoch that it has reached.
    pub epoch: i32,
    /// The topics that it subscribes to.
    pub subscribed: Vec<String>,
    /// The partitions that it reads, which it may share with other members.
    pub assignment: Vec<(String, i32)>,
}

impl Admin {
    /// Describes share groups (ShareGroupDescribe).
    ///
    /// Cancel-safe, as all calls of the module are.
    ///
    /// # Errors
    /// None for the whole call: a group that cannot be described has an error of its own.
    pub async fn describe_share_groups<S: Into<String>>(
        &self,
        groups: impl IntoIterator<Item = S>,
    ) -> Results<String, ShareGroupDescription> {
        self.at_groups(
            groups,
            |group_ids| ShareGroupDescribeRequest { group_ids, ..Default::default() },
            |asked, response| {
                let outcome = |group: DescribedGroup| {
                    let id = group.group_id.clone();
                    let doing = || format!("describing share group {id}");
                    let (code, message) = (group.error_code, group.error_message.clone());
                    let described = described(group, asked.node);
                    let outcome = result(described, doing, asked.connection, code, message.as_deref());
                    (id, outcome)
                };
                response.groups.into_iter().map(outcome).collect()
            },
        )
        .await
    }
}

fn described(group: DescribedGroup, coordinator: i32) -> ShareGroupDescription {
    let member = |member: Member| ShareGroupMember {
        member_id: member.member_id,
        client_id: member.client_id,
        host: member.client_host,
        rack: member.rack_id,
        epoch: member.member_epoch,
        subscribed: member.subscribed_topic_names,
        assignment: member
            .assignment
            .topic_partitions
            .iter()
            .flat_map(|topic| topic.partitions.iter().map(|partition| (topic.topic_name.clone(), *partition)))
            .collect(),
    };
    let mut members: Vec<_> = group.members.into_iter().map(member).collect();
    members.sort_by(|a, b| a.member_id.cmp(&b.member_id));
    ShareGroupDescription {
        state: group.group_state,
        epoch: group.group_epoch,
        assignment_epoch: group.assignment_epoch,
        assignor: group.assignor_name,
        coordinator,
        members,
    }
}
