//! Situations of members.

use std::time::{Duration, Instant};

use ackflow_protocol::messages::find_coordinator::FindCoordinatorRequest;
use ackflow_protocol::messages::share_group_heartbeat::ShareGroupHeartbeatRequest;
use ackflow_protocol::wire::{ApiKey, ErrorCode};

use crate::client::situation::situations;
use crate::client::stage::{GROUP, Mode, Received, Stage, TOPIC, refuse};
use crate::stop::Outcome;

situations! { Membership;
    a_member_joins_with_epoch_0_and_an_id_of_its_own:
        "The first heartbeat has the member epoch 0, an id that the client has made, and all topics. The next ones have that id and the epoch that the broker gave.",
        "KIP-932, ShareGroupHeartbeatRequest: MemberEpoch, MemberId";
    two_members_have_different_ids:
        "Each consumer makes a member id of its own.",
        "KIP-932, ShareGroupHeartbeatRequest: MemberId";
    heartbeats_keep_the_interval_of_the_broker:
        "A member sends heartbeats at the interval that the answers name: not later, so that it is not put out, and not much more often.",
        "KIP-932, ShareGroupHeartbeatResponse: HeartbeatIntervalMs";
    heartbeats_say_topics_when_they_change:
        "After the first heartbeat topics are null, until the subscription changes; then the next one names all of them, and their records come.",
        "KIP-932, ShareGroupHeartbeatRequest: SubscribedTopicNames is null if it did not change";
    a_member_that_is_unknown_joins_again:
        "After UNKNOWN_MEMBER_ID the member joins again, with the epoch 0 and all topics, and goes on.",
        "KIP-932, ShareGroupHeartbeat: UNKNOWN_MEMBER_ID";
    a_member_that_is_fenced_joins_again:
        "After FENCED_MEMBER_EPOCH the member joins again, with the epoch 0 and all topics, and goes on.",
        "KIP-932, ShareGroupHeartbeat: FENCED_MEMBER_EPOCH";
    a_member_leaves_with_epoch_minus_1:
        "A consumer that is closed leaves its group with the member epoch -1, and sends no heartbeat after that.",
        "KIP-932, ShareGroupHeartbeatRequest: MemberEpoch -1";
    a_member_that_polls_too_rarely_leaves_and_comes_back:
        "A consumer that does not poll for max.poll.interval.ms leaves the group with the epoch -1, and joins again with the next poll.",
        "KafkaShareConsumer, detecting consumer failures: max.poll.interval.ms";
    another_coordinator_is_found:
        "After NOT_COORDINATOR the coordinator is asked for again, and heartbeats go to it.",
        "Kafka's protocol: NOT_COORDINATOR is retriable after FindCoordinator";
    a_coordinator_that_is_not_available_is_asked_for_again:
        "After COORDINATOR_NOT_AVAILABLE of a heartbeat the member finds its coordinator again, and goes on.",
        "Kafka's protocol: COORDINATOR_NOT_AVAILABLE is retriable";
    a_coordinator_that_is_loading_is_waited_for:
        "While heartbeats are answered with COORDINATOR_LOAD_IN_PROGRESS, they are repeated with pauses, not in a storm; then the member goes on.",
        "Kafka's protocol: COORDINATOR_LOAD_IN_PROGRESS is retriable; retry.backoff.ms";
    a_coordinator_that_nobody_knows_is_asked_for_with_pauses:
        "While FindCoordinator is answered with COORDINATOR_NOT_AVAILABLE, it is repeated with pauses, not in a storm; then the member joins.",
        "Kafka's protocol: COORDINATOR_NOT_AVAILABLE is retriable; retry.backoff.ms";
    a_group_that_is_not_allowed_is_told:
        "GROUP_AUTHORIZATION_FAILED of a heartbeat is told to the application, and heartbeats do not go on in a storm.",
        "KafkaShareConsumer.poll: AuthorizationException";
    a_group_that_is_full_is_told:
        "GROUP_MAX_SIZE_REACHED of a heartbeat is told to the application, and heartbeats do not go on in a storm.",
        "KIP-932, ShareGroupHeartbeat: GROUP_MAX_SIZE_REACHED";
}

type Heartbeat = Received<ShareGroupHeartbeatRequest>;

