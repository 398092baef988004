//! The loop of one task: it does what the machine says, and tells the machine what comes of it.

use std::{
    fmt,
    future::pending,
    hash::{BuildHasher, Hasher, RandomState},
    sync::Arc,
    time::{Duration, Instant},
};

use ackflow_client::{
    Admin, ClientError, ErrorKind,
    share::{AcquiredRange, Delivery, OwnedShareConsumer, ShareConsumerConfig, TopicPartition},
};
use tokio::{sync::watch, task::JoinHandle, time::sleep_until};
use tokio_util::sync::CancellationToken;

use super::{
    caller::{Answer, Caller, Put},
    counters::{Count, Counters},
    deliveries::Deliveries,
    group,
    machine::{Action, CallError, DeliveryId, Machine, Options, RangeFailure},
    status::TaskStatus,
};
use crate::{
    config::Tolerance,
    contract::{DynSinkTask, FailedRecord, Offsets, PutOutcome, RecordFailure, SinkError, SinkTaskContext},
    convert::Converters,
};

/// What a task is made of.
pub(super) struct Plan {
    pub(super) connector: Arc<str>,
    pub(super) number: u32,
    pub(super) topics: Vec<String>,
    pub(super) consumer: ShareConsumerConfig,
    pub(super) options: Options,
    pub(super) converters: Arc<Converters>,
    /// Whether records that are passed over are logged.
    pub(super) log_errors: bool,
    pub(super) admin: Admin,
}

pub(super) struct ShareTask {
    plan: Plan,
    machine: Machine,
    caller: Caller,
    context: SinkTaskContext,
    consumer: Option<OwnedShareConsumer>,
    is_paused: bool,
    deliveries: Deliveries,
    /// The deliveries of the put that runs, in the order of its parts.
    parts: Vec<DeliveryId>,
    /// What was put and is not accepted.
    put_offsets: Offsets,
    opened: Arc<[TopicPartition]>,
    leaving: Option<JoinHandle<Result<(), ClientError>>>,
    reading_limit: Option<JoinHandle<Result<i16, ClientError>>>,
    delivery_limit: i16,
    is_holding: bool,
    counters: Arc<Counters>,
    status: watch::Sender<TaskStatus>,
    stop: CancellationToken,
    is_stopping: bool,
}

/// How often to look whether the assignment has changed.
const ASSIGNMENT_CHECK: Duration = Duration::from_millis(250);

/// How long to wait for the broker's last answers after the group was left.
const LAST_ANSWERS: Duration = Duration::from_millis(500);

impl ShareTask {
    pub(super) fn new(
        plan: Plan,
        task: Box<dyn DynSinkTask>,
        counters: Arc<Counters>,
        status: watch::Sender<TaskStatus>,
        stop: CancellationToken,
    ) -> Self {
        let seed = RandomState::new().build_hasher().finish();
        Self {
            machine: Machine::new(Instant::now(), seed, plan.options.clone()),
            caller: Caller::new(task),
            context: SinkTaskContext::new(plan.connector.clone(), plan.number),
            consumer: None,
            is_paused: false,
            deliveries: Deliveries::new(counters.clone()),
            parts: Vec::new(),
            put_offsets: Offsets::new(),
            opened: Arc::from([]),
            leaving: None,
            reading_limit: None,
            delivery_limit: plan.options.delivery_limit,
            is_holding: false,
            counters,
            status,
            stop,
            is_stopping: false,
            plan,
        }
    }

    /// Runs the task until it has ended. Dropped, it lets go of everything at once, as if the process had died.
    pub(super) async fn run(mut self) {
        loop {
            match self.machine.poll(Instant::now()) {
                Action::Start => self.caller.start(self.context.clone()),
                Action::Subscribe => self.subscribe(),
                Action::Reassign => self.reassign(),
                Action::Put(offsets) => {
                    self.parts = offsets.iter().map(|(id, _)| *id).collect();
                    self.caller.put(self.deliveries.lend(&offsets), self.plan.converters.clone());
                }
                Action::Commit => self.caller.commit(self.put_offsets.clone()),
                Action::StopTask => self.caller.stop(self.opened.clone()),
                Action::Abandon => self.abandon(),
                Action::Renew(ids) => self.deliveries.renew(&ids),
                Action::Settle(settlements) => self.deliveries.settle(settlements, self.delivery_limit),
                Action::TakeOver => self.take_over().await,
                Action::ReadLimit => self.read_limit(),
                Action::Leave(within) => self.leave(within),
                Action::Wait { until, take } => {
                    self.publish();
                    self.wait(until, take).await;
                }
                Action::Ended => break,
            }
        }
        self.hear_the_last().await;
        self.publish();
        self.status.send_modify(|status| status.has_ended = true);
    }

