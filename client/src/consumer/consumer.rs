//! The consumer as Kafka has it: one owner polls, and says what was done.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use ackflow_protocol::machine::consumer::{Answer, Position, SeekTo};
use ackflow_protocol::wire::Uuid;

use super::config::ConsumerConfig;
use super::failures;
use super::handle::{COMMITTING, Handle, Reading, SUBSCRIBING, deadline};
use super::link::Command;
use super::rebalance::RebalanceListener;
use super::records::ConsumerRecords;
use super::{OffsetAndMetadata, OffsetAndTimestamp, Offsets, TopicPartition};
use crate::deserialize::{ByteArrayDeserializer, Deserializer, Deserializers};
use crate::error::{ClientError, ErrorKind};
use crate::metrics::Metrics;
use crate::producer::GroupMetadata;
use crate::share::check_topic;

/// A member of a consumer group by KIP-848, or a reader of partitions of its own choice.
///
/// With `enable.auto.commit`, the default, what earlier polls have handed out is committed by a later one, once a
/// `auto.commit.interval.ms`, before partitions go to others, and by [`close`](Self::close). Without it the application
/// [commits](Self::commit).
///
/// An error of `poll` is not the end: it is told once, and polling goes on. After one that cannot pass, such as a missing permission, every
/// call gives that error, and [`failure`](Self::failure) has it. A batch that cannot be read is an error of every poll that has nothing else
/// to hand out, until its partition is [sought](Self::seek) past it.
///
/// A consumer that is dropped leaves its group in the background, as far as its runtime lives on, and commits nothing: `close` does.
///
/// Keys and values are bytes unless [`with_deserializers`](Self::with_deserializers) says otherwise.
pub struct Consumer<K = ByteArrayDeserializer, V = ByteArrayDeserializer> {
    handle: Handle,
    deserializers: Arc<Deserializers<K, V>>,
}

impl Consumer {
    /// Makes a consumer whose keys and values are bytes. Call it inside a tokio runtime with I/O and time enabled; nothing is sent before
    /// there is anything to read.
    ///
    /// # Errors
    /// [`ErrorKind::Config`] for settings that cannot work, [`ErrorKind::Invalid`] outside a runtime.
    pub fn new(config: ConsumerConfig) -> Result<Self, ClientError> {
        Self::with_deserializers(config, ByteArrayDeserializer, ByteArrayDeserializer)
    }
}

impl<K: Deserializer, V: Deserializer> Consumer<K, V> {
    /// As [`Consumer::new`], with a [`Deserializer`] each for keys and values. A record that one of them refuses is an error of the iteration
    /// over [`ConsumerRecords`], which names its topic, partition and offset; it counts as handed out.
    ///
    /// # Errors
    /// As [`Consumer::new`].
    pub fn with_deserializers(config: ConsumerConfig, key: K, value: V) -> Result<Self, ClientError> {
        Ok(Self::with(Handle::start(&config)?, key, value))
    }

    pub(super) fn with(handle: Handle, key: K, value: V) -> Self {
        Self { handle, deserializers: Arc::new(Deserializers { key, value }) }
    }

    /// Reads these topics from now on, as a member of the group, instead of what was read before; with none, as
    /// [`unsubscribe`](Self::unsubscribe). A topic that does not exist is reported by `poll`, and read as soon as it does. Does not wait.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for what is no name of a topic and without `group.id`, and the error that ended the consumer.
    pub fn subscribe<T: Into<String>>(&mut self, topics: impl IntoIterator<Item = T>) -> Result<(), ClientError> {
        let topics: Vec<String> = topics.into_iter().map(Into::into).collect();
        topics.iter().try_for_each(|topic| check_topic(topic).map_err(|error| error.while_doing(SUBSCRIBING)))?;
        self.handle.subscribe(Reading::Topics(topics))
    }

    /// Reads the topics whose whole name matches a regular expression, as a member of the group: those that there are, and others as they come
    /// and go. The coordinator evaluates it, in the syntax of RE2/J (KIP-848); what it refuses is an error of `poll` that ends the consumer.
    /// Does not wait.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for an empty pattern and without `group.id`, and the error that ended the consumer.
    pub fn subscribe_pattern(&mut self, pattern: impl Into<String>) -> Result<(), ClientError> {
        let pattern = pattern.into();
        if pattern.is_empty() {
            return Err(ClientError::new(ErrorKind::Invalid, SUBSCRIBING, "the pattern is empty")
                .remedy("use `.*` for all topics"));
        }
        self.handle.subscribe(Reading::Pattern(pattern))
    }

