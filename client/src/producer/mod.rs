//! A producer: records in, batches out, each confirmed by the leader of its partition.
//!
//! [`Producer::send`] writes a record straight into the batch of its partition and returns at once; one task sends full
//! batches, and those that have waited for `linger.ms`, to the leaders. The producer is idempotent by default: a batch
//! whose answer was lost is sent again with the same bytes and sequence number, so it is written once and in order.

mod append;
mod batch;
mod config;
mod delivery;
#[cfg(feature = "fuzzing")]
pub(crate) mod fuzzing;
mod metadata;
mod partitioner;
mod queue;
mod record;
mod sender;
#[cfg(test)]
mod tests;
mod topics;
mod transaction;
mod verdict;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ackflow_protocol::wire::Uuid;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout, timeout_at};
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

pub use ackflow_protocol::machine::transaction::GroupMetadata;
#[cfg(feature = "unstable-kip-1289")]
pub use ackflow_protocol::machine::transaction::{ShareAcknowledgements, ShareGroupMetadata, SourceAcknowledgements};
pub use config::{Acks, ProducerConfig};
pub use delivery::DeliveryFuture;
pub use record::{DeliveryReport, ProducerRecord};

use append::Step;
use delivery::BatchFuture;
use queue::Limits;
use topics::{Partition, Topics};
use transaction::Transactions;

use crate::error::{ClientError, ErrorKind};
use crate::metrics::{Metrics, ProducerMetrics};
use crate::net::Pool;
use crate::share::check_topic;
use crate::telemetry::{Offer, Reporter};

/// A producer. It is a handle: clones share batches and connections. Close it with [`Producer::close`]; records that are
/// not confirmed when the last handle is dropped are given up.
#[derive(Debug, Clone)]
pub struct Producer(Arc<Handle>);

#[derive(Debug)]
struct Handle(Arc<Shared>);

impl Drop for Handle {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// What the handles and the tasks of a producer share.
#[derive(Debug)]
struct Shared {
    config: ProducerConfig,
    pool: Pool,
    metrics: Arc<ProducerMetrics>,
    reporter: Reporter,
    topics: Topics,
    /// With a transactional id.
    transactions: Option<Arc<Transactions>>,
    /// What is left of `buffer.memory`.
    room: Arc<Semaphore>,
    /// How many callers wait for room: then no batch waits for more records.
    waiting_for_room: AtomicUsize,
    /// Partitions that the sender does not know to have records.
    activated: Mutex<Vec<Arc<Partition>>>,
    /// Wakes the sender.
    wake: Notify,
    closed: CancellationToken,
}

impl Producer {
    /// A producer to the cluster that `config` names. Nothing is connected before the first record. Must be called within a
    /// tokio runtime with I/O and time.
    ///
    /// # Errors
    /// [`ErrorKind::Config`] where settings contradict each other.
    pub fn new(mut config: ProducerConfig) -> Result<Self, ClientError> {
        config.check()?;
        let metrics = Arc::new(ProducerMetrics::watch(&mut config.client));
        let offer = Offer::watch(&mut config.client);
        let transactions = Transactions::of(&config);
        let limits = Limits {
            transactions: transactions.clone(),
            batch_size: config.batch_size,
            linger: config.linger,
            compression: config.compression,
            compression_level: config.compression_level,
            delivery_timeout: config.delivery_timeout,
            retries: config.retries,
            max_in_flight: config.max_in_flight,
            idempotent: config.idempotence,
            backoff: config.client.retry_backoff(),
            metrics: metrics.clone(),
        };
        let pool = Pool::new(config.client.clone());
        let shared = Arc::new(Shared {
            reporter: Reporter::start(offer, pool.clone(), metrics.metrics().clone(), Vec::new()),
            pool,
            metrics,
            topics: Topics::new(Arc::new(limits)),
            transactions: transactions.clone(),
            room: Arc::new(Semaphore::new(config.buffer_memory)),
            waiting_for_room: AtomicUsize::new(0),
            activated: Mutex::default(),
            wake: Notify::new(),
            closed: CancellationToken::new(),
            config,
        });
        let span = tracing::debug_span!("producer", client_id = &*shared.config.client.net.client_id);
        tokio::spawn(sender::run(shared.clone()).instrument(span.clone()));
        tokio::spawn(metadata::run(shared.clone()).instrument(span.clone()));
        if let Some(transactions) = transactions {
            tokio::spawn(transaction::run(shared.clone(), transactions).instrument(span));
        }
        Ok(Self(Arc::new(Handle(shared))))
    }

