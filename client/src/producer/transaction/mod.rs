//! Transactions of a producer (KIP-98, KIP-890): what is sent, and the offsets of what it was made of, counts as a whole or not at all.
//!
//! The machine decides; `driver.rs` talks to coordinators. Whoever looks at the machine holds its lock for a moment: callers, the
//! sender once a batch, the driver. Who holds the lock of a partition may take that of the machine, never the other way round.

mod driver;
#[cfg(feature = "unstable-kip-1289")]
mod shares;

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ackflow_protocol::machine::consumer::{Offsets, TopicPartition};
use ackflow_protocol::machine::transaction::{
    GroupMetadata, OperationId, TransactionError, TransactionFault, TransactionMachine, TransactionOptions,
};
use tokio::sync::{Notify, oneshot};
use tokio::time::timeout;

pub(super) use driver::run;

use super::batch::ProducerId;
use super::config::ProducerConfig;
use super::{Producer, closed};
use crate::error::{ClientError, ErrorKind};
use crate::heard::said;
use crate::net::random;

/// The machine, and who waits for it.
#[derive(Debug)]
pub(super) struct Transactions {
    id: String,
    machine: Mutex<TransactionMachine>,
    /// Whether records may be put into batches. A record asks with the lock of its partition held, and an end first forbids it, then locks all
    /// partitions to see what there is: so no record slips into the next transaction.
    is_open: AtomicBool,
    /// `None` once the driver has ended.
    replies: Mutex<Option<HashMap<OperationId, Reply>>>,
    /// Why the last request of the driver had no answer, until one has.
    last_error: Mutex<Option<ClientError>>,
    /// Wakes the driver.
    changed: Notify,
}

type Reply = oneshot::Sender<Result<(), Ended>>;

/// Why an operation did not end well.
#[derive(Debug)]
enum Ended {
    ByMachine(TransactionError),
    /// The cluster does not let this client in. The machine goes on trying.
    ByCluster(ClientError),
}

impl Transactions {
    /// Those of a producer with a transactional id.
    pub(super) fn of(config: &ProducerConfig) -> Option<Arc<Self>> {
        let id = config.transactional_id.clone()?;
        let options = TransactionOptions {
            transactional_id: id.clone(),
            transaction_timeout: config.transaction_timeout,
            retry_backoff: config.client.retry_backoff,
            retry_backoff_max: config.client.retry_backoff_max,
        };
        Some(Arc::new(Self {
            id,
            machine: Mutex::new(TransactionMachine::new(random(), options)),
            is_open: AtomicBool::new(false),
            replies: Mutex::new(Some(HashMap::new())),
            last_error: Mutex::default(),
            changed: Notify::new(),
        }))
    }

    /// `transactional.id`.
    pub(super) fn id(&self) -> &str {
        &self.id
    }

    fn with<T>(&self, change: impl FnOnce(&mut TransactionMachine) -> T) -> T {
        // A panic with the lock held is a bug that a test would show; what is left is as good as any state.
        let mut machine = self.machine.lock().unwrap_or_else(PoisonError::into_inner);
        let result = change(&mut machine);
        self.is_open.store(machine.check().is_ok(), Ordering::Release);
        result
    }

    /// Whether a record may be put into a batch of the partition whose lock the caller holds.
    ///
    /// # Errors
    /// Why not.
    pub(super) fn check(&self) -> Result<(), ClientError> {
        if self.is_open.load(Ordering::Acquire) {
            return Ok(());
        }
        self.with(|machine| machine.check()).map_err(|error| error_of("producing", &error))
    }

    /// Why everything that was not sent has failed. It counts for a partition whose lock the caller holds: without it, the next transaction may
    /// have begun there.
    pub(super) fn failure(&self) -> Option<ClientError> {
        let fault = self.with(|machine| machine.failure())?;
        let kind = if fault == TransactionFault::Aborted { ErrorKind::Closed } else { ErrorKind::Abortable };
        Some(ClientError::new(kind, "producing", fault.to_string()))
    }

