//! Bytes that are no request.

use std::time::Duration;

use ackflow_protocol::messages::share_fetch::ShareFetchRequest;
use ackflow_protocol::messages::share_group_heartbeat::ShareGroupHeartbeatRequest;
use ackflow_protocol::wire::ErrorCode;

use crate::broker::case::cases;
use crate::broker::lab::{
    ACCEPT, Kind, Lab, Link, Member, Outcome, Session, Topic, header_tags, join, random_uuid, sized,
};
use crate::broker::target::asking;

cases! {
    Errors;
    a_body_that_is_cut_closes_its_connection:
        "A request whose body ends before its schema does is not answered: its connection is closed, and others go on with what they hold.",
        "Kafka protocol guide, Network";
    a_header_that_is_cut_closes_its_connection:
        "A frame that is too short for a request's header is not answered: its connection is closed, and others go on with what they hold.",
        "Kafka protocol guide, Request Header";
    an_array_longer_than_its_frame_closes_its_connection:
        "A request with an array or string that claims to be longer than what is left of the frame is not answered: its connection is closed, and others \
         go on with what they hold.",
        "Kafka protocol guide, Protocol Primitive Types; KIP-482";
    a_length_that_never_ends_closes_its_connection:
        "A request with a variable-length number of more than five bytes where 32 bits have their place is not answered: its connection is closed, and \
         others go on with what they hold.",
        "KIP-482, Unsigned Varints";
    null_where_it_is_not_allowed_closes_its_connection:
        "A request with a null string in a field that is not nullable is not answered: its connection is closed, and others go on with what they hold.",
        "ShareGroupHeartbeatRequest.json: GroupId is not nullable";
    a_negative_size_closes_its_connection:
        "A frame with a negative size is not answered: its connection is closed, and others go on with what they hold.",
        "Kafka protocol guide, Network: request size";
    a_size_beyond_all_bounds_closes_its_connection:
        "A frame whose size is above socket.request.max.bytes is not answered, and not waited for: its connection is closed, and others go on with what \
         they hold.",
        "Kafka documentation, socket.request.max.bytes";
    what_is_not_kafka_at_all_closes_its_connection:
        "A connection on which something else than Kafka's protocol is spoken is closed, and others go on with what they hold.",
        "Kafka protocol guide, Network";
    a_frame_that_never_ends_holds_nothing_up:
        "A frame of which a part is missing is waited for, and holds up no other connection.",
        "Kafka protocol guide, Network";
    a_request_may_come_in_pieces:
        "A request that comes in small pieces is answered like one that comes whole.",
        "Kafka protocol guide, Network: TCP is a stream";
    a_connection_that_is_closed_for_its_bytes_gives_back_what_it_held:
        "A connection that the broker closes because of what was sent ends its share session, and what it held is available to others.",
        "KIP-932, Share sessions; KAFKA-19020";
}

/// Somebody whom the errors of others must not concern: a member that holds a record.
struct Bystander {
    topic: Topic,
    session: Session,
    member: Member,
}

impl Bystander {
    async fn new(lab: &Lab) -> Outcome<Self> {
        let topic = lab.topic(1).await?;
        let member = lab.member(&lab.group().await?, &[&topic]).await?;
        lab.produce(&topic, 0, 1).await?;
        let mut session = lab.session(&member, &[&topic]).await?;
        session.acquire(1).await?;
        Ok(Self { topic, session, member })
    }

    /// Checks that it still holds what it held.
    async fn goes_on(mut self, lab: &Lab) -> Outcome {
        let taken = self.session.acknowledge(&self.topic, 0, &[(0, 0, &[ACCEPT])]).await?;
        drop(self.member);
        lab.check("the error of what another connection acknowledges then", taken, ErrorCode::NONE)
    }
}

/// Sends bytes that are no request; the broker has to close this connection, and no other.
async fn closed_alone(lab: &Lab, what: &str, bytes: impl FnOnce(&mut Link) -> Outcome<Vec<u8>>) -> Outcome {
    let bystander = Bystander::new(lab).await?;
    let mut link = lab.link().await?;
    let bytes = bytes(&mut link)?;
    link.send_bytes(what, &bytes).await?;
    lab.closes(&mut link, "what comes of it").await?;
    bystander.goes_on(lab).await
}

/// The frame of a heartbeat in the newest version, to be spoiled.
fn heartbeat(link: &mut Link) -> Outcome<Vec<u8>> {
    let version = link.newest::<ShareGroupHeartbeatRequest>()?;
    let topics = Some(vec!["t".to_owned()]);
    let request = ShareGroupHeartbeatRequest { subscribed_topic_names: topics, ..join("g", "m", &[]) };
    Ok(link.frame_of(version, &request))
}

async fn a_body_that_is_cut_closes_its_connection(lab: &Lab) -> Outcome {
    closed_alone(lab, "a heartbeat without its last four bytes", |link| {
        let mut frame = heartbeat(link)?;
        frame.truncate(frame.len() - 4);
        Ok(sized(frame))
    })
    .await
}

async fn a_header_that_is_cut_closes_its_connection(lab: &Lab) -> Outcome {
    closed_alone(lab, "a frame of the first five bytes of a request", |link| {
        let mut frame = heartbeat(link)?;
        frame.truncate(4 + 5);
        Ok(sized(frame))
    })
    .await
}

