//! Produce and AddPartitionsToTxn in transactions.

use std::collections::BTreeMap;

use ackflow_protocol::messages::produce::ProduceRequest;
use ackflow_protocol::messages::write_txn_markers::{
    WritableTxnMarker, WritableTxnMarkerTopic, WriteTxnMarkersRequest,
};
use ackflow_protocol::records::BatchOptions;
use ackflow_protocol::wire::{ApiKey, ErrorCode};

use crate::broker::case::cases;
use crate::broker::lab::produce::{batch, write};
use crate::broker::lab::{Isolation, Lab, Link, Outcome, Producer, Topic, Way, values};

cases! {
    Transactions;
    writing_makes_a_partition_part_of_the_transaction_in_version_2:
        "Since version 12, Produce makes a partition part of the producer's transaction, and begins one where there is none.",
        "KIP-890, Produce v12";
    a_partition_that_was_not_added_takes_nothing_in_version_1:
        "Before version 12, a batch of a transaction that its partition is no part of is refused and not written: with TRANSACTION_ABORTABLE in version 11, with INVALID_TXN_STATE before.",
        "KIP-890, part 1; KIP-1050";
    a_partition_that_is_not_there_keeps_all_others_from_being_added:
        "AddPartitionsToTxn that names a partition that is not there is UNKNOWN_TOPIC_OR_PARTITION for it, OPERATION_NOT_ATTEMPTED for the others, and adds none.",
        "KIP-98, AddPartitionsToTxnRequest";
    a_partition_that_is_added_again_is_no_error:
        "AddPartitionsToTxn for partitions that are part of the transaction is answered without an error.",
        "KIP-98, AddPartitionsToTxnRequest";
    a_partition_has_to_be_added_to_each_transaction_in_version_1:
        "A partition is part of the transaction alone to which it was added: after its end a batch without another AddPartitionsToTxn is refused.",
        "KIP-98, AddPartitionsToTxnRequest; KIP-890, part 1";
    a_fenced_producer_adds_nothing:
        "AddPartitionsToTxn with an epoch that is not the producer's is refused with PRODUCER_FENCED, with another producer id INVALID_PRODUCER_ID_MAPPING.",
        "KIP-98, AddPartitionsToTxnRequest; KIP-588";
    a_late_batch_of_an_ended_transaction_is_refused_in_version_2:
        "A batch of a transaction that has ended, which comes late, does not slip into the next one: it is refused with INVALID_PRODUCER_EPOCH.",
        "KIP-890, Bump epoch on each transaction";
    each_transaction_of_version_2_begins_with_sequence_zero:
        "The first batch of each transaction has the sequence 0, since each has an epoch of its own; another is refused with OUT_OF_ORDER_SEQUENCE_NUMBER.",
        "KIP-890, Bump epoch on each transaction";
    a_batch_of_another_producer_id_is_refused:
        "A batch whose producer id is not that of the request's transactional id is refused with INVALID_PRODUCER_ID_MAPPING and not written.",
        "KIP-890, part 1";
    a_transactional_batch_needs_a_transactional_id:
        "A transactional batch in a request without a transactional id is refused and not written.",
        "Produce schema: TransactionalId",
        note "Kafka answers TRANSACTIONAL_ID_AUTHORIZATION_FAILED; the schema names no code, and any error is taken here.";
    a_producer_writes_nothing_else_beside_its_open_transaction:
        "A batch that is not transactional, of a producer that has a transaction open in the partition, is refused with INVALID_TXN_STATE and not written.",
        "KIP-98, Transactional guarantees";
    a_batch_of_a_transaction_that_is_sent_again_is_written_once:
        "Batches of transactions are known again as those of idempotent producers are.",
        "KIP-98, Idempotent producer guarantees";
    a_marker_of_an_administrator_ends_what_hangs:
        "WriteTxnMarkers that aborts for a producer ends what it has open in a partition: those who read committed records go on.",
        "KIP-664, Abort transaction";
    a_marker_of_an_older_epoch_is_refused:
        "WriteTxnMarkers with an epoch before the producer's is refused with INVALID_PRODUCER_EPOCH, and the transaction stays open.",
        "KIP-98, WriteTxnMarkerRequest";
}

