//! Situations of throttling.

use std::time::{Duration, Instant};

use ackflow_protocol::wire::ApiKey;
use ackflow_testkit::core::{FaultAction, FaultRule};

use crate::client::situation::situations;
use crate::client::stage::{Mode, Stage, TOPIC};
use crate::stop::Outcome;

situations! { Throttling;
    a_throttled_fetch_is_obeyed:
        "After an answer to ShareFetch with ThrottleTimeMs nothing is sent on its connection until the time is over, but for what was on its way; then records come.",
        "KIP-219";
    a_throttled_heartbeat_is_obeyed:
        "The same after an answer to ShareGroupHeartbeat: the next one waits, though its interval is over.",
        "KIP-219";
    a_throttled_acknowledgement_is_obeyed:
        "The same after an answer to ShareAcknowledge; the commit is not refused because of it.",
        "KIP-219";
    a_throttled_lookup_is_obeyed:
        "The same after answers to Metadata and FindCoordinator.",
        "KIP-219";
}

fn throttle(api: ApiKey, time: Duration) -> FaultRule {
    FaultRule::new(FaultAction::Throttle(time)).api(api)
}

/// All requests that came too early, of whatever API.
async fn early(stage: &Stage) -> Outcome<u32> {
    let mut early = 0;
    for api in ApiKey::ALL {
        early += stage.early(*api).await?;
    }
    Ok(early)
}

async fn obeyed(stage: &Stage, throttled: u32) -> Outcome {
    let early = early(stage).await?;
    stage.expect(early <= throttled, &format!("at most {throttled} requests that were on their way"), || {
        early.to_string()
    })
}

async fn a_throttled_fetch_is_obeyed(stage: &Stage) -> Outcome {
    stage.broker().await?;
    let mut client = stage.subscribed(Mode::Implicit, &[]).await?;
    let id = stage.fault(throttle(ApiKey::SHARE_FETCH, Duration::from_secs(1)).times(3)).await?;
    stage.has_met(&mut client, id, 3).await?;
    stage.produce(TOPIC, 0, 0..3).await?;
    client.reads(3).await?;
    obeyed(stage, 0).await
}

async fn a_throttled_heartbeat_is_obeyed(stage: &Stage) -> Outcome {
    stage.broker().await?;
    stage.produce(TOPIC, 0, 0..3).await?;
    let mut client = stage.subscribed(Mode::Implicit, &[]).await?;
    client.reads(3).await?;
    let id = stage.fault(throttle(ApiKey::SHARE_GROUP_HEARTBEAT, Duration::from_secs(1)).times(3)).await?;
    stage.has_met(&mut client, id, 3).await?;
    client.goes_on_for(Duration::from_millis(1500)).await?;
    obeyed(stage, 0).await
}

async fn a_throttled_acknowledgement_is_obeyed(stage: &Stage) -> Outcome {
    stage.broker().await?;
    stage.produce(TOPIC, 0, 0..3).await?;
    let mut client = stage.subscribed(Mode::Explicit, &[]).await?;
    client.first().await?;
    stage.fault(throttle(ApiKey::SHARE_ACKNOWLEDGE, Duration::from_secs(1)).times(1)).await?;
    client.acknowledge_all("accept").await?;
    let begin = Instant::now();
    client.commits().await?;
    stage.produce(TOPIC, 0, 3..6).await?;
    client.reads(6).await?;
    client.commits().await?;
    stage.expect(begin.elapsed() < Duration::from_secs(20), "all of it within 20 s", || {
        format!("{:?}", begin.elapsed())
    })?;
    obeyed(stage, 0).await
}

async fn a_throttled_lookup_is_obeyed(stage: &Stage) -> Outcome {
    stage.broker().await?;
    stage.produce(TOPIC, 0, 0..3).await?;
    for api in [ApiKey::METADATA, ApiKey::FIND_COORDINATOR] {
        stage.fault(throttle(api, Duration::from_secs(1)).times(1)).await?;
    }
    let mut client = stage.subscribed(Mode::Implicit, &[]).await?;
    client.reads(3).await?;
    // The two may be sent behind each other, without waiting for answers.
    obeyed(stage, 1).await
}
