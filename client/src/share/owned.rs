//! The share consumer whose records are settled by whoever holds them.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use ackflow_protocol::wire::Uuid;
use futures_core::Stream;

use super::acks::{CommitResults, TopicPartition};
use super::config::ShareConsumerConfig;
use super::delivery::Delivery;
use super::for_each::{ForEach, HandlerOutput, HeldRecord};
use super::handle::{Handle, deadline};
use super::link::Command;
use super::part::Part;
use super::subscription::Subscription;
use crate::deserialize::{ByteArrayDeserializer, Deserializer, Deserializers};
use crate::error::ClientError;
use crate::metrics::Metrics;

/// A member of a share group that hands out [`Delivery`]s: each settles on its own, from any task, in any order, also after later polls.
/// Polling is never refused.
///
/// A consumer that is dropped closes in the background, within `request.timeout.ms`, as far as its runtime lives on;
/// [`close`](Self::close) waits for it. Errors of `poll` are told once, and polling goes on; see [`failure`](Self::failure).
///
/// Keys and values are bytes unless [`with_deserializers`](Self::with_deserializers) says otherwise.
#[derive(Debug)]
pub struct OwnedShareConsumer<K = ByteArrayDeserializer, V = ByteArrayDeserializer> {
    pub(super) handle: Handle,
    deserializers: Arc<Deserializers<K, V>>,
}

impl OwnedShareConsumer {
    /// Makes a consumer whose keys and values are bytes. Call it inside a tokio runtime with I/O and time enabled; nothing is sent before
    /// [`subscribe`](Self::subscribe).
    ///
    /// # Errors
    /// [`ErrorKind::Config`](crate::ErrorKind::Config) for settings that cannot work, [`ErrorKind::Invalid`](crate::ErrorKind::Invalid)
    /// outside a runtime.
    pub fn new(config: ShareConsumerConfig) -> Result<Self, ClientError> {
        Self::with_deserializers(config, ByteArrayDeserializer, ByteArrayDeserializer)
    }
}

impl<K: Deserializer, V: Deserializer> OwnedShareConsumer<K, V> {
    /// As [`OwnedShareConsumer::new`], with a [`Deserializer`] each for keys and values. A record that one of them refuses is an error of
    /// [`Delivery::records`], and released unless the application decides otherwise.
    ///
    /// # Errors
    /// As [`OwnedShareConsumer::new`].
    pub fn with_deserializers(config: ShareConsumerConfig, key: K, value: V) -> Result<Self, ClientError> {
        Ok(Self::with(Handle::start(&config)?, key, value))
    }

    pub(super) fn with(handle: Handle, key: K, value: V) -> Self {
        Self { handle, deserializers: Arc::new(Deserializers { key, value }) }
    }

    /// As [`ShareConsumer::subscribe`](super::ShareConsumer::subscribe).
    ///
    /// # Errors
    /// As there.
    pub fn subscribe<T: Into<String>>(&mut self, topics: impl IntoIterator<Item = T>) -> Result<(), ClientError> {
        self.handle.subscribe(Subscription::names(topics.into_iter().map(Into::into).collect())?)
    }

    /// As [`ShareConsumer::subscribe_pattern`](super::ShareConsumer::subscribe_pattern).
    ///
    /// # Errors
    /// As there.
    pub fn subscribe_pattern(&mut self, pattern: &str) -> Result<(), ClientError> {
        self.handle.subscribe(Subscription::pattern(pattern)?)
    }

    /// The topics that are subscribed to by name.
    pub fn subscription(&self) -> &[String] {
        self.handle.subscription()
    }

    /// Waits up to `timeout` for records and gives what was acquired of one partition at a time, at most `max.poll.records` of it; `None` when
    /// the time is over. It resets the timer of `max.poll.interval.ms`.
    ///
    /// Cancel-safe: a poll that is dropped has taken nothing.
    ///
    /// # Errors
    /// As [`ShareConsumer::poll`](super::ShareConsumer::poll), but that undecided records do not matter.
    pub async fn poll(&mut self, timeout: Duration) -> Result<Option<Delivery<K, V>>, ClientError> {
        let part = self.handle.poll(self.handle.max_poll_records, deadline(timeout)).await?;
        Ok(part.map(|part| self.deliver(part)))
    }

