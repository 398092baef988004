//! How sessions end, and what becomes of what they hold.

use ackflow_protocol::messages::share_fetch::ShareFetchRequest;
use ackflow_protocol::wire::ErrorCode;

use crate::broker::case::cases;
use crate::broker::lab::{ACCEPT, Acquired, Lab, Member, Outcome, Session, Topic, acquired};

cases! {
    Sessions;
    a_final_fetch_ends_the_session:
        "A ShareFetch with epoch -1 ends the session: it is answered without an error, and the requests that follow are refused with \
         SHARE_SESSION_NOT_FOUND, a second final one too.",
        "KIP-932, Share sessions";
    a_final_fetch_gives_back_what_is_held:
        "The records that the member holds are available to others at once when a ShareFetch with epoch -1 ends the session; the delivery has counted.",
        "KIP-932, Share sessions; Delivery count",
        note "Kafka 4.1 takes the delivery back, so that it does not count.";
    a_final_fetch_takes_its_acknowledgements:
        "The acknowledgements of a ShareFetch with epoch -1 are taken before the rest is given back.",
        "KIP-932, ShareFetch API";
    a_final_fetch_acquires_nothing:
        "A ShareFetch with epoch -1 acquires no records, though it asks for some.",
        "KIP-932, ShareFetch API";
    a_final_acknowledge_ends_the_session:
        "A ShareAcknowledge with epoch -1 takes its acknowledgements, ends the session, and gives the rest back.",
        "KIP-932, ShareAcknowledge API";
    a_session_that_has_ended_is_opened_again:
        "A member opens another session with epoch 0 on the connection on which one has ended.",
        "KIP-932, Share sessions";
    the_end_of_one_session_is_no_end_of_others:
        "The end of a member's session leaves those of other members as they are, with what they hold.",
        "KIP-932, Share sessions";
}

/// Two members of a group with a session each on one partition; the first holds all records.
pub(super) struct Held {
    pub(super) topic: Topic,
    pub(super) holder: Session,
    pub(super) other: Session,
    /// They stay members.
    pub(super) members: [Member; 2],
}

/// A group, in which one member holds so many records under a lock that lasts longer than anything waits here.
pub(super) async fn held(lab: &Lab, count: usize) -> Outcome<Held> {
    let topic = lab.topic(1).await?;
    let longest = lab.target.settings.get("group.share.max.record.lock.duration.ms");
    let longest = longest.map_or("60000", String::as_str);
    let group = lab.group_with(&[("share.record.lock.duration.ms", longest)]).await?;
    let members = [lab.member(&group, &[&topic]).await?, lab.member_beside(&group, &[&topic]).await?];
    let mut other = lab.session(&members[1], &[&topic]).await?;
    // Before there is anything to get.
    other.fetch().await?;
    lab.produce(&topic, 0, count).await?;
    let mut holder = lab.session(&members[0], &[&topic]).await?;
    holder.acquire(count as i64).await?;
    Ok(Held { topic, holder, other, members })
}

/// Offsets with their delivery counts.
pub(super) fn offsets(ranges: &[Acquired]) -> Vec<(i64, i16)> {
    let mut all: Vec<_> =
        ranges.iter().flat_map(|range| (range.first..=range.last).map(|at| (at, range.delivery_count))).collect();
    all.sort_unstable();
    all
}

async fn a_final_fetch_ends_the_session(lab: &Lab) -> Outcome {
    let topic = lab.topic(1).await?;
    let member = lab.member(&lab.group().await?, &[&topic]).await?;
    let mut session = lab.session(&member, &[&topic]).await?;
    session.fetch().await?;
    lab.check("the error of the final fetch", session.close().await?, ErrorCode::NONE)?;
    let next = session.link.call(&session.request()).await?.error_code;
    lab.check("the error of the next epoch", next, ErrorCode::SHARE_SESSION_NOT_FOUND)?;
    lab.check("the error of a second final fetch", session.close().await?, ErrorCode::SHARE_SESSION_NOT_FOUND)
}

