//! Sessions and the connections that they are opened on.

use std::time::Duration;

use ackflow_protocol::messages::share_fetch::ShareFetchRequest;
use ackflow_protocol::wire::ErrorCode;

use super::ends::{Held, held, offsets};
use crate::broker::case::cases;
use crate::broker::lab::{ACCEPT, Lab, Outcome, acquired};

cases! {
    Sessions;
    the_end_of_a_connection_gives_back_what_is_held:
        "When the connection ends on which a session was opened, what the member holds is available to others at once; the delivery has counted.",
        "KIP-932, Share sessions; KAFKA-19020",
        note "Kafka 4.1 takes the delivery back, so that it does not count.";
    the_end_of_a_connection_ends_its_session:
        "When the connection ends on which a session was opened, the session ends: its next epoch is refused with SHARE_SESSION_NOT_FOUND on another.",
        "KIP-932, Share sessions; KAFKA-19020";
    opening_again_begins_at_epoch_1:
        "Epoch 0 in an open session ends it and opens another, whose next epoch is 1; the next epoch of the old one is refused.",
        "KIP-932, Share sessions";
    opening_again_begins_with_other_partitions:
        "A session that is opened in place of another has the partitions that it names, and none of the one before.",
        "KIP-932, Share sessions";
    a_session_that_is_opened_elsewhere_takes_the_place_of_the_first:
        "A session that a member opens on a second connection takes the place of the first: the next epoch of that one is refused with \
         INVALID_SHARE_SESSION_EPOCH, and the second goes on.",
        "KIP-932, Share sessions: a session is known by group and member";
    the_end_of_an_older_connection_leaves_the_session:
        "The end of the connection of a session in whose place another was opened elsewhere neither ends that one nor gives back what it acquires.",
        "KIP-932, Share sessions; KAFKA-19020";
    acknowledgements_behind_a_waiting_fetch_are_answered_after_it:
        "A request that is sent while a ShareFetch on the same connection waits for records is answered after it, though nothing is sent out of turn: the \
         wait ends with MaxWaitMs.",
        "Kafka protocol guide, Network; KIP-932, ShareFetch API";
}

async fn the_end_of_a_connection_gives_back_what_is_held(lab: &Lab) -> Outcome {
    let Held { holder, mut other, members, .. } = held(lab, 3).await?;
    lab.check("what the other member gets before", other.fetch().await?, Vec::new())?;
    drop(holder);
    let got = offsets(&other.acquire(3).await?);
    drop(members);
    lab.check("offsets and delivery counts that the other member gets then", got, vec![(0, 2), (1, 2), (2, 2)])
}

async fn the_end_of_a_connection_ends_its_session(lab: &Lab) -> Outcome {
    let Held { topic, holder, mut other, members } = held(lab, 3).await?;
    let epoch = holder.epoch;
    drop(holder);
    // The broker has noticed when the records are there again.
    other.acquire(3).await?;
    let mut again = lab.session(&members[0], &[&topic]).await?;
    again.epoch = epoch;
    let refused = again.fetch_as(&again.request()).await?.error_code;
    lab.check("the error of the session's next epoch", refused, ErrorCode::SHARE_SESSION_NOT_FOUND)?;
    again.epoch = 0;
    let opened = again.fetch_as(&again.request()).await?.error_code;
    lab.check("the error of epoch 0", opened, ErrorCode::NONE)
}

async fn opening_again_begins_at_epoch_1(lab: &Lab) -> Outcome {
    let topic = lab.topic(1).await?;
    let member = lab.member(&lab.group().await?, &[&topic]).await?;
    let mut session = lab.session(&member, &[&topic]).await?;
    for _ in 0..4 {
        session.fetch().await?;
    }
    let old = session.epoch;
    session.epoch = 0;
    let opened = session.fetch_as(&session.request()).await?.error_code;
    lab.check("the error of epoch 0 in an open session", opened, ErrorCode::NONE)?;
    let request = ShareFetchRequest { share_session_epoch: old, ..session.request() };
    let refused = session.link.call(&request).await?.error_code;
    let what = format!("the error of epoch {old}, the next of the old session");
    lab.check(&what, refused, ErrorCode::INVALID_SHARE_SESSION_EPOCH)?;
    let next = session.fetch_as(&session.request()).await?.error_code;
    lab.check("the error of epoch 1", next, ErrorCode::NONE)
}

