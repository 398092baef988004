//! Whether the group counts this member, as the driver has it and as the application has heard of it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::config::ConsumerConfig;
use crate::error::{ClientError, ErrorKind};
use crate::producer::GroupMetadata;

/// Where the membership is.
#[derive(Debug, Clone, Default)]
pub(super) struct Standing(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    /// How often everything was lost.
    losses: u64,
    /// The member's epoch, while the group counts it.
    epoch: Option<i32>,
}

impl Standing {
    pub(super) fn set_epoch(&self, epoch: Option<i32>) {
        self.lock().epoch = epoch;
    }

    pub(super) fn count_loss(&self) {
        self.lock().losses += 1;
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // No code that holds the lock can panic halfway through a change.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Who the application is in its group.
#[derive(Debug)]
pub(super) struct Member {
    metadata: GroupMetadata,
    standing: Standing,
    /// How many losses the application has heard of.
    losses: u64,
}

impl Member {
    pub(super) fn new(config: &ConsumerConfig, member_id: &str, standing: Standing) -> Self {
        let metadata = GroupMetadata {
            member_id: member_id.to_owned(),
            group_instance_id: config.group_instance_id.clone(),
            ..GroupMetadata::of_nobody(config.group_id.as_deref().unwrap_or_default())
        };
        Self { metadata, standing, losses: 0 }
    }

    /// The application hears that everything is lost.
    pub(super) fn heard_of_loss(&mut self) {
        self.losses += 1;
    }

    /// Who commits in a transaction what a reader of partitions of its own was handed out.
    pub(super) fn nobody(&self) -> GroupMetadata {
        GroupMetadata::of_nobody(&*self.metadata.group_id)
    }

    /// Who commits in a transaction what this member was handed out.
    ///
    /// # Errors
    /// [`ErrorKind::Fenced`] where others may have by now what the application was handed out.
    pub(super) fn metadata(&self) -> Result<GroupMetadata, ClientError> {
        let standing = self.standing.lock();
        match standing.epoch.filter(|_| standing.losses == self.losses) {
            Some(epoch) => Ok(GroupMetadata { generation_id_or_member_epoch: epoch, ..self.metadata.clone() }),
            None => {
                let group = &self.metadata.group_id;
                let reason =
                    format!("the consumer is no member of group {group} now, and others may have its partitions");
                Err(ClientError::new(ErrorKind::Fenced, "asking for the group's metadata", reason)
                    .remedy("abort the transaction, and poll to join again"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_a_loss_that_the_application_has_not_heard_of_it_is_nobody_though_the_member_is_back() {
        let standing = Standing::default();
        let config = ConsumerConfig::builder("a:1").group_id("g").build().unwrap();
        let mut member = Member::new(&config, "m", standing.clone());
        assert_eq!(member.metadata().unwrap_err().kind(), ErrorKind::Fenced);
        standing.set_epoch(Some(3));
        let metadata = member.metadata().unwrap();
        assert_eq!((&*metadata.member_id, metadata.generation_id_or_member_epoch), ("m", 3));
        standing.count_loss();
        standing.set_epoch(Some(5));
        assert_eq!(member.metadata().unwrap_err().kind(), ErrorKind::Fenced);
        member.heard_of_loss();
        assert_eq!(member.metadata().unwrap().generation_id_or_member_epoch, 5);
    }
}
