//! The share consumer as Kafka has it: one owner polls, decides, and polls again.

use std::fmt;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ackflow_protocol::machine::AckType;
use ackflow_protocol::wire::{ErrorCode, Uuid};
use tokio::time::timeout_at;

use super::acks::{Acknowledged, Commit, CommitResults, Settled, TopicPartition};
use super::config::{AcknowledgementMode, ShareConsumerConfig};
use super::decisions::Decisions;
use super::handle::{Handle, POLLING, deadline};
use super::link::{Acknowledgement, Command};
use super::part::Part;
use super::record::ShareRecord;
use super::records::ShareRecords;
use super::subscription::Subscription;
use crate::deserialize::{ByteArrayDeserializer, Deserializer, Deserializers};
use crate::error::{ClientError, ErrorKind};
use crate::metrics::Metrics;

/// A member of a share group, in one of Kafka's two ways of acknowledging (`share.acknowledgement.mode`):
///
/// - **implicit**, the default: the next [`poll`](Self::poll), [`commit_sync`](Self::commit_sync) or
///   [`commit_async`](Self::commit_async) accepts everything that the last poll handed out.
/// - **explicit**: the application decides about every record, and `poll` refuses to go on before it has. Decisions are sent by the next
///   poll or commit; until then the last one about a record counts.
///
/// In both, dropping records decides nothing, and [`close`](Self::close) does not accept what is undecided: the group delivers it again. For
/// records that are settled by many tasks, in any order, see [`OwnedShareConsumer`](super::OwnedShareConsumer).
///
/// A consumer that is dropped closes in the background, within `request.timeout.ms`, as far as its runtime lives on; `close` waits for it.
///
/// An error of `poll` is not the end: it is told once, and polling goes on. After one that cannot pass, such as a missing permission, every
/// call gives that error, and [`failure`](Self::failure) has it.
///
/// Keys and values are bytes unless [`with_deserializers`](Self::with_deserializers) says otherwise.
pub struct ShareConsumer<K = ByteArrayDeserializer, V = ByteArrayDeserializer> {
    pub(super) handle: Handle,
    pub(super) mode: AcknowledgementMode,
    deserializers: Arc<Deserializers<K, V>>,
    /// What the last poll handed out and no request has taken yet.
    pub(super) handed: Vec<Handed>,
    /// Renewals under way. Their records will be handed out again.
    renewing: Vec<(Settled, Part)>,
    /// Renewed records, for the next poll.
    renewed: Vec<Part>,
}

#[derive(Debug)]
pub(super) struct Handed {
    pub(super) part: Part,
    pub(super) records: u32,
    pub(super) decisions: Decisions,
}

impl ShareConsumer {
    /// Makes a consumer whose keys and values are bytes. Call it inside a tokio runtime with I/O and time enabled; nothing is sent before
    /// [`subscribe`](Self::subscribe).
    ///
    /// # Errors
    /// [`ErrorKind::Config`] for settings that cannot work, [`ErrorKind::Invalid`] outside a runtime.
    pub fn new(config: ShareConsumerConfig) -> Result<Self, ClientError> {
        Self::with_deserializers(config, ByteArrayDeserializer, ByteArrayDeserializer)
    }
}

impl<K: Deserializer, V: Deserializer> ShareConsumer<K, V> {
    /// As [`ShareConsumer::new`], with a [`Deserializer`] each for keys and values. A record that one of them refuses is an error of the
    /// iteration over [`ShareRecords`], and released unless the application decides otherwise.
    ///
    /// # Errors
    /// As [`ShareConsumer::new`].
    pub fn with_deserializers(config: ShareConsumerConfig, key: K, value: V) -> Result<Self, ClientError> {
        Ok(Self::with(Handle::start(&config)?, config.acknowledgement_mode, key, value))
    }

    pub(super) fn with(handle: Handle, mode: AcknowledgementMode, key: K, value: V) -> Self {
        let deserializers = Arc::new(Deserializers { key, value });
        Self { handle, mode, deserializers, handed: Vec::new(), renewing: Vec::new(), renewed: Vec::new() }
    }

    /// Consumes these topics from now on, instead of those before. A topic that does not exist is reported by `poll` and served as soon as
    /// it does. Records of topics that are subscribed to no more are not handed out, but released. Does not wait.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for an empty name, and the error that ended the consumer.
    pub fn subscribe<T: Into<String>>(&mut self, topics: impl IntoIterator<Item = T>) -> Result<(), ClientError> {
        self.handle.subscribe(Subscription::names(topics.into_iter().map(Into::into).collect())?)
    }

