//! What consumers get of transactions.

use std::time::Duration;

use ackflow_protocol::messages::describe_producers::{DescribeProducersRequest, TopicRequest};
use ackflow_protocol::messages::fetch::FetchRequest;
use ackflow_protocol::wire::ErrorCode;

use crate::broker::case::cases;
use crate::broker::lab::{Isolation, Lab, Outcome, Seen, Topic, fetch};

cases! {
    Transactions;
    reading_committed_ends_at_the_first_open_transaction:
        "A fetch with read_committed gets no record from the first of an open transaction on, and tells that offset as the last stable one, and the high watermark behind it.",
        "KIP-98, Fetch API; Fetch schema: LastStableOffset";
    reading_uncommitted_passes_open_transactions:
        "A fetch with read_uncommitted gets the records of open transactions.",
        "KIP-98, Fetch API";
    committed_records_are_read:
        "Once a transaction is committed, who reads committed records gets its records, and its marker takes one offset behind them.",
        "KIP-98, Fetch API";
    aborted_transactions_are_named_to_who_reads_committed:
        "A fetch with read_committed names producer id and first offset of the aborted transactions whose records it gives, so that the consumer passes over these.",
        "KIP-98, Fetch API; Fetch schema: AbortedTransactions";
    a_fetch_from_within_an_aborted_transaction_names_it:
        "A read_committed fetch that begins behind the first record of an aborted transaction names that transaction all the same.",
        "KIP-98, Fetch API; Fetch schema: AbortedTransactions";
    nothing_is_named_as_aborted_to_who_reads_uncommitted:
        "A fetch with read_uncommitted names no aborted transactions.",
        "KIP-98, Fetch API; Fetch schema: AbortedTransactions";
    what_others_write_waits_behind_an_open_transaction:
        "Records outside a transaction, behind the first of an open one, are read with read_committed only when that has ended, and in the order of the log.",
        "KIP-98, Fetch API";
    interleaved_transactions_end_each_for_itself:
        "Of two transactions whose records alternate in a partition, the commit of one and the abort of the other count for the records of each alone.",
        "KIP-98, Fetch API";
    the_last_stable_offset_moves_to_the_next_open_transaction:
        "When the first of several open transactions ends, the last stable offset is the first record of the next one that is open.",
        "KIP-98, Fetch API";
    a_fetch_that_waits_is_answered_when_a_transaction_ends:
        "A fetch with read_committed that waits for records gets them when a commit makes them readable, before its time is over.",
        "KIP-98, Fetch API";
    markers_are_control_batches_of_their_producer:
        "A marker is a transactional control batch of one record, of the producer id and no earlier epoch than the transaction's, whose key says commit or abort.",
        "KIP-98, Control messages; Kafka documentation, Control batches";
    the_end_for_who_reads_committed_is_the_last_stable_offset:
        "ListOffsets of the latest offset gives the last stable offset with read_committed, and the high watermark with read_uncommitted.",
        "KIP-98, ListOffsetRequest";
    a_partition_tells_where_open_transactions_begin:
        "DescribeProducers tells the first offset of the transaction that a producer has open in the partition, and -1 once it has ended.",
        "KIP-664, DescribeProducers";
}

async fn reading_committed_ends_at_the_first_open_transaction(lab: &Lab) -> Outcome {
    let topic = lab.topic(1).await?;
    let mut producer = lab.producer().await?;
    lab.produce(&topic, 0, 2).await?;
    producer.write(&topic, 0, 3).await?;
    let seen = lab.read(&topic, 0, Isolation::Committed).await?;
    lab.check("offsets", seen.offsets(), vec![0, 1])?;
    lab.check("the last stable offset", seen.data.last_stable_offset, 2)?;
    lab.check("the high watermark", seen.data.high_watermark, 5)
}

async fn reading_uncommitted_passes_open_transactions(lab: &Lab) -> Outcome {
    let topic = lab.topic(1).await?;
    let mut producer = lab.producer().await?;
    producer.write(&topic, 0, 3).await?;
    lab.produce(&topic, 0, 2).await?;
    let seen = lab.read(&topic, 0, Isolation::Uncommitted).await?;
    lab.check("offsets", seen.offsets(), vec![0, 1, 2, 3, 4])
}

