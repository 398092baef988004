//! What the end of a transaction makes of what is acknowledged with it.

use ackflow_protocol::wire::ErrorCode;

use super::holding::Holding;
use crate::broker::case::cases;
use crate::broker::lab::{ACCEPT, Acquired, GAP, Isolation, Lab, Outcome, REJECT};

cases! {
    TransactionalAcknowledgement;
    a_commit_acknowledges_what_was_accepted:
        "A record that was accepted with a transaction is done when that is committed: nobody gets it again.",
        "KIP-1289 (draft), Record states";
    a_commit_archives_what_was_rejected:
        "A record that was rejected with a transaction is archived when that is committed: nobody gets it again.",
        "KIP-1289 (draft), Record states";
    gaps_end_with_the_transaction_too:
        "Offsets without a record are acknowledged with a transaction as gaps, and done when that is committed.",
        "KIP-1289 (draft), TxnShareAcknowledge",
        note "An earlier state of the draft had accept and reject alone.";
    an_abort_gives_back_what_was_accepted:
        "A record that was accepted with a transaction is there for any member again when that is aborted, and its delivery has counted.",
        "KIP-1289 (draft), Record states";
    an_abort_gives_back_what_was_rejected:
        "A record that was rejected with a transaction is there for any member again when that is aborted, and its delivery has counted.",
        "KIP-1289 (draft), Record states";
    records_and_acknowledgements_end_together:
        "One EndTxn commits, or aborts, what was written and what was acknowledged with the transaction.",
        "KIP-1289 (draft), Motivation";
    acknowledgements_alone_make_a_transaction:
        "The first acknowledgement with a transaction begins it: one without any record that was written is open, and is committed.",
        "KIP-1289 (draft), Proposed changes";
    the_end_of_another_transaction_changes_nothing:
        "What is acknowledged with one transaction waits for its own end, whichever others end meanwhile.",
        "KIP-1289 (draft), Record states";
    a_time_out_gives_back_what_was_acknowledged:
        "When a transaction is aborted for its time, what was acknowledged with it is there for any member again.",
        "KIP-1289 (draft), Timeouts";
    a_producer_that_begins_again_gives_back_what_was_acknowledged:
        "InitProducerId for the transactional id aborts what its open transaction has acknowledged.",
        "KIP-1289 (draft); KIP-98, InitPidRequest";
    a_commit_counts_though_its_member_has_gone:
        "The member is looked at when it acknowledges, not when the transaction ends: a commit counts though the member has left the group.",
        "KIP-1289 (draft), Fencing";
    the_lag_falls_when_the_transaction_is_committed:
        "A record that is acknowledged with an open transaction is still to be done in the group's lag, and is not any more when that is committed.",
        "KIP-1289 (draft); KIP-1226";
}

/// All ten records, delivered so often.
fn all_of(delivery_count: i16) -> Vec<Acquired> {
    vec![Acquired { partition: 0, first: 0, last: 9, delivery_count }]
}

/// What others get in place of offsets 0 to 4, when these are done and one record more is written: that one, and what the member held.
async fn only_the_others_come_back(lab: &Lab, holding: &mut Holding<'_>) -> Outcome {
    holding.let_go().await?;
    lab.produce(&holding.topic, 0, 1).await?;
    let got = holding.others_get(6).await?;
    let wanted = vec![
        Acquired { partition: 0, first: 5, last: 9, delivery_count: 2 },
        Acquired { partition: 0, first: 10, last: 10, delivery_count: 1 },
    ];
    lab.check("what another member acquires", got, wanted)
}

async fn a_commit_acknowledges_what_was_accepted(lab: &Lab) -> Outcome {
    let mut holding = Holding::of(lab).await?;
    lab.check("the error", holding.stage(&[(0, 4, &[ACCEPT])]).await?, ErrorCode::NONE)?;
    holding.producer.end(true).await?;
    only_the_others_come_back(lab, &mut holding).await
}

async fn a_commit_archives_what_was_rejected(lab: &Lab) -> Outcome {
    let mut holding = Holding::of(lab).await?;
    lab.check("the error", holding.stage(&[(0, 4, &[REJECT])]).await?, ErrorCode::NONE)?;
    holding.producer.end(true).await?;
    only_the_others_come_back(lab, &mut holding).await
}

async fn gaps_end_with_the_transaction_too(lab: &Lab) -> Outcome {
    let mut holding = Holding::of(lab).await?;
    let types = [ACCEPT, GAP, REJECT, GAP, ACCEPT];
    lab.check("the error", holding.stage(&[(0, 4, &types)]).await?, ErrorCode::NONE)?;
    holding.producer.end(true).await?;
    only_the_others_come_back(lab, &mut holding).await
}

async fn aborted(lab: &Lab, kind: i8) -> Outcome {
    let mut holding = Holding::of(lab).await?;
    lab.check("the error", holding.stage(&[(0, 9, &[kind])]).await?, ErrorCode::NONE)?;
    holding.producer.end(false).await?;
    lab.check("what another member acquires", holding.others_get(10).await?, all_of(2))
}

