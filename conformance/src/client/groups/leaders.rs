//! Situations of leaders, topics and partitions that come, move and go.

use std::time::{Duration, Instant};

use ackflow_protocol::messages::share_fetch::ShareFetchRequest;
use ackflow_protocol::wire::{ApiKey, Uuid};
use ackflow_testkit::EmbeddedBroker;

use crate::client::situation::situations;
use crate::client::stage::{Mode, Stage, TOPIC, offsets};
use crate::stop::{Outcome, Stop};

situations! { Leaders;
    a_moved_leader_is_followed:
        "After NOT_LEADER_OR_FOLLOWER the client opens a session at the new leader, which the answer names, and records come from there.",
        "KIP-932, ShareFetchResponse: CurrentLeader, NodeEndpoints";
    acknowledgements_do_not_move_to_another_leader:
        "What was acquired at the old leader is not acknowledged at the new one, which knows nothing of it: the application is told that it failed, and the records come again.",
        "KIP-932, leader changes; ShareConsumer 4.4.0: NOT_LEADER_OR_FOLLOWER is final for acknowledgements";
    a_broker_that_dies_is_left:
        "When a broker dies, its partitions are consumed from their new leaders, and its group is met at its new coordinator.",
        "Kafka's protocol: metadata after a lost connection";
    a_broker_that_restarts_is_met_again:
        "When the only broker dies and starts again, the client joins and consumes again, without a storm of requests at the start.",
        "Kafka's protocol: reconnect.backoff.ms, retry.backoff.ms";
    a_new_partition_is_consumed:
        "A partition that is added to the topic is consumed once it is assigned.",
        "KIP-932, ShareGroupHeartbeatResponse: Assignment; Metadata";
    a_topic_that_comes_later_is_consumed:
        "A topic that is subscribed to before it exists is consumed once it does.",
        "KIP-932, ShareGroupHeartbeat: unknown topics are no error";
    a_deleted_topic_does_not_stop_others:
        "When one of two topics is deleted the other one is consumed on, and requests do not come in a storm.",
        "Kafka's protocol: UNKNOWN_TOPIC_OR_PARTITION, UNKNOWN_TOPIC_ID";
    a_topic_that_is_made_again_is_another_topic:
        "A topic that is deleted and made again under its name is consumed under its new id.",
        "KIP-516, topic ids";
    without_a_leader_metadata_is_asked_for_with_pauses:
        "While a partition has no leader, metadata is asked for again and again with pauses, not in a storm; other partitions are consumed on.",
        "Kafka's protocol: LEADER_NOT_AVAILABLE; retry.backoff.ms";
}

/// Nodes that ShareFetch was sent to with a partition of this topic, since an instant.
async fn opened_at(stage: &Stage, then: Instant) -> Outcome<Vec<i32>> {
    let sent = stage.sent_since::<ShareFetchRequest>(then).await?;
    Ok(sent.iter().filter(|sent| sent.body.share_session_epoch == 0).map(|sent| sent.node).collect())
}

async fn leader(broker: &EmbeddedBroker, partition: i32) -> Outcome<i32> {
    broker.leader(TOPIC, partition).await?.ok_or_else(|| Stop::failed("a leader", "none"))
}

async fn a_moved_leader_is_followed(stage: &Stage) -> Outcome {
    let broker = stage.broker_with(|builder| builder.nodes(2).topic(TOPIC, 1)).await?;
    stage.produce(TOPIC, 0, 0..3).await?;
    let mut client = stage.subscribed(Mode::Implicit, &[]).await?;
    client.reads(3).await?;
    client.goes_on_until("a lag of 0", async || Ok(stage.lag().await? == Some(0))).await?;
    let old = leader(broker, 0).await?;
    let moved = Instant::now();
    broker.move_leader(TOPIC, 0, 3 - old).await?;
    stage.produce(TOPIC, 0, 3..6).await?;
    client.reads(6).await?;
    stage.expect_eq(opened_at(stage, moved).await?.contains(&(3 - old)), true, "a session at the new leader")?;
    stage.expect_eq(offsets(&client.seen[3..]), [3, 4, 5], "the records after the move")
}

