//! What brokers answer to fetches.

use std::time::Instant;

use super::{ConsumerEvent, ConsumerMachine, Fetched, Position, Run, TopicPartition, content, partition::Phase};
use crate::{
    machine::{
        error::{MachineError, MachineErrorKind},
        metadata::Urgency,
        types::TopicIdPartition,
    },
    messages::fetch::{FetchResponse, PartitionData},
    wire::ErrorCode,
};

impl ConsumerMachine {
    pub(super) fn fetched(&mut self, now: Instant, node_id: i32, response: FetchResponse) {
        for endpoint in &response.node_endpoints {
            self.metadata.endpoint(endpoint.node_id, &endpoint.host, endpoint.port);
        }
        let Some(node) = self.nodes.get_mut(&node_id) else { return };
        let Some(in_flight) = node.in_flight.take() else { return };
        node.session.answered(response.error_code, response.session_id);
        if !response.error_code.is_none() {
            return self.broker_said(now, node_id, response.error_code);
        }
        node.went_well();
        node.throttle(now, response.throttle_time_ms);
        for topic in response.responses {
            for data in topic.partitions {
                let id = TopicIdPartition { topic_id: topic.topic_id, partition: data.partition_index };
                if let Some((name, run, from)) = in_flight.asked.get(&id) {
                    self.fetched_of(now, node_id, id, (name, *run, *from), data);
                }
            }
        }
    }

    /// The error of a whole fetch.
    fn broker_said(&mut self, now: Instant, node_id: i32, code: ErrorCode) {
        let Some(node) = self.nodes.get_mut(&node_id) else { return };
        match code {
            // Another session is begun at once.
            ErrorCode::FETCH_SESSION_ID_NOT_FOUND
            | ErrorCode::INVALID_FETCH_SESSION_EPOCH
            | ErrorCode::FETCH_SESSION_TOPIC_ID_ERROR
                if node.reported.replace(code) != Some(code) => {}
            ErrorCode::UNKNOWN_TOPIC_ID | ErrorCode::INCONSISTENT_TOPIC_ID => {
                node.back_off(now);
                self.metadata.refresh(now, Urgency::Debounced);
            }
            code if code.is_retriable() => {
                node.back_off(now);
                self.metadata.refresh(now, Urgency::Now);
            }
            code => {
                node.back_off(now);
                if node.reported.replace(code) != Some(code) {
                    let kind = MachineErrorKind::Refused { api: "Fetch", node: Some(node_id), code, message: None };
                    self.fail_with(MachineError::passing(kind));
                }
            }
        }
    }

    /// What one partition gave that was asked for from `from` on.
    fn fetched_of(
        &mut self,
        now: Instant,
        node_id: i32,
        id: TopicIdPartition,
        (name, run, from): (&TopicPartition, Run, Position),
        data: PartitionData,
    ) {
        let max_age = self.options.metadata_max_age;
        let Some(partition) = self.partitions.get_mut(name) else { return };
        // What was sought meanwhile, or is to be checked first, is fetched anew.
        if partition.run != run || partition.phase != Phase::Ready(from) || partition.is_leaving {
            return;
        }
        if !data.error_code.is_none() {
            let leader = (data.current_leader.leader_id, data.current_leader.leader_epoch);
            return self.partition_said(now, node_id, id, name, data.error_code, leader);
        }
        partition.went_well();
        if data.preferred_read_replica >= 0 && data.preferred_read_replica != node_id {
            partition.replica = Some((data.preferred_read_replica, now + max_age));
        }
        let Some(records) = data.records.filter(|records| !records.is_empty()) else { return };
        let content = content::read(records, from, data.aborted_transactions, &self.options);
        if content.next.offset == from.offset && content.error.is_none() {
            // Less than a batch: brokers do not do that.
            partition.back_off(now);
            return;
        }
        let bytes = content.batches.iter().map(|batch| batch.size_in_bytes().max(batch.body_len())).sum();
        partition.phase = if content.error.is_some() { Phase::Stopped } else { Phase::Ready(content.next) };
        partition.buffer(content.next.offset, bytes);
        self.tell(ConsumerEvent::Fetched(Fetched {
            partition: name.clone(),
            run,
            first: from.offset,
            batches: content.batches,
            next: content.next,
            high_watermark: data.high_watermark,
            error: content.error,
        }));
    }

    /// The error of one partition.
    fn partition_said(
        &mut self,
        now: Instant,
        node_id: i32,
        id: TopicIdPartition,
        name: &TopicPartition,
        code: ErrorCode,
        (leader, epoch): (i32, i32),
    ) {
        let Some(partition) = self.partitions.get_mut(name) else { return };
        let was_replica = partition.replica.take_if(|(replica, _)| *replica == node_id).is_some();
        match code {
            // A replica that lags behind, or has not been told yet: the leader knows.
            ErrorCode::OFFSET_OUT_OF_RANGE if was_replica => {}
            ErrorCode::OFFSET_OUT_OF_RANGE => {
                partition.out_of_range = true;
                self.leave_range(name);
            }
            ErrorCode::NOT_LEADER_OR_FOLLOWER | ErrorCode::FENCED_LEADER_EPOCH
                if leader != node_id && self.metadata.hint(id, leader, epoch) => {}
            ErrorCode::OFFSET_NOT_AVAILABLE => partition.back_off(now),
            ErrorCode::CORRUPT_MESSAGE => {
                partition.back_off(now);
                if partition.reported.replace(code) != Some(code) {
                    let (topic, node) = (name.topic.clone(), node_id);
                    let kind = MachineErrorKind::Fetch { topic, topic_partition: id, node, code };
                    self.fail_with(MachineError::passing(kind));
                }
            }
            code => self.leader_said(now, name, code),
        }
    }
}