async fn heartbeats(stage: &Stage) -> Outcome<Vec<Heartbeat>> {
    Ok(stage.requests().await?.of::<ShareGroupHeartbeatRequest>())
}

async fn a_member_joins_with_epoch_0_and_an_id_of_its_own(stage: &Stage) -> Outcome {
    stage.broker().await?;
    let mut client = stage.subscribed(Mode::Implicit, &[]).await?;
    client.goes_on_until("three heartbeats", async || Ok(heartbeats(stage).await?.len() >= 3)).await?;
    let sent = heartbeats(stage).await?;
    let first = &sent[0].body;
    stage.expect_eq(first.member_epoch, 0, "the epoch of the first heartbeat")?;
    stage.expect_eq(first.group_id.as_str(), GROUP, "the group")?;
    stage.expect_eq(first.subscribed_topic_names.as_deref(), Some([TOPIC.to_owned()].as_slice()), "its topics")?;
    let length = first.member_id.chars().count();
    stage
        .expect((1..=36).contains(&length), "a member id of 1 to 36 characters", || format!("{:?}", first.member_id))?;
    let same = sent.iter().all(|sent| sent.body.member_id == first.member_id);
    stage.expect(same, "the same member id in each heartbeat", || format!("{:?}", ids(&sent)))?;
    let joined = sent[1..].iter().all(|sent| sent.body.member_epoch > 0);
    stage.expect(joined, "the epoch that the broker gave in the later ones", || format!("{:?}", epochs(&sent)))
}

async fn two_members_have_different_ids(stage: &Stage) -> Outcome {
    stage.broker().await?;
    let mut one = stage.subscribed(Mode::Implicit, &[]).await?;
    let mut other = stage.subscribed(Mode::Implicit, &[]).await?;
    one.goes_on_until("a heartbeat", async || Ok(!heartbeats(stage).await?.is_empty())).await?;
    let first = heartbeats(stage).await?[0].body.member_id.clone();
    let is_other = async || Ok(heartbeats(stage).await?.iter().any(|sent| sent.body.member_id != first));
    other.goes_on_until("a heartbeat of another member", is_other).await
}

async fn heartbeats_keep_the_interval_of_the_broker(stage: &Stage) -> Outcome {
    stage.broker_with(|builder| builder.topic(TOPIC, 1).config("group.share.heartbeat.interval.ms", "1000")).await?;
    let mut client = stage.subscribed(Mode::Implicit, &[]).await?;
    client.goes_on_until("a heartbeat", async || Ok(!heartbeats(stage).await?.is_empty())).await?;
    // Joining may take a heartbeat or two more.
    client.goes_on_for(Duration::from_secs(1)).await?;
    let begin = Instant::now();
    client.goes_on_for(Duration::from_secs(5)).await?;
    let sent = stage.requests().await?.since(begin).count(ApiKey::SHARE_GROUP_HEARTBEAT);
    stage.expect((3..=7).contains(&sent), "about 5 heartbeats in 5 s at an interval of 1 s", || sent.to_string())
}

async fn heartbeats_say_topics_when_they_change(stage: &Stage) -> Outcome {
    stage.broker_with(|builder| builder.topic(TOPIC, 1).topic("other", 1)).await?;
    stage.produce("other", 0, 0..3).await?;
    let mut client = stage.subscribed(Mode::Implicit, &[]).await?;
    client.goes_on_until("three heartbeats", async || Ok(heartbeats(stage).await?.len() >= 3)).await?;
    let later = heartbeats(stage).await?;
    let silent = later[1..].iter().all(|sent| sent.body.subscribed_topic_names.is_none());
    stage.expect(silent, "no topics in the heartbeats after the first one", || format!("{:?}", topics(&later)))?;
    let changed = Instant::now();
    client.subscribe(&[TOPIC, "other"]).await?;
    client.reads(3).await?;
    let mut named: Vec<_> =
        topics(&heartbeats(stage).await?.into_iter().filter(|sent| sent.at >= changed).collect::<Vec<_>>())
            .into_iter()
            .flatten()
            .collect();
    named.iter_mut().for_each(|names| names.sort());
    stage.expect_eq(named, [[TOPIC, "other"]], "after the change all topics, once")
}

async fn a_member_that_is_unknown_joins_again(stage: &Stage) -> Outcome {
    joins_again_after(stage, ErrorCode::UNKNOWN_MEMBER_ID).await
}

