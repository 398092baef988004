//! One broker: the session with it, what is held of that session, and which request is next.
//!
//! One request is in flight at a time, because all of them count with the session's epoch. Which one goes next, in this
//! order:
//!
//! 1. the end of the session, where the member leaves;
//! 2. ShareAcknowledge, where a commit or a renewal wants an answer at once, or the partition is not fetched from here
//!    any more;
//! 3. ShareFetch for records, which carries what is to be acknowledged;
//! 4. ShareAcknowledge, where no fetch came by in time to carry it;
//! 5. ShareFetch for nothing, to drop partitions from the session; its end, where none is left.

use std::time::{Duration, Instant};

use super::{demand::Ask, options::ShareConsumerOptions};
use crate::{
    machine::{
        ack_ledger::AckLedger,
        backoff::Backoff,
        error::Feature,
        share_session::ShareSession,
        types::{BrokerAddress, RequestId, SessionId, TopicIdPartition, earlier},
    },
    wire::ErrorCode,
};

/// How long an acknowledgement waits for a fetch to ride on.
const RIDE: Duration = Duration::from_millis(5);

/// How long a fetch waits for the first word about records that have just come or were just taken, which it can carry
/// then.
const FIRST_WORD: Duration = Duration::from_millis(2);

/// The same where the broker has given all it has, so that the fetch would most likely be held.
const FIRST_WORD_AT_END: Duration = Duration::from_millis(10);

/// How long a broker may hold a fetch while anything of the session is undecided: what is acknowledged meanwhile waits
/// behind it.
pub(super) const BUSY_WAIT: Duration = Duration::from_millis(20);

/// How often a broker is asked at most that is to say at once what it has, and has nothing.
pub(super) const AT_ONCE: Duration = Duration::from_millis(10);

/// For how long a broker that had nothing is taken to have nothing still: where one broker is asked at a time, the others come first.
const DRY: Duration = BUSY_WAIT;

/// How often the leaders of partitions are asked for whose broker is lost, whether or not the caller wants records now.
const LOOK_FOR_LEADER: Duration = Duration::from_millis(200);

/// Kafka's default of `share.partition.max.record.locks`: with so many records locked, a partition gives no more. Where
/// a group's value is another, fetches go a moment late or early.
pub(super) const RECORD_LOCKS: u64 = 2_000;

/// Since this version ShareFetch has the acquire mode and ShareAcknowledge has renewals.
pub(super) const FEATURES_SINCE: i16 = 2;

#[derive(Debug)]
pub(super) struct Node {
    /// Where it is; the address of an open session stays.
    pub(super) address: BrokerAddress,
    pub(super) session: ShareSession,
    pub(super) ledger: AckLedger,
    pub(super) in_flight: Option<InFlight>,
    pub(super) backoff: Backoff,
    /// No request before this.
    pub(super) not_before: Option<Instant>,
    /// When to look next who leads the partitions of a broker that is lost; `None` while it answers.
    pub(super) look_for_leader: Option<Instant>,
    /// No request over the session's connection before this, because the broker throttles this client.
    pub(super) throttled_until: Option<Instant>,
    /// No fetch for records before this.
    pub(super) no_fetch_before: Option<Instant>,
    /// Decisions are to go out without waiting for a ride.
    pub(super) flush: bool,
    /// The session is to end, with what is decided.
    pub(super) ending: bool,
    /// The error that the last session ended with.
    pub(super) lost: ErrorCode,
    /// The error of the whole broker that the application was told last, until one goes well.
    pub(super) reported: Option<ErrorCode>,
    /// Whether the application was told of an answer that cannot be read, until one goes well.
    pub(super) unreadable: bool,
    /// The one partition that is asked now, since an answer with its records may be one that cannot be read.
    pub(super) suspect: Option<TopicIdPartition>,
    /// What the application was told that this broker is too old for.
    pub(super) too_old_for: Option<Feature>,
    /// When the last fetch was answered.
    pub(super) answered: Option<Instant>,
    /// When one last acquired anything.
    pub(super) acquired: Option<Instant>,
    /// Whether that was less than the broker was asked for.
    pub(super) at_end: bool,
    /// When it said that it has nothing, if that was its last word about records.
    pub(super) had_nothing: Option<Instant>,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct InFlight {
    pub(super) id: RequestId,
    pub(super) kind: Kind,
    /// When it was handed to the driver, which is before it was written: locks count from here.
    pub(super) written: Instant,
    /// How long the broker may hold it.
    pub(super) max_wait: Duration,
    /// Whether it opens the session.
    pub(super) opening: bool,
    /// What it takes a broker of a certain version for.
    pub(super) feature: Option<Feature>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// ShareFetch, for so many records.
    Fetch { asked: u32 },
    /// ShareAcknowledge.
    Acknowledge,
    /// The ShareAcknowledge that ends the session.
    End,
}

/// What a node does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// ShareFetch, for records or for nothing.
    Fetch(Option<Ask>),
    /// ShareAcknowledge.
    Acknowledge,
    /// ShareAcknowledge with the final epoch.
    End,
    Wait(Option<Instant>),
}

