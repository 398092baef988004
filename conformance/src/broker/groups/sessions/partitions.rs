//! The partitions of a session.

use std::collections::BTreeSet;

use ackflow_protocol::messages::delete_topics::{DeleteTopicState, DeleteTopicsRequest};
use ackflow_protocol::messages::share_fetch::{FetchPartition, FetchTopic, ForgottenTopic, ShareFetchRequest};
use ackflow_protocol::wire::ErrorCode;

use super::ends::{Held, held};
use crate::broker::case::cases;
use crate::broker::lab::{ACCEPT, Lab, Outcome, Topic, acquired, offsets, partitions, random_uuid};

cases! {
    Sessions;
    partitions_stay_in_the_session:
        "A fetch that names no partitions fetches from those of the session.",
        "KIP-932, Share sessions";
    a_partition_that_is_named_later_is_added:
        "A partition that a later fetch names is added to the session, and stays in it.",
        "KIP-932, Share sessions";
    a_session_may_begin_without_partitions:
        "A session may be opened without any partition; they are added by later fetches.",
        "KIP-932, Share sessions";
    a_forgotten_partition_is_fetched_no_more:
        "A partition that a fetch forgets leaves the session: nothing is acquired from it from that fetch on; others stay.",
        "KIP-932, ShareFetch API; ShareFetchRequest.json: ForgottenTopicsData";
    records_of_a_forgotten_partition_are_acknowledged:
        "A member acknowledges what it holds of a partition that it has forgotten.",
        "KIP-932, ShareAcknowledge API";
    an_answer_leaves_out_partitions_without_anything:
        "The answer to a fetch in an open session leaves out the partitions without records, acknowledgements or errors.",
        "KIP-932, Share sessions; KIP-227";
    an_unknown_topic_is_an_error_of_its_partitions:
        "A topic id that the broker does not know is answered with UNKNOWN_TOPIC_ID for its partitions; others are fetched, and the session goes on.",
        "KIP-932, ShareFetch API",
        note "Kafka 4.4.0 with an authorizer fails on the whole request, with UNKNOWN_SERVER_ERROR: it asks for the right to read a topic without a name.";
    an_unknown_partition_is_an_error_of_its_own:
        "A partition that its topic does not have is answered with UNKNOWN_TOPIC_OR_PARTITION; others are fetched, and the session goes on.",
        "KIP-932, ShareFetch API";
    a_topic_that_is_deleted_is_an_error_of_its_partitions:
        "The partitions of a topic that is deleted under a session are answered with UNKNOWN_TOPIC_ID or UNKNOWN_TOPIC_OR_PARTITION; others are fetched.",
        "KIP-932, ShareFetch API";
}

/// A partition of a topic as a fetch names it.
fn named(topic: &Topic, partition_index: i32) -> Vec<FetchTopic> {
    let partitions = vec![FetchPartition { partition_index, ..Default::default() }];
    vec![FetchTopic { topic_id: topic.id, partitions }]
}

async fn partitions_stay_in_the_session(lab: &Lab) -> Outcome {
    let first = lab.topic(1).await?;
    let second = lab.topic_beside(&first).await?;
    let member = lab.member(&lab.group().await?, &[&first, &second]).await?;
    let mut session = lab.session(&member, &[&first, &second]).await?;
    session.fetch().await?;
    for topic in [&first, &second, &first] {
        lab.produce(topic, 0, 3).await?;
        let count: i64 = session.acquire(3).await?.iter().map(|range| range.last - range.first + 1).sum();
        lab.check("how many records a fetch that names no partition acquires", count, 3)?;
    }
    Ok(())
}

async fn a_partition_that_is_named_later_is_added(lab: &Lab) -> Outcome {
    let first = lab.topic(1).await?;
    let second = lab.topic_beside(&first).await?;
    let member = lab.member(&lab.group().await?, &[&first, &second]).await?;
    let mut session = lab.session(&member, &[&first]).await?;
    session.fetch().await?;
    let adding = ShareFetchRequest { topics: named(&second, 0), ..session.request() };
    acquired(&session.fetch_as(&adding).await?)?;
    for topic in [&second, &first] {
        lab.produce(topic, 0, 2).await?;
        let count: i64 = session.acquire(2).await?.iter().map(|range| range.last - range.first + 1).sum();
        lab.check("how many records of the one and the other are acquired then", count, 2)?;
    }
    Ok(())
}

