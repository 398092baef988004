//! The requests of a share session.

use std::time::Duration;

use super::{demand::Ask, options::ShareConsumerOptions};
use crate::{
    machine::{
        ack_ledger::PartitionAcks,
        share_session::FetchStep,
        types::{AckRange, AckType, TopicIdPartition},
    },
    messages::{
        share_acknowledge::{self, AcknowledgePartition, AcknowledgeTopic, ShareAcknowledgeRequest},
        share_fetch::{self, FetchPartition, FetchTopic, ForgottenTopic, ShareFetchRequest},
    },
    wire::Uuid,
};

/// From this length on, a run of one type is a batch of its own with one type for all; shorter runs share a batch with
/// a type an offset.
const UNIFORM_RUN: i64 = 10;

/// A fetch that asks for records, of so many bytes. One that does not has all its limits at zero, so the broker answers
/// at once.
pub(super) fn share_fetch(
    options: &ShareConsumerOptions,
    step: FetchStep,
    acks: Vec<PartitionAcks>,
    ask: Option<(Ask, i32)>,
    max_wait: Duration,
) -> ShareFetchRequest {
    let mut topics: Vec<FetchTopic> = Vec::new();
    for (partition, acks) in merge(step.add, acks) {
        let entry = FetchPartition {
            partition_index: partition.partition,
            acknowledgement_batches: batches(&acks)
                .map(|Batch { first, last, types }| share_fetch::AcknowledgementBatch {
                    first_offset: first,
                    last_offset: last,
                    acknowledge_types: types,
                })
                .collect(),
        };
        match topics.last_mut() {
            Some(topic) if topic.topic_id == partition.topic_id => topic.partitions.push(entry),
            _ => topics.push(FetchTopic { topic_id: partition.topic_id, partitions: vec![entry] }),
        }
    }
    let max_records = ask.map_or(0, |(ask, _)| ask.max_records);
    ShareFetchRequest {
        group_id: Some(options.group_id.clone()),
        member_id: Some(options.member_id.clone()),
        share_session_epoch: step.epoch,
        max_wait_ms: ask.map_or(0, |_| i32::try_from(max_wait.as_millis()).unwrap_or(i32::MAX)),
        min_bytes: ask.map_or(0, |_| options.fetch_min_bytes),
        max_bytes: ask.map_or(0, |(_, bytes)| bytes),
        max_records,
        batch_size: max_records,
        share_acquire_mode: ask.map_or(0, |(ask, _)| ask.acquire_mode),
        is_renew_ack: false,
        topics,
        forgotten_topics_data: group(step.forget)
            .map(|(topic_id, partitions)| ForgottenTopic { topic_id, partitions })
            .collect(),
    }
}

/// An acknowledgement; with the final epoch, the end of the session.
pub(super) fn share_acknowledge(
    options: &ShareConsumerOptions,
    epoch: i32,
    acks: Vec<PartitionAcks>,
) -> ShareAcknowledgeRequest {
    let is_renew_ack = acks.iter().any(|(_, acks)| acks.iter().any(|range| range.ack == AckType::Renew));
    let mut topics: Vec<AcknowledgeTopic> = Vec::new();
    for (partition, acks) in acks {
        let entry = AcknowledgePartition {
            partition_index: partition.partition,
            acknowledgement_batches: batches(&acks)
                .map(|Batch { first, last, types }| share_acknowledge::AcknowledgementBatch {
                    first_offset: first,
                    last_offset: last,
                    acknowledge_types: types,
                })
                .collect(),
        };
        match topics.last_mut() {
            Some(topic) if topic.topic_id == partition.topic_id => topic.partitions.push(entry),
            _ => topics.push(AcknowledgeTopic { topic_id: partition.topic_id, partitions: vec![entry] }),
        }
    }
    ShareAcknowledgeRequest {
        group_id: Some(options.group_id.clone()),
        member_id: Some(options.member_id.clone()),
        share_session_epoch: epoch,
        is_renew_ack,
        topics,
    }
}

/// Partitions to add to the session and partitions to acknowledge in, each once, in order. Both lists are sorted.
fn merge(add: Vec<TopicIdPartition>, acks: Vec<PartitionAcks>) -> Vec<PartitionAcks> {
    let mut merged = acks;
    merged.extend(add.into_iter().map(|partition| (partition, Vec::new())));
    // Stable, so an entry with acknowledgements stays before the one without.
    merged.sort_by_key(|(partition, _)| *partition);
    merged.dedup_by_key(|(partition, _)| *partition);
    merged
}