async fn acknowledgements_do_not_move_to_another_leader(stage: &Stage) -> Outcome {
    let broker = stage.broker_with(|builder| builder.nodes(2).topic(TOPIC, 1)).await?;
    stage.produce(TOPIC, 0, 0..3).await?;
    let mut client = stage.subscribed(Mode::Explicit, &[]).await?;
    client.first().await?;
    let old = leader(broker, 0).await?;
    broker.move_leader(TOPIC, 0, 3 - old).await?;
    client.acknowledge_all("accept").await?;
    let failed = client.commit().await?;
    stage.expect(!failed.is_empty(), "a commit that tells of the failure", || format!("{failed:?}"))?;
    let wrong = stage.requests().await?.to_node(3 - old).acknowledged();
    stage.expect(wrong.is_empty(), "no acknowledgement at the new leader yet", || format!("{wrong:?}"))?;
    let again = client.first().await?;
    stage.expect_eq(offsets(&again), [0, 1, 2], "what comes again")?;
    client.acknowledge_all("accept").await?;
    client.commits().await?;
    stage.lag_comes_to(0).await
}

async fn a_broker_that_dies_is_left(stage: &Stage) -> Outcome {
    let broker = stage.broker_with(|builder| builder.nodes(3).topic(TOPIC, 3)).await?;
    let mut client = stage.subscribed(Mode::Implicit, &[]).await?;
    for partition in 0..3 {
        stage.produce(TOPIC, partition, 0..3).await?;
    }
    client.reads(9).await?;
    let dead = broker.coordinator(crate::client::stage::GROUP).await?.unwrap_or(1);
    broker.kill_node(dead, Duration::from_millis(500)).await?;
    // While nobody leads them nothing can be produced.
    for partition in 0..3 {
        stage
            .eventually("another leader", async || {
                Ok(broker.leader(TOPIC, partition).await?.is_some_and(|leader| leader != dead))
            })
            .await?;
        stage.produce(TOPIC, partition, 3..6).await?;
    }
    let all = |client: &crate::client::stage::Client<'_>| {
        let mut seen: Vec<_> = client.seen.iter().map(|record| (record.partition, record.offset)).collect();
        seen.sort_unstable();
        seen.dedup();
        seen.len() == 18
    };
    let begin = Instant::now();
    while !all(&client) && begin.elapsed() < crate::client::stage::PATIENCE {
        client.goes_on_for(Duration::from_millis(200)).await?;
    }
    stage.expect(all(&client), "every record of every partition", || format!("{:?}", client.seen))
}

async fn a_broker_that_restarts_is_met_again(stage: &Stage) -> Outcome {
    let broker = stage.broker().await?;
    stage.produce(TOPIC, 0, 0..3).await?;
    let mut client = stage.subscribed(Mode::Implicit, &[]).await?;
    client.reads(3).await?;
    client.goes_on_until("a lag of 0", async || Ok(stage.lag().await? == Some(0))).await?;
    broker.kill_node(1, Duration::from_millis(200)).await?;
    client.goes_on_for(Duration::from_secs(2)).await?;
    let begin = Instant::now();
    broker.start_node(1).await?;
    stage.eventually("a leader", async || Ok(broker.leader(TOPIC, 0).await?.is_some())).await?;
    stage.produce(TOPIC, 0, 3..6).await?;
    client.reads(6).await?;
    let sent = stage.requests().await?.since(begin);
    let seconds = usize::try_from(begin.elapsed().as_secs()).unwrap_or_default() + 1;
    let limit = 80 * seconds;
    stage.expect(sent.len() <= limit, &format!("at most {limit} requests until then"), || sent.len().to_string())
}

async fn a_new_partition_is_consumed(stage: &Stage) -> Outcome {
    let broker = stage.broker().await?;
    stage.produce(TOPIC, 0, 0..3).await?;
    let settings = [("metadata.max.age.ms", "2000")];
    let mut client = stage.subscribed(Mode::Implicit, &settings).await?;
    client.reads(3).await?;
    broker.create_partitions(TOPIC, 2).await?;
    stage.produce(TOPIC, 1, 0..3).await?;
    client.reads(6).await?;
    let of_new = client.seen.iter().filter(|record| record.partition == 1).count();
    stage.expect_eq(of_new, 3, "records of the new partition")
}