    /// Under which id and epoch a batch may go now to a partition whose lock the caller holds; `None` where it has to wait, and the driver sees to it.
    /// Both are asked for at once: the end of a transaction may give another epoch.
    pub(super) fn admit(&self, topic: &Arc<str>, partition: i32) -> Option<ProducerId> {
        let name = TopicPartition { topic: topic.clone(), partition };
        let producer = self.with(|machine| machine.may_send(&name).then(|| machine.producer()).flatten());
        if producer.is_none() {
            self.changed.notify_one();
        }
        producer.map(|producer| ProducerId { id: producer.id, epoch: producer.epoch })
    }

    /// Whether Produce itself adds partitions to the transaction.
    pub(super) fn is_v2(&self) -> bool {
        self.with(|machine| machine.is_v2())
    }

    /// A batch of the transaction was given up; `was_sent` tells whether a broker may have it all the same.
    pub(super) fn batch_failed(&self, error: &ClientError, was_sent: bool) {
        self.with(|machine| machine.record_failed(error.code(), error.to_string(), was_sent));
        self.changed.notify_one();
    }

    /// Begins an operation, and gives what tells how it ended.
    fn start(
        &self,
        begin: impl FnOnce(&mut TransactionMachine) -> OperationId,
    ) -> oneshot::Receiver<Result<(), Ended>> {
        let (sender, answer) = oneshot::channel();
        self.with(|machine| {
            let id = begin(machine);
            // Within the lock, so that the driver cannot hear of the end before it knows who waits.
            if let Some(replies) = &mut *self.replies() {
                replies.insert(id, sender);
            }
        });
        self.changed.notify_one();
        answer
    }

    fn reply(&self, id: OperationId) -> Option<Reply> {
        self.replies().as_mut()?.remove(&id)
    }

    /// A request of the driver was answered, or why it was not. Whoever waits is told at once that the cluster does not let this client in: that
    /// does not pass by itself.
    fn heard(&self, error: Option<&ClientError>) {
        *self.last_error.lock().unwrap_or_else(PoisonError::into_inner) = error.cloned();
        if let Some(error) = error.filter(|error| error.kind() == ErrorKind::Authentication) {
            for (_, reply) in self.replies().iter_mut().flat_map(HashMap::drain) {
                // The future may have been dropped.
                let _ = reply.send(Err(Ended::ByCluster(error.clone())));
            }
        }
    }

    /// The driver is gone: nobody gets an answer any more.
    fn close(&self) {
        *self.replies() = None;
    }

