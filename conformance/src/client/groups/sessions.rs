//! Situations of share sessions.

use std::time::{Duration, Instant};

use ackflow_protocol::messages::share_acknowledge::ShareAcknowledgeRequest;
use ackflow_protocol::messages::share_fetch::ShareFetchRequest;
use ackflow_protocol::wire::{ApiKey, ErrorCode};
use ackflow_testkit::core::{FaultAction, FaultRule};

use crate::client::situation::situations;
use crate::client::stage::{Client, GROUP, Mode, Received, Requests, Stage, TOPIC, refuse};
use crate::stop::{Outcome, Stop};

situations! { Sessions;
    a_session_is_opened_with_epoch_0_and_goes_on_by_one:
        "The first request of a session has the epoch 0 and names its partitions; each later one, ShareFetch or ShareAcknowledge, has the next epoch.",
        "KIP-932, share sessions: ShareSessionEpoch";
    the_opening_of_a_session_acknowledges_nothing:
        "A request that opens a session carries no acknowledgements: nothing is acquired in it yet. What was undecided before a lost connection is not in it.",
        "KIP-932, ShareFetchRequest: INVALID_REQUEST for acknowledgements with the epoch 0";
    a_session_that_is_not_found_is_opened_again:
        "After SHARE_SESSION_NOT_FOUND the next ShareFetch opens a new session with the epoch 0 and all partitions, and records come.",
        "KIP-932, share sessions: SHARE_SESSION_NOT_FOUND";
    a_session_whose_epoch_is_refused_goes_on:
        "After INVALID_SHARE_SESSION_EPOCH of a ShareFetch the next one opens a new session with the epoch 0 and all partitions, or says the refused epoch once more; and records come.",
        "KIP-932, share sessions: INVALID_SHARE_SESSION_EPOCH",
        note "The epoch was right here. Kafka's client opens a new session, which gives up what is held; to say the same again finds out whether another process has the member id.";
    a_session_ends_with_its_connection:
        "After its connection is cut, a client opens a new session on a new connection; what it had acquired and not acknowledged comes again.",
        "KIP-932, share sessions: the session ends when its connection is closed";
    a_session_is_closed_with_epoch_minus_1:
        "A consumer that is closed closes its session with the epoch -1, before its connection ends, and sends nothing in it after that.",
        "KIP-932, share sessions: ShareSessionEpoch -1";
    a_partition_that_is_not_assigned_any_more_is_forgotten:
        "A partition of a topic that is subscribed to no more is taken out of the session, or the session is closed.",
        "KIP-932, ShareFetchRequest: ForgottenTopicsData";
    a_session_that_finds_no_room_is_asked_for_with_pauses:
        "While a broker has no room for its session, SHARE_SESSION_LIMIT_REACHED, a client asks again with pauses, not in a storm; once there is room, records come.",
        "KIP-932: SHARE_SESSION_LIMIT_REACHED is retriable";
    a_request_without_an_answer_is_not_repeated_at_once:
        "While a ShareFetch is not answered and request.timeout.ms not over, no other request of the session is sent, on no other connection either; then a new session is opened.",
        "KIP-932, share sessions: one request of a session at a time";
}

type Fetch = Received<ShareFetchRequest>;

/// Node, epoch and order of everything that is sent in sessions.
fn epochs(requests: &Requests) -> Vec<i32> {
    let fetches = requests.of::<ShareFetchRequest>().into_iter().map(|sent| (sent.at, sent.body.share_session_epoch));
    let others = requests.of::<ShareAcknowledgeRequest>().into_iter();
    let mut all: Vec<_> = fetches.chain(others.map(|sent| (sent.at, sent.body.share_session_epoch))).collect();
    all.sort_by_key(|(at, _)| *at);
    all.into_iter().map(|(_, epoch)| epoch).collect()
}

async fn fetches(stage: &Stage) -> Outcome<Vec<Fetch>> {
    Ok(stage.requests().await?.of::<ShareFetchRequest>())
}

fn partitions(fetch: &ShareFetchRequest) -> usize {
    fetch.topics.iter().map(|topic| topic.partitions.len()).sum()
}

fn acknowledges(fetch: &ShareFetchRequest) -> bool {
    let mut asked = fetch.topics.iter().flat_map(|topic| &topic.partitions);
    asked.any(|asked| !asked.acknowledgement_batches.is_empty())
}

