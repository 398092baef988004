//! Offsets of groups as part of transactions.

use ackflow_protocol::messages::offset_fetch::OffsetFetchRequest;
use ackflow_protocol::messages::txn_offset_commit::TxnOffsetCommitRequest;
use ackflow_protocol::wire::{ApiKey, ErrorCode};

use crate::broker::case::cases;
use crate::broker::lab::{Lab, Outcome, Stop, Way};

cases! {
    Transactions;
    offsets_count_when_their_transaction_is_committed:
        "An offset that TxnOffsetCommit has taken is the group's committed one when the transaction is committed, and not before.",
        "KIP-98, TxnOffsetCommitRequest";
    offsets_of_an_aborted_transaction_are_forgotten:
        "An offset that TxnOffsetCommit has taken is gone when the transaction is aborted: the one of before counts.",
        "KIP-98, TxnOffsetCommitRequest";
    who_wants_stable_offsets_is_told_of_an_open_transaction:
        "OffsetFetch with RequireStable answers UNSTABLE_OFFSET_COMMIT for a partition of which an open transaction has an offset; without it, the committed one of before.",
        "KIP-447, OffsetFetchRequest v7";
    the_last_offset_of_a_transaction_counts:
        "Of several offsets that one transaction commits for a partition, the last one counts, though it be smaller.",
        "KIP-98, TxnOffsetCommitRequest";
    committing_offsets_makes_the_group_part_of_the_transaction_in_version_2:
        "Since version 5, TxnOffsetCommit makes the group's offsets part of the producer's transaction by itself, and begins one where there is none.",
        "KIP-890, TxnOffsetCommit v5";
    offsets_of_a_group_that_was_not_added_are_refused_in_version_1:
        "Before version 5, TxnOffsetCommit for a group that the transaction has no offsets of is refused: with TRANSACTION_ABORTABLE in version 4, with INVALID_TXN_STATE before.",
        "KIP-890, part 1; KIP-1050";
    offsets_of_a_fenced_epoch_are_refused:
        "TxnOffsetCommit with an epoch of before is refused with INVALID_PRODUCER_EPOCH, and its offsets count never.",
        "KIP-98, TxnOffsetCommitRequest; KIP-588";
    offsets_of_another_producer_id_are_refused:
        "TxnOffsetCommit with a producer id that is not that of the transactional id is refused with INVALID_PRODUCER_ID_MAPPING.",
        "KIP-890, part 1";
    offsets_of_a_fenced_epoch_are_not_added:
        "AddOffsetsToTxn with an epoch of before is refused with PRODUCER_FENCED, with another producer id INVALID_PRODUCER_ID_MAPPING.",
        "KIP-98, AddOffsetsToTxnRequest; KIP-588";
    offsets_and_records_end_together:
        "One EndTxn ends records and offsets of a transaction, of two groups among them.",
        "KIP-98, Transactional guarantees";
}

async fn offsets_count_when_their_transaction_is_committed(lab: &Lab) -> Outcome {
    let (topic, group) = (lab.topic(1).await?, lab.consumer_group().await?);
    let mut producer = lab.producer().await?;
    producer.commit(&group, &topic, 5).await?;
    lab.check("the offset before", lab.committed(&group, &topic, false).await?, Ok(-1))?;
    producer.end(true).await?;
    lab.check("the offset then", lab.committed_at_last(&group, &topic).await?, 5)
}

async fn offsets_of_an_aborted_transaction_are_forgotten(lab: &Lab) -> Outcome {
    let (topic, group) = (lab.topic(1).await?, lab.consumer_group().await?);
    let mut producer = lab.producer().await?;
    producer.commit(&group, &topic, 5).await?;
    producer.end(true).await?;
    lab.check("the offset of a commit", lab.committed_at_last(&group, &topic).await?, 5)?;
    producer.commit(&group, &topic, 9).await?;
    producer.end(false).await?;
    lab.check("the offset after the abort", lab.committed_at_last(&group, &topic).await?, 5)
}

async fn who_wants_stable_offsets_is_told_of_an_open_transaction(lab: &Lab) -> Outcome {
    if lab.target.version::<OffsetFetchRequest>()? < 7 {
        return Err(Stop::NotOffered("OffsetFetch 7 is not advertised".into()));
    }
    let (topic, group) = (lab.topic(1).await?, lab.consumer_group().await?);
    let mut producer = lab.producer().await?;
    producer.commit(&group, &topic, 5).await?;
    producer.end(true).await?;
    lab.check("the offset that is committed", lab.committed_at_last(&group, &topic).await?, 5)?;
    producer.commit(&group, &topic, 9).await?;
    let stable = lab.committed(&group, &topic, true).await?;
    lab.check("with RequireStable", stable, Err(ErrorCode::UNSTABLE_OFFSET_COMMIT))?;
    lab.check("without it", lab.committed(&group, &topic, false).await?, Ok(5))
}

