//! The task that pushes a client's metrics.

use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use ackflow_protocol::machine::{RequestFailure, TelemetryMachine, TelemetryStep};
use ackflow_protocol::wire::{ApiKey, Request, Uuid};
use tokio::sync::Notify;
use tokio::time::{sleep, sleep_until};
use tokio_util::sync::CancellationToken;

use super::collect::Collector;
use crate::cluster::failure::kind_of_failure;
use crate::config::ClientConfig;
use crate::error::ClientError;
use crate::metrics::Metrics;
use crate::net::{Connected, Hooks, Pool, random};

/// How long the last push may take at the end of a client.
const LAST_PUSH: Duration = Duration::from_secs(1);

/// Watches for a broker that takes metrics.
#[derive(Debug, Default)]
pub(crate) struct Offer {
    found: Notify,
}

impl Offer {
    /// Watches the connections of a client with this configuration; `None` where nothing is to be pushed.
    pub(crate) fn watch(config: &mut ClientConfig) -> Option<Arc<Self>> {
        let offer = config.metrics.push.then(Arc::<Self>::default)?;
        config.net.hooks.push(offer.clone());
        Some(offer)
    }
}

impl Hooks for Offer {
    fn connected(&self, event: &Connected<'_>) {
        if event.version(ApiKey::GET_TELEMETRY_SUBSCRIPTIONS).is_some() {
            self.found.notify_one();
        }
    }
}

/// Pushes metrics until it is closed or dropped.
#[derive(Debug)]
pub(crate) struct Reporter {
    ends: CancellationToken,
    /// Cancelled when the task has ended; `None` where there is none.
    over: Option<CancellationToken>,
    client_instance_id: Arc<OnceLock<Uuid>>,
}

impl Reporter {
    /// Starts it on the current runtime. `labels` name the client beyond its `client.id`, as KIP-714 has them: `group_id` and such.
    pub(crate) fn start(
        offer: Option<Arc<Offer>>,
        pool: Pool,
        metrics: Metrics,
        labels: Vec<(&'static str, String)>,
    ) -> Self {
        let (ends, client_instance_id) = (CancellationToken::new(), Arc::new(OnceLock::new()));
        let over = offer.map(|offer| {
            let over = CancellationToken::new();
            let work = Work {
                pool,
                collector: Collector::new(metrics, labels),
                ends: ends.clone(),
                client_instance_id: client_instance_id.clone(),
            };
            let ended = over.clone().drop_guard();
            tokio::spawn(async move {
                work.run(offer).await;
                drop(ended);
            });
            over
        });
        Self { ends, over, client_instance_id }
    }

    /// The same for a consumer with this configuration, over a connection of its own.
    pub(crate) fn watch(config: &mut ClientConfig, metrics: &Metrics, labels: &[(&'static str, Option<&str>)]) -> Self {
        let offer = Offer::watch(config);
        let labels = labels.iter().filter_map(|(key, value)| Some((*key, (*value)?.to_owned()))).collect();
        Self::start(offer, Pool::new(config.clone()), metrics.clone(), labels)
    }

    /// The id that the cluster has given this client, once it has.
    pub(crate) fn client_instance_id(&self) -> Option<Uuid> {
        self.client_instance_id.get().copied()
    }

    /// Pushes what is wanted once more, if anything is. Cancel-safe: it is tried without the caller too.
    pub(crate) async fn close(&self) {
        self.ends.cancel();
        if let Some(over) = &self.over {
            over.cancelled().await;
        }
    }
}

impl Drop for Reporter {
    fn drop(&mut self) {
        self.ends.cancel();
    }
}

struct Work {
    pool: Pool,
    collector: Collector,
    ends: CancellationToken,
    client_instance_id: Arc<OnceLock<Uuid>>,
}

impl Work {
    async fn run(mut self, offer: Arc<Offer>) {
        tokio::select! {
            () = offer.found.notified() => {}
            () = self.ends.cancelled() => return,
        }
        let ends = self.ends.clone();
        let end = async {
            ends.cancelled().await;
            // What is under way may take as long as the last push.
            sleep(LAST_PUSH).await;
        };
        tokio::select! {
            () = self.report() => {}
            () = end => {}
        }
    }

    async fn report(&mut self) {
        let mut machine = TelemetryMachine::new(Instant::now(), random());
        loop {
            if self.ends.is_cancelled() {
                machine.terminate(Instant::now());
            }
            match machine.poll(Instant::now()) {
                TelemetryStep::Ask(request) => match self.call(&request).await {
                    Ok(response) => {
                        tracing::debug!(metrics = ?response.requested_metrics, interval_ms = response.push_interval_ms, "metrics are wanted");
                        machine.handle_subscription(Instant::now(), &response);
                        if let Some(id) = machine.client_instance_id() {
                            let _ = self.client_instance_id.set(id);
                        }
                    }
                    Err(error) => machine.handle_failure(Instant::now(), failure(&error)),
                },
                TelemetryStep::Push(push) => {
                    let request = push.request(self.collector.body(&push));
                    match self.call(&request).await {
                        Ok(response) => {
                            match response.error_code.ok() {
                                Ok(()) => self.collector.arrived(),
                                Err(code) => tracing::warn!("the broker takes no metrics: {code}"),
                            }
                            machine.handle_pushed(Instant::now(), &response);
                        }
                        Err(error) => machine.handle_failure(Instant::now(), failure(&error)),
                    }
                }
                TelemetryStep::Wait(until) => {
                    let until = until.unwrap_or_else(|| Instant::now() + LAST_PUSH);
                    tokio::select! {
                        () = sleep_until(until.into()) => {}
                        () = self.ends.cancelled(), if !self.ends.is_cancelled() => {}
                    }
                }
                TelemetryStep::Over => return,
            }
        }
    }

    async fn call<R: Request>(&self, request: &R) -> Result<R::Response, ClientError> {
        let connection = self.pool.any().await?;
        connection.call(request, self.pool.config().net.request_timeout).await
    }
}

fn failure(error: &ClientError) -> RequestFailure {
    tracing::debug!(%error, "no metrics are pushed now");
    kind_of_failure(error, None)
}
