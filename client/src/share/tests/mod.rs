//! Tests of the parts of a share consumer, without a broker.

mod connections;
mod consumer;
mod for_each;
mod keys;
mod owned;
mod parts;
mod unread;

use std::sync::Arc;
use std::time::{Duration, Instant};

use ackflow_protocol::machine::{AckRange, AcquiredRange, Acquisition, SessionId, TopicIdPartition};
use ackflow_protocol::records::{BatchBuilder, BatchOptions, Batches, RecordBatch, assign_offsets};
use ackflow_protocol::wire::{ErrorCode, Uuid};
use bytes::Bytes;
use tokio::sync::{mpsc, watch};

use super::acks::AckError;
use super::config::ShareConsumerConfig;
use super::driver::Status;
use super::handle::Handle;
use super::link::{Acknowledgement, Command, Link, Notice};
use super::lock::Grip;
use super::part::Part;
use crate::metrics::ShareMetrics;

const LOCK: Duration = Duration::from_secs(30);

/// The bytes of a batch of `count` records from `first` on, whose values are their offsets.
fn batch(first: i64, count: i64) -> Vec<u8> {
    let mut builder = BatchBuilder::new(BatchOptions { max_size: usize::MAX, ..BatchOptions::default() });
    for offset in first..first + count {
        builder.try_append(1_000 + offset, None, Some(&offset.to_be_bytes()), []).unwrap().unwrap();
    }
    let mut bytes = builder.build().unwrap().to_vec();
    assign_offsets(&mut bytes, first, 0).unwrap();
    bytes
}

/// A batch whose last two records cannot be read.
fn malformed(first: i64, count: i64) -> Vec<u8> {
    let mut bytes = batch(first, count);
    // The last two records: 15 bytes each with their length. The length of the first of them says too much.
    let end = bytes.len();
    bytes[end - 30] = 0x7e;
    bytes
}

fn batches(bytes: Vec<u8>) -> Vec<RecordBatch> {
    Batches::new(Bytes::from(bytes)).map(Result::unwrap).collect()
}

fn acquisition(ranges: &[(i64, i64)], batches: Vec<RecordBatch>, now: Instant) -> Part {
    acquired_in(&Grip::default(), ranges, batches, now)
}

/// What a session acquired that may lose it.
fn acquired_in(grip: &Grip, ranges: &[(i64, i64)], batches: Vec<RecordBatch>, now: Instant) -> Part {
    let ranges: Vec<_> = ranges.iter().map(|&(first, last)| AcquiredRange { first, last, delivery_count: 1 }).collect();
    let acquisition = Acquisition {
        topic: Arc::from("orders"),
        topic_partition: TopicIdPartition { topic_id: Uuid([1; 16]), partition: 3 },
        session: SessionId { node: 1, incarnation: 1 },
        number: 1,
        lock_timeout: LOCK,
        lock_deadline: now + LOCK,
        records: super::ranges::count(&ranges),
        ranges,
        batches,
    };
    Part::new(acquisition, grip.clone())
}

/// The driver's end of a consumer, played by the test.
struct FakeDriver {
    commands: mpsc::UnboundedReceiver<Command>,
    notices: mpsc::UnboundedSender<Notice>,
    waiting: Vec<Acknowledgement>,
}

/// What the driver was told, in short.
#[derive(Debug, PartialEq, Eq)]
enum Told {
    Taken(u32),
    Acknowledged(Vec<(i64, i64, i8)>),
    /// With these verdicts, which must not come before it.
    Commit(Vec<(i64, i64, i8)>),
}

impl FakeDriver {
    fn new() -> (Handle, Self) {
        let (link, commands) = Link::new();
        let (notices, receiver) = mpsc::unbounded_channel();
        let config = ShareConsumerConfig::builder("localhost:9092", "g").max_poll_records(10).build().unwrap();
        let metrics = Arc::new(ShareMetrics::watch(&mut config.client.clone()));
        let (_, status) = watch::channel(Status::default());
        let handle = Handle::new(&config, "m".to_owned(), link, (receiver, status), metrics, None);
        (handle, Self { commands, notices, waiting: Vec::new() })
    }

    /// Acquires `count` records from `first` on.
    fn acquire(&self, first: i64, count: i64) {
        self.acquire_bytes(first, count, batch(first, count));
    }

    fn acquire_bytes(&self, first: i64, count: i64, bytes: Vec<u8>) {
        let part = acquisition(&[(first, first + count - 1)], batches(bytes), Instant::now());
        self.notices.send(Notice::Acquired(part)).unwrap();
    }

    fn told(&mut self) -> Vec<Told> {
        let mut told = Vec::new();
        while let Ok(command) = self.commands.try_recv() {
            match command {
                Command::Taken { records, .. } => told.push(Told::Taken(records)),
                Command::Commit { verdicts, .. } => {
                    let ranges = verdicts.into_iter().flat_map(|verdict| self.ranges(verdict));
                    told.push(Told::Commit(ranges.collect()));
                }
                Command::Acknowledge(verdict) => told.push(Told::Acknowledged(self.ranges(verdict))),
                Command::Subscribe(_) | Command::Polled | Command::Working | Command::Report | Command::Keep { .. } => {
                }
                other => panic!("unexpected {other:?}"),
            }
        }
        told
    }

    fn ranges(&mut self, verdict: Acknowledgement) -> Vec<(i64, i64, i8)> {
        let short = |range: &AckRange| (range.first, range.last, range.ack as i8);
        let ranges = verdict.ranges.iter().map(short).collect();
        if verdict.answer.is_some() {
            self.waiting.push(verdict);
        }
        ranges
    }

    /// Answers every acknowledgement that somebody waits for.
    fn answer(&mut self, result: Result<(), ErrorCode>) {
        for Acknowledgement { source, ranges, answer, renewed } in self.waiting.drain(..) {
            if let (Some(renewed), Ok(())) = (renewed, result) {
                renewed.set(Instant::now() + 2 * LOCK).unwrap();
            }
            let failed = |code| AckError::Failed { partition: source.partition(), failed: ranges.clone(), code };
            answer.unwrap().send(result.map_err(failed)).unwrap();
        }
    }
}
