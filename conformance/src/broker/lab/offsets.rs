//! Offsets of groups that producers commit, and members on whose behalf they do.

use ackflow_protocol::messages::add_offsets_to_txn::{AddOffsetsToTxnRequest, AddOffsetsToTxnResponse};
use ackflow_protocol::messages::join_group::{JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse};
use ackflow_protocol::messages::leave_group::{LeaveGroupRequest, MemberIdentity};
use ackflow_protocol::messages::offset_fetch::{
    OffsetFetchRequest, OffsetFetchRequestGroup, OffsetFetchRequestTopic, OffsetFetchRequestTopics,
};
use ackflow_protocol::messages::sync_group::{SyncGroupRequest, SyncGroupRequestAssignment};
use ackflow_protocol::messages::txn_offset_commit::{
    TxnOffsetCommitRequest, TxnOffsetCommitRequestPartition, TxnOffsetCommitRequestTopic, TxnOffsetCommitResponse,
};
use ackflow_protocol::wire::{ApiKey, ErrorCode};
use bytes::Bytes;

use super::groups::Kind;
use super::producer::unless_concurrent;
use super::{Lab, Link, Outcome, Producer, Stop, Topic, Way};

/// The versions of JoinGroup, SyncGroup and LeaveGroup that members of cases speak: the first ones with instance ids and without the protocol type.
const JOIN: i16 = 5;
const SYNC: i16 = 3;
const LEAVE: i16 = 3;

/// A member of a group of the classic protocol. It sends no heartbeats: cases are over before its session is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ClassicMember {
    pub(crate) group: String,
    pub(crate) id: String,
    pub(crate) instance: Option<String>,
    pub(crate) generation: i32,
}

impl Producer<'_> {
    /// What it says to commit an offset of partition 0 with its transaction, outside any membership.
    pub(crate) fn commit_request(&self, group: &str, topic: &Topic, offset: i64) -> TxnOffsetCommitRequest {
        let partition = TxnOffsetCommitRequestPartition {
            partition_index: 0,
            committed_offset: offset,
            committed_metadata: Some(String::new()),
            ..Default::default()
        };
        let topic =
            TxnOffsetCommitRequestTopic { name: topic.name.clone(), topic_id: topic.id, partitions: vec![partition] };
        TxnOffsetCommitRequest {
            transactional_id: self.id.clone(),
            group_id: group.to_owned(),
            producer_id: self.producer_id,
            producer_epoch: self.epoch,
            topics: vec![topic],
            ..Default::default()
        }
    }

    /// The same, on behalf of a member.
    pub(crate) fn commit_request_of(
        &self,
        member: &ClassicMember,
        topic: &Topic,
        offset: i64,
    ) -> TxnOffsetCommitRequest {
        TxnOffsetCommitRequest {
            generation_id_or_member_epoch: member.generation,
            member_id: member.id.clone(),
            group_instance_id: member.instance.clone(),
            ..self.commit_request(&member.group, topic, offset)
        }
    }

    /// Makes the offsets of a group part of its transaction, until the transaction before has ended.
    pub(crate) async fn add_offsets(&mut self, group: &str) -> Outcome<ErrorCode> {
        let request = AddOffsetsToTxnRequest {
            transactional_id: self.id.clone(),
            producer_id: self.producer_id,
            producer_epoch: self.epoch,
            group_id: group.to_owned(),
        };
        let code = |answer: &AddOffsetsToTxnResponse| answer.error_code;
        Ok(unless_concurrent(self.lab, &mut self.link, None, &request, code).await?.error_code)
    }

    /// Tries to commit offsets, in this version or the newest that such a producer uses. It makes nothing part of the transaction beforehand.
    pub(crate) async fn try_commit(
        &self,
        version: Option<i16>,
        request: &TxnOffsetCommitRequest,
    ) -> Outcome<ErrorCode> {
        let version = version.map_or_else(|| self.version::<TxnOffsetCommitRequest>(), Ok)?;
        self.lab.target.offers(ApiKey::TXN_OFFSET_COMMIT, version)?;
        let mut link = self.lab.coordinator(Kind::Group, &request.group_id).await?;
        let response = unless_concurrent(self.lab, &mut link, Some(version), request, first_code).await?;
        Ok(first_code(&response))
    }

    /// Commits an offset of partition 0 with its transaction, as its clients do.
    pub(crate) async fn commit(&mut self, group: &str, topic: &Topic, offset: i64) -> Outcome {
        if self.way == Way::Adding {
            let code = self.add_offsets(group).await?;
            self.lab.granted("AddOffsetsToTxn", code, None)?;
        }
        let code = self.try_commit(None, &self.commit_request(group, topic, offset)).await?;
        self.lab.granted("TxnOffsetCommit", code, None)
    }
}

fn first_code(response: &TxnOffsetCommitResponse) -> ErrorCode {
    let partitions = response.topics.iter().flat_map(|topic| &topic.partitions);
    partitions.map(|partition| partition.error_code).next().unwrap_or(ErrorCode::UNKNOWN_SERVER_ERROR)
}

impl Lab {
    /// The name of a new group of consumers, whose coordinator is there.
    pub(crate) async fn consumer_group(&self) -> Outcome<String> {
        let group = self.unique("group");
        self.made().groups.push(group.clone());
        self.coordinator(Kind::Group, &group).await?;
        Ok(group)
    }

