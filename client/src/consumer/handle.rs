//! The application's end of a running consumer: what waits to be handed out, and rebalances that the application has to hear of.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::future::poll_fn;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant, SystemTime};

use ackflow_protocol::machine::consumer::{
    Answer, ConsumerMachine, Fetched, Offsets, Position, RebalanceId, Run, SeekTo, TopicPartition,
};
use tokio::runtime;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::timeout_at;

use super::config::ConsumerConfig;
use super::dialogue::Connections;
use super::driver::Driver;
use super::failures;
use super::link::{Command, Link, Notice, Taken, closed};
use super::part::{Part, Piece};
use super::rebalance::{Rebalance, RebalanceListener};
use crate::cluster::{self, Alarm};
use crate::error::{ClientError, ErrorKind};
use crate::net::random;

/// Hears how a commit ended.
type Callback = Box<dyn FnOnce(Result<Offsets, ClientError>) + Send>;

/// How long the driver need not hear how far records were handed out, where it has enough to do.
const QUIET: Duration = Duration::from_millis(50);

/// A driver that runs, and what came from it. Dropping this leaves the group in the background.
pub(super) struct Handle {
    pub(super) link: Link,
    max_poll_records: u32,
    notices: mpsc::UnboundedReceiver<Notice>,
    /// `None` once closing has begun.
    driver: Option<JoinHandle<Result<(), ClientError>>>,
    /// A poll that waits longer tells so, lest it be taken for none at all (`max.poll.interval.ms`).
    announce_every: Duration,
    announce_at: Option<Instant>,
    alarm: Alarm,
    close_timeout: Duration,
    has_group: bool,
    pub(super) reading: Reading,
    partitions: BTreeMap<TopicPartition, Assigned>,
    /// Behind the last record that was handed out of each.
    positions: BTreeMap<TopicPartition, Position>,
    /// Whose part comes next: one entry for each part that waits.
    order: VecDeque<TopicPartition>,
    /// What was handed out and the driver has not heard of.
    taken: BTreeMap<TopicPartition, (Run, Position)>,
    told_at: Instant,
    /// Rebalances that the application has not heard of.
    steps: VecDeque<Step>,
    listener: Option<Box<dyn RebalanceListener>>,
    callbacks: Vec<(oneshot::Receiver<Result<Answer, ClientError>>, Callback)>,
    errors: VecDeque<ClientError>,
    failure: Option<ClientError>,
    last_assignment: u64,
}

/// What the application has said to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Reading {
    Nothing,
    Topics(Vec<String>),
    Pattern(String),
    Partitions,
}

/// A partition that is read.
#[derive(Debug)]
struct Assigned {
    run: Run,
    is_paused: bool,
    parts: VecDeque<Part>,
    /// The end of what is replicated, as last heard.
    high_watermark: Option<i64>,
    /// Why nothing is read on, once all parts are handed out.
    stuck: Option<ClientError>,
}

#[derive(Debug)]
enum Step {
    Revoke(RebalanceId, Vec<TopicPartition>),
    Assign(RebalanceId, Vec<(TopicPartition, Run)>),
    Lost(Vec<TopicPartition>),
}

impl Assigned {
    fn new(run: Run) -> Self {
        Self { run, is_paused: false, parts: VecDeque::new(), high_watermark: None, stuck: None }
    }
}

impl Handle {
    /// Starts a driver on the current runtime. Nothing is sent before there is anything to read.
    pub(super) fn start(config: &ConsumerConfig) -> Result<Self, ClientError> {
        config.validate()?;
        let runtime = runtime::Handle::try_current().map_err(|_| {
            ClientError::new(ErrorKind::Invalid, "starting a consumer", "there is no tokio runtime here")
                .remedy("call this inside a tokio runtime that has I/O and time enabled")
        })?;
        let wall = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let wall_ms = i64::try_from(wall.as_millis()).unwrap_or(i64::MAX);
        let options = config.options(&cluster::member_id());
        let machine = ConsumerMachine::new(Instant::now(), wall_ms, random(), options);
        let (link, commands) = Link::new();
        let (sender, notices) = mpsc::unbounded_channel();
        let driver = Driver::new(machine, Connections::new(config.client.clone()), commands, sender);
        let driver = runtime.spawn(driver.run());
        Ok(Self::new(config, link, notices, Some(driver)))
    }