async fn the_last_offset_of_a_transaction_counts(lab: &Lab) -> Outcome {
    let (topic, group) = (lab.topic(1).await?, lab.consumer_group().await?);
    let mut producer = lab.producer().await?;
    for offset in [5, 9, 7] {
        producer.commit(&group, &topic, offset).await?;
    }
    producer.end(true).await?;
    lab.check("the offset", lab.committed_at_last(&group, &topic).await?, 7)
}

async fn committing_offsets_makes_the_group_part_of_the_transaction_in_version_2(lab: &Lab) -> Outcome {
    lab.needs_transactions_of_version_2()?;
    let (topic, group) = (lab.topic(1).await?, lab.consumer_group().await?);
    let mut producer = lab.producer_in(Way::Writing).await?;
    let code = producer.try_commit(None, &producer.commit_request(&group, &topic, 5)).await?;
    lab.check("the error without AddOffsetsToTxn", code, ErrorCode::NONE)?;
    lab.check("the state", producer.described().await?.transaction_state, "Ongoing".into())?;
    producer.end(true).await?;
    lab.check("the offset", lab.committed_at_last(&group, &topic).await?, 5)
}

async fn offsets_of_a_group_that_was_not_added_are_refused_in_version_1(lab: &Lab) -> Outcome {
    let (topic, group) = (lab.topic(1).await?, lab.consumer_group().await?);
    let mut producer = lab.producer_in(Way::Adding).await?;
    producer.write(&topic, 0, 1).await?;
    for (version, wanted) in [(4, ErrorCode::TRANSACTION_ABORTABLE), (3, ErrorCode::INVALID_TXN_STATE)] {
        if lab.target.offers(ApiKey::TXN_OFFSET_COMMIT, version).is_err() {
            continue;
        }
        let refused = producer.try_commit(Some(version), &producer.commit_request(&group, &topic, 5)).await?;
        lab.check(&format!("TxnOffsetCommit {version}"), refused, wanted)?;
    }
    producer.end(true).await?;
    lab.check("the offset then", lab.committed_at_last(&group, &topic).await?, -1)
}

async fn offsets_of_a_fenced_epoch_are_refused(lab: &Lab) -> Outcome {
    let (topic, group) = (lab.topic(1).await?, lab.consumer_group().await?);
    let before = lab.producer().await?;
    let mut now = before.successor().await?;
    now.commit(&group, &topic, 5).await?;
    let refused = before.try_commit(None, &before.commit_request(&group, &topic, 9)).await?;
    lab.check("the error", refused, ErrorCode::INVALID_PRODUCER_EPOCH)?;
    now.end(true).await?;
    lab.check("the offset then", lab.committed_at_last(&group, &topic).await?, 5)
}

async fn offsets_of_another_producer_id_are_refused(lab: &Lab) -> Outcome {
    let (topic, group) = (lab.topic(1).await?, lab.consumer_group().await?);
    let mut producer = lab.producer().await?;
    producer.commit(&group, &topic, 5).await?;
    let right = producer.commit_request(&group, &topic, 9);
    let other = TxnOffsetCommitRequest { producer_id: right.producer_id + 100_000, ..right };
    let refused = producer.try_commit(None, &other).await?;
    lab.check("the error", refused, ErrorCode::INVALID_PRODUCER_ID_MAPPING)?;
    producer.end(true).await?;
    lab.check("the offset then", lab.committed_at_last(&group, &topic).await?, 5)
}

async fn offsets_of_a_fenced_epoch_are_not_added(lab: &Lab) -> Outcome {
    let group = lab.consumer_group().await?;
    let mut before = lab.producer_in(Way::Adding).await?;
    let mut now = before.successor().await?;
    let refused = before.add_offsets(&group).await?;
    lab.check("an epoch of before", refused, ErrorCode::PRODUCER_FENCED)?;
    let (id, epoch) = (now.producer_id, now.epoch);
    before.begin_as(id + 100_000, epoch);
    let refused = before.add_offsets(&group).await?;
    lab.check("another producer id", refused, ErrorCode::INVALID_PRODUCER_ID_MAPPING)?;
    lab.check("the state then", now.described().await?.transaction_state, "Empty".into())
}

async fn offsets_and_records_end_together(lab: &Lab) -> Outcome {
    let topic = lab.topic(1).await?;
    let (one, two) = (lab.consumer_group().await?, lab.consumer_group().await?);
    let mut producer = lab.producer().await?;
    for (committed, wanted) in [(true, 3), (false, 3)] {
        let offset = if committed { 3 } else { 8 };
        producer.commit(&one, &topic, offset).await?;
        producer.write(&topic, 0, 1).await?;
        producer.commit(&two, &topic, offset).await?;
        producer.end(committed).await?;
        for group in [&one, &two] {
            let found = lab.committed_at_last(group, &topic).await?;
            lab.check(&format!("an offset, committed {committed}"), found, wanted)?;
        }
    }
    let seen = lab.read(&topic, 0, crate::broker::lab::Isolation::Committed).await?;
    lab.check("committed records", seen.committed(), vec![0])
}
