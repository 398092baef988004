//! The deliveries that a task holds, and what is still to be heard about them.

use std::{collections::BTreeMap, sync::Arc, time::Instant};

use ackflow_client::share::{AckError, AckType, AcquiredRange, Delivery, LentRecords, Settled, TopicPartition};
use tokio::task::JoinSet;

use super::{
    counters::{Count, Counters},
    machine::{Acquired, DeliveryId, Settlement, Verdict},
};
use crate::contract::Offsets;

pub(super) struct Deliveries {
    held: BTreeMap<DeliveryId, Delivery>,
    last_id: u64,
    answers: JoinSet<Heard>,
    counters: Arc<Counters>,
}

/// The broker's answer.
#[derive(Debug)]
enum Heard {
    Renewed(DeliveryId, Result<(), AckError>),
    Settled(Verdict, u64, Result<(), AckError>),
}

/// The end of a renewal: the new end of the lock, or `None` if it is lost.
pub(super) type Renewed = (DeliveryId, Option<Instant>);

impl Deliveries {
    pub(super) fn new(counters: Arc<Counters>) -> Self {
        Self { held: BTreeMap::new(), last_id: 0, answers: JoinSet::new(), counters }
    }

    pub(super) fn insert(&mut self, delivery: Delivery) -> Acquired {
        self.last_id += 1;
        let id = DeliveryId(self.last_id);
        let again = delivery.ranges().iter().filter(|range| range.delivery_count > 1);
        self.counters.add(Count::Read, delivery.len() as u64);
        self.counters.add(Count::Redelivered, again.map(length).sum());
        let acquired = Acquired {
            id,
            ranges: delivery.ranges().to_vec(),
            lock_deadline: delivery.lock_deadline(),
            lock_timeout: delivery.lock_timeout(),
        };
        self.held.insert(id, delivery);
        acquired
    }

    /// The records of these offsets, to read, and which delivery each part of them is of.
    pub(super) fn lend(&self, offsets: Vec<(DeliveryId, Vec<AcquiredRange>)>) -> (Vec<DeliveryId>, Vec<LentRecords>) {
        let lend = |(id, ranges): (DeliveryId, Vec<AcquiredRange>)| {
            let mut lent = self.held.get(&id)?.lend();
            lent.retain(&ranges);
            Some((id, lent))
        };
        offsets.into_iter().filter_map(lend).unzip()
    }

    pub(super) fn partition(&self, id: DeliveryId) -> Option<TopicPartition> {
        self.held.get(&id).map(Delivery::topic_partition)
    }

    /// Whether records of a partition are held.
    pub(super) fn is_any_of(&self, partition: &TopicPartition) -> bool {
        self.held.values().any(|delivery| delivery.topic_partition() == *partition)
    }

    /// For each delivery the offset below which it is durable, where `offsets` says so for its partition.
    pub(super) fn durable(&self, offsets: &Offsets) -> Vec<(DeliveryId, i64)> {
        let durable = |(&id, delivery): (_, &Delivery)| Some((id, *offsets.get(&delivery.topic_partition())?));
        self.held.iter().filter_map(durable).collect()
    }

    pub(super) fn renew(&mut self, ids: &[DeliveryId]) {
        for &id in ids {
            if let Some(delivery) = self.held.get_mut(&id) {
                let settled = delivery.renew();
                self.answers.spawn(async move { Heard::Renewed(id, settled.await) });
            }
        }
    }

    /// Acknowledges. What becomes of it is [heard](Self::heard) later.
    pub(super) fn settle(&mut self, settlements: Vec<Settlement>, delivery_limit: i16) {
        for settlement in settlements {
            if settlement.verdict == Verdict::Release {
                self.warn_of_archiving(&settlement, delivery_limit);
            }
            self.settle_one(settlement);
        }
    }

    fn settle_one(&mut self, Settlement { delivery: id, verdict, ranges, is_last }: Settlement) {
        let ack = match verdict {
            Verdict::Accept => AckType::Accept,
            Verdict::Release => AckType::Release,
        };
        let Some(delivery) = self.held.get_mut(&id) else { return };
        if delivery.ranges() == ranges {
            let records = delivery.len() as u64;
            if let Some(delivery) = self.held.remove(&id) {
                let settled = if verdict == Verdict::Accept { delivery.accept() } else { delivery.release() };
                self.listen(verdict, records, settled);
            }
            return;
        }
        let settled: Vec<_> =
            ranges.iter().map(|range| (length(range), delivery.acknowledge(range.first..=range.last, ack))).collect();
        if is_last {
            self.held.remove(&id);
        }
        for (records, settled) in settled {
            self.listen(verdict, records, settled);
        }
    }

    fn listen(&mut self, verdict: Verdict, records: u64, settled: Settled) {
        self.answers.spawn(async move { Heard::Settled(verdict, records, settled.await) });
    }

    fn warn_of_archiving(&self, settlement: &Settlement, delivery_limit: i16) {
        let Some(delivery) = self.held.get(&settlement.delivery) else { return };
        for range in settlement.ranges.iter().filter(|range| range.delivery_count >= delivery_limit) {
            tracing::warn!(
                "offsets {} to {} of {} are given back after their last delivery: the broker archives them",
                range.first,
                range.last,
                delivery.topic_partition(),
            );
        }
    }

    /// Waits for the next answer of the broker; `Err` if none is due. Cancel-safe.
    pub(super) async fn heard(&mut self) -> Result<Option<Renewed>, NoneDue> {
        match self.answers.join_next().await {
            None => Err(NoneDue),
            Some(Ok(Heard::Renewed(id, result))) => Ok(Some(self.renewed(id, result))),
            Some(Ok(Heard::Settled(verdict, records, result))) => {
                self.settled(verdict, records, result);
                Ok(None)
            }
            // The futures neither panic nor are they aborted.
            Some(Err(_)) => Ok(None),
        }
    }

    fn renewed(&mut self, id: DeliveryId, result: Result<(), AckError>) -> Renewed {
        match (result, self.held.get(&id)) {
            (Ok(()), Some(delivery)) => (id, Some(delivery.lock_deadline())),
            (Ok(()), None) => (id, None),
            (Err(error), delivery) => {
                if let Some(delivery) = delivery {
                    let records = delivery.len();
                    tracing::warn!("the lock on {records} records is lost, and they may come again: {error}");
                }
                self.held.remove(&id);
                (id, None)
            }
        }
    }

    fn settled(&mut self, verdict: Verdict, records: u64, result: Result<(), AckError>) {
        let count = match (verdict, &result) {
            (Verdict::Accept, Ok(())) => Count::Accepted,
            (Verdict::Release, Ok(())) => Count::Released,
            (Verdict::Accept, Err(error)) => {
                tracing::warn!("{records} records that were written will come again: {error}");
                Count::AckFailed
            }
            // They are back with the group one way or another.
            (Verdict::Release, Err(_)) => return,
        };
        self.counters.add(count, records);
    }

    /// What is held, for a message.
    pub(super) fn describe(&self) -> String {
        let held = self.held.values().flat_map(|delivery| {
            let partition = delivery.topic_partition();
            delivery.ranges().iter().map(move |range| format!("{partition} {}..={}", range.first, range.last))
        });
        held.collect::<Vec<_>>().join(", ")
    }
}

/// No answer is due.
#[derive(Debug)]
pub(super) struct NoneDue;

fn length(range: &AcquiredRange) -> u64 {
    range.last.abs_diff(range.first) + 1
}
