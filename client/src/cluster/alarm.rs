//! Waiting for an instant: with a timer that is seldom moved, or once.

use std::future::pending;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Instant;

use tokio::time::{Sleep, sleep_until};

/// Rings when it is due, or earlier: to wake up in vain once in a while costs less than to move a timer with every call. Whoever hears it looks
/// at the clock.
#[derive(Debug, Default)]
pub(crate) struct Alarm(Option<Pin<Box<Sleep>>>);

impl Alarm {
    /// Ready when it is `due`, or earlier.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>, due: Instant) -> Poll<()> {
        let due = due.into();
        let sleep = self.0.get_or_insert_with(|| Box::pin(sleep_until(due)));
        if sleep.deadline() > due || sleep.is_elapsed() {
            sleep.as_mut().reset(due);
        }
        sleep.as_mut().poll(cx)
    }
}

/// Ready at the instant; never where there is none. Cancel-safe.
pub(crate) async fn sleep(until: Option<Instant>) {
    match until {
        Some(instant) => sleep_until(instant.into()).await,
        None => pending().await,
    }
}
