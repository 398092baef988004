//! A batch of records on its way to a broker.

use ackflow_protocol::records::assign_sequence;
use bytes::{Bytes, BytesMut};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Instant;

use super::delivery::{Appended, Outcome, Promise};
use crate::error::{ClientError, ErrorKind};

/// The id and epoch by which brokers recognise an idempotent producer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ProducerId {
    pub(super) id: i64,
    pub(super) epoch: i16,
}

/// A batch that takes no more records. Its bytes stay the same over all attempts, so that the broker can tell that a batch
/// came twice.
#[derive(Debug)]
pub(super) struct Batch {
    pub(super) records: Bytes,
    pub(super) count: i32,
    /// Its place among the batches of its partition.
    pub(super) order: u64,
    /// The sequence number of its first record; none before the first attempt, or where the producer is not idempotent.
    pub(super) sequence: Option<i32>,
    /// How often it was sent.
    pub(super) attempts: u32,
    /// When it is given up.
    pub(super) deadline: Instant,
    /// Why the last attempt failed.
    pub(super) last_error: Option<ClientError>,
    pub(super) promise: Promise,
    /// Its part of `buffer.memory`, which comes free with it.
    pub(super) room: OwnedSemaphorePermit,
}

impl Batch {
    /// Numbers the records.
    pub(super) fn assign(&mut self, producer: ProducerId, sequence: i32) {
        // Copies only where a frame still holds the bytes, which is over when a batch is numbered anew.
        let mut records = BytesMut::from(std::mem::take(&mut self.records));
        assign_sequence(&mut records, producer.id, producer.epoch, sequence)
            .expect("a batch that was built has a header");
        self.records = records.freeze();
        self.sequence = Some(sequence);
    }

    pub(super) fn appended(self, appended: Appended) {
        self.end(Ok(appended));
    }

    pub(super) fn failed(self, error: ClientError) {
        self.end(Err(error));
    }

    /// The error of one whose time is over.
    pub(super) fn expiry(&self, delivery_timeout_ms: u128, why: Option<&ClientError>) -> ClientError {
        let attempts = match self.attempts {
            0 => "it was never sent".to_owned(),
            1 => "it was sent once and may have been written".to_owned(),
            n => format!("it was sent {n} times and may have been written"),
        };
        let told =
            |what, error: Option<&ClientError>| error.map(|error| format!("; {what}: {error}")).unwrap_or_default();
        let (last, now) = (told("last error", self.last_error.as_ref()), told("since then", why));
        let reason = format!("not confirmed within delivery.timeout.ms={delivery_timeout_ms}: {attempts}{last}{now}");
        ClientError::new(ErrorKind::TimedOut, "producing", reason)
            .remedy("check that the partition has a leader that can be reached, or raise delivery.timeout.ms")
    }

    fn end(self, outcome: Outcome) {
        let Self { promise, room, .. } = self;
        drop(room);
        promise.keep(outcome);
    }
}

/// The sequence number `count` records later; after the largest comes 0.
pub(super) fn sequence_after(sequence: i32, count: i32) -> i32 {
    (sequence.wrapping_add(count)) & i32::MAX
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequence_numbers_wrap_to_zero() {
        assert_eq!(sequence_after(5, 3), 8);
        assert_eq!(sequence_after(i32::MAX, 1), 0);
        assert_eq!(sequence_after(i32::MAX - 1, 5), 3);
    }
}