    /// What [`poll`](Self::poll) would give without waiting. Errors are left to `poll`.
    pub fn try_poll(&mut self) -> Option<Delivery<K, V>> {
        self.handle.absorb();
        let part = self.handle.take(self.handle.max_poll_records, true)?;
        Some(self.deliver(part))
    }

    /// Hands each record to a handler, at most `limit` of them at a time (0 is taken for 1), until it is told to end. What a handler gives, a
    /// [`HandlerOutput`], settles its record:
    ///
    /// ```no_run
    /// use std::time::Duration;
    ///
    /// use ackflow_client::share::{HeldRecord, Outcome, OwnedShareConsumer};
    ///
    /// # #[derive(Debug, thiserror::Error)]
    /// # #[error("")]
    /// # struct StoreError;
    /// # async fn store(_: &[u8]) -> Result<(), StoreError> { Ok(()) }
    /// # async fn run(mut consumer: OwnedShareConsumer, shutdown: impl Future<Output = ()> + Send) -> Result<(), Box<dyn std::error::Error>> {
    /// consumer
    ///     .for_each_concurrent(64, |held: HeldRecord| async move {
    ///         let record = held.read()?;
    ///         let Some(value) = record.value else { return Ok(Outcome::Reject) };
    ///         match store(value).await {
    ///             Ok(()) => Ok(Outcome::Accept),
    ///             Err(_) if held.attempt() < 5 => Ok(Outcome::Retry { after: Duration::from_secs(1 << held.attempt()) }),
    ///             Err(error) => Err(Box::<dyn std::error::Error + Send + Sync>::from(error)), // logged, and the record is released
    ///         }
    ///     })
    ///     .until(shutdown)
    ///     .run()
    ///     .await?;
    /// consumer.close(Duration::from_secs(30)).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Records begin in the order of their partition, and end in any: none waits for another, however slow that one is. Nothing is acknowledged
    /// before its handler is done; then acknowledgements go out as ranges, within 5 ms. Polling goes on while handlers run, and the locks of
    /// all that was taken are renewed ([`ForEach::renew`]). A handler that fails or panics has its record released.
    ///
    /// Handlers run in the task that calls [`ForEach::run`], side by side but not on several threads: what computes for long, or blocks, belongs
    /// into a `tokio::spawn` or `spawn_blocking` that the handler awaits. A record costs no allocation beside those of its handler.
    pub fn for_each_concurrent<H, F>(&mut self, limit: usize, handler: H) -> ForEach<'_, H, K, V>
    where
        H: FnMut(HeldRecord<K, V>) -> F,
        F: Future<Output: HandlerOutput>,
    {
        ForEach::new(self, limit, handler)
    }

    /// What [`poll`](Self::poll) waits for, without an end.
    pub(super) fn poll_delivery(&mut self, cx: &mut Context<'_>) -> Poll<Result<Delivery<K, V>, ClientError>> {
        let part = ready!(self.handle.poll_part(cx, self.handle.max_poll_records))?;
        Poll::Ready(Ok(self.deliver(part)))
    }

    /// Whether no poll can succeed any more, as one has told.
    pub(super) fn is_over(&self) -> bool {
        self.handle.is_over()
    }

    /// The handlers are at work, though nothing is polled for.
    pub(super) fn keep_alive(&self) {
        self.handle.link.send(Command::Working);
    }

    /// How often that has to be said.
    pub(super) fn keep_alive_every(&self) -> Duration {
        self.handle.announce_every
    }

    /// Waits until everything that was settled is answered.
    pub(super) async fn settle_all(&mut self) -> Result<CommitResults, ClientError> {
        self.handle.commit(Vec::new(), self.handle.close_timeout).await
    }

