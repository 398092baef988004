//! Share sessions: what each member fetches on this broker, bound to the connection that opened it.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use ackflow_protocol::wire::ErrorCode;

use crate::core::ConnectionId;
use crate::core::topics::TopicIdPartition;

/// The session epoch that opens a session.
pub(crate) const INITIAL_EPOCH: i32 = 0;
/// The session epoch that closes it.
pub(crate) const FINAL_EPOCH: i32 = -1;

/// Whose session it is.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct SessionKey {
    /// The group.
    pub(crate) group: Arc<str>,
    /// The member.
    pub(crate) member: Arc<str>,
}

#[derive(Debug)]
struct ShareSession {
    /// The epoch that the next request has to carry.
    epoch: i32,
    connection: ConnectionId,
    partitions: BTreeSet<TopicIdPartition>,
}

/// All sessions of this broker.
#[derive(Debug, Default)]
pub(crate) struct ShareSessions {
    by_key: HashMap<SessionKey, ShareSession>,
    /// One session a connection: a later one on the same connection takes the place of the first, which then outlives
    /// the connection. Kafka does the same.
    by_connection: HashMap<ConnectionId, SessionKey>,
}

impl ShareSessions {
    /// Opens a session, in place of one that the member may have.
    ///
    /// # Errors
    /// SHARE_SESSION_LIMIT_REACHED where `limit` sessions are open.
    pub(crate) fn open(
        &mut self,
        key: SessionKey,
        connection: ConnectionId,
        partitions: BTreeSet<TopicIdPartition>,
        limit: usize,
    ) -> Result<(), ErrorCode> {
        self.by_key.remove(&key);
        if self.by_key.len() >= limit {
            return Err(ErrorCode::SHARE_SESSION_LIMIT_REACHED);
        }
        self.by_connection.insert(connection, key.clone());
        self.by_key.insert(key, ShareSession { epoch: 1, connection, partitions });
        Ok(())
    }

    /// Takes a request's epoch, and the partitions that it adds and forgets. Gives the partitions of the session.
    ///
    /// # Errors
    /// SHARE_SESSION_NOT_FOUND, or INVALID_SHARE_SESSION_EPOCH where the epoch is not the expected one.
    pub(crate) fn advance(
        &mut self,
        key: &SessionKey,
        epoch: i32,
        added: impl IntoIterator<Item = TopicIdPartition>,
        forgotten: impl IntoIterator<Item = TopicIdPartition>,
    ) -> Result<&BTreeSet<TopicIdPartition>, ErrorCode> {
        let session = self.by_key.get_mut(key).ok_or(ErrorCode::SHARE_SESSION_NOT_FOUND)?;
        if session.epoch != epoch {
            return Err(ErrorCode::INVALID_SHARE_SESSION_EPOCH);
        }
        session.epoch = if epoch == i32::MAX { 1 } else { epoch + 1 };
        session.partitions.extend(added);
        for partition in forgotten {
            session.partitions.remove(&partition);
        }
        Ok(&session.partitions)
    }

    /// Whether the member has a session.
    pub(crate) fn contains(&self, key: &SessionKey) -> bool {
        self.by_key.contains_key(key)
    }

    /// Puts a session far ahead.
    #[cfg(test)]
    pub(crate) fn set_epoch(&mut self, key: &SessionKey, epoch: i32) {
        self.by_key.get_mut(key).expect("the session is open").epoch = epoch;
    }

    /// Whether any member of the group has a session.
    pub(crate) fn has_members(&self, group: &str) -> bool {
        self.by_key.keys().any(|key| &*key.group == group)
    }

    /// Ends a session and gives its partitions.
    pub(crate) fn close(&mut self, key: &SessionKey) -> Option<BTreeSet<TopicIdPartition>> {
        let session = self.by_key.remove(key)?;
        if self.by_connection.get(&session.connection) == Some(key) {
            self.by_connection.remove(&session.connection);
        }
        Some(session.partitions)
    }

    /// Ends the session of a connection that is gone.
    pub(crate) fn disconnected(
        &mut self,
        connection: ConnectionId,
    ) -> Option<(SessionKey, BTreeSet<TopicIdPartition>)> {
        let key = self.by_connection.remove(&connection)?;
        // The member may have opened another session since, on another connection.
        if self.by_key.get(&key)?.connection != connection {
            return None;
        }
        let session = self.by_key.remove(&key)?;
        Some((key, session.partitions))
    }
}
