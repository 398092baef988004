//! What became of a batch, and the futures that wait for it: one a record, which cost no allocation.

use std::future::Future;
use std::num::NonZeroU32;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::{Context, Poll, Waker};

use super::record::DeliveryReport;
use crate::error::{ClientError, ErrorKind};

/// Where a batch is in its partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Appended {
    /// The offset of the first record; `None` where the broker does not say.
    pub(super) base_offset: Option<i64>,
    /// The time that the broker gave to all records, where the topic wants that.
    pub(super) append_time: Option<i64>,
}

/// What became of a batch.
pub(super) type Outcome = Result<Appended, ClientError>;

/// The number of a future's waker, once it has one.
type Slot = Option<NonZeroU32>;

/// A place that holds the outcome of a batch as soon as there is one. Then reading it takes no lock.
#[derive(Debug)]
pub(super) struct Completion {
    topic: Arc<str>,
    partition: i32,
    outcome: OnceLock<Outcome>,
    /// By future, whom to wake. Who adds itself looks for the outcome with the lock held, and who has set the outcome wakes all after that.
    waiting: Mutex<Vec<Waker>>,
}

impl Completion {
    pub(super) fn topic(&self) -> &str {
        &self.topic
    }

    /// Whether there is an outcome.
    pub(super) fn is_done(&self) -> bool {
        self.outcome.get().is_some()
    }

    fn complete(&self, outcome: Outcome) {
        if self.outcome.set(outcome).is_ok() {
            let waiting = std::mem::take(&mut *self.lock());
            waiting.into_iter().for_each(Waker::wake);
        }
    }

    /// `slot` is where the caller's waker is, once it has one.
    fn poll(&self, slot: &mut Slot, cx: &Context<'_>) -> Poll<Outcome> {
        if let Some(outcome) = self.outcome.get() {
            return Poll::Ready(outcome.clone());
        }
        let mut waiting = self.lock();
        if let Some(outcome) = self.outcome.get() {
            return Poll::Ready(outcome.clone());
        }
        match slot.and_then(|number| waiting.get_mut(number.get() as usize - 1)) {
            Some(waker) => waker.clone_from(cx.waker()),
            None => {
                waiting.push(cx.waker().clone());
                *slot = u32::try_from(waiting.len()).ok().and_then(NonZeroU32::new);
            }
        }
        Poll::Pending
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Waker>> {
        // No code that holds the lock can panic halfway through a change.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The duty to say what became of a batch. Dropped without a word, it says that the producer was closed.
#[derive(Debug)]
pub(super) struct Promise(Arc<Completion>);

impl Promise {
    pub(super) fn new(topic: Arc<str>, partition: i32) -> Self {
        Self(Arc::new(Completion { topic, partition, outcome: OnceLock::new(), waiting: Mutex::default() }))
    }

    pub(super) fn completion(&self) -> &Arc<Completion> {
        &self.0
    }

    pub(super) fn keep(self, outcome: Outcome) {
        self.0.complete(outcome);
    }
}

impl Drop for Promise {
    fn drop(&mut self) {
        if !self.0.is_done() {
            self.0.complete(Err(ClientError::new(
                ErrorKind::Closed,
                format!("producing to {}-{}", self.0.topic, self.0.partition),
                "the producer was closed before the broker had confirmed the records",
            )));
        }
    }
}

/// Waits for one record to be confirmed by the broker. It is safe to drop: the record is sent all the same. As other futures, it may not be polled after
/// it has given its result.
#[derive(Debug)]
#[must_use = "a record that was not awaited may be lost without notice"]
pub struct DeliveryFuture {
    /// Until it is done.
    completion: Option<Arc<Completion>>,
    timestamp: i64,
    /// The record's place in its batch.
    index: i32,
    slot: Slot,
}

impl DeliveryFuture {
    pub(super) fn new(completion: Arc<Completion>, index: i32, timestamp: i64) -> Self {
        Self { completion: Some(completion), timestamp, index, slot: None }
    }
}

impl Future for DeliveryFuture {
    type Output = Result<DeliveryReport, ClientError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        let Some(batch) = this.completion.take() else {
            panic!("a delivery that was reported is awaited again");
        };
        match batch.poll(&mut this.slot, cx) {
            Poll::Ready(outcome) => Poll::Ready(outcome.map(|appended| DeliveryReport {
                partition: batch.partition,
                offset: appended.base_offset.map(|base| base + i64::from(this.index)),
                timestamp: appended.append_time.unwrap_or(this.timestamp),
                batch,
            })),
            Poll::Pending => {
                this.completion = Some(batch);
                Poll::Pending
            }
        }
    }
}

/// Waits for a whole batch.
#[derive(Debug)]
pub(super) struct BatchFuture {
    completion: Arc<Completion>,
    slot: Slot,
}

impl BatchFuture {
    pub(super) fn new(completion: Arc<Completion>) -> Self {
        Self { completion, slot: None }
    }
}

impl Future for BatchFuture {
    type Output = Outcome;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Outcome> {
        let this = self.get_mut();
        this.completion.poll(&mut this.slot, cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn every_record_of_a_batch_learns_its_offset_also_when_asked_late() {
        let promise = Promise::new("t".into(), 3);
        let deliveries: Vec<_> =
            (0..100).map(|index| DeliveryFuture::new(promise.completion().clone(), index, 70)).collect();
        let waiting: Vec<_> = deliveries.into_iter().map(tokio::spawn).collect();
        let late = DeliveryFuture::new(promise.completion().clone(), 100, 70);
        tokio::task::yield_now().await;
        promise.keep(Ok(Appended { base_offset: Some(1000), append_time: None }));
        for (index, delivery) in waiting.into_iter().enumerate() {
            let report = delivery.await.unwrap().unwrap();
            assert_eq!((report.topic(), report.partition), ("t", 3));
            assert_eq!((report.offset, report.timestamp), (Some(1000 + index as i64), 70));
        }
        assert_eq!(late.await.unwrap().offset, Some(1100));
    }

    #[tokio::test]
    async fn a_promise_that_is_dropped_fails_its_records() {
        let promise = Promise::new("t".into(), 3);
        let delivery = DeliveryFuture::new(promise.completion().clone(), 0, 0);
        drop(promise);
        let error = delivery.await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Closed);
        assert!(error.to_string().contains("t-3"), "{error}");
    }
}
