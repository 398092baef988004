//! A member that holds records, and a producer with a transaction for them.

use std::collections::BTreeMap;
use std::time::Duration;

use ackflow_protocol::messages::describe_share_group_offsets::{
    DescribeShareGroupOffsetsRequest, DescribeShareGroupOffsetsRequestGroup, DescribeShareGroupOffsetsRequestTopic,
};
use ackflow_protocol::messages::share_group_describe::ShareGroupDescribeRequest;
use ackflow_protocol::messages::txn_share_acknowledge::{
    AcknowledgePartition, AcknowledgeTopic, AcknowledgementBatch, TxnShareAcknowledgeRequest,
    TxnShareAcknowledgeResponse,
};
use ackflow_protocol::wire::ErrorCode;

use crate::broker::lab::{Acquired, Kind, Lab, Link, Member, Outcome, Producer, Session, Stop, Topic, Way};

/// A member that has acquired ten records of partition 0 of a topic, the only ones of it, and a producer.
pub(super) struct Holding<'a> {
    lab: &'a Lab,
    pub(super) topic: Topic,
    pub(super) group: String,
    pub(super) member: Member,
    /// The epoch of each member, when no change of the group was under way.
    epochs: BTreeMap<String, i32>,
    pub(super) session: Session,
    pub(super) producer: Producer<'a>,
    /// To the leader of the partition, which keeps what is staged.
    pub(super) link: Link,
}

/// How long the transaction may be open, where nothing else is said.
const TIMEOUT_MS: i32 = 60_000;

/// So much longer than they have to be are locks that a case waits for: it acknowledges before they end, also on a busy machine.
const SPARE: Duration = Duration::from_secs(3);

/// Offsets `first` to `last` with one type for all, or one each.
pub(super) type Batch<'a> = (i64, i64, &'a [i8]);

impl<'a> Holding<'a> {
    /// With locks of 30 s or whatever the broker has by default.
    pub(super) async fn of(lab: &'a Lab) -> Outcome<Self> {
        Self::with(lab, false, TIMEOUT_MS).await
    }

    /// With locks that a case can wait for.
    pub(super) async fn of_short_locks(lab: &'a Lab) -> Outcome<Self> {
        Self::with(lab, true, TIMEOUT_MS).await
    }

    /// With a transaction that may be open for so long.
    pub(super) async fn of_timeout(lab: &'a Lab, timeout_ms: i32) -> Outcome<Self> {
        Self::with(lab, false, timeout_ms).await
    }

    async fn with(lab: &'a Lab, short_locks: bool, timeout_ms: i32) -> Outcome<Self> {
        lab.target.version::<TxnShareAcknowledgeRequest>()?;
        lab.needs_feature("share.version", 3)?;
        lab.needs_transactions_of_version_2()?;
        let topic = lab.topic(1).await?;
        let lock = (lab.target.waits.lock + SPARE).as_millis().to_string();
        let locks = [("share.record.lock.duration.ms", lock.as_str())];
        let group = lab.group_with(if short_locks { &locks } else { &[] }).await?;
        lab.produce(&topic, 0, 10).await?;
        let member = lab.member(&group, &[&topic]).await?;
        let session = lab.session(&member, &[&topic]).await?;
        let producer = lab.producer_with_timeout(timeout_ms).await?;
        let link = lab.leader(&topic, 0).await?;
        let mut holding = Self { lab, topic, group, member, epochs: BTreeMap::new(), session, producer, link };
        holding.ask_epochs().await?;
        // Last of all, since locks may be short.
        holding.session.acquire(10).await?;
        Ok(holding)
    }

    /// What it says to acknowledge offsets with the producer's transaction.
    pub(super) fn request(&self, batches: &[Batch<'_>]) -> TxnShareAcknowledgeRequest {
        let batch = |(first_offset, last_offset, types): &Batch<'_>| AcknowledgementBatch {
            first_offset: *first_offset,
            last_offset: *last_offset,
            acknowledge_types: types.to_vec(),
        };
        let partition =
            AcknowledgePartition { partition_index: 0, acknowledgement_batches: batches.iter().map(batch).collect() };
        TxnShareAcknowledgeRequest {
            transactional_id: Some(self.producer.id.clone()),
            group_id: self.group.clone(),
            producer_id: self.producer.producer_id,
            producer_epoch: self.producer.epoch,
            member_id: self.member.id.clone(),
            member_epoch: self.epoch_of(&self.member),
            topics: vec![AcknowledgeTopic { topic_id: self.topic.id, partitions: vec![partition] }],
        }
    }