    /// Acquires nothing more until [`resume`](Self::resume). What was acquired before, or is on its way, can still be polled; keep polling, for
    /// `max.poll.interval.ms` counts all the same. The consumer stays a member of the group, and the partitions that it is assigned stand still
    /// unless another member has them too.
    pub fn pause(&mut self) {
        self.handle.link.send(Command::Pause(true));
    }

    /// Acquires again after [`pause`](Self::pause).
    pub fn resume(&mut self) {
        self.handle.link.send(Command::Pause(false));
    }

    fn deliver(&self, mut part: Part) -> Delivery<K, V> {
        self.handle.keep(&mut part);
        Delivery::new(part, self.handle.link.clone(), Arc::clone(&self.deserializers))
    }

    /// Waits for the answers to everything that was settled before, for up to `timeout`, and has what is not sent yet sent at once.
    ///
    /// Cancel-safe: the acknowledgements are sent whether or not anybody waits.
    ///
    /// # Errors
    /// As [`ShareConsumer::commit_sync`](super::ShareConsumer::commit_sync).
    pub async fn commit_sync(&mut self, timeout: Duration) -> Result<CommitResults, ClientError> {
        self.handle.commit(Vec::new(), timeout).await
    }

    /// How long the group locks the records that it hands out, once a broker has said so.
    pub fn acquisition_lock_timeout(&self) -> Option<Duration> {
        self.handle.status().lock_timeout
    }

    /// The partitions that this member serves now. In a share group others may serve them too.
    pub fn assignment(&self) -> Vec<TopicPartition> {
        self.handle.assignment()
    }

    /// What it measures, by Kafka's names. They can be read after the consumer is closed, too.
    pub fn metrics(&self) -> Metrics {
        self.handle.metrics.metrics().clone()
    }

    /// The id under which the cluster knows the metrics that this client pushes (KIP-714), once it wants any.
    pub fn client_instance_id(&self) -> Option<Uuid> {
        self.handle.client_instance_id()
    }

    /// The id under which this consumer is a member of its group.
    pub fn member_id(&self) -> &str {
        self.handle.member_id()
    }

    /// The error that ended this consumer, if one has.
    pub fn failure(&self) -> Option<&ClientError> {
        self.handle.failure()
    }

    /// As [`ShareConsumer::dropped_records`](super::ShareConsumer::dropped_records).
    pub fn dropped_records(&self) -> u64 {
        self.handle.dropped()
    }

    /// Sends what was settled, leaves the group and so gives back everything else. Settling what is still held fails from then on.
    ///
    /// Cancel-safe: closing goes on without the caller.
    ///
    /// # Errors
    /// As [`ShareConsumer::close`](super::ShareConsumer::close).
    pub async fn close(mut self, timeout: Duration) -> Result<(), ClientError> {
        self.handle.close(timeout).await
    }
}

/// The deliveries, one after the other: [`poll`](OwnedShareConsumer::poll) without an end. An error is an item, and more may follow; after the
/// error that ends the consumer, or without a subscription, the stream ends, until another subscription.
///
/// Cancel-safe: `next` that is dropped has taken nothing. A stream that is not polled is a consumer that is not (`max.poll.interval.ms`).
///
/// ```no_run
/// use ackflow_client::share::OwnedShareConsumer;
/// use tokio_stream::StreamExt;
///
/// # async fn run(mut consumer: OwnedShareConsumer) -> Result<(), Box<dyn std::error::Error>> {
/// while let Some(delivery) = consumer.next().await {
///     delivery?.accept().await?;
/// }
/// # Ok(())
/// # }
/// ```
impl<K: Deserializer, V: Deserializer> Stream for OwnedShareConsumer<K, V> {
    type Item = Result<Delivery<K, V>, ClientError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.is_over() {
            return Poll::Ready(None);
        }
        self.poll_delivery(cx).map(Some)
    }
}
