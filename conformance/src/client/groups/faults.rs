//! Situations of errors, lost connections, and answers that no broker should give.

use std::time::{Duration, Instant};

use ackflow_protocol::wire::{ApiKey, ErrorCode};
use ackflow_testkit::core::{FaultAction, FaultRule, Spoil};

use crate::client::situation::situations;
use crate::client::stage::{Client, Mode, Stage, TOPIC, offsets, refuse};
use crate::stop::Outcome;

situations! { Faults;
    an_unknown_error_of_a_heartbeat_is_no_storm:
        "An error code that the client does not know, as the answer to every heartbeat, is told to the application or retried with pauses. Nothing hangs, and requests do not come in a storm.",
        "Kafka's protocol: unknown codes are UNKNOWN_SERVER_ERROR";
    an_unknown_error_of_a_fetch_is_no_storm:
        "An error code that the client does not know, as the answer to every ShareFetch, leads neither to a hang nor to a storm; when it is over, records come, or the application was told.",
        "Kafka's protocol: unknown codes are UNKNOWN_SERVER_ERROR";
    an_unknown_error_of_a_partition_is_no_storm:
        "The same as the error of a partition.",
        "Kafka's protocol: unknown codes are UNKNOWN_SERVER_ERROR";
    a_passing_error_of_a_partition_is_retried_with_pauses:
        "KAFKA_STORAGE_ERROR of a partition is retried, at most as often as idle fetches go round; then records come.",
        "Kafka's protocol: retriable errors; retry.backoff.ms";
    a_topic_that_is_not_allowed_is_told:
        "TOPIC_AUTHORIZATION_FAILED of a partition is told to the application.",
        "KafkaShareConsumer.poll: TopicAuthorizationException";
    a_partition_that_stands_twice_in_an_answer_is_handed_out_once:
        "Where a partition stands twice in an answer to ShareFetch, its records are handed out once, or the answer is refused; nothing is acknowledged twice in one request.",
        "KIP-932, ShareFetchResponse: a partition stands in an answer once";
    a_range_that_is_acquired_twice_is_handed_out_once:
        "Where an acquired range stands twice in an answer, its records are handed out once.",
        "KIP-932, ShareFetchResponse: AcquiredRecords";
    a_partition_that_nobody_asked_for_is_not_handed_out:
        "A partition of an answer that is not in the session is left out; the others are handed out.",
        "KIP-932, ShareFetchResponse";
    null_records_are_no_records:
        "Null instead of empty records, of a partition that has none, is taken for none: later records come.",
        "ShareFetchResponse.json: Records are nullable in version 0 alone",
        note "Some brokers write null. A client that does not read it must at least tell the application, and not hang.";
    an_answer_to_another_request_is_not_taken:
        "An answer with the correlation id of another request is not taken for the one that is waited for: the connection is given up, or the answer dropped, and records come at last.",
        "Kafka's protocol: correlation ids";
    an_answer_that_cannot_be_read_is_survived:
        "An answer that cannot be read leads to another request or to an error, not to a hang; records come at last, or the application was told.",
        "Kafka's protocol: message formats";
    an_answer_that_is_cut_is_survived:
        "An answer of which only the first half comes before the connection is cut is dropped; its records come again.",
        "Kafka's protocol: message framing";
    a_request_whose_answer_is_lost_is_survived:
        "When the connection is cut before a ShareFetch is answered, a new session is opened and its records come.",
        "KIP-932, share sessions";
    an_unknown_tagged_field_is_skipped:
        "Tagged fields that the client does not know, in any answer, are skipped.",
        "KIP-482, tagged fields";
    a_commit_whose_answer_is_lost_is_told:
        "When the connection is cut in place of the answer to an acknowledgement, the commit says that it may have failed, or that it worked; it does not hang.",
        "KafkaShareConsumer.commitSync";
}

/// A client may take what it cannot match for no answer, and wait until request.timeout.ms is over.
const QUICK: [(&str, &str); 1] = [("request.timeout.ms", "5000")];

/// A code that no Kafka has.
const UNKNOWN: ErrorCode = ErrorCode(999);

/// Goes on while everything of an API fails, and looks how much is sent.
async fn no_storm(stage: &Stage, client: &mut Client<'_>, api: ApiKey, limit: usize) -> Outcome {
    let begun = async || Ok(stage.requests().await?.count(api) > 0);
    client.goes_on_until(&format!("{api}"), begun).await?;
    let begin = Instant::now();
    client.goes_on_for(Duration::from_secs(3)).await?;
    let sent = stage.requests().await?.since(begin).len();
    stage.expect(sent <= limit, &format!("at most {limit} requests of any kind in 3 s"), || sent.to_string())
}

/// Records come now, or an error has told why not.
async fn comes_or_is_told(stage: &Stage, client: &mut Client<'_>, records: usize) -> Outcome {
    if !client.errors.is_empty() {
        stage.expect(true, "the application was told", String::new)?;
        return client.goes_on_for(Duration::from_millis(200)).await;
    }
    client.reads(records).await
}