    /// What it measures, by Kafka's names.
    pub fn metrics(&self) -> Metrics {
        self.0.0.metrics.metrics().clone()
    }

    /// The id under which the cluster knows the metrics that this client pushes (KIP-714), once it wants any.
    pub fn client_instance_id(&self) -> Option<Uuid> {
        self.0.0.reporter.client_instance_id()
    }

    /// Puts a record into a batch. It waits only where the topic is not known yet or `buffer.memory` is used up, and for
    /// `max.block.ms` at most. The future that it gives waits for the broker.
    ///
    /// Cancel-safe: dropped before it is done, it has put the record nowhere. Records for one partition that are sent one
    /// after the other are written in that order.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] where the record is too large, its partition does not exist or its topic has a name that none can have, [`ErrorKind::TimedOut`] where
    /// it had to wait too long, [`ErrorKind::Closed`], and what the cluster says of the topic.
    pub async fn send(&self, record: ProducerRecord) -> Result<DeliveryFuture, ClientError> {
        let shared = &*self.0.0;
        let (mut room, mut looked) = (None, false);
        loop {
            match shared.append(&record, &mut room, looked)? {
                Step::Queued(delivery) => return Ok(delivery),
                Step::NeedsRoom { size } => room = Some(shared.wait_for_room(&record, size).await?),
                Step::UnknownTopic => {
                    // It would be asked for with the others, and could keep that request from being written.
                    check_topic(&record.topic).map_err(|error| error.while_doing("producing"))?;
                    shared.wait_for_topic(&record.topic).await?;
                }
                Step::UnknownPartition => {
                    // Without an answer, what is known has to do.
                    let _ = timeout(shared.config.max_block, shared.topics.refreshed()).await;
                    looked = true;
                }
            }
        }
    }

    /// Sends what waits, without regard to `linger.ms`, and waits until every record that was sent before is confirmed or
    /// failed. Cancel-safe: dropping it only ends the waiting.
    ///
    /// # Errors
    /// The error of the first batch that failed meanwhile.
    pub async fn flush(&self) -> Result<(), ClientError> {
        let shared = &*self.0.0;
        let mut waiting = Vec::new();
        let now = Instant::now();
        for partition in shared.topics.partitions() {
            let mut queue = partition.lock();
            queue.seal(now);
            waiting.extend(queue.incomplete().cloned().map(BatchFuture::new));
        }
        shared.wake.notify_one();
        let mut first_error = Ok(());
        for batch in waiting {
            let outcome = batch.await;
            first_error = first_error.and(outcome.map(|_| ()));
        }
        first_error
    }

    /// Flushes, waits for the commit that is under way or aborts the transaction that is open, then closes the producer and all its handles. Cancel-safe in that dropping it closes nothing before
    /// everything was flushed.
    ///
    /// # Errors
    /// As [`Producer::flush`], and where the transaction could not be aborted.
    pub async fn close(self) -> Result<(), ClientError> {
        let flushed = match self.end_what_is_open().await {
            Ok(()) => self.flush().await,
            Err(error) => Err(error),
        };
        self.0.0.reporter.close().await;
        self.0.0.close();
        flushed
    }