    /// Reads these partitions from now on, without being a member of a group; those that were read this way before go on where they are. With
    /// `group.id` they begin at the offsets that the group has, and offsets can be committed. Does not wait.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for what is no name of a topic and a partition below 0, and the error that ended the consumer. A partition that
    /// does not exist is reported by `poll`.
    pub fn assign(&mut self, partitions: impl IntoIterator<Item = TopicPartition>) -> Result<(), ClientError> {
        let partitions: Vec<TopicPartition> = partitions.into_iter().collect();
        partitions.iter().try_for_each(check_partition)?;
        self.handle.assign(partitions)
    }

    /// Reads nothing any more, and leaves the group: the listener hears that partitions are revoked, and what goes by itself is committed. Does
    /// not wait.
    pub fn unsubscribe(&mut self) {
        self.handle.unsubscribe();
    }

    /// Has this hear which partitions come and go, from now on.
    pub fn set_rebalance_listener(&mut self, listener: impl RebalanceListener + 'static) {
        self.handle.listen(Box::new(listener));
    }

    /// Waits up to `timeout` for records and hands out at most `max.poll.records` of them, none when the time is over. It resets the timer
    /// of `max.poll.interval.ms`; rebalances and commit callbacks are heard of here.
    ///
    /// Cancel-safe: a poll that is dropped has taken no record, though the listener may have been called.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] without anything to read, and where `auto.offset.reset=none` and a partition has no offset. Errors of the consumer,
    /// each told once: [`ErrorKind::Unreachable`] when it has never reached a broker, [`ErrorKind::UnsupportedVersion`] when the cluster has no
    /// groups of KIP-848, [`ErrorKind::Broker`] for what a broker refuses, [`ErrorKind::Fenced`] when another process has become this static
    /// member. [`ErrorKind::Malformed`] for a batch that cannot be read.
    pub async fn poll(&mut self, timeout: Duration) -> Result<ConsumerRecords<K, V>, ClientError> {
        let pieces = self.handle.poll(deadline(timeout)).await?;
        Ok(ConsumerRecords::new(pieces, Arc::clone(&self.deserializers)))
    }

    /// Commits all that was handed out, and waits for it; tries again what can be, for up to `default.api.timeout.ms`. Gives what was
    /// committed.
    ///
    /// Cancel-safe: the commit goes on without the caller.
    ///
    /// # Errors
    /// [`ErrorKind::Fenced`] when the member is not in its group any more, [`ErrorKind::Broker`] for what the coordinator refuses,
    /// [`ErrorKind::TimedOut`], [`ErrorKind::Invalid`] without `group.id`, and the error that ended the consumer.
    pub async fn commit(&mut self) -> Result<Offsets, ClientError> {
        self.commit_what(None).await
    }

    /// Commits these offsets, each that of the next record to read. Else as [`commit`](Self::commit).
    ///
    /// # Errors
    /// As [`commit`](Self::commit).
    pub async fn commit_offsets(&mut self, offsets: Offsets) -> Result<Offsets, ClientError> {
        self.commit_what(Some(offsets)).await
    }

    async fn commit_what(&mut self, offsets: Option<Offsets>) -> Result<Offsets, ClientError> {
        let expected = self.handle.expected(offsets.is_none());
        match self.handle.ask(COMMITTING, |reply| Command::Commit(offsets, reply)).await? {
            Answer::Committed(offsets) => failures::all_of(&expected, offsets),
            answer => Err(unexpected(COMMITTING, &answer)),
        }
    }

    /// Commits all that was handed out, or these offsets, without waiting. Commits are sent one after the other, so that a later one is never
    /// undone. `callback` hears how it went, out of a later `poll`, `commit` or `close`, in the task that calls them.
    pub fn commit_async(
        &mut self,
        offsets: Option<Offsets>,
        callback: impl FnOnce(Result<Offsets, ClientError>) + Send + 'static,
    ) {
        self.handle.commit_async(offsets, Box::new(callback));
    }

    /// Who this consumer is in its group, for [`Producer::send_offsets_to_transaction`](crate::Producer::send_offsets_to_transaction): the coordinator takes
    /// the offsets only while the group counts this member. Ask for it after the poll whose records the transaction is made of, and again for
    /// each transaction.
    ///
    /// # Errors
    /// [`ErrorKind::Fenced`] where the member was lost since the application has polled, or has not joined yet; [`ErrorKind::Invalid`] without
    /// `group.id`; and the error that ended the consumer.
    pub fn group_metadata(&self) -> Result<GroupMetadata, ClientError> {
        self.handle.group_metadata()
    }

