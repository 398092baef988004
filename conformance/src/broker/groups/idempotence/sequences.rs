//! Sequences and epochs of producers.

use ackflow_protocol::messages::describe_producers::{DescribeProducersRequest, TopicRequest};
use ackflow_protocol::records::BatchOptions;
use ackflow_protocol::wire::ErrorCode;
use bytes::Bytes;

use crate::broker::case::cases;
use crate::broker::lab::produce::{self, answered, batch, write};
use crate::broker::lab::producer::init;
use crate::broker::lab::{Lab, Outcome, Stop, Topic, values};

cases! {
    Idempotence;
    no_two_producers_get_the_same_id:
        "Each InitProducerId without a transactional id gives a producer id that nobody has had, with epoch 0.",
        "KIP-98, Idempotent producer guarantees";
    a_batch_that_is_sent_again_is_written_once:
        "A batch that was written before is answered without an error and with the offset that it has, and is not written again.",
        "KIP-98, Idempotent producer guarantees";
    each_of_the_last_five_batches_is_known_again:
        "Of each producer a partition knows the last five batches again, so that five requests may be in flight.",
        "KIP-98; documentation of max.in.flight.requests.per.connection",
        note "KIP-98 speaks of the last batch alone; five are known since Kafka 1.0 (KAFKA-5494).";
    a_batch_of_long_ago_is_not_written_again:
        "A batch whose sequences lie before those of the last five batches is refused and not written again.",
        "KIP-98, Idempotent producer guarantees",
        note "KIP-98 has DUPLICATE_SEQUENCE_NUMBER for it; Kafka answers OUT_OF_ORDER_SEQUENCE_NUMBER, as it does for a gap. Both are taken here.";
    a_known_sequence_with_another_length_is_refused:
        "A batch that begins with a sequence of before is known again only where it also ends with that batch's last; else it is refused.",
        "KIP-98, Idempotent producer guarantees";
    a_gap_in_the_sequences_is_refused:
        "A batch whose first sequence does not follow the producer's last one is refused with OUT_OF_ORDER_SEQUENCE_NUMBER and not written; the one that follows is taken then.",
        "KIP-98, Idempotent producer guarantees";
    sequences_go_on_at_zero_after_the_largest:
        "Behind the sequence 2147483647 comes 0, within a batch and between batches.",
        "KIP-98, Record batch format";
    a_new_epoch_begins_with_sequence_zero:
        "The first batch of a later epoch has the sequence 0; another is refused with OUT_OF_ORDER_SEQUENCE_NUMBER.",
        "KIP-360, Resilient producers";
    an_epoch_of_before_writes_nothing:
        "Once a producer has written with an epoch, a batch with an earlier one is refused with INVALID_PRODUCER_EPOCH.",
        "KIP-98, Idempotent producer guarantees; KIP-588";
    a_producer_that_nobody_knows_may_begin_anywhere:
        "A partition that knows nothing of a producer takes its first batch whatever its sequence is, since what it knew may be gone with its records.",
        "KIP-360, Resilient producers";
    sequences_are_kept_by_partition:
        "Each partition has sequences of its own: what a producer writes to one says nothing of another.",
        "KIP-98, Idempotent producer guarantees";
    requests_in_flight_are_written_in_their_order:
        "Several batches of a producer that are sent on one connection without waiting are all written, in the order in which they were sent.",
        "Documentation of max.in.flight.requests.per.connection";
    a_batch_that_was_refused_takes_no_sequence:
        "A batch that is refused leaves its producer's sequence as it is: a right one with the same sequence is taken.",
        "KIP-98, Idempotent producer guarantees";
    a_partition_tells_of_its_producers:
        "DescribeProducers tells of each producer of a partition its epoch, its last sequence, and -1 for the start of a transaction where none is open.",
        "KIP-664, DescribeProducers";
}