async fn writing_makes_a_partition_part_of_the_transaction_in_version_2(lab: &Lab) -> Outcome {
    lab.needs_transactions_of_version_2()?;
    let topic = lab.topic(3).await?;
    let mut producer = lab.producer_in(Way::Writing).await?;
    for partition in [2, 0] {
        let code = producer.try_write(None, &topic, partition, producer.batch(&topic, partition, 1)).await?.error_code;
        lab.check(&format!("the error in partition {partition}"), code, ErrorCode::NONE)?;
    }
    let found = producer.described().await?;
    lab.check("the state", found.transaction_state, "Ongoing".into())?;
    let mut parts: Vec<_> = found.topics.into_iter().map(|topic| (topic.topic, topic.partitions)).collect();
    parts.iter_mut().for_each(|(_, partitions)| partitions.sort_unstable());
    lab.check("its partitions", parts, vec![(topic.name, vec![0, 2])])
}

async fn a_partition_that_was_not_added_takes_nothing_in_version_1(lab: &Lab) -> Outcome {
    let topic = lab.topic(2).await?;
    let mut producer = lab.producer_in(Way::Adding).await?;
    producer.write(&topic, 1, 1).await?;
    for (version, wanted) in [(11, ErrorCode::TRANSACTION_ABORTABLE), (10, ErrorCode::INVALID_TXN_STATE)] {
        if lab.target.offers(ApiKey::PRODUCE, version).is_err() {
            continue;
        }
        let refused = producer.try_write(Some(version), &topic, 0, producer.batch(&topic, 0, 1)).await?.error_code;
        lab.check(&format!("Produce {version}"), refused, wanted)?;
    }
    lab.check("the end of the partition", lab.end_offset(&topic, 0).await?, 0)
}

async fn a_partition_that_is_not_there_keeps_all_others_from_being_added(lab: &Lab) -> Outcome {
    let topic = lab.topic(1).await?;
    let mut producer = lab.producer_in(Way::Adding).await?;
    let codes = producer.add_in(3, &producer.add_request(&topic, &[0, 7])).await?;
    let wanted = [(0, ErrorCode::OPERATION_NOT_ATTEMPTED), (7, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION)];
    lab.check("the error of each partition", codes, BTreeMap::from(wanted))?;
    lab.check("the state then", producer.described().await?.transaction_state, "Empty".into())
}

async fn a_partition_that_is_added_again_is_no_error(lab: &Lab) -> Outcome {
    let topic = lab.topic(2).await?;
    let mut producer = lab.producer_in(Way::Adding).await?;
    for partitions in [&[0][..], &[0], &[0, 1]] {
        let codes = producer.add_in(3, &producer.add_request(&topic, partitions)).await?;
        let wanted: BTreeMap<_, _> = partitions.iter().map(|partition| (*partition, ErrorCode::NONE)).collect();
        lab.check("the error of each partition", codes, wanted)?;
    }
    Ok(())
}

async fn a_partition_has_to_be_added_to_each_transaction_in_version_1(lab: &Lab) -> Outcome {
    let topic = lab.topic(1).await?;
    let mut producer = lab.producer_in(Way::Adding).await?;
    producer.write(&topic, 0, 1).await?;
    producer.end(true).await?;
    let end = lab.end_offset(&topic, 0).await?;
    let refused = producer.try_write(None, &topic, 0, producer.batch(&topic, 0, 1)).await?.error_code;
    let right = [ErrorCode::TRANSACTION_ABORTABLE, ErrorCode::INVALID_TXN_STATE];
    let wanted = "TRANSACTION_ABORTABLE or INVALID_TXN_STATE";
    lab.check_that("a batch behind the end", right.contains(&refused), wanted, &refused)?;
    lab.check("the end of the partition", lab.end_offset(&topic, 0).await?, end)
}

