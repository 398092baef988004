//! Keeps a token at hand: replaces it before it ends, in the background, with one question at a time, however many connections want it.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use tokio::sync::{Notify, watch};
use tokio::time::{Instant, sleep_until};
use tokio_util::task::AbortOnDropHandle;

use super::failure::Failure;
use super::refresh::Refresh;
use super::source::Source;
use crate::net::sasl::token::{Token, TokenFuture, TokenProvider};
use crate::net::{Backoff, Repeats, random};

/// A provider of tokens that asks its source as seldom as it can.
///
/// The first one who wants a token starts the task that asks; it lives as long as the keeper. A token is kept until it ends, whatever becomes of the attempts to replace
/// it. Where there is none, an error is told at once, and again without asking until a pause is over.
pub(crate) struct Keeper {
    shared: Arc<Shared>,
    task: Mutex<Option<AbortOnDropHandle<()>>>,
}

struct Shared {
    source: Source,
    refresh: Refresh,
    backoff: Backoff,
    state: watch::Sender<State>,
    /// Somebody waits for a token.
    wanted: Notify,
}

/// However short the pauses are meant to be, a source is not asked more often.
const LEAST_PAUSE: Duration = Duration::from_millis(50);

impl Shared {
    /// The pause after so many failures.
    fn pause(&self, failures: u32) -> Duration {
        self.backoff.pause(failures, random()).max(LEAST_PAUSE)
    }
}

#[derive(Default)]
struct State {
    held: Option<Held>,
    /// What went wrong since, and until when nothing else is tried.
    failed: Option<(Failure, Instant)>,
}

struct Held {
    token: Token,
    ends: Instant,
    /// The same by the clock on the wall, since the other one stands still while a machine sleeps.
    ends_by_clock: Option<SystemTime>,
    /// A token that ends within so long may have ended when it reaches the broker.
    margin: Duration,
}

impl Held {
    fn new(token: Token, lasts: Duration) -> Self {
        let (lasts, margin) = (lasts.min(LONGEST), (lasts / 10).min(Duration::from_secs(1)));
        Self { token, ends: Instant::now() + lasts, ends_by_clock: SystemTime::now().checked_add(lasts), margin }
    }

    /// Whether it is still valid after so long.
    fn lasts(&self, longer: Duration) -> bool {
        let by_clock = SystemTime::now().checked_add(longer).zip(self.ends_by_clock);
        Instant::now() + longer < self.ends && by_clock.is_none_or(|(then, ends)| then < ends)
    }
}

/// Clocks cannot count much further.
const LONGEST: Duration = Duration::from_secs(60 * 60 * 24 * 365);

impl State {
    /// A token that will do.
    fn good(&self) -> Option<&Token> {
        self.held.as_ref().filter(|held| held.lasts(held.margin)).map(|held| &held.token)
    }

    /// A token that will do where there is no better one.
    fn valid(&self) -> Option<&Token> {
        self.held.as_ref().filter(|held| held.lasts(Duration::ZERO)).map(|held| &held.token)
    }

    /// What there is to say before anything is tried again.
    fn answer(&self) -> Option<Result<Token, Failure>> {
        if let Some(token) = self.good() {
            return Some(Ok(token.clone()));
        }
        let (failure, _) = self.failed.as_ref().filter(|(_, until)| Instant::now() < *until)?;
        Some(self.valid().cloned().ok_or_else(|| failure.clone()))
    }
}

impl Keeper {
    /// One that asks `source`, after a failure with pauses of `backoff`.
    pub(crate) fn new(source: Source, refresh: Refresh, backoff: Backoff) -> Self {
        let shared =
            Shared { source, refresh, backoff, state: watch::Sender::new(State::default()), wanted: Notify::new() };
        Self { shared: Arc::new(shared), task: Mutex::new(None) }
    }

    /// Cancel-safe: the question goes on without who asked it.
    async fn get(&self) -> Result<Token, Failure> {
        let mut state = self.shared.state.subscribe();
        if let Some(answer) = state.borrow_and_update().answer() {
            return answer;
        }
        self.want();
        // The sender is here, so it cannot be gone.
        let _ = state.changed().await;
        let state = state.borrow();
        match (state.valid(), &state.failed) {
            (Some(token), _) => Ok(token.clone()),
            (None, Some((failure, _))) => Err(failure.clone()),
            (None, None) => {
                let remedy = "check the clock of this host";
                Err(Failure::passing(format!("{}: its token has ended already", self.shared.source), remedy))
            }
        }
    }

    /// Has the task ask, which is started where it does not run: the runtime that it ran in may be gone.
    fn want(&self) {
        let mut task = self.task.lock().unwrap_or_else(PoisonError::into_inner);
        if task.as_ref().is_none_or(|task| task.is_finished()) {
            *task = Some(AbortOnDropHandle::new(tokio::spawn(keep(Arc::clone(&self.shared)))));
        } else {
            self.shared.wanted.notify_one();
        }
    }
}

impl TokenProvider for Keeper {
    fn token(&self) -> TokenFuture<'_> {
        Box::pin(async { self.get().await.map_err(Into::into) })
    }
}

/// Asks, and asks again when it is time.
async fn keep(shared: Arc<Shared>) {
    let (mut failures, mut repeats) = (0, Repeats::default());
    loop {
        let next = match shared.source.fetch().await {
            Ok((token, lasts)) => {
                failures = 0;
                repeats = Repeats::default();
                tracing::debug!(source = %shared.source, ?lasts, "got a token");
                let next = Instant::now() + shared.refresh.pause(lasts, random());
                shared.state.send_replace(State { held: Some(Held::new(token, lasts)), failed: None });
                next
            }
            Err(failure) => {
                failures += 1;
                match repeats.is_news(Instant::now().into_std(), &failure.to_string()) {
                    true => tracing::warn!(%failure, "there is no new token"),
                    false => tracing::debug!(%failure, "there is no new token"),
                }
                let next = Instant::now() + shared.pause(failures);
                shared.state.send_modify(|state| state.failed = Some((failure, next)));
                next
            }
        };
        wait(&shared, next).await;
    }
}

/// Waits until it is time, or until somebody wants a better token than there is; but where there is none, always for the latter.
async fn wait(shared: &Shared, next: Instant) {
    loop {
        let is_kept = shared.state.borrow().valid().is_some();
        tokio::select! {
            () = sleep_until(next), if is_kept => return,
            () = shared.wanted.notified() => {}
        }
        let answered = shared.state.borrow().answer().is_some();
        if !answered {
            // Tokens that end as soon as they come are not asked for all the time either.
            let failed = shared.state.borrow().failed.as_ref().map(|(_, until)| *until);
            let earliest = failed.unwrap_or_else(|| next.min(Instant::now() + shared.pause(1)));
            return sleep_until(earliest).await;
        }
    }
}