/// A batch of this many records of an idempotent producer.
fn of(producer_id: i64, producer_epoch: i16, base_sequence: i32, count: usize) -> Bytes {
    let options = BatchOptions { producer_id, producer_epoch, base_sequence, ..BatchOptions::default() };
    batch(values(count), options)
}

/// What is answered for a batch: its error, and its offset where there is none.
async fn sent(lab: &Lab, topic: &Topic, batch: Bytes) -> Outcome<Result<i64, ErrorCode>> {
    let mut link = lab.leader(topic, 0).await?;
    let written = write(&mut link, topic, 0, None, batch).await?;
    Ok(written.error_code.ok().map(|()| written.base_offset))
}

async fn no_two_producers_get_the_same_id(lab: &Lab) -> Outcome {
    lab.idempotent_producer().await?;
    let (mut link, mut ids) = (lab.link().await?, std::collections::BTreeSet::new());
    for _ in 0..5 {
        let started = link.call(&init(None)).await?;
        lab.check("the error", started.error_code, ErrorCode::NONE)?;
        lab.check("the epoch", started.producer_epoch, 0)?;
        lab.check("whether the id is new", ids.insert(started.producer_id), true)?;
    }
    lab.check_that("the ids", ids.iter().all(|id| *id >= 0), "not negative", &ids)
}

async fn a_batch_that_is_sent_again_is_written_once(lab: &Lab) -> Outcome {
    let (topic, id) = (lab.topic(1).await?, lab.idempotent_producer().await?);
    lab.produce(&topic, 0, 4).await?;
    lab.check("the offset", sent(lab, &topic, of(id, 0, 0, 3)).await?, Ok(4))?;
    lab.check("the offset of the same batch again", sent(lab, &topic, of(id, 0, 0, 3)).await?, Ok(4))?;
    lab.check("the end of the partition", lab.end_offset(&topic, 0).await?, 7)
}

async fn each_of_the_last_five_batches_is_known_again(lab: &Lab) -> Outcome {
    let (topic, id) = (lab.topic(1).await?, lab.idempotent_producer().await?);
    for sequence in (0..14).step_by(2) {
        let offset = sent(lab, &topic, of(id, 0, sequence, 2)).await?;
        lab.check(&format!("the offset of sequence {sequence}"), offset, Ok(i64::from(sequence)))?;
    }
    for sequence in [12, 4, 8, 6, 10] {
        let offset = sent(lab, &topic, of(id, 0, sequence, 2)).await?;
        lab.check(&format!("the offset of sequence {sequence} again"), offset, Ok(i64::from(sequence)))?;
    }
    lab.check("the end of the partition", lab.end_offset(&topic, 0).await?, 14)
}

async fn a_batch_of_long_ago_is_not_written_again(lab: &Lab) -> Outcome {
    let (topic, id) = (lab.topic(1).await?, lab.idempotent_producer().await?);
    for sequence in 0..12 {
        lab.check("the offset", sent(lab, &topic, of(id, 0, sequence, 1)).await?, Ok(i64::from(sequence)))?;
    }
    let refused = sent(lab, &topic, of(id, 0, 0, 1)).await?;
    let right = [ErrorCode::DUPLICATE_SEQUENCE_NUMBER, ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER];
    let holds = refused.is_err_and(|code| right.contains(&code));
    lab.check_that("the first of twelve again", holds, "refused as a duplicate or as out of order", &refused)?;
    lab.check("the end of the partition", lab.end_offset(&topic, 0).await?, 12)
}

async fn a_known_sequence_with_another_length_is_refused(lab: &Lab) -> Outcome {
    let (topic, id) = (lab.topic(1).await?, lab.idempotent_producer().await?);
    lab.check("the offset", sent(lab, &topic, of(id, 0, 0, 3)).await?, Ok(0))?;
    let right = [ErrorCode::DUPLICATE_SEQUENCE_NUMBER, ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER];
    for (sequence, count) in [(0, 2), (0, 4), (1, 2)] {
        let refused = sent(lab, &topic, of(id, 0, sequence, count)).await?;
        let what = format!("{count} records from sequence {sequence} on, where 3 from 0 on are written");
        let holds = refused.is_err_and(|code| right.contains(&code));
        lab.check_that(&what, holds, "refused as a duplicate or as out of order", &refused)?;
    }
    lab.check("the end of the partition", lab.end_offset(&topic, 0).await?, 3)
}

