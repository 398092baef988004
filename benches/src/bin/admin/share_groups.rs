//! Share groups.

use ackflow_client::admin::{Admin, ShareGroupDescription, ShareGroupMember, SharePartitionOffset};
use anyhow::Result;
use serde_json::{Value, json};

use crate::{all, done, number, partition};

pub(crate) async fn call(admin: &Admin, call: &str, arguments: &[&str]) -> Result<Option<Value>> {
    Ok(Some(match (call, arguments) {
        ("describe_share_groups", [group]) => all(admin.describe_share_groups([*group]).await, described)?,
        ("share_group_offsets", [group]) => admin.share_group_offsets(group).await?.into_iter().map(offset).collect(),
        ("alter_share_group_offsets", [group, topic, index, offset]) => {
            let offsets = [(partition(topic, index)?, number(offset)?)];
            done(admin.alter_share_group_offsets(group, offsets).await?)?
        }
        ("delete_share_group_offsets", [group, topic]) => {
            done(admin.delete_share_group_offsets(group, [*topic]).await?)?
        }
        _ => return Ok(None),
    }))
}

fn described(group: ShareGroupDescription) -> Value {
    let member = |member: ShareGroupMember| {
        let assignment: Vec<_> = member.assignment.iter().map(|(topic, p)| format!("{topic}-{p}")).collect();
        json!({ "member_id": member.member_id, "client_id": member.client_id, "host": member.host, "assignment": assignment })
    };
    json!({
        "state": group.state,
        "assignor": group.assignor,
        "coordinator": group.coordinator,
        "members": group.members.into_iter().map(member).collect::<Vec<_>>(),
    })
}

fn offset(offset: SharePartitionOffset) -> Value {
    json!({ "topic": offset.topic, "partition": offset.partition, "start": offset.start_offset, "lag": offset.lag })
}