async fn a_session_may_begin_without_partitions(lab: &Lab) -> Outcome {
    let topic = lab.topic(1).await?;
    let member = lab.member(&lab.group().await?, &[&topic]).await?;
    lab.produce(&topic, 0, 2).await?;
    let mut session = lab.session(&member, &[&topic]).await?;
    let opening = ShareFetchRequest { topics: Vec::new(), ..session.request() };
    let opened = session.fetch_as(&opening).await?;
    lab.check("the error of a session without partitions", opened.error_code, ErrorCode::NONE)?;
    lab.check("what it acquires", acquired(&opened)?, Vec::new())?;
    let adding = ShareFetchRequest { topics: named(&topic, 0), ..session.request() };
    let at_once = offsets(&acquired(&session.fetch_as(&adding).await?)?);
    // What the fetch that adds it leaves comes with the next ones.
    let left = 2 - at_once.len() as i64;
    let later = if left > 0 { offsets(&session.acquire(left).await?) } else { BTreeSet::new() };
    let all: BTreeSet<i64> = at_once.union(&later).copied().collect();
    lab.check("offsets that are acquired from a partition that is added", all, BTreeSet::from([0, 1]))
}

async fn a_forgotten_partition_is_fetched_no_more(lab: &Lab) -> Outcome {
    let stays = lab.topic(1).await?;
    let goes = lab.topic_beside(&stays).await?;
    let member = lab.member(&lab.group().await?, &[&stays, &goes]).await?;
    let mut session = lab.session(&member, &[&stays, &goes]).await?;
    session.fetch().await?;
    lab.produce(&goes, 0, 3).await?;
    let forgotten = vec![ForgottenTopic { topic_id: goes.id, partitions: vec![0] }];
    let forgetting = ShareFetchRequest { forgotten_topics_data: forgotten, ..session.request() };
    let response = session.fetch_as(&forgetting).await?;
    lab.check("what the fetch that forgets acquires", acquired(&response)?, Vec::new())?;
    lab.check("what the next fetch acquires", session.fetch().await?, Vec::new())?;
    lab.produce(&stays, 0, 2).await?;
    let count: i64 = session.acquire(2).await?.iter().map(|range| range.last - range.first + 1).sum();
    lab.check("how many records of the other partition are acquired", count, 2)
}

async fn records_of_a_forgotten_partition_are_acknowledged(lab: &Lab) -> Outcome {
    let Held { topic, mut holder, other: _other, members: _members } = held(lab, 4).await?;
    let forgotten = vec![ForgottenTopic { topic_id: topic.id, partitions: vec![0] }];
    let forgetting = ShareFetchRequest { forgotten_topics_data: forgotten, ..holder.request() };
    acquired(&holder.fetch_as(&forgetting).await?)?;
    let taken = holder.acknowledge(&topic, 0, &[(0, 3, &[ACCEPT])]).await?;
    lab.check("the error of the acknowledgements", taken, ErrorCode::NONE)
}

async fn an_answer_leaves_out_partitions_without_anything(lab: &Lab) -> Outcome {
    let full = lab.topic(1).await?;
    let empty = lab.topic_beside(&full).await?;
    let member = lab.member(&lab.group().await?, &[&full, &empty]).await?;
    let mut session = lab.session(&member, &[&full, &empty]).await?;
    session.fetch().await?;
    let nothing = session.fetch_as(&session.request()).await?;
    let named = |response: &_| partitions(response).map(|partition| partition.partition_index).collect::<Vec<_>>();
    lab.check("the partitions of an answer with nothing", named(&nothing), Vec::new())?;
    lab.produce(&full, 0, 2).await?;
    let found = lab.eventually("records are acquired", async || {
        let response = session.fetch_as(&session.request()).await?;
        Ok((!acquired(&response)?.is_empty()).then_some(response))
    });
    let found = found.await?;
    let topics: Vec<_> = found.responses.iter().map(|topic| topic.topic_id).collect();
    lab.check("the topics of an answer with records of one", topics, vec![full.id])
}