async fn an_unknown_error_of_a_heartbeat_is_no_storm(stage: &Stage) -> Outcome {
    stage.broker().await?;
    stage.produce(TOPIC, 0, 0..3).await?;
    stage.fault(refuse(ApiKey::SHARE_GROUP_HEARTBEAT, UNKNOWN)).await?;
    let mut client = stage.subscribed(Mode::Implicit, &[]).await?;
    no_storm(stage, &mut client, ApiKey::SHARE_GROUP_HEARTBEAT, 90).await?;
    stage.clear_faults().await?;
    comes_or_is_told(stage, &mut client, 3).await
}

async fn an_unknown_error_of_a_fetch_is_no_storm(stage: &Stage) -> Outcome {
    unknown_error(stage, FaultAction::Refuse(UNKNOWN)).await
}

async fn an_unknown_error_of_a_partition_is_no_storm(stage: &Stage) -> Outcome {
    unknown_error(stage, FaultAction::RefusePartitions(UNKNOWN)).await
}

async fn unknown_error(stage: &Stage, action: FaultAction) -> Outcome {
    stage.broker().await?;
    stage.produce(TOPIC, 0, 0..3).await?;
    stage.fault(FaultRule::new(action).api(ApiKey::SHARE_FETCH)).await?;
    let mut client = stage.subscribed(Mode::Implicit, &[]).await?;
    no_storm(stage, &mut client, ApiKey::SHARE_FETCH, 150).await?;
    stage.clear_faults().await?;
    comes_or_is_told(stage, &mut client, 3).await
}

async fn a_passing_error_of_a_partition_is_retried_with_pauses(stage: &Stage) -> Outcome {
    stage.broker().await?;
    stage.produce(TOPIC, 0, 0..3).await?;
    let action = FaultAction::RefusePartitions(ErrorCode::KAFKA_STORAGE_ERROR);
    stage.fault(FaultRule::new(action).api(ApiKey::SHARE_FETCH)).await?;
    let mut client = stage.subscribed(Mode::Implicit, &[]).await?;
    no_storm(stage, &mut client, ApiKey::SHARE_FETCH, 150).await?;
    stage.clear_faults().await?;
    client.reads(3).await
}

async fn a_topic_that_is_not_allowed_is_told(stage: &Stage) -> Outcome {
    stage.broker().await?;
    let action = FaultAction::RefusePartitions(ErrorCode::TOPIC_AUTHORIZATION_FAILED);
    stage.fault(FaultRule::new(action).api(ApiKey::SHARE_FETCH)).await?;
    let mut client = stage.subscribed(Mode::Implicit, &[]).await?;
    let begin = Instant::now();
    while client.errors.is_empty() && begin.elapsed() < Duration::from_secs(15) {
        client.goes_on_for(Duration::from_millis(100)).await?;
    }
    let told = client.was_told("TOPIC_AUTHORIZATION_FAILED");
    stage.expect(told, "a poll that fails with TOPIC_AUTHORIZATION_FAILED", || format!("{:?}", client.errors))
}

/// The first answer with records is spoiled; everything is accepted at last, and each record was handed out this often.
async fn spoiled_once(stage: &Stage, spoil: Spoil) -> Outcome<Vec<i64>> {
    stage
        .broker_with(|builder| {
            builder.topic(TOPIC, 1).group_config(crate::client::stage::GROUP, "share.record.lock.duration.ms", "2000")
        })
        .await?;
    stage.produce(TOPIC, 0, 0..4).await?;
    let rule = FaultRule::new(FaultAction::Spoil(spoil)).api(ApiKey::SHARE_FETCH);
    let id = stage.fault(rule.times(1)).await?;
    let mut client = stage.subscribed(Mode::Implicit, &QUICK).await?;
    stage.has_met(&mut client, id, 1).await?;
    client.goes_on_until("a lag of 0", async || Ok(stage.lag().await? == Some(0))).await?;
    let first: Vec<_> = client.seen.iter().filter(|record| record.delivery_count == 1).cloned().collect();
    let strange = client.seen.iter().any(|record| record.partition != 0);
    stage.expect(!strange, "records of partition 0 alone", || format!("{:?}", client.seen))?;
    Ok(offsets(&first))
}

async fn a_partition_that_stands_twice_in_an_answer_is_handed_out_once(stage: &Stage) -> Outcome {
    let first = spoiled_once(stage, Spoil::PartitionsTwice).await?;
    stage.expect(first.is_empty() || first == [0, 1, 2, 3], "each record at most once a delivery", || {
        format!("{first:?}")
    })?;
    for sent in stage.requests().await?.of::<ackflow_protocol::messages::share_fetch::ShareFetchRequest>() {
        for asked in sent.body.topics.iter().flat_map(|topic| &topic.partitions) {
            let ordered =
                asked.acknowledgement_batches.windows(2).all(|pair| pair[0].last_offset < pair[1].first_offset);
            stage.expect(ordered, "no offset twice in one request", || format!("{asked:?}"))?;
        }
    }
    Ok(())
}

