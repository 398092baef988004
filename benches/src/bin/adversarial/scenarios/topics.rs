//! What is special about the topic.

use std::time::Duration;

use ackflow_client::ProducerRecord;
use ackflow_client::admin::NewTopic;
use ackflow_client::share::AckType;
use ackflow_protocol::records::Compression;
use anyhow::{Context, Result, ensure};

use crate::cluster::Cluster;
use crate::ledger::{Ledger, Report};
use crate::member::{self, consume_until};
use crate::stage::{RECORDS, Stage, eventually};

pub(crate) async fn transactions(cluster: Cluster) -> Result<Report> {
    let committed_only = [("share.isolation.level", "read_committed")];
    let stage = Stage::new(&cluster, NewTopic::new("transactions", 3), &committed_only).await?;
    let printed = cluster.program("Transactions.java", &[&stage.topic, "200", "10", "3", "3"]).await?;
    let committed: usize = printed.trim().parse().context("Transactions.java prints a number")?;
    let consumer = stage.member(|config| config)?;
    let mut ledger = Ledger::default();
    member::finish(consumer, &mut ledger, &stage.topic, committed).await?;
    stage.judge(ledger).await
}

pub(crate) async fn compression(cluster: Cluster) -> Result<Report> {
    let codecs = [Compression::None, Compression::Gzip, Compression::Snappy, Compression::Lz4, Compression::Zstd];
    let mut all: Option<Report> = None;
    for codec in codecs {
        let name = format!("compression-{codec:?}").to_lowercase();
        let stage = Stage::new(&cluster, NewTopic::new(name, 3), &[]).await?;
        stage.produce(|config| config.compression = codec, stage.numbered("n", RECORDS)).await?;
        let mut ledger = Ledger::default();
        member::finish(stage.member(|config| config)?, &mut ledger, &stage.topic, RECORDS).await?;
        let report = stage.judge(ledger).await?;
        all = Some(match all {
            Some(all) => all.and(report),
            None => report,
        });
    }
    all.context("there are codecs")
}

pub(crate) async fn compacted(cluster: Cluster) -> Result<Report> {
    let topic = NewTopic::new("compacted", 1)
        .config("cleanup.policy", "compact")
        .config("segment.ms", "1000")
        .config("min.cleanable.dirty.ratio", "0.01")
        .config("min.compaction.lag.ms", "0")
        .config("delete.retention.ms", "100");
    let stage = Stage::new(&cluster, topic, &[]).await?;
    // Every other key comes again and again, so that half of the records go.
    let records = stage.numbered("n", 2 * RECORDS).enumerate().map(|(number, record)| match number % 2 {
        0 => record.key(format!("once-{number}")),
        _ => record.key(format!("again-{}", number % 20)),
    });
    stage.produce(|_| (), records).await?;
    tokio::time::sleep(Duration::from_millis(1500)).await;
    // Only an append rolls the segment, which is cleaned then.
    let last = ProducerRecord::new(stage.topic.clone(), "last").key("last");
    stage.produce(|_| (), [last]).await?;
    let expected = RECORDS + 10 + 1;
    eventually("the compaction", async || Ok(stage.content().await?.len() <= expected)).await?;
    let mut ledger = Ledger::default();
    member::finish(stage.member(|config| config)?, &mut ledger, &stage.topic, expected).await?;
    let mut report = stage.judge(ledger).await?;
    report.note("gaps", 2 * RECORDS + 1 - expected);
    Ok(report)
}

pub(crate) async fn recreated(cluster: Cluster) -> Result<Report> {
    let stage = Stage::new(&cluster, NewTopic::new("recreated", 3), &[]).await?;
    stage.produce(|_| (), stage.numbered("old", RECORDS)).await?;
    let old = stage.content().await?;
    let mut consumer = stage.member(|config| config.max_poll_records(100))?;
    let mut ledger = Ledger::default();
    consume_until(&mut consumer, &mut ledger, &stage.topic, RECORDS / 2, |_| AckType::Accept).await?;
    let deleted = cluster.admin.delete_topics([&*stage.topic]).await?.remove(&*stage.topic);
    deleted.context("the topic is left out")??;
    // A broker may know the old topic for a moment longer.
    eventually("creating the topic again", async || Ok(stage.create(NewTopic::new(&*stage.topic, 3)).await.is_ok()))
        .await?;
    stage.produce(|_| (), stage.numbered("new", RECORDS)).await?;
    let new = stage.content().await?;
    ensure!(new.is_disjoint(&old), "the topic is another one");
    let ended_of_old = ledger.ended();
    let mut fresh = Ledger::default();
    // What is still handed out of the old topic is entered too, and does no harm.
    while fresh.ended_among(|key| new.contains(key)) < RECORDS {
        let decided = member::poll(&mut consumer, &mut fresh, |_| AckType::Accept).await?;
        decided.commit(&mut consumer, &mut fresh, &stage.topic).await?;
    }
    member::finish(consumer, &mut fresh, &stage.topic, 0).await?;
    let lag = stage.final_lag(&new).await?;
    let mut report = fresh.judge(&new, &old, lag);
    report.note("ended_of_old", ended_of_old);
    Ok(report)
}

pub(crate) async fn larger_than_a_fetch(cluster: Cluster) -> Result<Report> {
    let stage = Stage::new(&cluster, NewTopic::new("large", 3), &[]).await?;
    let padding = "x".repeat(20_000);
    let records = (0..RECORDS).map(|number| ProducerRecord::new(stage.topic.clone(), format!("{number}-{padding}")));
    stage.produce(|_| (), records).await?;
    let consumer = stage.member(|config| config.fetch_max_bytes(5_000))?;
    let mut ledger = Ledger::default();
    member::finish(consumer, &mut ledger, &stage.topic, RECORDS).await?;
    stage.judge(ledger).await
}