async fn a_gap_in_the_sequences_is_refused(lab: &Lab) -> Outcome {
    let (topic, id) = (lab.topic(1).await?, lab.idempotent_producer().await?);
    lab.check("the offset", sent(lab, &topic, of(id, 0, 0, 3)).await?, Ok(0))?;
    for sequence in [4, 6, 1000] {
        let refused = sent(lab, &topic, of(id, 0, sequence, 1)).await?;
        let what = format!("sequence {sequence} where 3 is next");
        lab.check(&what, refused, Err(ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER))?;
    }
    lab.check("the offset of sequence 3", sent(lab, &topic, of(id, 0, 3, 1)).await?, Ok(3))?;
    lab.check("the end of the partition", lab.end_offset(&topic, 0).await?, 4)
}

async fn sequences_go_on_at_zero_after_the_largest(lab: &Lab) -> Outcome {
    for (first, count, next) in [(i32::MAX - 1, 2, 0), (i32::MAX - 1, 3, 1), (i32::MAX, 1, 0)] {
        let (topic, id) = (lab.topic(1).await?, lab.idempotent_producer().await?);
        if let Err(code) = sent(lab, &topic, of(id, 0, first, count)).await? {
            return Err(Stop::NotOffered(format!("no producer begins with a large sequence here: {code:?}")));
        }
        let what = format!("sequence {next} behind {count} records from {first} on");
        lab.check(&what, sent(lab, &topic, of(id, 0, next, 1)).await?, Ok(count as i64))?;
        let refused = sent(lab, &topic, of(id, 0, next, 2)).await?;
        lab.check_that("what begins there again", refused.is_err(), "refused", &refused)?;
    }
    Ok(())
}

async fn a_new_epoch_begins_with_sequence_zero(lab: &Lab) -> Outcome {
    let (topic, id) = (lab.topic(1).await?, lab.idempotent_producer().await?);
    lab.check("the offset in epoch 0", sent(lab, &topic, of(id, 0, 0, 3)).await?, Ok(0))?;
    let refused = sent(lab, &topic, of(id, 1, 3, 1)).await?;
    lab.check("sequence 3 in epoch 1", refused, Err(ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER))?;
    lab.check("sequence 0 in epoch 1", sent(lab, &topic, of(id, 1, 0, 3)).await?, Ok(3))?;
    lab.check("sequence 3 in epoch 1 then", sent(lab, &topic, of(id, 1, 3, 1)).await?, Ok(6))
}

async fn an_epoch_of_before_writes_nothing(lab: &Lab) -> Outcome {
    let (topic, id) = (lab.topic(1).await?, lab.idempotent_producer().await?);
    lab.check("the offset in epoch 1", sent(lab, &topic, of(id, 1, 0, 3)).await?, Ok(0))?;
    for sequence in [0, 3] {
        let refused = sent(lab, &topic, of(id, 0, sequence, 2)).await?;
        let what = format!("sequence {sequence} in epoch 0");
        lab.check(&what, refused, Err(ErrorCode::INVALID_PRODUCER_EPOCH))?;
    }
    lab.check("the end of the partition", lab.end_offset(&topic, 0).await?, 3)
}

async fn a_producer_that_nobody_knows_may_begin_anywhere(lab: &Lab) -> Outcome {
    let (topic, id) = (lab.topic(1).await?, lab.idempotent_producer().await?);
    lab.check("the offset of sequence 55", sent(lab, &topic, of(id, 0, 55, 3)).await?, Ok(0))?;
    lab.check("the offset of sequence 58", sent(lab, &topic, of(id, 0, 58, 3)).await?, Ok(3))?;
    let refused = sent(lab, &topic, of(id, 0, 70, 1)).await?;
    lab.check("sequence 70 then", refused, Err(ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER))
}

