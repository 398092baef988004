//! What has to hold: the cluster's own history is the judge of what the members' machines say and do.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ackflow_protocol::machine::{
    AckId, AckRange, AckType, AcquiredRange, Acquisition, AcquisitionId, TopicIdPartition,
};
use ackflow_protocol::wire::{ErrorCode, Uuid};
use ackflow_testkit::core::{FailedAttempt, GroupChange, RecordEvent};

use crate::plan::Plan;
use crate::words::{Arrived, Obeyed};

/// How long it may take to make a connection.
const CONNECTING: Duration = Duration::from_secs(2);

/// One time that a record was acquired.
#[derive(Debug)]
struct Attempt {
    member: Arc<str>,
    /// The leader that gave it away.
    node: Option<i32>,
    delivery_count: i16,
    began: Instant,
    /// How long the run had gone on when its lock began at the cluster, or was renewed.
    locked_at: Duration,
    /// In which life the member's machine was told, and how it calls that.
    told: Option<(u32, AcquisitionId)>,
    handed_out: bool,
    /// How often the member's word about it renewed its lock, and how often that or a late one of the member did.
    renewals: u32,
    unsure_renewals: u32,
    ended: Option<RecordEvent>,
    /// By whose word, where it was by one.
    ended_by: Option<Obeyed>,
    /// Whether it ended in a way that no member can see for itself: because the run wanted it to, or while a word about it was
    /// under way.
    unseen: bool,
    /// What the caller said about it, in order.
    words: Vec<(AckId, AckType)>,
}

#[derive(Debug, Default)]
struct Record {
    attempts: Vec<Attempt>,
    done: Option<RecordEvent>,
}

impl Attempt {
    fn has_word(&self, word: AckType) -> bool {
        self.words.iter().any(|(_, said)| *said == word)
    }

    /// Whether the cluster obeyed a word about it; `None` where nobody can tell.
    fn was_obeyed(&self, word: AckType) -> Option<bool> {
        let is_end = match (word, self.ended) {
            (AckType::Renew, _) if self.renewals == 0 && self.unsure_renewals > 0 => return None,
            (AckType::Renew, _) => return Some(self.renewals > 0),
            (AckType::Accept, Some(RecordEvent::Accepted)) => true,
            (AckType::Reject, Some(RecordEvent::Rejected)) => true,
            (AckType::Gap, Some(RecordEvent::Gap)) => true,
            (AckType::Release, Some(RecordEvent::Failed { cause: FailedAttempt::Released, .. })) => true,
            _ => false,
        };
        match self.ended_by {
            Some(Obeyed::Unsure) if is_end => None,
            by => Some(is_end && by == Some(Obeyed::Own)),
        }
    }
}

/// Judges a run. What is wrong ends it by a panic.
#[derive(Debug)]
pub(crate) struct Oracle {
    calm: bool,
    start: Instant,
    /// How long locks last, and for how long at most a member may have counted already when it is told.
    lock: Duration,
    counted: Duration,
    names: BTreeMap<Uuid, String>,
    partitions: BTreeMap<TopicIdPartition, Vec<Record>>,
    /// Whether locks end now because the run wants it.
    pub(crate) forcing: bool,
    pub(crate) arrived: Arrived,
    pub(crate) checks: u64,
    /// Records that were accepted, rejected, and archived at the delivery limit.
    pub(crate) accepted: u64,
    pub(crate) rejected: u64,
    pub(crate) exhausted: u64,
}

impl Oracle {
    /// In a calm run no attempt may fail but by the caller's word.
    pub(crate) fn new(start: Instant, plan: &Plan) -> Self {
        Self {
            calm: plan.is_calm(),
            start,
            lock: plan.lock,
            // A request counts from when it may be sent; there may be no connection for it yet.
            counted: plan.request_timeout + CONNECTING,
            names: BTreeMap::new(),
            partitions: BTreeMap::new(),
            forcing: false,
            arrived: Arrived::default(),
            checks: 0,
            accepted: 0,
            rejected: 0,
            exhausted: 0,
        }
    }

    pub(crate) fn check(&mut self, holds: bool, what: impl FnOnce() -> String) {
        self.checks += 1;
        if !holds {
            panic!("{}", what());
        }
    }

    pub(crate) fn name(&self, topic: Uuid, partition: i32) -> String {
        format!("{}/{partition}", self.topic_name(topic))
    }

    pub(crate) fn topic_name(&self, topic: Uuid) -> &str {
        self.names.get(&topic).map_or("?", String::as_str)
    }

    pub(crate) fn topic(&mut self, id: Uuid, name: &str) {
        self.names.insert(id, name.to_owned());
    }

    pub(crate) fn produced(&mut self, partition: TopicIdPartition, records: u64) {
        let known = self.partitions.entry(partition).or_default();
        known.extend((0..records).map(|_| Record::default()));
    }

