//! Consumer groups: their members, and the offsets that they commit. Share groups are in [`share`](super::share).

pub(crate) mod classic;
pub(crate) mod consumer;
pub(crate) mod offsets;

use std::collections::BTreeMap;

use ackflow_protocol::wire::ErrorCode;

use super::Cluster;
use classic::ClassicGroup;
use consumer::ConsumerGroup;
use offsets::Offsets;

/// Why a request of a group is refused: code and message.
pub(crate) type GroupError = (ErrorCode, String);

/// What kind of group there is under an id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GroupKind {
    /// Of the consumer protocol (KIP-848).
    Consumer,
    /// Of the classic protocol, or of none: offsets that somebody committed.
    Classic,
    /// A share group.
    Share,
}

impl GroupKind {
    /// As ListGroups names it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Consumer => "consumer",
            Self::Classic => "classic",
            Self::Share => "share",
        }
    }
}

/// All groups that keep offsets.
#[derive(Debug, Default)]
pub(crate) struct Groups {
    /// Those of the consumer protocol, by id.
    pub(crate) consumer: BTreeMap<String, ConsumerGroup>,
    /// Those of the classic protocol, by id.
    pub(crate) classic: BTreeMap<String, ClassicGroup>,
    /// What was committed, by group.
    pub(crate) offsets: BTreeMap<String, Offsets>,
}

impl Cluster {
    /// Whether the node coordinates a share group of this id that has no members.
    ///
    /// # Errors
    /// INVALID_GROUP_ID, NOT_COORDINATOR, UNSUPPORTED_VERSION, GROUP_ID_NOT_FOUND or NON_EMPTY_GROUP, in Kafka's words.
    pub(crate) fn check_empty_share_group(&self, node: i32, group: &str) -> Result<(), GroupError> {
        if group.is_empty() {
            return Err((ErrorCode::INVALID_GROUP_ID, "The group id is invalid.".to_owned()));
        }
        self.check_coordinator(node, group).map_err(|code| (code, code.meaning().to_owned()))?;
        let not_found = |message| Err((ErrorCode::GROUP_ID_NOT_FOUND, message));
        match self.group_kind(group) {
            None => not_found(format!("Group {group} not found.")),
            Some(GroupKind::Consumer | GroupKind::Classic) => not_found(format!("Group {group} is not a share group.")),
            Some(GroupKind::Share) if self.groups.get(group).is_some_and(|group| !group.members.is_empty()) => {
                Err((ErrorCode::NON_EMPTY_GROUP, "The group is not empty.".to_owned()))
            }
            Some(GroupKind::Share) => Ok(()),
        }
    }

    /// The kind of the group under this id, where there is one.
    pub(crate) fn group_kind(&self, group: &str) -> Option<GroupKind> {
        if self.consumers.consumer.contains_key(group) {
            Some(GroupKind::Consumer)
        } else if self.groups.get(group).is_some() {
            Some(GroupKind::Share)
        } else if self.consumers.classic.contains_key(group) || self.consumers.offsets.contains_key(group) {
            Some(GroupKind::Classic)
        } else {
            None
        }
    }
}
