//! What became of a batch, and the futures that wait for it: one a record, which cost no allocation.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
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

/// A place that holds the outcome of a batch as soon as there is one.
#[derive(Debug)]
pub(super) struct Completion {
    topic: Arc<str>,
    partition: i32,
    state: Mutex<State>,
}

#[derive(Debug)]
enum State {
    /// By future, whom to wake.
    Waiting(Vec<Waker>),
    Done(Outcome),
}

impl Completion {
    /// Whether there is an outcome.
    pub(super) fn is_done(&self) -> bool {
        matches!(*self.lock(), State::Done(_))
    }

    fn complete(&self, outcome: Outcome) {
        let waiting = match &mut *self.lock() {
            State::Done(_) => return,
            state => std::mem::replace(state, State::Done(outcome)),
        };
        if let State::Waiting(wakers) = waiting {
            wakers.into_iter().for_each(Waker::wake);
        }
    }

    /// `slot` is where the caller's waker is, once it has one.
    fn poll(&self, slot: &mut Option<usize>, cx: &Context<'_>) -> Poll<Outcome> {
        match &mut *self.lock() {
            State::Done(outcome) => return Poll::Ready(outcome.clone()),
            State::Waiting(wakers) => match *slot {
                Some(at) => wakers[at].clone_from(cx.waker()),
                None => {
                    *slot = Some(wakers.len());
                    wakers.push(cx.waker().clone());
                }
            },
        }
        Poll::Pending
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // No code that holds the lock can panic halfway through a change.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The duty to say what became of a batch. Dropped without a word, it says that the producer was closed.
#[derive(Debug)]
pub(super) struct Promise(Arc<Completion>);

impl Promise {
    pub(super) fn new(topic: Arc<str>, partition: i32) -> Self {
        Self(Arc::new(Completion { topic, partition, state: Mutex::new(State::Waiting(Vec::new())) }))
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

/// Waits for one record to be confirmed by the broker. It is safe to drop: the record is sent all the same.
#[derive(Debug)]
#[must_use = "a record that was not awaited may be lost without notice"]
pub struct DeliveryFuture {
    completion: Arc<Completion>,
    /// The record's place in its batch.
    index: i32,
    timestamp: i64,
    slot: Option<usize>,
}

impl DeliveryFuture {
    pub(super) fn new(completion: Arc<Completion>, index: i32, timestamp: i64) -> Self {
        Self { completion, index, timestamp, slot: None }
    }
}

impl Future for DeliveryFuture {
    type Output = Result<DeliveryReport, ClientError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        let completion = &this.completion;
        completion.poll(&mut this.slot, cx).map_ok(|appended| DeliveryReport {
            topic: completion.topic.clone(),
            partition: completion.partition,
            offset: appended.base_offset.map(|base| base + i64::from(this.index)),
            timestamp: appended.append_time.unwrap_or(this.timestamp),
        })
    }
}

/// Waits for a whole batch.
#[derive(Debug)]
pub(super) struct BatchFuture {
    completion: Arc<Completion>,
    slot: Option<usize>,
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
            assert_eq!((report.partition, report.offset, report.timestamp), (3, Some(1000 + index as i64), 70));
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