    /// Goes on with this offset of a partition. Does not wait.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] where the partition is not assigned, or the offset is below 0.
    pub fn seek(&mut self, partition: &TopicPartition, offset: i64) -> Result<(), ClientError> {
        self.seek_to(partition, OffsetAndMetadata::new(offset))
    }

    /// As [`seek`](Self::seek), with the leader epoch of the record before, by which a truncated log is noticed (KIP-320).
    ///
    /// # Errors
    /// As [`seek`](Self::seek).
    pub fn seek_to(&mut self, partition: &TopicPartition, to: OffsetAndMetadata) -> Result<(), ClientError> {
        let OffsetAndMetadata { offset, leader_epoch, .. } = to;
        if offset < 0 {
            return Err(ClientError::new(ErrorKind::Invalid, "seeking", format!("offset {offset} is below 0")));
        }
        self.handle.seek(partition, SeekTo::Position(Position { offset, leader_epoch }))
    }

    /// Goes on with the first offset of each partition. Does not wait.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] where one is not assigned.
    pub fn seek_to_beginning(&mut self, partitions: &[TopicPartition]) -> Result<(), ClientError> {
        partitions.iter().try_for_each(|partition| self.handle.seek(partition, SeekTo::Beginning))
    }

    /// Goes on behind the last record of each partition; under read_committed, behind the last one whose transaction is decided. Does not
    /// wait: where that is, is asked when the partition is read.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] where one is not assigned.
    pub fn seek_to_end(&mut self, partitions: &[TopicPartition]) -> Result<(), ClientError> {
        partitions.iter().try_for_each(|partition| self.handle.seek(partition, SeekTo::End))
    }

    /// Hands out nothing of these partitions until they are resumed, or assigned anew. What is fetched of them stays.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] where one is not assigned; then none is paused.
    pub fn pause(&mut self, partitions: &[TopicPartition]) -> Result<(), ClientError> {
        self.handle.pause(partitions.to_vec(), true)
    }

    /// Hands out records of these partitions again.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] where one is not assigned; then none is resumed.
    pub fn resume(&mut self, partitions: &[TopicPartition]) -> Result<(), ClientError> {
        self.handle.pause(partitions.to_vec(), false)
    }

    /// The partitions that are paused.
    pub fn paused(&self) -> Vec<TopicPartition> {
        self.handle.waiting.paused()
    }

    /// The partitions that are read: those that the group has given and the listener knows of, or those of [`assign`](Self::assign).
    pub fn assignment(&self) -> Vec<TopicPartition> {
        self.handle.waiting.names()
    }

    /// The topics that are subscribed to by name.
    pub fn subscription(&self) -> &[String] {
        match &self.handle.reading {
            Reading::Topics(topics) => topics,
            _ => &[],
        }
    }

    /// The offset behind the last record that polls have handed out, of each partition of which one has: what a commit of everything is of. Does
    /// not wait.
    pub fn positions(&self) -> Offsets {
        self.handle
            .waiting
            .positions()
            .iter()
            .map(|(partition, position)| (partition.clone(), (*position).into()))
            .collect()
    }

    /// The offset of the next record of a partition that a poll hands out. Waits until it is known, for up to `default.api.timeout.ms`.
    /// Cancel-safe.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] where the partition is not assigned, [`ErrorKind::TimedOut`], and the error that ended the consumer.
    pub async fn position(&mut self, partition: &TopicPartition) -> Result<i64, ClientError> {
        const DOING: &str = "asking for a position";
        if let Some(position) = self.handle.waiting.positions().get(partition) {
            return Ok(position.offset);
        }
        match self.handle.ask(DOING, |reply| Command::Position(partition.clone(), reply)).await? {
            Answer::Position(position) => Ok(position.offset),
            answer => Err(unexpected(DOING, &answer)),
        }
    }

    /// How many records lie between the position of a partition and the end of what is replicated, as far as is known without asking (KIP-695).
    pub fn current_lag(&self, partition: &TopicPartition) -> Option<i64> {
        self.handle.waiting.lag(partition)
    }

    /// What the group has kept of these partitions, whoever committed it; `None` where it has nothing. Cancel-safe.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] without `group.id`, [`ErrorKind::TimedOut`], [`ErrorKind::Broker`], and the error that ended the consumer.
    pub async fn committed(
        &mut self,
        partitions: impl IntoIterator<Item = TopicPartition>,
    ) -> Result<BTreeMap<TopicPartition, Option<OffsetAndMetadata>>, ClientError> {
        const DOING: &str = "asking for committed offsets";
        let partitions = partitions.into_iter().collect();
        match self.handle.ask(DOING, |reply| Command::Committed(partitions, reply)).await? {
            Answer::Kept(kept) => Ok(kept),
            answer => Err(unexpected(DOING, &answer)),
        }
    }