    /// Consumes the topics whose whole name matches a regular expression, instead of those before: the ones that there are, and others as they
    /// come and go, which is looked at once a `metadata.max.age.ms`. Kafka's internal topics only with `exclude.internal.topics=false`.
    /// Where no topic matches, the consumer is no member of the group, and a poll waits. Does not wait.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for what is no regular expression of the crate `regex-lite`, and the error that ended the consumer.
    pub fn subscribe_pattern(&mut self, pattern: &str) -> Result<(), ClientError> {
        self.handle.subscribe(Subscription::pattern(pattern)?)
    }

    /// The topics that are subscribed to by name.
    pub fn subscription(&self) -> &[String] {
        self.handle.subscription()
    }

    /// Leaves the group until the next subscription. What is undecided is delivered again. Does not wait.
    ///
    /// # Errors
    /// The error that ended the consumer.
    pub fn unsubscribe(&mut self) -> Result<(), ClientError> {
        self.subscribe::<String>([])
    }

    /// Waits up to `timeout` for records and hands out at most `max.poll.records` of them, none when the time is over. It resets the timer
    /// of `max.poll.interval.ms`.
    ///
    /// In implicit mode it first accepts what the last poll handed out. Records that were renewed are handed out again, before any other,
    /// once the broker has agreed; also where it is too old to be asked (before Kafka 4.2), which is an error once, and leaves their lock as it is.
    ///
    /// Cancel-safe: a poll that is dropped has taken no record, though it has accepted or sent what the last one handed out.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] without a subscription, and in explicit mode while a record of the last poll is undecided. Errors of the
    /// consumer, each told once: [`ErrorKind::Unreachable`] when it has never reached a broker, [`ErrorKind::UnsupportedVersion`] when the
    /// cluster has no share groups, [`ErrorKind::Malformed`] for a batch that cannot be read, [`ErrorKind::Broker`] for what a broker
    /// refuses.
    pub async fn poll(&mut self, timeout: Duration) -> Result<ShareRecords<K, V>, ClientError> {
        let deadline = deadline(timeout);
        self.decide_before_poll()?;
        self.await_renewals(deadline).await;
        if !self.renewing.is_empty() {
            return Ok(self.lend(Vec::new()));
        }
        self.drop_lost();
        if !self.renewed.is_empty() {
            self.handle.check_passing(POLLING)?;
            let renewed = std::mem::take(&mut self.renewed);
            return Ok(self.hand_out(renewed));
        }
        let max = self.handle.max_poll_records;
        let Some(first) = self.handle.poll(max, deadline).await? else {
            return Ok(self.lend(Vec::new()));
        };
        let mut left = max - first.records();
        let mut parts = vec![first];
        while left > 0
            && let Some(part) = self.handle.take(left, false)
        {
            left -= part.records();
            parts.push(part);
        }
        Ok(self.hand_out(parts))
    }

    fn decide_before_poll(&mut self) -> Result<(), ClientError> {
        if self.mode == AcknowledgementMode::Explicit {
            self.decide_unread();
            let undecided: u32 = self.handed.iter().map(|handed| handed.records - handed.decisions.decided()).sum();
            if undecided > 0 {
                let reason = format!("{undecided} records of the last poll are not acknowledged yet");
                return Err(ClientError::new(ErrorKind::Invalid, POLLING, reason)
                    .remedy("acknowledge every record before polling, or set share.acknowledgement.mode=implicit"));
            }
        }
        for verdict in self.take_verdicts() {
            self.handle.link.send(Command::Acknowledge(verdict));
        }
        Ok(())
    }

    /// Waits until each renewal is answered, or until the deadline.
    async fn await_renewals(&mut self, deadline: Instant) {
        if !self.renewing.is_empty() {
            self.handle.announce();
        }
        while let Some((settled, _)) = self.renewing.last_mut() {
            let Ok(result) = timeout_at(deadline.into(), settled).await else {
                return;
            };
            // A broker that is too old to be asked leaves the lock as it is. What else could not be renewed is lost, as the callback and the
            // commit tell.
            let is_held = result.as_ref().map_or_else(|e| e.code() == Some(ErrorCode::UNSUPPORTED_VERSION), |()| true);
            if let Some((_, part)) = self.renewing.pop().filter(|_| is_held) {
                self.renewed.push(part);
            }
        }
        self.renewed.sort_by_key(|part| (part.source.topic_partition, part.ranges.first().map(|range| range.first)));
    }

    /// Of what was renewed: what its session has lost, or its lock, is handed out no more. The group delivers it again.
    fn drop_lost(&mut self) {
        let now = Instant::now();
        let dropped = self.renewed.extract_if(.., |part| !part.lock.is_worth_starting(now));
        let records = dropped.map(|part| part.records()).sum();
        self.handle.count_dropped(records);
    }

    fn hand_out(&mut self, mut parts: Vec<Part>) -> ShareRecords<K, V> {
        parts.iter_mut().for_each(|part| self.handle.keep(part));
        let handed =
            |part: &Part| Handed { part: part.clone(), records: part.records(), decisions: Decisions::default() };
        self.handed = parts.iter().map(handed).collect();
        self.lend(parts)
    }