    /// The topic and all that it held are gone.
    pub(crate) fn deleted(&mut self, topic: Uuid) {
        for (_, records) in self.partitions.range_mut(topic_range(topic)) {
            records.iter_mut().for_each(|record| record.done = record.done.or(Some(RecordEvent::Forgotten)));
        }
    }

    /// Something happened to records at the cluster, where their partition has that leader.
    pub(crate) fn changed(
        &mut self,
        now: Instant,
        leader: Option<i32>,
        change: &GroupChange,
        is_left: impl Fn(u64) -> bool,
    ) {
        let id = TopicIdPartition { topic_id: change.topic_id, partition: change.partition };
        let (calm, forcing, passed) = (self.calm, self.forcing, now.duration_since(self.start));
        let change = &change.change;
        for offset in change.first..=change.last {
            self.checks += 1;
            let records = self.partitions.get_mut(&id).expect("records are acquired after they were produced");
            let record = &mut records[offset as usize];
            let wrong = |what: &str| format!("{id:?}@{offset}: {what}: {change:?}");
            if change.what == RecordEvent::Acquired {
                let ended = record.attempts.last().is_none_or(|attempt| attempt.ended.is_some());
                assert!(record.done.is_none() && ended, "{}", wrong("the cluster gives away what it does not have"));
                record.attempts.push(Attempt {
                    member: change.member.clone(),
                    node: leader,
                    began: now,
                    delivery_count: change.delivery_count,
                    locked_at: passed,
                    told: None,
                    handed_out: false,
                    renewals: 0,
                    unsure_renewals: 0,
                    ended: None,
                    ended_by: None,
                    unseen: false,
                    words: Vec::new(),
                });
                continue;
            }
            let last = record.attempts.split_last_mut().filter(|(attempt, _)| attempt.ended.is_none());
            let (attempt, before) = last.unwrap_or_else(|| panic!("{}", wrong("the cluster ends what nobody holds")));
            assert_eq!(attempt.member, change.member, "{}", wrong("the cluster mistakes one member for another"));
            let word = match change.what {
                RecordEvent::Accepted => Some(AckType::Accept),
                RecordEvent::Rejected => Some(AckType::Reject),
                RecordEvent::Gap => Some(AckType::Gap),
                RecordEvent::Renewed => Some(AckType::Renew),
                RecordEvent::Failed { cause: FailedAttempt::Released, .. } => Some(AckType::Release),
                _ => None,
            };
            let obeyed = word.map(|word| {
                let obeyed = self.arrived.obey(&change.member, (id, offset), word, attempt.began, &is_left);
                let obeyed = obeyed.unwrap_or_else(|| panic!("{}", wrong("nobody sent that")));
                let mine = before.iter().filter(|earlier| earlier.member == attempt.member);
                let (own, late) = (attempt.has_word(word), mine.clone().any(|earlier| earlier.has_word(word)));
                let said = obeyed != Obeyed::Late && own || obeyed != Obeyed::Own && late;
                assert!(said, "{}", wrong("nobody said that"));
                obeyed
            });
            assert!(obeyed.is_some() || !calm, "{}", wrong("an attempt is lost though nothing goes wrong"));
            assert!(
                obeyed.is_none_or(|by| by == Obeyed::Own) || !calm,
                "{}",
                wrong("a word is late though nothing goes wrong")
            );
            if change.what == RecordEvent::Renewed {
                match obeyed {
                    Some(Obeyed::Own) => attempt.renewals += 1,
                    Some(Obeyed::Unsure) => attempt.unsure_renewals += 1,
                    _ => {}
                }
                attempt.locked_at = passed;
                continue;
            }
            attempt.ended_by = obeyed;
            (attempt.ended, attempt.unseen) = (Some(change.what), forcing || !attempt.words.is_empty());
            match change.what {
                RecordEvent::Accepted => self.accepted += 1,
                RecordEvent::Rejected | RecordEvent::Gap => self.rejected += 1,
                RecordEvent::Failed { archived: true, .. } => self.exhausted += 1,
                _ => continue,
            }
            record.done = Some(change.what);
        }
    }

