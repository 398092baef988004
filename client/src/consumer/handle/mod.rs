//! The application's end of a running consumer: what waits to be handed out, and rebalances that the application has to hear of.

mod closing;

use std::collections::VecDeque;
use std::fmt;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant, SystemTime};

use ackflow_protocol::machine::consumer::{Answer, ConsumerMachine, Offsets, RebalanceId, Run, SeekTo, TopicPartition};

use tokio::runtime;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::timeout_at;
use tracing::Instrument;

use crate::cluster::{self, Alarm};
use crate::consumer::config::ConsumerConfig;
use crate::consumer::dialogue::Connections;
use crate::consumer::driver::Driver;
use crate::consumer::failures;
use crate::consumer::link::{Command, Link, Notice, Reply, closed};
use crate::consumer::part::Piece;
use crate::consumer::rebalance::{Rebalance, RebalanceListener};
use crate::consumer::standing::{Member, Standing};
use crate::consumer::waiting::Waiting;
use crate::error::{ClientError, ErrorKind};
use crate::metrics::ConsumerMetrics;
use crate::net::random;
use crate::producer::GroupMetadata;
use crate::telemetry::Reporter;

/// Hears how a commit ended.
type Callback = Box<dyn FnOnce(Result<Offsets, ClientError>) + Send>;

/// How long the driver need not hear how far records were handed out, where it has enough to do.
const QUIET: Duration = Duration::from_millis(50);

/// A driver that runs, and what came from it. Dropping this leaves the group in the background.
pub(super) struct Handle {
    pub(super) link: Link,
    max_poll_records: u32,
    notices: mpsc::UnboundedReceiver<Notice>,
    pub(super) metrics: Arc<ConsumerMetrics>,
    pub(super) reporter: Option<Reporter>,
    /// `None` once closing has begun.
    driver: Option<JoinHandle<Result<(), ClientError>>>,
    /// A poll that waits longer tells so, lest it be taken for none at all (`max.poll.interval.ms`).
    announce_every: Duration,
    announce_at: Option<Instant>,
    alarm: Alarm,
    close_timeout: Duration,
    has_group: bool,
    pub(super) reading: Reading,
    pub(super) waiting: Waiting,
    told_at: Instant,
    /// Rebalances that the application has not heard of.
    steps: VecDeque<Step>,
    listener: Option<Box<dyn RebalanceListener>>,
    callbacks: Vec<Pending>,
    errors: VecDeque<ClientError>,
    failure: Option<ClientError>,
    last_assignment: u64,
    member: Member,
}

/// A commit whose callback has not been called: of which partitions it has to be.
struct Pending {
    expected: Vec<TopicPartition>,
    answer: oneshot::Receiver<Result<Answer, ClientError>>,
    callback: Callback,
}

/// What the application has said to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Reading {
    Nothing,
    Topics(Vec<String>),
    Pattern(String),
    Partitions,
}

