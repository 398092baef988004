//! The application's end of a running consumer: what the kinds of consumers have in common.

use std::collections::VecDeque;
use std::fmt;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use ackflow_protocol::machine::{AutoRenew, ShareConsumerMachine};
use ackflow_protocol::wire::Uuid;
use tokio::runtime;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::timeout_at;
use tracing::Instrument;

use super::acks::{Acknowledged, CommitResults, TopicPartition};
use super::buffer::Buffer;
use super::config::ShareConsumerConfig;
use super::dialogue::Connections;
use super::driver::{Driver, Status};
use super::link::{Acknowledgement, Command, Link, Notice, closed};
use super::part::Part;
use super::subscription::{SUBSCRIBING, Subscription};
use crate::cluster::{self, Alarm};
use crate::error::{ClientError, ErrorKind};
use crate::metrics::ShareMetrics;
use crate::net::random;
use crate::telemetry::Reporter;

/// Called with each acknowledgement that ended.
type Callback = Box<dyn FnMut(&Acknowledged) + Send>;

/// A driver that runs, and what came from it. Dropping this closes the consumer in the background.
pub(super) struct Handle {
    pub(super) link: Link,
    pub(super) max_poll_records: u32,
    notices: mpsc::UnboundedReceiver<Notice>,
    status: watch::Receiver<Status>,
    /// `None` once closing has begun.
    driver: Option<JoinHandle<Result<(), ClientError>>>,
    /// A poll that waits longer tells so, lest it be taken for none at all (`max.poll.interval.ms`).
    pub(super) announce_every: Duration,
    /// When a poll that waits tells so next; `None` where none waits that has told.
    announce_at: Option<Instant>,
    alarm: Alarm,
    auto_renew: Option<AutoRenew>,
    pub(super) close_timeout: Duration,
    #[cfg(feature = "unstable-kip-1289")]
    group_id: String,
    member_id: String,
    subscription: Subscription,
    buffer: Buffer,
    pub(super) metrics: Arc<ShareMetrics>,
    dropped: u64,
    errors: VecDeque<ClientError>,
    failure: Option<ClientError>,
    /// Whether a poll has told why no more can succeed.
    is_over: bool,
    callback: Option<Callback>,
    reporter: Option<Reporter>,
}

impl Handle {
    /// Starts a driver on the current runtime. Nothing is sent before a subscription.
    pub(super) fn start(config: &ShareConsumerConfig) -> Result<Self, ClientError> {
        config.validate()?;
        let runtime = runtime::Handle::try_current().map_err(|_| {
            ClientError::new(ErrorKind::Invalid, "starting a share consumer", "there is no tokio runtime here")
                .remedy("call this inside a tokio runtime that has I/O and time enabled")
        })?;
        let member_id = config.member_id.clone().unwrap_or_else(cluster::member_id);
        let machine = ShareConsumerMachine::new(Instant::now(), random(), config.options(&member_id));
        let (link, commands) = Link::new();
        let (sender, notices) = mpsc::unbounded_channel();
        let (status_sender, status) = watch::channel(Status::default());
        let mut client = config.client.clone();
        let metrics = Arc::new(ShareMetrics::watch(&mut client));
        let labels = [
            ("group_id", Some(config.group_id.as_str())),
            ("group_member_id", Some(member_id.as_str())),
            ("client_rack", config.client_rack.as_deref()),
        ];
        let reporter = Reporter::watch(&mut client, metrics.metrics(), &labels);
        let connections = Connections::new(client);
        let driver = Driver::new(machine, connections, commands, sender, status_sender, metrics.clone());
        let span = tracing::debug_span!("share_consumer", group_id = config.group_id, member_id);
        let driver = runtime.spawn(driver.run().instrument(span));
        let mut handle = Self::new(config, member_id, link, (notices, status), metrics, Some(driver));
        handle.reporter = Some(reporter);
        Ok(handle)
    }