async fn opening_again_begins_with_other_partitions(lab: &Lab) -> Outcome {
    let old = lab.topic(1).await?;
    let new = lab.topic_beside(&old).await?;
    let member = lab.member(&lab.group().await?, &[&old, &new]).await?;
    let mut session = lab.session(&member, &[&old]).await?;
    session.fetch().await?;
    let opening = lab.session(&member, &[&new]).await?.request();
    session.epoch = 0;
    acquired(&session.fetch_as(&opening).await?)?;
    lab.produce(&old, 0, 3).await?;
    lab.produce(&new, 0, 2).await?;
    session.acquire(2).await?;
    // The rest would be of the old topic.
    lab.check("what there is to get besides the new topic's records", session.fetch().await?, Vec::new())
}

async fn a_session_that_is_opened_elsewhere_takes_the_place_of_the_first(lab: &Lab) -> Outcome {
    let topic = lab.topic(1).await?;
    let member = lab.member(&lab.group().await?, &[&topic]).await?;
    let mut first = lab.session(&member, &[&topic]).await?;
    for _ in 0..3 {
        first.fetch().await?;
    }
    let mut second = lab.session(&member, &[&topic]).await?;
    let opened = second.fetch_as(&second.request()).await?.error_code;
    lab.check("the error of epoch 0 on the second connection", opened, ErrorCode::NONE)?;
    let refused = first.fetch_as(&first.request()).await?.error_code;
    let what = "the error of the next epoch of the first session";
    lab.check(what, refused, ErrorCode::INVALID_SHARE_SESSION_EPOCH)?;
    let next = second.fetch_as(&second.request()).await?.error_code;
    lab.check("the error of epoch 1 on the second connection", next, ErrorCode::NONE)
}

async fn the_end_of_an_older_connection_leaves_the_session(lab: &Lab) -> Outcome {
    let topic = lab.topic(1).await?;
    let group = lab.group().await?;
    let (member, beside) = (lab.member(&group, &[&topic]).await?, lab.member_beside(&group, &[&topic]).await?);
    let mut other = lab.session(&beside, &[&topic]).await?;
    let mut first = lab.session(&member, &[&topic]).await?;
    let mut second = lab.session(&member, &[&topic]).await?;
    for session in [&mut other, &mut first, &mut second] {
        session.fetch().await?;
    }
    lab.produce(&topic, 0, 3).await?;
    second.acquire(3).await?;
    drop(first);
    // Whatever the end of the connection would do, it has done by the end of this wait.
    let request = ShareFetchRequest { max_wait_ms: 500, min_bytes: 1, ..other.request() };
    lab.check("what another member gets", acquired(&other.fetch_as(&request).await?)?, Vec::new())?;
    let next = second.fetch_as(&second.request()).await?.error_code;
    lab.check("the error of the session's next epoch", next, ErrorCode::NONE)?;
    let taken = second.acknowledge(&topic, 0, &[(0, 2, &[ACCEPT])]).await?;
    lab.check("the error of acknowledgements of what it has acquired", taken, ErrorCode::NONE)
}

async fn acknowledgements_behind_a_waiting_fetch_are_answered_after_it(lab: &Lab) -> Outcome {
    let Held { topic, mut holder, other: _other, members: _members } = held(lab, 3).await?;
    let waiting = ShareFetchRequest { max_wait_ms: 700, min_bytes: 1, ..holder.request() };
    let fetch = holder.link.send(&waiting).await?;
    holder.epoch += 1;
    let acknowledge = holder.acknowledgement(&topic, 0, &[(0, 2, &[ACCEPT])]);
    let acknowledge = holder.link.send(&acknowledge).await?;
    // An answer out of turn would have the wrong correlation id.
    let within = Duration::from_secs(20);
    let fetched = holder.link.answer_within(fetch, within).await?;
    lab.check("what the fetch acquires", acquired(&fetched)?, Vec::new())?;
    let answer = holder.link.answer_within(acknowledge, within).await?;
    let codes: Vec<_> = answer.responses.iter().flat_map(|topic| &topic.partitions).map(|p| p.error_code).collect();
    lab.check(
        "the errors of the acknowledgements",
        (answer.error_code, codes),
        (ErrorCode::NONE, vec![ErrorCode::NONE]),
    )
}
