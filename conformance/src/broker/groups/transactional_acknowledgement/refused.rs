//! What is not taken as an acknowledgement with a transaction.

use ackflow_protocol::messages::txn_share_acknowledge::TxnShareAcknowledgeRequest;
use ackflow_protocol::wire::ErrorCode;

use super::holding::Holding;
use crate::broker::case::cases;
use crate::broker::lab::{ACCEPT, Lab, Outcome, RELEASE, RENEW};

cases! {
    TransactionalAcknowledgement;
    releases_and_renewals_are_no_part_of_transactions:
        "TxnShareAcknowledge that releases or renews a record is refused with INVALID_REQUEST, and the member goes on holding it.",
        "KIP-1289 (draft), TxnShareAcknowledge: AcknowledgeTypes";
    types_that_do_not_fit_their_offsets_are_refused:
        "TxnShareAcknowledge with no type, or with another number than one and that of the offsets, or with offsets that do not ascend, is refused with INVALID_REQUEST.",
        "KIP-1289 (draft), TxnShareAcknowledge: AcknowledgeTypes";
    an_acknowledgement_needs_a_transactional_id:
        "TxnShareAcknowledge without a transactional id is refused with INVALID_REQUEST.",
        "KIP-1289 (draft), TxnShareAcknowledge: TransactionalId";
    an_acknowledgement_needs_a_member_id_of_the_right_length:
        "TxnShareAcknowledge whose member id is empty, or longer than 36 characters, is refused with INVALID_REQUEST.",
        "KIP-1289 (draft), TxnShareAcknowledge: MemberId; KIP-1082";
    a_member_of_another_epoch_acknowledges_nothing:
        "TxnShareAcknowledge with another epoch than the member's is refused, and the member goes on holding the records.",
        "KIP-1289 (draft), Fencing",
        note "The draft names no code; STALE_MEMBER_EPOCH and FENCED_MEMBER_EPOCH are taken here.";
    a_member_that_nobody_knows_acknowledges_nothing:
        "TxnShareAcknowledge of a member that the group does not have is refused with UNKNOWN_MEMBER_ID.",
        "KIP-1289 (draft), Fencing";
    a_member_acknowledges_nothing_that_another_holds:
        "TxnShareAcknowledge of records that another member has acquired is refused with INVALID_RECORD_STATE.",
        "KIP-1289 (draft), Record states";
    a_record_whose_lock_has_ended_is_not_taken:
        "TxnShareAcknowledge of a record whose lock has ended is refused with INVALID_RECORD_STATE: the transaction has to be aborted.",
        "KIP-1289 (draft), Acquisition lock";
    a_fenced_producer_acknowledges_nothing:
        "TxnShareAcknowledge with an epoch that is not the producer's is refused, and the member goes on holding the records.",
        "KIP-1289 (draft); KIP-890",
        note "The draft names no code; PRODUCER_FENCED and INVALID_PRODUCER_EPOCH are taken here.";
}

/// Checks that the member still holds all it had.
async fn goes_on(lab: &Lab, holding: &mut Holding<'_>) -> Outcome {
    let taken = holding.session.acknowledge(&holding.topic, 0, &[(0, 9, &[ACCEPT])]).await?;
    lab.check("what the member acknowledges then", taken, ErrorCode::NONE)
}

async fn releases_and_renewals_are_no_part_of_transactions(lab: &Lab) -> Outcome {
    let mut holding = Holding::of(lab).await?;
    for types in [&[RELEASE][..], &[RENEW], &[ACCEPT, RELEASE], &[RENEW, ACCEPT]] {
        let refused = holding.stage(&[(0, 1, types)]).await?;
        lab.check(&format!("types {types:?}"), refused, ErrorCode::INVALID_REQUEST)?;
    }
    goes_on(lab, &mut holding).await
}

async fn types_that_do_not_fit_their_offsets_are_refused(lab: &Lab) -> Outcome {
    let mut holding = Holding::of(lab).await?;
    for batches in [
        &[(0, 0, &[][..])][..],
        &[(0, 2, &[ACCEPT, ACCEPT])],
        &[(1, 0, &[ACCEPT])],
        &[(4, 5, &[ACCEPT]), (0, 1, &[ACCEPT])],
    ] {
        let refused = holding.stage(batches).await?;
        lab.check(&format!("{batches:?}"), refused, ErrorCode::INVALID_REQUEST)?;
    }
    goes_on(lab, &mut holding).await
}

