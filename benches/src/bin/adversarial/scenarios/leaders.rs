//! Leaders that go.

use std::time::{Duration, Instant};

use ackflow_client::ProducerRecord;
use ackflow_client::admin::NewTopic;
use ackflow_client::share::{AckType, ShareConsumer};
use anyhow::{Context, Result, ensure};
use serde_json::json;
use tokio::sync::watch;

use crate::cluster::Cluster;
use crate::ledger::{Ledger, Report};
use crate::member;
use crate::stage::{RECORDS, Stage, eventually};

/// Few at a time, so that there is work for long enough.
const POLL: u32 = 5;
/// Consumption goes on so soon after the new leader is there.
const RESUMES_WITHIN: Duration = Duration::from_secs(1);
/// New leaders come within this, or do not come.
const PATIENCE: Duration = Duration::from_secs(60);
/// Between two records where they come all the time.
const TRICKLE: Duration = Duration::from_millis(4);

pub(crate) async fn moved(cluster: Cluster) -> Result<Report> {
    let assignments = vec![vec![1, 2], vec![2, 3], vec![3, 1]];
    let topic = NewTopic { partitions: None, assignments, ..NewTopic::new("moved", 3) };
    let stage = Stage::new(&cluster, topic, &[]).await?;
    let file = std::env::temp_dir().join(format!("ackflow-reassign-{}.json", std::process::id()));
    let plan = json!({"version": 1, "partitions": [{"topic": &*stage.topic, "partition": 0, "replicas": [2, 3]}]});
    std::fs::write(&file, plan.to_string())?;
    let path = file.to_str().context("the path is not UTF-8")?.to_owned();
    stage.produce(|_| (), spread(&stage).take(RECORDS / 2)).await?;
    // The rest comes while the leader moves, so that the partition has something new for the member at any time.
    let report = lose_leader(&stage, 0, async || {
        let arguments = ["--reassignment-json-file", path.as_str(), "--execute"];
        let reassigning = cluster.tool("reassign.ReassignPartitionsCommand", &arguments);
        let trickling = stage.trickle(spread(&stage).skip(RECORDS / 2), TRICKLE);
        tokio::try_join!(reassigning, trickling).map(drop)
    })
    .await;
    std::fs::remove_file(&file)?;
    report
}

pub(crate) async fn killed(cluster: Cluster) -> Result<Report> {
    let stage = Stage::new(&cluster, NewTopic::new("killed", 3), &[]).await?;
    stage.produce(|_| (), spread(&stage)).await?;
    // The first member makes the broker create the topic that holds the state of groups.
    let mut first = stage.member(|config| config)?;
    let leads_state = async || cluster.leader("__share_group_state", 0).await;
    eventually("the state of groups", async || {
        first.poll(Duration::from_millis(100)).await?;
        Ok(leads_state().await.is_ok_and(|leader| leader.is_some()))
    })
    .await?;
    first.close(PATIENCE).await?;
    // Another controller takes its time, and so does another coordinator of the state: that of the broker.
    let spared = [cluster.controller().await?, leads_state().await?.unwrap_or(-1)];
    let mut victim = None;
    for partition in 0..3 {
        let leader = cluster.leader(&stage.topic, partition).await?.context("each partition has a leader")?;
        if !spared.contains(&leader) {
            victim = Some((partition, leader));
        }
    }
    let (partition, leader) = victim.context("a leader that is neither controller nor coordinator")?;
    // The other partitions are done soon, and the member waits for this one.
    lose_leader(&stage, partition, async || cluster.kill(leader).await).await
}

/// The usual records, as many in each partition.
fn spread(stage: &Stage) -> impl Iterator<Item = ProducerRecord> {
    let records = stage.numbered("n", RECORDS).zip([0, 1, 2].into_iter().cycle());
    records.map(|(record, partition)| record.partition(partition))
}

/// Consumes while a partition loses its leader, and sees how soon records of it come from the new one.
async fn lose_leader(stage: &Stage, partition: i32, lose: impl AsyncFnOnce() -> Result<()>) -> Result<Report> {
    let mut ledger = Ledger::default();
    let mut consumer = stage.member(|config| config.max_poll_records(POLL))?;
    member::consume_until(&mut consumer, &mut ledger, &stage.topic, RECORDS / 5, |_| AckType::Accept).await?;
    let old = stage.cluster.leader(&stage.topic, partition).await?.context("the partition has a leader")?;

    let out = member::poll(&mut consumer, &mut ledger, |_| AckType::Accept).await?;
    let out_then = out.len();
    ledger.leader_is_going(true);
    let (led_since, new_leader) = watch::channel(None);
    let consuming = async {
        out.commit(&mut consumer, &mut ledger, &stage.topic).await?;
        consume_and_time(&mut consumer, &mut ledger, stage, partition, new_leader).await
    };
    let watching = watch_leader(&stage.cluster, &stage.topic, partition, old, led_since);
    let (resumed, (), ()) = tokio::try_join!(consuming, watching, lose())?;
    ledger.leader_is_going(false);
    member::finish(consumer, &mut ledger, &stage.topic, RECORDS).await?;

    let mut report = stage.judge(ledger).await?;
    report.note("out_when_lost", out_then);
    report.note("resumed_ms_after_new_leader", u64::try_from(resumed.as_millis())?);
    report
        .require(resumed < RESUMES_WITHIN, format!("the partition goes on within {RESUMES_WITHIN:?}, not {resumed:?}"));
    Ok(report)
}

/// Says when another broker leads the partition.
async fn watch_leader(
    cluster: &Cluster,
    topic: &str,
    partition: i32,
    old: i32,
    led_since: watch::Sender<Option<Instant>>,
) -> Result<()> {
    eventually("a new leader", async || {
        // The answer may come from a broker that is going; the next one will do.
        Ok(cluster.leader(topic, partition).await.is_ok_and(|leader| leader.is_some_and(|leader| leader != old)))
    })
    .await?;
    led_since.send_replace(Some(Instant::now()));
    Ok(())
}

/// Consumes on until the new leader has confirmed a record of the partition; how long after it was there.
async fn consume_and_time(
    consumer: &mut ShareConsumer,
    ledger: &mut Ledger,
    stage: &Stage,
    partition: i32,
    new_leader: watch::Receiver<Option<Instant>>,
) -> Result<Duration> {
    let deadline = Instant::now() + PATIENCE;
    while Instant::now() < deadline {
        let (since, before) = (*new_leader.borrow(), ledger.ended_among(|key| key.0 == partition));
        let decided = member::poll(consumer, ledger, |_| AckType::Accept).await?;
        decided.commit(consumer, ledger, &stage.topic).await?;
        if let Some(since) = since
            && ledger.ended_among(|key| key.0 == partition) > before
        {
            return Ok(since.elapsed());
        }
    }
    ensure!(new_leader.borrow().is_some(), "no new leader came within {PATIENCE:?}");
    anyhow::bail!("no record of the partition came from its new leader within {PATIENCE:?}")
}
