//! The task as a member of its group: joining, what it is assigned, taking records over, leaving.

use std::time::Duration;

use ackflow_client::{
    ClientError,
    share::{Delivery, OwnedShareConsumer, TopicPartition},
};

use super::ShareTask;
use crate::worker::group;

impl ShareTask {
    pub(super) fn subscribe(&mut self) {
        let subscribed = OwnedShareConsumer::new(self.plan.consumer.clone()).and_then(|mut consumer| {
            consumer.subscribe(self.plan.topics.iter().cloned())?;
            Ok(consumer)
        });
        match subscribed {
            Ok(consumer) => self.consumer = Some(consumer),
            Err(error) => self.machine.consumer_failed(error.to_string()),
        }
    }

    pub(super) fn check_assignment(&mut self) {
        let Some(consumer) = &self.consumer else { return };
        let mut assignment = consumer.assignment();
        assignment.sort_unstable();
        if assignment[..] != *self.context.assignment() {
            self.context.set_assignment(assignment.into());
            self.machine.assignment_changed();
        }
    }

    pub(super) fn reassign(&mut self) {
        let assignment = self.context.assignment();
        let missing = |of: &[TopicPartition], from: &[TopicPartition]| {
            of.iter().filter(|partition| !from.contains(partition)).cloned().collect::<Vec<_>>()
        };
        let (revoked, added) = (missing(&self.opened, &assignment), missing(&assignment, &self.opened));
        self.opened = assignment;
        self.caller.reassign(revoked, added);
    }

    /// Takes in what a poll gave, together with what else is there, up to one put.
    pub(super) fn polled(&mut self, polled: Result<Option<Delivery>, ClientError>) {
        let mut received = self.received(polled);
        let mut records = 0;
        while let Some(more) = received {
            records += more;
            let next = self.consumer.as_mut().filter(|_| records < self.plan.options.most_put);
            let next = next.and_then(OwnedShareConsumer::try_poll);
            received = self.received(Ok(next));
        }
        self.check_assignment();
    }

    /// Takes in what a poll gave; how many records it was.
    pub(super) fn received(&mut self, polled: Result<Option<Delivery>, ClientError>) -> Option<u64> {
        match polled {
            Ok(delivery) => {
                let delivery = delivery?;
                let records = delivery.len() as u64;
                self.machine.delivered(self.deliveries.insert(delivery));
                Some(records)
            }
            Err(error) => {
                if self.consumer.as_ref().is_some_and(|consumer| consumer.failure().is_some()) {
                    self.machine.consumer_failed(error.to_string());
                } else {
                    tracing::warn!("{}: {error}", self.plan);
                }
                None
            }
        }
    }

    pub(super) async fn take_over(&mut self) {
        if let Some(consumer) = self.consumer.as_mut().filter(|_| !self.is_paused) {
            consumer.pause();
            self.is_paused = true;
        }
        while let Some(consumer) = &mut self.consumer {
            let polled = consumer.poll(Duration::ZERO).await;
            if self.received(polled).is_none() {
                break;
            }
        }
        self.check_assignment();
    }

    pub(super) fn leave(&mut self, within: Duration) {
        match self.consumer.take() {
            Some(consumer) => self.leaving = Some(tokio::spawn(consumer.close(within))),
            None => self.machine.left(),
        }
    }

    pub(super) fn left(&mut self, left: Result<(), ClientError>) {
        if let Err(error) = left {
            tracing::warn!("{}: {error}", self.plan);
        }
        self.machine.left();
    }

    pub(super) fn read_limit(&mut self) {
        if self.reading_limit.is_none() {
            let (admin, group) = (self.plan.admin.clone(), self.plan.consumer.group_id.clone());
            self.reading_limit = Some(tokio::spawn(async move { group::delivery_limit(&admin, &group).await }));
        }
    }

    pub(super) fn limit_read(&mut self, limit: Result<i16, ClientError>) {
        match limit {
            Ok(limit) => {
                self.delivery_limit = limit;
                self.machine.limit_read(limit);
            }
            Err(error) => tracing::warn!("{}: {error}", self.plan),
        }
    }
}