async fn committed_records_are_read(lab: &Lab) -> Outcome {
    let topic = lab.topic(1).await?;
    let mut producer = lab.producer().await?;
    producer.write(&topic, 0, 3).await?;
    producer.end(true).await?;
    lab.produce(&topic, 0, 1).await?;
    let seen = lab.read(&topic, 0, Isolation::Committed).await?;
    lab.check("committed records", seen.committed(), vec![0, 1, 2, 4])?;
    lab.check("markers", seen.markers()?, vec![(3, producer.producer_id, true)])?;
    lab.check("the last stable offset", seen.data.last_stable_offset, 5)
}

async fn aborted_transactions_are_named_to_who_reads_committed(lab: &Lab) -> Outcome {
    let topic = lab.topic(1).await?;
    let mut producer = lab.producer().await?;
    lab.produce(&topic, 0, 1).await?;
    producer.write(&topic, 0, 2).await?;
    producer.end(false).await?;
    producer.write(&topic, 0, 1).await?;
    producer.end(true).await?;
    producer.write(&topic, 0, 1).await?;
    producer.end(false).await?;
    let seen = lab.read(&topic, 0, Isolation::Committed).await?;
    let wanted = vec![(1, producer.producer_id), (6, producer.producer_id)];
    lab.check("first offset and producer id of each", seen.aborted(), wanted)?;
    lab.check("committed records", seen.committed(), vec![0, 4])
}

/// What one fetch gives from an offset on.
async fn read_from(lab: &Lab, topic: &Topic, offset: i64) -> Outcome<Seen> {
    let mut link = lab.leader(topic, 0).await?;
    Seen::of(link.call(&fetch(topic, 0, offset, Isolation::Committed)).await?)
}

async fn a_fetch_from_within_an_aborted_transaction_names_it(lab: &Lab) -> Outcome {
    let topic = lab.topic(1).await?;
    let mut producer = lab.producer().await?;
    for _ in 0..4 {
        producer.write(&topic, 0, 1).await?;
    }
    producer.end(false).await?;
    lab.produce(&topic, 0, 1).await?;
    let seen = read_from(lab, &topic, 2).await?;
    lab.check("first offset and producer id", seen.aborted(), vec![(0, producer.producer_id)])?;
    lab.check("committed records", seen.committed(), vec![5])
}

async fn nothing_is_named_as_aborted_to_who_reads_uncommitted(lab: &Lab) -> Outcome {
    let topic = lab.topic(1).await?;
    let mut producer = lab.producer().await?;
    producer.write(&topic, 0, 2).await?;
    producer.end(false).await?;
    let seen = lab.read(&topic, 0, Isolation::Uncommitted).await?;
    lab.check("aborted transactions", seen.aborted(), Vec::new())?;
    lab.check("offsets", seen.offsets(), vec![0, 1])
}

async fn what_others_write_waits_behind_an_open_transaction(lab: &Lab) -> Outcome {
    let topic = lab.topic(1).await?;
    let mut producer = lab.producer().await?;
    producer.write(&topic, 0, 1).await?;
    lab.produce(&topic, 0, 2).await?;
    let seen = lab.read(&topic, 0, Isolation::Committed).await?;
    lab.check("what is read while it is open", seen.offsets(), Vec::new())?;
    producer.end(true).await?;
    let seen = lab.read(&topic, 0, Isolation::Committed).await?;
    lab.check("what is read then", seen.committed(), vec![0, 1, 2])
}

async fn interleaved_transactions_end_each_for_itself(lab: &Lab) -> Outcome {
    let topic = lab.topic(1).await?;
    let (mut one, mut two) = (lab.producer().await?, lab.producer().await?);
    for _ in 0..2 {
        one.write(&topic, 0, 1).await?;
        two.write(&topic, 0, 1).await?;
    }
    two.end(false).await?;
    one.end(true).await?;
    let seen = lab.read(&topic, 0, Isolation::Committed).await?;
    lab.check("committed records", seen.committed(), vec![0, 2])?;
    lab.check("aborted ones", seen.aborted(), vec![(1, two.producer_id)])?;
    let wanted = vec![(4, two.producer_id, false), (5, one.producer_id, true)];
    lab.check("markers", seen.markers()?, wanted)
}