async fn a_session_is_opened_with_epoch_0_and_goes_on_by_one(stage: &Stage) -> Outcome {
    stage.broker_with(|builder| builder.topic(TOPIC, 2)).await?;
    stage.produce(TOPIC, 0, 0..3).await?;
    let mut client = stage.subscribed(Mode::Explicit, &[]).await?;
    client.reads(3).await?;
    client.commits().await?;
    stage.produce(TOPIC, 1, 0..3).await?;
    client.reads(6).await?;
    client.commits().await?;
    client.goes_on_for(Duration::from_millis(500)).await?;
    let sent = epochs(&stage.requests().await?);
    let count = i32::try_from(sent.len()).unwrap_or_default();
    stage.expect_eq(sent, (0..count).collect::<Vec<_>>(), "the epochs of one session")?;
    let first = &fetches(stage).await?[0].body;
    stage.expect_eq(partitions(first), 2, "partitions of the request that opens it")?;
    stage.expect_eq(first.group_id.as_deref(), Some(GROUP), "its group")
}

async fn the_opening_of_a_session_acknowledges_nothing(stage: &Stage) -> Outcome {
    let broker = stage.broker().await?;
    stage.produce(TOPIC, 0, 0..3).await?;
    let mut client = stage.subscribed(Mode::Explicit, &[]).await?;
    client.first().await?;
    client.acknowledge_all("accept").await?;
    broker.disconnect_all().await?;
    client.goes_on_until("the records again", async || Ok(stage.lag().await? == Some(0))).await?;
    let sent = fetches(stage).await?;
    let opening: Vec<_> = sent.iter().filter(|sent| sent.body.share_session_epoch == 0).collect();
    stage.expect(opening.len() >= 2, "a second session", || format!("{}", opening.len()))?;
    let none = opening.iter().all(|sent| !acknowledges(&sent.body));
    stage.expect(none, "no acknowledgement with the epoch 0", || format!("{opening:?}"))
}

async fn a_session_whose_epoch_is_refused_goes_on(stage: &Stage) -> Outcome {
    let mut client = reads_from_two_partitions(stage).await?;
    let refused = Instant::now();
    stage.meets(&mut client, refuse(ApiKey::SHARE_FETCH, ErrorCode::INVALID_SHARE_SESSION_EPOCH), 1).await?;
    let later = async || stage.sent_since::<ShareFetchRequest>(refused).await;
    client.goes_on_until("a ShareFetch after that", async || Ok(later().await?.len() > 1)).await?;
    let sent = later().await?;
    let (old, next) = (sent[0].body.share_session_epoch, &sent[1].body);
    let goes_on = next.share_session_epoch == old || next.share_session_epoch == 0 && partitions(next) == 2;
    let told = || format!("{old}, then {next:?}");
    stage.expect(goes_on, "the same epoch again, or the epoch 0 and both partitions", told)?;
    stage.produce(TOPIC, 1, 0..3).await?;
    client.reads(6).await
}

async fn a_session_that_is_not_found_is_opened_again(stage: &Stage) -> Outcome {
    let mut client = reads_from_two_partitions(stage).await?;
    let refused = Instant::now();
    stage.meets(&mut client, refuse(ApiKey::SHARE_FETCH, ErrorCode::SHARE_SESSION_NOT_FOUND), 1).await?;
    let later = async || stage.sent_since::<ShareFetchRequest>(refused).await;
    let opens = async || Ok(later().await?.iter().any(|sent| sent.body.share_session_epoch == 0));
    client.goes_on_until("a ShareFetch with the epoch 0", opens).await?;
    let sent = later().await?;
    let opening: Vec<_> = sent.iter().filter(|sent| sent.body.share_session_epoch == 0).collect();
    stage.expect_eq(partitions(&opening[0].body), 2, "the partitions that it names")?;
    stage.produce(TOPIC, 1, 0..3).await?;
    client.reads(6).await
}

async fn reads_from_two_partitions(stage: &Stage) -> Outcome<Client<'_>> {
    stage.broker_with(|builder| builder.topic(TOPIC, 2)).await?;
    stage.produce(TOPIC, 0, 0..3).await?;
    let mut client = stage.subscribed(Mode::Implicit, &[]).await?;
    client.reads(3).await?;
    client.goes_on_until("that they are accepted", async || Ok(stage.lag().await? == Some(0))).await?;
    Ok(client)
}

async fn a_session_ends_with_its_connection(stage: &Stage) -> Outcome {
    let broker = stage.broker().await?;
    stage.produce(TOPIC, 0, 0..3).await?;
    let mut client = stage.subscribed(Mode::Explicit, &[]).await?;
    client.first().await?;
    let before = fetches(stage).await?;
    let cut = Instant::now();
    broker.disconnect_all().await?;
    // What was handed out before the cut has to be decided about for polls to go on.
    client.acknowledge_all("release").await?;
    let again = client.first().await?;
    stage.expect_eq(again.iter().map(|record| record.delivery_count).collect::<Vec<_>>(), [2; 3], "deliveries")?;
    let after = stage.sent_since::<ShareFetchRequest>(cut).await?;
    stage.expect_eq(after[0].body.share_session_epoch, 0, "the epoch of the first ShareFetch after the cut")?;
    let old = before[0].connection;
    stage.expect(after.iter().all(|sent| sent.connection != old), "another connection", || format!("{old:?}"))
}

