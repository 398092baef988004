//! Transactions that are open for too long.

use ackflow_protocol::messages::init_producer_id::InitProducerIdRequest;
use ackflow_protocol::wire::ErrorCode;

use crate::broker::case::cases;
use crate::broker::lab::{Isolation, Lab, Outcome, Producer, Topic};

cases! {
    Transactions;
    a_transaction_that_is_open_for_too_long_is_aborted:
        "A transaction that is open for longer than the timeout of its producer is aborted by its coordinator, and those who read committed records go on.",
        "KIP-98, Transaction coordinator: transaction.timeout.ms";
    a_producer_whose_transaction_was_aborted_for_its_time_writes_nothing:
        "A late batch of a transaction that its coordinator has aborted for its time is refused with INVALID_PRODUCER_EPOCH and not written.",
        "KIP-98, Transaction coordinator; KIP-588";
    a_producer_whose_transaction_was_aborted_for_its_time_commits_nothing:
        "A commit of a transaction that its coordinator has aborted for its time is refused, and its records stay aborted.",
        "KIP-98, Transaction coordinator; KIP-588",
        note "Kafka answers PRODUCER_FENCED in EndTxn 4 and INVALID_TXN_STATE in EndTxn 5.";
    a_transactional_id_goes_on_after_a_time_out:
        "After its transaction was aborted for its time, InitProducerId gives the transactional id a later epoch, with which it writes and commits.",
        "KIP-588, Allow producers to recover gracefully from transaction timeouts";
}

/// So long transactions of these cases may be open.
const TIMEOUT_MS: i32 = 1000;

/// A producer with two records in a transaction that was aborted for its time.
async fn timed_out<'a>(lab: &'a Lab, topic: &Topic) -> Outcome<Producer<'a>> {
    let mut producer = lab.producer_with_timeout(TIMEOUT_MS).await?;
    producer.write(topic, 0, 2).await?;
    producer.comes_to("CompleteAbort").await?;
    Ok(producer)
}

async fn a_transaction_that_is_open_for_too_long_is_aborted(lab: &Lab) -> Outcome {
    let topic = lab.topic(1).await?;
    let producer = timed_out(lab, &topic).await?;
    lab.produce(&topic, 0, 1).await?;
    let seen = lab.read(&topic, 0, Isolation::Committed).await?;
    lab.check("committed records", seen.committed(), vec![3])?;
    lab.check("markers", seen.markers()?, vec![(2, producer.producer_id, false)])
}

async fn a_producer_whose_transaction_was_aborted_for_its_time_writes_nothing(lab: &Lab) -> Outcome {
    let topic = lab.topic(1).await?;
    let producer = timed_out(lab, &topic).await?;
    let refused = producer.try_write(None, &topic, 0, producer.batch(&topic, 0, 1)).await?.error_code;
    lab.check("the error", refused, ErrorCode::INVALID_PRODUCER_EPOCH)?;
    lab.check("the end of the partition", lab.end_offset(&topic, 0).await?, 3)
}

async fn a_producer_whose_transaction_was_aborted_for_its_time_commits_nothing(lab: &Lab) -> Outcome {
    let topic = lab.topic(1).await?;
    let mut producer = timed_out(lab, &topic).await?;
    let refused = producer.try_end(None, &producer.end_request(true)).await?.error_code;
    let right = [ErrorCode::PRODUCER_FENCED, ErrorCode::INVALID_PRODUCER_EPOCH, ErrorCode::INVALID_TXN_STATE];
    lab.check_that("the error", right.contains(&refused), "PRODUCER_FENCED or INVALID_TXN_STATE", &refused)?;
    let seen = lab.read(&topic, 0, Isolation::Committed).await?;
    lab.check("committed records", seen.committed(), Vec::new())
}

async fn a_transactional_id_goes_on_after_a_time_out(lab: &Lab) -> Outcome {
    let topic = lab.topic(1).await?;
    let mut producer = timed_out(lab, &topic).await?;
    let request = InitProducerIdRequest { transaction_timeout_ms: 60_000, ..producer.init_request() };
    let again = producer.init_as(&request).await?;
    lab.check("the error", again.error_code, ErrorCode::NONE)?;
    lab.check("the producer id", again.producer_id, producer.producer_id)?;
    lab.check_that("the epoch", again.producer_epoch > producer.epoch, "a later one", &again.producer_epoch)?;
    producer.begin_as(again.producer_id, again.producer_epoch);
    producer.write(&topic, 0, 1).await?;
    producer.end(true).await?;
    let seen = lab.read(&topic, 0, Isolation::Committed).await?;
    lab.check("committed records", seen.committed(), vec![3])
}
