//! EndTxn.

use ackflow_protocol::messages::end_txn::EndTxnRequest;
use ackflow_protocol::wire::ErrorCode;

use crate::broker::case::cases;
use crate::broker::lab::{Isolation, Lab, Outcome, Way};

cases! {
    Transactions;
    an_end_begins_another_epoch_in_version_2:
        "Since version 5, EndTxn gives the producer its next epoch, with the same producer id: each transaction has an epoch of its own.",
        "KIP-890, EndTxn v5";
    an_end_that_is_sent_again_is_answered_alike_in_version_2:
        "Since version 5, EndTxn that is sent again with the epoch of before, as after a lost answer, is answered as the first time, and ends nothing more.",
        "KIP-890, Return error for non-zero sequence on new producers; EndTxn v5";
    an_end_that_is_sent_again_is_answered_alike_in_version_1:
        "Before version 5, EndTxn that is sent again is answered without an error.",
        "KIP-98, EndTxnRequest";
    the_epoch_stays_when_a_transaction_of_version_1_ends:
        "Before version 5, EndTxn changes no epoch: the next transaction goes on with epoch and sequences.",
        "KIP-98, EndTxnRequest; KIP-890, Compatibility";
    what_was_committed_is_not_aborted:
        "An abort of a transaction that was committed is refused with INVALID_TXN_STATE, and its records stay committed.",
        "KIP-98, EndTxnRequest";
    what_was_aborted_is_not_committed:
        "A commit of a transaction that was aborted is refused with INVALID_TXN_STATE, and its records stay aborted.",
        "KIP-98, EndTxnRequest";
    nothing_is_not_committed:
        "A commit of a producer that has never begun a transaction is refused with INVALID_TXN_STATE.",
        "KIP-98, EndTxnRequest; KIP-890";
    an_abort_of_nothing_begins_another_epoch_in_version_2:
        "Since version 5, a producer may abort where it has nothing open, and gets its next epoch: it may not know whether its last request has begun a transaction.",
        "KIP-890, Abortable errors and EndTxn v5";
    an_abort_of_nothing_is_refused_in_version_1:
        "Before version 5, an abort of a producer that has never begun a transaction is refused with INVALID_TXN_STATE.",
        "KIP-98, EndTxnRequest";
    an_end_by_another_producer_id_is_refused:
        "EndTxn with another producer id than that of the transactional id is refused with INVALID_PRODUCER_ID_MAPPING, and the transaction stays open.",
        "KIP-98, EndTxnRequest";
    an_end_of_a_transactional_id_that_nobody_knows_is_refused:
        "EndTxn of a transactional id that was never initialised is refused with INVALID_PRODUCER_ID_MAPPING.",
        "KIP-98, EndTxnRequest";
    an_end_with_a_later_epoch_is_refused:
        "EndTxn with an epoch that the producer does not have yet is refused with PRODUCER_FENCED, and the transaction stays open.",
        "KIP-98, EndTxnRequest; KIP-588",
        note "INVALID_PRODUCER_EPOCH is taken here too.";
    a_transaction_ends_in_all_its_partitions:
        "The end of a transaction writes a marker to each of its partitions, and to no other.",
        "KIP-98, WriteTxnMarkerRequest";
    a_transaction_without_records_ends_too:
        "A transaction to which partitions were added, and nothing was written, is committed without an error.",
        "KIP-98, AddPartitionsToTxnRequest";
}

async fn an_end_begins_another_epoch_in_version_2(lab: &Lab) -> Outcome {
    lab.needs_transactions_of_version_2()?;
    let topic = lab.topic(1).await?;
    let mut producer = lab.producer_in(Way::Writing).await?;
    for committed in [true, false, true] {
        producer.write(&topic, 0, 1).await?;
        let ended = producer.try_end(None, &producer.end_request(committed)).await?;
        let got = (ended.error_code, ended.producer_id, ended.producer_epoch);
        let wanted = (ErrorCode::NONE, producer.producer_id, producer.epoch + 1);
        lab.check(&format!("error, producer id and epoch, committed {committed}"), got, wanted)?;
        producer.epoch = ended.producer_epoch;
    }
    producer.write(&topic, 0, 1).await?;
    lab.check("the state with the last epoch", producer.described().await?.transaction_state, "Ongoing".into())
}