async fn a_fenced_producer_adds_nothing(lab: &Lab) -> Outcome {
    let topic = lab.topic(1).await?;
    let mut producer = lab.producer_in(Way::Adding).await?.successor().await?;
    let right = producer.add_request(&topic, &[0]);
    for (what, change, wanted) in [
        ("an epoch of before", (0, -1), ErrorCode::PRODUCER_FENCED),
        ("a later epoch", (0, 1), ErrorCode::PRODUCER_FENCED),
        ("another producer id", (100_000, 0), ErrorCode::INVALID_PRODUCER_ID_MAPPING),
    ] {
        let mut request = right.clone();
        request.v3_and_below_producer_id += change.0;
        request.v3_and_below_producer_epoch += change.1;
        lab.check(what, producer.add_in(3, &request).await?.get(&0).copied(), Some(wanted))?;
    }
    lab.check("the state then", producer.described().await?.transaction_state, "Empty".into())
}

async fn a_late_batch_of_an_ended_transaction_is_refused_in_version_2(lab: &Lab) -> Outcome {
    lab.needs_transactions_of_version_2()?;
    let topic = lab.topic(1).await?;
    let mut producer = lab.producer_in(Way::Writing).await?;
    producer.write(&topic, 0, 1).await?;
    let late = producer.batch(&topic, 0, 1);
    producer.end(true).await?;
    let end = lab.end_offset(&topic, 0).await?;
    let code = producer.try_write(None, &topic, 0, late.clone()).await?.error_code;
    lab.check("before the next transaction", code, ErrorCode::INVALID_PRODUCER_EPOCH)?;
    producer.write(&topic, 0, 1).await?;
    let code = producer.try_write(None, &topic, 0, late).await?.error_code;
    lab.check("within the next transaction", code, ErrorCode::INVALID_PRODUCER_EPOCH)?;
    lab.check("the end of the partition", lab.end_offset(&topic, 0).await?, end + 1)
}

async fn each_transaction_of_version_2_begins_with_sequence_zero(lab: &Lab) -> Outcome {
    lab.needs_transactions_of_version_2()?;
    let topic = lab.topic(1).await?;
    let mut producer = lab.producer_in(Way::Writing).await?;
    producer.write(&topic, 0, 3).await?;
    producer.end(true).await?;
    for (sequence, wanted) in [(3, ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER), (0, ErrorCode::NONE)] {
        let records = batch(values(1), producer.options(sequence));
        let code = producer.try_write(None, &topic, 0, records).await?.error_code;
        lab.check(&format!("sequence {sequence} behind a transaction of three records"), code, wanted)?;
    }
    Ok(())
}

async fn a_batch_of_another_producer_id_is_refused(lab: &Lab) -> Outcome {
    let topic = lab.topic(2).await?;
    let mut producer = lab.producer().await?;
    producer.write(&topic, 1, 1).await?;
    let of_another = BatchOptions { producer_id: producer.producer_id + 100_000, ..producer.options(0) };
    let refused = producer.try_write(None, &topic, 0, batch(values(1), of_another)).await?.error_code;
    lab.check("the error", refused, ErrorCode::INVALID_PRODUCER_ID_MAPPING)?;
    lab.check("the end of the partition", lab.end_offset(&topic, 0).await?, 0)
}

async fn a_transactional_batch_needs_a_transactional_id(lab: &Lab) -> Outcome {
    let topic = lab.topic(1).await?;
    let mut producer = lab.producer().await?;
    producer.write(&topic, 0, 1).await?;
    let mut link = lab.leader(&topic, 0).await?;
    link.newest::<ProduceRequest>()?;
    let refused = write(&mut link, &topic, 0, None, producer.batch(&topic, 0, 1)).await?.error_code;
    lab.check_that("the error", !refused.is_none(), "any", &refused)?;
    lab.check("the end of the partition", lab.end_offset(&topic, 0).await?, 1)
}

