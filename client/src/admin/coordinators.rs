//! The coordinators of groups and transactions.

use std::collections::BTreeMap;

use ackflow_protocol::messages::find_coordinator::{Coordinator, FindCoordinatorRequest};
use ackflow_protocol::wire::{ApiKey, Request};

use super::routed::{Asked, Lookup};
use super::{Admin, Results, result};
use crate::error::{ClientError, ErrorKind};
use crate::net::{Connection, address};

/// Whose coordinators, with the wire's numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i8)]
pub(super) enum Coordinators {
    /// Of groups of all kinds, by group id.
    Groups = 0,
    /// Of transactions, by transactional id.
    Transactions = 1,
}

impl Coordinators {
    fn of(self, key: &str) -> String {
        match self {
            Self::Groups => format!("looking for the coordinator of group {key}"),
            Self::Transactions => format!("looking for the coordinator of transactional id {key}"),
        }
    }
}

impl Lookup<String> for Coordinators {
    async fn find(
        &self,
        admin: &Admin,
        keys: &[String],
        failed: &mut Vec<(String, ClientError)>,
    ) -> Result<BTreeMap<i32, Vec<String>>, ClientError> {
        let any = admin.pool.any().await?;
        let mut nodes: BTreeMap<i32, Vec<String>> = BTreeMap::new();
        let mut found: BTreeMap<_, _> =
            coordinators(&any, *self, keys, admin).await?.into_iter().map(|found| (found.key.clone(), found)).collect();
        for key in keys {
            match learned(*self, key, found.remove(key), &any, admin) {
                Ok(node) => nodes.entry(node).or_default().push(key.clone()),
                Err(error) => failed.push((key.clone(), error)),
            }
        }
        Ok(nodes)
    }
}

/// The broker that coordinates a key, which the pool knows from now on.
fn learned(
    kind: Coordinators,
    key: &str,
    found: Option<Coordinator>,
    any: &Connection,
    admin: &Admin,
) -> Result<i32, ClientError> {
    let doing = || kind.of(key);
    let malformed =
        |reason: String| ClientError::new(ErrorKind::Malformed, doing(), reason).at(any.broker().to_owned());
    let found = found.ok_or_else(|| malformed("the answer leaves it out".into()))?;
    result((), doing, any, found.error_code, found.error_message.as_deref())?;
    let address = address(&found.host, found.port)
        .ok_or_else(|| malformed(format!("broker {} has no address", found.node_id)))?;
    admin.pool.learn(found.node_id, address);
    Ok(found.node_id)
}

/// Asks for the coordinators of all keys: in one request from version 4 on, before in one each.
async fn coordinators(
    any: &Connection,
    kind: Coordinators,
    keys: &[String],
    admin: &Admin,
) -> Result<Vec<Coordinator>, ClientError> {
    if any.version(ApiKey::FIND_COORDINATOR).is_some_and(|version| version >= 4) {
        let request =
            FindCoordinatorRequest { key_type: kind as i8, coordinator_keys: keys.to_vec(), ..Default::default() };
        return Ok(any.call(&request, admin.request_timeout()).await?.coordinators);
    }
    let mut found = Vec::new();
    for key in keys {
        let request = FindCoordinatorRequest { key: key.clone(), key_type: kind as i8, ..Default::default() };
        let response = any.call(&request, admin.request_timeout()).await?;
        found.push(Coordinator {
            key: key.clone(),
            node_id: response.node_id,
            host: response.host,
            port: response.port,
            error_code: response.error_code,
            error_message: response.error_message,
        });
    }
    Ok(found)
}

impl Admin {
    /// Asks the coordinators of groups about them.
    pub(super) async fn at_groups<R, T>(
        &self,
        groups: impl IntoIterator<Item = impl Into<String>>,
        request: impl Fn(Vec<String>) -> R + Sync,
        read: impl Fn(&Asked<'_>, R::Response) -> Vec<(String, Result<T, ClientError>)> + Sync,
    ) -> Results<String, T>
    where
        R: Request,
        T: Send,
    {
        let groups: BTreeMap<String, ()> = groups.into_iter().map(|group| (group.into(), ())).collect();
        let request =
            |_: &Asked<'_>, groups: &[(&String, &())]| request(groups.iter().map(|(g, ())| (*g).clone()).collect());
        self.routed(&Coordinators::Groups, groups, i16::MAX, request, read).await
    }

    /// Asks the coordinator of one group, in no version of the API after `newest`.
    pub(super) async fn at_group<R, T>(
        &self,
        group: &str,
        newest: i16,
        request: impl Fn(&Asked<'_>) -> R + Sync,
        read: impl Fn(&Asked<'_>, R::Response) -> Result<T, ClientError> + Sync,
    ) -> Result<T, ClientError>
    where
        R: Request,
        T: Send,
    {
        let item = BTreeMap::from([(group.to_owned(), ())]);
        let request = |asked: &Asked<'_>, _: &[(&String, &())]| request(asked);
        let read = |asked: &Asked<'_>, response| vec![(group.to_owned(), read(asked, response))];
        let mut results = self.routed(&Coordinators::Groups, item, newest, request, read).await;
        results.remove(group).expect("each item has its result")
    }
}