fn group(partitions: Vec<TopicIdPartition>) -> impl Iterator<Item = (Uuid, Vec<i32>)> {
    let mut topics: Vec<(Uuid, Vec<i32>)> = Vec::new();
    for TopicIdPartition { topic_id, partition } in partitions {
        match topics.last_mut() {
            Some((last, partitions)) if *last == topic_id => partitions.push(partition),
            _ => topics.push((topic_id, vec![partition])),
        }
    }
    topics.into_iter()
}

/// One AcknowledgementBatch, of either message.
#[derive(Debug, PartialEq, Eq)]
struct Batch {
    first: i64,
    last: i64,
    /// One for the whole range, or one an offset.
    types: Vec<i8>,
}

/// Sorted, disjoint ranges in the fewest bytes. Only runs shorter than [`UNIFORM_RUN`] are written out by offset.
fn batches(acks: &[AckRange]) -> impl Iterator<Item = Batch> {
    let mut batches = Vec::new();
    let mut runs: Vec<AckRange> = Vec::new();
    for range in acks {
        let is_long = range.last - range.first >= UNIFORM_RUN - 1;
        if is_long || runs.last().is_some_and(|previous| previous.last + 1 != range.first) {
            batches.extend(one_batch(&mut runs));
        }
        runs.push(*range);
        if is_long {
            batches.extend(one_batch(&mut runs));
        }
    }
    batches.extend(one_batch(&mut runs));
    batches.into_iter()
}

/// Makes one batch of runs that follow each other without a hole.
fn one_batch(runs: &mut Vec<AckRange>) -> Option<Batch> {
    let (first, last) = (runs.first()?.first, runs.last()?.last);
    let types = match runs.as_slice() {
        [run] => vec![run.ack as i8],
        runs => runs.iter().flat_map(|run| (run.first..=run.last).map(|_| run.ack as i8)).collect(),
    };
    runs.clear();
    Some(Batch { first, last, types })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn range(first: i64, last: i64, ack: AckType) -> AckRange {
        AckRange { first, last, ack }
    }

    // Mutation: protocol/src/machine/share_consumer/wire.rs
    // - runs => runs.iter().flat_map(|run| (run.first..=run.last).map(|_| run.ack as i8)).collect(),
    // + runs => vec![runs[runs.len() - 1].ack as i8],
    #[test]
    fn row_11_batches_are_ascending_and_have_one_type_or_one_an_offset() {
        use AckType::{Accept, Release};
        let acks = [range(1, 1, Accept), range(3, 4, Accept), range(5, 5, Release), range(9, 9, Accept)];
        let batches: Vec<_> = batches(&acks).map(|batch| (batch.first, batch.last, batch.types)).collect();
        assert_eq!(batches, [(1, 1, vec![1]), (3, 5, vec![1, 1, 2]), (9, 9, vec![1])]);
    }

    #[test]
    fn a_run_of_ten_is_a_batch_of_its_own() {
        use AckType::{Accept, Gap, Reject};
        let acks = [range(0, 1, Accept), range(2, 11, Gap), range(12, 20, Accept), range(21, 22, Reject)];
        let batches: Vec<_> = batches(&acks).map(|batch| (batch.first, batch.last, batch.types.len())).collect();
        assert_eq!(batches, [(0, 1, 1), (2, 11, 1), (12, 22, 11)]);
    }

    #[test]
    fn the_largest_range_is_one_batch_of_one_type() {
        let acks = [range(0, i64::MAX, AckType::Gap)];
        assert_eq!(batches(&acks).collect::<Vec<_>>(), [Batch { first: 0, last: i64::MAX, types: vec![0] }]);
    }

    proptest! {
        #[test]
        fn batches_say_of_each_offset_what_the_ranges_said(runs in prop::collection::vec((0i64..3, 1i64..15, 0i8..5), 0..30)) {
            let types = [AckType::Gap, AckType::Accept, AckType::Release, AckType::Reject, AckType::Renew];
            let mut next = 0;
            let mut acks: Vec<AckRange> = Vec::new();
            for (hole, length, ack) in runs {
                let ack = types[ack as usize];
                let first = next + hole;
                next = first + length;
                match acks.last_mut() {
                    Some(previous) if previous.ack == ack && previous.last + 1 == first => previous.last = next - 1,
                    _ => acks.push(range(first, next - 1, ack)),
                }
            }
            let wanted: Vec<(i64, i8)> =
                acks.iter().flat_map(|range| (range.first..=range.last).map(|offset| (offset, range.ack as i8))).collect();
            let mut said = Vec::new();
            for batch in batches(&acks) {
                let length = (batch.last - batch.first + 1) as usize;
                prop_assert!(batch.types.len() == 1 || batch.types.len() == length);
                said.extend((batch.first..=batch.last).enumerate().map(|(i, offset)| {
                    (offset, if batch.types.len() == 1 { batch.types[0] } else { batch.types[i] })
                }));
            }
            prop_assert_eq!(said, wanted);
        }
    }
}