async fn a_session_is_closed_with_epoch_minus_1(stage: &Stage) -> Outcome {
    stage.broker().await?;
    stage.produce(TOPIC, 0, 0..3).await?;
    let mut client = stage.subscribed(Mode::Explicit, &[]).await?;
    client.reads(3).await?;
    client.close().await?;
    let sent = epochs(&stage.requests().await?);
    stage.expect_eq(sent.last(), Some(&-1), "the epoch of the last request of the session")?;
    stage.expect_eq(sent.iter().filter(|epoch| **epoch == -1).count(), 1, "how often it is closed")
}

async fn a_partition_that_is_not_assigned_any_more_is_forgotten(stage: &Stage) -> Outcome {
    stage.broker_with(|builder| builder.topic(TOPIC, 1).topic("other", 1)).await?;
    stage.produce(TOPIC, 0, 0..3).await?;
    let mut client = stage.subscribed(Mode::Implicit, &[]).await?;
    client.reads(3).await?;
    let before = fetches(stage).await?;
    let topic_id = before[0].body.topics[0].topic_id;
    client.subscribe(&["other"]).await?;
    let forgets = async || {
        let sent = fetches(stage).await?;
        let forgotten =
            sent.iter().flat_map(|sent| &sent.body.forgotten_topics_data).any(|topic| topic.topic_id == topic_id);
        Ok(forgotten || epochs(&stage.requests().await?).contains(&-1))
    };
    client.goes_on_until("that the partition is forgotten or the session closed", forgets).await?;
    stage.produce("other", 0, 0..3).await?;
    client.reads(6).await?;
    stage.produce(TOPIC, 0, 3..6).await?;
    client.goes_on_for(Duration::from_secs(1)).await?;
    stage.expect_eq(client.seen.len(), 6, "no record of the topic before")
}

async fn a_session_that_finds_no_room_is_asked_for_with_pauses(stage: &Stage) -> Outcome {
    stage.broker_with(|builder| builder.topic(TOPIC, 1).config("group.share.max.share.sessions", "1")).await?;
    let mut first = stage.subscribed(Mode::Implicit, &[]).await?;
    first.goes_on_until("a session", async || Ok(!fetches(stage).await?.is_empty())).await?;
    let mut second = stage.subscribed(Mode::Implicit, &[]).await?;
    let member = fetches(stage).await?[0].body.member_id.clone();
    let of_second =
        async || Ok::<_, Stop>(fetches(stage).await?.iter().filter(|sent| sent.body.member_id != member).count());
    second.goes_on_until("a ShareFetch of the second member", async || Ok(of_second().await? > 0)).await?;
    let before = of_second().await?;
    second.goes_on_for(Duration::from_secs(3)).await?;
    let sent = of_second().await? - before;
    stage.expect((1..=60).contains(&sent), "ShareFetch again, at most 60 times in 3 s", || sent.to_string())?;
    first.close().await?;
    stage.produce(TOPIC, 0, 0..3).await?;
    second.reads(3).await
}

async fn a_request_without_an_answer_is_not_repeated_at_once(stage: &Stage) -> Outcome {
    stage.broker().await?;
    stage.produce(TOPIC, 0, 0..3).await?;
    let settings = [("request.timeout.ms", "3000"), ("fetch.max.wait.ms", "300")];
    let mut client = stage.subscribed(Mode::Implicit, &settings).await?;
    client.reads(3).await?;
    client.goes_on_until("that they are accepted", async || Ok(stage.lag().await? == Some(0))).await?;
    let unanswered = FaultRule::new(FaultAction::Ignore).api(ApiKey::SHARE_FETCH);
    let begin = Instant::now();
    stage.meets(&mut client, unanswered, 1).await?;
    stage.produce(TOPIC, 0, 3..6).await?;
    client.reads(6).await?;
    let sent = stage.sent_since::<ShareFetchRequest>(begin).await?;
    let waited = sent[1].at - sent[0].at;
    let long = waited >= Duration::from_millis(2500);
    stage.expect(long, "the next ShareFetch after request.timeout.ms, 3 s", || {
        format!("after {} ms", waited.as_millis())
    })?;
    stage.expect_eq(sent[1].body.share_session_epoch, 0, "its epoch")
}
