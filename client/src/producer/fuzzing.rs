//! Sequences of what an application, a network and leaders of any kind do to the queue of a partition.

use std::collections::{BTreeSet, VecDeque};
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant as StdInstant};

use ackflow_protocol::fuzzing::{Input, LONGEST_INPUT, OPERATIONS};
use ackflow_protocol::records::{Batches, Compression, CompressionLevel, DEFAULT_DECOMPRESSION_LIMIT};
use ackflow_protocol::wire::Uuid;
use bytes::Bytes;
use tokio::sync::Semaphore;
use tokio::time::Instant;

use super::batch::{Batch, ProducerId};
use super::delivery::{Appended, DeliveryFuture};
use super::queue::{Append, Leader, Limits, Queue, Take, Verdict};
use super::record::ProducerRecord;
use crate::error::{ClientError, ErrorKind};
use crate::metrics::ProducerMetrics;
use crate::net::Backoff;

/// Batches that there is room for.
const ROOM: usize = 64;

/// Takes without a pause. More of them, and the queue gives out batches that it does not have.
const TAKES: usize = 1_000;

/// Target `producer_queue`: the first bytes choose the settings, each byte after them an operation: records come, batches
/// are taken, their leader appends them or says that it did, did not, or cannot, connections are cut, the leader moves,
/// time passes. `start` is any instant.
///
/// # Panics
/// Where more batches are in flight than may be; where the queue waits for a time that has passed; where a record ends
/// more than once or never, or is confirmed without being in the log; where a batch that is sent again has other bytes
/// under the same number; and, of an idempotent producer that never gives up, where a record is in the log twice, or out of
/// order, or without being confirmed. A leader refuses a producer id for good only where the producer knows of all that was
/// appended: what it cannot know comes again under another id, as with Kafka's own producer.
pub fn producer_queue(start: StdInstant, data: &[u8]) {
    let mut input = Input::new(&data[..data.len().min(LONGEST_INPUT)]);
    let mut world = World::new(Instant::from_std(start), &mut input);
    for _ in 0..OPERATIONS {
        if input.is_empty() {
            break;
        }
        world.operate(&mut input);
    }
    world.finish();
}

/// What a leader keeps of one producer, as in Kafka: the last five batches of the epoch. And the log.
#[derive(Default)]
struct Log {
    producer: Option<(i64, i16)>,
    known: VecDeque<(i32, i32)>,
    values: Vec<u64>,
}

impl Log {
    fn append(&mut self, records: &Bytes) -> Verdict {
        let (producer, first, values) = contents(records);
        let last = first.wrapping_add(values.len() as i32 - 1) & i32::MAX;
        if producer.0 >= 0 {
            let expected = match (self.producer, self.known.back()) {
                (Some(known), Some((_, last))) if known == producer => last.wrapping_add(1) & i32::MAX,
                (Some((id, epoch)), Some(_)) if id == producer.0 && epoch < producer.1 => 0,
                (Some((id, epoch)), Some(_)) if id == producer.0 && epoch > producer.1 => return fenced(),
                // A producer that the leader does not know may begin anywhere.
                _ => first,
            };
            if self.producer == Some(producer) && self.known.contains(&(first, last)) {
                return appended();
            }
            if first != expected {
                return out_of_sequence();
            }
            if self.producer != Some(producer) {
                self.known.clear();
            }
            self.producer = Some(producer);
            self.known.push_back((first, last));
            if self.known.len() > 5 {
                self.known.pop_front();
            }
        }
        self.values.extend(values);
        appended()
    }
}

/// Producer id and epoch, first sequence number, the values.
fn contents(records: &Bytes) -> ((i64, i16), i32, Vec<u64>) {
    let mut batches = Batches::new(records.clone());
    let batch = batches.next().expect("a batch").expect("a good header");
    assert!(batches.next().is_none() && batches.remaining() == 0, "one batch at a time");
    batch.verify_crc().expect("a good checksum");
    let producer = (batch.producer_id(), batch.producer_epoch());
    let first = batch.base_sequence();
    let batch = batch.decompress(DEFAULT_DECOMPRESSION_LIMIT).expect("what was compressed can be inflated");
    let value = |value: &[u8]| value.first_chunk().map(|value| u64::from_be_bytes(*value)).expect("a number");
    let values = batch.records().map(|record| value(record.expect("a good record").value.expect("a value"))).collect();
    (producer, first, values)
}

fn error(kind: ErrorKind) -> ClientError {
    ClientError::new(kind, "testing", "a reason")
}

fn appended() -> Verdict {
    Verdict::Appended(Appended { base_offset: Some(0), append_time: None })
}

fn again() -> Verdict {
    Verdict::Again(error(ErrorKind::Disconnected))
}

fn out_of_sequence() -> Verdict {
    Verdict::OutOfSequence(error(ErrorKind::Malformed))
}

fn fenced() -> Verdict {
    Verdict::Fenced(error(ErrorKind::Malformed))
}

