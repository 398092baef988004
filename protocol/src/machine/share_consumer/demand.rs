//! How many records to ask for, and when.
//!
//! An acquired record that waits in a buffer is withheld from every other member, and costs a delivery attempt when its
//! lock runs out. So what is fetched ahead is bounded by what the caller will get through in less than a second, by the
//! pace at which it has worked so far.
//!
//! How many bytes to ask for matters as much. Whatever a fetch may carry, the broker looks up in its log and walks batch
//! by batch, before it acquires the records that were asked for and lets go of the rest. With Kafka's 50 MB for 2,000
//! records of 100 bytes that walk is most of what a fetch costs it. So the bytes that are asked for follow the records.

use std::time::{Duration, Instant};

use super::{
    node::RECORD_LOCKS,
    options::{AcquireMode, ShareConsumerOptions},
};
use crate::machine::acquisition::Size;

/// How far ahead of the caller records are fetched. What a slow caller holds at the front of a partition may keep all others waiting, since a
/// partition has only so many locks and one large batch takes them all: with this they wait for less than a second.
const AHEAD: Duration = Duration::from_millis(800);

/// How many bytes a fetch asks for where records are large: a broker that is near sends far more of them a second than
/// a caller gets through.
const AHEAD_BYTES: u64 = 8 << 20;

/// The part of the lock that may go by in the buffer.
const LOCK_SHARE: u32 = 4;

/// What a fetch may carry of a partition while it is not known how large records are (Kafka's default of
/// `max.partition.fetch.bytes`).
const UNKNOWN_BYTES: u64 = 1 << 20;

/// The fewest bytes that a fetch asks for: below this it costs the broker nothing to walk, and no other client asks for
/// so little that it would have been tried.
const LEAST_BYTES: i32 = 64 << 10;

/// So few records are not worth a request each time that a slow caller has taken them, unless they are half of all that it may have ahead.
const WORTH_A_FETCH: u64 = 8;

/// By how much the next records may be larger than the last ones.
const LARGER: u64 = 2;

/// `ShareAcquireMode` on the wire.
const BATCH_OPTIMIZED: i8 = 0;
const RECORD_LIMIT: i8 = 1;

#[derive(Debug, Default)]
pub(super) struct Demand {
    /// Records that were acquired and not taken over by the caller.
    buffered: u64,
    /// Whether the caller has ever asked for records.
    was_polled: bool,
    /// Whether it did since it last got some.
    is_waiting: bool,
    /// Whether it wants no records for now, though it polls.
    is_paused: bool,
    /// When the caller last got records, and how many since it last asked.
    taken: Option<(Instant, u64)>,
    last_taken: Option<Instant>,
    pace: Pace,
    /// Offsets of the largest batch seen.
    largest_batch: u32,
    /// Bytes that an offset takes on the wire: of the largest records that came lately, since partitions differ.
    offset_bytes: Option<u64>,
}

/// A fetch that asks for records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ask {
    pub(super) max_records: i32,
    pub(super) acquire_mode: i8,
}

impl Ask {
    /// The same for one record.
    pub(super) fn least(self) -> Self {
        Self { max_records: 1, acquire_mode: RECORD_LIMIT }
    }
}

impl Demand {
    /// The caller asks for records.
    pub(super) fn polled(&mut self, now: Instant) {
        self.was_polled = true;
        self.is_waiting = true;
        if let Some((at, records)) = self.taken.take() {
            self.pace.worked(records, now.duration_since(at));
        }
    }

    /// The caller wants no records for now, or wants them again.
    pub(super) fn pause(&mut self, is_paused: bool) {
        self.is_paused = is_paused;
    }

    /// The caller got records.
    pub(super) fn taken(&mut self, now: Instant, records: u32) {
        self.buffered = self.buffered.saturating_sub(records.into());
        self.is_waiting = false;
        self.last_taken = Some(now);
        let (at, earlier) = self.taken.unwrap_or((now, 0));
        self.taken = Some((at, earlier + u64::from(records)));
    }

    /// When the caller last got records.
    pub(super) fn last_taken(&self) -> Option<Instant> {
        self.last_taken
    }

