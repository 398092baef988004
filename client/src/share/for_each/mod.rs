//! A handler for each record, many at a time.

mod held;
mod lot;
mod outcome;
mod slots;
mod work;

use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::Pin;

use ackflow_protocol::machine::AutoRenew;

pub use held::HeldRecord;
pub use outcome::{ForEachError, HandlerError, HandlerFailure, HandlerOutput, Outcome};

use self::outcome::BoxError;
use self::work::Work;
use super::owned::OwnedShareConsumer;
use crate::deserialize::{ByteArrayDeserializer, Deserializer};

type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Where dead letters go.
type DeadLetters<'a, K, V> = Box<dyn FnMut(HeldRecord<K, V>) -> BoxFuture<'a, Result<(), BoxError>> + Send + 'a>;

/// What [`OwnedShareConsumer::for_each_concurrent`] is about to do; [`run`](Self::run) does it.
#[must_use = "nothing is handled until `run`"]
pub struct ForEach<'a, H, K = ByteArrayDeserializer, V = ByteArrayDeserializer> {
    consumer: &'a mut OwnedShareConsumer<K, V>,
    limit: usize,
    handler: H,
    settings: Settings<'a, K, V>,
}

struct Settings<'a, K, V> {
    dead_letters: Option<DeadLetters<'a, K, V>>,
    until: Option<BoxFuture<'a, ()>>,
    renew: AutoRenew,
    stop_on_error: bool,
}

impl<'a, H, K: Deserializer, V: Deserializer> ForEach<'a, H, K, V> {
    pub(super) fn new(consumer: &'a mut OwnedShareConsumer<K, V>, limit: usize, handler: H) -> Self {
        let settings = Settings { dead_letters: None, until: None, renew: AutoRenew::default(), stop_on_error: false };
        Self { consumer, limit, handler, settings }
    }

    /// Where records go of which the handler says [`Outcome::DeadLetter`]: `sink` writes a record, and only when that went well the record is
    /// accepted; else it is released. The time that this takes counts as the handler's.
    ///
    /// Without a sink such a record is rejected. The broker then writes it to the dead letter queue of the group, where there is one (KIP-1191:
    /// `share.version` 2, and `errors.deadletterqueue.topic.name` of the group), and archives it in any case.
    pub fn dead_letters<S, F, E>(mut self, mut sink: S) -> Self
    where
        S: FnMut(HeldRecord<K, V>) -> F + Send + 'a,
        F: Future<Output = Result<(), E>> + Send + 'a,
        E: Into<BoxError>,
    {
        self.settings.dead_letters = Some(Box::new(move |record| {
            let written = sink(record);
            Box::pin(async { written.await.map_err(Into::into) })
        }));
        self
    }

    /// When to end: once `end` completes, such as `token.cancelled()` of a cancellation token, or a signal.
    pub fn until<T>(mut self, end: impl Future<Output = T> + Send + 'a) -> Self {
        self.settings.until = Some(Box::pin(async {
            end.await;
        }));
        self
    }

    /// How the locks of all records that are being handled, or wait for it, are renewed; by default for five minutes at most.
    pub fn renew(mut self, renew: AutoRenew) -> Self {
        self.settings.renew = renew;
        self
    }

    /// Ends after the first handler that fails or panics, and the first dead letter that cannot be written, with that error. Without this they
    /// are logged, and their records released.
    pub fn stop_on_error(mut self) -> Self {
        self.settings.stop_on_error = true;
        self
    }

    /// Handles records until the end that [`until`](Self::until) says, an error that ends the consumer, or one that
    /// [`stop_on_error`](Self::stop_on_error) is about. It then takes no more records, releases those that no handler has (also those that wait
    /// to be tried again), lets the handlers that run finish, and waits until the broker has answered to all that was settled. The consumer can
    /// be used again, or closed.
    ///
    /// Cancel-safe: when this is dropped, so are the handlers that run, and their records are released with all that none has finished. What
    /// handlers have finished with is settled as they said. Nothing is lost, and nothing is accepted whose handler was not done.
    ///
    /// # Errors
    /// [`ForEachError::Consumer`] for an error that ends the consumer, a missing subscription, and acknowledgements that are not answered within
    /// `request.timeout.ms`; passing errors of [`OwnedShareConsumer::poll`] are logged. [`ForEachError::Handler`] with
    /// [`stop_on_error`](Self::stop_on_error).
    pub async fn run<F>(self) -> Result<(), ForEachError>
    where
        H: FnMut(HeldRecord<K, V>) -> F,
        F: Future<Output: HandlerOutput>,
    {
        let Self { consumer, limit, handler, settings } = self;
        let mut work = Work::new(&mut *consumer, limit, handler, settings);
        let ended = poll_fn(|cx| work.poll(cx)).await;
        drop(work);
        let committed = consumer.settle_all().await;
        ended?;
        committed?;
        Ok(())
    }
}

impl<H, K, V> fmt::Debug for ForEach<'_, H, K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { limit, settings: Settings { renew, stop_on_error, .. }, .. } = self;
        f.debug_struct("ForEach")
            .field("limit", limit)
            .field("renew", renew)
            .field("stop_on_error", stop_on_error)
            .finish_non_exhaustive()
    }
}
