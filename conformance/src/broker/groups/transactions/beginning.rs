//! InitProducerId for transactional ids.

use ackflow_protocol::messages::add_offsets_to_txn::AddOffsetsToTxnRequest;
use ackflow_protocol::messages::init_producer_id::InitProducerIdRequest;
use ackflow_protocol::wire::{ApiKey, ErrorCode};

use crate::broker::case::cases;
use crate::broker::lab::producer::init;
use crate::broker::lab::{Isolation, Lab, Outcome, Stop, Way};

cases! {
    Transactions;
    a_transactional_id_keeps_its_producer_id_and_gets_another_epoch:
        "InitProducerId for a transactional id that is known gives its producer id with a later epoch.",
        "KIP-98, Transactional guarantees";
    transactional_ids_have_producer_ids_of_their_own:
        "Two transactional ids have two producer ids.",
        "KIP-98, Transactional guarantees";
    the_producer_of_before_ends_nothing_once_another_has_begun:
        "Once InitProducerId was answered for its transactional id again, a producer of before that ends a transaction is refused with PRODUCER_FENCED.",
        "KIP-98, Transactional guarantees; KIP-588, Proposed changes";
    the_producer_of_before_writes_nothing_once_another_has_begun:
        "Once InitProducerId was answered for its transactional id again, a batch of a producer of before is refused with INVALID_PRODUCER_EPOCH and not written.",
        "KIP-98, Transactional guarantees; KIP-588, Proposed changes";
    older_clients_are_told_of_a_fenced_epoch_in_older_words:
        "In versions before they knew PRODUCER_FENCED, EndTxn (1), AddPartitionsToTxn (1), AddOffsetsToTxn (1) and InitProducerId (3) say INVALID_PRODUCER_EPOCH to a fenced producer.",
        "KIP-588, Proposed changes";
    who_begins_again_aborts_what_is_open:
        "InitProducerId for a transactional id with an open transaction aborts it, and is CONCURRENT_TRANSACTIONS until that has ended.",
        "KIP-98, InitPidRequest";
    a_producer_that_names_itself_goes_on_with_the_next_epoch:
        "InitProducerId with the producer's own id and epoch gives the same id with a later epoch, and once more the same answer where the first one was lost.",
        "KIP-360, InitProducerId";
    a_producer_that_names_another_epoch_is_fenced:
        "InitProducerId that names an epoch that is neither the producer's nor the one before, or another producer id, is refused with PRODUCER_FENCED.",
        "KIP-360, InitProducerId; KIP-588",
        note "KIP-360 has INVALID_PRODUCER_EPOCH, which KIP-588 made PRODUCER_FENCED since version 4. A broker that has INVALID_PRODUCER_ID_MAPPING for another id passes too.";
    half_a_producer_is_no_producer:
        "InitProducerId with a producer id and no epoch, or with an epoch and no producer id, is refused with INVALID_REQUEST.",
        "KIP-360, InitProducerId";
    an_empty_transactional_id_is_refused:
        "InitProducerId with an empty transactional id is refused with INVALID_REQUEST: null stands for none.",
        "KIP-98, InitPidRequest",
        note "The KIP does not say it; Kafka documents null as the way to ask for no transactional id.";
    a_time_out_outside_its_bounds_is_refused:
        "A transaction timeout of 0, below 0, or above the broker's transaction.max.timeout.ms is refused with INVALID_TRANSACTION_TIMEOUT.",
        "KIP-98, InitPidRequest";
    no_transaction_timeout_is_needed_without_a_transactional_id:
        "InitProducerId without a transactional id does not look at the transaction timeout.",
        "KIP-98, InitPidRequest";
}

async fn a_transactional_id_keeps_its_producer_id_and_gets_another_epoch(lab: &Lab) -> Outcome {
    let mut producer = lab.producer().await?;
    lab.check("the epoch of a new transactional id", producer.epoch, 0)?;
    for epoch in 1..=3 {
        let again = producer.init_as(&producer.init_request()).await?;
        lab.check("the error", again.error_code, ErrorCode::NONE)?;
        lab.check("the producer id", again.producer_id, producer.producer_id)?;
        lab.check("the epoch", again.producer_epoch, epoch)?;
    }
    Ok(())
}

