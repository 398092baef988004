//! What handlers say about their records, and what may go wrong.

use std::error::Error;
use std::time::Duration;

use super::super::acks::TopicPartition;
use crate::error::ClientError;

/// Any error.
pub(super) type BoxError = Box<dyn Error + Send + Sync>;

/// What a handler says about its record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Processed: the group is done with the record.
    Accept,
    /// Not processed: the group delivers it again at once, to this member or another, up to its delivery limit.
    Release,
    /// Cannot be processed: the group archives it, or writes it to its dead letter queue where it has one.
    Reject,
    /// Not processed yet: this member holds the record, its lock renewed, and hands it to the handler again after this time. No delivery is
    /// counted for that, and no handler's place is taken meanwhile. When the limit of [`ForEach::renew`](super::ForEach::renew) comes first, or
    /// the group allows no renewals, the record is released just before its lock ends.
    Retry {
        /// How long to wait.
        after: Duration,
    },
    /// Cannot be processed: write it to the sink of [`ForEach::dead_letters`](super::ForEach::dead_letters), and accept it when that is done.
    DeadLetter,
}

/// What the future of a handler gives: an [`Outcome`], nothing for [`Outcome::Accept`], or a result with one of the two. An error releases the
/// record.
pub trait HandlerOutput {
    /// The outcome, or why there is none.
    ///
    /// # Errors
    /// What went wrong in the handler.
    fn into_outcome(self) -> Result<Outcome, Box<dyn Error + Send + Sync>>;
}

impl HandlerOutput for Outcome {
    fn into_outcome(self) -> Result<Outcome, BoxError> {
        Ok(self)
    }
}

impl HandlerOutput for () {
    fn into_outcome(self) -> Result<Outcome, BoxError> {
        Ok(Outcome::Accept)
    }
}

impl<T: HandlerOutput, E: Into<BoxError>> HandlerOutput for Result<T, E> {
    fn into_outcome(self) -> Result<Outcome, BoxError> {
        self.map_err(Into::into)?.into_outcome()
    }
}

/// Why handling records has ended before it was to.
#[derive(Debug, thiserror::Error)]
pub enum ForEachError {
    /// The consumer failed.
    #[error(transparent)]
    Consumer(#[from] ClientError),
    /// A record was not handled, and [`stop_on_error`](super::ForEach::stop_on_error) was asked for.
    #[error(transparent)]
    Handler(#[from] HandlerError),
}

/// A record that was not handled, and is released for that.
#[derive(Debug, thiserror::Error)]
#[error("offset {offset} of {partition} (delivery {delivery_count}) is released: {failure}")]
pub struct HandlerError {
    /// Topic and partition of the record.
    pub partition: TopicPartition,
    /// Its offset.
    pub offset: i64,
    /// How often it was delivered, that time included.
    pub delivery_count: i16,
    /// Why.
    #[source]
    pub failure: HandlerFailure,
}

/// Why a record was not handled.
#[derive(Debug, thiserror::Error)]
pub enum HandlerFailure {
    /// The handler gave an error.
    #[error("its handler failed: {0}")]
    Failed(#[source] BoxError),
    /// The handler, or the sink of dead letters, panicked with this message.
    #[error("its handler panicked: {0}")]
    Panicked(String),
    /// The sink of dead letters gave an error.
    #[error("its dead letter cannot be written: {0}")]
    DeadLetter(#[source] BoxError),
}