async fn a_producer_writes_nothing_else_beside_its_open_transaction(lab: &Lab) -> Outcome {
    let topic = lab.topic(1).await?;
    let mut producer = lab.producer().await?;
    producer.write(&topic, 0, 2).await?;
    let plain = BatchOptions { transactional: false, ..producer.options(2) };
    let refused = producer.try_write(None, &topic, 0, batch(values(1), plain)).await?.error_code;
    lab.check("the error", refused, ErrorCode::INVALID_TXN_STATE)?;
    lab.check("the end of the partition", lab.end_offset(&topic, 0).await?, 2)
}

async fn a_batch_of_a_transaction_that_is_sent_again_is_written_once(lab: &Lab) -> Outcome {
    let topic = lab.topic(1).await?;
    let mut producer = lab.producer().await?;
    let first = producer.batch(&topic, 0, 2);
    producer.write(&topic, 0, 2).await?;
    producer.write(&topic, 0, 3).await?;
    let again = producer.try_write(None, &topic, 0, first).await?;
    lab.check("the first batch again", (again.error_code, again.base_offset), (ErrorCode::NONE, 0))?;
    producer.end(true).await?;
    let seen = lab.read(&topic, 0, Isolation::Committed).await?;
    lab.check("committed records", seen.committed(), vec![0, 1, 2, 3, 4])
}

/// Asks the leader of partition 0 for an abort marker of a producer.
async fn abort(link: &mut Link, topic: &Topic, producer: &Producer<'_>, epoch: i16) -> Outcome<ErrorCode> {
    let topics = vec![WritableTxnMarkerTopic { name: topic.name.clone(), partition_indexes: vec![0] }];
    let marker = WritableTxnMarker {
        producer_id: producer.producer_id,
        producer_epoch: epoch,
        transaction_result: false,
        topics,
        ..Default::default()
    };
    let response = link.call(&WriteTxnMarkersRequest { markers: vec![marker] }).await?;
    let partitions = response.markers.into_iter().flat_map(|marker| marker.topics).flat_map(|topic| topic.partitions);
    Ok(partitions.map(|partition| partition.error_code).next().unwrap_or(ErrorCode::UNKNOWN_SERVER_ERROR))
}

async fn a_marker_of_an_administrator_ends_what_hangs(lab: &Lab) -> Outcome {
    let topic = lab.topic(1).await?;
    let mut producer = lab.producer().await?;
    producer.write(&topic, 0, 2).await?;
    lab.produce(&topic, 0, 1).await?;
    let mut link = lab.leader(&topic, 0).await?;
    lab.check("the error", abort(&mut link, &topic, &producer, producer.epoch).await?, ErrorCode::NONE)?;
    let seen = lab.read(&topic, 0, Isolation::Committed).await?;
    lab.check("the last stable offset", seen.data.last_stable_offset, 4)?;
    lab.check("committed records", seen.committed(), vec![2])?;
    lab.check("markers", seen.markers()?, vec![(3, producer.producer_id, false)])
}

async fn a_marker_of_an_older_epoch_is_refused(lab: &Lab) -> Outcome {
    let topic = lab.topic(1).await?;
    let mut producer = lab.producer().await?.successor().await?;
    producer.write(&topic, 0, 2).await?;
    let mut link = lab.leader(&topic, 0).await?;
    let refused = abort(&mut link, &topic, &producer, producer.epoch - 1).await?;
    lab.check("the error", refused, ErrorCode::INVALID_PRODUCER_EPOCH)?;
    let seen = lab.read(&topic, 0, Isolation::Committed).await?;
    lab.check("the last stable offset", seen.data.last_stable_offset, 0)
}