async fn a_final_fetch_gives_back_what_is_held(lab: &Lab) -> Outcome {
    let mut held = held(lab, 3).await?;
    lab.check("what the other member gets before", held.other.fetch().await?, Vec::new())?;
    lab.check("the error of the final fetch", held.holder.close().await?, ErrorCode::NONE)?;
    let got = offsets(&held.other.acquire(3).await?);
    let offsets: Vec<_> = got.iter().map(|(offset, _)| *offset).collect();
    lab.check("the offsets that the other member gets then", offsets, vec![0, 1, 2])?;
    let counts: Vec<_> = got.iter().map(|(_, count)| *count).collect();
    lab.check("their delivery counts", counts, vec![2; 3])
}

async fn a_final_fetch_takes_its_acknowledgements(lab: &Lab) -> Outcome {
    let mut held = held(lab, 4).await?;
    let request = held.holder.piggyback(&held.topic, 0, &[(0, 1, &[ACCEPT])]);
    let request = ShareFetchRequest { share_session_epoch: -1, ..request };
    let response = held.holder.link.call(&request).await?;
    lab.check("the error of the final fetch", response.error_code, ErrorCode::NONE)?;
    acquired(&response)?;
    let got: Vec<_> = offsets(&held.other.acquire(2).await?).into_iter().map(|(offset, _)| offset).collect();
    lab.check("the offsets that the other member gets", got, vec![2, 3])
}

async fn a_final_fetch_acquires_nothing(lab: &Lab) -> Outcome {
    let topic = lab.topic(1).await?;
    let member = lab.member(&lab.group().await?, &[&topic]).await?;
    let mut session = lab.session(&member, &[&topic]).await?;
    session.fetch().await?;
    lab.produce(&topic, 0, 3).await?;
    let request = ShareFetchRequest { share_session_epoch: -1, ..session.request() };
    let response = session.link.call(&request).await?;
    lab.check("what a final fetch acquires", acquired(&response)?, Vec::new())?;
    let mut again = lab.session(&member, &[&topic]).await?;
    let counts: Vec<_> = again.acquire(3).await?.iter().map(|range| range.delivery_count).collect();
    let first = counts.iter().all(|count| *count == 1);
    lab.check_that("the delivery counts in the next session", first, "1 each", &counts)
}

async fn a_final_acknowledge_ends_the_session(lab: &Lab) -> Outcome {
    let mut held = held(lab, 4).await?;
    held.holder.epoch = -1;
    let taken = held.holder.acknowledge(&held.topic, 0, &[(0, 1, &[ACCEPT])]).await?;
    lab.check("the error of the final acknowledgements", taken, ErrorCode::NONE)?;
    let got: Vec<_> = offsets(&held.other.acquire(2).await?).into_iter().map(|(offset, _)| offset).collect();
    lab.check("the offsets that the other member gets", got, vec![2, 3])?;
    lab.check("the error of a final fetch then", held.holder.close().await?, ErrorCode::SHARE_SESSION_NOT_FOUND)
}

async fn a_session_that_has_ended_is_opened_again(lab: &Lab) -> Outcome {
    let topic = lab.topic(1).await?;
    let member = lab.member(&lab.group().await?, &[&topic]).await?;
    let mut session = lab.session(&member, &[&topic]).await?;
    for round in 1..=3 {
        for epoch in 0..2 {
            session.epoch = epoch;
            let code = session.fetch_as(&session.request()).await?.error_code;
            lab.check(&format!("the error of epoch {epoch} in session {round}"), code, ErrorCode::NONE)?;
        }
        lab.check(&format!("the error of the end of session {round}"), session.close().await?, ErrorCode::NONE)?;
    }
    Ok(())
}

async fn the_end_of_one_session_is_no_end_of_others(lab: &Lab) -> Outcome {
    let mut held = held(lab, 3).await?;
    lab.check("the error of the end of the other session", held.other.close().await?, ErrorCode::NONE)?;
    let next = held.holder.fetch_as(&held.holder.request()).await?.error_code;
    lab.check("the error of the holder's next fetch", next, ErrorCode::NONE)?;
    let taken = held.holder.acknowledge(&held.topic, 0, &[(0, 2, &[ACCEPT])]).await?;
    lab.check("the error of the holder's acknowledgements", taken, ErrorCode::NONE)
}