/// Whether a batch that was sent before has the same bytes: its order, its number, its bytes.
type Numbered = (u64, (i64, i16, i32), Bytes);

struct World {
    limits: Arc<Limits>,
    queue: Queue,
    now: Instant,
    log: Log,
    producer: ProducerId,
    room: Arc<Semaphore>,
    deliveries: Vec<DeliveryFuture>,
    in_flight: VecDeque<Batch>,
    /// Values that were appended without an answer.
    untold: BTreeSet<u64>,
    /// The last few batches that were taken.
    sent: VecDeque<Numbered>,
    /// Whether a batch may have been given up that was sent.
    gave_up: bool,
    is_closed: bool,
}

impl World {
    fn new(now: Instant, input: &mut Input<'_>) -> Self {
        let limits = Arc::new(Limits {
            transactions: None,
            batch_size: input.pick(&[200, 100, 1_000]),
            linger: input.pick(&[Duration::ZERO, Duration::from_millis(50)]),
            compression: input.pick(&Compression::ALL),
            compression_level: CompressionLevel::default(),
            delivery_timeout: Duration::from_secs(input.pick(&[1 << 30, 1 << 30, 1 << 30, 120, 1])),
            retries: input.pick(&[i32::MAX as u32, i32::MAX as u32, i32::MAX as u32, 0, 2]),
            max_in_flight: input.pick(&[5, 1, 2]),
            idempotent: !input.once_in(4),
            backoff: Backoff::new(Duration::from_millis(100), Duration::from_secs(1)),
            metrics: Arc::new(ProducerMetrics::unwatched()),
        });
        let leader = Leader { node: 1, epoch: 0, topic_id: Uuid::default() };
        let queue = Queue::new("t".into(), 0, limits.clone(), leader, input.byte().into());
        Self {
            limits,
            queue,
            now,
            log: Log::default(),
            producer: ProducerId { id: 77, epoch: input.pick(&[0, 0, i16::MAX - 1]) },
            room: Arc::new(Semaphore::new(ROOM)),
            deliveries: Vec::new(),
            in_flight: VecDeque::new(),
            untold: BTreeSet::new(),
            sent: VecDeque::new(),
            gave_up: false,
            is_closed: false,
        }
    }

    fn operate(&mut self, input: &mut Input<'_>) {
        match input.below(16) {
            0..=3 => self.send(input),
            4 => self.queue.seal(self.now),
            5..=7 => self.take_all(input.once_in(2)),
            8 | 9 => {
                for _ in 0..=input.below(3) {
                    self.answer(Self::append);
                }
            }
            10 => {
                let was_appended = input.once_in(2);
                self.answer(|world, batch| {
                    if was_appended {
                        world.append_untold(batch);
                    }
                    again()
                });
            }
            11 => {
                // The connection is cut after the leader has got some of the requests.
                let got = input.below(self.in_flight.len() + 1);
                for index in 0..self.in_flight.len() {
                    self.answer(|world, batch| {
                        if index < got {
                            world.append_untold(batch);
                        }
                        again()
                    });
                }
            }
            12 => self.now += Duration::from_millis(input.pick(&[1, 50, 200, 1_000, 2_000, 119_000])),
            13 => {
                let node = input.pick(&[1, 2, 3, -1]);
                let epoch = self.queue.leader().epoch + input.pick(&[0, 1, -1]);
                self.queue.lead(Leader { node, epoch, ..self.queue.leader() });
            }
            14 => {
                let refused = input.pick(&[again, out_of_sequence, refused, fenced]);
                self.answer(|world, batch| {
                    // A leader that has a batch says so.
                    let (.., values) = contents(&batch.records);
                    if values.iter().any(|value| world.log.values.contains(value)) {
                        return world.append(batch);
                    }
                    match refused() {
                        Verdict::Fenced(_) if !world.untold.is_empty() => again(),
                        verdict => verdict,
                    }
                });
            }
            _ => match input.below(16) {
                0 => self.queue.lose_leader(),
                1 => self.queue.block(error(ErrorKind::Unreachable)),
                2 => self.queue.block_at_least(error(ErrorKind::Unreachable)),
                3 => {
                    self.gave_up = true;
                    self.queue.fail_all(self.now, &error(ErrorKind::Closed));
                }
                4 => {
                    self.gave_up = true;
                    self.is_closed = true;
                    self.queue.close(self.now, &error(ErrorKind::Closed));
                }
                _ => {}
            },
        }
    }

    fn send(&mut self, input: &mut Input<'_>) {
        let mut value = (self.deliveries.len() as u64).to_be_bytes().to_vec();
        value.resize(8 + input.pick(&[0, 30, 100, 300]), b'v');
        let record = ProducerRecord::new("t", value);
        let (now, may_move_on) = (self.now, input.once_in(8));
        let mut room = None;
        loop {
            let append = self.queue.append(&record, 1_000, || now, &mut room, may_move_on);
            match append.expect("a small record fits any batch") {
                Append::Queued { delivery, .. } => return self.deliveries.push(delivery),
                Append::NeedsRoom => match self.room.clone().try_acquire_owned() {
                    Ok(permit) => room = Some(permit),
                    Err(_) => return,
                },
                Append::MoveOn => {
                    assert!(may_move_on);
                    return;
                }
                Append::Closed => {
                    assert!(self.is_closed);
                    return;
                }
            }
        }
    }