    /// Waits until all members have the epoch of the group, which another one has raised, and notes it.
    pub(super) async fn ask_epochs(&mut self) -> Outcome {
        let mut link = self.lab.coordinator(Kind::Group, &self.group).await?.unrecorded();
        let request = ShareGroupDescribeRequest { group_ids: vec![self.group.clone()], ..Default::default() };
        self.epochs = self
            .lab
            .eventually("all members have the epoch of the group", async || {
                let group = link.call(&request).await?.groups.pop().unwrap_or_default();
                let settled = group.assignment_epoch == group.group_epoch
                    && group.members.iter().all(|member| member.member_epoch == group.group_epoch);
                let epochs = group.members.into_iter().map(|member| (member.member_id, member.member_epoch));
                Ok(settled.then(|| epochs.collect()))
            })
            .await?;
        Ok(())
    }

    /// The epoch of a member, when it was asked for.
    pub(super) fn epoch_of(&self, member: &Member) -> i32 {
        self.epochs.get(&member.id).copied().unwrap_or(-1)
    }

    /// Asks as it is said: the error of the request, or else of its only partition.
    pub(super) async fn ask(&mut self, request: &TxnShareAcknowledgeRequest) -> Outcome<ErrorCode> {
        let waits = [ErrorCode::CONCURRENT_TRANSACTIONS, ErrorCode::COORDINATOR_LOAD_IN_PROGRESS];
        self.lab
            .eventually("the end of the transaction before", async || {
                let code = code(&self.link.call(request).await?)?;
                Ok((!waits.contains(&code)).then_some(code))
            })
            .await
    }

    /// Acknowledges offsets with the producer's transaction.
    pub(super) async fn stage(&mut self, batches: &[Batch<'_>]) -> Outcome<ErrorCode> {
        self.ask(&self.request(batches)).await
    }

    /// The same, where it works.
    pub(super) async fn staged(&mut self, batches: &[Batch<'_>]) -> Outcome {
        let code = self.stage(batches).await?;
        self.lab.granted("TxnShareAcknowledge", code, None)
    }

    /// Gives back what the member holds: what is staged does not belong to it any more.
    pub(super) async fn let_go(&mut self) -> Outcome {
        let code = self.session.close().await?;
        self.lab.granted("closing the share session", code, None)
    }

    /// What another member acquires of so many records that are there for it.
    pub(super) async fn others_get(&self, count: i64) -> Outcome<Vec<Acquired>> {
        let (_member, mut other) = self.other().await?;
        other.acquire(count).await
    }

    /// Another member, and its session.
    pub(super) async fn other(&self) -> Outcome<(Member, Session)> {
        let member = self.lab.member_beside(&self.group, &[&self.topic]).await?;
        let session = self.lab.session(&member, &[&self.topic]).await?;
        Ok((member, session))
    }

    /// How many records are left to do for the group.
    pub(super) async fn lag(&self) -> Outcome<i64> {
        let mut link = self.lab.coordinator(Kind::Group, &self.group).await?;
        let topic = DescribeShareGroupOffsetsRequestTopic { topic_name: self.topic.name.clone(), partitions: vec![0] };
        let group = DescribeShareGroupOffsetsRequestGroup { group_id: self.group.clone(), topics: Some(vec![topic]) };
        let response = link.call(&DescribeShareGroupOffsetsRequest { groups: vec![group] }).await?;
        let found = response.groups.into_iter().flat_map(|group| group.topics).flat_map(|topic| topic.partitions);
        let found = found.map(|partition| partition.lag).next();
        found.ok_or_else(|| Stop::failed("DescribeShareGroupOffsets answers for the partition", "it does not"))
    }

    /// A second producer, with a transaction of its own.
    pub(super) async fn another_producer(&self) -> Outcome<Producer<'a>> {
        self.lab.producer_in(Way::Writing).await
    }
}

fn code(response: &TxnShareAcknowledgeResponse) -> Outcome<ErrorCode> {
    if !response.error_code.is_none() {
        return Ok(response.error_code);
    }
    let partition = response.responses.iter().flat_map(|topic| &topic.partitions).next();
    let code = partition.map(|partition| partition.error_code);
    code.ok_or_else(|| Stop::failed("TxnShareAcknowledge answers for the partition", "it does not"))
}
