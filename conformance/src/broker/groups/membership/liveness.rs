//! Members that fall silent.

use std::time::{Duration, Instant};

use ackflow_protocol::wire::ErrorCode;

use super::{Hand, all_of};
use crate::broker::case::cases;
use crate::broker::lab::{Lab, Outcome, Stop, Topic};

cases! {
    Membership;
    a_silent_member_is_put_out:
        "A member that sends no heartbeat for share.session.timeout.ms is put out of the group, not before, and its partitions go to the others.",
        "KIP-932, Share group membership and Configuration";
    a_member_that_was_put_out_is_unknown:
        "The next heartbeat of a member that was put out is refused with UNKNOWN_MEMBER_ID; it may join again under its id.",
        "KIP-932, Share group membership";
    heartbeats_keep_a_member:
        "A member that sends heartbeats stays a member for longer than share.session.timeout.ms.",
        "KIP-932, Share group membership";
}

/// How long members may be silent here: as short as the broker allows, and no shorter than what a busy machine may be late.
fn session(lab: &Lab) -> Duration {
    lab.target.waits.session.max(Duration::from_secs(4))
}

/// The interval of heartbeats in an impatient group, by which an answer tells that its settings are in force.
fn interval(lab: &Lab) -> i32 {
    i32::try_from(lab.target.waits.heartbeat.as_millis()).unwrap_or(i32::MAX - 1) + 1
}

/// A group whose members may be silent for so long.
async fn impatient(lab: &Lab) -> Outcome<String> {
    let (session, interval) = (session(lab).as_millis().to_string(), interval(lab).to_string());
    lab.group_with(&[("share.session.timeout.ms", &session), ("share.heartbeat.interval.ms", &interval)]).await
}

/// A pause between two heartbeats.
async fn pause(lab: &Lab) {
    tokio::time::sleep(lab.target.waits.heartbeat.min(session(lab) / 8)).await;
}

/// Has a member send heartbeats until another is out of the group: it has all partitions then.
async fn until_alone(lab: &Lab, hand: &mut Hand, topic: &Topic) -> Outcome {
    let end = Instant::now() + 3 * session(lab) + NOTICED;
    while hand.assigned != all_of(&[topic]) {
        if Instant::now() > end {
            return Err(Stop::failed("the silent member is put out", "it was still there"));
        }
        pause(lab).await;
        let beat = hand.beat().await?;
        lab.granted("ShareGroupHeartbeat", beat.error_code, beat.error_message.as_deref())?;
    }
    Ok(())
}

/// A broker may be slow to notice.
const NOTICED: Duration = Duration::from_secs(20);

/// Two members of an impatient group that share a topic of two partitions.
async fn two(lab: &Lab, topic: &Topic) -> Outcome<(Hand, Hand)> {
    let group = impatient(lab).await?;
    let (mut first, mut second) = (Hand::new(lab, &group, &[topic]).await?, Hand::new(lab, &group, &[topic]).await?);
    lab.eventually("two members share two partitions", async || {
        let mut in_force = true;
        for hand in [&mut first, &mut second] {
            let beat = hand.beat().await?;
            lab.granted("ShareGroupHeartbeat", beat.error_code, beat.error_message.as_deref())?;
            in_force &= beat.heartbeat_interval_ms == interval(lab);
        }
        Ok((in_force && first.assigned.len() == 1 && second.assigned.len() == 1).then_some(()))
    })
    .await?;
    Ok((first, second))
}

async fn a_silent_member_is_put_out(lab: &Lab) -> Outcome {
    let topic = lab.topic(2).await?;
    let (_silent, mut other) = two(lab, &topic).await?;
    let since = Instant::now();
    until_alone(lab, &mut other, &topic).await?;
    let (took, least) = (since.elapsed(), session(lab));
    // Its last heartbeat was a little before.
    let holds = took + least / 4 > least;
    lab.check_that("how long the silent member was kept", holds, &format!("{} ms", least.as_millis()), &took)
}

async fn a_member_that_was_put_out_is_unknown(lab: &Lab) -> Outcome {
    let topic = lab.topic(2).await?;
    let (mut silent, mut other) = two(lab, &topic).await?;
    until_alone(lab, &mut other, &topic).await?;
    lab.check("the error of its next heartbeat", silent.beat().await?.error_code, ErrorCode::UNKNOWN_MEMBER_ID)?;
    silent.request.member_epoch = 0;
    silent.request.subscribed_topic_names = Some(vec![topic.name.clone()]);
    lab.check("the error of a join then", silent.beat().await?.error_code, ErrorCode::NONE)
}

async fn heartbeats_keep_a_member(lab: &Lab) -> Outcome {
    let topic = lab.topic(1).await?;
    let mut hand = Hand::joined(lab, &impatient(lab).await?, &[&topic]).await?;
    let end = Instant::now() + session(lab) * 3 / 2;
    let epoch = hand.epoch();
    while Instant::now() < end {
        pause(lab).await;
        let answer = hand.beat().await?;
        lab.granted("ShareGroupHeartbeat", answer.error_code, answer.error_message.as_deref())?;
    }
    lab.check("the epoch of a member that was never silent", hand.epoch(), epoch)
}
