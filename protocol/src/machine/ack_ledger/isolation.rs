//! Finding out which of many acknowledgements a broker refuses, so that the others take effect.
//!
//! A broker undoes everything that a request says of a partition when it refuses one offset of it, and does not say
//! which. So what was refused is cut in two, and each half sent alone, until what is refused is one offset. The halves
//! wait in a queue: larger ones go first, and when many offsets are refused and the tries are used up, what is left to
//! send goes without being cut any further.

use std::collections::VecDeque;

use super::partition::Decision;
use crate::{
    machine::{
        ranges::{Range, RangeMap, length},
        types::{AckRange, AckType},
    },
    wire::ErrorCode,
};

/// How often a refused piece is cut, beyond what it takes to find one offset.
const MORE_CUTS: u32 = 16;

#[derive(Debug)]
pub(super) struct Isolation {
    /// What is still to be sent, each piece alone.
    pieces: VecDeque<RangeMap<Decision>>,
    /// What was refused for good, sorted by nothing.
    refused: Vec<(i64, i64, ErrorCode)>,
    cuts_left: u32,
}

impl Isolation {
    /// Of acknowledgements that were sent together.
    pub(super) fn new(sent: &RangeMap<Decision>) -> Self {
        let cuts_left = 2 * (u64::BITS - sent.offsets().leading_zeros()) + MORE_CUTS;
        Self { pieces: VecDeque::new(), refused: Vec::new(), cuts_left }
    }

    pub(super) fn next_piece(&mut self) -> Option<RangeMap<Decision>> {
        self.pieces.pop_front()
    }

    pub(super) fn has_pieces(&self) -> bool {
        !self.pieces.is_empty()
    }

    /// The pieces, to look at.
    pub(super) fn pieces(&self) -> impl Iterator<Item = Range<Decision>> {
        self.pieces.iter().flat_map(RangeMap::iter)
    }

    /// A piece that is to be sent again as it is.
    pub(super) fn again(&mut self, piece: RangeMap<Decision>) {
        self.pieces.push_front(piece);
    }

    /// A piece of a request was refused with a code that one offset may be the cause of.
    pub(super) fn cut(&mut self, piece: RangeMap<Decision>, code: ErrorCode) {
        match halves(&piece).filter(|_| self.cuts_left > 0) {
            Some(halves) => {
                self.cuts_left -= 1;
                self.pieces.extend(halves);
            }
            None => self.refuse(&piece, code),
        }
    }

    /// Acknowledgements that have failed.
    pub(super) fn refuse(&mut self, piece: &RangeMap<Decision>, code: ErrorCode) {
        self.refused.extend(piece.iter().map(|range| (range.first, range.last, code)));
    }

    /// Gives up what is not to be sent any more.
    pub(super) fn give_up(&mut self, is_lost: impl Fn(Range<Decision>) -> bool, code: ErrorCode) {
        for piece in &mut self.pieces {
            let lost: Vec<Range<Decision>> = piece.iter().filter(|range| is_lost(*range)).collect();
            for Range { first, last, .. } in lost {
                self.refused.push((first, last, code));
                piece.remove(first, last);
            }
        }
        self.pieces.retain(|piece| !piece.is_empty());
    }

    /// Whether any of these offsets is still to be sent.
    pub(super) fn is_pending(&self, ranges: &[AckRange]) -> bool {
        let is_in = |piece: &RangeMap<Decision>| {
            ranges.iter().any(|range| piece.within(range.first, range.last).next().is_some())
        };
        self.pieces.iter().any(is_in)
    }

    /// The parts of these offsets that have failed, and the first code.
    pub(super) fn failed(&self, ranges: &[AckRange]) -> Option<(Vec<AckRange>, ErrorCode)> {
        let mut failed = Vec::new();
        let mut first_code = None;
        for range in ranges {
            for (first, last, code) in &self.refused {
                let (first, last) = (range.first.max(*first), range.last.min(*last));
                if first <= last {
                    failed.push(AckRange { first, last, ack: range.ack });
                    first_code.get_or_insert(*code);
                }
            }
        }
        failed.sort_by_key(|range| range.first);
        first_code.map(|code| (failed, code))
    }
}

/// The parts to try alone; `None` where there is one offset. A broker may refuse renewals as such, so they are told
/// apart first. What was acquired together is likely to be lost together, so ranges are cut last.
fn halves(piece: &RangeMap<Decision>) -> Option<[RangeMap<Decision>; 2]> {
    if piece.offsets() < 2 {
        return None;
    }
    let is_renewal = |decision: Decision| decision.ack == AckType::Renew;
    let (mut renewals, mut others) = (piece.clone(), piece.clone());
    renewals.retain(is_renewal);
    others.retain(|decision| !is_renewal(decision));
    if !renewals.is_empty() && !others.is_empty() {
        return Some([others, renewals]);
    }
    let mut halves = [RangeMap::default(), RangeMap::default()];
    let count = piece.iter().len();
    if count == 1 {
        let Range { first, last, value } = piece.iter().next()?;
        let middle = first + ((length(first, last) - 1) / 2) as i64;
        halves[0].insert(first, middle, value);
        halves[1].insert(middle + 1, last, value);
    } else {
        for (at, Range { first, last, value }) in piece.iter().enumerate() {
            halves[usize::from(at >= count / 2)].insert(first, last, value);
        }
    }
    Some(halves)
}
