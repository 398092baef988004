//! The task that runs a share consumer: it feeds the machine and does what the machine says.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use ackflow_protocol::machine::{
    AckId, AckRange, AckType, AcquiredRange, AutoRenew, ClientResponse, CommitId, Event, KeepEnd, KeepId,
    MachineErrorKind, Output, SessionId, ShareConsumerMachine, TopicIdPartition,
};
use ackflow_protocol::wire::ErrorCode;
use tokio::sync::{mpsc, oneshot, watch};

use super::acks::{AckError, Acknowledged, CommitResults, TopicPartition};
use super::conversation::Heard;
use super::dialogue::{Connections, Done, Outcome};
use super::failures;
use super::link::{Acknowledgement, Answer, Command, Notice};
use super::lock::{Grip, KeptLock, Renewal};
use super::part::{Part, Source};
use super::ranges;
use super::subscription::Subscription;
use crate::cluster::{self, Reach};
use crate::error::{ClientError, ErrorKind, RecordRange};
use crate::metrics::ShareMetrics;

/// One task owns the machine, the connections and the calls on them. It ends after [`Command::Close`].
#[derive(Debug)]
pub(super) struct Driver {
    machine: ShareConsumerMachine,
    connections: Connections,
    reach: Reach,
    commands: mpsc::UnboundedReceiver<Command>,
    notices: mpsc::UnboundedSender<Notice>,
    status: watch::Sender<Status>,
    metrics: Arc<ShareMetrics>,
    /// Acknowledgements whose end somebody wants to know.
    unanswered: HashMap<AckId, Unanswered>,
    commits: HashMap<CommitId, oneshot::Sender<CommitResults>>,
    /// Of what was acquired: whether its session has it still.
    grips: HashMap<(SessionId, TopicIdPartition), Grip>,
    /// Locks that are renewed by themselves.
    kept: HashMap<KeepId, Arc<KeptLock>>,
    /// Whether the application knows that locks cannot be renewed by themselves.
    told_of_renewals: bool,
    /// Whether the application wants to know how each acknowledgement ends.
    report: bool,
    closing: Option<Instant>,
}

/// What the application can look up at any time.
#[derive(Debug, Default, Clone)]
pub(super) struct Status {
    pub(super) assignment: Vec<TopicPartition>,
    pub(super) lock_timeout: Option<std::time::Duration>,
    /// While the member is in the group.
    #[cfg(feature = "unstable-kip-1289")]
    pub(super) member_epoch: Option<i32>,
}

/// What an acknowledgement under way moves when it ends.
type Unanswered = (Answer, Option<Renewal>);

impl Driver {
    pub(super) fn new(
        machine: ShareConsumerMachine,
        connections: Connections,
        commands: mpsc::UnboundedReceiver<Command>,
        notices: mpsc::UnboundedSender<Notice>,
        status: watch::Sender<Status>,
        metrics: Arc<ShareMetrics>,
    ) -> Self {
        Self {
            machine,
            reach: Reach::new(connections.unreached_patience(), !connections.rebootstraps()),
            connections,
            commands,
            notices,
            status,
            metrics,
            unanswered: HashMap::new(),
            commits: HashMap::new(),
            grips: HashMap::new(),
            kept: HashMap::new(),
            told_of_renewals: false,
            report: false,
            closing: None,
        }
    }

    /// Runs until the consumer is closed.
    ///
    /// # Errors
    /// [`ErrorKind::TimedOut`] when closing took longer than it was allowed to.
    pub(super) async fn run(mut self) -> Result<(), ClientError> {
        let mut outcomes = Vec::new();
        while let Some(wake) = self.drain() {
            tokio::select! {
                done = self.connections.next() => self.done(done, &mut outcomes),
                Some(command) = self.commands.recv() => self.commands(command),
                () = cluster::sleep(wake.into_iter().chain(self.closing).min()) => {}
            }
            if self.closing.is_some_and(|deadline| deadline <= Instant::now()) {
                return Err(closing_timed_out());
            }
        }
        Ok(())
    }

    /// Does what the machine says until it has to wait, and gives until when; `None` when it is closed.
    fn drain(&mut self) -> Option<Option<Instant>> {
        loop {
            match self.machine.poll(Instant::now()) {
                Output::Send { id, to, request, least_version } => {
                    tracing::trace!(id = id.0, ?to, ?request, "says");
                    self.connections.send(id, to, request, least_version);
                }
                Output::Event(Event::Closed) => return None,
                Output::Event(event) => self.event(event),
                Output::Wait(until) => {
                    #[cfg(feature = "unstable-kip-1289")]
                    self.tell_epoch();
                    return Some(until);
                }
            }
        }
    }

