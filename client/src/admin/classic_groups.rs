//! Groups of the classic protocol, whose coordinator does not look inside what the members say: that is read here.

use ackflow_protocol::messages::consumer_protocol::{ConsumerProtocolAssignment, ConsumerProtocolSubscription};
use ackflow_protocol::messages::describe_groups::{DescribeGroupsRequest, DescribedGroup, DescribedGroupMember};
use ackflow_protocol::messages::embedded::Embedded;
use ackflow_protocol::wire::ErrorCode;
use bytes::Bytes;

use super::leaders::sorted;
use super::{Admin, ConsumerGroupDescription, ConsumerGroupMember, Results, result};
use crate::error::{ClientError, ErrorKind};

/// The protocol type of consumers. Groups that hold nothing but offsets which somebody committed have none.
const CONSUMER: &str = "consumer";

impl Admin {
    /// Describes consumer groups of the classic protocol (DescribeGroups).
    pub(super) async fn describe_classic_groups(
        &self,
        groups: Vec<String>,
    ) -> Results<String, ConsumerGroupDescription> {
        self.at_groups(
            groups,
            |groups| DescribeGroupsRequest { groups, ..Default::default() },
            |asked, response| {
                let outcome = |group: DescribedGroup| {
                    let id = group.group_id.clone();
                    let doing = || format!("describing consumer group {id}");
                    let described = match group.error_code.is_none() && group.group_state == DEAD {
                        // Before version 6 a group that does not exist is dead.
                        true => result((), doing, asked.connection, ErrorCode::GROUP_ID_NOT_FOUND, None),
                        false => result((), doing, asked.connection, group.error_code, group.error_message.as_deref()),
                    };
                    let described = described.and_then(|()| {
                        described_group(group, asked.node)
                            .map_err(|error| error.while_doing(doing()).at(asked.connection.broker().to_owned()))
                    });
                    (id, described)
                };
                response.groups.into_iter().map(outcome).collect()
            },
        )
        .await
    }
}

const DEAD: &str = "Dead";

fn described_group(group: DescribedGroup, coordinator: i32) -> Result<ConsumerGroupDescription, ClientError> {
    if !group.protocol_type.is_empty() && group.protocol_type != CONSUMER {
        let reason = format!("its members speak the protocol {}, not that of consumers", group.protocol_type);
        return Err(ClientError::new(ErrorKind::Invalid, "describing a group", reason)
            .remedy("name a group of consumers; list_groups tells what each group is"));
    }
    let mut members = group.members.into_iter().map(member).collect::<Result<Vec<_>, _>>()?;
    members.sort_by(|a, b| a.member_id.cmp(&b.member_id));
    Ok(ConsumerGroupDescription {
        classic: true,
        state: group.group_state,
        epoch: None,
        assignment_epoch: None,
        assignor: group.protocol_data,
        coordinator,
        members,
    })
}

fn member(member: DescribedGroupMember) -> Result<ConsumerGroupMember, ClientError> {
    let subscription: ConsumerProtocolSubscription = read(member.member_metadata)?;
    let assignment: ConsumerProtocolAssignment = read(member.member_assignment)?;
    let assigned = assignment.assigned_partitions.iter();
    let partitions = sorted(assigned.map(|topic| (topic.topic.as_str(), &topic.partitions[..])));
    Ok(ConsumerGroupMember {
        member_id: member.member_id,
        instance_id: member.group_instance_id,
        client_id: member.client_id,
        host: member.client_host,
        rack: subscription.rack_id,
        epoch: None,
        subscribed: subscription.topics,
        subscribed_regex: None,
        assignment: partitions.clone(),
        target_assignment: partitions,
    })
}

/// Reads what a member or its leader said. There is nothing while the group is not stable.
fn read<T: Embedded + Default>(bytes: Bytes) -> Result<T, ClientError> {
    if bytes.is_empty() {
        return Ok(T::default());
    }
    let (_, value) = T::from_versioned_bytes(bytes)
        .map_err(|error| ClientError::new(ErrorKind::Malformed, "reading what a member said", error.to_string()))?;
    Ok(value)
}

#[cfg(test)]
mod tests {
    use ackflow_protocol::messages::consumer_protocol::TopicPartition as Partitions;

    use super::*;

    fn group(protocol_type: &str) -> DescribedGroup {
        let subscription = ConsumerProtocolSubscription { topics: vec!["t".into()], ..Default::default() };
        let assigned = |topic: &str, partitions| Partitions { topic: topic.into(), partitions };
        let assigned_partitions = vec![assigned("u", vec![0]), assigned("t", vec![2, 1])];
        let assignment = ConsumerProtocolAssignment { assigned_partitions, user_data: None };
        let stable = DescribedGroupMember {
            member_id: "b".into(),
            member_metadata: subscription.to_versioned_bytes(1).unwrap(),
            member_assignment: assignment.to_versioned_bytes(1).unwrap(),
            ..Default::default()
        };
        let joining = DescribedGroupMember { member_id: "a".into(), ..Default::default() };
        let members = vec![stable, joining];
        DescribedGroup {
            protocol_type: protocol_type.into(),
            group_state: "Stable".into(),
            members,
            ..Default::default()
        }
    }

    #[test]
    fn what_members_of_a_classic_group_said_is_read() {
        let described = described_group(group(CONSUMER), 1).unwrap();
        let [joining, stable] = &described.members[..] else { panic!("{described:?}") };
        assert_eq!(stable.subscribed, ["t"]);
        let partitions: Vec<_> = stable.assignment.iter().map(ToString::to_string).collect();
        assert_eq!(partitions, ["t-1", "t-2", "u-0"]);
        assert!(joining.subscribed.is_empty() && joining.assignment.is_empty());
    }

    #[test]
    fn a_group_of_another_protocol_is_named_so() {
        let error = described_group(group("connect"), 1).unwrap_err();
        assert!(error.to_string().contains("the protocol connect"), "{error}");
    }

    #[test]
    fn bytes_of_a_member_that_cannot_be_read_are_an_error() {
        let mut group = group(CONSUMER);
        group.members[0].member_assignment = Bytes::from_static(&[0, 1, 0xff]);
        assert_eq!(described_group(group, 1).unwrap_err().kind(), ErrorKind::Malformed);
    }
}