async fn a_topic_that_comes_later_is_consumed(stage: &Stage) -> Outcome {
    let broker = stage.broker_with(|builder| builder.config("auto.create.topics.enable", "false")).await?;
    let settings = [("metadata.max.age.ms", "2000")];
    let mut client = stage.subscribed(Mode::Implicit, &settings).await?;
    client.goes_on_for(Duration::from_millis(700)).await?;
    broker.create_topic(TOPIC, 1).await?;
    stage.produce(TOPIC, 0, 0..3).await?;
    client.reads(3).await
}

async fn a_deleted_topic_does_not_stop_others(stage: &Stage) -> Outcome {
    let broker = stage
        .broker_with(|builder| builder.topic(TOPIC, 1).topic("other", 1).config("auto.create.topics.enable", "false"));
    let broker = broker.await?;
    stage.produce(TOPIC, 0, 0..3).await?;
    stage.produce("other", 0, 0..3).await?;
    let mut client = stage.client(Mode::Implicit).await?;
    client.subscribe(&[TOPIC, "other"]).await?;
    client.reads(6).await?;
    broker.delete_topic("other").await?;
    let begin = Instant::now();
    client.goes_on_for(Duration::from_secs(2)).await?;
    let sent = stage.requests().await?.since(begin);
    stage.expect(sent.len() <= 160, "at most 160 requests in the 2 s after that", || sent.len().to_string())?;
    stage.produce(TOPIC, 0, 3..6).await?;
    client.reads(9).await
}

async fn a_topic_that_is_made_again_is_another_topic(stage: &Stage) -> Outcome {
    let broker =
        stage.broker_with(|builder| builder.topic(TOPIC, 1).config("auto.create.topics.enable", "false")).await?;
    stage.produce(TOPIC, 0, 0..3).await?;
    let settings = [("metadata.max.age.ms", "2000")];
    let mut client = stage.subscribed(Mode::Implicit, &settings).await?;
    client.reads(3).await?;
    client.goes_on_until("a lag of 0", async || Ok(stage.lag().await? == Some(0))).await?;
    let id = first_topic(stage).await?;
    broker.delete_topic(TOPIC).await?;
    broker.create_topic(TOPIC, 1).await?;
    let begin = Instant::now();
    stage.produce(TOPIC, 0, 0..4).await?;
    client.reads(7).await?;
    let later = stage.sent_since::<ShareFetchRequest>(begin).await?;
    let ids: Vec<_> = later.iter().flat_map(|sent| &sent.body.topics).map(|topic| topic.topic_id).collect();
    stage.expect(ids.iter().any(|later| *later != id), "a ShareFetch with another topic id", || format!("{ids:?}"))
}

async fn first_topic(stage: &Stage) -> Outcome<Uuid> {
    let sent = stage.requests().await?.of::<ShareFetchRequest>();
    let first = sent.iter().flat_map(|sent| &sent.body.topics).map(|topic| topic.topic_id).next();
    first.ok_or_else(|| Stop::failed("a ShareFetch that names a topic", "none"))
}

async fn without_a_leader_metadata_is_asked_for_with_pauses(stage: &Stage) -> Outcome {
    let build = |builder: ackflow_testkit::EmbeddedBrokerBuilder| {
        builder.nodes(2).config("default.replication.factor", "1").topic(TOPIC, 2)
    };
    let broker = stage.broker_with(build).await?;
    let stays = broker.coordinator(crate::client::stage::GROUP).await?.unwrap_or(1);
    for partition in 0..2 {
        stage.produce(TOPIC, partition, 0..3).await?;
    }
    let mut client = stage.subscribed(Mode::Implicit, &[]).await?;
    client.reads(6).await?;
    broker.kill_node(3 - stays, Duration::from_millis(100)).await?;
    client.goes_on_for(Duration::from_secs(1)).await?;
    let begin = Instant::now();
    client.goes_on_for(Duration::from_secs(3)).await?;
    let sent = stage.requests().await?.since(begin).count(ApiKey::METADATA);
    stage.expect(sent <= 45, "at most 45 Metadata requests in 3 s", || sent.to_string())?;
    let mut led = None;
    for partition in 0..2 {
        led = led.or(broker.leader(TOPIC, partition).await?.map(|_| partition));
    }
    let led = led.ok_or_else(|| Stop::failed("a partition that still has a leader", "none"))?;
    let before = client.seen.len();
    stage.produce(TOPIC, led, 3..6).await?;
    client.reads(before + 3).await
}
