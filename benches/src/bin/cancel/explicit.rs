//! The consumer that says something about every record.

use std::time::Duration;

use ackflow_client::share::{AcknowledgementMode, ShareConsumer};
use anyhow::Result;

use crate::ledger::Key;
use crate::moment::{Random, race};
use crate::round::{CLOSE, Shared, lock, poll_timeout, settings, word};
use crate::stage::Stage;

pub(crate) struct Explicit {
    consumer: ShareConsumer,
    topic: String,
    ledger: Shared,
    /// What the last poll handed out and nothing was said about.
    undecided: Vec<(Key, i16)>,
}

impl Explicit {
    pub(crate) fn new(stage: &Stage, ledger: Shared, random: &mut Random) -> Result<Self> {
        let config = settings(stage, random).acknowledgement_mode(AcknowledgementMode::Explicit).build()?;
        let mut consumer = ShareConsumer::new(config)?;
        crate::round::report_to(&mut consumer, &ledger);
        consumer.subscribe([&stage.topic])?;
        Ok(Self { consumer, topic: stage.topic.clone(), ledger, undecided: Vec::new() })
    }

    /// Lets something race against a moment. Returns whether it was dropped.
    pub(crate) async fn race(&mut self, random: &mut Random) -> Result<bool> {
        let moment = random.moment();
        let polls = random.percent(60);
        // A commit may come in the middle of it.
        let left = if polls || random.percent(50) { 0 } else { self.undecided.len() / 2 };
        for ((partition, offset), delivery_count) in self.undecided.drain(left..) {
            let ack = word(random, delivery_count);
            lock(&self.ledger).say((partition, offset), ack);
            self.consumer.acknowledge_offset(&self.topic, partition, offset, ack)?;
        }
        if !polls {
            if random.percent(30) {
                let commit = self.consumer.commit_async();
                return Ok(race(moment, commit).await.transpose()?.is_none());
            }
            let commit = self.consumer.commit_sync(Duration::from_secs(10));
            return Ok(race(moment, commit).await.transpose()?.is_none());
        }
        let timeout = poll_timeout(random);
        let Some(records) = race(moment, self.consumer.poll(timeout)).await else { return Ok(true) };
        for record in &records? {
            let record = record?;
            let key = (record.partition, record.offset);
            lock(&self.ledger).hand_out(key, record.delivery_count);
            self.undecided.push((key, record.delivery_count));
        }
        Ok(false)
    }

    /// Closes it, waiting for that until a moment. Returns whether that came first.
    pub(crate) async fn close(self, random: &mut Random) -> Result<bool> {
        Ok(race(random.moment(), self.consumer.close(CLOSE)).await.transpose()?.is_none())
    }
}
