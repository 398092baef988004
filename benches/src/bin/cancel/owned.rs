//! The consumer whose deliveries are settled by whoever holds them.

use std::collections::VecDeque;
use std::time::Duration;

use ackflow_client::share::{AckType, Delivery, OwnedShareConsumer, Settled};
use anyhow::Result;

use crate::ledger::Key;
use crate::moment::{Moment, Random, race};
use crate::round::{CLOSE, Shared, lock, poll_timeout, settings, word};
use crate::stage::Stage;

/// So many deliveries may be kept for later.
const KEPT: usize = 4;

pub(crate) struct Owned {
    consumer: OwnedShareConsumer,
    ledger: Shared,
    kept: VecDeque<Delivery>,
    /// Said for good, and how that ended was not waited for.
    unheard: Vec<(Key, AckType)>,
}

impl Owned {
    pub(crate) fn new(stage: &Stage, ledger: Shared, random: &mut Random) -> Result<Self> {
        let mut consumer = OwnedShareConsumer::new(settings(stage, random).build()?)?;
        consumer.subscribe([&stage.topic])?;
        Ok(Self { consumer, ledger, kept: VecDeque::new(), unheard: Vec::new() })
    }

    /// Lets something race against a moment. Returns whether it was dropped.
    pub(crate) async fn race(&mut self, random: &mut Random) -> Result<bool> {
        let moment = random.moment();
        match random.below(10) {
            0..=4 => {
                let Some(polled) = race(moment, self.consumer.poll(poll_timeout(random))).await else {
                    return Ok(true);
                };
                let Some(delivery) = polled? else { return Ok(false) };
                for (key, delivery_count) in keys(&delivery) {
                    lock(&self.ledger).hand_out(key, delivery_count);
                }
                self.kept.push_back(delivery);
                Ok(false)
            }
            5..=7 => {
                let at = random.below(self.kept.len().max(1) as u64) as usize;
                match self.kept.remove(at) {
                    Some(delivery) => self.settle(random, moment, delivery).await,
                    None => Ok(false),
                }
            }
            _ => {
                let before = self.unheard.len();
                let committed = race(moment, self.consumer.commit_sync(Duration::from_secs(10))).await;
                let Some(results) = committed.transpose()? else { return Ok(true) };
                let mut ledger = lock(&self.ledger);
                for (key, ack) in self.unheard.drain(..before) {
                    match results.first_error() {
                        None => ledger.confirm(key, ack),
                        Some((partition, code)) => ledger.refuse(key, ack, format!("{partition}: {code}")),
                    }
                }
                Ok(false)
            }
        }
    }

    async fn settle(&mut self, random: &mut Random, moment: Moment, delivery: Delivery) -> Result<bool> {
        let delivery = if random.percent(20) {
            let middle = delivery.first_offset() + (delivery.last_offset() - delivery.first_offset()) / 2 + 1;
            let (front, back) = delivery.split_at(middle);
            self.kept.push_back(back);
            front
        } else {
            delivery
        };
        let counts: Vec<(Key, i16)> = keys(&delivery).collect();
        let ack = word(random, delivery.max_delivery_count());
        for (key, _) in &counts {
            lock(&self.ledger).say(*key, ack);
        }
        let settled: Settled = match ack {
            AckType::Accept => delivery.accept(),
            AckType::Reject => delivery.reject(),
            // Dropping it does the same.
            _ if random.percent(50) => {
                drop(delivery);
                return Ok(true);
            }
            _ => delivery.release(),
        };
        let said = counts.into_iter().map(|(key, _)| (key, ack));
        match race(moment, settled).await {
            Some(Ok(())) => said.for_each(|(key, ack)| lock(&self.ledger).confirm(key, ack)),
            Some(Err(error)) => said.for_each(|(key, ack)| lock(&self.ledger).refuse(key, ack, &error)),
            None => {
                // A released record may have come again before anybody hears that it was released.
                self.unheard.extend(said.filter(|(_, ack)| *ack != AckType::Release));
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether it has to settle something before it polls again. Under `record_limit` a member that holds as much as it may waits in vain
    /// for more, to the end of its poll: that is for races, and not for what has to end soon.
    pub(crate) fn is_full(&self, random: &Random) -> bool {
        let most = if random.is_calm { 1 } else { KEPT };
        self.kept.len() >= most
    }

    /// Settles one delivery that is kept.
    pub(crate) async fn settle_one(&mut self, random: &mut Random) -> Result<bool> {
        let moment = random.moment();
        match self.kept.pop_front() {
            Some(delivery) => self.settle(random, moment, delivery).await,
            None => Ok(false),
        }
    }

    /// Closes it, waiting for that until a moment. Returns whether that came first. Deliveries that are kept are dropped before it,
    /// during it, or after.
    pub(crate) async fn close(mut self, random: &mut Random) -> Result<bool> {
        if random.percent(50) {
            self.kept.clear();
        }
        Ok(race(random.moment(), self.consumer.close(CLOSE)).await.transpose()?.is_none())
    }
}

fn keys(delivery: &Delivery) -> impl Iterator<Item = (Key, i16)> {
    let partition = delivery.partition();
    let ranges = delivery.ranges().iter();
    ranges.flat_map(move |range| {
        (range.first..=range.last).map(move |offset| ((partition, offset), range.delivery_count))
    })
}
