//! What becomes of acknowledgements, as the application sees it.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

pub use ackflow_protocol::machine::consumer::TopicPartition;
use ackflow_protocol::machine::{AckRange, CommitResult};
use ackflow_protocol::wire::{ErrorCode, Uuid};
use tokio::sync::oneshot;

use crate::error::ClientError;

/// How the acknowledgements of one partition ended, for the acknowledgement callback.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Acknowledged {
    /// The topic.
    pub topic: Arc<str>,
    /// Id of the topic.
    pub topic_id: Uuid,
    /// The partition.
    pub partition: i32,
    /// What was acknowledged, in offset order.
    pub ranges: Vec<AckRange>,
    /// The broker's answer, or why it never got the acknowledgements: as in [`AckError::Failed`].
    pub result: Result<(), ErrorCode>,
}

/// Why an acknowledgement did not take effect. But for a refused renewal, the records will be delivered again, to this member or another, unless the delivery limit of
/// the group ends that.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AckError {
    /// The broker refused it, or it could not be sent.
    #[error("acknowledging {} of {partition}: {code}{}", offsets(failed), remedy(*code))]
    Failed {
        /// The partition.
        partition: TopicPartition,
        /// What failed of it. The rest went well.
        failed: Vec<AckRange>,
        /// The broker's code. `INVALID_RECORD_STATE`: the lock was lost. `NETWORK_EXCEPTION`, `SHARE_SESSION_NOT_FOUND` and the like: the
        /// session that held the records is gone. `NOT_LEADER_OR_FOLLOWER`: the leader has moved. `UNSUPPORTED_VERSION`: a renewal that the broker is too
        /// old for; the records are held as before, until their lock ends.
        code: ErrorCode,
    },
    /// The consumer was closed before.
    #[error("acknowledging records of {partition}: the consumer is closed, and the broker has taken the records back")]
    Closed {
        /// The partition.
        partition: TopicPartition,
    },
    /// The delivery holds none of the offsets undecided.
    #[error("acknowledging records of {partition}: offsets {first} to {last} are not undecided in this delivery")]
    NotHeld {
        /// The partition.
        partition: TopicPartition,
        /// First offset that was named.
        first: i64,
        /// Last offset that was named.
        last: i64,
    },
}

/// What can be done about it, where something can.
fn remedy(code: ErrorCode) -> &'static str {
    match code {
        ErrorCode::UNSUPPORTED_VERSION => {
            " (the broker is too old to renew locks, which takes Kafka 4.2 or later; an error of the next poll names it)"
        }
        _ => "",
    }
}

/// Names offsets in an error.
fn offsets(ranges: &[AckRange]) -> String {
    match ranges {
        [] => "records".to_owned(),
        [one] => format!("offsets {} to {}", one.first, one.last),
        [first, .., last] => format!("{} ranges of the offsets {} to {}", ranges.len(), first.first, last.last),
    }
}

impl AckError {
    /// The broker's code, where there is one.
    pub fn code(&self) -> Option<ErrorCode> {
        match self {
            Self::Failed { code, .. } => Some(*code),
            _ => None,
        }
    }
}

/// Completes when an acknowledgement has taken effect at the broker, or is known not to. The acknowledgement is sent whether this is awaited
/// or dropped. Cancel-safe, and it may outlive its consumer.
#[derive(Debug)]
#[must_use = "the acknowledgement is sent all the same; to ignore how it ends, drop this"]
pub struct Settled(State);

#[derive(Debug)]
enum State {
    Waiting(oneshot::Receiver<Result<(), AckError>>, TopicPartition),
    Ready(Result<(), AckError>),
}

impl Settled {
    pub(super) fn waiting(answer: oneshot::Receiver<Result<(), AckError>>, partition: TopicPartition) -> Self {
        Self(State::Waiting(answer, partition))
    }

    pub(super) fn ready(result: Result<(), AckError>) -> Self {
        Self(State::Ready(result))
    }
}

impl Future for Settled {
    type Output = Result<(), AckError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut self.0 {
            State::Waiting(answer, partition) => Pin::new(answer)
                .poll(cx)
                .map(|answer| answer.unwrap_or_else(|_| Err(AckError::Closed { partition: partition.clone() }))),
            State::Ready(result) => Poll::Ready(result.clone()),
        }
    }
}

/// How the acknowledgements of a commit ended, by partition. Partitions without any are not listed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CommitResults(BTreeMap<TopicPartition, Result<(), ErrorCode>>);

impl CommitResults {
    pub(super) fn new(results: Vec<CommitResult>) -> Self {
        let mut by_partition = BTreeMap::new();
        for (topic_partition, topic, result) in results {
            let key = TopicPartition { topic, partition: topic_partition.partition };
            // A topic that was made again has two ids and one name: an error of either counts.
            let entry = by_partition.entry(key).or_insert(result);
            *entry = entry.and(result);
        }
        Self(by_partition)
    }

    /// The result of one partition; `None` when nothing of it was outstanding.
    pub fn get(&self, topic: &str, partition: i32) -> Option<Result<(), ErrorCode>> {
        self.iter().find(|(key, _)| *key.topic == *topic && key.partition == partition).map(|(_, result)| result)
    }

    /// All results, ordered by partition.
    pub fn iter(&self) -> impl Iterator<Item = (&TopicPartition, Result<(), ErrorCode>)> {
        self.0.iter().map(|(key, result)| (key, *result))
    }

    /// How many partitions had acknowledgements outstanding.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether nothing was outstanding.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The first partition that failed, if any.
    pub fn first_error(&self) -> Option<(&TopicPartition, ErrorCode)> {
        self.iter().find_map(|(key, result)| result.err().map(|code| (key, code)))
    }
}

/// Completes when everything that was acknowledged before the commit has been answered. The acknowledgements are sent whether this is
/// awaited or dropped. Cancel-safe.
#[derive(Debug)]
#[must_use = "the acknowledgements are sent all the same; to ignore how they end, drop this"]
pub struct Commit(pub(super) oneshot::Receiver<CommitResults>);

impl Future for Commit {
    type Output = Result<CommitResults, ClientError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.0)
            .poll(cx)
            .map(|results| results.map_err(|_| super::link::closed("committing acknowledgements")))
    }
}
