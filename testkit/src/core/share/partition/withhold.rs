//! Records that a member acquired and is not to see.

use std::time::Instant;

use super::{AcknowledgementRange, AcquireRequest, AcquiredRange, ShareLimits, SharePartition};

/// The acknowledgement of offsets without a record.
const GAP: i8 = 0;

impl SharePartition {
    /// Archives what of `acquired` lies within `first..=last`, the records of a transaction that was aborted. Gives the rest.
    pub(crate) fn withhold(
        &mut self,
        now: Instant,
        limits: &ShareLimits,
        request: AcquireRequest<'_>,
        acquired: Vec<AcquiredRange>,
        first: i64,
        last: i64,
    ) -> Vec<AcquiredRange> {
        let mut rest = Vec::with_capacity(acquired.len());
        for range in acquired {
            let (from, to) = (range.first.max(first), range.last.min(last));
            if from > to {
                rest.push(range);
                continue;
            }
            let gap = AcknowledgementRange { first: from, last: to, types: &[GAP] };
            // The member has just acquired them, so that it may.
            let _ = self.acknowledge(now, limits, request.member, &[gap]);
            if range.first < from {
                rest.push(AcquiredRange { last: from - 1, ..range });
            }
            if range.last > to {
                rest.push(AcquiredRange { first: to + 1, ..range });
            }
        }
        rest
    }
}