    pub(super) fn new(
        config: &ConsumerConfig,
        link: Link,
        notices: mpsc::UnboundedReceiver<Notice>,
        driver: Option<JoinHandle<Result<(), ClientError>>>,
    ) -> Self {
        Self {
            link,
            max_poll_records: config.max_poll_records,
            notices,
            driver,
            announce_every: config.max_poll_interval / 3,
            announce_at: None,
            alarm: Alarm::default(),
            close_timeout: config.client.net.request_timeout,
            has_group: config.group_id.is_some(),
            reading: Reading::Nothing,
            partitions: BTreeMap::new(),
            positions: BTreeMap::new(),
            order: VecDeque::new(),
            taken: BTreeMap::new(),
            told_at: Instant::now(),
            steps: VecDeque::new(),
            listener: None,
            callbacks: Vec::new(),
            errors: VecDeque::new(),
            failure: None,
            last_assignment: 0,
        }
    }

    pub(super) fn listen(&mut self, listener: Box<dyn RebalanceListener>) {
        self.listener = Some(listener);
    }

    /// Reads what the group says of these topics, or of the topics of a pattern.
    pub(super) fn subscribe(&mut self, reading: Reading) -> Result<(), ClientError> {
        self.check_failure(SUBSCRIBING)?;
        if !self.has_group {
            return Err(ClientError::new(ErrorKind::Invalid, SUBSCRIBING, "the consumer has no group")
                .remedy("set group.id, or assign partitions"));
        }
        if self.reading == Reading::Partitions {
            self.unsubscribe();
        }
        match &reading {
            Reading::Topics(topics) if topics.is_empty() => {
                self.unsubscribe();
                return Ok(());
            }
            Reading::Topics(topics) => self.link.send(Command::Subscribe(topics.clone())),
            Reading::Pattern(pattern) => self.link.send(Command::SubscribePattern(pattern.clone())),
            Reading::Nothing | Reading::Partitions => {}
        }
        self.reading = reading;
        Ok(())
    }

    /// Reads these partitions, without a membership.
    pub(super) fn assign(&mut self, partitions: Vec<TopicPartition>) -> Result<(), ClientError> {
        self.check_failure(SUBSCRIBING)?;
        if self.is_member() {
            self.unsubscribe();
        }
        self.tell_taken();
        self.reading = Reading::Partitions;
        self.last_assignment += 1;
        let run = Run { assignment: self.last_assignment, seeks: 0 };
        self.partitions.retain(|partition, _| partitions.contains(partition));
        self.positions.retain(|partition, _| partitions.contains(partition));
        for partition in &partitions {
            self.partitions.entry(partition.clone()).or_insert_with(|| Assigned::new(run));
        }
        self.link.send(Command::Assign(partitions, run.assignment));
        Ok(())
    }

    /// Reads nothing any more, and leaves the group; the application hears of it.
    pub(super) fn unsubscribe(&mut self) {
        let offsets = self.give_up_all();
        self.reading = Reading::Nothing;
        self.link.send(Command::Unsubscribe(offsets));
    }

    fn is_member(&self) -> bool {
        matches!(self.reading, Reading::Topics(_) | Reading::Pattern(_))
    }

    /// Lets go of all partitions. Gives what the application wants to be committed.
    fn give_up_all(&mut self) -> Offsets {
        self.tell_taken();
        self.steps.clear();
        let all: Vec<TopicPartition> = self.partitions.keys().cloned().collect();
        let offsets = match self.is_member() && !all.is_empty() {
            true => self.call_listener(|listener, rebalance| listener.revoked(&all, rebalance)).0,
            false => Offsets::new(),
        };
        self.forget(&all);
        offsets
    }

