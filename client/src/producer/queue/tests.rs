//! The queue against a model of what a partition leader keeps of a producer, with faults at random.

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use ackflow_protocol::records::Batches;
use bytes::Bytes;
use tokio::sync::Semaphore;

use super::*;
use crate::error::Fault;
use crate::producer::DeliveryReport;

const PRODUCER: ProducerId = ProducerId { id: 77, epoch: 0 };
const DELIVERY_TIMEOUT: Duration = Duration::from_secs(120);

fn queue(limits: impl FnOnce(&mut Limits)) -> Queue {
    let mut of = Limits {
        transactions: None,
        batch_size: 200,
        linger: Duration::ZERO,
        compression: Compression::None,
        compression_level: CompressionLevel::default(),
        delivery_timeout: DELIVERY_TIMEOUT,
        retries: i32::MAX as u32,
        max_in_flight: 5,
        idempotent: true,
        backoff: Backoff::new(Duration::from_millis(100), Duration::from_secs(1)),
        metrics: Arc::new(ProducerMetrics::unwatched()),
    };
    limits(&mut of);
    Queue::new("t".into(), 0, Arc::new(of), Leader { node: 1, epoch: 0, topic_id: Uuid::default() }, 1)
}

fn send(queue: &mut Queue, now: Instant, value: &str) -> DeliveryFuture {
    let record = ProducerRecord::new("t", value.to_owned());
    let mut room = None;
    loop {
        match queue.append(&record, 0, || now, &mut room, false).unwrap() {
            Append::Queued { delivery, .. } => return delivery,
            Append::NeedsRoom => {
                let plenty = Arc::new(Semaphore::new(1));
                room = Some(plenty.try_acquire_owned().unwrap());
            }
            other => panic!("{other:?}"),
        }
    }
}

/// One batch a record.
fn send_alone(queue: &mut Queue, now: Instant, value: &str) -> DeliveryFuture {
    let delivery = send(queue, now, value);
    queue.seal(now);
    delivery
}

fn take(queue: &mut Queue, now: Instant) -> Option<Batch> {
    match queue.take(now, false, Some(PRODUCER)) {
        Take::Batch(batch) => Some(batch),
        Take::Nothing(_) => None,
        Take::NeedsProducerId { .. } => panic!("a producer id was given"),
    }
}

fn outcome(delivery: DeliveryFuture) -> Option<Result<DeliveryReport, ClientError>> {
    match pin!(delivery).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(outcome) => Some(outcome),
        Poll::Pending => None,
    }
}

/// Producer id, epoch, sequence number, values.
fn contents(records: &Bytes) -> (i64, i16, i32, Vec<String>) {
    let batch = Batches::new(records.clone()).next().unwrap().unwrap();
    batch.verify_crc().unwrap();
    let value = |value: Option<&[u8]>| String::from_utf8(value.unwrap().to_vec()).unwrap();
    let values = batch.records().map(|record| value(record.unwrap().value)).collect();
    (batch.producer_id(), batch.producer_epoch(), batch.base_sequence(), values)
}

fn again() -> Verdict {
    Verdict::Again(ClientError::new(ErrorKind::Disconnected, "testing", "cut"))
}

fn out_of_sequence() -> Verdict {
    Verdict::OutOfSequence(ClientError::new(ErrorKind::Malformed, "testing", "45"))
}

fn refused() -> Verdict {
    Verdict::Refused(ClientError::new(ErrorKind::Invalid, "testing", "refused"))
}

fn appended() -> Verdict {
    Verdict::Appended(Appended { base_offset: Some(0), append_time: None })
}

/// What a leader keeps of one producer, as in Kafka: the last five batches of the epoch.
#[derive(Default)]
struct Log {
    epoch: i16,
    known: Vec<(i32, i32)>,
    values: Vec<String>,
    /// Whether it refuses batches with a value that ends in 7.
    refuses: bool,
}

impl Log {
    fn append(&mut self, records: &Bytes) -> Verdict {
        let (_, epoch, first, values) = contents(records);
        if self.refuses && values.iter().any(|value| value.ends_with('7')) {
            return refused();
        }
        let last = first + values.len() as i32 - 1;
        if self.known.contains(&(first, last)) && epoch == self.epoch {
            return appended();
        }
        let expected = match self.known.last() {
            Some((_, last)) if epoch == self.epoch => last + 1,
            Some(_) if epoch > self.epoch => 0,
            // Too old an epoch.
            Some(_) => return Verdict::Fenced(ClientError::new(ErrorKind::Malformed, "testing", "47")),
            // A producer that the leader does not know may begin anywhere.
            None => first,
        };
        if first != expected {
            return out_of_sequence();
        }
        if epoch != self.epoch {
            self.known.clear();
        }
        self.epoch = epoch;
        self.known.push((first, last));
        if self.known.len() > 5 {
            self.known.remove(0);
        }
        self.values.extend(values);
        appended()
    }
}

struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }
}

// Mutation: client/src/producer/queue/mod.rs
// - if let (Some(producer), None) = (self.producer, batch.sequence) {
// + if let Some(producer) = self.producer {
/// Lost requests, lost answers, cut connections, errors before and after the append, batches that the leader refuses: every
/// record that was not refused is in the log once and in order.
#[test]
fn row_60_whatever_is_lost_each_record_is_written_once_and_in_order() {
    for seed in 0..400 {
        let mut random = Random(seed);
        let mut now = Instant::now();
        let mut queue = queue(|limits| limits.delivery_timeout = Duration::from_secs(1 << 30));
        let mut log = Log { refuses: seed % 2 == 1, ..Log::default() };
        let mut deliveries = Vec::new();
        let mut in_flight: VecDeque<Batch> = VecDeque::new();
        for step in 0..600 {
            let quiet = step >= 400;
            now += Duration::from_millis(400);
            for _ in 0..random.below(4) {
                if !quiet {
                    let value = deliveries.len().to_string();
                    deliveries.push(send(&mut queue, now, &value));
                }
            }
            while let Some(batch) = take(&mut queue, now) {
                in_flight.push_back(batch);
                assert!(in_flight.len() <= 5);
            }
            match random.below(if quiet { 6 } else { 10 }) {
                0..6 => {
                    for _ in 0..random.below(3) + u64::from(quiet) {
                        if let Some(batch) = in_flight.pop_front() {
                            let verdict = log.append(&batch.records);
                            queue.resolve(now, batch, verdict);
                        }
                    }
                }
                // The leader says that it is not, or that it did not reach the replicas in time.
                6 => {
                    if let Some(batch) = in_flight.pop_front() {
                        if random.below(2) == 0 {
                            log.append(&batch.records);
                        }
                        queue.resolve(now, batch, again());
                    }
                }
                // The connection is cut after the leader has got some of the requests.
                _ => {
                    let got = random.below(in_flight.len() as u64 + 1);
                    for (i, batch) in in_flight.drain(..).enumerate() {
                        if (i as u64) < got {
                            log.append(&batch.records);
                        }
                        queue.resolve(now, batch, again());
                    }
                }
            }
        }
        let mut expected = Vec::new();
        for (i, delivery) in deliveries.into_iter().enumerate() {
            match outcome(delivery).unwrap_or_else(|| panic!("seed {seed}: {i} is undecided")) {
                Ok(_) => expected.push(i.to_string()),
                Err(error) => assert!(log.refuses && error.fault() == Fault::Caller, "seed {seed}: {error}"),
            }
        }
        assert_eq!(log.values, expected, "seed {seed}");
        assert!(queue.rest());
    }
}

// Mutation: client/src/producer/queue/mod.rs
// - if let (Some(producer), None) = (self.producer, batch.sequence) {
// + if let Some(producer) = self.producer {
#[test]
fn row_60_a_retry_has_the_same_bytes() {
    let now = Instant::now();
    let mut queue = queue(|_| {});
    for value in ["a", "b", "c"] {
        drop(send(&mut queue, now, value));
    }
    let batch = take(&mut queue, now).unwrap();
    let first = batch.records.clone();
    assert_eq!(contents(&first), (77, 0, 0, vec!["a".into(), "b".into(), "c".into()]));
    drop(send(&mut queue, now, "later"));
    queue.resolve(now, batch, again());
    assert!(take(&mut queue, now).is_none(), "there is a pause first");
    let batch = take(&mut queue, now + Duration::from_millis(130)).unwrap();
    assert_eq!(batch.records, first);
}

// Mutation: client/src/producer/queue/mod.rs
// - is_behind_break || (self.sent_again > 0 && batch.attempts == 0)
// + is_behind_break
#[test]
fn row_60_new_batches_wait_for_those_that_are_sent_again() {
    let now = Instant::now();
    let mut queue = queue(|_| {});
    let (batches, _deliveries) = five_in_flight(&mut queue, now);
    for (i, batch) in batches.into_iter().enumerate() {
        queue.resolve(now, batch, if i == 0 { again() } else { appended() });
    }
    drop(send_alone(&mut queue, now, "new"));
    let soon = now + Duration::from_secs(1);
    // A leader remembers five batches: were more sent now, it would not know this one any more.
    let batch = take(&mut queue, soon).unwrap();
    assert_eq!(batch.sequence, Some(1));
    assert!(take(&mut queue, soon).is_none());
    queue.resolve(soon, batch, appended());
    assert_eq!(take(&mut queue, soon).unwrap().sequence, Some(6));
}

