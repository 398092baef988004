//! How fast members go, and how they decide.

use std::time::Duration;

use ackflow_client::admin::NewTopic;
use ackflow_client::share::{AckType, AcquireMode, ShareConsumer};
use ackflow_protocol::wire::ApiKey;
use anyhow::{Result, ensure};

use super::old;
use crate::cluster::Cluster;
use crate::ledger::{Ledger, Report};
use crate::member::{self, consume_until};
use crate::stage::{RECORDS, Stage};

pub(crate) async fn record_limit(cluster: Cluster) -> Result<Report> {
    let stage = Stage::new(&cluster, NewTopic::new("record-limit", 3), &[]).await?;
    stage.fill().await?;
    if cluster.version(ApiKey::SHARE_FETCH).await? == Some(1) {
        return old::refuses_by_name(&stage).await;
    }
    let mut consumer = stage.member(|config| config.acquire_mode(AcquireMode::RecordLimit).max_poll_records(10))?;
    let mut ledger = Ledger::default();
    while ledger.ended() < RECORDS {
        let decided = member::poll(&mut consumer, &mut ledger, |_| AckType::Accept).await?;
        ensure!(decided.len() <= 10, "a poll handed out {} records", decided.len());
        decided.commit(&mut consumer, &mut ledger, &stage.topic).await?;
    }
    member::finish(consumer, &mut ledger, &stage.topic, RECORDS).await?;
    stage.judge(ledger).await
}

pub(crate) async fn release_one_in_seven(cluster: Cluster) -> Result<Report> {
    let stage = Stage::new(&cluster, NewTopic::new("release", 3), &[]).await?;
    stage.fill().await?;
    let mut consumer = stage.member(|config| config)?;
    let mut ledger = Ledger::default();
    consume_until(&mut consumer, &mut ledger, &stage.topic, RECORDS, |record| {
        if record.offset % 7 == 0 && record.delivery_count == 1 { AckType::Release } else { AckType::Accept }
    })
    .await?;
    member::finish(consumer, &mut ledger, &stage.topic, RECORDS).await?;
    stage.judge(ledger).await
}

pub(crate) async fn pause(cluster: Cluster) -> Result<Report> {
    let stage = Stage::new(&cluster, NewTopic::new("pause", 3), &[]).await?;
    stage.fill().await?;
    let mut consumer = stage.member(|config| config)?;
    let mut ledger = Ledger::default();
    let out = first_records(&mut consumer, &mut ledger).await?;
    tokio::time::sleep(Duration::from_secs(50)).await;
    // Their lock has ended: the member must be told, and they must come again.
    out.commit(&mut consumer, &mut ledger, &stage.topic).await?;
    let too_late = ledger.ended();
    member::finish(consumer, &mut ledger, &stage.topic, RECORDS).await?;
    let mut report = stage.judge(ledger).await?;
    report.require(too_late == 0, "an acknowledgement after the end of the lock is refused");
    Ok(report)
}

/// Polls until something comes, which is not committed.
async fn first_records(consumer: &mut ShareConsumer, ledger: &mut Ledger) -> Result<member::Decided> {
    for _ in 0..60 {
        let decided = member::poll(consumer, ledger, |_| AckType::Accept).await?;
        if !decided.is_empty() {
            return Ok(decided);
        }
    }
    anyhow::bail!("no record came in 60 polls")
}

pub(crate) async fn two_members(cluster: Cluster) -> Result<Report> {
    let stage = Stage::new(&cluster, NewTopic::new("two", 1), &[]).await?;
    let mut members =
        [stage.member(|config| config.max_poll_records(100))?, stage.member(|c| c.max_poll_records(100))?];
    let mut ledger = Ledger::default();
    let mut ended = [0; 2];
    // A round of each before there is anything, so that both are members.
    for consumer in &mut members {
        member::poll(consumer, &mut ledger, |_| AckType::Accept).await?;
    }
    // Small batches, so that both get some.
    for part in 0..20 {
        stage.produce(|_| (), stage.numbered(&format!("part-{part}"), RECORDS / 20)).await?;
        for (consumer, ended) in members.iter_mut().zip(&mut ended) {
            let before = ledger.ended();
            let decided = member::poll(consumer, &mut ledger, |_| AckType::Accept).await?;
            decided.commit(consumer, &mut ledger, &stage.topic).await?;
            *ended += ledger.ended() - before;
        }
    }
    let [one, mut two] = members;
    consume_until(&mut two, &mut ledger, &stage.topic, RECORDS / 2, |_| AckType::Accept).await?;
    // What the other one holds ahead comes to this one when it leaves.
    one.close(Duration::from_secs(30)).await?;
    member::finish(two, &mut ledger, &stage.topic, RECORDS).await?;
    let mut report = stage.judge(ledger).await?;
    report.require(ended.iter().all(|ended| *ended > 0), format!("both get some: {ended:?}"));
    report.note("each", ended.to_vec());
    Ok(report)
}