    pub(super) fn acquired(&mut self, records: u32) {
        self.buffered += u64::from(records);
    }

    /// Batches came that are this large.
    pub(super) fn saw(&mut self, size: Size) {
        self.largest_batch = self.largest_batch.max(size.largest);
        if size.offsets > 0 {
            let before = self.offset_bytes.map_or(0, |bytes| bytes - bytes / 8);
            self.offset_bytes = Some(size.bytes.div_ceil(size.offsets).max(before));
        }
    }

    /// Records went out of the buffer without reaching the caller.
    pub(super) fn dropped(&mut self, records: u32) {
        self.buffered = self.buffered.saturating_sub(records.into());
    }

    /// Whether the caller has been busy with what it got for so long that what it holds may go back to the group before
    /// it asks again. Whatever this member fetched ahead then would be those very records, and each time around would
    /// cost them a delivery attempt until the broker archives them.
    fn is_overdue(&self, now: Instant, lock_timeout: Duration) -> bool {
        let busy_since = self.last_taken.filter(|_| !self.is_waiting);
        busy_since.is_some_and(|since| now.duration_since(since) >= lock_timeout / LOCK_SHARE)
    }

    /// What to ask each of `leaders` brokers for now, if anything; `undecided` records are acquired by all of them
    /// together. With [`AcquireMode::RecordLimit`] only one broker may be asked at a time.
    pub(super) fn ask(
        &self,
        now: Instant,
        options: &ShareConsumerOptions,
        lock_timeout: Duration,
        leaders: usize,
        undecided: u64,
    ) -> Option<Ask> {
        match options.acquire_mode {
            _ if !self.was_polled || self.is_paused || self.is_overdue(now, lock_timeout) => None,
            AcquireMode::BatchOptimized => self.ask_ahead(options, lock_timeout, leaders as u64),
            AcquireMode::RecordLimit => {
                let room = u64::from(options.max_poll_records).saturating_sub(undecided);
                (self.is_waiting && self.buffered == 0 && room > 0)
                    .then(|| Ask { max_records: to_i32(room), acquire_mode: RECORD_LIMIT })
            }
        }
    }

    fn ask_ahead(&self, options: &ShareConsumerOptions, lock_timeout: Duration, leaders: u64) -> Option<Ask> {
        // Before the caller has shown its pace, one poll's worth.
        let ahead =
            self.pace.records_in(AHEAD.min(lock_timeout / LOCK_SHARE)).unwrap_or(options.max_poll_records.into());
        let most = u64::from(options.fetch_max_records)
            .min(self.offset_bytes.map_or(u64::MAX, |bytes| AHEAD_BYTES / bytes.max(1)))
            .max(1);
        let target = ahead.min(most);
        // A slow caller is fetched for when some is gone, since a fetch is for one partition mostly: the next one of the same broker, such as one
        // that it leads now, should not wait for long.
        let is_slow = ahead <= most;
        let gone = (target / 4).max(WORTH_A_FETCH.min(target / 2));
        if self.buffered >= target || is_slow && self.buffered + gone > target {
            return None;
        }
        let share = ((ahead - self.buffered) / leaders.max(1)).clamp(1, most);
        // In batch-optimized mode a broker acquires whole batches, however few records are asked for: too much for a
        // caller that needs longer for one of them than may be fetched ahead.
        let whole_batches = self.largest_batch > 0 && ahead >= u64::from(self.largest_batch);
        let acquire_mode = if whole_batches { BATCH_OPTIMIZED } else { RECORD_LIMIT };
        Some(Ask { max_records: to_i32(share), acquire_mode })
    }
}

impl Demand {
    /// How many bytes a fetch may carry that asks a broker for these records, of this many partitions. A broker divides
    /// them among the partitions, of which one may have to give all the records. Whatever it is, a first batch comes
    /// whole.
    pub(super) fn bytes(&self, options: &ShareConsumerOptions, ask: Ask, partitions: usize) -> i32 {
        let records = u64::from(ask.max_records.unsigned_abs()).min(RECORD_LOCKS);
        let of_partition = self.offset_bytes.map_or(UNKNOWN_BYTES, |bytes| bytes.saturating_mul(records * LARGER));
        let bytes = to_i32(of_partition.saturating_mul(partitions.max(1) as u64));
        bytes.max(LEAST_BYTES).max(options.fetch_min_bytes).min(options.fetch_max_bytes)
    }
}

