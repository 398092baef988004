//! What is acknowledged with a transaction that is still open.

use ackflow_protocol::wire::ErrorCode;

use super::holding::Holding;
use crate::broker::case::cases;
use crate::broker::lab::{ACCEPT, Acquired, Lab, Outcome};

cases! {
    TransactionalAcknowledgement;
    nobody_gets_what_waits_for_a_transaction:
        "A record that is acknowledged with an open transaction is delivered to nobody, though its member's session has ended.",
        "KIP-1289 (draft), Record states: TX_PENDING";
    no_lock_ends_what_waits_for_a_transaction:
        "The lock of a record ends when it is acknowledged with a transaction: when it would have ended, the record is not there for others.",
        "KIP-1289 (draft), Acquisition lock";
    what_waits_for_a_transaction_is_not_acknowledged_otherwise:
        "ShareAcknowledge of a record that is acknowledged with an open transaction is refused with INVALID_RECORD_STATE, and the transaction keeps it.",
        "KIP-1289 (draft), Record states: TX_PENDING";
    what_waits_for_a_transaction_is_not_acknowledged_twice:
        "Another acknowledgement with a transaction, of a record that waits for one, is refused with INVALID_RECORD_STATE and none of its partition is taken.",
        "KIP-1289 (draft), Record states: TX_PENDING";
    several_requests_belong_to_one_transaction:
        "A transaction may have acknowledgements of several requests: its end is that of all.",
        "KIP-1289 (draft), Producer API";
}

async fn nobody_gets_what_waits_for_a_transaction(lab: &Lab) -> Outcome {
    let mut holding = Holding::of(lab).await?;
    lab.check("the error", holding.stage(&[(0, 4, &[ACCEPT])]).await?, ErrorCode::NONE)?;
    holding.let_go().await?;
    let (_member, mut other) = holding.other().await?;
    let wanted = vec![Acquired { partition: 0, first: 5, last: 9, delivery_count: 2 }];
    lab.check("what another member acquires", other.acquire(5).await?, wanted)?;
    lab.check("what it acquires then", other.fetch().await?, Vec::new())
}

async fn no_lock_ends_what_waits_for_a_transaction(lab: &Lab) -> Outcome {
    let mut holding = Holding::of_short_locks(lab).await?;
    lab.check("the error", holding.stage(&[(0, 4, &[ACCEPT])]).await?, ErrorCode::NONE)?;
    let (_member, mut other) = holding.other().await?;
    // The locks of the others end, and began no later.
    let wanted = vec![Acquired { partition: 0, first: 5, last: 9, delivery_count: 2 }];
    lab.check("what another member acquires at last", other.acquire(5).await?, wanted)?;
    lab.check("what it acquires then", other.fetch().await?, Vec::new())?;
    holding.producer.end(true).await?;
    lab.check("what it acquires after the commit", other.fetch().await?, Vec::new())
}

async fn what_waits_for_a_transaction_is_not_acknowledged_otherwise(lab: &Lab) -> Outcome {
    let mut holding = Holding::of(lab).await?;
    holding.staged(&[(0, 4, &[ACCEPT])]).await?;
    let refused = holding.session.acknowledge(&holding.topic, 0, &[(0, 4, &[ACCEPT])]).await?;
    lab.check("the error of what waits", refused, ErrorCode::INVALID_RECORD_STATE)?;
    let taken = holding.session.acknowledge(&holding.topic, 0, &[(5, 9, &[ACCEPT])]).await?;
    lab.check("the error of what the member holds", taken, ErrorCode::NONE)?;
    holding.producer.end(false).await?;
    let wanted = vec![Acquired { partition: 0, first: 0, last: 4, delivery_count: 2 }];
    lab.check("what another member acquires after the abort", holding.others_get(5).await?, wanted)
}

async fn what_waits_for_a_transaction_is_not_acknowledged_twice(lab: &Lab) -> Outcome {
    let mut holding = Holding::of(lab).await?;
    holding.staged(&[(3, 5, &[ACCEPT])]).await?;
    for batches in [&[(3, 5, &[ACCEPT][..])][..], &[(0, 3, &[ACCEPT])], &[(0, 0, &[ACCEPT]), (5, 6, &[ACCEPT])]] {
        let refused = holding.stage(batches).await?;
        lab.check(&format!("the error of {batches:?}"), refused, ErrorCode::INVALID_RECORD_STATE)?;
    }
    let taken = holding.session.acknowledge(&holding.topic, 0, &[(0, 2, &[ACCEPT]), (6, 9, &[ACCEPT])]).await?;
    lab.check("what the member acknowledges of the others", taken, ErrorCode::NONE)
}

async fn several_requests_belong_to_one_transaction(lab: &Lab) -> Outcome {
    let mut holding = Holding::of(lab).await?;
    for batches in [&[(0, 1, &[ACCEPT][..])][..], &[(6, 9, &[ACCEPT])], &[(2, 5, &[ACCEPT])]] {
        lab.check(&format!("the error of {batches:?}"), holding.stage(batches).await?, ErrorCode::NONE)?;
    }
    holding.producer.end(false).await?;
    let wanted = vec![Acquired { partition: 0, first: 0, last: 9, delivery_count: 2 }];
    lab.check("what another member acquires after the abort", holding.others_get(10).await?, wanted)
}
