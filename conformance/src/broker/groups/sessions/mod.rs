//! Share sessions and their epochs.

pub(crate) mod connections;
pub(crate) mod ends;
pub(crate) mod partitions;

use ackflow_protocol::messages::share_fetch::ShareFetchRequest;
use ackflow_protocol::wire::ErrorCode;

use crate::broker::case::cases;
use crate::broker::lab::{ACCEPT, Lab, Outcome};

cases! {
    Sessions;
    the_epoch_after_opening_is_one:
        "Epoch 0 opens a session; the next request has epoch 1.",
        "KIP-932, Share sessions";
    an_epoch_that_is_not_the_next_is_refused:
        "A request whose epoch is not the session's next is refused with INVALID_SHARE_SESSION_EPOCH, and the session goes on.",
        "KIP-932, Share sessions";
    a_session_that_was_never_opened_is_not_found:
        "A request with an epoch above 0 on a connection without a session is refused with SHARE_SESSION_NOT_FOUND.",
        "KIP-932, Share sessions";
    fetches_and_acknowledgements_share_one_epoch:
        "ShareFetch and ShareAcknowledge of a session count with one epoch: each that is taken makes the next one higher.",
        "KIP-932, Share sessions";
    a_partition_error_counts_all_the_same:
        "A request that is taken, but has an error for a partition, makes the next epoch higher like any other.",
        "KIP-932, Share sessions";
    a_share_acknowledge_opens_no_session:
        "ShareAcknowledge with epoch 0 is refused with INVALID_SHARE_SESSION_EPOCH: only a ShareFetch opens a session.",
        "KIP-932, Share sessions; ShareAcknowledge API";
    a_share_acknowledge_needs_a_session:
        "ShareAcknowledge without a session is refused with SHARE_SESSION_NOT_FOUND, whether its epoch is above 0 or -1.",
        "KIP-932, Share sessions; ShareAcknowledge API";
    an_opening_fetch_carries_no_acknowledgements:
        "A ShareFetch with epoch 0 that carries acknowledgements is refused with INVALID_REQUEST.",
        "KIP-932, ShareFetch API";
    a_session_is_of_one_group_and_member:
        "Another member's or another group's request with the epoch of a session is refused with SHARE_SESSION_NOT_FOUND, on the same connection too.",
        "KIP-932, Share sessions: a session is known by group and member";
    an_epoch_that_is_refused_takes_nothing:
        "Acknowledgements of a request whose epoch is refused are not taken, and what the member holds it holds on.",
        "KIP-932, Share sessions";
}

async fn the_epoch_after_opening_is_one(lab: &Lab) -> Outcome {
    let topic = lab.topic(1).await?;
    let member = lab.member(&lab.group().await?, &[&topic]).await?;
    let mut session = lab.session(&member, &[&topic]).await?;
    let opened = session.fetch_as(&session.request()).await?;
    lab.check("the error of epoch 0", opened.error_code, ErrorCode::NONE)?;
    let next = session.fetch_as(&session.request()).await?;
    lab.check("the error of epoch 1", next.error_code, ErrorCode::NONE)
}

async fn an_epoch_that_is_not_the_next_is_refused(lab: &Lab) -> Outcome {
    let topic = lab.topic(1).await?;
    let member = lab.member(&lab.group().await?, &[&topic]).await?;
    let mut session = lab.session(&member, &[&topic]).await?;
    session.fetch().await?;
    for epoch in [2, 7, i32::MAX] {
        let request = ShareFetchRequest { share_session_epoch: epoch, ..session.request() };
        let refused = session.link.call(&request).await?.error_code;
        lab.check(
            &format!("the error of epoch {epoch} in place of 1"),
            refused,
            ErrorCode::INVALID_SHARE_SESSION_EPOCH,
        )?;
    }
    let next = session.fetch_as(&session.request()).await?;
    lab.check("the error of epoch 1 then", next.error_code, ErrorCode::NONE)
}

async fn a_session_that_was_never_opened_is_not_found(lab: &Lab) -> Outcome {
    let topic = lab.topic(1).await?;
    let member = lab.member(&lab.group().await?, &[&topic]).await?;
    let mut session = lab.session(&member, &[&topic]).await?;
    session.epoch = 5;
    let refused = session.fetch_as(&session.request()).await?;
    lab.check("the error", refused.error_code, ErrorCode::SHARE_SESSION_NOT_FOUND)
}

async fn fetches_and_acknowledgements_share_one_epoch(lab: &Lab) -> Outcome {
    let topic = lab.topic(1).await?;
    let member = lab.member(&lab.group().await?, &[&topic]).await?;
    lab.produce(&topic, 0, 4).await?;
    let mut session = lab.session(&member, &[&topic]).await?;
    session.acquire(4).await?;
    for offset in 0..2 {
        let taken = session.acknowledge(&topic, 0, &[(offset, offset, &[ACCEPT])]).await?;
        lab.check("the error of an acknowledgement with the next epoch", taken, ErrorCode::NONE)?;
        let fetched = session.fetch_as(&session.request()).await?.error_code;
        lab.check("the error of a fetch with the next epoch", fetched, ErrorCode::NONE)?;
    }
    session.epoch -= 1;
    let request = session.acknowledgement(&topic, 0, &[(2, 2, &[ACCEPT])]);
    let refused = session.link.call(&request).await?.error_code;
    let what = "the error of an acknowledgement with the epoch of the fetch before";
    lab.check(what, refused, ErrorCode::INVALID_SHARE_SESSION_EPOCH)?;
    session.epoch += 1;
    let taken = session.acknowledge(&topic, 0, &[(2, 2, &[ACCEPT])]).await?;
    lab.check("the error of the same with the next epoch", taken, ErrorCode::NONE)
}

