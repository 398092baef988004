//! The loop of one task: it does what the machine says, and tells the machine what comes of it.

mod answers;
mod member;

use std::{
    fmt,
    future::pending,
    hash::{BuildHasher, Hasher, RandomState},
    sync::Arc,
    time::{Duration, Instant},
};

use ackflow_client::{
    Admin, ClientError, ErrorKind,
    share::{Delivery, OwnedShareConsumer, ShareConsumerConfig, TopicPartition},
};
use tokio::{sync::watch, task::JoinHandle, time::sleep_until};
use tokio_util::sync::CancellationToken;

use super::{
    caller::Caller,
    counters::Counters,
    deliveries::Deliveries,
    machine::{Action, DeliveryId, Machine, Options, TaskState},
    status::TaskStatus,
};
use crate::{
    contract::{DynSinkTask, Offsets, SinkTaskContext},
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
    /// Of the last call that may succeed later.
    last_error: String,
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
            last_error: String::new(),
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
                    let (parts, records) = self.deliveries.lend(offsets);
                    self.parts = parts;
                    self.caller.put(records, self.plan.converters.clone());
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

    fn abandon(&mut self) {
        tracing::warn!(
            "{}: the task did not stop within task.shutdown.graceful.timeout.ms; letting go of it",
            self.plan
        );
        self.caller.abandon();
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
        let trace = match state {
            TaskState::Retrying => Some(self.last_error.as_str()),
            _ => trace,
        };
        self.status.send_modify(|status| {
            if status.state != state {
                match trace {
                    Some(trace) if state == TaskState::Failed => {
                        tracing::error!("{}: the task has failed: {trace}", self.plan);
                    }
                    _ => tracing::info!("{}: {state:?}", self.plan),
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
