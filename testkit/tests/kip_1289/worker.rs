//! A worker: a member of the share group and a transactional producer, the machines of both, and what moves bytes for them.

use std::collections::VecDeque;
use std::time::Duration;

use ackflow_protocol::machine::transaction::{
    FlushId, OperationId, TransactionError, TransactionEvent, TransactionMachine, TransactionOptions, TransactionStep,
};
use ackflow_protocol::machine::{Acquisition, Event, Output, ShareConsumerMachine, ShareConsumerOptions};

use crate::app::Task;
use crate::calls::Calls;
use crate::trace;
use crate::world::{GROUP, IN, What, World};
use crate::writer::Writer;

/// Something that a worker waits for.
#[derive(Debug)]
pub(crate) enum Step {
    /// The application asks for records.
    Poll,
    /// The work on the records is done.
    Worked,
    /// The application ends its transaction.
    End,
    /// A call fails that could not be sent.
    Failed(u64),
    /// What could not be written is tried again.
    Write(i32),
    /// A producer takes the place of one that was fenced.
    Init,
    /// A machine wants to be polled.
    Wake,
}

#[derive(Debug)]
pub(crate) struct Worker {
    pub(crate) index: usize,
    /// Counts the crashes.
    pub(crate) life: u32,
    pub(crate) consumer: ShareConsumerMachine,
    pub(crate) producer: TransactionMachine,
    pub(crate) calls: Calls,
    pub(crate) writer: Writer,
    pub(crate) task: Task,
    /// What was acquired and not taken by the application.
    pub(crate) buffer: VecDeque<Acquisition>,
    /// Whether the machine waits to hear that nothing is under way.
    pub(crate) flushes: Option<FlushId>,
    pub(crate) has_crashed: bool,
    pub(crate) answers: VecDeque<(OperationId, Result<(), TransactionError>)>,
}

impl Worker {
    pub(crate) fn new(world: &mut World, index: usize, life: u32) -> Self {
        let options = ShareConsumerOptions {
            max_poll_records: 20,
            fetch_max_records: 20,
            metadata_max_age: Duration::from_secs(1),
            default_api_timeout: Duration::from_secs(10),
            ..ShareConsumerOptions::new(GROUP, format!("m{index}-{life}"))
        };
        Self {
            index,
            life,
            consumer: ShareConsumerMachine::new(world.now, world.random.number(), options),
            producer: Self::producer(world, index),
            calls: Calls::default(),
            writer: Writer::default(),
            task: Task::Starting,
            buffer: VecDeque::new(),
            flushes: None,
            has_crashed: false,
            answers: VecDeque::new(),
        }
    }

    /// A producer that has not taken its transactional id over.
    fn producer(world: &mut World, index: usize) -> TransactionMachine {
        let options = TransactionOptions {
            transactional_id: format!("tx-{index}"),
            transaction_timeout: world.plan.transaction_timeout,
            retry_backoff: Duration::from_millis(50),
            retry_backoff_max: Duration::from_millis(500),
        };
        let mut producer = TransactionMachine::new(world.random.number(), options);
        producer.supports_v2(true);
        producer
    }

    pub(crate) fn begin(&mut self, world: &mut World) {
        self.consumer.subscribe(world.now, vec![IN.to_owned()]);
        self.init();
    }

    /// Another producer, in the place of one that can do nothing more.
    pub(crate) fn replace_producer(&mut self, world: &mut World) {
        world.count("producers_replaced");
        self.calls.forget_producer();
        self.producer = Self::producer(world, self.index);
        (self.writer, self.flushes) = (Writer::default(), None);
        self.task = Task::Starting;
        let step = Step::Init;
        let pause = world.random.millis(10, 300);
        world.after(pause, What::Worker { worker: self.index, life: self.life, step });
    }

    pub(crate) fn init(&mut self) {
        self.task = Task::Initializing(self.producer.init());
    }

    /// Whether it has nothing to do but to wait for records.
    pub(crate) fn is_idle(&self) -> bool {
        matches!(self.task, Task::Idle) && self.buffer.is_empty()
    }

    pub(crate) fn links(&self) -> Vec<u64> {
        self.calls.links()
    }

    pub(crate) fn step(&mut self, world: &mut World, step: Step) {
        match step {
            Step::Poll => self.poll(world),
            Step::Worked => self.worked(world),
            Step::End => self.end(world),
            Step::Failed(call) => self.call_failed(world, call),
            Step::Write(partition) => self.writer.again(partition),
            Step::Init if matches!(self.task, Task::Starting) => self.init(),
            Step::Init | Step::Wake => {}
        }
    }

    /// Does what the machines say until both wait.
    pub(crate) fn drain(&mut self, world: &mut World) {
        loop {
            let mut wake = loop {
                match self.consumer.poll(world.now) {
                    Output::Send { id, to, request, .. } => self.ask(world, id, &to, &request),
                    Output::Event(event) => self.hears(world, event),
                    Output::Wait(until) => break until,
                }
            };
            loop {
                match self.producer.poll(world.now) {
                    TransactionStep::Send { id, to, request, versions } => {
                        self.ask_for_producer(world, id, &to, &request, &versions);
                    }
                    TransactionStep::Event(TransactionEvent::Changed) => {}
                    TransactionStep::Event(TransactionEvent::Flush(flush)) => self.flushes = Some(flush),
                    TransactionStep::Event(TransactionEvent::Answered { id, result }) => {
                        self.answers.push_back((id, result));
                    }
                    TransactionStep::Wait(until) => {
                        wake = wake.into_iter().chain(until).min();
                        break;
                    }
                }
            }
            self.write(world);
            if let Some(flush) = self.flushes.filter(|_| self.writer.is_idle()) {
                self.flushes = None;
                self.producer.flushed(flush);
                continue;
            }
            if let Some((id, result)) = self.answers.pop_front() {
                self.operation_ended(world, id, result);
                continue;
            }
            if let Some(at) = wake {
                world.at(at, What::Worker { worker: self.index, life: self.life, step: Step::Wake });
            }
            return;
        }
    }

    fn hears(&mut self, world: &mut World, event: Event) {
        match event {
            Event::Acquired(acquisition) => self.buffer.push_back(acquisition),
            Event::SessionLost { session, .. } => self.drop_buffered(world, |one| one.session == session),
            Event::PartitionLost { session, topic_partition, .. } => {
                self.drop_buffered(world, |one| one.session == session && one.topic_partition == topic_partition);
            }
            Event::Failed(error) => {
                trace!(world, "w{} hears: {error}", self.index);
                assert!(!error.fatal, "the consumer is at its end: {error}");
            }
            Event::BadBatch { .. } => panic!("all batches are good"),
            _ => {}
        }
        if matches!(self.task, Task::Idle) && !self.buffer.is_empty() {
            world.after(Duration::ZERO, What::Worker { worker: self.index, life: self.life, step: Step::Poll });
        }
    }

    pub(crate) fn drop_buffered(&mut self, world: &World, is_lost: impl Fn(&Acquisition) -> bool) {
        let (lost, kept): (VecDeque<_>, VecDeque<_>) = self.buffer.drain(..).partition(|one| is_lost(one));
        self.buffer = kept;
        for lost in lost {
            self.consumer.dropped(world.now, &lost);
        }
    }
}