    /// As [`Producer::close`], but within `limit`: what is not confirmed by then is given up, and its futures say that the producer was closed.
    /// Cancel-safe as that one is.
    ///
    /// # Errors
    /// As [`Producer::close`], and [`ErrorKind::TimedOut`].
    pub async fn close_within(self, limit: Duration) -> Result<(), ClientError> {
        let shared = self.0.0.clone();
        if let Ok(closed) = timeout(limit, self.close()).await {
            return closed;
        }
        shared.close();
        let reason = format!("records were not confirmed within {} ms, and are given up", limit.as_millis());
        Err(ClientError::new(ErrorKind::TimedOut, "closing the producer", reason)
            .remedy("give it more time, or check that the brokers can be reached"))
    }
}

impl Shared {
    fn close(&self) {
        self.room.close();
        self.closed.cancel();
    }

    fn activate(&self, partition: &Arc<Partition>) {
        self.activated.lock().unwrap_or_else(PoisonError::into_inner).push(partition.clone());
    }

    fn take_activated(&self, active: &mut Vec<Arc<Partition>>) {
        active.append(&mut self.activated.lock().unwrap_or_else(PoisonError::into_inner));
    }

    fn is_in_a_hurry(&self) -> bool {
        self.waiting_for_room.load(Ordering::Relaxed) > 0
    }

    /// Whether records are taken, where they are those of a transaction.
    fn check_transaction(&self) -> Result<(), ClientError> {
        self.transactions.as_ref().map_or(Ok(()), |transactions| transactions.check())
    }

    async fn wait_for_topic(&self, name: &Arc<str>) -> Result<(), ClientError> {
        let began = Instant::now();
        let mut patience = self.pool.patience(self.config.max_block);
        loop {
            if let Ok(found) = timeout_at(began + patience, self.topics.wait_for(name)).await {
                return found.map(drop);
            }
            // A broker that was reached meanwhile may say that there is no such topic yet.
            match self.pool.patience(self.config.max_block) {
                longer if longer > patience => patience = longer,
                _ => break,
            }
        }
        let said = self.topics.give_up(name).map_or_else(String::new, |error| format!(": {error}"));
        let reason = match patience < self.config.max_block {
            true => format!("no broker of the cluster was reached within {} ms{said}", patience.as_millis()),
            false => format!("it is not known after max.block.ms={}{said}", patience.as_millis()),
        };
        Err(ClientError::new(ErrorKind::TimedOut, format!("producing to topic {name}"), reason)
            .remedy("check the name, create the topic, and check that the brokers can be reached"))
    }

    async fn wait_for_room(&self, record: &ProducerRecord, size: usize) -> Result<OwnedSemaphorePermit, ClientError> {
        let wanted = size.max(self.config.batch_size.min(self.config.buffer_memory));
        let wanted = u32::try_from(wanted).map_err(|_| invalid(record, format!("a batch of {wanted} bytes")))?;
        if let Ok(room) = self.room.clone().try_acquire_many_owned(wanted) {
            return Ok(room);
        }
        let waiting = Counted::new(&self.waiting_for_room);
        self.wake.notify_one();
        let room = timeout(self.config.max_block, self.room.clone().acquire_many_owned(wanted)).await;
        drop(waiting);
        match room {
            Ok(Ok(room)) => Ok(room),
            Ok(Err(_)) => Err(closed()),
            Err(_) => {
                let (limit, waited) = (self.config.buffer_memory, self.config.max_block.as_millis());
                let reason = format!("buffer.memory={limit} was used up for max.block.ms={waited}");
                Err(ClientError::new(ErrorKind::TimedOut, format!("producing to topic {}", record.topic), reason)
                    .remedy("check that the brokers keep up, or raise buffer.memory"))
            }
        }
    }
}

/// One more, for as long as it lives.
struct Counted<'a>(&'a AtomicUsize);

impl<'a> Counted<'a> {
    fn new(count: &'a AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(count)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

fn invalid(record: &ProducerRecord, reason: String) -> ClientError {
    ClientError::new(ErrorKind::Invalid, format!("producing to topic {}", record.topic), reason)
}

fn closed() -> ClientError {
    ClientError::new(ErrorKind::Closed, "producing", "the producer is closed")
}
