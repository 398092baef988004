//! On whose behalf producers commit offsets.

use ackflow_protocol::messages::txn_offset_commit::TxnOffsetCommitRequest;
use ackflow_protocol::wire::{ApiKey, ErrorCode};

use crate::broker::case::cases;
use crate::broker::lab::{ClassicMember, Lab, Outcome, Way};

cases! {
    Transactions;
    a_member_commits_with_the_generation_that_it_has:
        "TxnOffsetCommit on behalf of a member of the group, with its generation, is taken.",
        "KIP-447, TxnOffsetCommitRequest v3";
    a_generation_of_before_commits_nothing:
        "TxnOffsetCommit of a member with another generation than the group's is refused with ILLEGAL_GENERATION.",
        "KIP-447, TxnOffsetCommitRequest v3";
    a_member_that_nobody_knows_commits_nothing:
        "TxnOffsetCommit of a member that the group does not have is refused with UNKNOWN_MEMBER_ID.",
        "KIP-447, TxnOffsetCommitRequest v3";
    a_static_member_that_was_replaced_commits_nothing:
        "TxnOffsetCommit of a member whose group.instance.id another one has taken is refused with FENCED_INSTANCE_ID.",
        "KIP-345; KIP-447, TxnOffsetCommitRequest v3";
    a_producer_outside_the_group_commits_all_the_same:
        "TxnOffsetCommit without a member id and with generation -1 is taken, though the group has members.",
        "KIP-447, TxnOffsetCommitRequest v3",
        note "It is how clients before KIP-447 commit; nothing fences them but their epoch.";
}

/// What is answered to an offset of 5 for a member that says this of itself.
async fn commits(
    lab: &Lab,
    of: impl Fn(&ClassicMember, TxnOffsetCommitRequest) -> TxnOffsetCommitRequest,
) -> Outcome<ErrorCode> {
    lab.target.offers(ApiKey::TXN_OFFSET_COMMIT, 3)?;
    let (topic, group) = (lab.topic(1).await?, lab.consumer_group().await?);
    let member = lab.classic_member(&group, None).await?;
    let mut producer = lab.producer_in(Way::Adding).await?;
    let code = producer.add_offsets(&group).await?;
    lab.granted("AddOffsetsToTxn", code, None)?;
    let request = of(&member, producer.commit_request_of(&member, &topic, 5));
    let code = producer.try_commit(Some(3), &request).await?;
    producer.end(true).await?;
    let wanted = if code.is_none() { 5 } else { -1 };
    lab.check("the offset when it has ended", lab.committed_at_last(&group, &topic).await?, wanted)?;
    lab.leave_classic(&member).await?;
    Ok(code)
}

async fn a_member_commits_with_the_generation_that_it_has(lab: &Lab) -> Outcome {
    let code = commits(lab, |_, request| request).await?;
    lab.check("the error", code, ErrorCode::NONE)
}

async fn a_generation_of_before_commits_nothing(lab: &Lab) -> Outcome {
    for by in [-1, 1] {
        let code = commits(lab, |member, request| TxnOffsetCommitRequest {
            generation_id_or_member_epoch: member.generation + by,
            ..request
        });
        lab.check(&format!("a generation that differs by {by}"), code.await?, ErrorCode::ILLEGAL_GENERATION)?;
    }
    Ok(())
}

async fn a_member_that_nobody_knows_commits_nothing(lab: &Lab) -> Outcome {
    let code =
        commits(lab, |member, request| TxnOffsetCommitRequest { member_id: format!("{}-not", member.id), ..request });
    lab.check("the error", code.await?, ErrorCode::UNKNOWN_MEMBER_ID)
}

async fn a_producer_outside_the_group_commits_all_the_same(lab: &Lab) -> Outcome {
    let code = commits(lab, |_, request| TxnOffsetCommitRequest {
        member_id: String::new(),
        generation_id_or_member_epoch: -1,
        ..request
    });
    lab.check("the error", code.await?, ErrorCode::NONE)
}

async fn a_static_member_that_was_replaced_commits_nothing(lab: &Lab) -> Outcome {
    lab.target.offers(ApiKey::TXN_OFFSET_COMMIT, 3)?;
    let (topic, group) = (lab.topic(1).await?, lab.consumer_group().await?);
    let before = lab.classic_member(&group, Some("instance")).await?;
    let now = lab.classic_member(&group, Some("instance")).await?;
    let mut producer = lab.producer_in(Way::Adding).await?;
    let code = producer.add_offsets(&group).await?;
    lab.granted("AddOffsetsToTxn", code, None)?;
    let of_before = ClassicMember { generation: now.generation, ..before };
    let refused = producer.try_commit(Some(3), &producer.commit_request_of(&of_before, &topic, 5)).await?;
    lab.check("the member of before", refused, ErrorCode::FENCED_INSTANCE_ID)?;
    let taken = producer.try_commit(Some(3), &producer.commit_request_of(&now, &topic, 7)).await?;
    lab.check("the one of now", taken, ErrorCode::NONE)?;
    producer.end(true).await?;
    lab.leave_classic(&now).await
}