async fn a_member_that_is_fenced_joins_again(stage: &Stage) -> Outcome {
    joins_again_after(stage, ErrorCode::FENCED_MEMBER_EPOCH).await
}

async fn joins_again_after(stage: &Stage, code: ErrorCode) -> Outcome {
    stage.broker().await?;
    stage.produce(TOPIC, 0, 0..3).await?;
    let mut client = stage.subscribed(Mode::Implicit, &[]).await?;
    client.reads(3).await?;
    let refused = Instant::now();
    stage.meets(&mut client, refuse(ApiKey::SHARE_GROUP_HEARTBEAT, code), 1).await?;
    let later = async || stage.sent_since::<ShareGroupHeartbeatRequest>(refused).await;
    client.goes_on_until("two heartbeats after that", async || Ok(later().await?.len() > 2)).await?;
    let sent = later().await?;
    stage.expect_eq(epochs(&sent).iter().filter(|epoch| **epoch == 0).count(), 1, "how often it joins")?;
    let next = &sent[1].body;
    stage.expect_eq(next.member_epoch, 0, "the epoch of the heartbeat after the one that is refused")?;
    stage.expect_eq(next.subscribed_topic_names.as_deref(), Some([TOPIC.to_owned()].as_slice()), "its topics")?;
    stage.produce(TOPIC, 0, 3..6).await?;
    client.reads(6).await
}

async fn a_member_leaves_with_epoch_minus_1(stage: &Stage) -> Outcome {
    stage.broker().await?;
    let mut client = stage.subscribed(Mode::Implicit, &[]).await?;
    client.goes_on_until("two heartbeats", async || Ok(heartbeats(stage).await?.len() >= 2)).await?;
    client.close().await?;
    let sent = heartbeats(stage).await?;
    stage.expect_eq(epochs(&sent).last(), Some(&-1), "the epoch of the last heartbeat")?;
    stage.expect_eq(epochs(&sent).iter().filter(|epoch| **epoch == -1).count(), 1, "how often it leaves")
}

async fn a_member_that_polls_too_rarely_leaves_and_comes_back(stage: &Stage) -> Outcome {
    stage.broker().await?;
    stage.produce(TOPIC, 0, 0..3).await?;
    let mut client = stage.subscribed(Mode::Implicit, &[("max.poll.interval.ms", "1500")]).await?;
    client.reads(3).await?;
    let has_left = async || Ok(epochs(&heartbeats(stage).await?).contains(&-1));
    stage.eventually("a heartbeat with the epoch -1", has_left).await?;
    let left = heartbeats(stage).await?.len();
    stage.produce(TOPIC, 0, 3..6).await?;
    // What was handed out may have come back to the group.
    client.goes_on_until("the records after that", async || Ok(stage.lag().await? == Some(0))).await?;
    stage.expect_eq(heartbeats(stage).await?[left..].first().map(|sent| sent.body.member_epoch), Some(0), "it joins")
}

async fn another_coordinator_is_found(stage: &Stage) -> Outcome {
    let broker = stage.broker_with(|builder| builder.nodes(2).topic(TOPIC, 1)).await?;
    let mut client = stage.subscribed(Mode::Implicit, &[]).await?;
    client.goes_on_until("a heartbeat", async || Ok(!heartbeats(stage).await?.is_empty())).await?;
    let old = heartbeats(stage).await?[0].node;
    let moved = Instant::now();
    broker.move_coordinator(GROUP, 3 - old).await?;
    let reached = async || {
        let sent = heartbeats(stage).await?;
        Ok(sent.iter().any(|sent| sent.node != old && sent.body.member_epoch > 0))
    };
    client.goes_on_until("heartbeats at the new coordinator", reached).await?;
    let requests = stage.requests().await?.since(moved);
    stage.expect(!requests.of::<FindCoordinatorRequest>().is_empty(), "the coordinator is asked for", String::new)?;
    let late = requests.to_node(old).count(ApiKey::SHARE_GROUP_HEARTBEAT);
    stage.expect(late <= 3, "at most 3 heartbeats to the old coordinator", || late.to_string())
}

