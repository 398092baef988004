//! The consumer that accepts by polling on.

use std::time::Duration;

use ackflow_client::share::{AckType, AcknowledgementMode, ShareConsumer};
use anyhow::Result;

use crate::ledger::Key;
use crate::moment::{Random, race};
use crate::round::{CLOSE, Shared, lock, poll_timeout, settings};
use crate::stage::Stage;

pub(crate) struct Implicit {
    consumer: ShareConsumer,
    ledger: Shared,
    /// What the last poll handed out.
    last: Vec<Key>,
}

impl Implicit {
    pub(crate) fn new(stage: &Stage, ledger: Shared, random: &mut Random) -> Result<Self> {
        let config = settings(stage, random).acknowledgement_mode(AcknowledgementMode::Implicit).build()?;
        let mut consumer = ShareConsumer::new(config)?;
        crate::round::report_to(&mut consumer, &ledger);
        consumer.subscribe([&stage.topic])?;
        Ok(Self { consumer, ledger, last: Vec::new() })
    }

    /// Lets something race against a moment. Returns whether it was dropped.
    pub(crate) async fn race(&mut self, random: &mut Random) -> Result<bool> {
        let moment = random.moment();
        // Whatever comes next accepts them, at the latest when it is first looked at.
        for key in self.last.drain(..) {
            lock(&self.ledger).say(key, AckType::Accept);
        }
        match random.below(10) {
            0..=6 => {
                let timeout = poll_timeout(random);
                let Some(records) = race(moment, self.consumer.poll(timeout)).await else { return Ok(true) };
                for record in &records? {
                    let record = record?;
                    let key = (record.partition, record.offset);
                    lock(&self.ledger).hand_out(key, record.delivery_count);
                    self.last.push(key);
                }
                Ok(false)
            }
            7 | 8 => {
                let committed = race(moment, self.consumer.commit_sync(Duration::from_secs(10))).await;
                Ok(committed.transpose()?.is_none())
            }
            _ => {
                let commit = self.consumer.commit_async();
                let committed = race(moment, commit).await;
                Ok(committed.transpose()?.is_none())
            }
        }
    }

    /// Closes it, waiting for that until a moment. Returns whether that came first.
    pub(crate) async fn close(self, random: &mut Random) -> Result<bool> {
        Ok(race(random.moment(), self.consumer.close(CLOSE)).await.transpose()?.is_none())
    }
}