async fn an_array_longer_than_its_frame_closes_its_connection(lab: &Lab) -> Outcome {
    closed_alone(lab, "a heartbeat whose array of topics claims 2,000,000,000 elements", |link| {
        let mut frame = heartbeat(link)?;
        // Behind it: a string of one character, and the count of tagged fields.
        let count = frame.len() - 4;
        frame.splice(count..=count, varint(2_000_000_001));
        Ok(sized(frame))
    })
    .await?;
    closed_alone(lab, "a heartbeat whose group id claims 1,000,000 bytes", |link| {
        let mut frame = heartbeat(link)?;
        let length = header_tags(&frame) + 1;
        frame.splice(length..=length, varint(1_000_001));
        Ok(sized(frame))
    })
    .await
}

async fn a_length_that_never_ends_closes_its_connection(lab: &Lab) -> Outcome {
    closed_alone(lab, "a heartbeat whose group id has a length of twelve bytes", |link| {
        let mut frame = heartbeat(link)?;
        let length = header_tags(&frame) + 1;
        frame.splice(length..=length, [0xff; 12]);
        Ok(sized(frame))
    })
    .await
}

async fn null_where_it_is_not_allowed_closes_its_connection(lab: &Lab) -> Outcome {
    closed_alone(lab, "a heartbeat whose group id is null", |link| {
        let mut frame = heartbeat(link)?;
        let length = header_tags(&frame) + 1;
        frame.splice(length..length + 2, [0]);
        Ok(sized(frame))
    })
    .await
}

async fn a_negative_size_closes_its_connection(lab: &Lab) -> Outcome {
    for size in [-1, i32::MIN] {
        closed_alone(lab, &format!("a heartbeat behind the size {size}"), |link| {
            let mut frame = heartbeat(link)?;
            frame[..4].copy_from_slice(&size.to_be_bytes());
            Ok(frame)
        })
        .await?;
    }
    Ok(())
}

async fn a_size_beyond_all_bounds_closes_its_connection(lab: &Lab) -> Outcome {
    let most = lab.target.settings.get("socket.request.max.bytes").and_then(|most| most.parse().ok());
    let most: i32 = most.unwrap_or(104_857_600);
    closed_alone(lab, &format!("a heartbeat behind a size of {most} bytes and one more"), |link| {
        let mut frame = heartbeat(link)?;
        frame[..4].copy_from_slice(&(most.saturating_add(1)).to_be_bytes());
        Ok(frame)
    })
    .await
}

async fn what_is_not_kafka_at_all_closes_its_connection(lab: &Lab) -> Outcome {
    closed_alone(lab, "a request of HTTP", |_| Ok(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n".to_vec())).await
}

async fn a_frame_that_never_ends_holds_nothing_up(lab: &Lab) -> Outcome {
    let bystander = Bystander::new(lab).await?;
    let mut link = lab.link().await?;
    let frame = link.frame_of(3, &asking());
    let (first, rest) = frame.split_at(frame.len() / 2);
    link.send_bytes("the first half of ApiVersions", first).await?;
    bystander.goes_on(lab).await?;
    let silent = link.is_silent_for(Duration::from_millis(200)).await;
    lab.check("whether the half is waited for", silent, true)?;
    link.send_bytes("the second half", rest).await?;
    lab.check("whether the whole is answered", link.next_frame().await?.is_some(), true)
}

async fn a_request_may_come_in_pieces(lab: &Lab) -> Outcome {
    lab.needs_feature("share.version", 1)?;
    let topic = lab.topic(1).await?;
    let group = lab.group().await?;
    let id = random_uuid().to_string();
    lab.made_member(&group, &id);
    let mut link = lab.coordinator(Kind::Group, &group).await?;
    let version = link.newest::<ShareGroupHeartbeatRequest>()?;
    let frame = link.frame_of(version, &join(&group, &id, &[&topic]));
    for piece in frame.chunks(7) {
        link.send_bytes("seven bytes of a heartbeat", piece).await?;
        tokio::task::yield_now().await;
    }
    lab.check("whether it is answered", link.next_frame().await?.is_some(), true)?;
    let request = ShareGroupHeartbeatRequest { member_epoch: -1, ..join(&group, &id, &[&topic]) };
    lab.check("the error of the member's leave", link.call(&request).await?.error_code, ErrorCode::NONE)
}

async fn a_connection_that_is_closed_for_its_bytes_gives_back_what_it_held(lab: &Lab) -> Outcome {
    let topic = lab.topic(1).await?;
    let group = lab.group().await?;
    let (member, beside) = (lab.member(&group, &[&topic]).await?, lab.member_beside(&group, &[&topic]).await?);
    let mut other = lab.session(&beside, &[&topic]).await?;
    other.fetch().await?;
    lab.produce(&topic, 0, 3).await?;
    let mut session = lab.session(&member, &[&topic]).await?;
    session.acquire(3).await?;
    let version = session.link.newest::<ShareFetchRequest>()?;
    let mut frame = session.link.frame_of(version, &session.request());
    frame.truncate(frame.len() - 6);
    session.link.send_bytes("a share fetch without its last six bytes", &sized(frame)).await?;
    lab.closes(&mut session.link, "what comes of it").await?;
    let began = std::time::Instant::now();
    other.acquire(3).await?;
    // Locks last for 30 s by default, or as the broker has it.
    let lock = lab.target.settings.get("group.share.record.lock.duration.ms").and_then(|lock| lock.parse().ok());
    let (took, lock) = (began.elapsed(), Duration::from_millis(lock.unwrap_or(30_000)));
    lab.check_that("when another member has what it held", took < lock / 2, "long before its lock ends", &took)
}

/// A number as KIP-482 has it.
fn varint(mut value: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value >= 0x80 {
        bytes.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}
