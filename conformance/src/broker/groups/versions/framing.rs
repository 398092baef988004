//! Headers, correlation ids and tagged fields.

use ackflow_protocol::messages::metadata::MetadataRequest;
use ackflow_protocol::messages::share_group_describe::{ShareGroupDescribeRequest, ShareGroupDescribeResponse};
use ackflow_protocol::wire::{ApiKey, decode_response};

use crate::broker::case::cases;
use crate::broker::lab::{Kind, Lab, Link, Outcome, Stop, header_tags, sized};
use crate::broker::target::asking;

cases! {
    Versions;
    an_unknown_api_closes_the_connection:
        "A request of an API that the broker does not know is not answered, and its connection is closed.",
        "Kafka protocol guide, Network; KIP-35";
    unknown_tagged_fields_of_a_header_are_skipped:
        "Tagged fields of a request's header that the broker does not know are skipped.",
        "KIP-482, Tagged fields";
    unknown_tagged_fields_of_a_body_are_skipped:
        "Tagged fields of a request's body that the broker does not know are skipped.",
        "KIP-482, Tagged fields";
    a_client_id_may_be_null:
        "A request whose header has a null client id is answered like any other.",
        "RequestHeader.json: ClientId is nullable";
    any_correlation_id_comes_back:
        "An answer carries the correlation id of its request, whichever number that is.",
        "Kafka protocol guide, Request Header";
    answers_come_in_the_order_of_their_requests:
        "Requests of one connection that are sent without waiting are answered in the order in which they were sent.",
        "Kafka protocol guide, Network";
}

/// A description of a group that nobody has.
fn harmless(lab: &Lab) -> ShareGroupDescribeRequest {
    ShareGroupDescribeRequest { group_ids: vec![lab.unique("group")], ..Default::default() }
}

/// Takes the answer to a description: one group.
async fn described(lab: &Lab, link: &mut Link, what: &str) -> Outcome<i32> {
    let version = link.newest::<ShareGroupDescribeRequest>()?;
    let answer = link.next_frame().await?.ok_or_else(|| Stop::failed(what, "the connection was closed"))?;
    let (header, answer) = decode_response::<ShareGroupDescribeResponse>(answer, version)
        .map_err(|error| Stop::failed(what, error.to_string()))?;
    lab.check(what, answer.groups.len(), 1)?;
    Ok(header.correlation_id)
}

async fn an_unknown_api_closes_the_connection(lab: &Lab) -> Outcome {
    for key in [-1, 9_999, i16::MAX] {
        let mut link = lab.link().await?;
        let mut frame = link.frame_of(3, &asking());
        frame[4..6].copy_from_slice(&key.to_be_bytes());
        link.send_bytes(&format!("a request of API {key}, which there is not"), &frame).await?;
        lab.closes(&mut link, &format!("what comes of API {key}")).await?;
    }
    Ok(())
}

async fn unknown_tagged_fields_of_a_header_are_skipped(lab: &Lab) -> Outcome {
    let mut link = lab.coordinator(Kind::Group, &lab.unique("group")).await?;
    let version = link.newest::<ShareGroupDescribeRequest>()?;
    let mut frame = link.frame_of(version, &harmless(lab));
    let tags = header_tags(&frame);
    // Two fields: tag 60 with three bytes, tag 3,000 with none.
    frame.splice(tags..=tags, [2, 60, 3, 1, 2, 3, 0xb8, 0x17, 0]);
    link.send_bytes("ShareGroupDescribe whose header has the tagged fields 60 and 3000", &sized(frame)).await?;
    described(lab, &mut link, "the groups of the answer").await.map(drop)
}

async fn unknown_tagged_fields_of_a_body_are_skipped(lab: &Lab) -> Outcome {
    let mut link = lab.coordinator(Kind::Group, &lab.unique("group")).await?;
    let version = link.newest::<ShareGroupDescribeRequest>()?;
    let mut frame = link.frame_of(version, &harmless(lab));
    // The last byte counts the tagged fields of the body.
    frame.pop();
    frame.extend([2, 60, 3, 1, 2, 3, 0xb8, 0x17, 0]);
    link.send_bytes("ShareGroupDescribe whose body has the tagged fields 60 and 3000", &sized(frame)).await?;
    described(lab, &mut link, "the groups of the answer").await.map(drop)
}

async fn a_client_id_may_be_null(lab: &Lab) -> Outcome {
    let mut link = lab.coordinator(Kind::Group, &lab.unique("group")).await?;
    let version = link.newest::<ShareGroupDescribeRequest>()?;
    let mut frame = link.frame_of(version, &harmless(lab));
    let tags = header_tags(&frame);
    frame.splice(12..tags, [0xff, 0xff]);
    link.send_bytes("ShareGroupDescribe whose client id is null", &sized(frame)).await?;
    described(lab, &mut link, "the groups of the answer").await.map(drop)
}

async fn any_correlation_id_comes_back(lab: &Lab) -> Outcome {
    let mut link = lab.coordinator(Kind::Group, &lab.unique("group")).await?;
    let version = link.newest::<ShareGroupDescribeRequest>()?;
    for id in [0, -1, i32::MIN, i32::MAX, 7, 7] {
        let mut frame = link.frame_of(version, &harmless(lab));
        frame[8..12].copy_from_slice(&id.to_be_bytes());
        link.send_bytes(&format!("ShareGroupDescribe with the correlation id {id}"), &frame).await?;
        let got = described(lab, &mut link, "the groups of the answer").await?;
        lab.check("the correlation id of the answer", got, id)?;
    }
    Ok(())
}

async fn answers_come_in_the_order_of_their_requests(lab: &Lab) -> Outcome {
    lab.target.offers(ApiKey::API_VERSIONS, 3)?;
    let mut link = lab.link().await?;
    // An answer out of order has another correlation id than the one that is waited for, or another schema.
    let all = MetadataRequest { topics: None, ..Default::default() };
    let few = MetadataRequest { topics: Some(Vec::new()), ..Default::default() };
    let mut sent = Vec::new();
    for _ in 0..10 {
        sent.push((link.send(&all).await?, link.send_in(3, &asking()).await?, link.send(&few).await?));
    }
    for (first, second, third) in sent {
        link.answer(first).await?;
        link.answer(second).await?;
        link.answer(third).await?;
    }
    lab.check("how many requests were answered in order", 30, 30)
}