    fn lend(&self, parts: Vec<Part>) -> ShareRecords<K, V> {
        ShareRecords::new(parts, Arc::clone(&self.deserializers))
    }

    /// In explicit mode, what could not be read is decided about by that, unless the application says otherwise.
    pub(super) fn decide_unread(&mut self) {
        for Handed { part, decisions, .. } in &mut self.handed {
            part.source.unread.decide(&part.ranges, decisions);
        }
    }

    /// Decides about one record of the last poll, in explicit mode. A record that could not be read is decided about by that, see
    /// [`RecordError`](super::RecordError); what is said here, by offset, counts all the same.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] in implicit mode, for a record that the last poll did not hand out or a commit has taken since, and for
    /// [`AckType::Gap`], which is the client's own.
    pub fn acknowledge<A, B>(&mut self, record: &ShareRecord<'_, A, B>, ack: AckType) -> Result<(), ClientError> {
        let id = record.topic_partition();
        self.decide(|part| part.source.topic_partition == id, record.offset..=record.offset, ack)
    }

    /// Decides about the record at an offset, which need not be readable. Else as [`acknowledge`](Self::acknowledge).
    ///
    /// # Errors
    /// As [`acknowledge`](Self::acknowledge).
    pub fn acknowledge_offset(
        &mut self,
        topic: &str,
        partition: i32,
        offset: i64,
        ack: AckType,
    ) -> Result<(), ClientError> {
        self.acknowledge_range(topic, partition, offset..=offset, ack)
    }

    /// Decides about the records of the last poll that lie in a range of offsets; there has to be one.
    ///
    /// # Errors
    /// As [`acknowledge`](Self::acknowledge).
    pub fn acknowledge_range(
        &mut self,
        topic: &str,
        partition: i32,
        offsets: RangeInclusive<i64>,
        ack: AckType,
    ) -> Result<(), ClientError> {
        self.decide(
            |part| *part.source.topic == *topic && part.source.topic_partition.partition == partition,
            offsets,
            ack,
        )
    }

    /// Decides about every record of the last poll that is undecided. [`AckType::Accept`] leaves out what could not be read.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] in implicit mode and for [`AckType::Gap`].
    pub fn acknowledge_all(&mut self, ack: AckType) -> Result<(), ClientError> {
        self.check_decision(ack)?;
        if ack == AckType::Accept {
            self.decide_unread();
        }
        for Handed { part, decisions, .. } in &mut self.handed {
            decisions.fill(&part.ranges, ack);
        }
        Ok(())
    }

    fn decide(
        &mut self,
        holds: impl Fn(&Part) -> bool,
        offsets: RangeInclusive<i64>,
        ack: AckType,
    ) -> Result<(), ClientError> {
        self.check_decision(ack)?;
        let mut found = false;
        for Handed { part, decisions, .. } in self.handed.iter_mut().filter(|handed| holds(&handed.part)) {
            let begin = part.ranges.partition_point(|range| range.last < *offsets.start());
            for range in part.ranges[begin..].iter().take_while(|range| range.first <= *offsets.end()) {
                decisions.set(range.first.max(*offsets.start()), range.last.min(*offsets.end()), ack);
                found = true;
            }
        }
        if found {
            return Ok(());
        }
        let reason = format!("no record at offsets {} to {} is waiting for it", offsets.start(), offsets.end());
        Err(ClientError::new(ErrorKind::Invalid, ACKNOWLEDGING, reason)
            .remedy("acknowledge records of the last poll, before the next poll or commit sends them"))
    }

    fn check_decision(&self, ack: AckType) -> Result<(), ClientError> {
        let (reason, remedy) = match (self.mode, ack) {
            (AcknowledgementMode::Implicit, _) => {
                ("the consumer acknowledges by itself", "set share.acknowledgement.mode=explicit")
            }
            (_, AckType::Gap) => ("gaps are acknowledged by the client itself", "accept, release, reject or renew"),
            _ => return Ok(()),
        };
        Err(ClientError::new(ErrorKind::Invalid, ACKNOWLEDGING, reason).remedy(remedy))
    }