    /// The first record of each partition that is not older than a time, in ms since 1970; `None` where none is so new. Cancel-safe.
    ///
    /// # Errors
    /// [`ErrorKind::TimedOut`], also where a topic does not exist, [`ErrorKind::Broker`], and the error that ended the consumer.
    pub async fn offsets_for_times(
        &mut self,
        times: BTreeMap<TopicPartition, i64>,
    ) -> Result<BTreeMap<TopicPartition, Option<OffsetAndTimestamp>>, ClientError> {
        const DOING: &str = "asking for the offsets of times";
        match self.handle.ask(DOING, |reply| Command::Times(times, reply)).await? {
            Answer::Found(found) => Ok(found),
            answer => Err(unexpected(DOING, &answer)),
        }
    }

    /// The first offset of each partition. Cancel-safe.
    ///
    /// # Errors
    /// As [`offsets_for_times`](Self::offsets_for_times).
    pub async fn beginning_offsets(
        &mut self,
        partitions: impl IntoIterator<Item = TopicPartition>,
    ) -> Result<BTreeMap<TopicPartition, i64>, ClientError> {
        const BEGINNING: i64 = -2;
        self.ends(partitions, BEGINNING).await
    }

    /// The offset behind the last record of each partition; under read_committed, behind the last one whose transaction is decided.
    /// Cancel-safe.
    ///
    /// # Errors
    /// As [`offsets_for_times`](Self::offsets_for_times).
    pub async fn end_offsets(
        &mut self,
        partitions: impl IntoIterator<Item = TopicPartition>,
    ) -> Result<BTreeMap<TopicPartition, i64>, ClientError> {
        const END: i64 = -1;
        self.ends(partitions, END).await
    }

    async fn ends(
        &mut self,
        partitions: impl IntoIterator<Item = TopicPartition>,
        end: i64,
    ) -> Result<BTreeMap<TopicPartition, i64>, ClientError> {
        let times = partitions.into_iter().map(|partition| (partition, end)).collect();
        let found = self.offsets_for_times(times).await?;
        Ok(found.into_iter().filter_map(|(partition, found)| Some((partition, found?.offset))).collect())
    }

    /// What it measures, by Kafka's names. They can be read after the consumer is closed, too.
    pub fn metrics(&self) -> Metrics {
        self.handle.metrics.metrics().clone()
    }

    /// The id under which the cluster knows the metrics that this client pushes (KIP-714), once it wants any.
    pub fn client_instance_id(&self) -> Option<Uuid> {
        self.handle.reporter.as_ref()?.client_instance_id()
    }

    /// The error that ended this consumer, if one has.
    pub fn failure(&self) -> Option<&ClientError> {
        self.handle.failure()
    }

    /// Lets go of all partitions, which the listener hears of, commits what goes by itself, and leaves the group; a static member
    /// (`group.instance.id`) keeps its place until its session times out.
    ///
    /// Cancel-safe: closing goes on without the caller.
    ///
    /// # Errors
    /// [`ErrorKind::TimedOut`] when the brokers did not answer in time, and why the last offsets could not be committed.
    pub async fn close(mut self, timeout: Duration) -> Result<(), ClientError> {
        self.handle.close(timeout).await
    }
}

impl<K, V> fmt::Debug for Consumer<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { handle, deserializers } = self;
        f.debug_struct("Consumer").field("handle", handle).field("deserializers", deserializers).finish()
    }
}

fn unexpected(doing: &'static str, answer: &Answer) -> ClientError {
    ClientError::new(ErrorKind::Malformed, doing, format!("the answer is that to another question: {answer:?}"))
}

#[cfg(test)]
impl<K, V> Consumer<K, V> {
    pub(super) fn handle(&mut self) -> &mut Handle {
        &mut self.handle
    }
}

fn check_partition(partition: &TopicPartition) -> Result<(), ClientError> {
    check_topic(&partition.topic).map_err(|error| error.while_doing(SUBSCRIBING))?;
    if partition.partition < 0 {
        let reason = format!("partition {} of topic {} is below 0", partition.partition, partition.topic);
        return Err(ClientError::new(ErrorKind::Invalid, SUBSCRIBING, reason).remedy("partitions are counted from 0"));
    }
    Ok(())
}