async fn the_last_stable_offset_moves_to_the_next_open_transaction(lab: &Lab) -> Outcome {
    let topic = lab.topic(1).await?;
    let (mut one, mut two, mut three) = (lab.producer().await?, lab.producer().await?, lab.producer().await?);
    one.write(&topic, 0, 1).await?;
    lab.produce(&topic, 0, 1).await?;
    two.write(&topic, 0, 1).await?;
    three.write(&topic, 0, 1).await?;
    let stable = async || Outcome::Ok(lab.read(&topic, 0, Isolation::Committed).await?.data.last_stable_offset);
    lab.check("with three open", stable().await?, 0)?;
    three.end(true).await?;
    lab.check("when the last has ended", stable().await?, 0)?;
    one.end(false).await?;
    lab.check("when the first has ended", stable().await?, 2)?;
    two.end(true).await?;
    lab.check("when all have ended", stable().await?, 7)
}

async fn a_fetch_that_waits_is_answered_when_a_transaction_ends(lab: &Lab) -> Outcome {
    let topic = lab.topic(1).await?;
    let mut producer = lab.producer().await?;
    producer.write(&topic, 0, 2).await?;
    let mut link = lab.leader(&topic, 0).await?;
    let waits = FetchRequest { max_wait_ms: 20_000, min_bytes: 1, ..fetch(&topic, 0, 0, Isolation::Committed) };
    let sent = link.send(&waits).await?;
    producer.end(true).await?;
    let seen = Seen::of(link.answer_within(sent, Duration::from_secs(10)).await?)?;
    lab.check("what it gets", seen.committed(), vec![0, 1])
}

async fn markers_are_control_batches_of_their_producer(lab: &Lab) -> Outcome {
    let topic = lab.topic(1).await?;
    let mut producer = lab.producer().await?;
    for committed in [true, false] {
        let epoch = producer.epoch;
        let offset = producer.write(&topic, 0, 1).await? + 1;
        producer.end(committed).await?;
        let seen = lab.read(&topic, 0, Isolation::Uncommitted).await?;
        let batch = seen.batches.last().filter(|batch| batch.is_control());
        let told = batch.map(|batch| (batch.is_transactional(), batch.count(), batch.base_sequence()));
        lab.check("transactional, records, sequence", told, Some((true, 1, -1)))?;
        let marks = batch.map(|batch| batch.producer_epoch());
        lab.check_that(
            "its epoch",
            marks.is_some_and(|is| is >= epoch),
            "that of the transaction or the next",
            &marks,
        )?;
        let last = seen.markers()?.last().copied();
        lab.check("offset, producer id, committed", last, Some((offset, producer.producer_id, committed)))?;
    }
    Ok(())
}

async fn the_end_for_who_reads_committed_is_the_last_stable_offset(lab: &Lab) -> Outcome {
    let topic = lab.topic(1).await?;
    let mut producer = lab.producer().await?;
    lab.produce(&topic, 0, 2).await?;
    producer.write(&topic, 0, 3).await?;
    lab.check("while one is open, committed", lab.end_for(&topic, 0, Isolation::Committed).await?, 2)?;
    lab.check("while one is open, uncommitted", lab.end_for(&topic, 0, Isolation::Uncommitted).await?, 5)?;
    producer.end(false).await?;
    lab.check("when it has ended, committed", lab.end_for(&topic, 0, Isolation::Committed).await?, 6)?;
    lab.check("when it has ended, uncommitted", lab.end_for(&topic, 0, Isolation::Uncommitted).await?, 6)
}

async fn a_partition_tells_where_open_transactions_begin(lab: &Lab) -> Outcome {
    let topic = lab.topic(1).await?;
    let mut producer = lab.producer().await?;
    lab.produce(&topic, 0, 4).await?;
    let id = producer.producer_id;
    let open = async || {
        let asked = TopicRequest { name: topic.name.clone(), partition_indexes: vec![0] };
        let found = lab.leader(&topic, 0).await?.call(&DescribeProducersRequest { topics: vec![asked] }).await?;
        let found: Vec<_> = found.topics.into_iter().flat_map(|topic| topic.partitions).collect();
        let code = found.first().map(|partition| partition.error_code);
        lab.check("the error", code, Some(ErrorCode::NONE))?;
        let mut producers = found.into_iter().flat_map(|partition| partition.active_producers);
        Outcome::Ok(producers.find(|is| is.producer_id == id).map(|is| is.current_txn_start_offset))
    };
    producer.write(&topic, 0, 2).await?;
    producer.write(&topic, 0, 1).await?;
    lab.check("the start while it is open", open().await?, Some(4))?;
    producer.end(true).await?;
    lab.check("the start when it has ended", open().await?, Some(-1))
}