    /// What is decided and has to be sent; in implicit mode that is everything that was handed out, accepted.
    fn take_verdicts(&mut self) -> Vec<Acknowledgement> {
        if self.mode == AcknowledgementMode::Explicit {
            self.decide_unread();
        }
        let mut verdicts = Vec::new();
        let mut undecided = Vec::new();
        for Handed { mut part, mut decisions, .. } in self.handed.drain(..) {
            if self.mode == AcknowledgementMode::Implicit {
                let accepted = part.source.unread.accepted(&part.ranges);
                verdicts.extend(Acknowledgement::unanswered(&part.source, accepted));
                continue;
            }
            let (renew, settle): (Vec<_>, Vec<_>) =
                decisions.take().into_iter().partition(|verdict| verdict.ack == AckType::Renew);
            if let Some(mut renewed) = part.take_ranges(&renew) {
                let (mut verdict, settled) = Acknowledgement::answered(&renewed.source, renew);
                verdict.renewed = Some(renewed.lock.renew());
                verdicts.push(verdict);
                self.renewing.push((settled, renewed));
            }
            part.take_ranges(&settle);
            verdicts.extend(Acknowledgement::unanswered(&part.source, settle));
            let records = part.records();
            if records > 0 {
                undecided.push(Handed { part, records, decisions });
            }
        }
        self.handed = undecided;
        verdicts
    }

    /// Sends what is decided and waits for the answers to it, and to everything that was sent before, for up to `timeout`. In implicit mode
    /// that accepts what the last poll handed out.
    ///
    /// Cancel-safe: the acknowledgements are sent whether or not anybody waits, and a later commit waits for them too.
    ///
    /// # Errors
    /// [`ErrorKind::TimedOut`] when not everything was answered in time, [`ErrorKind::Closed`] or the error that ended the consumer. What the
    /// broker refused is in the results.
    pub async fn commit_sync(&mut self, timeout: Duration) -> Result<CommitResults, ClientError> {
        let verdicts = self.take_verdicts();
        self.handle.commit(verdicts, timeout).await
    }

    /// Sends what is decided at once, as [`commit_sync`](Self::commit_sync) does, without waiting for the answers. The future that it gives
    /// completes with them, and may be dropped.
    pub fn commit_async(&mut self) -> Commit {
        let verdicts = self.take_verdicts();
        self.handle.link.commit(verdicts)
    }

    /// Calls `callback` with each acknowledgement that ends, from now on: out of `poll`, `commit_sync` and `close`, in the task that calls
    /// them.
    pub fn set_acknowledgement_callback(&mut self, callback: Box<dyn FnMut(&Acknowledged) + Send>) {
        self.handle.set_callback(callback);
    }

    /// How long the group locks the records that it hands out, once a broker has said so.
    pub fn acquisition_lock_timeout(&self) -> Option<Duration> {
        self.handle.status().lock_timeout
    }

    /// The partitions that this member serves now. In a share group others may serve them too.
    pub fn assignment(&self) -> Vec<TopicPartition> {
        self.handle.assignment()
    }

    /// What it measures, by Kafka's names. They can be read after the consumer is closed, too.
    pub fn metrics(&self) -> Metrics {
        self.handle.metrics.metrics().clone()
    }

    /// The id under which the cluster knows the metrics that this client pushes (KIP-714), once it wants any.
    pub fn client_instance_id(&self) -> Option<Uuid> {
        self.handle.client_instance_id()
    }

    /// The id under which this consumer is a member of its group.
    pub fn member_id(&self) -> &str {
        self.handle.member_id()
    }

    /// The error that ended this consumer, if one has.
    pub fn failure(&self) -> Option<&ClientError> {
        self.handle.failure()
    }

    /// How many records were acquired and never handed out, because their lock or session ended while they waited for a poll. Each cost the
    /// group a delivery attempt.
    pub fn dropped_records(&self) -> u64 {
        self.handle.dropped()
    }

    /// Sends what is decided, gives back the rest, and leaves the group. Records that are undecided, and those of the last poll in implicit
    /// mode, are not accepted: commit first what has been processed.
    ///
    /// Cancel-safe: closing goes on without the caller.
    ///
    /// # Errors
    /// [`ErrorKind::TimedOut`] when the brokers did not answer in time; they give back what the member held when its connections end.
    pub async fn close(mut self, timeout: Duration) -> Result<(), ClientError> {
        self.send_at_close();
        self.handle.close(timeout).await
    }
}

impl<K, V> ShareConsumer<K, V> {
    /// Renewed records would be given back a moment later, so they are left to that.
    fn send_at_close(&mut self) {
        for Handed { part, mut decisions, .. } in self.handed.drain(..) {
            let mut verdicts = decisions.take();
            verdicts.retain(|verdict| verdict.ack.is_terminal());
            self.handle.link.acknowledge(&part.source, verdicts);
        }
    }
}

impl<K, V> Drop for ShareConsumer<K, V> {
    fn drop(&mut self) {
        self.send_at_close();
    }
}

impl<K, V> fmt::Debug for ShareConsumer<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { handle, mode, deserializers, .. } = self;
        f.debug_struct("ShareConsumer")
            .field("handle", handle)
            .field("mode", mode)
            .field("deserializers", deserializers)
            .finish_non_exhaustive()
    }
}

pub(super) const ACKNOWLEDGING: &str = "acknowledging records of a share consumer";
