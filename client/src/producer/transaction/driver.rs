//! The task that talks to coordinators for the machine of transactions.

use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Instant;

#[cfg(feature = "unstable-kip-1289")]
use ackflow_protocol::machine::transaction::ShareLack;
use ackflow_protocol::machine::transaction::{
    FlushId, TransactionEvent, TransactionRequest as Request, TransactionResponse as Response, TransactionStep as Step,
};
use ackflow_protocol::machine::{Destination, RequestFailure, RequestId};
use ackflow_protocol::wire::ApiKey;
use tokio::task::JoinSet;
use tokio::time::sleep_until;

use super::{Ended, Transactions};
use crate::cluster::kind_of_failure;
use crate::error::ClientError;
use crate::net::{Connection, address};
use crate::producer::Shared;
use crate::producer::delivery::BatchFuture;

/// The level of the feature `transaction.version` from which on Produce and TxnOffsetCommit add to a transaction by themselves (KIP-890).
const V2: i16 = 2;

/// What a task reports.
enum Done {
    Answered {
        id: RequestId,
        result: Result<Response, ClientError>,
        /// What the broker that answered says of transactions of version 2.
        supports_v2: Option<bool>,
    },
    Flushed(FlushId),
}

/// Runs the transactions of a producer until it is closed.
pub(in crate::producer) async fn run(shared: Arc<Shared>, transactions: Arc<Transactions>) {
    let closed = shared.closed.clone();
    let mut driver = Driver { shared, transactions: transactions.clone(), tasks: JoinSet::new() };
    closed.run_until_cancelled(driver.run_for_ever()).await;
    transactions.close();
}

struct Driver {
    shared: Arc<Shared>,
    transactions: Arc<Transactions>,
    tasks: JoinSet<Done>,
}

impl Driver {
    async fn run_for_ever(&mut self) {
        loop {
            let wake = self.drain();
            let until = tokio::time::Instant::from_std(wake.unwrap_or_else(Instant::now));
            tokio::select! {
                () = self.transactions.changed.notified() => {}
                Some(done) = self.tasks.join_next() => self.done(done),
                () = sleep_until(until), if wake.is_some() => {}
            }
        }
    }

    /// Does what the machine says until it has to wait, and gives until when.
    fn drain(&mut self) -> Option<Instant> {
        loop {
            match self.transactions.with(|machine| machine.poll(Instant::now())) {
                Step::Send { id, to, request, versions } => {
                    tracing::trace!(id = id.0, ?to, ?request, "says");
                    let shared = self.shared.clone();
                    self.tasks.spawn(async move { ask(&shared, id, to, request, versions).await });
                }
                Step::Event(TransactionEvent::Changed) => self.shared.wake.notify_one(),
                Step::Event(TransactionEvent::Flush(id)) => {
                    let shared = self.shared.clone();
                    self.tasks.spawn(async move {
                        flush(&shared).await;
                        Done::Flushed(id)
                    });
                }
                Step::Event(TransactionEvent::Answered { id, result }) => {
                    if let Some(reply) = self.transactions.reply(id) {
                        // The future may have been dropped.
                        let _ = reply.send(result.map_err(Ended::ByMachine));
                    }
                }
                Step::Wait(until) => return until,
            }
        }
    }

    fn done(&self, done: Result<Done, tokio::task::JoinError>) {
        match done {
            Ok(Done::Answered { id, result, supports_v2 }) => {
                tracing::trace!(id = id.0, answer = ?result, "hears");
                self.transactions.heard(result.as_ref().err());
                let result = result.map_err(|error| failed(&error));
                self.transactions.with(|machine| {
                    if let Some(supports) = supports_v2 {
                        machine.supports_v2(supports);
                    }
                    machine.handle_response(Instant::now(), id, result);
                });
            }
            Ok(Done::Flushed(id)) => self.transactions.with(|machine| machine.flushed(id)),
            // Nothing cancels the tasks, and what they do cannot panic.
            Err(error) => tracing::error!(%error, "a task of the producer ended without a report"),
        }
    }
}

/// Waits until nothing of the transaction is under way; what became of it the machine has heard.
async fn flush(shared: &Shared) {
    let now = tokio::time::Instant::now();
    let mut waiting = Vec::new();
    for partition in shared.topics.partitions() {
        let mut queue = partition.lock();
        queue.seal(now);
        waiting.extend(queue.incomplete().cloned().map(BatchFuture::new));
    }
    shared.wake.notify_one();
    for batch in waiting {
        let _ = batch.await;
    }
}

async fn ask(shared: &Shared, id: RequestId, to: Destination, request: Request, versions: RangeInclusive<i16>) -> Done {
    let connection = match &to {
        Destination::Coordinator(to) | Destination::Leader(to) => {
            if let Some(address) = address(&to.host, to.port.into()) {
                shared.pool.learn(to.node, address);
            }
            shared.pool.node(to.node).await
        }
        _ => shared.pool.any().await,
    };
    let connection = match connection {
        Ok(connection) => connection,
        Err(error) => return Done::Answered { id, result: Err(error), supports_v2: None },
    };
    let result = call(shared, &connection, request, versions).await;
    let supports_v2 = matches!(to, Destination::Coordinator(_)).then(|| supports_v2(&connection));
    Done::Answered { id, result, supports_v2 }
}

async fn call(
    shared: &Shared,
    connection: &Connection,
    request: Request,
    versions: RangeInclusive<i16>,
) -> Result<Response, ClientError> {
    let within = shared.config.client.net.request_timeout;
    Ok(match request {
        Request::FindCoordinator(request) => {
            Response::FindCoordinator(connection.call_in(&request, versions, within).await?)
        }
        Request::InitProducerId(request) => {
            Response::InitProducerId(connection.call_in(&request, versions, within).await?)
        }
        Request::AddPartitionsToTxn(request) => {
            Response::AddPartitionsToTxn(connection.call_in(&request, versions, within).await?)
        }
        Request::AddOffsetsToTxn(request) => {
            Response::AddOffsetsToTxn(connection.call_in(&request, versions, within).await?)
        }
        Request::TxnOffsetCommit(request) => {
            Response::TxnOffsetCommit(connection.call_in(&request, versions, within).await?)
        }
        #[cfg(feature = "unstable-kip-1289")]
        Request::TxnShareAcknowledge(request) => {
            let version = *versions.start();
            let offers = connection.offers(ApiKey::TXN_SHARE_ACKNOWLEDGE, version);
            match ShareLack::of(offers, connection.finalized_feature("share.version")) {
                Some(lack) => Response::SharesLack(lack),
                None => Response::TxnShareAcknowledge(connection.call_unstable(&request, version, within).await?),
            }
        }
        Request::EndTxn(request) => Response::EndTxn(connection.call_in(&request, versions, within).await?),
    })
}

/// Whether the cluster has finalized transactions of version 2, and the broker speaks all that they need.
fn supports_v2(connection: &Connection) -> bool {
    let speaks = |key, version| connection.version(key).is_some_and(|newest| newest >= version);
    connection.finalized_feature("transaction.version").is_some_and(|level| level >= V2)
        && speaks(ApiKey::PRODUCE, 12)
        && speaks(ApiKey::END_TXN, 5)
        && speaks(ApiKey::TXN_OFFSET_COMMIT, 5)
}

fn failed(error: &ClientError) -> RequestFailure {
    tracing::debug!(%error, "no answer");
    kind_of_failure(error, None)
}
