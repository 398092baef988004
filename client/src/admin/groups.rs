//! Groups of all kinds.

use std::collections::BTreeMap;

use ackflow_protocol::messages::delete_groups::{DeletableGroupResult, DeleteGroupsRequest};
use ackflow_protocol::messages::list_groups::{ListGroupsRequest, ListedGroup};

use super::{Admin, Results, result};
use crate::error::ClientError;

/// A group in the list of groups.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupListing {
    /// Its id.
    pub group_id: String,
    /// `share`, `consumer`, `classic` or `streams`; empty where the broker does not say.
    pub group_type: String,
    /// Such as `Stable` or `Empty`; empty where the broker does not say.
    pub state: String,
    /// Such as `share` or `consumer`.
    pub protocol: String,
}

impl Admin {
    /// Lists the groups of all brokers (ListGroups), by id: those of the given types, or of all types where none is given.
    ///
    /// Cancel-safe, as all calls of the module are.
    ///
    /// # Errors
    /// [`ClientError`] where a broker does not answer.
    pub async fn list_groups(&self, types: &[&str]) -> Result<Vec<GroupListing>, ClientError> {
        let request = ListGroupsRequest {
            types_filter: types.iter().map(|group_type| (*group_type).to_owned()).collect(),
            ..Default::default()
        };
        let groups = self.ask_all(&request, |asked, response| {
            result((), || "listing groups".to_owned(), asked.connection, response.error_code, None)?;
            Ok(response.groups.into_iter().map(listing).collect())
        });
        let by_id: BTreeMap<_, _> = groups.await?.into_iter().map(|group| (group.group_id.clone(), group)).collect();
        Ok(by_id.into_values().collect())
    }

    /// Deletes groups of any kind (DeleteGroups), their offsets included. None of them may have members.
    ///
    /// Cancel-safe, as all calls of the module are.
    ///
    /// # Errors
    /// None for the whole call: a group that cannot be deleted has an error of its own. It may have been deleted nevertheless.
    pub async fn delete_groups<S: Into<String>>(&self, groups: impl IntoIterator<Item = S>) -> Results<String, ()> {
        self.at_groups(
            groups,
            |groups_names| DeleteGroupsRequest { groups_names },
            |asked, response| {
                let outcome = |group: DeletableGroupResult| {
                    let doing = || format!("deleting group {}", group.group_id);
                    let message = group.error_message.as_deref();
                    let deleted = result((), doing, asked.connection, group.error_code, message);
                    (group.group_id, deleted)
                };
                response.results.into_iter().map(outcome).collect()
            },
        )
        .await
    }
}

fn listing(group: ListedGroup) -> GroupListing {
    GroupListing {
        group_id: group.group_id,
        group_type: group.group_type,
        state: group.group_state,
        protocol: group.protocol_type,
    }
}