    fn replies(&self) -> MutexGuard<'_, Option<HashMap<OperationId, Reply>>> {
        self.replies.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Producer {
    /// Makes this the one producer of its `transactional.id`: an older one is fenced, and what it has left open is aborted. Once, before
    /// [`begin_transaction`](Self::begin_transaction).
    ///
    /// Cancel-safe: initializing goes on, and calling this again waits for the same result.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] without `transactional.id`, [`ErrorKind::TimedOut`] after `max.block.ms`, where this may be called again, and what the
    /// coordinator refuses.
    pub async fn init_transactions(&self) -> Result<(), ClientError> {
        self.transact("initializing transactions", TransactionMachine::init).await
    }

    /// Begins a transaction: what is sent from now on belongs to it.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] where there is one already or transactions are not initialized, and the error that has ended the producer.
    pub fn begin_transaction(&self) -> Result<(), ClientError> {
        const DOING: &str = "beginning a transaction";
        self.transactions(DOING)?.with(TransactionMachine::begin).map_err(|error| error_of(DOING, &error))
    }

    /// Makes these offsets those of the group where the transaction is committed: what was consumed and what was made of it count together.
    /// Each is that of the next record to read; take `group` from [`Consumer::group_metadata`](crate::Consumer::group_metadata), so that a consumer
    /// that has lost its partitions cannot commit (KIP-447). Turn off `enable.auto.commit`.
    ///
    /// Cancel-safe: the offsets go into the transaction all the same, and its end waits for them.
    ///
    /// # Errors
    /// As [`commit_transaction`](Self::commit_transaction).
    pub async fn send_offsets_to_transaction(
        &self,
        offsets: Offsets,
        group: &GroupMetadata,
    ) -> Result<(), ClientError> {
        let group = group.clone();
        self.transact("sending offsets to a transaction", |machine| machine.send_offsets(offsets, group)).await
    }

    /// Flushes, and commits: all that was sent since the transaction began counts from now on, for those who read with
    /// `isolation.level=read_committed`.
    ///
    /// Cancel-safe: the commit goes on, and calling this again waits for the same result.
    ///
    /// # Errors
    /// [`ErrorKind::Abortable`] where something was not written: nothing is committed, and the transaction has to be
    /// [aborted](Self::abort_transaction). [`ErrorKind::TimedOut`] after `max.block.ms`: whether it is committed is not known yet, call this again.
    /// [`ErrorKind::Fenced`] and other kinds end the producer.
    pub async fn commit_transaction(&self) -> Result<(), ClientError> {
        self.transact("committing a transaction", TransactionMachine::commit).await
    }

    /// Aborts: nothing that was sent since the transaction began counts. What was not sent yet fails.
    ///
    /// Cancel-safe: the abort goes on, and calling this again waits for the same result.
    ///
    /// # Errors
    /// [`ErrorKind::TimedOut`] after `max.block.ms`, where this may be called again; [`ErrorKind::Fenced`] and other kinds end the producer.
    pub async fn abort_transaction(&self) -> Result<(), ClientError> {
        self.transact("aborting a transaction", TransactionMachine::abort).await
    }

    /// Waits for a commit that is under way, and aborts what is open, as a producer that closes does.
    pub(super) async fn end_what_is_open(&self) -> Result<(), ClientError> {
        let Some(transactions) = &self.0.0.transactions else { return Ok(()) };
        if transactions.with(|machine| machine.is_committing()) {
            match self.commit_transaction().await {
                Err(error) if error.kind() == ErrorKind::Abortable => {}
                ended => return ended,
            }
        }
        if transactions.with(|machine| machine.is_open()) { self.abort_transaction().await } else { Ok(()) }
    }

    fn transactions(&self, doing: &'static str) -> Result<&Arc<Transactions>, ClientError> {
        if self.0.0.closed.is_cancelled() {
            return Err(closed().while_doing(doing));
        }
        self.0.0.transactions.as_ref().ok_or_else(|| {
            ClientError::new(ErrorKind::Invalid, doing, "the producer has no transactions")
                .remedy("set transactional.id")
        })
    }

    async fn transact(
        &self,
        doing: &'static str,
        begin: impl FnOnce(&mut TransactionMachine) -> OperationId,
    ) -> Result<(), ClientError> {
        let transactions = self.transactions(doing)?;
        let max_block = self.0.0.config.max_block;
        match timeout(max_block, transactions.start(begin)).await {
            Ok(Ok(result)) => result.map_err(|ended| match ended {
                Ended::ByMachine(error) => error_of(doing, &error),
                Ended::ByCluster(error) => error.while_doing(doing),
            }),
            Ok(Err(_)) => Err(closed().while_doing(doing)),
            Err(_) => {
                let last_error = transactions.last_error.lock().unwrap_or_else(PoisonError::into_inner).clone();
                let last_error = last_error.map(|error| format!("; the last attempt: {error}")).unwrap_or_default();
                let reason =
                    format!("no answer of the coordinator within max.block.ms={}{last_error}", max_block.as_millis());
                Err(ClientError::new(ErrorKind::TimedOut, doing, reason)
                    .remedy("it goes on; call it again to wait for its result"))
            }
        }
    }
}

fn error_of(doing: &'static str, error: &TransactionError) -> ClientError {
    let kind = match (&error.fault, error.fault.code()) {
        _ if error.is_abortable => ErrorKind::Abortable,
        (TransactionFault::Fenced { .. }, _) => ErrorKind::Fenced,
        (TransactionFault::Unsupported { .. }, _) => ErrorKind::UnsupportedVersion,
        (_, Some(code)) => ErrorKind::Broker(code),
        (_, None) => ErrorKind::Invalid,
    };
    ClientError::new(kind, doing, said(&error.to_string()))
}