    fn call_listener(
        &mut self,
        call: impl FnOnce(&mut dyn RebalanceListener, &mut Rebalance<'_>),
    ) -> (Offsets, Vec<(TopicPartition, SeekTo)>) {
        let mut rebalance = Rebalance::new(&self.positions);
        if let Some(listener) = &mut self.listener {
            call(&mut **listener, &mut rebalance);
        }
        (rebalance.offsets, rebalance.seeks)
    }

    fn forget(&mut self, partitions: &[TopicPartition]) {
        for partition in partitions {
            self.partitions.remove(partition);
            self.positions.remove(partition);
        }
    }

    /// Waits for records, and takes up to `max.poll.records`; none at the deadline. Cancel-safe: nothing is taken before the last await.
    pub(super) async fn poll(&mut self, deadline: Instant) -> Result<Vec<Piece>, ClientError> {
        self.announce_at = None;
        if Instant::now() >= self.told_at + QUIET {
            self.announce();
        }
        match timeout_at(deadline.into(), poll_fn(|cx| self.poll_pieces(cx))).await {
            Ok(pieces) => pieces,
            Err(_) => Ok(Vec::new()),
        }
    }

    fn poll_pieces(&mut self, cx: &mut Context<'_>) -> Poll<Result<Vec<Piece>, ClientError>> {
        loop {
            self.absorb();
            self.rebalance();
            self.run_callbacks();
            self.check(POLLING)?;
            let pieces = self.take();
            if !pieces.is_empty() {
                return Poll::Ready(Ok(pieces));
            }
            if let Some(stuck) = self.partitions.values().find_map(Assigned::stuck) {
                return Poll::Ready(Err(stuck.clone().while_doing(POLLING)));
            }
            if self.reading == Reading::Nothing {
                let reason = "the consumer is neither subscribed to topics nor assigned partitions";
                let error =
                    ClientError::new(ErrorKind::Invalid, POLLING, reason).remedy("call subscribe or assign first");
                return Poll::Ready(Err(error));
            }
            let now = Instant::now();
            let again = match self.announce_at.filter(|again| now < *again) {
                Some(again) => again,
                None => {
                    self.announce();
                    *self.announce_at.insert(now + self.announce_every)
                }
            };
            match self.notices.poll_recv(cx) {
                Poll::Ready(Some(notice)) => self.notice(notice),
                Poll::Ready(None) => self.failed(closed(POLLING)),
                Poll::Pending => ready!(self.alarm.poll(cx, again)),
            }
        }
    }

    /// Tells the driver that the application polls, and how far earlier polls have handed records out.
    fn announce(&mut self) {
        let taken = self.all_taken();
        self.link.send(Command::Polled(taken));
        self.told_at = Instant::now();
    }

    /// Tells the driver how far records were handed out, before it needs to know.
    pub(super) fn tell_taken(&mut self) {
        let taken = self.all_taken();
        if !taken.is_empty() {
            self.link.send(Command::Taken(taken));
        }
    }

    fn all_taken(&mut self) -> Vec<Taken> {
        let taken = std::mem::take(&mut self.taken).into_iter();
        taken.map(|(partition, (run, position))| (partition, run, position)).collect()
    }

    /// Takes up to `max.poll.records` of what waits.
    fn take(&mut self) -> Vec<Piece> {
        let mut left = self.max_poll_records;
        let mut pieces = Vec::new();
        let mut drained = false;
        while left > 0 {
            let is_read =
                |name: &TopicPartition| self.partitions.get(name).is_none_or(|partition| !partition.is_paused);
            let Some(at) = self.order.iter().position(is_read) else { break };
            let Some(name) = self.order.remove(at) else { break };
            // What was fetched before a seek, or of a partition that is gone, is gone too.
            let Some(assigned) = self.partitions.get_mut(&name) else { continue };
            let Some(part) = assigned.parts.front_mut() else { continue };
            let (piece, position, all) = part.take(left);
            self.taken.insert(name.clone(), (assigned.run, position));
            self.positions.insert(name.clone(), position);
            if all {
                assigned.parts.pop_front();
                drained = true;
            } else {
                self.order.push_front(name);
            }
            left = left.saturating_sub(piece.records);
            if piece.records > 0 {
                pieces.push(piece);
            }
        }
        if drained {
            // There is room for more.
            self.tell_taken();
        }
        pieces
    }

    /// Takes in whatever the driver has said.
    pub(super) fn absorb(&mut self) {
        while let Ok(notice) = self.notices.try_recv() {
            self.notice(notice);
        }
    }

    fn notice(&mut self, notice: Notice) {
        match notice {
            Notice::Fetched(fetched) => self.fetched(*fetched),
            Notice::Revoking(id, partitions) => self.steps.push_back(Step::Revoke(id, partitions)),
            Notice::Assigning(id, partitions) => self.steps.push_back(Step::Assign(id, partitions)),
            Notice::Lost(partitions) => self.steps.push_back(Step::Lost(partitions)),
            Notice::Failed { error, fatal: true } => self.failed(error),
            Notice::Failed { error, fatal: false } => self.errors.push_back(error),
        }
    }

    fn fetched(&mut self, mut fetched: Fetched) {
        let Some(assigned) = self.partitions.get_mut(&fetched.partition).filter(|a| a.run == fetched.run) else {
            return;
        };
        assigned.high_watermark = Some(fetched.high_watermark);
        let name = fetched.partition.clone();
        if let Some(bad) = fetched.error.take() {
            assigned.stuck = Some(failures::bad_batch(&name, &bad));
        }
        assigned.parts.push_back(Part::new(fetched));
        self.order.push_back(name);
    }

    /// The application hears of rebalances, and what it says to them goes to the driver.
    fn rebalance(&mut self) {
        while let Some(step) = self.steps.pop_front() {
            self.tell_taken();
            match step {
                Step::Revoke(id, partitions) => {
                    let (offsets, _) =
                        self.call_listener(|listener, rebalance| listener.revoked(&partitions, rebalance));
                    self.forget(&partitions);
                    self.link.send(Command::Revoked(id, offsets));
                }
                Step::Assign(id, partitions) => {
                    let names: Vec<TopicPartition> = partitions.iter().map(|(name, _)| name.clone()).collect();
                    self.partitions.extend(partitions.into_iter().map(|(name, run)| (name, Assigned::new(run))));
                    let (_, seeks) = self.call_listener(|listener, rebalance| listener.assigned(&names, rebalance));
                    let seeks = seeks.into_iter().filter_map(|(name, to)| {
                        let run = self.begin_run(&name)?;
                        Some((name, run, to))
                    });
                    let seeks = seeks.collect();
                    self.link.send(Command::Assigned(id, seeks));
                }
                Step::Lost(partitions) => {
                    let known = |name: &TopicPartition| self.partitions.contains_key(name);
                    let lost: Vec<TopicPartition> = partitions.into_iter().filter(known).collect();
                    if !lost.is_empty() {
                        self.call_listener(|listener, rebalance| listener.lost(&lost, rebalance));
                        self.forget(&lost);
                    }
                }
            }
        }
    }

    /// Another stretch of a partition begins: what waits of the one before is gone.
    fn begin_run(&mut self, name: &TopicPartition) -> Option<Run> {
        let assigned = self.partitions.get_mut(name)?;
        assigned.run = assigned.run.after_seek();
        assigned.parts.clear();
        assigned.stuck = None;
        self.positions.remove(name);
        self.taken.remove(name);
        self.order.retain(|waiting| waiting != name);
        Some(assigned.run)
    }

    pub(super) fn seek(&mut self, name: &TopicPartition, to: SeekTo) -> Result<(), ClientError> {
        let run = self.begin_run(name).ok_or_else(|| not_assigned(name, "seeking"))?;
        self.link.send(Command::Seek(name.clone(), run, to));
        Ok(())
    }

    pub(super) fn pause(&mut self, partitions: Vec<TopicPartition>, is_paused: bool) -> Result<(), ClientError> {
        if let Some(unknown) = partitions.iter().find(|name| !self.partitions.contains_key(*name)) {
            return Err(not_assigned(unknown, "pausing partitions"));
        }
        for name in &partitions {
            if let Some(assigned) = self.partitions.get_mut(name) {
                assigned.is_paused = is_paused;
            }
        }
        self.link.send(Command::Pause(partitions, is_paused));
        Ok(())
    }

    pub(super) fn paused(&self) -> Vec<TopicPartition> {
        self.partitions.iter().filter(|(_, assigned)| assigned.is_paused).map(|(name, _)| name.clone()).collect()
    }

    pub(super) fn assignment(&self) -> Vec<TopicPartition> {
        self.partitions.keys().cloned().collect()
    }

    /// Behind the last record that was handed out, where any was since the last seek.
    pub(super) fn handed_out(&self, name: &TopicPartition) -> Option<Position> {
        self.positions.get(name).copied()
    }

    pub(super) fn lag(&self, name: &TopicPartition) -> Option<i64> {
        let end = self.partitions.get(name)?.high_watermark?;
        Some((end - self.positions.get(name)?.offset).max(0))
    }

    /// Asks the driver, and waits for the answer. Cancel-safe: what was asked for happens whether or not anybody waits.
    pub(super) async fn ask(
        &mut self,
        doing: &'static str,
        question: impl FnOnce(super::link::Reply) -> Command,
    ) -> Result<Answer, ClientError> {
        self.check_failure(doing)?;
        self.tell_taken();
        let answer = self.link.ask(question).await;
        self.run_callbacks();
        match answer {
            Ok(answer) => answer.map_err(|error| error.while_doing(doing)),
            Err(_) => Err(self.failure.clone().map_or_else(|| closed(doing), |error| error.while_doing(doing))),
        }
    }

    /// Commits, and has the callback hear how it went.
    pub(super) fn commit_async(&mut self, offsets: Option<Offsets>, callback: Callback) {
        self.tell_taken();
        let answer = self.link.ask(|reply| Command::Commit(offsets, reply));
        self.callbacks.push((answer, callback));
    }

    fn run_callbacks(&mut self) {
        let ended = self.callbacks.extract_if(.., |(answer, _)| !answer.is_empty() || answer.is_terminated());
        for (mut answer, callback) in ended.collect::<Vec<_>>() {
            let result = match answer.try_recv() {
                Ok(Ok(Answer::Committed(offsets))) => Ok(offsets),
                Ok(Err(error)) => Err(error.while_doing(COMMITTING)),
                Ok(Ok(_)) | Err(_) => Err(closed(COMMITTING)),
            };
            callback(result);
        }
    }

    fn failed(&mut self, error: ClientError) {
        self.failure.get_or_insert(error);
    }

    /// The error that is due, if one is: one after the other, and at last, for ever, the fatal one.
    fn check(&mut self, doing: &'static str) -> Result<(), ClientError> {
        match self.errors.pop_front() {
            Some(error) => Err(error.while_doing(doing)),
            None => self.check_failure(doing),
        }
    }

    fn check_failure(&self, doing: &'static str) -> Result<(), ClientError> {
        self.failure.clone().map_or(Ok(()), |error| Err(error.while_doing(doing)))
    }

    pub(super) fn failure(&self) -> Option<&ClientError> {
        self.failure.as_ref()
    }

    /// Closes the consumer. Cancel-safe: closing goes on without the caller.
    pub(super) async fn close(&mut self, timeout: Duration) -> Result<(), ClientError> {
        self.absorb();
        let offsets = self.give_up_all();
        self.errors.clear();
        let Some(driver) = self.begin_close(timeout, offsets, true) else { return Ok(()) };
        let ended = driver.await;
        self.absorb();
        self.run_callbacks();
        let ended = ended.unwrap_or_else(|error| match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            // The runtime is shutting down, and with it the connections end.
            Err(_) => Ok(()),
        });
        // What could not be committed at last.
        let failed = self.errors.pop_front().map_or(Ok(()), |error| Err(error.while_doing(CLOSING)));
        ended.and(failed)
    }

