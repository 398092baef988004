//! Epochs of members.

use ackflow_protocol::wire::ErrorCode;

use super::{Hand, all_of};
use crate::broker::case::cases;
use crate::broker::lab::{Lab, Outcome};

cases! {
    Membership;
    a_member_that_never_joined_is_unknown:
        "A heartbeat with an epoch above 0 of a member that the group does not have is refused with UNKNOWN_MEMBER_ID.",
        "KIP-932, ShareGroupHeartbeat API";
    a_group_that_nobody_has_made_has_no_member:
        "A heartbeat with an epoch above 0 to a group that there is not makes no group: it is refused with GROUP_ID_NOT_FOUND or UNKNOWN_MEMBER_ID.",
        "KIP-932, ShareGroupHeartbeat API",
        note "Kafka answers GROUP_ID_NOT_FOUND.";
    an_epoch_from_the_future_is_fenced:
        "A heartbeat with an epoch above the member's is refused with FENCED_MEMBER_EPOCH.",
        "KIP-932, ShareGroupHeartbeat API";
    an_epoch_of_long_ago_is_fenced:
        "A heartbeat with an epoch below the one before the member's is refused with FENCED_MEMBER_EPOCH.",
        "KIP-932, ShareGroupHeartbeat API";
    the_epoch_before_is_taken:
        "A heartbeat with the epoch before the member's is taken, since the answer that had the newer one may have been lost, and is answered with the \
         newer one.",
        "KIP-848, Member Epoch, which KIP-932 takes over";
    a_fenced_member_comes_back_with_epoch_0:
        "A member that was refused with FENCED_MEMBER_EPOCH joins again with its id and epoch 0, and gets its partitions.",
        "KIP-932, Share group membership";
    a_member_that_joins_again_is_told_everything_at_once:
        "A join with the id of a member that the group has is answered with its assignment, and makes no second member of it.",
        "KIP-932, ShareGroupHeartbeat API; KAFKA-19233";
    a_member_that_has_left_is_unknown:
        "The heartbeats of a member that has left are refused with UNKNOWN_MEMBER_ID, its second leave too.",
        "KIP-932, ShareGroupHeartbeat API";
    a_leave_is_answered_with_its_epoch:
        "A heartbeat with epoch -1 leaves the group: it is answered without an error and with epoch -1.",
        "KIP-932, ShareGroupHeartbeat API; ShareGroupHeartbeatResponse.json";
    a_member_that_has_left_may_join_again:
        "A member that has left may join again under its id.",
        "KIP-932, Share group membership";
}

async fn a_member_that_never_joined_is_unknown(lab: &Lab) -> Outcome {
    let topic = lab.topic(1).await?;
    let group = lab.group().await?;
    // Some member, so that there is a group.
    let _member = lab.member(&group, &[&topic]).await?;
    let mut hand = Hand::new(lab, &group, &[&topic]).await?;
    for epoch in [1, 5, i32::MAX] {
        let request = hand.with_epoch(epoch);
        let code = hand.link.call(&request).await?.error_code;
        lab.check(&format!("the error of a stranger with epoch {epoch}"), code, ErrorCode::UNKNOWN_MEMBER_ID)?;
    }
    Ok(())
}

async fn a_group_that_nobody_has_made_has_no_member(lab: &Lab) -> Outcome {
    let topic = lab.topic(1).await?;
    let mut hand = Hand::new(lab, &lab.group().await?, &[&topic]).await?;
    let request = hand.with_epoch(5);
    let code = hand.link.call(&request).await?.error_code;
    let known = [ErrorCode::GROUP_ID_NOT_FOUND, ErrorCode::UNKNOWN_MEMBER_ID];
    lab.check_that("the error", known.contains(&code), "GROUP_ID_NOT_FOUND or UNKNOWN_MEMBER_ID", &code)
}

async fn an_epoch_from_the_future_is_fenced(lab: &Lab) -> Outcome {
    let topic = lab.topic(1).await?;
    let mut hand = Hand::joined(lab, &lab.group().await?, &[&topic]).await?;
    for epoch in [hand.epoch() + 1, hand.epoch() + 100, i32::MAX] {
        let request = hand.with_epoch(epoch);
        let code = hand.link.call(&request).await?.error_code;
        let what = format!("the error of epoch {epoch} of a member whose epoch is {}", hand.epoch());
        lab.check(&what, code, ErrorCode::FENCED_MEMBER_EPOCH)?;
    }
    Ok(())
}

/// A member whose epoch has risen at least twice since it joined, and its epochs, each told once.
async fn grown(lab: &Lab) -> Outcome<(Hand, Vec<i32>)> {
    let topic = lab.topic(1).await?;
    let group = lab.group().await?;
    let mut hand = Hand::joined(lab, &group, &[&topic]).await?;
    let mut epochs = vec![hand.epoch()];
    while epochs.len() < 3 {
        let mut other = Hand::new(lab, &group, &[&topic]).await?;
        let joined = other.beat().await?;
        lab.granted("ShareGroupHeartbeat", joined.error_code, joined.error_message.as_deref())?;
        let before = hand.epoch();
        lab.eventually("the epoch of a member rises when another joins", async || {
            hand.beat().await?;
            Ok((hand.epoch() > before).then_some(()))
        })
        .await?;
        epochs.push(hand.epoch());
    }
    Ok((hand, epochs))
}