    /// Waits for whatever comes first.
    async fn wait(&mut self, until: Option<Instant>, take: bool) {
        let consumer = self.consumer.as_mut().filter(|_| take);
        if let Some(consumer) = consumer.filter(|_| std::mem::take(&mut self.is_paused)) {
            consumer.resume();
        }
        let is_member = self.consumer.is_some();
        let consumer = self.consumer.as_mut().filter(|_| take);
        let check = is_member.then(|| Instant::now() + ASSIGNMENT_CHECK);
        tokio::select! {
            answer = self.caller.answer() => self.answered(answer),
            Ok(renewed) = self.deliveries.heard() => {
                if let Some((id, lock_deadline)) = renewed {
                    self.machine.renewed(id, lock_deadline);
                }
            }
            polled = poll(consumer) => self.polled(polled),
            () = self.context.commit_requested() => self.machine.commit_requested(Instant::now()),
            () = self.stop.cancelled(), if !self.is_stopping => {
                self.is_stopping = true;
                self.machine.stop(Instant::now());
            }
            left = join(&mut self.leaving) => self.left(left),
            limit = join(&mut self.reading_limit) => self.limit_read(limit),
            () = sleep(until) => {}
            () = sleep(check) => self.check_assignment(),
        }
    }

    fn subscribe(&mut self) {
        let subscribed = OwnedShareConsumer::new(self.plan.consumer.clone()).and_then(|mut consumer| {
            consumer.subscribe(self.plan.topics.iter().cloned())?;
            Ok(consumer)
        });
        match subscribed {
            Ok(consumer) => self.consumer = Some(consumer),
            Err(error) => self.machine.consumer_failed(error.to_string()),
        }
    }

    fn check_assignment(&mut self) {
        let Some(consumer) = &self.consumer else { return };
        let mut assignment = consumer.assignment();
        assignment.sort_unstable();
        if assignment[..] != *self.context.assignment() {
            self.context.set_assignment(assignment.into());
            self.machine.assignment_changed();
        }
    }

    fn reassign(&mut self) {
        let assignment = self.context.assignment();
        let missing = |of: &[TopicPartition], from: &[TopicPartition]| {
            of.iter().filter(|partition| !from.contains(partition)).cloned().collect::<Vec<_>>()
        };
        let (revoked, added) = (missing(&self.opened, &assignment), missing(&assignment, &self.opened));
        self.opened = assignment;
        self.caller.reassign(revoked, added);
    }