async fn an_acknowledgement_needs_a_transactional_id(lab: &Lab) -> Outcome {
    let mut holding = Holding::of(lab).await?;
    let request = TxnShareAcknowledgeRequest { transactional_id: None, ..holding.request(&[(0, 4, &[ACCEPT])]) };
    lab.check("the error", holding.ask(&request).await?, ErrorCode::INVALID_REQUEST)?;
    goes_on(lab, &mut holding).await
}

async fn an_acknowledgement_needs_a_member_id_of_the_right_length(lab: &Lab) -> Outcome {
    let mut holding = Holding::of(lab).await?;
    for member_id in [String::new(), "m".repeat(37)] {
        let what = format!("a member id of {} characters", member_id.len());
        let request = TxnShareAcknowledgeRequest { member_id, ..holding.request(&[(0, 4, &[ACCEPT])]) };
        lab.check(&what, holding.ask(&request).await?, ErrorCode::INVALID_REQUEST)?;
    }
    goes_on(lab, &mut holding).await
}

async fn a_member_of_another_epoch_acknowledges_nothing(lab: &Lab) -> Outcome {
    let mut holding = Holding::of(lab).await?;
    let right = [ErrorCode::STALE_MEMBER_EPOCH, ErrorCode::FENCED_MEMBER_EPOCH];
    for by in [-1, 1] {
        let request = holding.request(&[(0, 4, &[ACCEPT])]);
        let request = TxnShareAcknowledgeRequest { member_epoch: request.member_epoch + by, ..request };
        let refused = holding.ask(&request).await?;
        let what = format!("an epoch that differs by {by}");
        lab.check_that(&what, right.contains(&refused), "STALE_MEMBER_EPOCH or FENCED_MEMBER_EPOCH", &refused)?;
    }
    goes_on(lab, &mut holding).await
}

async fn a_member_that_nobody_knows_acknowledges_nothing(lab: &Lab) -> Outcome {
    let mut holding = Holding::of(lab).await?;
    let request = TxnShareAcknowledgeRequest { member_id: "nobody".into(), ..holding.request(&[(0, 4, &[ACCEPT])]) };
    lab.check("the error", holding.ask(&request).await?, ErrorCode::UNKNOWN_MEMBER_ID)?;
    goes_on(lab, &mut holding).await
}

async fn a_member_acknowledges_nothing_that_another_holds(lab: &Lab) -> Outcome {
    let mut holding = Holding::of(lab).await?;
    let other = lab.member_beside(&holding.group, &[&holding.topic]).await?;
    holding.ask_epochs().await?;
    let request = TxnShareAcknowledgeRequest {
        member_id: other.id.clone(),
        member_epoch: holding.epoch_of(&other),
        ..holding.request(&[(0, 4, &[ACCEPT])])
    };
    lab.check("the error", holding.ask(&request).await?, ErrorCode::INVALID_RECORD_STATE)?;
    goes_on(lab, &mut holding).await
}

async fn a_record_whose_lock_has_ended_is_not_taken(lab: &Lab) -> Outcome {
    let mut holding = Holding::of_short_locks(lab).await?;
    let (_member, mut other) = holding.other().await?;
    other.acquire(10).await?;
    holding.ask_epochs().await?;
    let refused = holding.stage(&[(0, 4, &[ACCEPT])]).await?;
    lab.check("the error", refused, ErrorCode::INVALID_RECORD_STATE)
}

async fn a_fenced_producer_acknowledges_nothing(lab: &Lab) -> Outcome {
    let mut holding = Holding::of(lab).await?;
    let request = holding.request(&[(0, 4, &[ACCEPT])]);
    holding.producer.successor().await?;
    let refused = holding.ask(&request).await?;
    let right = [ErrorCode::PRODUCER_FENCED, ErrorCode::INVALID_PRODUCER_EPOCH];
    lab.check_that("the error", right.contains(&refused), "PRODUCER_FENCED or INVALID_PRODUCER_EPOCH", &refused)?;
    goes_on(lab, &mut holding).await
}