async fn transactional_ids_have_producer_ids_of_their_own(lab: &Lab) -> Outcome {
    let (one, mut two) = (lab.producer().await?, lab.producer().await?);
    let again = two.init_as(&two.init_request()).await?;
    lab.check_that("the producer id of another", again.producer_id != one.producer_id, "another", &again.producer_id)
}

async fn the_producer_of_before_ends_nothing_once_another_has_begun(lab: &Lab) -> Outcome {
    let topic = lab.topic(1).await?;
    let mut before = lab.producer().await?;
    let mut now = before.successor().await?;
    now.write(&topic, 0, 1).await?;
    for committed in [true, false] {
        let refused = before.try_end(None, &before.end_request(committed)).await?.error_code;
        lab.check(&format!("an end of before, committed {committed}"), refused, ErrorCode::PRODUCER_FENCED)?;
    }
    lab.check("the state of the transaction", now.described().await?.transaction_state, "Ongoing".into())
}

async fn the_producer_of_before_writes_nothing_once_another_has_begun(lab: &Lab) -> Outcome {
    let topic = lab.topic(1).await?;
    let mut before = lab.producer().await?;
    before.write(&topic, 0, 1).await?;
    before.end(true).await?;
    before.write(&topic, 0, 1).await?;
    before.successor().await?.settled().await?;
    let end = lab.end_offset(&topic, 0).await?;
    let refused = before.try_write(None, &topic, 0, before.batch(&topic, 0, 1)).await?.error_code;
    lab.check("a batch of before", refused, ErrorCode::INVALID_PRODUCER_EPOCH)?;
    lab.check("the end of the partition", lab.end_offset(&topic, 0).await?, end)
}

async fn older_clients_are_told_of_a_fenced_epoch_in_older_words(lab: &Lab) -> Outcome {
    for (api, version) in [
        (ApiKey::END_TXN, 1),
        (ApiKey::ADD_PARTITIONS_TO_TXN, 1),
        (ApiKey::ADD_OFFSETS_TO_TXN, 1),
        (ApiKey::INIT_PRODUCER_ID, 3),
    ] {
        lab.target.offers(api, version)?;
    }
    let topic = lab.topic(1).await?;
    let mut before = lab.producer_in(Way::Adding).await?;
    before.successor().await?.successor().await?;
    let code = before.try_end(Some(1), &before.end_request(true)).await?.error_code;
    lab.check("EndTxn 1", code, ErrorCode::INVALID_PRODUCER_EPOCH)?;
    let codes = before.add_in(1, &before.add_request(&topic, &[0])).await?;
    lab.check("AddPartitionsToTxn 1", codes.get(&0).copied(), Some(ErrorCode::INVALID_PRODUCER_EPOCH))?;
    let (producer_id, producer_epoch) = (before.producer_id, before.epoch);
    let transactional_id = before.id.clone();
    let offsets =
        AddOffsetsToTxnRequest { transactional_id, producer_id, producer_epoch, group_id: lab.unique("group") };
    let code = before.link.call_in(1, &offsets).await?.error_code;
    lab.check("AddOffsetsToTxn 1", code, ErrorCode::INVALID_PRODUCER_EPOCH)?;
    let named = InitProducerIdRequest { producer_id, producer_epoch, ..before.init_request() };
    let code = before.link.call_in(3, &named).await?.error_code;
    lab.check("InitProducerId 3", code, ErrorCode::INVALID_PRODUCER_EPOCH)
}

async fn who_begins_again_aborts_what_is_open(lab: &Lab) -> Outcome {
    let topic = lab.topic(1).await?;
    let mut producer = lab.producer().await?;
    producer.write(&topic, 0, 2).await?;
    let first = producer.link.call(&producer.init_request()).await?.error_code;
    let right = [ErrorCode::CONCURRENT_TRANSACTIONS, ErrorCode::NONE];
    lab.check_that(
        "the first answer",
        right.contains(&first),
        "CONCURRENT_TRANSACTIONS, or none after waiting",
        &first,
    )?;
    let again = producer.init_as(&producer.init_request()).await?;
    lab.check("the error at last", again.error_code, ErrorCode::NONE)?;
    lab.check_that("the epoch", again.producer_epoch > producer.epoch, "a later one", &again.producer_epoch)?;
    let seen = lab.read(&topic, 0, Isolation::Committed).await?;
    lab.check("committed records", seen.committed(), Vec::new())?;
    lab.check("markers", seen.markers()?, vec![(2, producer.producer_id, false)])
}