    /// Takes in what a poll gave, together with what else is there, up to one put.
    fn polled(&mut self, polled: Result<Option<Delivery>, ClientError>) {
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
    fn received(&mut self, polled: Result<Option<Delivery>, ClientError>) -> Option<u64> {
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

    async fn take_over(&mut self) {
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

    fn answered(&mut self, answer: Answer) {
        let now = Instant::now();
        match answer {
            Answer::Started(result) => {
                let result = self.checked(result);
                self.machine.started(now, result);
            }
            Answer::Reassigned(result) => {
                let result = self.checked(result);
                self.machine.reassigned(result);
            }
            Answer::Put(put) => self.put_finished(now, put),
            Answer::Committed(result) => {
                let result = self.checked(result).map(|offsets| self.deliveries.durable(&offsets));
                self.machine.committed(now, result);
                self.put_offsets.retain(|partition, _| self.deliveries.is_any_of(partition));
            }
            Answer::Stopped => self.machine.task_stopped(),
            Answer::Panicked(trace) => {
                self.counters.add(Count::Failures, 1);
                self.machine.panicked(trace);
            }
        }
    }

    fn put_finished(&mut self, now: Instant, put: Put) {
        self.counters.add(Count::Put, put.records as u64);
        self.counters.add(Count::Redelivered, put.redelivered as u64);
        let result = self.checked(put.result).map(|outcome| {
            let mut failures = self.refused(put.refused);
            failures.extend(self.failed(outcome));
            for (partition, offset) in put.offsets {
                let end = self.put_offsets.entry(partition).or_insert(offset);
                *end = offset.max(*end);
            }
            failures
        });
        if self.plan.options.tolerance == Tolerance::All {
            self.tell_skipped(result.iter().flatten());
        }
        self.machine.put_finished(now, result);
    }

    /// What no record could be made of.
    fn refused(&self, refused: Vec<RecordFailure>) -> Vec<RangeFailure> {
        let failure = |RecordFailure { part, range: AcquiredRange { first, last, .. }, error }| {
            let delivery = *self.parts.get(part)?;
            let trace = format!("{}: {error}", self.place(delivery, first, last));
            Some(RangeFailure { delivery, first, last, error: CallError::Final { trace } })
        };
        refused.into_iter().filter_map(failure).collect()
    }

    /// What the task says was not written.
    fn failed(&self, outcome: PutOutcome) -> Vec<RangeFailure> {
        let failure = |FailedRecord { id, error }| {
            let (delivery, offset) = (*self.parts.get(id.part as usize)?, id.offset);
            let place = self.place(delivery, offset, offset);
            let error = match call_error(error) {
                CallError::Retriable { after, trace } => {
                    CallError::Retriable { after, trace: format!("{place}: {trace}") }
                }
                CallError::Final { trace } => CallError::Final { trace: format!("{place}: {trace}") },
            };
            Some(RangeFailure { delivery, first: offset, last: offset, error })
        };
        outcome.into_failed().into_iter().filter_map(failure).collect()
    }

    /// Offsets of a delivery, for a message.
    fn place(&self, delivery: DeliveryId, first: i64, last: i64) -> String {
        let partition = self.deliveries.partition(delivery).map(|partition| partition.to_string()).unwrap_or_default();
        if first == last {
            format!("{partition} offset {first}")
        } else {
            format!("{partition} offsets {first}..={last}")
        }
    }

    fn tell_skipped<'a>(&self, failures: impl Iterator<Item = &'a RangeFailure>) {
        for RangeFailure { first, last, error, .. } in failures {
            if let CallError::Final { trace } = error {
                self.counters.add(Count::Skipped, last.abs_diff(*first) + 1);
                if self.plan.log_errors {
                    tracing::error!("{}: passed over: {trace}", self.plan);
                }
            }
        }
    }

    /// Counts and logs an error of a call.
    fn checked<T>(&self, result: Result<T, SinkError>) -> Result<T, CallError> {
        result.map_err(|error| {
            self.counters.add(Count::Failures, 1);
            let error = call_error(error);
            if let CallError::Retriable { trace, .. } = &error {
                tracing::warn!("{}: trying again: {trace}", self.plan);
            }
            error
        })
    }

    fn abandon(&mut self) {
        tracing::warn!(
            "{}: the task did not stop within task.shutdown.graceful.timeout.ms; letting go of it",
            self.plan
        );
        self.caller.abandon();
    }

    fn leave(&mut self, within: Duration) {
        match self.consumer.take() {
            Some(consumer) => self.leaving = Some(tokio::spawn(consumer.close(within))),
            None => self.machine.left(),
        }
    }

    fn left(&mut self, left: Result<(), ClientError>) {
        if let Err(error) = left {
            tracing::warn!("{}: {error}", self.plan);
        }
        self.machine.left();
    }

    fn read_limit(&mut self) {
        if self.reading_limit.is_none() {
            let (admin, group) = (self.plan.admin.clone(), self.plan.consumer.group_id.clone());
            self.reading_limit = Some(tokio::spawn(async move { group::delivery_limit(&admin, &group).await }));
        }
    }

    fn limit_read(&mut self, limit: Result<i16, ClientError>) {
        match limit {
            Ok(limit) => {
                self.delivery_limit = limit;
                self.machine.limit_read(limit);
            }
            Err(error) => tracing::warn!("{}: {error}", self.plan),
        }
    }

    /// The broker's last answers: after the consumer was closed none is long in coming.
    async fn hear_the_last(&mut self) {
        let answers = async { while self.deliveries.heard().await.is_ok() {} };
        // What is not answered now is counted as neither accepted nor failed.
        let _ = tokio::time::timeout(LAST_ANSWERS, answers).await;
    }

    fn publish(&mut self) {
        let state = self.machine.state();
        let (trace, held) = (self.machine.failure(), self.machine.records_held());
        let is_holding = self.machine.is_holding();
        if is_holding && !std::mem::replace(&mut self.is_holding, is_holding) {
            tracing::error!(
                "{}: holding {held} records that the broker would archive if they were given back ({}); raise share.delivery.count.limit \
                 of the group {} to have them handed out again, or stop the worker to give them up",
                self.plan,
                self.deliveries.describe(),
                self.plan.consumer.group_id,
            );
        }
        self.status.send_modify(|status| {
            if status.state != state {
                match trace {
                    Some(trace) => tracing::error!("{}: the task has failed: {trace}", self.plan),
                    None => tracing::info!("{}: {state:?}", self.plan),
                }
                status.trace = trace.map(str::to_owned);
            }
            (status.state, status.held) = (state, held);
        });
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.connector, self.number)
    }
}

fn call_error(error: SinkError) -> CallError {
    let trace = error.trace();
    match error {
        SinkError::Retriable { after, .. } => CallError::Retriable { after, trace },
        SinkError::Data(_) | SinkError::Config(_) | SinkError::Fatal(_) => CallError::Final { trace },
    }
}

/// What the consumer gives; never, if there is none to poll.
async fn poll(consumer: Option<&mut OwnedShareConsumer>) -> Result<Option<Delivery>, ClientError> {
    match consumer {
        Some(consumer) => consumer.poll(Duration::MAX).await,
        None => pending().await,
    }
}

/// What a spawned call gives; never, if there is none.
async fn join<T>(handle: &mut Option<JoinHandle<Result<T, ClientError>>>) -> Result<T, ClientError> {
    let Some(running) = handle else { return pending().await };
    let joined = running.await;
    *handle = None;
    joined.unwrap_or_else(|error| Err(ClientError::new(ErrorKind::Closed, "waiting for a call", error.to_string())))
}

async fn sleep(until: Option<Instant>) {
    match until {
        Some(until) => sleep_until(until.into()).await,
        None => pending().await,
    }
}
