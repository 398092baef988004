//! What the callers of a connection and the task that owns it share: the frames to write and who waits for what.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ackflow_protocol::wire::ApiKey;
use bytes::Bytes;
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;

use super::frames::OutgoingFrames;
use super::hooks::{Disconnected, HookList, Reauthenticated, Requested, Throttled};
use super::negotiate::NEXT_CORRELATION_ID;
use super::request::Outgoing;
use crate::error::{ClientError, ErrorKind};

/// The answer to one request: the frame, or why none will come.
pub(crate) type Answer = Result<Bytes, ClientError>;

/// Where the answers to many requests come together, each under the tag that its request was sent with.
pub(crate) type Inbox = mpsc::UnboundedSender<(u64, Answer)>;

/// Where the answer to one request goes.
#[derive(Debug)]
pub(super) enum Return {
    To(oneshot::Sender<Answer>),
    Into(Inbox, u64),
}

impl Return {
    /// Whoever waited may have gone: then nobody wants the answer.
    fn send(self, answer: Answer) {
        match self {
            Self::To(waiter) => _ = waiter.send(answer),
            Self::Into(inbox, tag) => _ = inbox.send((tag, answer)),
        }
    }
}

/// The queue of a connection. It is open until [`Queue::close`] gives a reason.
#[derive(Debug)]
pub(super) struct Queue {
    broker: Arc<str>,
    hooks: HookList,
    next_correlation_id: AtomicI32,
    state: Mutex<State>,
    wake: Notify,
    closed: CancellationToken,
}

#[derive(Debug)]
struct State {
    /// Frames that the owner has not begun to write.
    unsent: VecDeque<Outgoing>,
    /// Frames of the connection's own business, which go before all others.
    aside: VecDeque<Outgoing>,
    /// Whether nothing but those may be sent.
    held: bool,
    /// Who waits, in the order of the frames. A broker answers in that order, so the first one is nearly always it.
    waiting: VecDeque<Waiter>,
    last_activity: Instant,
    /// Until when nothing may be sent, because the broker says so.
    throttled_until: Option<Instant>,
    end: Option<ClientError>,
}

#[derive(Debug)]
struct Waiter {
    api: ApiKey,
    version: i16,
    correlation_id: i32,
    request_bytes: usize,
    since: Instant,
    to: Return,
    /// Whether it is the connection's own business, which does not count as use of it.
    aside: bool,
}

impl Queue {
    /// The queue of a connection to a broker, whose hooks are told of each request.
    pub(super) fn new(broker: Arc<str>, hooks: HookList) -> Self {
        Self {
            broker,
            hooks,
            next_correlation_id: AtomicI32::new(NEXT_CORRELATION_ID),
            state: Mutex::new(State {
                unsent: VecDeque::new(),
                aside: VecDeque::new(),
                held: false,
                waiting: VecDeque::new(),
                last_activity: Instant::now(),
                throttled_until: None,
                end: None,
            }),
            wake: Notify::new(),
            closed: CancellationToken::new(),
        }
    }

    /// An id for the next request.
    pub(super) fn next_correlation_id(&self) -> i32 {
        self.next_correlation_id.fetch_add(1, Ordering::Relaxed)
    }

    /// Queues a request for writing. Its answer will go to `to`, unless this fails.
    pub(super) fn push(&self, request: Outgoing, to: Return) -> Result<(), ClientError> {
        self.add(request, to, false)
    }

    /// Queues a request of the connection's own business: it goes before all others, whether they are held back or throttled, and does not count as
    /// use of the connection.
    pub(super) fn push_aside(&self, request: Outgoing, to: Return) -> Result<(), ClientError> {
        self.add(request, to, true)
    }

    fn add(&self, request: Outgoing, to: Return, aside: bool) -> Result<(), ClientError> {
        let Outgoing { api, version, correlation_id, ref frame } = request;
        let (request_bytes, since) = (frame.iter().map(Bytes::len).sum(), Instant::now());
        let waiter = Waiter { api, version, correlation_id, request_bytes, since, to, aside };
        {
            let mut state = self.lock();
            if let Some(end) = &state.end {
                return Err(end.clone());
            }
            if waiter.aside {
                state.aside.push_back(request);
            } else {
                state.unsent.push_back(request);
                state.last_activity = since;
            }
            state.waiting.push_back(waiter);
        }
        self.wake.notify_one();
        Ok(())
    }

    /// Holds back what [`Queue::push`] queues, or lets it go.
    pub(super) fn hold(&self, held: bool) {
        self.lock().held = held;
        self.wake.notify_one();
    }