impl Node {
    pub(super) fn new(address: BrokerAddress, options: &ShareConsumerOptions, seed: u64) -> Self {
        let node = address.node;
        Self {
            address,
            session: ShareSession::new(node),
            ledger: AckLedger::default(),
            in_flight: None,
            backoff: Backoff::new(options.retry_backoff, options.retry_backoff_max, seed ^ node as u64),
            not_before: None,
            look_for_leader: None,
            throttled_until: None,
            no_fetch_before: None,
            flush: false,
            ending: false,
            lost: ErrorCode::SHARE_SESSION_NOT_FOUND,
            reported: None,
            unreadable: false,
            suspect: None,
            too_old_for: None,
            answered: None,
            acquired: None,
            at_end: false,
            had_nothing: None,
        }
    }

    /// Whether there is no session, and none to come.
    pub(super) fn is_done(&self) -> bool {
        self.in_flight.is_none() && self.session.is_closed()
    }

    /// Whether a fetch for records is out.
    pub(super) fn is_asking(&self) -> bool {
        matches!(self.in_flight, Some(InFlight { kind: Kind::Fetch { asked: 1.. }, .. }))
    }

    /// Whether it had nothing a moment ago.
    pub(super) fn is_dry(&self, now: Instant) -> bool {
        self.had_nothing.is_some_and(|at| now < at + DRY)
    }

    /// Whether the records of a session can be acknowledged.
    pub(super) fn is_live(&self, session: SessionId) -> bool {
        self.session.id() == session && self.session.is_open()
    }

    /// No request for a while, longer with each failure in a row.
    pub(super) fn back_off(&mut self, now: Instant) {
        self.not_before = Some(now + self.backoff.next_delay());
    }

    /// The broker is lost: no request for a while, and somebody else may lead its partitions soon.
    pub(super) fn lost_connection(&mut self, now: Instant) {
        self.back_off(now);
        self.throttled_until = None;
        self.look_for_leader = Some(now + LOOK_FOR_LEADER);
    }

    /// The broker wants nothing more for a while (KIP-219).
    pub(super) fn throttle(&mut self, now: Instant, milliseconds: i32) {
        if let Ok(milliseconds @ 1..) = u64::try_from(milliseconds) {
            self.throttled_until = Some(now + Duration::from_millis(milliseconds));
        }
    }

    /// Whether it is time to look who leads the partitions of this lost broker.
    pub(super) fn takes_a_look(&mut self, now: Instant) -> bool {
        let is_due = self.look_for_leader.is_some_and(|at| at <= now && !self.session.wanted().is_empty());
        if is_due {
            self.look_for_leader = Some(now + LOOK_FOR_LEADER);
        }
        is_due
    }