async fn sequences_are_kept_by_partition(lab: &Lab) -> Outcome {
    let (topic, id) = (lab.topic(2).await?, lab.idempotent_producer().await?);
    for (partition, sequence, wanted) in [
        (0, 0, Ok(0)),
        (0, 2, Ok(2)),
        (1, 0, Ok(0)),
        (1, 4, Err(ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER)),
        (1, 2, Ok(2)),
        (0, 4, Ok(4)),
    ] {
        let mut link = lab.leader(&topic, partition).await?;
        let written = write(&mut link, &topic, partition, None, of(id, 0, sequence, 2)).await?;
        let got = written.error_code.ok().map(|()| written.base_offset);
        lab.check(&format!("sequence {sequence} in partition {partition}"), got, wanted)?;
    }
    Ok(())
}

async fn requests_in_flight_are_written_in_their_order(lab: &Lab) -> Outcome {
    let (topic, id) = (lab.topic(1).await?, lab.idempotent_producer().await?);
    let mut link = lab.leader(&topic, 0).await?;
    let mut in_flight = Vec::new();
    for sequence in (0..10).step_by(2) {
        in_flight.push(link.send(&produce::request(&topic, 0, None, of(id, 0, sequence, 2))).await?);
    }
    let mut offsets = Vec::new();
    for sent in in_flight {
        let written = answered(link.answer(sent).await?)?;
        offsets.push(written.error_code.ok().map(|()| written.base_offset));
    }
    lab.check("the offsets of five batches of two", offsets, [0, 2, 4, 6, 8].map(Ok).to_vec())
}

async fn a_batch_that_was_refused_takes_no_sequence(lab: &Lab) -> Outcome {
    let (topic, id) = (lab.topic(1).await?, lab.idempotent_producer().await?);
    lab.check("the offset", sent(lab, &topic, of(id, 0, 0, 2)).await?, Ok(0))?;
    let mut damaged = of(id, 0, 2, 2).to_vec();
    if let Some(last) = damaged.last_mut() {
        *last ^= 1;
    }
    let refused = sent(lab, &topic, damaged.into()).await?;
    lab.check_that("a damaged batch", refused.is_err(), "refused", &refused)?;
    lab.check("the offset of the right one", sent(lab, &topic, of(id, 0, 2, 2)).await?, Ok(2))?;
    lab.check("the offset of the next one", sent(lab, &topic, of(id, 0, 4, 2)).await?, Ok(4))
}

async fn a_partition_tells_of_its_producers(lab: &Lab) -> Outcome {
    let topic = lab.topic(1).await?;
    let (one, two) = (lab.idempotent_producer().await?, lab.idempotent_producer().await?);
    for batch in [of(one, 0, 0, 3), of(two, 0, 0, 1), of(one, 0, 3, 4), of(two, 1, 0, 2)] {
        lab.produce_batch(&topic, 0, batch).await?;
    }
    let asked = TopicRequest { name: topic.name.clone(), partition_indexes: vec![0] };
    let found = lab.leader(&topic, 0).await?.call(&DescribeProducersRequest { topics: vec![asked] }).await?;
    let found = found.topics.into_iter().flat_map(|topic| topic.partitions).flat_map(|found| found.active_producers);
    let mut found: Vec<_> =
        found.map(|is| (is.producer_id, is.producer_epoch, is.last_sequence, is.current_txn_start_offset)).collect();
    found.sort_unstable();
    let mut wanted = vec![(one, 0, 6, -1), (two, 1, 1, -1)];
    wanted.sort_unstable();
    lab.check("producers with epoch, last sequence and the start of a transaction", found, wanted)
}