    /// Waits until there is something to write and it may be written, and moves all of it to `frames`. Cancel-safe.
    pub(super) async fn take_unsent(&self, frames: &mut OutgoingFrames) {
        loop {
            let not_before = {
                let mut state = self.lock();
                if !state.aside.is_empty() {
                    state.aside.drain(..).for_each(|request| frames.push(request.frame));
                    return;
                }
                let not_before = state.throttled_until.filter(|until| Instant::now() < *until);
                let ready = !state.unsent.is_empty() && !state.held;
                if ready && not_before.is_none() {
                    state.unsent.drain(..).for_each(|request| frames.push(request.frame));
                    return;
                }
                not_before.filter(|_| ready)
            };
            match not_before {
                Some(until) => _ = timeout_at(until, self.wake.notified()).await,
                None => self.wake.notified().await,
            }
        }
    }

    /// The broker wants nothing more for so long.
    pub(super) fn throttle(&self, time: Duration) {
        let until = Instant::now() + time;
        let mut state = self.lock();
        state.throttled_until = state.throttled_until.max(Some(until));
    }

    /// The same, said in an answer.
    pub(super) fn throttled_by(&self, api: ApiKey, time: Duration) {
        self.throttle(time);
        self.hooks.tell(|hooks| hooks.throttled(&Throttled { broker: &self.broker, api, time }));
    }

    /// For how long nothing may be sent from now on.
    pub(super) fn throttled_for(&self) -> Duration {
        let until = self.lock().throttled_until;
        until.map_or(Duration::ZERO, |until| until.saturating_duration_since(Instant::now()))
    }

    /// Hands an answer to its waiter, who may have gone. False where no request has this id.
    pub(super) fn answer(&self, correlation_id: i32, frame: Bytes) -> bool {
        let mut state = self.lock();
        let at = state.waiting.iter().position(|waiter| waiter.correlation_id == correlation_id);
        let Some(waiter) = at.and_then(|at| state.waiting.remove(at)) else {
            return false;
        };
        if !waiter.aside {
            state.last_activity = Instant::now();
        }
        drop(state);
        self.requested(&waiter, Ok(frame.len()));
        waiter.to.send(Ok(frame));
        true
    }

    /// Tells that the connection was authenticated again, or was not.
    pub(super) fn reauthenticated(&self, took: Duration, result: Result<(), &ClientError>) {
        self.hooks.tell(|hooks| hooks.reauthenticated(&Reauthenticated { broker: &self.broker, took, result }));
    }

    fn requested(&self, waiter: &Waiter, result: Result<usize, &ClientError>) {
        self.hooks.tell(|hooks| {
            hooks.requested(&Requested {
                broker: &self.broker,
                api: waiter.api,
                version: waiter.version,
                request_bytes: waiter.request_bytes,
                took: waiter.since.elapsed(),
                result,
            });
        });
    }

    /// How many requests have no answer, those that are not sent yet among them.
    pub(super) fn in_flight(&self) -> usize {
        self.lock().waiting.len()
    }

    /// Since when nothing is asked or answered; `None` while someone waits.
    pub(super) fn idle_since(&self) -> Option<Instant> {
        let state = self.lock();
        state.waiting.is_empty().then_some(state.last_activity)
    }

    /// Ends the connection and fails all who wait, at once and with the same reason. The first reason stands.
    pub(super) fn close(&self, reason: ClientError) {
        let (waiting, unsent) = {
            let mut state = self.lock();
            if state.end.is_some() {
                return;
            }
            // Whoever comes now can be sure that nothing was sent.
            state.end = Some(not_sent(&reason));
            state.aside.clear();
            (std::mem::take(&mut state.waiting), std::mem::take(&mut state.unsent))
        };
        self.hooks.tell(|hooks| hooks.disconnected(&Disconnected { broker: &self.broker, reason: &reason }));
        self.closed.cancel();
        for waiter in waiting {
            let is_unsent = unsent.iter().any(|request| request.correlation_id == waiter.correlation_id);
            let reason = if is_unsent { not_sent(&reason) } else { reason.clone() };
            self.requested(&waiter, Err(&reason));
            waiter.to.send(Err(reason));
        }
    }

    /// Whether [`Queue::close`] was called.
    pub(super) fn is_closed(&self) -> bool {
        self.closed.is_cancelled()
    }

    /// Completes when [`Queue::close`] is called. Cancel-safe.
    pub(super) async fn closed(&self) {
        self.closed.cancelled().await;
    }

    /// The reason given to [`Queue::close`].
    pub(super) fn end(&self) -> Option<ClientError> {
        self.lock().end.clone()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // No code that holds the lock can panic halfway through a change.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The same reason, for a request of which no byte was written.
fn not_sent(reason: &ClientError) -> ClientError {
    match reason.kind() {
        ErrorKind::Disconnected | ErrorKind::TimedOut => reason.clone().of_kind(ErrorKind::NotSent),
        _ => reason.clone(),
    }
}
