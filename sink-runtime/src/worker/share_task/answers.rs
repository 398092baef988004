//! How calls to the task ended, as the machine and the operator are told.

use std::time::Instant;

use ackflow_client::share::AcquiredRange;

use super::ShareTask;
use crate::{
    config::Tolerance,
    contract::{FailedRecord, PutOutcome, RecordFailure, SinkError},
    worker::{
        caller::{Answer, Put},
        counters::Count,
        machine::{CallError, DeliveryId, RangeFailure},
    },
};

impl ShareTask {
    pub(super) fn answered(&mut self, answer: Answer) {
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

    /// Says what is passed over: every record of it with `errors.log.enable`, else the first of a put.
    fn tell_skipped<'a>(&self, failures: impl Iterator<Item = &'a RangeFailure>) {
        let (mut records, mut first_trace) = (0, None);
        for RangeFailure { first, last, error, .. } in failures {
            if let CallError::Final { trace } = error {
                records += last.abs_diff(*first) + 1;
                first_trace.get_or_insert(trace);
                if self.plan.log_errors {
                    tracing::error!("{}: passed over: {trace}", self.plan);
                }
            }
        }
        self.counters.add(Count::Skipped, records);
        if let Some(trace) = first_trace.filter(|_| !self.plan.log_errors) {
            tracing::warn!("{}: passed over {records} records; the first: {trace}", self.plan);
        }
    }

    /// Counts and logs an error of a call.
    fn checked<T>(&mut self, result: Result<T, SinkError>) -> Result<T, CallError> {
        result.map_err(|error| {
            self.counters.add(Count::Failures, 1);
            let error = call_error(error);
            if let CallError::Retriable { trace, .. } = &error {
                tracing::warn!("{}: trying again: {trace}", self.plan);
                self.last_error.clone_from(trace);
            }
            error
        })
    }
}

fn call_error(error: SinkError) -> CallError {
    let trace = error.trace();
    match error {
        SinkError::Retriable { after, .. } => CallError::Retriable { after, trace },
        SinkError::Data(_) | SinkError::Config(_) | SinkError::Fatal(_) => CallError::Final { trace },
    }
}
