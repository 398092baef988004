//! The task: what writes records.

use std::{future::Future, pin::Pin};

use super::{Offsets, PutOutcome, SinkError, SinkRecords, SinkTaskContext, TopicPartition};

/// Writes records to a destination. A worker makes `tasks.max` of them for a connector; each is used by one caller at a time.
///
/// The calls come in this order: `start`, then `open` once the group has assigned partitions, then `put` and `pre_commit` in turn, `close`
/// for partitions that go away, and at the end `close` for the rest and `stop`. Each returns a future; write them as `async fn`.
///
/// **When is a record accepted?** Under a share group the worker acknowledges a record as accepted when `put` returned with success, or,
/// if the task [buffers](Self::buffers), when the `pre_commit` after that `put` did. Until then the record is locked for this task, and
/// the worker renews the lock as long as calls run or are retried. So a record can be written twice (after a crash, or a lost lock) but
/// never be accepted unwritten.
///
/// **What may the futures do?** Wait and be slow. They may be dropped between two awaits when the worker has to stop and
/// `task.shutdown.graceful.timeout.ms` is over; the records of that call are then released, whatever was written. A panic fails the task.
pub trait SinkTask: Send {
    /// Gets ready: opens connections, checks that the destination is there. It is called once, before the task becomes a member of the
    /// group, so that an error costs no record a delivery attempt.
    fn start(&mut self, context: &SinkTaskContext) -> impl Future<Output = Result<(), SinkError>> + Send;

    /// Partitions were assigned. In a share group they are shared with other tasks: records of one partition go to several tasks at once,
    /// and no order among them is kept.
    fn open(&mut self, partitions: &[TopicPartition]) -> impl Future<Output = Result<(), SinkError>> + Send {
        let _ = partitions;
        async { Ok(()) }
    }

    /// Writes the records. It is called with none, too, each `offset.flush.interval.ms`, so that a task can act on time.
    ///
    /// `Ok` may name records that failed; an `Err` leaves the whole batch undecided, even if part of it was written. After a
    /// [retriable](SinkError::Retriable) error the same records come again.
    fn put(&mut self, records: &SinkRecords) -> impl Future<Output = Result<PutOutcome, SinkError>> + Send;

    /// Returns when everything that was put is durable.
    fn flush(&mut self) -> impl Future<Output = Result<(), SinkError>> + Send {
        async { Ok(()) }
    }

    /// Called when the worker wants to accept what was put, with the offset after the highest one put in each partition. The offsets that
    /// come back say what is durable. By default it flushes and echoes.
    ///
    /// A lower offset than was given holds back the records from there on; a partition that is left out holds back all of its records.
    /// Under a share group offsets say less than they seem to (see [`Offsets`]): a record that was released and comes again has a lower
    /// offset than others that are durable.
    fn pre_commit(&mut self, offsets: &Offsets) -> impl Future<Output = Result<Offsets, SinkError>> + Send {
        async {
            self.flush().await?;
            Ok(offsets.clone())
        }
    }

    /// Partitions are no longer assigned. What could be committed of them was.
    fn close(&mut self, partitions: &[TopicPartition]) -> impl Future<Output = ()> + Send {
        let _ = partitions;
        async {}
    }

    /// The last call.
    fn stop(&mut self) -> impl Future<Output = ()> + Send {
        async {}
    }

    /// Whether `put` may return before its records are durable. If so, they are accepted only after `pre_commit`, which the worker calls
    /// when `offset.flush.interval.ms` or half of the lock's time is over, whichever comes first, and earlier when so many records wait
    /// that the group would stall, or when the task [asks for it](SinkTaskContext::request_commit).
    fn buffers(&self) -> bool {
        false
    }
}

/// A future in a box, as [`DynSinkTask`] gives it.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// [`SinkTask`] as an object: each of its futures in a box, one allocation a batch. Every `SinkTask` is one.
pub trait DynSinkTask: Send {
    /// [`SinkTask::start`].
    fn start<'a>(&'a mut self, context: &'a SinkTaskContext) -> BoxFuture<'a, Result<(), SinkError>>;
    /// [`SinkTask::open`].
    fn open<'a>(&'a mut self, partitions: &'a [TopicPartition]) -> BoxFuture<'a, Result<(), SinkError>>;
    /// [`SinkTask::put`].
    fn put<'a>(&'a mut self, records: &'a SinkRecords) -> BoxFuture<'a, Result<PutOutcome, SinkError>>;
    /// [`SinkTask::flush`].
    fn flush(&mut self) -> BoxFuture<'_, Result<(), SinkError>>;
    /// [`SinkTask::pre_commit`].
    fn pre_commit<'a>(&'a mut self, offsets: &'a Offsets) -> BoxFuture<'a, Result<Offsets, SinkError>>;
    /// [`SinkTask::close`].
    fn close<'a>(&'a mut self, partitions: &'a [TopicPartition]) -> BoxFuture<'a, ()>;
    /// [`SinkTask::stop`].
    fn stop(&mut self) -> BoxFuture<'_, ()>;
    /// [`SinkTask::buffers`].
    fn buffers(&self) -> bool;
}

impl<T: SinkTask> DynSinkTask for T {
    fn start<'a>(&'a mut self, context: &'a SinkTaskContext) -> BoxFuture<'a, Result<(), SinkError>> {
        Box::pin(SinkTask::start(self, context))
    }

    fn open<'a>(&'a mut self, partitions: &'a [TopicPartition]) -> BoxFuture<'a, Result<(), SinkError>> {
        Box::pin(SinkTask::open(self, partitions))
    }

    fn put<'a>(&'a mut self, records: &'a SinkRecords) -> BoxFuture<'a, Result<PutOutcome, SinkError>> {
        Box::pin(SinkTask::put(self, records))
    }

    fn flush(&mut self) -> BoxFuture<'_, Result<(), SinkError>> {
        Box::pin(SinkTask::flush(self))
    }

    fn pre_commit<'a>(&'a mut self, offsets: &'a Offsets) -> BoxFuture<'a, Result<Offsets, SinkError>> {
        Box::pin(SinkTask::pre_commit(self, offsets))
    }

    fn close<'a>(&'a mut self, partitions: &'a [TopicPartition]) -> BoxFuture<'a, ()> {
        Box::pin(SinkTask::close(self, partitions))
    }

    fn stop(&mut self) -> BoxFuture<'_, ()> {
        Box::pin(SinkTask::stop(self))
    }

    fn buffers(&self) -> bool {
        SinkTask::buffers(self)
    }
}
