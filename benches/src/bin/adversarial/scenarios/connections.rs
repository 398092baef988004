//! Connections that end in the middle of the work.

use std::collections::BTreeSet;
use std::time::Duration;

use ackflow_client::admin::NewTopic;
use ackflow_client::share::{AckType, ShareConsumer};
use ackflow_protocol::wire::ApiKey;
use anyhow::Result;

use crate::cluster::Cluster;
use crate::ledger::{Ledger, Report};
use crate::member::{self, consume_until};
use crate::stage::{RECORDS, Stage};

/// How often the connections are cut.
const CUTS: usize = 3;

/// A member of the same group that has nothing to do and keeps its connections. With the last connection of a group the broker would forget
/// that records are out, and give them again with the same delivery count.
async fn bystander(stage: &Stage) -> Result<(ShareConsumer, BTreeSet<String>)> {
    let idle = format!("{}-idle", stage.topic);
    stage.create(NewTopic::new(&*idle, 1)).await?;
    let mut bystander = stage.member(|config| config)?;
    bystander.subscribe([idle])?;
    for _ in 0..60 {
        bystander.poll(Duration::from_millis(500)).await?;
        if !bystander.assignment().is_empty() {
            // Its session is open once this poll is over.
            bystander.poll(Duration::from_millis(500)).await?;
            return Ok((bystander, stage.cluster.connections().await?));
        }
    }
    anyhow::bail!("the bystander is assigned nothing")
}

/// A ledger that knows what this cluster does with the records of a connection that ends. There may be some even where nothing waits to be
/// acknowledged: what was fetched ahead is handed out until the consumer notices the cut.
async fn ledger(cluster: &Cluster) -> Result<Ledger> {
    let mut ledger = Ledger::default();
    ledger.takes_back_what_a_connection_held(cluster.version(ApiKey::SHARE_FETCH).await? == Some(1));
    Ok(ledger)
}

pub(crate) async fn cut_when_committed(cluster: Cluster) -> Result<Report> {
    let stage = Stage::new(&cluster, NewTopic::new("cut-committed", 3), &[]).await?;
    stage.fill().await?;
    let (bystander, spared) = bystander(&stage).await?;
    let mut consumer = stage.member(|config| config.max_poll_records(100))?;
    let mut ledger = ledger(&cluster).await?;
    for cut in 1..=CUTS {
        let count = RECORDS * cut / (CUTS + 1);
        consume_until(&mut consumer, &mut ledger, &stage.topic, count, |_| AckType::Accept).await?;
        cluster.cut_connections(&spared).await?;
    }
    member::finish(consumer, &mut ledger, &stage.topic, RECORDS).await?;
    bystander.close(Duration::from_secs(30)).await?;
    stage.judge(ledger).await
}

pub(crate) async fn cut_with_pending(cluster: Cluster) -> Result<Report> {
    let short = [("share.record.lock.duration.ms", "2000")];
    let stage = Stage::new(&cluster, NewTopic::new("cut-pending", 3), &short).await?;
    stage.fill().await?;
    let (bystander, spared) = bystander(&stage).await?;
    let mut consumer = stage.member(|config| config.max_poll_records(100))?;
    let mut ledger = ledger(&cluster).await?;
    let mut out = 0;
    for cut in 1..=CUTS {
        let count = RECORDS * cut / (CUTS + 1);
        consume_until(&mut consumer, &mut ledger, &stage.topic, count, |_| AckType::Accept).await?;
        let decided = member::poll(&mut consumer, &mut ledger, |_| AckType::Accept).await?;
        out += decided.len();
        cluster.cut_connections(&spared).await?;
        decided.commit(&mut consumer, &mut ledger, &stage.topic).await?;
    }
    member::finish(consumer, &mut ledger, &stage.topic, RECORDS).await?;
    bystander.close(Duration::from_secs(30)).await?;
    let mut report = stage.judge(ledger).await?;
    report.note("out_when_cut", out);
    report.require(out > 0, "records are out when the connections are cut");
    Ok(report)
}