async fn a_range_that_is_acquired_twice_is_handed_out_once(stage: &Stage) -> Outcome {
    let first = spoiled_once(stage, Spoil::AcquiredTwice).await?;
    stage.expect(first.is_empty() || first == [0, 1, 2, 3], "each record at most once a delivery", || {
        format!("{first:?}")
    })
}

async fn a_partition_that_nobody_asked_for_is_not_handed_out(stage: &Stage) -> Outcome {
    let first = spoiled_once(stage, Spoil::StrangePartition).await?;
    stage.expect_eq(first, [0, 1, 2, 3], "the records of the other one")
}

async fn null_records_are_no_records(stage: &Stage) -> Outcome {
    stage.broker().await?;
    let rule = FaultRule::new(FaultAction::Spoil(Spoil::NullRecords)).api(ApiKey::SHARE_FETCH);
    let id = stage.fault(rule.times(1)).await?;
    let mut client = stage.subscribed(Mode::Implicit, &[]).await?;
    stage.has_met(&mut client, id, 1).await?;
    stage.produce(TOPIC, 0, 0..3).await?;
    client.reads(3).await
}

async fn an_answer_to_another_request_is_not_taken(stage: &Stage) -> Outcome {
    spoiled_once(stage, Spoil::OtherCorrelationId).await.map(drop)
}

async fn an_answer_that_cannot_be_read_is_survived(stage: &Stage) -> Outcome {
    stage.broker().await?;
    stage.produce(TOPIC, 0, 0..4).await?;
    let rule = FaultRule::new(FaultAction::Spoil(Spoil::Unreadable)).api(ApiKey::SHARE_FETCH);
    let id = stage.fault(rule.times(1)).await?;
    let mut client = stage.subscribed(Mode::Implicit, &QUICK).await?;
    stage.has_met(&mut client, id, 1).await?;
    client.goes_on_for(Duration::from_secs(1)).await?;
    comes_or_is_told(stage, &mut client, 4).await
}

async fn an_answer_that_is_cut_is_survived(stage: &Stage) -> Outcome {
    lost_once(stage, FaultAction::CutHalfway).await
}

async fn a_request_whose_answer_is_lost_is_survived(stage: &Stage) -> Outcome {
    lost_once(stage, FaultAction::CutAfter).await
}

async fn lost_once(stage: &Stage, action: FaultAction) -> Outcome {
    stage.broker().await?;
    stage.produce(TOPIC, 0, 0..4).await?;
    stage.fault(FaultRule::new(action).api(ApiKey::SHARE_FETCH).times(1)).await?;
    let mut client = stage.subscribed(Mode::Implicit, &QUICK).await?;
    client.reads(4).await?;
    stage.expect_eq(offsets(&client.seen), [0, 1, 2, 3], "the records, once")?;
    let counts: Vec<_> = client.seen.iter().map(|record| record.delivery_count).collect();
    stage.expect_eq(counts, [2; 4], "their delivery counts")?;
    client.goes_on_until("a lag of 0", async || Ok(stage.lag().await? == Some(0))).await
}

async fn an_unknown_tagged_field_is_skipped(stage: &Stage) -> Outcome {
    stage.broker().await?;
    stage.produce(TOPIC, 0, 0..4).await?;
    stage.fault(FaultRule::new(FaultAction::Spoil(Spoil::UnknownTag))).await?;
    let mut client = stage.subscribed(Mode::Explicit, &[]).await?;
    client.reads(4).await?;
    client.commits().await?;
    stage.lag_comes_to(0).await?;
    stage.expect(client.errors.is_empty(), "no error", || format!("{:?}", client.errors))
}

async fn a_commit_whose_answer_is_lost_is_told(stage: &Stage) -> Outcome {
    stage.broker().await?;
    stage.produce(TOPIC, 0, 0..3).await?;
    let mut client = stage.subscribed(Mode::Explicit, &[]).await?;
    client.first().await?;
    client.acknowledge_all("accept").await?;
    for api in [ApiKey::SHARE_ACKNOWLEDGE, ApiKey::SHARE_FETCH] {
        stage.fault(FaultRule::new(FaultAction::CutAfter).api(api).times(1)).await?;
    }
    let begin = Instant::now();
    let told = client.commit().await?;
    let in_time = begin.elapsed() < Duration::from_secs(9);
    stage.expect(in_time, "a commit that ends before its timeout of 10 s", || format!("{told:?}"))?;
    stage.clear_faults().await?;
    stage.produce(TOPIC, 0, 3..6).await?;
    client.goes_on_until("a lag of 0", async || Ok(stage.lag().await? == Some(0))).await
}