    pub(super) fn new(
        config: &ShareConsumerConfig,
        member_id: String,
        link: Link,
        (notices, status): (mpsc::UnboundedReceiver<Notice>, watch::Receiver<Status>),
        metrics: Arc<ShareMetrics>,
        driver: Option<JoinHandle<Result<(), ClientError>>>,
    ) -> Self {
        Self {
            link,
            max_poll_records: config.max_poll_records,
            notices,
            status,
            driver,
            announce_every: config.max_poll_interval / 3,
            announce_at: None,
            alarm: Alarm::default(),
            auto_renew: config.auto_renew,
            close_timeout: config.client.net.request_timeout,
            #[cfg(feature = "unstable-kip-1289")]
            group_id: config.group_id.clone(),
            member_id,
            subscription: Subscription::default(),
            buffer: Buffer::default(),
            metrics,
            dropped: 0,
            errors: VecDeque::new(),
            failure: None,
            is_over: false,
            callback: None,
            reporter: None,
        }
    }

    /// Consumes what `subscription` says from now on. What waits to be handed out of other topics goes back to the group.
    pub(super) fn subscribe(&mut self, subscription: Subscription) -> Result<(), ClientError> {
        if let Some(error) = &self.failure {
            return Err(error.clone().while_doing(SUBSCRIBING));
        }
        self.subscription = subscription.clone();
        self.is_over = false;
        for part in self.buffer.unwanted(&self.subscription) {
            self.link.send(Command::GiveBack(part));
        }
        self.link.send(Command::Subscribe(subscription));
        Ok(())
    }

    /// Waits until there are records to take, and takes up to `max` of one acquisition; `None` at the deadline. Cancel-safe: nothing is
    /// taken before the last await.
    pub(super) async fn poll(&mut self, max: u32, deadline: Instant) -> Result<Option<Part>, ClientError> {
        self.announce_at = None;
        self.metrics.poll_begins();
        let polled = timeout_at(deadline.into(), poll_fn(|cx| self.poll_part(cx, max))).await;
        self.metrics.poll_ends();
        match polled {
            Ok(part) => part.map(Some),
            Err(_) => Ok(None),
        }
    }