#[test]
fn one_batch_goes_at_a_time_until_the_leader_knows_the_producer_then_five() {
    let now = Instant::now();
    let mut queue = queue(|_| {});
    for i in 0..10 {
        drop(send_alone(&mut queue, now, &i.to_string()));
    }
    let first = take(&mut queue, now).unwrap();
    assert!(take(&mut queue, now).is_none());
    queue.resolve(now, first, appended());
    let sequences: Vec<_> = std::iter::from_fn(|| take(&mut queue, now)).map(|batch| batch.sequence).collect();
    assert_eq!(sequences, [1, 2, 3, 4, 5].map(Some));
}

/// Five batches in flight, of which the leader knows none but the producer.
fn five_in_flight(queue: &mut Queue, now: Instant) -> (Vec<Batch>, Vec<DeliveryFuture>) {
    drop(send_alone(queue, now, "first"));
    let first = take(queue, now).unwrap();
    queue.resolve(now, first, appended());
    let deliveries = (1..=5).map(|i| send_alone(queue, now, &i.to_string())).collect();
    let batches: Vec<_> = std::iter::from_fn(|| take(queue, now)).collect();
    assert_eq!(batches.len(), 5);
    (batches, deliveries)
}

// Mutation: client/src/producer/queue/recovery.rs
// - self.next_sequence = 0;
// +
#[test]
fn row_59_a_batch_that_expires_in_the_middle_begins_a_new_epoch_from_0() {
    let mut now = Instant::now();
    let mut queue = queue(|_| {});
    let (batches, mut deliveries) = five_in_flight(&mut queue, now);
    now += DELIVERY_TIMEOUT - Duration::from_secs(1);
    let late = send_alone(&mut queue, now, "late");
    now += Duration::from_secs(2);
    let mut batches = batches.into_iter();
    queue.resolve(now, batches.next().unwrap(), appended());
    // No answer to the second; the connection is closed, and takes the rest with it.
    for batch in batches {
        queue.resolve(now, batch, again());
        assert!(take(&mut queue, now).is_none(), "nothing is sent before all is drained and the pause is over");
    }
    assert!(outcome(deliveries.remove(0)).unwrap().is_ok());
    for expired in deliveries {
        let error = outcome(expired).unwrap().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TimedOut);
        assert!(error.to_string().contains("delivery.timeout.ms=120000"), "{error}");
        assert!(error.to_string().contains("may have been written") && error.to_string().contains("cut"), "{error}");
    }
    let batch = take(&mut queue, now + Duration::from_secs(1)).unwrap();
    assert_eq!(contents(&batch.records), (77, 1, 0, vec!["late".into()]));
    queue.resolve(now, batch, appended());
    assert!(outcome(late).unwrap().is_ok());
}

// Mutation: client/src/producer/queue/mod.rs
// - sequence: None,
// + sequence: Some(0),
#[test]
fn row_59_a_batch_that_expires_before_it_was_sent_leaves_no_gap() {
    let mut now = Instant::now();
    let mut queue = queue(|_| {});
    let first = send_alone(&mut queue, now, "never sent");
    queue.block(ClientError::new(ErrorKind::Unreachable, "testing", "no leader"));
    now += DELIVERY_TIMEOUT;
    queue.expire(now);
    let error = outcome(first).unwrap().unwrap_err();
    assert!(error.to_string().contains("never sent") && error.to_string().contains("no leader"), "{error}");
    drop(send_alone(&mut queue, now, "next"));
    assert_eq!(contents(&take(&mut queue, now).unwrap().records), (77, 0, 0, vec!["next".into()]));
}

// Mutation: client/src/producer/queue/recovery.rs
// - match producer.epoch.checked_add(1) {
// + match Some(producer.epoch) {
#[test]
fn row_59_a_producer_that_the_broker_has_forgotten_goes_on_under_the_next_epoch() {
    let now = Instant::now();
    let mut queue = queue(|_| {});
    let (batches, deliveries) = five_in_flight(&mut queue, now);
    for batch in batches {
        queue.resolve(now, batch, out_of_sequence());
    }
    let soon = now + Duration::from_secs(1);
    for i in 1..=5 {
        let batch = take(&mut queue, soon).unwrap();
        let (_, epoch, sequence, values) = contents(&batch.records);
        assert_eq!((epoch, sequence, values), (1, i - 1, vec![i.to_string()]));
        queue.resolve(soon, batch, appended());
    }
    assert!(deliveries.into_iter().all(|delivery| outcome(delivery).unwrap().is_ok()));
}

