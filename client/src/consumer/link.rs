//! What goes between the application's end of a consumer and its driver.

use std::collections::BTreeMap;
use std::time::Instant;

use ackflow_protocol::machine::consumer::{
    Answer, Fetched, Offsets, Position, RebalanceId, Run, SeekTo, TopicPartition,
};
use tokio::sync::{mpsc, oneshot};

use crate::error::{ClientError, ErrorKind};

/// Where the answer to a question goes.
pub(super) type Reply = oneshot::Sender<Result<Answer, ClientError>>;

/// How far a partition was handed out.
pub(super) type Taken = (TopicPartition, Run, Position);

/// What the application wants.
#[derive(Debug)]
pub(super) enum Command {
    /// Be a member that reads these topics.
    Subscribe(Vec<String>),
    /// Be a member that reads the topics of a pattern.
    SubscribePattern(String),
    /// Read these partitions, new ones as the stretch of this number.
    Assign(Vec<TopicPartition>, u64),
    /// Read nothing any more, and commit this before.
    Unsubscribe(Offsets),
    /// So far was handed out by polls before this one.
    Polled(Vec<Taken>),
    /// So far was handed out, also by the last poll.
    Taken(Vec<Taken>),
    /// Go on elsewhere.
    Seek(TopicPartition, Run, SeekTo),
    /// Fetch nothing of these, or go on with it.
    Pause(Vec<TopicPartition>, bool),
    /// The step is done, and this is to be committed.
    Revoked(RebalanceId, Offsets),
    /// The step is done, and these are read from elsewhere.
    Assigned(RebalanceId, Vec<(TopicPartition, Run, SeekTo)>),
    /// Commit this, or all that was handed out.
    Commit(Option<Offsets>, Reply),
    /// What the group has of these.
    Committed(Vec<TopicPartition>, Reply),
    /// What offsets these times have.
    Times(BTreeMap<TopicPartition, i64>, Reply),
    /// Where this is read on.
    Position(TopicPartition, Reply),
    /// Commit this and what else goes by itself, unless not even that is wanted; leave the group, end. What is not done at the deadline stays
    /// undone.
    Close { deadline: Instant, offsets: Offsets, commits: bool },
}

/// What the application has to know.
#[derive(Debug)]
pub(super) enum Notice {
    /// Records to hand out.
    Fetched(Box<Fetched>),
    /// Partitions are to be given up.
    Revoking(RebalanceId, Vec<TopicPartition>),
    /// Partitions have come.
    Assigning(RebalanceId, Vec<(TopicPartition, Run)>),
    /// Partitions are lost.
    Lost(Vec<TopicPartition>),
    /// An error for the next poll; after a fatal one nothing else comes.
    Failed { error: ClientError, fatal: bool },
}

/// The way to the driver. Nothing here waits; after the driver has ended, commands go nowhere.
#[derive(Debug, Clone)]
pub(super) struct Link(mpsc::UnboundedSender<Command>);

impl Link {
    pub(super) fn new() -> (Self, mpsc::UnboundedReceiver<Command>) {
        let (sender, receiver) = mpsc::unbounded_channel();
        (Self(sender), receiver)
    }

    pub(super) fn send(&self, command: Command) {
        // Whoever waits for the answer learns that there will be none when its sender is gone.
        let _ = self.0.send(command);
    }

    /// Asks, and gives what the answer comes through.
    pub(super) fn ask(
        &self,
        question: impl FnOnce(Reply) -> Command,
    ) -> oneshot::Receiver<Result<Answer, ClientError>> {
        let (reply, answer) = oneshot::channel();
        self.send(question(reply));
        answer
    }
}

/// The error of a call that needs a driver which has ended.
pub(super) fn closed(doing: &'static str) -> ClientError {
    ClientError::new(ErrorKind::Closed, doing, "the consumer is closed")
}
