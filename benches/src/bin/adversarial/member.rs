//! What a member does: poll, decide, commit, and enter all of it into the ledger.

use std::time::{Duration, Instant};

use ackflow_client::share::{AckType, ShareConsumer, ShareRecord};
use anyhow::{Result, ensure};

use crate::ledger::{Key, Ledger, key};

/// A poll waits as long as this.
pub(crate) const POLL: Duration = Duration::from_millis(500);
pub(crate) const COMMIT: Duration = Duration::from_secs(30);
/// A member that gets nothing new for so long has stopped.
const STALL: Duration = Duration::from_secs(60);
/// After the last record it is looked whether anything comes that should not.
const AFTERWARDS: Duration = Duration::from_secs(4);

/// What one poll handed out, decided about but not committed.
pub(crate) struct Decided(Vec<(Key, AckType)>);

/// Polls once and decides about each record, by the record.
pub(crate) async fn poll(
    consumer: &mut ShareConsumer,
    ledger: &mut Ledger,
    decide: impl Fn(&ShareRecord<'_>) -> AckType,
) -> Result<Decided> {
    let records = match consumer.poll(POLL).await {
        Ok(records) => records,
        // Told once, and polling goes on: unless it ended the consumer.
        Err(error) => {
            ensure!(consumer.failure().is_none(), "the consumer has ended: {error}");
            return Ok(Decided(Vec::new()));
        }
    };
    let mut decided = Vec::with_capacity(records.len());
    for record in &records {
        let record = record?;
        ledger.hand_out(key(&record), record.delivery_count);
        let ack = decide(&record);
        consumer.acknowledge(&record, ack)?;
        decided.push((key(&record), ack));
    }
    Ok(Decided(decided))
}

impl Decided {
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Commits, and enters how that ended.
    pub(crate) async fn commit(self, consumer: &mut ShareConsumer, ledger: &mut Ledger, topic: &str) -> Result<()> {
        if self.0.is_empty() {
            return Ok(());
        }
        let results = consumer.commit_sync(COMMIT).await?;
        for (key, ack) in self.0 {
            match results.get(topic, key.0) {
                Some(Ok(())) if matches!(ack, AckType::Accept | AckType::Reject) => ledger.end(key),
                Some(Ok(())) => (),
                Some(Err(_)) => ledger.refuse(key),
                None => ledger.fault(format!("{}@{}: its acknowledgement has no result", key.0, key.1)),
            }
        }
        Ok(())
    }
}

/// Polls, decides and commits until `count` records are done with.
pub(crate) async fn consume_until(
    consumer: &mut ShareConsumer,
    ledger: &mut Ledger,
    topic: &str,
    count: usize,
    decide: impl Fn(&ShareRecord<'_>) -> AckType,
) -> Result<()> {
    let mut progress = (ledger.ended(), Instant::now());
    while ledger.accounted() < count {
        let decided = poll(consumer, ledger, &decide).await?;
        decided.commit(consumer, ledger, topic).await?;
        if ledger.ended() > progress.0 {
            progress = (ledger.ended(), Instant::now());
        }
        ensure!(progress.1.elapsed() < STALL, "no progress for {STALL:?} at {} of {count} records", progress.0);
    }
    Ok(())
}

/// Accepts everything up to `count` records, sees that nothing more comes, and leaves.
pub(crate) async fn finish(mut consumer: ShareConsumer, ledger: &mut Ledger, topic: &str, count: usize) -> Result<()> {
    consume_until(&mut consumer, ledger, topic, count, |_| AckType::Accept).await?;
    let end = Instant::now() + AFTERWARDS;
    while Instant::now() < end {
        poll(&mut consumer, ledger, |_| AckType::Accept).await?.commit(&mut consumer, ledger, topic).await?;
    }
    consumer.close(COMMIT).await?;
    Ok(())
}
