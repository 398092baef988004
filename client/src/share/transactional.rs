//! Acknowledgements that a producer's transaction decides about, as the draft KIP-1289 has them.

use std::sync::Arc;

use ackflow_protocol::machine::transaction::{ShareAcknowledgements, ShareGroupMetadata, SourceAcknowledgements};
use ackflow_protocol::machine::{AckRange, AckType, BrokerAddress};

use super::config::AcknowledgementMode;
use super::consumer::{ACKNOWLEDGING, Handed, ShareConsumer};
use super::delivery::Delivery;
use super::handle::Handle;
use super::link::Command;
use super::owned::OwnedShareConsumer;
use super::part::{Part, Source};
use super::ranges;
use crate::deserialize::Deserializer;
use crate::error::{ClientError, ErrorKind};

impl<K: Deserializer, V: Deserializer> ShareConsumer<K, V> {
    /// Takes what is decided about records of the last poll, for
    /// [`Producer::send_share_acknowledgements_to_transaction`](crate::Producer::send_share_acknowledgements_to_transaction): the consumer sends nothing of it
    /// any more, and the transaction decides. What is undecided stays with the consumer; a second call gives nothing. In explicit mode.
    ///
    /// Only accepted and rejected records are part of transactions. Offsets without a record, as transactional producers leave them in logs, are acknowledged by the
    /// client itself and need no transaction. Does not wait.
    ///
    /// Draft KIP-1289, generation C: it may change or go in any release. What the cluster has to have for it, the producer finds out.
    ///
    /// ```no_run
    /// use std::time::Duration;
    ///
    /// use ackflow_client::share::{AckType, ShareConsumer};
    /// use ackflow_client::{ErrorKind, Producer, ProducerRecord};
    ///
    /// # async fn run(mut consumer: ShareConsumer, producer: Producer) -> Result<(), ackflow_client::ClientError> {
    /// producer.init_transactions().await?;
    /// loop {
    ///     let records = consumer.poll(Duration::from_secs(1)).await?;
    ///     producer.begin_transaction()?;
    ///     for record in records.iter().flatten() {
    ///         let value = record.value.unwrap_or_default().to_vec();
    ///         drop(producer.send(ProducerRecord::new("out", value)).await?);
    ///         consumer.acknowledge(&record, AckType::Accept)?;
    ///     }
    ///     let acknowledgements = consumer.acknowledgements_for_transaction()?;
    ///     let member = consumer.share_group_metadata()?;
    ///     let sent = producer.send_share_acknowledgements_to_transaction(acknowledgements, &member).await;
    ///     match match sent { Ok(()) => producer.commit_transaction().await, Err(error) => Err(error) } {
    ///         // What was consumed comes again.
    ///         Err(error) if error.kind() == ErrorKind::Abortable => producer.abort_transaction().await?,
    ///         ended => ended?,
    ///     }
    /// }
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] in implicit mode, and where a record is to be released or renewed, also by itself because it could not be read: then nothing is
    /// taken, and the application may decide otherwise.
    pub fn acknowledgements_for_transaction(&mut self) -> Result<ShareAcknowledgements, ClientError> {
        if self.mode == AcknowledgementMode::Implicit {
            let reason = "the consumer acknowledges by itself";
            return Err(ClientError::new(ErrorKind::Invalid, ACKNOWLEDGING, reason)
                .remedy("set share.acknowledgement.mode=explicit"));
        }
        self.decide_unread();
        let mut acknowledgements = ShareAcknowledgements::default();
        for Handed { part, decisions, .. } in &self.handed {
            let added = acknowledgements.add(part.source.said(decisions.iter().copied().collect()));
            added.map_err(|range| no_part_of_transactions(&part.source, range))?;
        }
        let mut undecided = Vec::new();
        for Handed { mut part, mut decisions, .. } in self.handed.drain(..) {
            if let Some(taken) = part.take_ranges(&decisions.take()) {
                self.handle.link.send(Command::HandOver(taken));
            }
            let records = part.records();
            if records > 0 {
                undecided.push(Handed { part, records, decisions });
            }
        }
        self.handed = undecided;
        Ok(acknowledgements)
    }

    /// The member of the group that this consumer is now, for a producer's transaction (draft KIP-1289). The epoch rises as members come and go, so ask for it
    /// just before it is used.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] while it is not in the group.
    pub fn share_group_metadata(&self) -> Result<ShareGroupMetadata, ClientError> {
        self.handle.share_group_metadata()
    }
}