async fn an_abort_gives_back_what_was_accepted(lab: &Lab) -> Outcome {
    aborted(lab, ACCEPT).await
}

async fn an_abort_gives_back_what_was_rejected(lab: &Lab) -> Outcome {
    aborted(lab, REJECT).await
}

async fn records_and_acknowledgements_end_together(lab: &Lab) -> Outcome {
    let mut holding = Holding::of(lab).await?;
    let output = lab.topic(1).await?;
    holding.producer.write(&output, 0, 2).await?;
    lab.check("the error", holding.stage(&[(0, 4, &[ACCEPT])]).await?, ErrorCode::NONE)?;
    holding.producer.end(true).await?;
    holding.producer.write(&output, 0, 2).await?;
    lab.check("the error", holding.stage(&[(5, 9, &[ACCEPT])]).await?, ErrorCode::NONE)?;
    holding.producer.end(false).await?;
    let seen = lab.read(&output, 0, Isolation::Committed).await?;
    lab.check("committed records", seen.committed(), vec![0, 1])?;
    let wanted = vec![Acquired { partition: 0, first: 5, last: 9, delivery_count: 2 }];
    lab.check("what another member acquires", holding.others_get(5).await?, wanted)
}

async fn acknowledgements_alone_make_a_transaction(lab: &Lab) -> Outcome {
    let mut holding = Holding::of(lab).await?;
    lab.check("the state before", holding.producer.described().await?.transaction_state, "Empty".into())?;
    lab.check("the error", holding.stage(&[(0, 4, &[ACCEPT])]).await?, ErrorCode::NONE)?;
    lab.check("the state then", holding.producer.described().await?.transaction_state, "Ongoing".into())?;
    let ended = holding.producer.try_end(None, &holding.producer.end_request(true)).await?.error_code;
    lab.check("the error of EndTxn", ended, ErrorCode::NONE)?;
    let state = holding.producer.settled().await?.transaction_state;
    lab.check("the state when it has ended", state, "CompleteCommit".into())
}

async fn the_end_of_another_transaction_changes_nothing(lab: &Lab) -> Outcome {
    let mut holding = Holding::of(lab).await?;
    holding.staged(&[(0, 4, &[ACCEPT])]).await?;
    let mut another = holding.another_producer().await?;
    for committed in [true, false] {
        another.write(&lab.topic(1).await?, 0, 1).await?;
        another.end(committed).await?;
    }
    holding.let_go().await?;
    let (_member, mut other) = holding.other().await?;
    let wanted = vec![Acquired { partition: 0, first: 5, last: 9, delivery_count: 2 }];
    lab.check("what another member acquires", other.acquire(5).await?, wanted)?;
    holding.producer.end(false).await?;
    let wanted = vec![Acquired { partition: 0, first: 0, last: 4, delivery_count: 2 }];
    lab.check("what it acquires after the abort", other.acquire(5).await?, wanted)
}

async fn a_time_out_gives_back_what_was_acknowledged(lab: &Lab) -> Outcome {
    let mut holding = Holding::of_timeout(lab, 1000).await?;
    holding.staged(&[(0, 9, &[ACCEPT])]).await?;
    lab.check("what another member acquires at last", holding.others_get(10).await?, all_of(2))?;
    let state = holding.producer.settled().await?.transaction_state;
    lab.check("the state of the transaction", state, "CompleteAbort".into())
}

async fn a_producer_that_begins_again_gives_back_what_was_acknowledged(lab: &Lab) -> Outcome {
    let mut holding = Holding::of(lab).await?;
    holding.staged(&[(0, 9, &[ACCEPT])]).await?;
    holding.producer.successor().await?;
    lab.check("what another member acquires", holding.others_get(10).await?, all_of(2))
}

async fn a_commit_counts_though_its_member_has_gone(lab: &Lab) -> Outcome {
    let mut holding = Holding::of(lab).await?;
    holding.staged(&[(0, 9, &[ACCEPT])]).await?;
    holding.let_go().await?;
    let another = lab.member_beside(&holding.group, &[&holding.topic]).await?;
    lab.leave(std::mem::replace(&mut holding.member, another)).await?;
    let ended = holding.producer.try_end(None, &holding.producer.end_request(true)).await?.error_code;
    lab.check("the error of EndTxn", ended, ErrorCode::NONE)?;
    holding.producer.settled().await?;
    lab.produce(&holding.topic, 0, 1).await?;
    let wanted = vec![Acquired { partition: 0, first: 10, last: 10, delivery_count: 1 }];
    lab.check("what another member acquires", holding.others_get(1).await?, wanted)
}

async fn the_lag_falls_when_the_transaction_is_committed(lab: &Lab) -> Outcome {
    let mut holding = Holding::of(lab).await?;
    holding.staged(&[(0, 3, &[ACCEPT])]).await?;
    lab.check("the lag before", holding.lag().await?, 10)?;
    holding.producer.end(true).await?;
    lab.eventually("the lag is 6", async || Ok((holding.lag().await? == 6).then_some(()))).await
}