    /// A machine says that it acquired records.
    pub(crate) fn acquired(&mut self, now: Instant, id: &str, life: u32, acquisition: &Acquisition) {
        let Acquisition { topic_partition, session, ranges, lock_deadline, .. } = acquisition;
        let (lock, counted) = (self.lock, self.counted);
        self.check(now + lock <= *lock_deadline + counted, || {
            format!("{id} gives up the locks of {topic_partition:?} {ranges:?} too early")
        });
        let deadline = lock_deadline.duration_since(self.start);
        for range in ranges {
            for offset in range.first..=range.last {
                // A record that its leader forgot comes from the next one with the same count. A member asks a leader again when it has had
                // the answer to what it asked before, or will never have it: of one leader's attempts the last is the one.
                let attempt = self.attempts(topic_partition, offset).into_iter().rev().find(|attempt| {
                    let is_from_there = attempt.node == Some(session.node) && &*attempt.member == id;
                    is_from_there && attempt.delivery_count == range.delivery_count && attempt.told.is_none()
                });
                let Some(attempt) = attempt else {
                    panic!("{id} has {topic_partition:?}@{offset} x{} that nobody gave it", range.delivery_count)
                };
                attempt.told = Some((life, acquisition.id()));
                let is_locked = deadline <= attempt.locked_at + lock;
                assert!(is_locked, "{id} counts on the lock of {topic_partition:?}@{offset} for too long: {attempt:?}");
                self.checks += 2;
            }
        }
    }

    /// A caller gets records.
    pub(crate) fn handed_out(
        &mut self,
        (id, life): (&str, u32),
        acquisition: AcquisitionId,
        partition: TopicIdPartition,
        ranges: &[AcquiredRange],
    ) {
        let count = |range: &AcquiredRange| range.delivery_count;
        for (offset, count) in ranges.iter().flat_map(|r| (r.first..=r.last).map(move |offset| (offset, count(r)))) {
            let attempt = self.told((id, life), acquisition, &partition, (offset, count));
            // That a session has ended, or a leader moved, takes a while to be told.
            let is_held = attempt.ended.is_none() || was_lost_unseen(attempt);
            assert!(is_held, "{id} is handed {partition:?}@{offset}, which it does not hold: {attempt:?}");
            assert!(!attempt.handed_out, "{id} is handed {partition:?}@{offset} twice: {attempt:?}");
            attempt.handed_out = true;
            self.checks += 2;
        }
    }

    /// A machine says that locks have been renewed, until then.
    pub(crate) fn renewed(
        &mut self,
        (id, life): (&str, u32),
        acquisition: AcquisitionId,
        partition: TopicIdPartition,
        ranges: &[AcquiredRange],
        lock_deadline: Instant,
    ) {
        let (lock, deadline) = (self.lock, lock_deadline.duration_since(self.start));
        let count = |range: &AcquiredRange| range.delivery_count;
        for (offset, count) in ranges.iter().flat_map(|r| (r.first..=r.last).map(move |offset| (offset, count(r)))) {
            let attempt = self.told((id, life), acquisition, &partition, (offset, count));
            // Of a record that is done with, a broker takes any word.
            let is_locked = attempt.ended.is_some() || deadline <= attempt.locked_at + lock;
            assert!(is_locked, "{id} counts on the renewed lock of {partition:?}@{offset} for too long: {attempt:?}");
            self.checks += 1;
        }
    }

    /// A machine lets records go that it could have handed out.
    pub(crate) fn let_go(&mut self, partition: &TopicIdPartition, ranges: &[AcquiredRange]) {
        let calm = self.calm;
        self.check(!calm, || format!("{partition:?} {ranges:?} waited too long though nothing goes wrong"));
    }

    /// A caller says something about records.
    pub(crate) fn said(
        &mut self,
        (id, life): (&str, u32),
        acquisition: AcquisitionId,
        partition: TopicIdPartition,
        ranges: &[AcquiredRange],
        (ack, word): (AckId, AckType),
    ) {
        for range in ranges {
            for offset in range.first..=range.last {
                let attempt = self.told((id, life), acquisition, &partition, (offset, range.delivery_count));
                attempt.words.push((ack, word));
            }
        }
    }

    /// A machine refuses a word without asking a broker, before the lock ends that it has told of.
    pub(crate) fn refused_unasked(
        &mut self,
        (id, life): (&str, u32),
        acquisition: AcquisitionId,
        partition: TopicIdPartition,
        ranges: &[AckRange],
        ack: AckId,
    ) {
        let offsets = ranges.iter().flat_map(|range| range.first..=range.last);
        let mut is_held = true;
        for offset in offsets {
            let is_it = |attempt: &&mut Attempt| {
                let mine = &*attempt.member == id && attempt.told == Some((life, acquisition));
                mine && attempt.words.iter().any(|(word, _)| *word == ack)
            };
            let attempt = self.attempts(&partition, offset).into_iter().rev().find(is_it);
            let attempt = attempt.expect("the caller said it");
            let earlier = attempt.words.iter().take_while(|(word, _)| *word != ack);
            // Renewed each time, and else nothing said.
            is_held &= attempt.ended.is_none() && earlier.count() as u32 == attempt.renewals;
        }
        self.check(!is_held, || format!("{id}: {ack:?} of {partition:?} {ranges:?} is refused though they are held"));
    }

