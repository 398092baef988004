//! Records by a share group.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;
use std::time::Duration;

use ackflow_benches::set_up_group;
use ackflow_client::admin::Admin;
use ackflow_client::config::ClientConfig;
use ackflow_client::share::{ShareConsumer, ShareConsumerConfig};
use anyhow::bail;
use tokio::time::timeout;

use crate::Isolation;
use crate::lines::{Shown, plan};

/// A record that takes longer does not come.
const STALLED: Duration = Duration::from_secs(30);
/// After the last record: what comes then is too much.
const AFTERWARDS: Duration = Duration::from_millis(500);

pub(crate) async fn run(
    bootstrap: &str,
    file: &Path,
    isolation: Isolation,
    wanted: usize,
    out: &mut impl Write,
) -> anyhow::Result<()> {
    let topics: BTreeSet<_> = plan(file)?.into_iter().map(|partition| partition.topic).collect();
    let group = format!("interop-{}", isolation.name());
    let settings = [("share.auto.offset.reset", "earliest"), ("share.isolation.level", isolation.name())];
    set_up_group(&Admin::new(ClientConfig::new(bootstrap)?), &group, &settings).await?;
    let mut consumer = ShareConsumer::new(ShareConsumerConfig::builder(bootstrap, &group).build()?)?;
    consumer.subscribe(topics)?;
    let mut seen = 0;
    loop {
        let patience = if seen < wanted { STALLED } else { AFTERWARDS };
        let records = consumer.poll(patience).await?;
        if records.is_empty() {
            break;
        }
        for record in &records {
            let record = record?;
            let shown = Shown {
                topic: record.topic,
                partition: record.partition,
                offset: record.offset,
                timestamp: record.timestamp,
                timestamp_type: record.timestamp_type,
                key: record.key,
                value: record.value,
                headers: record.headers(),
            };
            shown.print(out)?;
            seen += 1;
        }
        let results = consumer.commit_sync(STALLED).await?;
        if let Some((partition, error)) = results.first_error() {
            bail!("commit_sync of {partition:?}: {error:?}");
        }
    }
    Ok(timeout(STALLED, consumer.close(STALLED)).await??)
}