impl<K: Deserializer, V: Deserializer> OwnedShareConsumer<K, V> {
    /// As [`ShareConsumer::share_group_metadata`].
    ///
    /// # Errors
    /// As there.
    pub fn share_group_metadata(&self) -> Result<ShareGroupMetadata, ClientError> {
        self.handle.share_group_metadata()
    }
}

impl<K: Deserializer, V: Deserializer> Delivery<K, V> {
    /// Processed, if the transaction of a producer is committed that these acknowledgements are
    /// [sent to](crate::Producer::send_share_acknowledgements_to_transaction): of all undecided records. What could not be read is settled at once instead, as
    /// [`RecordError`](super::RecordError) says, unless that is a rejection.
    ///
    /// Draft KIP-1289, generation C: it may change or go in any release.
    pub fn accept_in_transaction(mut self) -> ShareAcknowledgements {
        let held = std::mem::take(&mut self.part.ranges);
        let (mine, theirs): (Vec<_>, Vec<_>) =
            self.part.source.unread.accepted(&held).into_iter().partition(|range| range.ack == AckType::Release);
        self.link.acknowledge(&self.part.source, mine);
        self.hand_over(held, theirs)
    }

    /// Cannot be processed, if the transaction is committed. Else as [`accept_in_transaction`](Self::accept_in_transaction).
    pub fn reject_in_transaction(mut self) -> ShareAcknowledgements {
        let held = std::mem::take(&mut self.part.ranges);
        let said = ranges::acknowledged(&held, AckType::Reject);
        self.hand_over(held, said)
    }

    fn hand_over(&mut self, held: Vec<super::AcquiredRange>, said: Vec<AckRange>) -> ShareAcknowledgements {
        let mut part = Part { ranges: held, ..self.part.clone() };
        if let Some(taken) = part.take_ranges(&said) {
            self.link.send(Command::HandOver(taken));
        }
        let mut acknowledgements = ShareAcknowledgements::default();
        acknowledgements.add(self.part.source.said(said)).expect("neither released nor renewed");
        acknowledgements
    }
}

impl Handle {
    fn share_group_metadata(&self) -> Result<ShareGroupMetadata, ClientError> {
        let (group_id, member_id) = (self.group_id().to_owned(), self.member_id().to_owned());
        match self.status().member_epoch {
            Some(member_epoch) => Ok(ShareGroupMetadata { group_id, member_id, member_epoch }),
            None => {
                let reason = format!("the member {member_id} is not in the group {group_id} now");
                Err(ClientError::new(ErrorKind::Invalid, "asking for the member of a share group", reason)
                    .remedy("subscribe, and poll until there are records"))
            }
        }
    }
}

impl Part {
    /// Notes where the broker is that has just given it. Nobody shares the part yet.
    pub(super) fn led_by(mut self, leader: Option<BrokerAddress>) -> Self {
        if let Some(source) = Arc::get_mut(&mut self.source) {
            source.leader = leader;
        }
        self
    }
}

impl Source {
    /// Verdicts on some of it.
    fn said(&self, ranges: Vec<AckRange>) -> SourceAcknowledgements {
        // Without an address, the producer finds the broker by its id, where it knows it.
        let unknown = || BrokerAddress { node: self.acquisition.session.node, host: String::new(), port: 0 };
        SourceAcknowledgements {
            leader: self.leader.clone().unwrap_or_else(unknown),
            topic: Arc::clone(&self.topic),
            topic_partition: self.topic_partition,
            ranges,
        }
    }
}

fn no_part_of_transactions(source: &Source, AckRange { first, last, ack }: AckRange) -> ClientError {
    let what = if ack == AckType::Renew { "renewed" } else { "released" };
    let reason =
        format!("offsets {first} to {last} of {} are to be {what}, which no transaction does", source.partition());
    ClientError::new(ErrorKind::Invalid, ACKNOWLEDGING, reason)
        .remedy("accept or reject them, or send what is decided by commit_sync before; nothing was taken")
}