async fn an_end_that_is_sent_again_is_answered_alike_in_version_2(lab: &Lab) -> Outcome {
    lab.needs_transactions_of_version_2()?;
    let topic = lab.topic(1).await?;
    let mut producer = lab.producer_in(Way::Writing).await?;
    for committed in [true, false] {
        producer.write(&topic, 0, 1).await?;
        let (request, end) = (producer.end_request(committed), lab.end_offset(&topic, 0).await?);
        for what in ["the first time", "again"] {
            let ended = producer.try_end(None, &request).await?;
            let got = (ended.error_code, ended.producer_id, ended.producer_epoch);
            lab.check(what, got, (ErrorCode::NONE, producer.producer_id, request.producer_epoch + 1))?;
            producer.settled().await?;
        }
        producer.epoch += 1;
        lab.check("the end of the partition, behind one marker", lab.end_offset(&topic, 0).await?, end + 1)?;
    }
    Ok(())
}

async fn an_end_that_is_sent_again_is_answered_alike_in_version_1(lab: &Lab) -> Outcome {
    let topic = lab.topic(1).await?;
    let mut producer = lab.producer_in(Way::Adding).await?;
    for committed in [true, false] {
        producer.write(&topic, 0, 1).await?;
        producer.end(committed).await?;
        let end = lab.end_offset(&topic, 0).await?;
        let again = producer.try_end(None, &producer.end_request(committed)).await?.error_code;
        lab.check(&format!("the same again, committed {committed}"), again, ErrorCode::NONE)?;
        lab.check("the end of the partition", lab.end_offset(&topic, 0).await?, end)?;
    }
    Ok(())
}

async fn the_epoch_stays_when_a_transaction_of_version_1_ends(lab: &Lab) -> Outcome {
    let topic = lab.topic(1).await?;
    let mut producer = lab.producer_in(Way::Adding).await?;
    for committed in [true, false, true] {
        // The sequences of one transaction follow those of the one before.
        producer.write(&topic, 0, 2).await?;
        let ended = producer.try_end(None, &producer.end_request(committed)).await?.error_code;
        lab.check(&format!("the end, committed {committed}"), ended, ErrorCode::NONE)?;
        producer.end(committed).await?;
        lab.check("the epoch then", producer.described().await?.producer_epoch, producer.epoch)?;
    }
    let seen = lab.read(&topic, 0, Isolation::Committed).await?;
    lab.check("committed records", seen.committed(), vec![0, 1, 6, 7])
}

async fn what_was_committed_is_not_aborted(lab: &Lab) -> Outcome {
    decided_otherwise(lab, true).await
}

async fn what_was_aborted_is_not_committed(lab: &Lab) -> Outcome {
    decided_otherwise(lab, false).await
}

async fn decided_otherwise(lab: &Lab, committed: bool) -> Outcome {
    let topic = lab.topic(1).await?;
    let mut producer = lab.producer().await?;
    producer.write(&topic, 0, 2).await?;
    let other = producer.end_request(!committed);
    producer.end(committed).await?;
    let refused = producer.try_end(None, &other).await?.error_code;
    lab.check(&format!("committed {} then", !committed), refused, ErrorCode::INVALID_TXN_STATE)?;
    let seen = lab.read(&topic, 0, Isolation::Committed).await?;
    let wanted = if committed { vec![0, 1] } else { Vec::new() };
    lab.check("committed records", seen.committed(), wanted)
}

async fn nothing_is_not_committed(lab: &Lab) -> Outcome {
    let mut producer = lab.producer().await?;
    let refused = producer.try_end(None, &producer.end_request(true)).await?.error_code;
    lab.check("a commit of nothing", refused, ErrorCode::INVALID_TXN_STATE)
}

async fn an_abort_of_nothing_begins_another_epoch_in_version_2(lab: &Lab) -> Outcome {
    lab.needs_transactions_of_version_2()?;
    let topic = lab.topic(1).await?;
    let mut producer = lab.producer_in(Way::Writing).await?;
    let ended = producer.try_end(None, &producer.end_request(false)).await?;
    let got = (ended.error_code, ended.producer_id, ended.producer_epoch);
    lab.check("an abort of nothing", got, (ErrorCode::NONE, producer.producer_id, producer.epoch + 1))?;
    let late = producer.try_write(None, &topic, 0, producer.batch(&topic, 0, 1)).await?.error_code;
    lab.check("a late batch of before", late, ErrorCode::INVALID_PRODUCER_EPOCH)
}