#[derive(Debug)]
enum Step {
    Revoke(RebalanceId, Vec<TopicPartition>),
    Assign(RebalanceId, Vec<(TopicPartition, Run)>),
    Lost(Vec<TopicPartition>),
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
        let member_id = cluster::member_id();
        let options = config.options(&member_id);
        let machine = ConsumerMachine::new(Instant::now(), wall_ms, random(), options);
        let (link, commands) = Link::new();
        let (sender, notices) = mpsc::unbounded_channel();
        let mut client = config.client.clone();
        let metrics = Arc::new(ConsumerMetrics::watch(&mut client));
        let labels = [
            ("group_id", config.group_id.as_deref()),
            ("group_instance_id", config.group_instance_id.as_deref()),
            ("group_member_id", config.group_id.as_deref().map(|_| &*member_id)),
            ("client_rack", config.client_rack.as_deref()),
        ];
        let reporter = Reporter::watch(&mut client, metrics.metrics(), &labels);
        let standing = Standing::default();
        let driver =
            Driver::new(machine, Connections::new(client), commands, sender, standing.clone(), metrics.clone());
        let span = tracing::debug_span!("consumer", group_id = config.group_id, member_id);
        let driver = runtime.spawn(driver.run().instrument(span));
        let mut handle = Self::new(config, link, notices, metrics, Some(driver));
        handle.reporter = Some(reporter);
        handle.member = Member::new(config, &member_id, standing);
        Ok(handle)
    }

    pub(super) fn new(
        config: &ConsumerConfig,
        link: Link,
        notices: mpsc::UnboundedReceiver<Notice>,
        metrics: Arc<ConsumerMetrics>,
        driver: Option<JoinHandle<Result<(), ClientError>>>,
    ) -> Self {
        Self {
            link,
            max_poll_records: config.max_poll_records,
            notices,
            metrics,
            reporter: None,
            driver,
            announce_every: config.max_poll_interval / 3,
            announce_at: None,
            alarm: Alarm::default(),
            close_timeout: config.client.net.request_timeout,
            has_group: config.group_id.is_some(),
            reading: Reading::Nothing,
            waiting: Waiting::default(),
            told_at: Instant::now(),
            steps: VecDeque::new(),
            listener: None,
            callbacks: Vec::new(),
            errors: VecDeque::new(),
            failure: None,
            last_assignment: 0,
            member: Member::new(config, "", Standing::default()),
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
        self.waiting.keep(&partitions, run);
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
        for step in std::mem::take(&mut self.steps) {
            if let Step::Lost(partitions) = step {
                self.lose(partitions);
            }
        }
        let all = self.waiting.names();
        let offsets = match self.is_member() && !all.is_empty() {
            true => self.call_listener(|listener, rebalance| listener.revoked(&all, rebalance)).0,
            false => Offsets::new(),
        };
        self.waiting.forget(&all);
        offsets
    }

    fn call_listener(
        &mut self,
        call: impl FnOnce(&mut dyn RebalanceListener, &mut Rebalance<'_>),
    ) -> (Offsets, Vec<(TopicPartition, SeekTo)>) {
        let mut rebalance = Rebalance::new(self.waiting.positions());
        if let Some(listener) = &mut self.listener {
            call(&mut **listener, &mut rebalance);
        }
        (rebalance.offsets, rebalance.seeks)
    }

    /// Waits for records, and takes up to `max.poll.records`; none at the deadline. Cancel-safe: nothing is taken before the last await.
    pub(super) async fn poll(&mut self, deadline: Instant) -> Result<Vec<Piece>, ClientError> {
        self.announce_at = None;
        if Instant::now() >= self.told_at + QUIET {
            self.announce();
        }
        self.metrics.poll_begins();
        let polled = timeout_at(deadline.into(), poll_fn(|cx| self.poll_pieces(cx))).await;
        self.metrics.poll_ends();
        let pieces = polled.unwrap_or_else(|_| Ok(Vec::new()))?;
        self.metrics.consumed(pieces.iter().map(|piece| piece.records).sum());
        let lags = pieces.iter().filter_map(|piece| self.waiting.lag(&piece.source.partition));
        lags.for_each(|lag| self.metrics.lags(lag));
        Ok(pieces)
    }

    fn poll_pieces(&mut self, cx: &mut Context<'_>) -> Poll<Result<Vec<Piece>, ClientError>> {
        loop {
            self.absorb();
            self.rebalance();
            self.run_callbacks();
            self.check(POLLING)?;
            let (pieces, has_room) = self.waiting.take(self.max_poll_records);
            if has_room {
                self.tell_taken();
            }
            if !pieces.is_empty() {
                return Poll::Ready(Ok(pieces));
            }
            if let Some(stuck) = self.waiting.stuck() {
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
        let taken = self.waiting.taken();
        self.link.send(Command::Polled(taken));
        self.told_at = Instant::now();
    }

    /// Tells the driver how far records were handed out, before it needs to know.
    pub(super) fn tell_taken(&mut self) {
        let taken = self.waiting.taken();
        if !taken.is_empty() {
            self.link.send(Command::Taken(taken));
        }
    }

    /// Takes in whatever the driver has said.
    pub(super) fn absorb(&mut self) {
        while let Ok(notice) = self.notices.try_recv() {
            self.notice(notice);
        }
    }

    fn notice(&mut self, notice: Notice) {
        match notice {
            Notice::Fetched(fetched) => self.waiting.fetched(*fetched),
            Notice::Revoking(id, partitions) => self.steps.push_back(Step::Revoke(id, partitions)),
            Notice::Assigning(id, partitions) => self.steps.push_back(Step::Assign(id, partitions)),
            Notice::Lost(partitions) => self.steps.push_back(Step::Lost(partitions)),
            Notice::Failed { error, fatal: true } => self.failed(error),
            Notice::Failed { error, fatal: false } => self.errors.push_back(error),
        }
    }

    /// The application hears of rebalances, and what it says to them goes to the driver.
    fn rebalance(&mut self) {
        while let Some(step) = self.steps.pop_front() {
            self.tell_taken();
            match step {
                Step::Revoke(id, partitions) => {
                    let (offsets, _) =
                        self.call_listener(|listener, rebalance| listener.revoked(&partitions, rebalance));
                    self.waiting.forget(&partitions);
                    self.metrics.assigned(self.waiting.names().len());
                    self.link.send(Command::Revoked(id, offsets));
                }
                Step::Assign(id, partitions) => {
                    let names: Vec<TopicPartition> = partitions.iter().map(|(name, _)| name.clone()).collect();
                    self.waiting.add(partitions);
                    self.metrics.assigned(self.waiting.names().len());
                    let (_, seeks) = self.call_listener(|listener, rebalance| listener.assigned(&names, rebalance));
                    let seeks = seeks.into_iter().filter_map(|(name, to)| {
                        let run = self.waiting.begin_run(&name)?;
                        Some((name, run, to))
                    });
                    let seeks = seeks.collect();
                    self.link.send(Command::Assigned(id, seeks));
                }
                Step::Lost(partitions) => self.lose(partitions),
            }
        }
    }

    /// The application hears that partitions are lost, of those that it has.
    fn lose(&mut self, mut lost: Vec<TopicPartition>) {
        self.member.heard_of_loss();
        lost.retain(|name| self.waiting.has(name));
        if !lost.is_empty() {
            self.call_listener(|listener, rebalance| listener.lost(&lost, rebalance));
            self.waiting.forget(&lost);
            self.metrics.assigned(self.waiting.names().len());
        }
    }

    /// Who commits in a transaction what was handed out.
    pub(super) fn group_metadata(&self) -> Result<GroupMetadata, ClientError> {
        const DOING: &str = "asking for the group's metadata";
        self.check_failure(DOING)?;
        match self.has_group {
            false => {
                Err(ClientError::new(ErrorKind::Invalid, DOING, "the consumer has no group").remedy("set group.id"))
            }
            true if self.is_member() => self.member.metadata(),
            true => Ok(self.member.nobody()),
        }
    }

    pub(super) fn seek(&mut self, name: &TopicPartition, to: SeekTo) -> Result<(), ClientError> {
        let run = self.waiting.begin_run(name).ok_or_else(|| failures::not_assigned(name, "seeking"))?;
        self.link.send(Command::Seek(name.clone(), run, to));
        Ok(())
    }

    pub(super) fn pause(&mut self, partitions: Vec<TopicPartition>, is_paused: bool) -> Result<(), ClientError> {
        if let Some(unknown) = partitions.iter().find(|name| !self.waiting.has(name)) {
            return Err(failures::not_assigned(unknown, "pausing partitions"));
        }
        self.waiting.pause(&partitions, is_paused);
        self.link.send(Command::Pause(partitions, is_paused));
        Ok(())
    }

    /// Asks the driver, and waits for the answer. Cancel-safe: what was asked for happens whether or not anybody waits.
    pub(super) async fn ask(
        &mut self,
        doing: &'static str,
        question: impl FnOnce(Reply) -> Command,
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
        let expected = self.expected(offsets.is_none());
        self.tell_taken();
        let answer = self.link.ask(|reply| Command::Commit(offsets, reply));
        self.callbacks.push(Pending { expected, answer, callback });
    }

    /// The partitions that a commit of all that was handed out has to be of; none where it is of something else.
    pub(super) fn expected(&self, all: bool) -> Vec<TopicPartition> {
        if all { self.waiting.positions().keys().cloned().collect() } else { Vec::new() }
    }

    fn run_callbacks(&mut self) {
        let has_ended = |pending: &mut Pending| !pending.answer.is_empty() || pending.answer.is_terminated();
        for Pending { expected, mut answer, callback } in self.callbacks.extract_if(.., has_ended).collect::<Vec<_>>() {
            let result = match answer.try_recv() {
                Ok(Ok(Answer::Committed(offsets))) => failures::all_of(&expected, offsets),
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
}

impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handle")
            .field("reading", &self.reading)
            .field("assignment", &self.waiting.names())
            .field("failure", &self.failure)
            .finish_non_exhaustive()
    }
}

pub(super) const POLLING: &str = "polling a consumer";
pub(super) const SUBSCRIBING: &str = "subscribing a consumer";
pub(super) const COMMITTING: &str = "committing offsets";

/// When a time that begins now is over. Times too long for the clock are as good as a century.
pub(super) fn deadline(timeout: Duration) -> Instant {
    const CENTURY: Duration = Duration::from_secs(100 * 365 * 86_400);
    Instant::now() + timeout.min(CENTURY)
}