    /// A machine says how that ended.
    pub(crate) fn ended(
        &mut self,
        (id, life): (&str, u32),
        acquisition: AcquisitionId,
        partition: TopicIdPartition,
        ranges: &[AckRange],
        ack: AckId,
        result: Result<(), ErrorCode>,
    ) {
        let calm = self.calm;
        self.check(!calm || result.is_ok(), || format!("{id}: {ack:?} failed though nothing goes wrong: {result:?}"));
        for offset in ranges.iter().flat_map(|range| range.first..=range.last) {
            let is_it = |attempt: &&mut Attempt| {
                let mine = &*attempt.member == id && attempt.told == Some((life, acquisition));
                mine && attempt.words.iter().any(|(word, _)| *word == ack)
            };
            let is_done = self.is_done(&partition, offset);
            let attempt = self.attempts(&partition, offset).into_iter().rev().find(is_it);
            let attempt = attempt.expect("the caller said it");
            let at = attempt.words.iter().position(|(word, _)| *word == ack).expect("it was said about this attempt");
            let later: Vec<AckType> = attempt.words[at..].iter().map(|(_, word)| *word).collect();
            // It alone can be what happened.
            let is_only = later.len() == 1 && attempt.words[..at].iter().all(|(_, earlier)| *earlier != later[0]);
            let applied: Vec<Option<bool>> = later.iter().map(|word| attempt.was_obeyed(*word)).collect();
            match result {
                // Of a record that is done with, and below the start, a broker takes any word.
                Ok(()) => assert!(
                    applied.iter().any(|obeyed| *obeyed != Some(false)) || is_done && was_lost_unseen(attempt),
                    "{id}: {ack:?} of {partition:?}@{offset} ended well and never happened: {attempt:?}"
                ),
                // Where the answer got lost, nobody knows.
                Err(ErrorCode::INVALID_RECORD_STATE) if is_only => {
                    let happened = applied.contains(&Some(true));
                    assert!(!happened, "{id}: {ack:?} of {partition:?}@{offset} failed and happened: {attempt:?}");
                }
                Err(code) => {
                    assert!(
                        code != ErrorCode::INVALID_REQUEST,
                        "{id}: {ack:?} of {partition:?}@{offset} was no valid request"
                    );
                }
            }
            self.checks += 1;
        }
    }

    /// Records of a partition that are not done.
    pub(crate) fn left(&self, partition: TopicIdPartition) -> usize {
        let records = self.partitions.get(&partition).into_iter().flatten();
        records.filter(|record| record.done.is_none()).count()
    }

    /// The end of a run: everything is done.
    pub(crate) fn finish(&mut self) {
        for (partition, records) in &self.partitions {
            for (offset, record) in records.iter().enumerate() {
                assert!(record.done.is_some(), "{partition:?}@{offset} is lost: {record:?}");
                self.checks += 1;
            }
        }
    }

    fn is_done(&self, partition: &TopicIdPartition, offset: i64) -> bool {
        let records = self.partitions.get(partition).into_iter().flatten();
        records.skip(offset as usize).take(1).any(|record| record.done.is_some())
    }

    fn attempts(&mut self, partition: &TopicIdPartition, offset: i64) -> Vec<&mut Attempt> {
        let records = self.partitions.get_mut(partition).into_iter().flatten();
        records.skip(offset as usize).take(1).flat_map(|record| &mut record.attempts).collect()
    }

    /// The attempt that a machine was told of.
    fn told(
        &mut self,
        (id, life): (&str, u32),
        acquisition: AcquisitionId,
        partition: &TopicIdPartition,
        (offset, delivery_count): (i64, i16),
    ) -> &mut Attempt {
        let is_it = |attempt: &&mut Attempt| {
            &*attempt.member == id
                && attempt.told == Some((life, acquisition))
                && attempt.delivery_count == delivery_count
        };
        let found = self.attempts(partition, offset).into_iter().rev().find(is_it);
        found.unwrap_or_else(|| panic!("{id} was never told of {partition:?}@{offset} in {acquisition:?}"))
    }
}

/// Whether a record was taken from the member in a way that it cannot see for itself.
fn was_lost_unseen(attempt: &Attempt) -> bool {
    match attempt.ended {
        _ if attempt.ended_by == Some(Obeyed::Late) => true,
        Some(RecordEvent::Failed { cause: FailedAttempt::LockExpired, .. }) => attempt.unseen,
        Some(RecordEvent::Failed { cause: FailedAttempt::SessionEnded, .. } | RecordEvent::Forgotten) => true,
        _ => false,
    }
}

fn topic_range(topic: Uuid) -> std::ops::RangeInclusive<TopicIdPartition> {
    TopicIdPartition { topic_id: topic, partition: 0 }..=TopicIdPartition { topic_id: topic, partition: i32::MAX }
}