async fn an_abort_of_nothing_is_refused_in_version_1(lab: &Lab) -> Outcome {
    let mut producer = lab.producer_in(Way::Adding).await?;
    let refused = producer.try_end(None, &producer.end_request(false)).await?.error_code;
    lab.check("an abort of nothing", refused, ErrorCode::INVALID_TXN_STATE)
}

async fn an_end_by_another_producer_id_is_refused(lab: &Lab) -> Outcome {
    let topic = lab.topic(1).await?;
    let mut producer = lab.producer().await?;
    producer.write(&topic, 0, 1).await?;
    let other = EndTxnRequest { producer_id: producer.producer_id + 100_000, ..producer.end_request(true) };
    let refused = producer.try_end(None, &other).await?.error_code;
    lab.check("the error", refused, ErrorCode::INVALID_PRODUCER_ID_MAPPING)?;
    lab.check("the state then", producer.described().await?.transaction_state, "Ongoing".into())
}

async fn an_end_of_a_transactional_id_that_nobody_knows_is_refused(lab: &Lab) -> Outcome {
    let producer = lab.producer().await?;
    let nobody = lab.unique("nobody");
    let mut link = lab.coordinator(crate::broker::lab::Kind::Transaction, &nobody).await?;
    let request = EndTxnRequest { transactional_id: nobody, ..producer.end_request(true) };
    let refused = link.call_in(producer.version::<EndTxnRequest>()?, &request).await?.error_code;
    lab.check("the error", refused, ErrorCode::INVALID_PRODUCER_ID_MAPPING)
}

async fn an_end_with_a_later_epoch_is_refused(lab: &Lab) -> Outcome {
    let topic = lab.topic(1).await?;
    let mut producer = lab.producer().await?;
    producer.write(&topic, 0, 1).await?;
    let later = EndTxnRequest { producer_epoch: producer.epoch + 1, ..producer.end_request(true) };
    let refused = producer.try_end(None, &later).await?.error_code;
    let right = [ErrorCode::PRODUCER_FENCED, ErrorCode::INVALID_PRODUCER_EPOCH];
    lab.check_that("the error", right.contains(&refused), "PRODUCER_FENCED or INVALID_PRODUCER_EPOCH", &refused)?;
    lab.check("the state then", producer.described().await?.transaction_state, "Ongoing".into())
}

async fn a_transaction_ends_in_all_its_partitions(lab: &Lab) -> Outcome {
    let (topic, other) = (lab.topic(3).await?, lab.topic(1).await?);
    let mut producer = lab.producer().await?;
    for (topic, partition) in [(&topic, 0), (&topic, 2), (&other, 0)] {
        producer.write(topic, partition, 1).await?;
    }
    let ended = producer.try_end(None, &producer.end_request(true)).await?.error_code;
    lab.check("the end", ended, ErrorCode::NONE)?;
    producer.settled().await?;
    for (topic, partition, wanted) in [(&topic, 0, true), (&topic, 1, false), (&topic, 2, true), (&other, 0, true)] {
        let markers = lab.read(topic, partition, Isolation::Uncommitted).await?.markers()?;
        let wanted = if wanted { vec![(1, producer.producer_id, true)] } else { Vec::new() };
        lab.check(&format!("markers of partition {partition} of {}", topic.name), markers, wanted)?;
    }
    Ok(())
}

async fn a_transaction_without_records_ends_too(lab: &Lab) -> Outcome {
    let topic = lab.topic(1).await?;
    let mut producer = lab.producer_in(Way::Adding).await?;
    let codes = producer.add_in(3, &producer.add_request(&topic, &[0])).await?;
    lab.check("the error of AddPartitionsToTxn", codes.get(&0).copied(), Some(ErrorCode::NONE))?;
    let ended = producer.try_end(None, &producer.end_request(true)).await?.error_code;
    lab.check("the error of EndTxn", ended, ErrorCode::NONE)?;
    lab.check("the state then", producer.settled().await?.transaction_state, "CompleteCommit".into())
}
