//! Acknowledgements, which ShareFetch and ShareAcknowledge carry alike.

use std::sync::Arc;

use ackflow_protocol::messages::{share_acknowledge, share_fetch};
use ackflow_protocol::wire::ErrorCode;

use crate::core::Cluster;
use crate::core::dispatch::RequestContext;
use crate::core::share::fetch::AcknowledgeOutcome;
use crate::core::share::partition::{AcknowledgeError, AcknowledgementRange};
use crate::core::topics::TopicIdPartition;

/// The version of both APIs from which on renewals exist (KIP-1222).
pub(crate) const RENEW_SINCE: i16 = 2;
const RENEW: i8 = 4;

/// What a request says about its acknowledgements.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AcknowledgeRules {
    /// The version of the request.
    pub(crate) version: i16,
    /// Whether it declares renewals.
    pub(crate) is_renew_ack: bool,
}

impl<'a> From<&'a share_fetch::AcknowledgementBatch> for AcknowledgementRange<'a> {
    fn from(batch: &'a share_fetch::AcknowledgementBatch) -> Self {
        Self { first: batch.first_offset, last: batch.last_offset, types: &batch.acknowledge_types }
    }
}

impl<'a> From<&'a share_acknowledge::AcknowledgementBatch> for AcknowledgementRange<'a> {
    fn from(batch: &'a share_acknowledge::AcknowledgementBatch) -> Self {
        Self { first: batch.first_offset, last: batch.last_offset, types: &batch.acknowledge_types }
    }
}

/// Applies what a member acknowledges in one partition. A node that does not lead it does not know its records.
pub(crate) fn acknowledge(
    cluster: &mut Cluster,
    cx: &RequestContext<'_>,
    group: &Arc<str>,
    member: &str,
    partition: TopicIdPartition,
    ranges: &[AcknowledgementRange<'_>],
    rules: AcknowledgeRules,
) -> AcknowledgeOutcome {
    if let Some(code) = cx.refused.acknowledgements() {
        return Err((code, None));
    }
    cluster.topics.log(partition).map_err(|code| (code, None))?;
    let highest = if rules.version >= RENEW_SINCE { RENEW } else { RENEW - 1 };
    check(ranges, |kind| (0..=highest).contains(&kind) && (rules.is_renew_ack || kind != RENEW))?;
    if !cluster.topics.is_led_by(partition, cx.node) {
        return Err((ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, None));
    }
    let limits = cluster.group_config(group).limits();
    let entry = cluster.share_partitions.get_mut(group, partition);
    let entry = entry.ok_or((ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, None))?;
    let more = entry.partition.acknowledge(cx.now, &limits, member, ranges).map_err(refusal)?;
    if more {
        cluster.woken.insert(partition);
    }
    cluster.arm_locks(group, partition);
    Ok(())
}

/// What a refusal is answered with.
pub(super) fn refusal(error: AcknowledgeError) -> (ErrorCode, Option<String>) {
    match error {
        AcknowledgeError::RecordState(message) => (ErrorCode::INVALID_RECORD_STATE, Some(message.to_owned())),
        AcknowledgeError::Request(message) => (ErrorCode::INVALID_REQUEST, Some(message.to_owned())),
    }
}

/// Checks the shape: ranges that ascend, and as many types as they need, all of them allowed.
pub(super) fn check(ranges: &[AcknowledgementRange<'_>], is_allowed: impl Fn(i8) -> bool) -> AcknowledgeOutcome {
    let mut previous_last = -1;
    for range in ranges {
        let offsets = range.last.checked_sub(range.first).and_then(|span| span.checked_add(1));
        let valid = range.first <= range.last
            // Kafka lets a range begin at the end of the one before; the state of that offset then decides.
            && range.first >= previous_last
            && !range.types.is_empty()
            && (range.types.len() == 1 || i64::try_from(range.types.len()).ok() == offsets)
            && range.types.iter().all(|kind| is_allowed(*kind));
        if !valid {
            return Err((ErrorCode::INVALID_REQUEST, None));
        }
        previous_last = range.last;
    }
    Ok(())
}