fn to_i32(number: u64) -> i32 {
    i32::try_from(number).unwrap_or(i32::MAX)
}

/// Records a second while the caller works, recent work counting most. Time that the caller waits for records is not
/// its pace.
#[derive(Debug, Default)]
struct Pace {
    records: f64,
    seconds: f64,
}

impl Pace {
    fn worked(&mut self, records: u64, time: Duration) {
        const KEEP: f64 = 0.75;
        self.records = self.records * KEEP + records as f64;
        self.seconds = self.seconds * KEEP + time.as_secs_f64().max(1e-6);
    }

    /// `None` before any work was seen.
    fn records_in(&self, time: Duration) -> Option<u64> {
        (self.seconds > 0.0).then(|| ((self.records / self.seconds * time.as_secs_f64()) as u64).max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOCK: Duration = Duration::from_secs(30);

    fn options() -> ShareConsumerOptions {
        ShareConsumerOptions::new("g", "m")
    }

    fn after_work(records: u32, time: Duration) -> Demand {
        let mut demand = Demand::default();
        let now = Instant::now();
        demand.polled(now);
        demand.acquired(records);
        demand.saw(Size { largest: records, offsets: u64::from(records), bytes: 100 * u64::from(records) });
        demand.taken(now, records);
        demand.polled(now + time);
        demand
    }

    #[test]
    fn the_first_fetch_asks_for_one_poll_in_all() {
        let mut demand = Demand::default();
        assert_eq!(demand.ask(Instant::now(), &options(), LOCK, 3, 0), None, "nobody has polled");
        demand.polled(Instant::now());
        let ask = demand.ask(Instant::now(), &options(), LOCK, 3, 0).unwrap();
        assert_eq!(ask, Ask { max_records: 166, acquire_mode: RECORD_LIMIT });
    }

    #[test]
    fn a_fast_caller_gets_whole_batches_and_full_fetches() {
        let demand = after_work(500, Duration::from_millis(1));
        assert_eq!(
            demand.ask(Instant::now(), &options(), LOCK, 3, 0),
            Some(Ask { max_records: 6_000, acquire_mode: BATCH_OPTIMIZED })
        );
    }

    #[test]
    fn of_large_records_fewer_are_fetched() {
        let mut demand = after_work(500, Duration::from_millis(1));
        demand.saw(Size { largest: 1, offsets: 1, bytes: 1 << 20 });
        assert_eq!(demand.ask(Instant::now(), &options(), LOCK, 1, 0).unwrap().max_records, 8);
        demand.acquired(8);
        assert_eq!(demand.ask(Instant::now(), &options(), LOCK, 1, 0), None, "as many are ahead");
        demand.saw(Size { largest: 1, offsets: 1, bytes: 100 << 20 });
        demand.dropped(8);
        assert_eq!(demand.ask(Instant::now(), &options(), LOCK, 1, 0).unwrap().max_records, 1);
    }

    #[test]
    fn a_slow_caller_gets_what_it_can_do_in_less_than_a_second_and_no_whole_batch() {
        let mut demand = after_work(500, Duration::from_secs(5));
        assert_eq!(
            demand.ask(Instant::now(), &options(), LOCK, 1, 0),
            Some(Ask { max_records: 80, acquire_mode: RECORD_LIMIT })
        );
        demand.acquired(61);
        assert_eq!(demand.ask(Instant::now(), &options(), LOCK, 1, 0), None, "most of it is there");
        demand.dropped(1);
        assert_eq!(demand.ask(Instant::now(), &options(), LOCK, 1, 0).unwrap().max_records, 20);
    }

    #[test]
    fn for_a_caller_that_has_paused_nothing_is_asked_though_it_polls() {
        for acquire_mode in [AcquireMode::BatchOptimized, AcquireMode::RecordLimit] {
            let options = ShareConsumerOptions { acquire_mode, ..options() };
            let mut demand = Demand::default();
            demand.pause(true);
            demand.polled(Instant::now());
            assert_eq!(demand.ask(Instant::now(), &options, LOCK, 1, 0), None);
            demand.pause(false);
            assert!(demand.ask(Instant::now(), &options, LOCK, 1, 0).is_some());
        }
    }

    #[test]
    fn nothing_is_fetched_ahead_of_a_caller_whose_locks_may_end_before_it_asks_again() {
        let mut demand = after_work(500, Duration::from_millis(1));
        let taken = Instant::now();
        demand.acquired(10);
        demand.taken(taken, 10);
        assert!(demand.ask(taken + LOCK / 5, &options(), LOCK, 1, 0).is_some(), "it is at work");
        assert_eq!(demand.ask(taken + LOCK, &options(), LOCK, 1, 0), None, "what it held is free again");
        demand.polled(taken + LOCK);
        assert!(demand.ask(taken + LOCK * 2, &options(), LOCK, 1, 0).is_some(), "it waits for records");
    }

    #[test]
    fn the_bytes_of_a_fetch_follow_its_records_and_their_size() {
        let (options, ask) = (options(), Ask { max_records: 2_000, acquire_mode: BATCH_OPTIMIZED });
        let mut demand = Demand::default();
        assert_eq!(demand.bytes(&options, ask, 3), 3 << 20, "nothing has come yet");
        let size = |offsets, bytes| Size { largest: 1, offsets, bytes };
        demand.saw(size(200, 20_000));
        assert_eq!(demand.bytes(&options, ask, 3), 3 * 2 * 2_000 * 100);
        assert_eq!(demand.bytes(&options, Ask { max_records: 1, ..ask }, 1), LEAST_BYTES);
        let least = ShareConsumerOptions { fetch_min_bytes: 100_000, ..options.clone() };
        assert_eq!(
            demand.bytes(&least, Ask { max_records: 1, ..ask }, 1),
            100_000,
            "or the broker would wait for more"
        );
        assert_eq!(demand.bytes(&options, ask, 1_000), options.fetch_max_bytes);

        demand.saw(size(1, 1_000_000));
        assert_eq!(demand.bytes(&options, ask, 1), options.fetch_max_bytes);
        demand.saw(size(0, 0));
        for _ in 0..100 {
            demand.saw(size(200, 20_000));
        }
        assert_eq!(demand.bytes(&options, ask, 3), 3 * 2 * 2_000 * 100, "large records are forgotten");
    }

    #[test]
    fn a_short_lock_bounds_what_is_fetched_ahead() {
        let demand = after_work(100, Duration::from_millis(500));
        assert_eq!(demand.ask(Instant::now(), &options(), Duration::from_secs(1), 1, 0).unwrap().max_records, 50);
    }

    #[test]
    fn waiting_for_records_does_not_slow_the_pace() {
        let mut demand = after_work(500, Duration::from_millis(1));
        let now = Instant::now();
        for second in 1..20 {
            // One record a second comes, and the caller is done with each in a millisecond.
            let came = now + Duration::from_secs(second);
            demand.acquired(1);
            demand.taken(came, 1);
            demand.polled(came + Duration::from_millis(1));
        }
        assert!(demand.ask(Instant::now(), &options(), LOCK, 1, 0).unwrap().max_records >= 900);
    }

    #[test]
    fn record_limit_asks_for_what_may_still_be_undecided_and_only_for_a_caller_that_waits() {
        let options = ShareConsumerOptions { acquire_mode: AcquireMode::RecordLimit, ..options() };
        let mut demand = Demand::default();
        assert_eq!(demand.ask(Instant::now(), &options, LOCK, 1, 0), None);
        demand.polled(Instant::now());
        assert_eq!(
            demand.ask(Instant::now(), &options, LOCK, 1, 450),
            Some(Ask { max_records: 50, acquire_mode: RECORD_LIMIT })
        );
        assert_eq!(demand.ask(Instant::now(), &options, LOCK, 1, 500), None);
        demand.acquired(500);
        assert_eq!(demand.ask(Instant::now(), &options, LOCK, 1, 0), None);
        demand.taken(Instant::now(), 500);
        assert_eq!(demand.ask(Instant::now(), &options, LOCK, 1, 0), None, "nothing ahead of the caller");
    }
}
