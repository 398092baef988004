//! What happens to batches after they were sent: answers, failures, and the mending of the sequence.

use std::collections::VecDeque;

use tokio::time::Instant;

use super::{Break, Queue, Verdict};
use crate::error::ClientError;
use crate::producer::batch::{Batch, ProducerId};

impl Queue {
    /// Takes over what a broker's answer, or the lack of one, means for a batch that was taken.
    pub(in crate::producer) fn resolve(&mut self, now: Instant, mut batch: Batch, verdict: Verdict) {
        self.in_flight -= 1;
        self.sent_again -= usize::from(batch.attempts > 1);
        match verdict {
            Verdict::Appended(appended) => {
                self.failures = 0;
                self.established = true;
                batch.appended(appended);
            }
            Verdict::Again(error) => {
                self.draining = true;
                batch.last_error = Some(error);
                self.returned.push(batch);
            }
            // The transaction is aborted, and the next one begins its sequence anew.
            Verdict::OutOfSequence(error) if self.limits.transactions.is_some() && !self.draining => {
                self.draining = true;
                self.give_up(batch, error);
            }
            Verdict::OutOfSequence(error) => {
                // Where an earlier batch failed too, it is what the broker misses, and comes again first.
                if !self.draining {
                    self.break_sequence(batch.order);
                }
                self.draining = true;
                batch.last_error = Some(error);
                self.returned.push(batch);
            }
            Verdict::Refused(error) => {
                self.break_sequence(batch.order);
                self.draining = true;
                self.give_up(batch, error);
            }
            Verdict::Fenced(error) => {
                self.broken = Some(Break { at: 0, id_is_refused: true });
                self.draining = true;
                self.give_up(batch, error);
            }
        }
        self.settle(now);
        self.mend();
    }

    fn give_up(&self, batch: Batch, error: ClientError) {
        self.limits.metrics.failed(batch.count);
        if let Some(transactions) = &self.limits.transactions {
            transactions.batch_failed(&error, batch.sequence.is_some());
        }
        batch.failed(error);
    }

    fn break_sequence(&mut self, order: u64) {
        let broken = self.broken.get_or_insert(Break { at: order, id_is_refused: false });
        broken.at = broken.at.min(order);
    }

    /// Once nothing is in flight, puts what came back into the queue again.
    fn settle(&mut self, now: Instant) {
        if !self.draining || self.in_flight > 0 {
            return;
        }
        self.draining = false;
        let mut returned = std::mem::take(&mut self.returned);
        returned.sort_unstable_by_key(|batch| batch.order);
        if !returned.is_empty() {
            self.failures = self.failures.saturating_add(1);
            self.retry_at = Some(now + self.limits.backoff.pause(self.failures, self.random.next_u64()));
        }
        for batch in returned.into_iter().rev() {
            if batch.attempts > self.limits.retries {
                self.break_sequence(batch.order);
                let error = batch.last_error.clone().expect("a batch comes back with an error");
                self.give_up(batch, error);
            } else {
                self.sealed.push_front(batch);
            }
        }
        self.expire(now);
    }

    /// Fails what has waited too long. A batch that was sent is only given up while nothing is in flight: its number is
    /// missing in the sequence from then on.
    pub(in crate::producer) fn expire(&mut self, now: Instant) {
        if self.open.as_ref().is_some_and(|open| now >= open.since + self.limits.delivery_timeout) {
            self.seal(now);
        }
        let timeout = self.limits.delivery_timeout.as_millis();
        let mut kept = VecDeque::new();
        while let Some(batch) = self.sealed.pop_front() {
            let was_sent = batch.attempts > 0;
            if now < batch.deadline {
                // Those behind are younger.
                kept.push_back(batch);
                break;
            }
            if was_sent && self.in_flight > 0 {
                kept.push_back(batch);
                continue;
            }
            if batch.sequence.is_some() {
                self.break_sequence(batch.order);
            }
            let error = batch.expiry(timeout, self.blocked.as_ref());
            self.give_up(batch, error);
        }
        while let Some(batch) = kept.pop_back() {
            self.sealed.push_front(batch);
        }
        self.mend();
    }

    /// Begins a new sequence where the old one is broken and nothing of it is under way.
    fn mend(&mut self) {
        let Some(Break { at, id_is_refused }) = self.broken else {
            return;
        };
        let comes_before = |batch: &Batch| batch.order < at;
        if self.in_flight > 0 || self.draining || self.sealed.front().is_some_and(comes_before) {
            return;
        }
        self.broken = None;
        if self.limits.transactions.is_some() {
            // The transaction cannot be committed any more, and the next one has another epoch.
            return;
        }
        let Some(producer) = self.producer.take() else {
            return;
        };
        match producer.epoch.checked_add(1) {
            Some(epoch) if !id_is_refused => self.producer = Some(ProducerId { epoch, ..producer }),
            _ => self.refused = Some(producer.id),
        }
        self.next_sequence = 0;
        self.established = false;
        self.sealed.iter_mut().for_each(|batch| batch.sequence = None);
        tracing::debug!(topic = &*self.topic, partition = self.partition, producer = ?self.producer, "new sequence");
    }

    /// Fails everything that is not in flight.
    pub(in crate::producer) fn fail_all(&mut self, now: Instant, error: &ClientError) {
        self.seal(now);
        for batch in std::mem::take(&mut self.sealed).into_iter().chain(std::mem::take(&mut self.returned)) {
            if batch.sequence.is_some() {
                self.break_sequence(batch.order);
            }
            self.give_up(batch, error.clone());
        }
        self.mend();
    }

    /// Takes no more records, and fails those that are not in flight.
    pub(in crate::producer) fn close(&mut self, now: Instant, error: &ClientError) {
        self.closed = true;
        self.fail_all(now, error);
    }
}
