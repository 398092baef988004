//! Situations of brokers that are older, or have no share groups.

use std::time::{Duration, Instant};

use ackflow_protocol::messages::share_acknowledge::ShareAcknowledgeRequest;
use ackflow_protocol::messages::share_fetch::ShareFetchRequest;
use ackflow_protocol::wire::{ApiKey, ErrorCode};

use crate::client::situation::situations;
use crate::client::stage::{Mode, Stage, TOPIC};
use crate::stop::Outcome;

situations! { Versions;
    an_older_broker_gets_what_it_knows:
        "A broker that offers version 1 of ShareFetch and ShareAcknowledge gets no other version, and records are consumed.",
        "Kafka's protocol: ApiVersions; Kafka 4.1";
    an_older_broker_gets_no_renewals:
        "A broker that offers version 1 gets no acknowledgement of the type 4; the application is told.",
        "KIP-1222: version 2";
    an_old_lookup_is_enough:
        "A broker that offers old versions of Metadata, FindCoordinator and ApiVersions is understood.",
        "Kafka's protocol: ApiVersions, KIP-511";
    a_broker_without_share_groups_is_told:
        "Where the feature share.version is 0, the application is told of UNSUPPORTED_VERSION, and requests do not come in a storm.",
        "KIP-932: UNSUPPORTED_VERSION while share.version is 0";
    a_broker_without_the_apis_is_told:
        "Where a broker does not offer ShareGroupHeartbeat, the application is told, and requests do not come in a storm.",
        "Kafka's protocol: ApiVersions";
}

async fn an_older_broker_gets_what_it_knows(stage: &Stage) -> Outcome {
    let old = |builder: ackflow_testkit::EmbeddedBrokerBuilder| {
        builder.topic(TOPIC, 1).limit_version(ApiKey::SHARE_FETCH, 1).limit_version(ApiKey::SHARE_ACKNOWLEDGE, 1)
    };
    stage.broker_with(old).await?;
    stage.produce(TOPIC, 0, 0..5).await?;
    let mut client = stage.subscribed(Mode::Explicit, &[]).await?;
    client.reads(5).await?;
    client.commits().await?;
    stage.lag_comes_to(0).await?;
    let requests = stage.requests().await?;
    let fetches = requests.of::<ShareFetchRequest>();
    let acknowledges = requests.of::<ShareAcknowledgeRequest>();
    let versions: Vec<_> =
        fetches.iter().map(|sent| sent.version).chain(acknowledges.iter().map(|sent| sent.version)).collect();
    stage.expect(versions.iter().all(|version| *version == 1), "version 1 alone", || format!("{versions:?}"))
}

async fn an_older_broker_gets_no_renewals(stage: &Stage) -> Outcome {
    let old = |builder: ackflow_testkit::EmbeddedBrokerBuilder| {
        builder.topic(TOPIC, 1).limit_version(ApiKey::SHARE_FETCH, 1).limit_version(ApiKey::SHARE_ACKNOWLEDGE, 1)
    };
    stage.broker_with(old).await?;
    stage.produce(TOPIC, 0, 0..2).await?;
    let mut client = stage.subscribed(Mode::Explicit, &[]).await?;
    client.first().await?;
    client.acknowledge("renew", 0, 0).await?;
    client.acknowledge("accept", 1, 1).await?;
    let failed = client.commit().await?;
    let begin = Instant::now();
    while failed.is_empty() && client.errors.is_empty() && begin.elapsed() < Duration::from_secs(5) {
        client.goes_on_for(Duration::from_millis(200)).await?;
    }
    let told = !failed.is_empty() || !client.errors.is_empty() || client.was_told("UNSUPPORTED_VERSION");
    stage.expect(told, "an error that tells of it", || format!("{:?}", client.settled))?;
    let renewals: Vec<_> = stage.requests().await?.acknowledged().into_iter().filter(|(_, kind)| *kind == 4).collect();
    stage.expect_eq(renewals, [] as [(i64, i8); 0], "renewals that are sent")
}

async fn an_old_lookup_is_enough(stage: &Stage) -> Outcome {
    let old = |builder: ackflow_testkit::EmbeddedBrokerBuilder| {
        builder
            .topic(TOPIC, 1)
            .limit_version(ApiKey::METADATA, 12)
            .limit_version(ApiKey::FIND_COORDINATOR, 4)
            .limit_version(ApiKey::API_VERSIONS, 3)
    };
    stage.broker_with(old).await?;
    stage.produce(TOPIC, 0, 0..3).await?;
    let mut client = stage.subscribed(Mode::Implicit, &[]).await?;
    client.reads(3).await
}

async fn a_broker_without_share_groups_is_told(stage: &Stage) -> Outcome {
    stage.broker_with(|builder| builder.topic(TOPIC, 1).share_version(0)).await?;
    told_without_a_storm(stage).await
}

async fn a_broker_without_the_apis_is_told(stage: &Stage) -> Outcome {
    let build = |builder: ackflow_testkit::EmbeddedBrokerBuilder| {
        builder.topic(TOPIC, 1).limit_version(ApiKey::SHARE_GROUP_HEARTBEAT, -1)
    };
    stage.broker_with(build).await?;
    told_without_a_storm(stage).await
}

async fn told_without_a_storm(stage: &Stage) -> Outcome {
    let mut client = stage.subscribed(Mode::Implicit, &[]).await?;
    let begin = Instant::now();
    while client.errors.is_empty() && begin.elapsed() < Duration::from_secs(20) {
        client.goes_on_for(Duration::from_millis(200)).await?;
    }
    let name = ErrorCode::UNSUPPORTED_VERSION.name().unwrap_or_default();
    stage.expect(client.was_told(name), "a poll that fails with UNSUPPORTED_VERSION", || {
        format!("{:?}", client.errors)
    })?;
    let begin = Instant::now();
    client.goes_on_for(Duration::from_secs(2)).await?;
    let sent = stage.requests().await?.since(begin).len();
    stage.expect(sent <= 60, "at most 60 requests in the 2 s after that", || sent.to_string())
}
