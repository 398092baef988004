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