    #[cfg(feature = "unstable-kip-1289")]
    fn tell_epoch(&self) {
        let epoch = self.machine.member_epoch();
        self.status.send_if_modified(|status| std::mem::replace(&mut status.member_epoch, epoch) != epoch);
    }

    fn done(&mut self, done: Done, outcomes: &mut Vec<Outcome>) {
        self.connections.handle(done, outcomes);
        let now = Instant::now();
        for outcome in outcomes.drain(..) {
            match outcome {
                Outcome::Answered(id, result) => {
                    if let Some(error) = self.reach.heard(now, &result) {
                        self.tell(Notice::Failed { error, fatal: false });
                    }
                    let result = result.map_err(cluster::failure);
                    if let Ok(ClientResponse::ShareFetch(response)) = &result {
                        self.metrics.fetched(response);
                    }
                    tracing::trace!(id = id.0, answer = ?Heard(&result), "hears");
                    self.machine.handle_response(now, id, result);
                }
                Outcome::SessionLost(node) => self.machine.handle_disconnect(now, node),
                Outcome::Connected(role, began, result) => {
                    let result = result.map(|version| self.machine.handle_share_version(now, version));
                    if let Some(error) = self.reach.attempted(role, began, now, result) {
                        self.tell(Notice::Failed { error, fatal: false });
                    }
                }
            }
        }
    }

    fn commands(&mut self, first: Command) {
        self.command(first);
        while let Ok(command) = self.commands.try_recv() {
            self.command(command);
        }
    }

    fn command(&mut self, command: Command) {
        let now = Instant::now();
        match command {
            Command::Subscribe(Subscription::Names(topics)) => self.machine.subscribe(now, topics),
            Command::Subscribe(Subscription::Pattern(filter)) => self.machine.subscribe_matching(now, filter),
            Command::Polled => self.machine.polled(now),
            Command::Working => self.machine.working(now),
            Command::Pause(is_paused) => self.machine.want_records(now, !is_paused),
            Command::Taken { records, polled } => {
                if polled {
                    self.machine.polled(now);
                }
                self.machine.taken(now, records);
            }
            Command::Dropped(part) => self.machine.dropped(now, &part.into_acquisition()),
            Command::GiveBack(part) => {
                self.machine.given_back(now, part.records());
                let ranges = ranges::acknowledged(&part.ranges, AckType::Release);
                self.machine.acknowledge(now, part.source.acquisition, part.source.topic_partition, ranges);
            }
            #[cfg(feature = "unstable-kip-1289")]
            Command::HandOver(part) => {
                let Source { acquisition, topic_partition, .. } = *part.source;
                self.machine.handed_over(now, acquisition, topic_partition, &part.ranges);
            }
            // Whoever settles after closing learns it when the answer's sender is gone.
            Command::Acknowledge(_) if self.closing.is_some() => {}
            Command::Acknowledge(acknowledgement) => self.acknowledge(now, acknowledgement),
            Command::Keep { source, ranges, renew, kept } => self.keep(now, &source, &ranges, renew, kept),
            Command::Commit { verdicts, answer } => {
                for verdict in verdicts {
                    self.command(Command::Acknowledge(verdict));
                }
                self.commits.insert(self.machine.commit(now), answer);
            }
            Command::Report => self.report = true,
            Command::Close(deadline) => {
                if self.closing.replace(deadline).is_none() {
                    self.machine.close(now);
                }
            }
        }
    }

    fn acknowledge(&mut self, now: Instant, acknowledgement: Acknowledgement) {
        let Acknowledgement { source, ranges, answer, renewed } = acknowledgement;
        let id = self.machine.acknowledge(now, source.acquisition, source.topic_partition, ranges);
        if let Some(answer) = answer {
            self.unanswered.insert(id, (answer, renewed));
        }
    }

    fn keep(&mut self, now: Instant, source: &Source, ranges: &[AcquiredRange], renew: AutoRenew, kept: Arc<KeptLock>) {
        if let Some(id) = self.machine.keep(now, source.acquisition, source.topic_partition, ranges, renew) {
            self.kept.insert(id, kept);
        }
    }

    /// What was acquired in these sessions, of these partitions, is lost.
    fn lost(&mut self, is_lost: impl Fn(SessionId, TopicIdPartition) -> bool) {
        self.grips.retain(|(session, partition), grip| {
            let lost = is_lost(*session, *partition);
            if lost {
                grip.lose();
            }
            !lost
        });
        self.tell(Notice::Lost);
    }