async fn a_coordinator_that_is_not_available_is_asked_for_again(stage: &Stage) -> Outcome {
    stage.broker().await?;
    let mut client = stage.subscribed(Mode::Implicit, &[]).await?;
    client.goes_on_until("two heartbeats", async || Ok(heartbeats(stage).await?.len() >= 2)).await?;
    let asked = stage.requests().await?.count(ApiKey::FIND_COORDINATOR);
    let rule = refuse(ApiKey::SHARE_GROUP_HEARTBEAT, ErrorCode::COORDINATOR_NOT_AVAILABLE);
    stage.meets(&mut client, rule, 1).await?;
    let finds = async || Ok(stage.requests().await?.count(ApiKey::FIND_COORDINATOR) > asked);
    client.goes_on_until("FindCoordinator", finds).await?;
    stage.produce(TOPIC, 0, 0..3).await?;
    client.reads(3).await
}

async fn a_coordinator_that_is_loading_is_waited_for(stage: &Stage) -> Outcome {
    stage.broker().await?;
    stage.produce(TOPIC, 0, 0..3).await?;
    stage.fault(refuse(ApiKey::SHARE_GROUP_HEARTBEAT, ErrorCode::COORDINATOR_LOAD_IN_PROGRESS)).await?;
    let mut client = stage.subscribed(Mode::Implicit, &[]).await?;
    no_storm_of(stage, &mut client, ApiKey::SHARE_GROUP_HEARTBEAT).await?;
    stage.clear_faults().await?;
    client.reads(3).await
}

async fn a_coordinator_that_nobody_knows_is_asked_for_with_pauses(stage: &Stage) -> Outcome {
    stage.broker().await?;
    stage.produce(TOPIC, 0, 0..3).await?;
    stage.fault(refuse(ApiKey::FIND_COORDINATOR, ErrorCode::COORDINATOR_NOT_AVAILABLE)).await?;
    let mut client = stage.subscribed(Mode::Implicit, &[]).await?;
    no_storm_of(stage, &mut client, ApiKey::FIND_COORDINATOR).await?;
    stage.clear_faults().await?;
    client.reads(3).await
}

async fn no_storm_of(stage: &Stage, client: &mut crate::client::stage::Client<'_>, api: ApiKey) -> Outcome {
    client.goes_on_until(&format!("{api}"), async || Ok(stage.requests().await?.count(api) > 0)).await?;
    let begin = Instant::now();
    client.goes_on_for(Duration::from_secs(3)).await?;
    let sent = stage.requests().await?.since(begin).count(api);
    stage.expect((1..=45).contains(&sent), &format!("{api} again, at most 45 times in 3 s"), || sent.to_string())
}

async fn a_group_that_is_not_allowed_is_told(stage: &Stage) -> Outcome {
    is_told(stage, ErrorCode::GROUP_AUTHORIZATION_FAILED, "GROUP_AUTHORIZATION_FAILED").await
}

async fn a_group_that_is_full_is_told(stage: &Stage) -> Outcome {
    is_told(stage, ErrorCode::GROUP_MAX_SIZE_REACHED, "GROUP_MAX_SIZE_REACHED").await
}

async fn is_told(stage: &Stage, code: ErrorCode, name: &str) -> Outcome {
    stage.broker().await?;
    stage.fault(refuse(ApiKey::SHARE_GROUP_HEARTBEAT, code)).await?;
    let mut client = stage.subscribed(Mode::Implicit, &[]).await?;
    let begin = Instant::now();
    while !client.was_told(name) && begin.elapsed() < Duration::from_secs(15) {
        client.goes_on_for(Duration::from_millis(100)).await?;
    }
    stage
        .expect(client.was_told(name), &format!("a poll that fails with {name}"), || format!("{:?}", client.errors))?;
    let begin = Instant::now();
    client.goes_on_for(Duration::from_secs(2)).await?;
    let sent = stage.requests().await?.since(begin).count(ApiKey::SHARE_GROUP_HEARTBEAT);
    stage.expect(sent <= 30, "at most 30 heartbeats in the 2 s after that", || sent.to_string())
}

fn epochs(sent: &[Heartbeat]) -> Vec<i32> {
    sent.iter().map(|sent| sent.body.member_epoch).collect()
}

fn ids(sent: &[Heartbeat]) -> Vec<&str> {
    sent.iter().map(|sent| sent.body.member_id.as_str()).collect()
}

fn topics(sent: &[Heartbeat]) -> Vec<Option<Vec<String>>> {
    sent.iter().map(|sent| sent.body.subscribed_topic_names.clone()).collect()
}
