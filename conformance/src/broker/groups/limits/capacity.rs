//! How many members and sessions there may be.

use ackflow_protocol::messages::share_group_heartbeat::ShareGroupHeartbeatRequest;
use ackflow_protocol::wire::ErrorCode;

use super::settings::number;
use crate::broker::case::cases;
use crate::broker::lab::{Kind, Lab, Link, Outcome, Session, Stop, Topic, join, random_uuid};

cases! {
    Limits;
    a_group_has_no_more_members_than_it_may:
        "A join to a group that has group.share.max.size members is refused with GROUP_MAX_SIZE_REACHED; its members go on, and may join again.",
        "KIP-932, Broker configuration: group.share.max.size";
    a_member_that_leaves_a_full_group_makes_room:
        "When a member leaves a group that has group.share.max.size members, another may join.",
        "KIP-932, Broker configuration: group.share.max.size";
    #[alone]
    a_broker_has_no_more_sessions_than_it_may:
        "A ShareFetch that would open one session more than group.share.max.share.sessions is refused with SHARE_SESSION_LIMIT_REACHED; open sessions go on.",
        "KIP-932, Broker configuration: group.share.max.share.sessions";
    #[alone]
    a_session_that_ends_makes_room:
        "When a session ends, by a final request or with its connection, another may be opened on a broker that had all that it may have.",
        "KIP-932, Broker configuration: group.share.max.share.sessions";
}

/// More than this is not tried: it would be a test of patience.
const MANY: i64 = 300;

/// A limit of the broker, where it is small enough to be reached.
fn reachable(lab: &Lab, name: &str, default: i64) -> Outcome<usize> {
    match number(lab, name, default) {
        limit if limit <= MANY => Ok(usize::try_from(limit).unwrap_or_default()),
        limit => {
            Err(Stop::NotOffered(format!("{name} is {limit}; the case needs a broker where it is {MANY} or less")))
        }
    }
}

/// Sends all requests at once, and gives the errors.
async fn all(link: &mut Link, requests: &[ShareGroupHeartbeatRequest]) -> Outcome<Vec<ErrorCode>> {
    let mut sent = Vec::new();
    for request in requests {
        sent.push(link.send(request).await?);
    }
    let mut codes = Vec::new();
    for sent in sent {
        codes.push(link.answer(sent).await?.error_code);
    }
    Ok(codes)
}

/// A group with all members that it may have, their joins, and one that would be another's.
struct Full {
    link: Link,
    joins: Vec<ShareGroupHeartbeatRequest>,
    another: ShareGroupHeartbeatRequest,
}

impl Full {
    async fn new(lab: &Lab) -> Outcome<Self> {
        let size = reachable(lab, "group.share.max.size", 200)?;
        let topic = lab.topic(1).await?;
        // None may be put out before the last has joined.
        let longest = number(lab, "group.share.max.session.timeout.ms", 60_000).to_string();
        let interval = number(lab, "group.share.min.heartbeat.interval.ms", 5_000) + 1;
        let settings =
            [("share.session.timeout.ms", longest.as_str()), ("share.heartbeat.interval.ms", &interval.to_string())];
        let group = lab.group_with(&settings).await?;
        let mut joins: Vec<_> = (0..=size).map(|_| join(&group, &random_uuid().to_string(), &[&topic])).collect();
        let another = joins.pop().unwrap_or_default();
        lab.made_member(&group, &another.member_id);
        let mut link = lab.coordinator(Kind::Group, &group).await?.unrecorded();
        lab.eventually("the settings of the group are in force", async || {
            let joined = link.call(&joins[0]).await?;
            Ok((i64::from(joined.heartbeat_interval_ms) == interval).then_some(()))
        })
        .await?;
        for code in all(&mut link, &joins).await? {
            lab.granted("ShareGroupHeartbeat", code, None)?;
        }
        Ok(Self { link: lab.coordinator(Kind::Group, &group).await?, joins, another })
    }

    /// Has all leave: to take them away one by one would take long.
    async fn empty(self) -> Outcome {
        let mut link = self.link.unrecorded();
        let leaves: Vec<_> = self.joins.iter().map(leave).collect();
        all(&mut link, &leaves).await.map(drop)
    }
}