    fn keep_ended(&mut self, id: KeepId, end: KeepEnd) {
        self.kept.remove(&id);
        match end {
            KeepEnd::Settled | KeepEnd::Lost => {}
            // Told as the fault of an old broker.
            KeepEnd::Refused(ErrorCode::UNSUPPORTED_VERSION) => {}
            KeepEnd::Limit => tracing::warn!("records are held for so long that their locks are not renewed any more"),
            KeepEnd::Refused(code) if !std::mem::replace(&mut self.told_of_renewals, true) => {
                self.tell(Notice::Failed { error: failures::no_renewal(code), fatal: false });
            }
            KeepEnd::Refused(code) => tracing::debug!("locks cannot be renewed by themselves: {code}"),
        }
    }

    /// Tells the callback how an acknowledgement ended: in two parts, where only a part of it failed.
    fn report(
        &self,
        topic: &Arc<str>,
        TopicIdPartition { topic_id, partition }: TopicIdPartition,
        ranges: &[AckRange],
        result: Result<(), ErrorCode>,
        failed: &[AckRange],
    ) {
        let good = ranges::without(ranges, failed);
        let parts = [(good, Ok(())), (failed.to_vec(), result)];
        for (ranges, result) in parts.into_iter().filter(|(ranges, _)| !ranges.is_empty()) {
            let topic = Arc::clone(topic);
            self.tell(Notice::Acknowledged(Acknowledged { topic, topic_id, partition, ranges, result }));
        }
    }

    fn event(&mut self, event: Event) {
        match event {
            Event::Acquired(acquisition) => {
                let grip = self.grips.entry((acquisition.session, acquisition.topic_partition)).or_default().clone();
                #[cfg(feature = "unstable-kip-1289")]
                let leader = self.machine.address_of(acquisition.session).cloned();
                let part = Part::new(acquisition, grip);
                #[cfg(feature = "unstable-kip-1289")]
                let part = part.led_by(leader);
                self.tell(Notice::Acquired(part));
            }
            Event::SessionLost { session, .. } => self.lost(|lost, _| lost == session),
            Event::PartitionLost { session, topic_partition, .. } => {
                self.lost(|lost, partition| lost == session && partition == topic_partition);
            }
            Event::Acknowledged { id, topic, topic_partition, ranges, result, failed, lock_deadline } => {
                self.metrics.acknowledged(ranges::offsets(&ranges), ranges::offsets(&failed));
                if self.report {
                    self.report(&topic, topic_partition, &ranges, result, &failed);
                }
                if let Some((answer, renewed)) = self.unanswered.remove(&id) {
                    if let (Some(renewed), Some(deadline)) = (renewed, lock_deadline) {
                        renewed.set(deadline).expect("an acknowledgement ends once");
                    }
                    let partition = TopicPartition { topic, partition: topic_partition.partition };
                    // The future may have been dropped.
                    let _ = answer.send(result.map_err(|code| AckError::Failed { partition, code, failed }));
                }
            }
            Event::Renewed { id, lock_deadline } => {
                if let Some(kept) = self.kept.get(&id) {
                    kept.renewed(lock_deadline);
                }
            }
            Event::KeepEnded { id, end } => self.keep_ended(id, end),
            Event::Committed { id, results } => {
                if let Some(answer) = self.commits.remove(&id) {
                    // The future may have been dropped.
                    let _ = answer.send(CommitResults::new(results));
                }
            }
            Event::Assigned(partitions) => {
                self.metrics.rebalanced();
                let by_name = |(topic, id): (_, TopicIdPartition)| TopicPartition { topic, partition: id.partition };
                let assignment = partitions.into_iter().map(by_name).collect();
                self.status.send_modify(|status| status.assignment = assignment);
            }
            Event::LockTimeout(timeout) => self.status.send_modify(|status| status.lock_timeout = Some(timeout)),
            Event::BadBatch { topic, topic_partition, first, last, settled, error } => {
                let records = RecordRange { topic, partition: topic_partition.partition, first, last };
                let error = failures::bad_batch(records, settled, &error);
                self.tell(Notice::Failed { error, fatal: false });
            }
            Event::Failed(error) => match failures::of_machine(&error) {
                Some(told) => {
                    if matches!(error.kind, MachineErrorKind::MemberTaken { .. }) {
                        // A broker takes back what was acquired over a connection that ends, unless the other process has the session.
                        self.connections.end_sessions();
                    }
                    let told = told.at(failures::place(&error).unwrap_or_else(|| self.connections.cluster()));
                    self.tell(Notice::Failed { error: told, fatal: error.fatal });
                }
                None => tracing::warn!("{error}"),
            },
            Event::Closed => {}
        }
    }

    fn tell(&self, notice: Notice) {
        // The application's end is gone once it has asked to close; it wants to know nothing more then.
        let _ = self.notices.send(notice);
    }
}

fn closing_timed_out() -> ClientError {
    let reason = "the brokers did not answer in time; each takes back what this member held when its connection ends";
    ClientError::new(ErrorKind::TimedOut, "closing a share consumer", reason)
}