/// Opens a session on a partition with two records and on one that is not there, and checks what comes of it.
async fn beside(lab: &Lab, topic: &Topic, missing: Vec<FetchTopic>, wanted: ErrorCode) -> Outcome {
    let member = lab.member(&lab.group().await?, &[topic]).await?;
    lab.produce(topic, 0, 2).await?;
    let mut session = lab.session(&member, &[topic]).await?;
    // One that is named beside the other of the same topic belongs into the same element.
    let mut topics = named(topic, 0);
    for more in missing {
        match topics.iter_mut().find(|known| known.topic_id == more.topic_id) {
            Some(known) => known.partitions.extend(more.partitions),
            None => topics.push(more),
        }
    }
    let mut request = ShareFetchRequest { topics, ..session.request() };
    let mut records = 0;
    let mut error = None;
    let may_fail = wanted == ErrorCode::UNKNOWN_TOPIC_ID;
    let found = lab.eventually("the error of the partition and the records of the other", async || {
        let response = session.fetch_as(&request).await?;
        if may_fail && lab.is_fault_of_authorizer(response.error_code) {
            return Ok(Some(response.error_code));
        }
        lab.granted("ShareFetch", response.error_code, response.error_message.as_deref())?;
        request = ShareFetchRequest { topics: Vec::new(), ..session.request() };
        records += partitions(&response)
            .flat_map(|partition| &partition.acquired_records)
            .map(|range| range.last_offset - range.first_offset + 1)
            .sum::<i64>();
        error = error.or(partitions(&response).map(|partition| partition.error_code).find(|code| !code.is_none()));
        Ok(error.filter(|_| records == 2))
    });
    match found.await? {
        code if may_fail && lab.is_fault_of_authorizer(code) => {
            lab.check("the error of the request", code, ErrorCode::UNKNOWN_SERVER_ERROR)
        }
        code => {
            lab.check("the error of the partition that is not there", code, wanted)?;
            lab.check("the records of the other partition", records, 2)
        }
    }
}

async fn an_unknown_topic_is_an_error_of_its_partitions(lab: &Lab) -> Outcome {
    let topic = lab.topic(1).await?;
    let missing = Topic { id: random_uuid(), ..topic.clone() };
    beside(lab, &topic, named(&missing, 0), ErrorCode::UNKNOWN_TOPIC_ID).await
}

async fn an_unknown_partition_is_an_error_of_its_own(lab: &Lab) -> Outcome {
    let topic = lab.topic(1).await?;
    beside(lab, &topic, named(&topic, 7), ErrorCode::UNKNOWN_TOPIC_OR_PARTITION).await
}

async fn a_topic_that_is_deleted_is_an_error_of_its_partitions(lab: &Lab) -> Outcome {
    let stays = lab.topic(1).await?;
    let goes = lab.topic_beside(&stays).await?;
    let member = lab.member(&lab.group().await?, &[&stays, &goes]).await?;
    let mut session = lab.session(&member, &[&stays, &goes]).await?;
    session.fetch().await?;
    let state = DeleteTopicState { name: Some(goes.name.clone()), ..Default::default() };
    let request = DeleteTopicsRequest { topics: vec![state], topic_names: vec![goes.name.clone()], timeout_ms: 20_000 };
    for done in lab.link().await?.unrecorded().call(&request).await?.responses {
        lab.granted("DeleteTopics", done.error_code, done.error_message.as_deref())?;
    }
    let error = lab.eventually("an error of the partition of the topic that was deleted", async || {
        let response = session.fetch_as(&session.request()).await?;
        lab.granted("ShareFetch", response.error_code, response.error_message.as_deref())?;
        let code = partitions(&response).map(|partition| partition.error_code).find(|code| !code.is_none());
        // While it is being deleted, nobody leads it.
        Ok(code.filter(|code| *code != ErrorCode::NOT_LEADER_OR_FOLLOWER))
    });
    let error = error.await?;
    let known = [ErrorCode::UNKNOWN_TOPIC_ID, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION];
    let wanted = "UNKNOWN_TOPIC_ID or UNKNOWN_TOPIC_OR_PARTITION";
    lab.check_that("the error of its partition", known.contains(&error), wanted, &error)?;
    lab.produce(&stays, 0, 2).await?;
    let mut count = 0;
    lab.eventually("the records of the other topic are acquired", async || {
        let response = session.fetch_as(&session.request()).await?;
        lab.granted("ShareFetch", response.error_code, response.error_message.as_deref())?;
        let ranges = partitions(&response).flat_map(|partition| &partition.acquired_records);
        count += ranges.map(|range| range.last_offset - range.first_offset + 1).sum::<i64>();
        Ok((count >= 2).then_some(()))
    })
    .await?;
    lab.check("the records of the other topic", count, 2)
}