    fn begin_close(
        &mut self,
        timeout: Duration,
        offsets: Offsets,
        commits: bool,
    ) -> Option<JoinHandle<Result<(), ClientError>>> {
        let driver = self.driver.take()?;
        self.link.send(Command::Close { deadline: deadline(timeout), offsets, commits });
        Some(driver)
    }
}

impl Assigned {
    /// Why nothing is read on, where all before is handed out.
    fn stuck(&self) -> Option<&ClientError> {
        self.stuck.as_ref().filter(|_| self.parts.is_empty() && !self.is_paused)
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.begin_close(self.close_timeout, Offsets::new(), false);
    }
}

impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handle")
            .field("reading", &self.reading)
            .field("assignment", &self.assignment())
            .field("failure", &self.failure)
            .finish_non_exhaustive()
    }
}

fn not_assigned(partition: &TopicPartition, doing: &'static str) -> ClientError {
    let reason = format!("{partition} is not assigned to this consumer");
    ClientError::new(ErrorKind::Invalid, doing, reason)
        .remedy("wait for it in a RebalanceListener, or poll until assignment() has it")
}

pub(super) const POLLING: &str = "polling a consumer";
pub(super) const SUBSCRIBING: &str = "subscribing a consumer";
pub(super) const COMMITTING: &str = "committing offsets";
const CLOSING: &str = "closing a consumer";

/// When a time that begins now is over. Times too long for the clock are as good as a century.
pub(super) fn deadline(timeout: Duration) -> Instant {
    const CENTURY: Duration = Duration::from_secs(100 * 365 * 86_400);
    Instant::now() + timeout.min(CENTURY)
}