    /// What comes next, where `ask` is what the caller wants of this broker now and `last_taken` when it last took
    /// records over.
    pub(super) fn next(&self, now: Instant, ask: Option<Ask>, last_taken: Option<Instant>) -> Step {
        // What ends is not renewed any more.
        let renewal = self.ledger.next_renewal().filter(|_| !self.ending);
        let expiry = earlier(self.ledger.next_expiry(), renewal);
        if self.in_flight.is_some() {
            return Step::Wait(expiry);
        }
        // What would wait in the driver would count as sent: locks count from then.
        if let Some(until) = self.throttled_until.filter(|until| now < *until) {
            return Step::Wait(earlier(Some(until), expiry));
        }
        if self.ending {
            return match self.session.is_open() {
                // What is to blame for a refusal has to be known before the last word is said.
                true if self.ledger.is_isolating(now) => Step::Acknowledge,
                true => Step::End,
                false => Step::Wait(None),
            };
        }
        if let Some(not_before) = self.not_before.filter(|not_before| now < *not_before) {
            return Step::Wait(earlier(Some(not_before), expiry));
        }
        let ask = ask.filter(|_| !self.session.wanted().is_empty());
        if !self.session.is_open() {
            let fetch = ask.map(|ask| Step::Fetch(Some(ask)));
            return fetch.unwrap_or(Step::Wait(None));
        }
        let oldest = self.ledger.oldest_ready(now);
        if oldest.is_some() && (self.flush || self.ledger.has_renewals(now) || self.has_acks_of_others(now)) {
            return Step::Acknowledge;
        }
        let fetch_at = ask.map(|ask| self.fetch_at(now, ask, oldest.is_some(), last_taken));
        if fetch_at.is_some_and(|at| at <= now) && self.no_fetch_before.is_none_or(|at| at <= now) {
            return Step::Fetch(ask);
        }
        let ride_ends = oldest.map(|oldest| oldest + RIDE);
        if ride_ends.is_some_and(|at| at <= now) {
            return Step::Acknowledge;
        }
        if self.session.wanted().is_empty() && self.ledger.is_empty() {
            return Step::End;
        }
        if ask.is_none() && self.session.has_to_forget() {
            return Step::Fetch(None);
        }
        let fetch_at = fetch_at.map(|at| self.no_fetch_before.map_or(at, |no_fetch_before| at.max(no_fetch_before)));
        let acks_at = earlier(ride_ends, self.ledger.next_retry(now));
        Step::Wait(earlier(earlier(fetch_at, acks_at), expiry))
    }

    /// When to fetch for records: not so early that the broker has nothing to give for want of acknowledgements, which
    /// would then wait behind the fetch.
    fn fetch_at(&self, now: Instant, ask: Ask, has_acks: bool, last_taken: Option<Instant>) -> Instant {
        let enough = u64::from(ask.max_records.unsigned_abs()).min(RECORD_LOCKS).div_ceil(2);
        let mut room = 0;
        let mut rooms = self.session.wanted().iter().map(|partition| {
            room += RECORD_LOCKS.saturating_sub(self.ledger.held_in(*partition));
            room
        });
        // Most partitions have room; of a thousand, one look has to do.
        let has_room = rooms.any(|room| room >= enough);
        let room_at = self.answered.filter(|_| !has_room).map_or(now, |answered| answered + BUSY_WAIT);
        let news = last_taken.max(self.acquired).filter(|_| !has_acks && !self.ledger.is_empty());
        let first_word = if self.at_end { FIRST_WORD_AT_END } else { FIRST_WORD };
        let first_word_at = news.map_or(now, |news| news + first_word);
        room_at.max(first_word_at)
    }

    /// Whether something is to be acknowledged of a partition that this session does not fetch from: on a fetch, it
    /// would bring the partition back into the session.
    fn has_acks_of_others(&self, now: Instant) -> bool {
        self.ledger.ready_partitions(now).any(|partition| !self.session.wanted().contains(&partition))
    }
}
