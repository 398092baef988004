//! Who gets which partitions.

use std::collections::BTreeSet;

use ackflow_protocol::wire::{ErrorCode, Uuid};

use super::{Hand, all_of};
use crate::broker::case::cases;
use crate::broker::lab::{Lab, Outcome, Topic};

cases! {
    Membership;
    the_only_member_gets_all_partitions:
        "The only member of a group is assigned all partitions of all topics that it subscribes to.",
        "KIP-932, Share group assignment";
    partitions_are_spread_over_the_members:
        "With more partitions than members each member gets some partitions, and together they get all.",
        "KIP-932, The SimpleAssignor";
    members_beyond_the_partitions_get_some_too:
        "With more members than partitions each member gets a partition, which it shares with others.",
        "KIP-932, The SimpleAssignor";
    each_member_gets_what_it_subscribes_to:
        "Members of one group may subscribe to different topics; each is assigned partitions of its own topics alone, and each partition has a member.",
        "KIP-932, The SimpleAssignor";
    an_assignment_is_told_when_it_changes:
        "A heartbeat of a member whose assignment has not changed is answered with a null assignment, and with the same epoch.",
        "KIP-932, ShareGroupHeartbeat API; ShareGroupHeartbeatResponse.json";
    what_a_member_leaves_goes_to_the_others:
        "The partitions of a member that leaves go to those that stay.",
        "KIP-932, Share group membership";
    a_subscription_that_changes_changes_the_assignment:
        "A heartbeat with other topics than before changes the member's subscription: it is assigned the partitions of the new ones, and those of the old \
         ones no more.",
        "KIP-932, ShareGroupHeartbeat API";
}

/// Sends heartbeats of all until what they are assigned is as wanted.
async fn settle(
    lab: &Lab,
    hands: &mut [Hand],
    what: &str,
    wanted: impl Fn(&[BTreeSet<(Uuid, i32)>]) -> bool,
) -> Outcome<Vec<BTreeSet<(Uuid, i32)>>> {
    lab.eventually(what, async || {
        for hand in &mut *hands {
            let response = hand.beat().await?;
            lab.granted("ShareGroupHeartbeat", response.error_code, response.error_message.as_deref())?;
        }
        let all: Vec<_> = hands.iter().map(|hand| hand.assigned.clone()).collect();
        Ok(wanted(&all).then_some(all))
    })
    .await
}

/// So many new members of a group.
async fn hands(lab: &Lab, group: &str, topics: &[&Topic], count: usize) -> Outcome<Vec<Hand>> {
    let mut hands = Vec::new();
    for _ in 0..count {
        hands.push(Hand::new(lab, group, topics).await?);
    }
    Ok(hands)
}

fn union(all: &[BTreeSet<(Uuid, i32)>]) -> BTreeSet<(Uuid, i32)> {
    all.iter().flatten().copied().collect()
}

async fn the_only_member_gets_all_partitions(lab: &Lab) -> Outcome {
    let (first, second) = (lab.topic(5).await?, lab.topic(1).await?);
    let wanted = all_of(&[&first, &second]);
    let mut hand = Hand::new(lab, &lab.group().await?, &[&first, &second]).await?;
    hand.until(lab, "the only member gets all partitions", |assigned| *assigned == wanted).await?;
    lab.check("what the member is assigned", hand.assigned, wanted)
}

async fn partitions_are_spread_over_the_members(lab: &Lab) -> Outcome {
    let topic = lab.topic(6).await?;
    let mut hands = hands(lab, &lab.group().await?, &[&topic], 3).await?;
    let wanted = all_of(&[&topic]);
    let fair = |all: &[BTreeSet<_>]| {
        all.iter().all(|assigned| !assigned.is_empty() && assigned.len() < 6) && union(all) == wanted
    };
    let what = "each of three members gets some of six partitions, none all, and all are assigned";
    let all = settle(lab, &mut hands, what, fair).await?;
    lab.check("the partitions that are assigned to the three", union(&all), wanted)
}

async fn members_beyond_the_partitions_get_some_too(lab: &Lab) -> Outcome {
    let topic = lab.topic(2).await?;
    let mut hands = hands(lab, &lab.group().await?, &[&topic], 5).await?;
    let wanted = all_of(&[&topic]);
    let fair = |all: &[BTreeSet<_>]| all.iter().all(|assigned| !assigned.is_empty()) && union(all) == wanted;
    let what = "each of five members gets one of two partitions at least, and both are assigned";
    let all = settle(lab, &mut hands, what, fair).await?;
    lab.check("the partitions that are assigned to the five", union(&all), wanted)
}

async fn each_member_gets_what_it_subscribes_to(lab: &Lab) -> Outcome {
    let (both, first, second) = (lab.topic(2).await?, lab.topic(2).await?, lab.topic(2).await?);
    let group = lab.group().await?;
    let mut hands =
        vec![Hand::new(lab, &group, &[&both, &first]).await?, Hand::new(lab, &group, &[&both, &second]).await?];
    let wanted = all_of(&[&both, &first, &second]);
    let what = "two members with one common topic and one of their own each get all partitions between them";
    let all = settle(lab, &mut hands, what, |all| union(all) == wanted).await?;
    let own = |topics: &[&Topic], assigned: &BTreeSet<_>| assigned.is_subset(&all_of(topics));
    lab.check("whether the first has its topics alone", own(&[&both, &first], &all[0]), true)?;
    lab.check("whether the second has its topics alone", own(&[&both, &second], &all[1]), true)
}

async fn an_assignment_is_told_when_it_changes(lab: &Lab) -> Outcome {
    let topic = lab.topic(3).await?;
    let mut hand = Hand::new(lab, &lab.group().await?, &[&topic]).await?;
    hand.until(lab, "a member gets all partitions", |assigned| *assigned == all_of(&[&topic])).await?;
    let epoch = hand.epoch();
    for _ in 0..3 {
        let answer = hand.beat().await?;
        lab.check("the error of a heartbeat that says nothing new", answer.error_code, ErrorCode::NONE)?;
        lab.check("its assignment", answer.assignment, None)?;
        lab.check("its epoch", answer.member_epoch, epoch)?;
    }
    Ok(())
}

async fn what_a_member_leaves_goes_to_the_others(lab: &Lab) -> Outcome {
    let topic = lab.topic(4).await?;
    let mut hands = hands(lab, &lab.group().await?, &[&topic], 2).await?;
    let wanted = all_of(&[&topic]);
    let shared = |all: &[BTreeSet<_>]| all.iter().all(|assigned| !assigned.is_empty() && assigned.len() < 4);
    settle(lab, &mut hands, "two members share four partitions", shared).await?;
    lab.check("the error of the leave", hands[1].leave().await?.error_code, ErrorCode::NONE)?;
    hands[0].until(lab, "the other member gets all partitions", |assigned| *assigned == wanted).await?;
    lab.check("what the other is assigned", hands[0].assigned.clone(), wanted)
}

async fn a_subscription_that_changes_changes_the_assignment(lab: &Lab) -> Outcome {
    let (old, new) = (lab.topic(2).await?, lab.topic(3).await?);
    let mut hand = Hand::joined(lab, &lab.group().await?, &[&old]).await?;
    let epoch = hand.epoch();
    hand.request.subscribed_topic_names = Some(vec![new.name.clone()]);
    let wanted = all_of(&[&new]);
    hand.until(lab, "a member gets the partitions of its new topic", |assigned| *assigned == wanted).await?;
    lab.check("what the member is assigned", hand.assigned.clone(), wanted)?;
    lab.check_that("its epoch", hand.epoch() > epoch, &format!("above {epoch}"), &hand.epoch())
}