async fn an_epoch_of_long_ago_is_fenced(lab: &Lab) -> Outcome {
    let (mut hand, epochs) = grown(lab).await?;
    let request = hand.with_epoch(epochs[0]);
    let code = hand.link.call(&request).await?.error_code;
    lab.check(&format!("the error of the first of the epochs {epochs:?}"), code, ErrorCode::FENCED_MEMBER_EPOCH)?;
    lab.check("the error of the last of them", hand.beat().await?.error_code, ErrorCode::NONE)
}

async fn the_epoch_before_is_taken(lab: &Lab) -> Outcome {
    let (mut hand, epochs) = grown(lab).await?;
    let request = hand.with_epoch(epochs[1]);
    let answer = hand.link.call(&request).await?;
    lab.check(&format!("the error of the last but one of the epochs {epochs:?}"), answer.error_code, ErrorCode::NONE)?;
    let holds = answer.member_epoch >= epochs[2];
    lab.check_that("the epoch of the answer", holds, &format!("{} or more", epochs[2]), &answer.member_epoch)
}

async fn a_fenced_member_comes_back_with_epoch_0(lab: &Lab) -> Outcome {
    let topic = lab.topic(3).await?;
    let mut hand = Hand::joined(lab, &lab.group().await?, &[&topic]).await?;
    let fenced = hand.with_epoch(hand.epoch() + 10);
    lab.check("the error", hand.link.call(&fenced).await?.error_code, ErrorCode::FENCED_MEMBER_EPOCH)?;
    hand.assigned.clear();
    hand.request.member_epoch = 0;
    hand.request.subscribed_topic_names = Some(vec![topic.name.clone()]);
    hand.until(lab, "a member that comes back gets its partitions", |assigned| !assigned.is_empty()).await?;
    lab.check("what the member gets then", hand.assigned, all_of(&[&topic]))
}

async fn a_member_that_joins_again_is_told_everything_at_once(lab: &Lab) -> Outcome {
    let topic = lab.topic(3).await?;
    let group = lab.group().await?;
    let mut hand = Hand::joined(lab, &group, &[&topic]).await?;
    hand.until(lab, "a member gets all partitions", |assigned| *assigned == all_of(&[&topic])).await?;
    hand.assigned.clear();
    hand.request.member_epoch = 0;
    hand.request.subscribed_topic_names = Some(vec![topic.name.clone()]);
    let again = hand.beat().await?;
    lab.check("the error of the join", again.error_code, ErrorCode::NONE)?;
    lab.check_that("the epoch of the answer", again.member_epoch > 0, "above 0", &again.member_epoch)?;
    lab.check("the assignment of the answer", hand.assigned.clone(), all_of(&[&topic]))?;
    let described = super::description::described(lab, &mut hand.link, &group).await?;
    lab.check("the number of members", described.members.len(), 1)
}

async fn a_member_that_has_left_is_unknown(lab: &Lab) -> Outcome {
    let topic = lab.topic(1).await?;
    let group = lab.group().await?;
    let _member = lab.member(&group, &[&topic]).await?;
    let mut hand = Hand::joined(lab, &group, &[&topic]).await?;
    lab.check("the error of the leave", hand.leave().await?.error_code, ErrorCode::NONE)?;
    lab.check("the error of a heartbeat then", hand.beat().await?.error_code, ErrorCode::UNKNOWN_MEMBER_ID)?;
    lab.check("the error of a second leave", hand.leave().await?.error_code, ErrorCode::UNKNOWN_MEMBER_ID)
}

async fn a_leave_is_answered_with_its_epoch(lab: &Lab) -> Outcome {
    let topic = lab.topic(1).await?;
    let mut hand = Hand::joined(lab, &lab.group().await?, &[&topic]).await?;
    let left = hand.leave().await?;
    lab.check("the error of the leave", left.error_code, ErrorCode::NONE)?;
    lab.check("the epoch of the answer", left.member_epoch, -1)
}

async fn a_member_that_has_left_may_join_again(lab: &Lab) -> Outcome {
    let topic = lab.topic(2).await?;
    let mut hand = Hand::joined(lab, &lab.group().await?, &[&topic]).await?;
    lab.check("the error of the leave", hand.leave().await?.error_code, ErrorCode::NONE)?;
    hand.assigned.clear();
    hand.request.member_epoch = 0;
    hand.request.subscribed_topic_names = Some(vec![topic.name.clone()]);
    hand.until(lab, "a member that comes back gets its partitions", |assigned| !assigned.is_empty()).await?;
    lab.check("what the member gets then", hand.assigned, all_of(&[&topic]))
}
