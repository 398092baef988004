//! Authenticating again before a session ends (KIP-368), on the connection that goes on being used.

use std::sync::Arc;
use std::time::Duration;

use ackflow_protocol::wire::Request;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep_until, timeout};

use super::{Sasl, Transport, perform, prepare};
use crate::error::{ClientError, ErrorKind};
use crate::net::negotiate::Versions;
use crate::net::queue::{Queue, Return};
use crate::net::{random, request};

/// The part of a session after which it is renewed: what is left is for the network, and for clocks that differ. As in Kafka's own client, connections
/// differ, so that they do not renew together.
const RENEWED_AFTER: std::ops::Range<f64> = 0.85..0.95;
/// What is left at least, since a busy machine is late by more than a twentieth of a session of few seconds; and the part of a session that this may take.
const LEAST_SPARE: (Duration, u32) = (Duration::from_secs(1), 3);
/// A broker that wants it more often does not get it more often.
const LEAST_PAUSE: Duration = Duration::from_millis(100);
/// Sessions that last longer are as good as eternal, and clocks cannot count much further.
const ETERNAL: Duration = Duration::from_secs(60 * 60 * 24 * 365);

/// What it takes to authenticate a connection again.
#[derive(Debug)]
pub(in crate::net) struct Renewal {
    pub(in crate::net) sasl: Sasl,
    pub(in crate::net) client_id: Arc<str>,
    pub(in crate::net) versions: Arc<Versions>,
    /// How long an answer may take.
    pub(in crate::net) within: Duration,
    /// When the session began, and how long it lasts.
    pub(in crate::net) session: (Instant, Option<Duration>),
}

/// Authenticates a connection again and again, until that fails. Requests wait meanwhile, in their order; those under way are answered.
pub(in crate::net) async fn keep_authenticated(queue: &Queue, renewal: Option<Renewal>) -> ClientError {
    let Some(mut renewal) = renewal else { return std::future::pending().await };
    loop {
        match renewal.session {
            (began, Some(lasts)) => sleep_until(began + pause(lasts)).await,
            (_, None) => return std::future::pending().await,
        }
        let session = renew(queue, &renewal).await;
        match session {
            Ok((began, lasts)) => {
                tracing::debug!(?lasts, "authenticated again");
                renewal.session = (began, lasts);
            }
            // The broker closes the connection, so what waits has to look for another one.
            Err(error) => return ClientError::new(ErrorKind::Disconnected, "authenticating again", error.to_string()),
        }
    }
}

/// Authenticates again. Requests wait only while the broker is asked, not for a token. Gives when the session began, and how long it lasts.
async fn renew(queue: &Queue, renewal: &Renewal) -> Result<(Instant, Option<Duration>), ClientError> {
    let exchange =
        prepare(&renewal.sasl).await.inspect_err(|error| queue.reauthenticated(Duration::ZERO, Err(error)))?;
    let mut transport = Aside { queue, renewal };
    let began = Instant::now();
    queue.hold(true);
    let lasts = perform(&mut transport, &renewal.sasl, exchange).await;
    queue.hold(false);
    queue.reauthenticated(began.elapsed(), lasts.as_ref().map(drop));
    Ok((began, lasts?))
}

/// How long to leave a session alone.
fn pause(lasts: Duration) -> Duration {
    let part = RENEWED_AFTER.start + (RENEWED_AFTER.end - RENEWED_AFTER.start) * (random() % 1024) as f64 / 1024.0;
    let lasts = lasts.min(ETERNAL);
    let spare = LEAST_SPARE.0.min(lasts / LEAST_SPARE.1);
    lasts.mul_f64(part).min(lasts - spare).max(LEAST_PAUSE)
}

/// The way past the requests that are held back.
struct Aside<'a> {
    queue: &'a Queue,
    renewal: &'a Renewal,
}

impl Transport for Aside<'_> {
    async fn call<R: Request + Sync>(&mut self, request: &R) -> Result<R::Response, ClientError> {
        let Renewal { versions, client_id, within, .. } = self.renewal;
        let version = request::agreed::<R>(versions, &request::ANY_VERSION)?;
        let correlation_id = self.queue.next_correlation_id();
        let outgoing = request::write(request, version, correlation_id, client_id)?;
        let doing = || format!("sending {} v{version}", R::NAME);
        let (sender, answer) = oneshot::channel();
        self.queue.push_aside(outgoing, Return::To(sender))?;
        let answer = timeout(*within, answer).await.map_err(|_| {
            let reason = format!("no answer within {} ms", within.as_millis());
            ClientError::new(ErrorKind::TimedOut, doing(), reason)
        })?;
        let frame = answer.map_err(|_| ClientError::new(ErrorKind::Closed, doing(), "the connection has ended"))??;
        request::read::<R>(frame, version).map(|(_, response)| response)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_renewed_before_it_ends_and_not_all_the_time() {
        for (lasts, least, most) in
            [(3_000, 2_000, 2_000), (1, 100, 100), (15_000, 12_750, 14_000), (600_000, 510_000, 570_000)]
        {
            for _ in 0..100 {
                let pause = pause(Duration::from_millis(lasts)).as_millis();
                assert!((least..=most).contains(&pause), "{lasts}: {pause}");
            }
        }
        assert!(pause(Duration::from_millis(i64::MAX as u64)) <= ETERNAL);
    }
}
