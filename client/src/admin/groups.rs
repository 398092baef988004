//! Groups of all kinds.

use std::collections::BTreeMap;

use ackflow_protocol::messages::find_coordinator::{FindCoordinatorRequest, FindCoordinatorResponse};
use ackflow_protocol::messages::list_groups::ListGroupsRequest;
use ackflow_protocol::wire::{ApiKey, ErrorCode};

use super::{Admin, result};
use crate::error::{ClientError, ErrorKind};
use crate::net::{Connection, address};

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

/// The key type of FindCoordinator for groups of all kinds.
const GROUP: i8 = 0;

impl Admin {
    /// Lists the groups of all brokers (ListGroups), by id: those of the given types, or of all types where none is given.
    ///
    /// Cancel-safe, as all calls of the module are.
    ///
    /// # Errors
    /// [`ClientError`] where a broker does not answer.
    pub async fn list_groups(&self, types: &[&str]) -> Result<Vec<GroupListing>, ClientError> {
        let mut retries = self.retries();
        loop {
            let attempt = async {
                self.learn_brokers().await?;
                let mut groups = BTreeMap::new();
                for node in self.pool.ids() {
                    self.list_groups_of(node, types, &mut groups).await?;
                }
                Ok(groups.into_values().collect())
            };
            if let Some(groups) = retries.attempt(attempt).await? {
                return Ok(groups);
            }
        }
    }

    async fn list_groups_of(
        &self,
        node: i32,
        types: &[&str],
        groups: &mut BTreeMap<String, GroupListing>,
    ) -> Result<(), ClientError> {
        let connection = self.pool.node(node).await?;
        let request = ListGroupsRequest {
            types_filter: types.iter().map(|group_type| (*group_type).to_owned()).collect(),
            ..Default::default()
        };
        let response = connection.call(&request, self.request_timeout()).await?;
        result((), || "listing groups".to_owned(), &connection, response.error_code, None)?;
        for group in response.groups {
            let listing = GroupListing {
                group_id: group.group_id.clone(),
                group_type: group.group_type,
                state: group.group_state,
                protocol: group.protocol_type,
            };
            groups.insert(group.group_id, listing);
        }
        Ok(())
    }

    /// A connection to the broker that coordinates a group, and the broker's id.
    pub(super) async fn coordinator(&self, group: &str) -> Result<(i32, Connection), ClientError> {
        let any = self.pool.any().await?;
        // From version 4 on, a request may ask for several groups, and names them elsewhere.
        let is_batched = any.version(ApiKey::FIND_COORDINATOR).is_some_and(|version| version >= 4);
        let request = FindCoordinatorRequest {
            key: if is_batched { String::new() } else { group.to_owned() },
            key_type: GROUP,
            coordinator_keys: if is_batched { vec![group.to_owned()] } else { Vec::new() },
        };
        let response = any.call(&request, self.request_timeout()).await?;
        let (node, host, port, code, message) = found(response, is_batched);
        let doing = || format!("looking for the coordinator of group {group}");
        result((), doing, &any, code, message.as_deref())?;
        let address = address(&host, port)
            .ok_or_else(|| ClientError::new(ErrorKind::Malformed, doing(), format!("broker {node} has no address")))?;
        self.pool.learn(node, address);
        Ok((node, self.pool.node(node).await?))
    }
}

fn found(response: FindCoordinatorResponse, is_batched: bool) -> (i32, String, i32, ErrorCode, Option<String>) {
    match response.coordinators.into_iter().next() {
        Some(c) if is_batched => (c.node_id, c.host, c.port, c.error_code, c.error_message),
        None if is_batched => (-1, String::new(), -1, ErrorCode::COORDINATOR_NOT_AVAILABLE, None),
        _ => (response.node_id, response.host, response.port, response.error_code, response.error_message),
    }
}