    /// Takes what there is to send.
    fn take_all(&mut self, hurry: bool) {
        for _ in 0..TAKES {
            match self.queue.take(self.now, hurry, Some(self.producer)) {
                Take::Batch(batch) => self.sent(batch),
                Take::NeedsProducerId { other_than } => {
                    assert!(self.limits.idempotent && other_than == Some(self.producer.id), "{other_than:?}");
                    self.producer = ProducerId { id: self.producer.id + 1, epoch: 0 };
                }
                Take::Nothing(until) => {
                    assert!(until.is_none_or(|until| until > self.now), "a deadline has passed and was not acted on");
                    return;
                }
            }
        }
        panic!("there is no end of batches");
    }

    fn sent(&mut self, batch: Batch) {
        let ((id, epoch), sequence, values) = contents(&batch.records);
        assert_eq!(batch.count as usize, values.len());
        assert_eq!(self.limits.idempotent, id >= 0, "not numbered as it should be");
        assert_eq!(batch.sequence.unwrap_or(-1), sequence);
        let number = (id, epoch, sequence);
        let before = self.sent.iter().find(|(order, before, _)| (*order, *before) == (batch.order, number));
        assert!(before.is_none_or(|(.., records)| *records == batch.records), "other bytes under the same number");
        self.sent.push_back((batch.order, number, batch.records.clone()));
        if self.sent.len() > 16 {
            self.sent.pop_front();
        }
        // What a leader gets of one producer is one unbroken sequence, where none of it was done before.
        let is_new = |batch: &Batch| batch.attempts == 1;
        if let Some(last) = self.in_flight.back().filter(|last| id >= 0 && is_new(last) && is_new(&batch)) {
            let ((last_id, last_epoch), last_sequence, last_values) = contents(&last.records);
            let next = last_sequence.wrapping_add(last_values.len() as i32) & i32::MAX;
            assert_eq!((last_id, last_epoch, next), (id, epoch, sequence), "a hole in the sequence");
        }
        self.in_flight.push_back(batch);
        assert!(self.in_flight.len() <= self.limits.max_in_flight, "too many in flight");
    }

    /// The leader appends a batch, and says so.
    fn append(&mut self, batch: &Batch) -> Verdict {
        let (.., values) = contents(&batch.records);
        for value in &values {
            self.untold.remove(value);
        }
        self.log.append(&batch.records)
    }

    /// The leader may append a batch, and its answer is lost.
    fn append_untold(&mut self, batch: &Batch) {
        if matches!(self.log.append(&batch.records), Verdict::Appended(_)) {
            let (.., values) = contents(&batch.records);
            self.untold.extend(values);
        }
    }

    /// The oldest batch in flight has its answer.
    fn answer(&mut self, verdict: impl FnOnce(&mut Self, &Batch) -> Verdict) {
        if let Some(batch) = self.in_flight.pop_front() {
            let verdict = verdict(self, &batch);
            self.queue.resolve(self.now, batch, verdict);
        }
    }

    /// The leader answers well from now on, for as long as it takes.
    fn finish(mut self) {
        self.queue.lead(Leader { node: 1, ..self.queue.leader() });
        for _ in 0..TAKES {
            self.take_all(true);
            if self.in_flight.is_empty() && self.queue.rest() {
                break;
            }
            while !self.in_flight.is_empty() {
                self.answer(Self::append);
            }
            self.now += Duration::from_secs(2);
        }
        assert!(self.queue.rest(), "records are left: {:?}", self.queue);
        assert_eq!(self.queue.incomplete().count(), 0);
        assert_eq!(self.room.available_permits(), ROOM, "room is lost");

        let outcomes: Vec<_> = self.deliveries.into_iter().map(|delivery| outcome(delivery).is_ok()).collect();
        let confirmed: Vec<u64> = (0..).zip(&outcomes).filter(|(_, ok)| **ok).map(|(value, _)| value).collect();
        for value in &confirmed {
            assert!(self.log.values.contains(value), "{value} is confirmed, and is not in the log");
        }
        let gives_up =
            self.gave_up || self.limits.retries < 100 || self.limits.delivery_timeout < Duration::from_secs(1 << 20);
        if self.limits.idempotent && !gives_up {
            assert_eq!(self.log.values, confirmed);
        }
    }
}

fn refused() -> Verdict {
    Verdict::Refused(error(ErrorKind::Invalid))
}

fn outcome(delivery: DeliveryFuture) -> Result<(), ClientError> {
    match pin!(delivery).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(outcome) => outcome.map(drop),
        Poll::Pending => panic!("a record that never ends"),
    }
}
