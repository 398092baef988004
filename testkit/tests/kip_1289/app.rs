//! The application of a worker: it reads, writes, and has both count together.

use std::time::Duration;

use ackflow_protocol::machine::transaction::{
    OperationId, ShareAcknowledgements, ShareGroupMetadata, SourceAcknowledgements, TransactionError,
};
use ackflow_protocol::machine::{AckRange, AckType, Acquisition};

use crate::trace;
use crate::worker::{Step, Worker};
use crate::world::{GROUP, What, World, is_poison};

/// How often an application without records asks for some.
const POLL: Duration = Duration::from_millis(500);

/// What it is at.
#[derive(Debug)]
pub(crate) enum Task {
    /// There is no producer yet.
    Starting,
    Initializing(OperationId),
    Idle,
    /// At work on records; what it makes of them is written already.
    Working(Vec<Acquisition>),
    Staging(OperationId),
    /// The acknowledgements are in the transaction.
    Staged,
    Ending {
        commits: bool,
        id: OperationId,
    },
}

impl Worker {
    fn later(&self, world: &mut World, delay: Duration, step: Step) {
        world.after(delay, What::Worker { worker: self.index, life: self.life, step });
    }

    pub(crate) fn poll(&mut self, world: &mut World) {
        if !matches!(self.task, Task::Idle) {
            return;
        }
        let now = world.now;
        self.consumer.polled(now);
        self.drop_buffered(world, |acquisition| acquisition.lock_deadline <= now);
        let count = (world.random.between(1, 3) as usize).min(self.buffer.len());
        let taken: Vec<Acquisition> = self.buffer.drain(..count).collect();
        if taken.is_empty() {
            return self.later(world, POLL, Step::Poll);
        }
        self.consumer.taken(now, taken.iter().map(|acquisition| acquisition.records).sum());
        self.producer.begin().expect("the producer is ready");
        world.count("transactions");
        for acquisition in &taken {
            trace!(world, "w{} takes {}@{:?}", self.index, acquisition.topic_partition.partition, acquisition.ranges);
            for value in values(acquisition).map(|(_, value)| value).filter(|value| !is_poison(*value)) {
                self.writer.put((value % world.plan.outputs as u64) as i32, value);
            }
        }
        self.task = Task::Working(taken);
        // So slow that the locks end.
        let slow = world.is_active() && world.random.percent(world.plan.slow);
        let work = if slow { world.plan.lock + world.random.millis(0, 2_000) } else { world.random.micros(0, 5_000) };
        self.later(world, work, Step::Worked);
    }

    /// The acknowledgements go into the transaction, and are the consumer's no more.
    pub(crate) fn worked(&mut self, world: &mut World) {
        let Task::Working(taken) = &self.task else { return };
        let mut acknowledgements = ShareAcknowledgements::default();
        for acquisition in taken {
            let (id, partition) = (acquisition.id(), acquisition.topic_partition);
            let Some(leader) = self.consumer.address_of(acquisition.session).cloned() else { continue };
            let said = values(acquisition).map(|(offset, value)| {
                let ack = if is_poison(value) { AckType::Reject } else { AckType::Accept };
                AckRange { first: offset, last: offset, ack }
            });
            let source = SourceAcknowledgements {
                leader,
                topic: acquisition.topic.clone(),
                topic_partition: partition,
                ranges: said.collect(),
            };
            acknowledgements.add(source).expect("nothing is released or renewed");
            self.consumer.handed_over(world.now, id, partition, &acquisition.ranges);
        }
        let member = ShareGroupMetadata {
            group_id: GROUP.to_owned(),
            member_id: self.consumer.options().member_id.clone(),
            // Outside the group it has none, and the group will say so.
            member_epoch: self.consumer.member_epoch().unwrap_or(0),
        };
        self.task = Task::Staging(self.producer.send_share_acknowledgements(acknowledgements, member));
        // Some do not wait for the brokers: the end of the transaction does.
        if world.random.percent(20) {
            self.task = Task::Staged;
            self.end(world);
        }
    }

    /// Ends the transaction as the application wants it.
    pub(crate) fn end(&mut self, world: &mut World) {
        if !matches!(self.task, Task::Staged) {
            return;
        }
        let commits = !(world.is_active() && world.random.percent(world.plan.aborts));
        let id = if commits { self.producer.commit() } else { self.producer.abort() };
        self.task = Task::Ending { commits, id };
    }

    fn abort(&mut self, world: &mut World) {
        world.count("aborts_of_errors");
        self.task = Task::Ending { commits: false, id: self.producer.abort() };
    }

    pub(crate) fn operation_ended(&mut self, world: &mut World, id: OperationId, result: Result<(), TransactionError>) {
        trace!(world, "w{} {:?}: {result:?}", self.index, self.task);
        let is_ours = match &self.task {
            Task::Initializing(ours) | Task::Staging(ours) | Task::Ending { id: ours, .. } => *ours == id,
            _ => false,
        };
        if !is_ours {
            return;
        }
        match (result, &self.task) {
            (Ok(()), Task::Staging(_)) => {
                self.task = Task::Staged;
                // So slow that the coordinator gives the transaction up.
                let slow = world.is_active() && world.random.percent(world.plan.slow / 4);
                let time = world.plan.transaction_timeout;
                let pause = if slow { time + world.random.millis(0, 500) } else { world.random.micros(0, 2_000) };
                self.later(world, pause, Step::End);
            }
            (Ok(()), Task::Ending { commits, .. }) => {
                world.count(if *commits { "commits" } else { "aborts" });
                self.become_idle(world);
            }
            (Ok(()), _) => self.become_idle(world),
            (Err(error), _) if error.is_abortable => self.abort(world),
            (Err(error), _) => {
                trace!(world, "w{} needs another producer: {error}", self.index);
                self.replace_producer(world);
            }
        }
    }

    fn become_idle(&mut self, world: &mut World) {
        self.writer.next_transaction();
        self.task = Task::Idle;
        self.later(world, Duration::ZERO, Step::Poll);
    }
}

/// The records of an acquisition: offset and value.
fn values(acquisition: &Acquisition) -> impl Iterator<Item = (i64, u64)> {
    let records = acquisition.batches.iter().flat_map(|batch| batch.records());
    let records = records.map(|record| {
        let record = record.expect("it is whole");
        let value = record.value.expect("it has a value");
        (record.offset, u64::from_be_bytes(value.try_into().expect("eight bytes")))
    });
    records.filter(|(offset, _)| acquisition.ranges.iter().any(|range| (range.first..=range.last).contains(offset)))
}
