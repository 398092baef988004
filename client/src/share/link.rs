//! What goes between the application's end of a consumer and its driver.

use std::sync::Arc;
use std::time::Instant;

use ackflow_protocol::machine::{AckRange, AcquiredRange, AutoRenew};
use tokio::sync::{mpsc, oneshot};

use super::acks::{AckError, Acknowledged, Commit, CommitResults, Settled, TopicPartition};
use super::lock::{KeptLock, Renewal};
use super::part::{Part, Source};
use super::subscription::Subscription;
use crate::error::{ClientError, ErrorKind};

/// What the application wants.
#[derive(Debug)]
pub(super) enum Command {
    /// Consume these topics from now on; with none, leave the group.
    Subscribe(Subscription),
    /// The application polls and has to wait.
    Polled,
    /// The application is at work on what it took, and polls for nothing more yet.
    Working,
    /// The application wants no records for now, or wants them again.
    Pause(bool),
    /// The application was handed so many records: by a poll that has not been announced, or not.
    Taken { records: u32, polled: bool },
    /// Records that were acquired and will not be handed out: their lock or session is gone.
    Dropped(Part),
    /// Records that were acquired and are not wanted any more: the group is to have them back.
    GiveBack(Part),
    /// A producer's transaction decides about these records from now on.
    #[cfg(feature = "unstable-kip-1289")]
    HandOver(Part),
    /// Send verdicts.
    Acknowledge(Acknowledgement),
    /// Renew the locks of these offsets by itself, as far as they are undecided.
    Keep { source: Arc<Source>, ranges: Vec<AcquiredRange>, renew: AutoRenew, kept: Arc<KeptLock> },
    /// Send these verdicts and everything that is acknowledged at once, and tell when it is answered. They come with the command: sent before
    /// it, they could be answered before it, and their results would be missing.
    Commit { verdicts: Vec<Acknowledgement>, answer: oneshot::Sender<CommitResults> },
    /// Tell how each acknowledgement ends.
    Report,
    /// Send what is acknowledged, leave the group, end. What is not done at the deadline stays undone.
    Close(Instant),
}

/// Verdicts on records of one acquisition.
#[derive(Debug)]
pub(super) struct Acknowledgement {
    pub(super) source: Arc<Source>,
    pub(super) ranges: Vec<AckRange>,
    /// Who waits for the answer, if anybody does.
    pub(super) answer: Option<Answer>,
    /// Whose deadline moves when the lock is renewed.
    pub(super) renewed: Option<Renewal>,
}

impl Acknowledgement {
    /// Verdicts that nobody waits for, if there are any.
    pub(super) fn unanswered(source: &Arc<Source>, ranges: Vec<AckRange>) -> Option<Self> {
        (!ranges.is_empty()).then(|| Self { source: Arc::clone(source), ranges, answer: None, renewed: None })
    }

    /// Verdicts, and what their answer comes through.
    pub(super) fn answered(source: &Arc<Source>, ranges: Vec<AckRange>) -> (Self, Settled) {
        let (sender, receiver) = oneshot::channel();
        let verdict = Self { source: Arc::clone(source), ranges, answer: Some(sender), renewed: None };
        (verdict, Settled::waiting(receiver, source.partition()))
    }
}

/// What the answer to an acknowledgement comes through.
pub(super) type Answer = oneshot::Sender<Result<(), AckError>>;

/// What the application has to know.
#[derive(Debug)]
pub(super) enum Notice {
    /// Records to hand out.
    Acquired(Part),
    /// A session has lost records, and what waits of them must not be handed out.
    Lost,
    /// An acknowledgement ended; only after [`Command::Report`].
    Acknowledged(Acknowledged),
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

    /// Sends verdicts that nobody waits for.
    pub(super) fn acknowledge(&self, source: &Arc<Source>, ranges: Vec<AckRange>) {
        if let Some(verdicts) = Acknowledgement::unanswered(source, ranges) {
            self.send(Command::Acknowledge(verdicts));
        }
    }

    /// Sends verdicts, and gives what their answer comes through.
    pub(super) fn settle(&self, source: &Arc<Source>, ranges: Vec<AckRange>, renewed: Option<Renewal>) -> Settled {
        let (mut verdict, settled) = Acknowledgement::answered(source, ranges);
        verdict.renewed = renewed;
        self.send(Command::Acknowledge(verdict));
        settled
    }

    /// Has the locks of a part renewed by themselves.
    pub(super) fn keep(&self, part: &mut Part, renew: AutoRenew) {
        let kept = part.lock.keep();
        let (source, ranges) = (Arc::clone(&part.source), part.ranges.clone());
        self.send(Command::Keep { source, ranges, renew, kept });
    }

    /// Sends verdicts and has everything that was acknowledged sent at once.
    pub(super) fn commit(&self, verdicts: Vec<Acknowledgement>) -> Commit {
        let (answer, receiver) = oneshot::channel();
        self.send(Command::Commit { verdicts, answer });
        Commit(receiver)
    }
}

impl Source {
    /// The partition by its topic's name.
    pub(super) fn partition(&self) -> TopicPartition {
        TopicPartition { topic: Arc::clone(&self.topic), partition: self.topic_partition.partition }
    }
}

/// The error of a call that needs a driver which has ended.
pub(super) fn closed(doing: &'static str) -> ClientError {
    ClientError::new(ErrorKind::Closed, doing, "the consumer is closed")
}