// Mutation: client/src/producer/queue/recovery.rs
// - if !self.draining {
// + if true {
#[test]
fn row_60_out_of_sequence_after_a_lost_batch_is_its_consequence_and_changes_no_numbers() {
    let now = Instant::now();
    let mut queue = queue(|_| {});
    let (batches, _deliveries) = five_in_flight(&mut queue, now);
    let bytes: Vec<_> = batches.iter().map(|batch| batch.records.clone()).collect();
    for (i, batch) in batches.into_iter().enumerate() {
        queue.resolve(now, batch, if i == 0 { again() } else { out_of_sequence() });
    }
    let soon = now + Duration::from_secs(1);
    let again: Vec<_> = std::iter::from_fn(|| take(&mut queue, soon)).map(|batch| batch.records).collect();
    assert_eq!(again, bytes);
}

// Mutation: client/src/producer/queue/recovery.rs
// - self.broken = Some(Break { at: 0, id_is_refused: true });
// + self.broken = Some(Break { at: 0, id_is_refused: false });
#[test]
fn row_60_a_fenced_producer_fails_the_batch_and_goes_on_under_another_id() {
    let now = Instant::now();
    let mut queue = queue(|_| {});
    let first = send_alone(&mut queue, now, "fenced");
    let batch = take(&mut queue, now).unwrap();
    queue.resolve(now, batch, Verdict::Fenced(ClientError::new(ErrorKind::Malformed, "testing", "90")));
    assert!(outcome(first).unwrap().is_err());
    drop(send_alone(&mut queue, now, "next"));
    assert!(matches!(queue.take(now, false, Some(PRODUCER)), Take::NeedsProducerId { other_than: Some(77) }));
    let other = ProducerId { id: 78, epoch: 0 };
    let Take::Batch(batch) = queue.take(now, false, Some(other)) else { panic!("there is an id to go on with") };
    assert_eq!(contents(&batch.records), (78, 0, 0, vec!["next".into()]));
}

#[test]
fn epochs_end_with_a_new_id() {
    let now = Instant::now();
    let mut queue = queue(|_| {});
    drop(send_alone(&mut queue, now, "a"));
    let last = ProducerId { id: 77, epoch: i16::MAX };
    let Take::Batch(batch) = queue.take(now, false, Some(last)) else { panic!("there is a batch") };
    queue.resolve(now, batch, refused());
    drop(send_alone(&mut queue, now, "b"));
    assert!(matches!(queue.take(now, false, Some(last)), Take::NeedsProducerId { other_than: Some(77) }));
}

#[test]
fn a_batch_waits_for_linger_unless_it_is_full_or_there_is_a_hurry() {
    let now = Instant::now();
    let linger = Duration::from_millis(50);
    let mut queue = queue(|limits| limits.linger = linger);
    drop(send(&mut queue, now, "a"));
    assert!(matches!(queue.take(now, false, Some(PRODUCER)), Take::Nothing(Some(at)) if at == now + linger));
    let Take::Batch(batch) = queue.take(now + linger, false, Some(PRODUCER)) else { panic!("linger is over") };
    queue.resolve(now, batch, appended());
    drop(send(&mut queue, now, "b"));
    let Take::Batch(batch) = queue.take(now, true, Some(PRODUCER)) else { panic!("there is a hurry") };
    queue.resolve(now, batch, appended());
    for _ in 0..3 {
        drop(send(&mut queue, now, &"x".repeat(100)));
    }
    assert!(matches!(queue.take(now, false, Some(PRODUCER)), Take::Batch(batch) if batch.count == 1));
}

#[test]
fn retries_end_where_they_are_told_to() {
    let mut now = Instant::now();
    let mut queue = queue(|limits| limits.retries = 2);
    let delivery = send_alone(&mut queue, now, "a");
    for _ in 0..3 {
        now += Duration::from_secs(2);
        let batch = take(&mut queue, now).unwrap();
        queue.resolve(now, batch, again());
    }
    assert!(outcome(delivery).unwrap().unwrap_err().to_string().contains("cut"));
    assert!(queue.rest());
}

#[test]
fn a_new_leader_gets_nothing_before_the_old_one_has_answered() {
    let now = Instant::now();
    let mut queue = queue(|_| {});
    let (batches, _deliveries) = five_in_flight(&mut queue, now);
    queue.lead(Leader { node: 2, epoch: 1, topic_id: Uuid::default() });
    drop(send_alone(&mut queue, now, "next"));
    for batch in batches {
        assert!(take(&mut queue, now).is_none());
        queue.resolve(now, batch, appended());
    }
    assert_eq!(take(&mut queue, now).unwrap().sequence, Some(6));
    // What is older than that is not believed.
    queue.lead(Leader { node: 1, epoch: 0, topic_id: Uuid::default() });
    assert_eq!(queue.leader().node, 2);
}
