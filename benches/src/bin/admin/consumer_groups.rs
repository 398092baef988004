//! Groups of all kinds, consumer groups and their offsets.

use ackflow_client::admin::{Admin, CommittedOffset, ConsumerGroupDescription, ConsumerGroupMember, GroupListing};
use anyhow::Result;
use serde_json::{Map, Value, json};

use crate::{all, done, number, partition};

pub(crate) async fn call(admin: &Admin, call: &str, arguments: &[&str]) -> Result<Option<Value>> {
    Ok(Some(match (call, arguments) {
        ("list_groups", types) => {
            let groups = admin.list_groups(types).await?;
            Value::Object(groups.into_iter().map(listed).collect())
        }
        ("delete_groups", [group]) => done(admin.delete_groups([*group]).await)?,
        ("describe_consumer_groups", [group]) => all(admin.describe_consumer_groups([*group]).await, described)?,
        ("list_consumer_group_offsets", [group]) => {
            let offsets = admin.list_consumer_group_offsets(group).await?;
            Value::Object(
                offsets.into_iter().map(|(p, committed)| (p.to_string(), offset(&committed))).collect::<Map<_, _>>(),
            )
        }
        ("consumer_group_lag", [group]) => all(
            admin.consumer_group_lag(group).await?,
            |lag| json!({ "committed": lag.committed.offset, "end": lag.end, "lag": lag.lag }),
        )?,
        ("alter_consumer_group_offsets", [group, topic, index, offset]) => {
            let offsets = [(partition(topic, index)?, number::<i64>(offset)?)];
            done(admin.alter_consumer_group_offsets(group, offsets).await?)?
        }
        ("delete_consumer_group_offsets", [group, topic, index]) => {
            done(admin.delete_consumer_group_offsets(group, [partition(topic, index)?]).await?)?
        }
        _ => return Ok(None),
    }))
}

fn listed(group: GroupListing) -> (String, Value) {
    (group.group_id, json!({ "type": group.group_type, "state": group.state, "protocol": group.protocol }))
}

fn described(group: ConsumerGroupDescription) -> Value {
    let member = |member: ConsumerGroupMember| {
        let assignment: Vec<_> = member.assignment.iter().map(ToString::to_string).collect();
        json!({ "member_id": member.member_id, "client_id": member.client_id, "host": member.host, "assignment": assignment })
    };
    json!({
        "classic": group.classic,
        "state": group.state,
        "assignor": group.assignor,
        "coordinator": group.coordinator,
        "members": group.members.into_iter().map(member).collect::<Vec<_>>(),
    })
}

fn offset(committed: &CommittedOffset) -> Value {
    committed.offset.into()
}