fn leave(join: &ShareGroupHeartbeatRequest) -> ShareGroupHeartbeatRequest {
    ShareGroupHeartbeatRequest { member_epoch: -1, subscribed_topic_names: None, ..join.clone() }
}

async fn a_group_has_no_more_members_than_it_may(lab: &Lab) -> Outcome {
    let mut full = Full::new(lab).await?;
    let refused = full.link.call(&full.another).await?.error_code;
    lab.check("the error of one member more", refused, ErrorCode::GROUP_MAX_SIZE_REACHED)?;
    let again = full.link.call(&full.joins[0]).await?.error_code;
    lab.check("the error of a member that joins again", again, ErrorCode::NONE)?;
    full.empty().await
}

async fn a_member_that_leaves_a_full_group_makes_room(lab: &Lab) -> Outcome {
    let mut full = Full::new(lab).await?;
    let refused = full.link.call(&full.another).await?.error_code;
    lab.check("the error of one member more", refused, ErrorCode::GROUP_MAX_SIZE_REACHED)?;
    let left = full.link.call(&leave(&full.joins[0])).await?.error_code;
    lab.check("the error of a leave", left, ErrorCode::NONE)?;
    let joined = full.link.call(&full.another).await?.error_code;
    lab.check("the error of the other's join then", joined, ErrorCode::NONE)?;
    full.empty().await
}

/// Opens sessions on a broker until it has all that it may have.
async fn all_sessions(lab: &Lab, group: &str, topic: &Topic) -> Outcome<Vec<Session>> {
    let limit = reachable(lab, "group.share.max.share.sessions", 2000)?;
    let mut sessions = Vec::new();
    // Somebody else may have some: the first refusal says that there is no more room.
    for _ in 0..limit {
        let mut session = lab.session_of(group, &random_uuid().to_string(), &[topic]).await?;
        match session.fetch_as(&session.request()).await?.error_code {
            ErrorCode::SHARE_SESSION_LIMIT_REACHED => break,
            code => lab.granted("ShareFetch", code, None)?,
        }
        sessions.push(session);
    }
    let some = !sessions.is_empty();
    lab.check_that("how many sessions can be opened", some, "some", &sessions.len())?;
    Ok(sessions)
}

async fn a_broker_has_no_more_sessions_than_it_may(lab: &Lab) -> Outcome {
    reachable(lab, "group.share.max.share.sessions", 2000)?;
    let topic = lab.topic(1).await?;
    let member = lab.member(&lab.group().await?, &[&topic]).await?;
    let mut sessions = all_sessions(lab, &member.group, &topic).await?;
    let mut more = lab.session(&member, &[&topic]).await?;
    let refused = more.fetch_as(&more.request()).await?.error_code;
    lab.check("the error of one session more", refused, ErrorCode::SHARE_SESSION_LIMIT_REACHED)?;
    let request = sessions[0].request();
    let next = sessions[0].fetch_as(&request).await?.error_code;
    lab.check("the error of an open session's next epoch", next, ErrorCode::NONE)
}

async fn a_session_that_ends_makes_room(lab: &Lab) -> Outcome {
    reachable(lab, "group.share.max.share.sessions", 2000)?;
    let topic = lab.topic(1).await?;
    let member = lab.member(&lab.group().await?, &[&topic]).await?;
    let mut sessions = all_sessions(lab, &member.group, &topic).await?;
    lab.check("the error of a final request", sessions[0].close().await?, ErrorCode::NONE)?;
    let mut more = lab.session(&member, &[&topic]).await?;
    let opened = more.fetch_as(&more.request()).await?.error_code;
    lab.check("the error of another session then", opened, ErrorCode::NONE)?;
    drop(sessions);
    // The broker notices in its own time that connections have ended.
    let mut last = lab.session_of(&member.group, &random_uuid().to_string(), &[&topic]).await?;
    let opened = lab.eventually("room for another session where connections have ended", async || {
        let code = last.fetch_as(&last.request()).await?.error_code;
        Ok((code != ErrorCode::SHARE_SESSION_LIMIT_REACHED).then_some(code))
    });
    lab.check("the error of another session where connections have ended", opened.await?, ErrorCode::NONE)
}
