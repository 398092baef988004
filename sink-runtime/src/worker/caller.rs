//! Calls to the task: one at a time, each on a tokio task of its own, so that the worker keeps the locks whatever the call does. A panic ends
//! the call and not the worker.

use std::{any::Any, future::Future, future::pending, sync::Arc};

use ackflow_client::share::LentRecords;
use tokio::task::JoinHandle;

use crate::{
    contract::{
        DynSinkTask, Offsets, PutOutcome, RecordFailure, SinkError, SinkRecords, SinkTaskContext, TopicPartition,
    },
    convert::Converters,
};

/// The task, either here or in a call.
pub(super) struct Caller {
    task: Option<Box<dyn DynSinkTask>>,
    call: Option<JoinHandle<(Box<dyn DynSinkTask>, Answer)>>,
}

/// How a call ended.
#[derive(Debug)]
pub(super) enum Answer {
    Started(Result<(), SinkError>),
    Reassigned(Result<(), SinkError>),
    Put(Put),
    Committed(Result<Offsets, SinkError>),
    Stopped,
    /// It panicked, with this message; the task is gone.
    Panicked(String),
}

/// How a put ended.
#[derive(Debug)]
pub(super) struct Put {
    /// How many records it was called with.
    pub(super) records: usize,
    /// Where it ended in each partition, if the task buffers.
    pub(super) offsets: Offsets,
    /// What no record could be made of.
    pub(super) refused: Vec<RecordFailure>,
    pub(super) result: Result<PutOutcome, SinkError>,
}

impl Caller {
    pub(super) fn new(task: Box<dyn DynSinkTask>) -> Self {
        Self { task: Some(task), call: None }
    }

    pub(super) fn start(&mut self, context: SinkTaskContext) {
        self.begin(|mut task| async move {
            let result = task.start(&context).await;
            (task, Answer::Started(result))
        });
    }

    pub(super) fn reassign(&mut self, revoked: Vec<TopicPartition>, added: Vec<TopicPartition>) {
        self.begin(|mut task| async move {
            if !revoked.is_empty() {
                task.close(&revoked).await;
            }
            let result = if added.is_empty() { Ok(()) } else { task.open(&added).await };
            (task, Answer::Reassigned(result))
        });
    }

    /// Puts the records that can be made of `parts`. With parts but no record that can be, the task is not called.
    pub(super) fn put(&mut self, parts: Vec<LentRecords>, converters: Arc<Converters>) {
        self.begin(|mut task| async move {
            let is_on_time = parts.is_empty();
            let (records, refused) = SinkRecords::prepare(parts, converters);
            let result =
                if records.is_empty() && !is_on_time { Ok(PutOutcome::ok()) } else { task.put(&records).await };
            let offsets = if task.buffers() { records.end_offsets() } else { Offsets::new() };
            let put = Put { records: records.len(), offsets, refused, result };
            (task, Answer::Put(put))
        });
    }

    pub(super) fn commit(&mut self, offsets: Offsets) {
        self.begin(|mut task| async move {
            let result = task.pre_commit(&offsets).await;
            (task, Answer::Committed(result))
        });
    }

    pub(super) fn stop(&mut self, partitions: Arc<[TopicPartition]>) {
        self.begin(|mut task| async move {
            if !partitions.is_empty() {
                task.close(&partitions).await;
            }
            task.stop().await;
            (task, Answer::Stopped)
        });
    }

    fn begin<F>(&mut self, call: impl FnOnce(Box<dyn DynSinkTask>) -> F)
    where
        F: Future<Output = (Box<dyn DynSinkTask>, Answer)> + Send + 'static,
    {
        let task = self.task.take().expect("the machine makes one call at a time, and none of a task that is gone");
        self.call = Some(tokio::spawn(call(task)));
    }

    /// How the call that runs ends; never, if none runs. Cancel-safe.
    pub(super) async fn answer(&mut self) -> Answer {
        let Some(call) = &mut self.call else { return pending().await };
        let ended = call.await;
        self.call = None;
        match ended {
            Ok((task, answer)) => {
                self.task = Some(task);
                answer
            }
            Err(error) => Answer::Panicked(match error.try_into_panic() {
                Ok(panic) => format!("the task panicked: {}", message(panic.as_ref())),
                Err(error) => error.to_string(),
            }),
        }
    }

    /// Drops the call that runs, and the task with it, as soon as it waits for something.
    pub(super) fn abandon(&mut self) {
        if let Some(call) = self.call.take() {
            call.abort();
        }
        self.task = None;
    }
}

impl Drop for Caller {
    fn drop(&mut self) {
        self.abandon();
    }
}

fn message(panic: &(dyn Any + Send)) -> &str {
    match (panic.downcast_ref::<&str>(), panic.downcast_ref::<String>()) {
        (Some(text), _) => text,
        (_, Some(text)) => text,
        _ => "no message",
    }
}