    /// The offset that a group has committed for partition 0 of a topic, stable or not; an error of the partition, or -1 where there is none.
    pub(crate) async fn committed(&self, group: &str, topic: &Topic, stable: bool) -> Outcome<Result<i64, ErrorCode>> {
        let mut link = self.coordinator(Kind::Group, group).await?;
        let version = link.newest::<OffsetFetchRequest>()?;
        let response = link.call_in(version, &offset_fetch(version, group, topic, stable)).await?;
        let found =
            response.groups.into_iter().flat_map(|group| group.topics).flat_map(|topic| topic.partitions).next();
        let old = response.topics.into_iter().flat_map(|topic| topic.partitions).next();
        let found = found.map(|found| (found.error_code, found.committed_offset));
        let found = found.or(old.map(|found| (found.error_code, found.committed_offset)));
        let (code, offset) =
            found.ok_or_else(|| Stop::failed("OffsetFetch answers for the partition", "it does not"))?;
        Ok(code.ok().map(|()| offset))
    }

    /// Waits until no open transaction holds an offset of the group for partition 0, and says the one that is committed.
    pub(crate) async fn committed_at_last(&self, group: &str, topic: &Topic) -> Outcome<i64> {
        self.eventually("no open transaction holds the offset any more", async || {
            match self.committed(group, topic, true).await? {
                Ok(offset) => Ok(Some(offset)),
                Err(ErrorCode::UNSTABLE_OFFSET_COMMIT) => Ok(None),
                Err(code) => Err(Stop::failed("OffsetFetch without an error", format!("{code:?}"))),
            }
        })
        .await
    }

    /// The only member of a group of the classic protocol, which is stable; with this instance id.
    pub(crate) async fn classic_member(&self, group: &str, instance: Option<&str>) -> Outcome<ClassicMember> {
        let mut link = self.coordinator(Kind::Group, group).await?.unrecorded();
        for (api, version) in [(ApiKey::JOIN_GROUP, JOIN), (ApiKey::SYNC_GROUP, SYNC), (ApiKey::LEAVE_GROUP, LEAVE)] {
            self.target.offers(api, version)?;
        }
        let mut joined = link.call_in(JOIN, &join(group, "", instance)).await?;
        if joined.error_code == ErrorCode::MEMBER_ID_REQUIRED {
            joined = link.call_in(JOIN, &join(group, &joined.member_id, instance)).await?;
        }
        self.granted("JoinGroup", joined.error_code, None)?;
        let synced = link.call_in(SYNC, &sync(group, &joined, instance)).await?;
        self.granted("SyncGroup", synced.error_code, None)?;
        Ok(ClassicMember {
            group: group.to_owned(),
            id: joined.member_id,
            instance: instance.map(str::to_owned),
            generation: joined.generation_id,
        })
    }

    /// Takes a member out of its group, so that the group can go.
    pub(crate) async fn leave_classic(&self, member: &ClassicMember) -> Outcome {
        let mut link: Link = self.coordinator(Kind::Group, &member.group).await?.unrecorded();
        let leaves = MemberIdentity {
            member_id: member.id.clone(),
            group_instance_id: member.instance.clone(),
            ..Default::default()
        };
        let request = LeaveGroupRequest { group_id: member.group.clone(), members: vec![leaves], ..Default::default() };
        let left = link.call_in(LEAVE, &request).await?;
        self.granted("LeaveGroup", left.error_code, None)
    }
}

fn join(group: &str, member: &str, instance: Option<&str>) -> JoinGroupRequest {
    JoinGroupRequest {
        group_id: group.to_owned(),
        session_timeout_ms: 30_000,
        rebalance_timeout_ms: 5_000,
        member_id: member.to_owned(),
        group_instance_id: instance.map(str::to_owned),
        // What it subscribes to would be read of consumers alone.
        protocol_type: "conformance".to_owned(),
        protocols: vec![JoinGroupRequestProtocol { name: "any".to_owned(), metadata: Bytes::new() }],
        ..Default::default()
    }
}

fn sync(group: &str, joined: &JoinGroupResponse, instance: Option<&str>) -> SyncGroupRequest {
    let assignment = SyncGroupRequestAssignment { member_id: joined.member_id.clone(), assignment: Bytes::new() };
    SyncGroupRequest {
        group_id: group.to_owned(),
        generation_id: joined.generation_id,
        member_id: joined.member_id.clone(),
        group_instance_id: instance.map(str::to_owned),
        assignments: vec![assignment],
        ..Default::default()
    }
}

/// Asks for the offset of partition 0. Since version 8 a request has several groups; names and ids each have their versions.
fn offset_fetch(version: i16, group: &str, topic: &Topic, stable: bool) -> OffsetFetchRequest {
    let partition_indexes = vec![0];
    if version < 8 {
        let asked = OffsetFetchRequestTopic { name: topic.name.clone(), partition_indexes };
        let group_id = group.to_owned();
        return OffsetFetchRequest {
            group_id,
            topics: Some(vec![asked]),
            require_stable: stable,
            ..Default::default()
        };
    }
    let asked = OffsetFetchRequestTopics { name: topic.name.clone(), topic_id: topic.id, partition_indexes };
    let group = OffsetFetchRequestGroup { group_id: group.to_owned(), topics: Some(vec![asked]), ..Default::default() };
    OffsetFetchRequest { groups: vec![group], require_stable: stable, ..Default::default() }
}