async fn a_producer_that_names_itself_goes_on_with_the_next_epoch(lab: &Lab) -> Outcome {
    let mut producer = lab.producer().await?;
    let (producer_id, producer_epoch) = (producer.producer_id, producer.epoch);
    let named = InitProducerIdRequest { producer_id, producer_epoch, ..producer.init_request() };
    for what in ["the first time", "again, as after a lost answer"] {
        let goes_on = producer.init_as(&named).await?;
        let got = (goes_on.error_code, goes_on.producer_id, goes_on.producer_epoch);
        lab.check(what, got, (ErrorCode::NONE, producer_id, producer_epoch + 1))?;
    }
    Ok(())
}

async fn a_producer_that_names_another_epoch_is_fenced(lab: &Lab) -> Outcome {
    if lab.target.version::<InitProducerIdRequest>()? < 4 {
        return Err(Stop::NotOffered("InitProducerId 4 is not advertised".into()));
    }
    let mut producer = lab.producer().await?.successor().await?.successor().await?;
    let id = producer.producer_id;
    let mut asks = async |producer_id, producer_epoch| {
        let named = InitProducerIdRequest { producer_id, producer_epoch, ..producer.init_request() };
        Outcome::Ok(producer.init_as(&named).await?.error_code)
    };
    lab.check("an epoch of long before", asks(id, 0).await?, ErrorCode::PRODUCER_FENCED)?;
    lab.check("an epoch to come", asks(id, 9).await?, ErrorCode::PRODUCER_FENCED)?;
    let other = asks(id + 100_000, 2).await?;
    let right = [ErrorCode::PRODUCER_FENCED, ErrorCode::INVALID_PRODUCER_ID_MAPPING];
    lab.check_that("another producer id", right.contains(&other), "PRODUCER_FENCED", &other)
}

async fn half_a_producer_is_no_producer(lab: &Lab) -> Outcome {
    let mut producer = lab.producer().await?;
    for (producer_id, producer_epoch) in [(producer.producer_id, -1), (-1, producer.epoch)] {
        let half = InitProducerIdRequest { producer_id, producer_epoch, ..producer.init_request() };
        let what = format!("producer id {producer_id} with epoch {producer_epoch}");
        lab.check(&what, producer.init_as(&half).await?.error_code, ErrorCode::INVALID_REQUEST)?;
    }
    Ok(())
}

async fn an_empty_transactional_id_is_refused(lab: &Lab) -> Outcome {
    let refused = lab.link().await?.call(&init(Some(""))).await?;
    lab.check("the error", refused.error_code, ErrorCode::INVALID_REQUEST)
}

async fn a_time_out_outside_its_bounds_is_refused(lab: &Lab) -> Outcome {
    let mut producer = lab.producer().await?;
    let largest = lab.target.settings.get("transaction.max.timeout.ms").and_then(|value| value.parse::<i32>().ok());
    let largest = largest.unwrap_or(900_000);
    for transaction_timeout_ms in [0, -1, largest.saturating_add(1)] {
        let request = InitProducerIdRequest { transaction_timeout_ms, ..producer.init_request() };
        let refused = producer.init_as(&request).await?.error_code;
        lab.check(&format!("{transaction_timeout_ms} ms"), refused, ErrorCode::INVALID_TRANSACTION_TIMEOUT)?;
    }
    let request = InitProducerIdRequest { transaction_timeout_ms: largest, ..producer.init_request() };
    lab.check("the largest", producer.init_as(&request).await?.error_code, ErrorCode::NONE)
}

async fn no_transaction_timeout_is_needed_without_a_transactional_id(lab: &Lab) -> Outcome {
    lab.idempotent_producer().await?;
    let request = InitProducerIdRequest { transaction_timeout_ms: i32::MAX, ..init(None) };
    lab.check("the error", lab.link().await?.call(&request).await?.error_code, ErrorCode::NONE)
}