    /// As [`poll`](Self::poll), without an end. What was taken last was polled for; the next call is another poll.
    pub(super) fn poll_part(&mut self, cx: &mut Context<'_>, max: u32) -> Poll<Result<Part, ClientError>> {
        loop {
            self.absorb();
            self.check(POLLING)?;
            if let Some(part) = self.take(max, self.announce_at.is_none()) {
                self.announce_at = None;
                return Poll::Ready(Ok(part));
            }
            if self.subscription.is_empty() {
                self.is_over = true;
                let reason = "the consumer is not subscribed to any topic";
                let error = ClientError::new(ErrorKind::Invalid, POLLING, reason).remedy("call subscribe first");
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

    /// Tells the driver that the application polls, though it takes nothing yet.
    pub(super) fn announce(&self) {
        self.link.send(Command::Polled);
    }

    /// Takes up to `max` records of one acquisition, of what is there; `polled` says whether this begins a poll that was not announced.
    pub(super) fn take(&mut self, max: u32, polled: bool) -> Option<Part> {
        self.expire();
        let part = self.buffer.take(max)?;
        self.metrics.consumed(part.records());
        self.link.send(Command::Taken { records: part.records(), polled });
        Some(part)
    }

    /// Has the locks of what is handed out renewed by themselves, where that is wanted.
    pub(super) fn keep(&self, part: &mut Part) {
        if let Some(renew) = self.auto_renew.filter(|_| !part.lock.is_kept()) {
            self.link.keep(part, renew);
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
            Notice::Acquired(part) if self.subscription.wants(&part.source.topic) => self.buffer.push(part),
            Notice::Acquired(part) => self.link.send(Command::GiveBack(part)),
            Notice::Lost => self.expire(),
            Notice::Acknowledged(acknowledged) => {
                if let Some(callback) = &mut self.callback {
                    callback(&acknowledged);
                }
            }
            Notice::Failed { error, fatal: true } => self.failed(error),
            Notice::Failed { error, fatal: false } => self.errors.push_back(error),
        }
    }

    /// Drops what waits and must not be handed out any more.
    fn expire(&mut self) {
        for part in self.buffer.expire(Instant::now()) {
            self.dropped += u64::from(part.records());
            self.link.send(Command::Dropped(part));
        }
    }

    /// Counts records that were handed out once, and will not be again as they were to be.
    pub(super) fn count_dropped(&mut self, records: u32) {
        self.dropped += u64::from(records);
    }

    fn failed(&mut self, error: ClientError) {
        self.failure.get_or_insert(error);
    }

    /// The error that is due, if one is: one after the other, and at last, for ever, the fatal one.
    fn check(&mut self, doing: &'static str) -> Result<(), ClientError> {
        let Some(error) = self.errors.pop_front().or_else(|| {
            self.is_over |= self.failure.is_some();
            self.failure.clone()
        }) else {
            return Ok(());
        };
        Err(error.while_doing(doing))
    }

    /// The error that is due and does not end the consumer, if one is.
    pub(super) fn check_passing(&mut self, doing: &'static str) -> Result<(), ClientError> {
        self.absorb();
        self.errors.pop_front().map_or(Ok(()), |error| Err(error.while_doing(doing)))
    }

    /// Sends verdicts and everything that was acknowledged, and waits for the answers. Cancel-safe: what was sent stays sent.
    pub(super) async fn commit(
        &mut self,
        verdicts: Vec<Acknowledgement>,
        timeout: Duration,
    ) -> Result<CommitResults, ClientError> {
        let commit = self.link.commit(verdicts);
        let results = timeout_at(deadline(timeout).into(), commit).await;
        self.absorb();
        match results {
            Ok(Ok(results)) => Ok(results),
            Ok(Err(closed)) => Err(self.failure.clone().map_or(closed, |error| error.while_doing(COMMITTING))),
            Err(_) => {
                let reason = format!("not every acknowledgement was answered within {} ms", timeout.as_millis());
                Err(ClientError::new(ErrorKind::TimedOut, COMMITTING, reason)
                    .remedy("they go on being sent: commit again to wait longer"))
            }
        }
    }

    /// Whether a poll has told why no more can succeed, unless there is another subscription.
    pub(super) fn is_over(&self) -> bool {
        self.is_over
    }

    pub(super) fn set_callback(&mut self, callback: Callback) {
        self.callback = Some(callback);
        self.link.send(Command::Report);
    }

    /// Closes the consumer. Cancel-safe: closing goes on without the caller.
    pub(super) async fn close(&mut self, timeout: Duration) -> Result<(), ClientError> {
        let Some(driver) = self.begin_close(timeout) else {
            return Ok(());
        };
        let last_push = async {
            if let Some(reporter) = &self.reporter {
                reporter.close().await;
            }
        };
        let (ended, ()) = tokio::join!(driver, last_push);
        self.absorb();
        ended.unwrap_or_else(|error| match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            // The runtime is shutting down, and with it the connections end.
            Err(_) => Ok(()),
        })
    }

    fn begin_close(&mut self, timeout: Duration) -> Option<JoinHandle<Result<(), ClientError>>> {
        let driver = self.driver.take()?;
        self.link.send(Command::Close(deadline(timeout)));
        Some(driver)
    }

    pub(super) fn status(&self) -> watch::Ref<'_, Status> {
        self.status.borrow()
    }

    pub(super) fn assignment(&self) -> Vec<TopicPartition> {
        self.status().assignment.clone()
    }

    pub(super) fn subscription(&self) -> &[String] {
        self.subscription.as_names()
    }

    pub(super) fn member_id(&self) -> &str {
        &self.member_id
    }

    #[cfg(feature = "unstable-kip-1289")]
    pub(super) fn group_id(&self) -> &str {
        &self.group_id
    }

    pub(super) fn client_instance_id(&self) -> Option<Uuid> {
        self.reporter.as_ref()?.client_instance_id()
    }

    pub(super) fn dropped(&self) -> u64 {
        self.dropped
    }

    pub(super) fn failure(&self) -> Option<&ClientError> {
        self.failure.as_ref()
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.begin_close(self.close_timeout);
    }
}

impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handle")
            .field("member_id", &self.member_id)
            .field("subscription", &self.subscription)
            .field("failure", &self.failure)
            .finish_non_exhaustive()
    }
}

pub(super) const POLLING: &str = "polling a share consumer";
const COMMITTING: &str = "committing acknowledgements";

/// When a time that begins now is over. Times too long for the clock are as good as a century.
pub(super) fn deadline(timeout: Duration) -> Instant {
    after_from(Instant::now(), timeout)
}

/// When a time that begins at `start` is over.
pub(super) fn after_from(start: Instant, time: Duration) -> Instant {
    const CENTURY: Duration = Duration::from_secs(100 * 365 * 86_400);
    start + time.min(CENTURY)
}