async fn a_partition_error_counts_all_the_same(lab: &Lab) -> Outcome {
    let topic = lab.topic(1).await?;
    let member = lab.member(&lab.group().await?, &[&topic]).await?;
    let mut session = lab.session(&member, &[&topic]).await?;
    session.fetch().await?;
    // Nothing was acquired.
    let refused = session.acknowledge(&topic, 0, &[(7, 7, &[ACCEPT])]).await?;
    lab.check_that("the error of the partition", !refused.is_none(), "some", &refused)?;
    let next = session.fetch_as(&session.request()).await?.error_code;
    lab.check("the error of the next epoch", next, ErrorCode::NONE)
}

async fn a_share_acknowledge_opens_no_session(lab: &Lab) -> Outcome {
    let topic = lab.topic(1).await?;
    let member = lab.member(&lab.group().await?, &[&topic]).await?;
    let mut session = lab.session(&member, &[&topic]).await?;
    let refused = session.acknowledge(&topic, 0, &[(0, 0, &[ACCEPT])]).await?;
    lab.check("the error without a session", refused, ErrorCode::INVALID_SHARE_SESSION_EPOCH)?;
    session.fetch().await?;
    session.epoch = 0;
    let refused = session.acknowledge(&topic, 0, &[(0, 0, &[ACCEPT])]).await?;
    lab.check("the error in a session", refused, ErrorCode::INVALID_SHARE_SESSION_EPOCH)
}

async fn a_share_acknowledge_needs_a_session(lab: &Lab) -> Outcome {
    let topic = lab.topic(1).await?;
    let member = lab.member(&lab.group().await?, &[&topic]).await?;
    let mut session = lab.session(&member, &[&topic]).await?;
    for epoch in [1, 9, -1] {
        session.epoch = epoch;
        let refused = session.acknowledge(&topic, 0, &[(0, 0, &[ACCEPT])]).await?;
        lab.check(&format!("the error of epoch {epoch}"), refused, ErrorCode::SHARE_SESSION_NOT_FOUND)?;
    }
    Ok(())
}

async fn an_opening_fetch_carries_no_acknowledgements(lab: &Lab) -> Outcome {
    let topic = lab.topic(1).await?;
    let member = lab.member(&lab.group().await?, &[&topic]).await?;
    let mut session = lab.session(&member, &[&topic]).await?;
    let request = session.piggyback(&topic, 0, &[(0, 0, &[ACCEPT])]);
    let refused = session.fetch_as(&request).await?.error_code;
    lab.check("the error", refused, ErrorCode::INVALID_REQUEST)?;
    let opened = session.fetch_as(&session.request()).await?.error_code;
    lab.check("the error of the same without acknowledgements", opened, ErrorCode::NONE)
}

async fn a_session_is_of_one_group_and_member(lab: &Lab) -> Outcome {
    let topic = lab.topic(1).await?;
    let group = lab.group().await?;
    let (first, second) = (lab.member(&group, &[&topic]).await?, lab.member_beside(&group, &[&topic]).await?);
    let elsewhere = lab.member(&lab.group().await?, &[&topic]).await?;
    let mut session = lab.session(&first, &[&topic]).await?;
    session.fetch().await?;
    for (what, other) in [("another member", &second), ("another group", &elsewhere)] {
        let (group_id, member_id) = (Some(other.group.clone()), Some(other.id.clone()));
        let request = ShareFetchRequest { group_id, member_id, ..session.request() };
        let refused = session.link.call(&request).await?.error_code;
        lab.check(&format!("the error of {what} with the epoch"), refused, ErrorCode::SHARE_SESSION_NOT_FOUND)?;
    }
    let next = session.fetch_as(&session.request()).await?.error_code;
    lab.check("the error of the member itself", next, ErrorCode::NONE)
}

async fn an_epoch_that_is_refused_takes_nothing(lab: &Lab) -> Outcome {
    let topic = lab.topic(1).await?;
    let member = lab.member(&lab.group().await?, &[&topic]).await?;
    lab.produce(&topic, 0, 4).await?;
    let mut session = lab.session(&member, &[&topic]).await?;
    session.acquire(4).await?;
    session.epoch += 3;
    let request = session.acknowledgement(&topic, 0, &[(0, 3, &[ACCEPT])]);
    let refused = session.link.call(&request).await?.error_code;
    lab.check("the error of a wrong epoch", refused, ErrorCode::INVALID_SHARE_SESSION_EPOCH)?;
    session.epoch -= 3;
    // What had been acknowledged could not be acknowledged once more.
    let taken = session.acknowledge(&topic, 0, &[(0, 3, &[ACCEPT])]).await?;
    lab.check("the error of the same acknowledgements with the right epoch", taken, ErrorCode::NONE)
}
