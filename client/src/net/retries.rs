//! Trying again, within bounds.

use std::time::Duration;

use tokio::time::{Instant, sleep_until, timeout_at};

use super::Backoff;
use super::random::random;
use crate::config::ClientConfig;
use crate::error::{ClientError, ErrorKind};

/// The attempts of one call: errors that pass are tried again, with pauses, until `default.api.timeout.ms` is over.
#[derive(Debug)]
pub(crate) struct Retries {
    backoff: Backoff,
    within: Duration,
    deadline: Instant,
    patience: Duration,
    /// When it is certain that a cluster which was never reached is not there.
    unreached: Option<Instant>,
    failures: u32,
    last: Option<ClientError>,
}

impl Retries {
    /// Attempts that may take `default.api.timeout.ms` together.
    pub(crate) fn new(config: &ClientConfig) -> Self {
        Self::within(config, config.default_api_timeout)
    }

    /// Attempts that may take `within` together.
    pub(crate) fn within(config: &ClientConfig, within: Duration) -> Self {
        let deadline = Instant::now() + within;
        let (backoff, patience) = (config.retry_backoff(), config.unreached_patience());
        Self { backoff, within, deadline, patience, unreached: None, failures: 0, last: None }
    }

    /// The same for a cluster that was never `reached`: a wrong address should be told soon, not when all time is over.
    #[must_use]
    pub(crate) fn reached(mut self, reached: bool) -> Self {
        self.unreached = (!reached).then(|| Instant::now() + self.patience);
        self
    }

    /// Makes one attempt. `None` where it failed but another one may succeed: then the pause before it is over, and the
    /// caller makes the next attempt. Cancel-safe where `attempt` is.
    ///
    /// # Errors
    /// The error of the attempt where it will not pass, or of the last attempt when time is over.
    pub(crate) async fn attempt<T>(
        &mut self,
        attempt: impl Future<Output = Result<T, ClientError>>,
    ) -> Result<Option<T>, ClientError> {
        match timeout_at(self.deadline, attempt).await {
            Ok(Ok(value)) => Ok(Some(value)),
            Ok(Err(error)) if error.is_retriable() => self.pause(error).await.map(|()| None),
            Ok(Err(error)) => Err(error),
            Err(_) => Err(self.time_is_over()),
        }
    }

    async fn pause(&mut self, error: ClientError) -> Result<(), ClientError> {
        if error.kind() == ErrorKind::Unreachable && self.unreached.is_some_and(|until| Instant::now() >= until) {
            return Err(error);
        }
        tracing::debug!(%error, "trying again");
        self.failures += 1;
        // Nothing was sent, because the connection had ended unnoticed: a new one will do at once.
        let ended_while_idle = error.kind() == ErrorKind::NotSent && self.failures == 1;
        self.last = Some(error);
        if ended_while_idle {
            return Ok(());
        }
        let until = Instant::now() + self.backoff.pause(self.failures, random());
        if until >= self.deadline {
            return Err(self.time_is_over());
        }
        sleep_until(until).await;
        Ok(())
    }

    fn time_is_over(&mut self) -> ClientError {
        self.last.take().unwrap_or_else(|| {
            let reason = format!("not done within {} ms", self.within.as_millis());
            ClientError::new(ErrorKind::TimedOut, "waiting for the cluster", reason)
                .remedy("check the load of the brokers and the network, or raise default.api.timeout.ms")
        })
    }
}
