//! What brokers answer to ShareFetch and ShareAcknowledge.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use super::{
    Pause, ShareConsumerMachine, failure,
    node::{AT_ONCE, BUSY_WAIT, FEATURES_SINCE, InFlight, Kind, Node},
    unreadable::TAKING_BACK,
};
use crate::{
    machine::{
        ack_ledger::RetryPolicy,
        acquisition,
        backoff::Backoff,
        error::{MachineError, MachineErrorKind},
        metadata::Urgency,
        share_session::Refusal,
        types::{Acquisition, ClientResponse, Event, Output, RequestFailure, RequestId, TopicIdPartition},
    },
    messages::{
        share_acknowledge::ShareAcknowledgeResponse,
        share_fetch::{PartitionData, ShareFetchResponse},
    },
    wire::ErrorCode,
};

/// The longest pause of a partition: when its leader is found again it is fetched well within a second.
const LONGEST_PAUSE: Duration = Duration::from_millis(500);

impl ShareConsumerMachine {
    pub(super) fn handle_session_response(
        &mut self,
        now: Instant,
        id: RequestId,
        response: Result<ClientResponse, RequestFailure>,
    ) {
        let mut nodes = self.nodes.iter_mut();
        let found = nodes.find_map(|(node_id, node)| {
            let request = node.in_flight.take_if(|request| request.id == id)?;
            Some((*node_id, request))
        });
        let Some((node, request)) = found else { return };
        match (response, request.kind) {
            (Ok(ClientResponse::ShareFetch(response)), Kind::Fetch { .. }) => {
                self.fetched(now, node, request, response)
            }
            (Ok(ClientResponse::ShareAcknowledge(response)), Kind::Acknowledge | Kind::End) => {
                self.acknowledged(now, node, request, response);
            }
            (Err(RequestFailure::UnsupportedVersion(offered)), _) => self.unsupported(now, node, request, offered),
            (response, kind) => {
                let is_unreadable = failure(response) == RequestFailure::Malformed;
                if is_unreadable && matches!(kind, Kind::Fetch { asked: 1.. }) {
                    self.suspect(now, node);
                }
                self.nodes.get_mut(&node).into_iter().for_each(|node| node.session.unanswered());
                self.lose_session(node, ErrorCode::NETWORK_EXCEPTION);
                self.metadata.refresh(now, Urgency::Now);
                let Some(lost) = self.nodes.get_mut(&node) else { return };
                lost.lost_connection(now);
                if is_unreadable {
                    lost.not_before = lost.not_before.max(Some(now + TAKING_BACK));
                }
                if is_unreadable && !std::mem::replace(&mut lost.unreadable, true) {
                    let kind = MachineErrorKind::Unreadable { node, api: kind.api() };
                    self.fail_with(MachineError::passing(kind));
                }
            }
        }
        self.report_outcomes(node);
    }

    fn fetched(&mut self, now: Instant, node_id: i32, request: InFlight, response: ShareFetchResponse) {
        for endpoint in &response.node_endpoints {
            self.metadata.endpoint(endpoint.node_id, &endpoint.host, endpoint.port);
        }
        self.learn_lock_timeout(response.acquisition_lock_timeout_ms);
        self.throttle(now, node_id, response.throttle_time_ms);
        if !self.whole_request(now, node_id, request, response.error_code, response.error_message) {
            return;
        }
        if let Kind::Fetch { asked: 1.. } = request.kind {
            self.clear_suspect(node_id);
        }
        let mut is_empty = true;
        let mut records = 0;
        let mut unlisted = Vec::new();
        let mut seen = BTreeSet::new();
        for topic in response.responses {
            for partition in topic.partitions {
                let topic_partition =
                    TopicIdPartition { topic_id: topic.topic_id, partition: partition.partition_index };
                // What stands there again would be handed out again.
                if !seen.insert(topic_partition) {
                    continue;
                }
                let is_listed = self.nodes.get(&node_id).is_some_and(|node| node.session.lists(topic_partition));
                if !is_listed {
                    unlisted.push(topic_partition);
                }
                is_empty &= !is_listed || partition.acquired_records.is_empty() && partition.error_code.is_none();
                records += self.fetched_partition(now, node_id, request, topic_partition, partition);
            }
        }
        let policy = self.retry_policy(request.kind);
        let Some(node) = self.nodes.get_mut(&node_id) else { return };
        node.ledger.answered_rest(now, ErrorCode::INVALID_RECORD_STATE, policy);
        node.session.mistaken(unlisted);
        node.answered = Some(now);
        if let Kind::Fetch { asked: asked @ 1.. } = request.kind {
            node.had_nothing = is_empty.then_some(now);
            if records > 0 {
                node.acquired = Some(now);
                node.at_end = records < asked / 2;
            }
        }
        // A broker that has nothing holds the fetch. One that answers at once would be asked in a loop.
        let least = if self.options.fetch_max_wait < AT_ONCE { AT_ONCE } else { Duration::ZERO };
        let early = request.written + request.max_wait.min(BUSY_WAIT).max(least);
        node.no_fetch_before = (is_empty && now < early).then_some(early);
    }

    /// Takes in what a fetch says about one partition. Returns how many records it brought.
    fn fetched_partition(
        &mut self,
        now: Instant,
        node_id: i32,
        request: InFlight,
        topic_partition: TopicIdPartition,
        mut data: PartitionData,
    ) -> u32 {
        let lock_deadline = self.lock_deadline(request);
        let policy = self.retry_policy(request.kind);
        let Some(node) = self.nodes.get_mut(&node_id) else { return 0 };
        node.ledger.answered(now, topic_partition, data.acknowledge_error_code, lock_deadline, policy);
        let leader = (data.current_leader.leader_id, data.current_leader.leader_epoch);
        if !data.acknowledge_error_code.is_none() {
            self.partition_error(now, node_id, topic_partition, data.acknowledge_error_code, leader, false);
        }
        if !data.error_code.is_none() {
            self.partition_error(now, node_id, topic_partition, data.error_code, leader, true);
            return 0;
        }
        self.paused.remove(&topic_partition);
        if data.acquired_records.is_empty() {
            return 0;
        }
        self.acquire(now, node_id, topic_partition, &mut data, lock_deadline)
    }

    /// Takes over what was acquired of one partition. Returns how many records may be handed out.
    fn acquire(
        &mut self,
        now: Instant,
        node_id: i32,
        topic_partition: TopicIdPartition,
        data: &mut PartitionData,
        lock_deadline: Instant,
    ) -> u32 {
        // A partition that the session never listed is none of ours.
        let lists = |node: &&mut Node| node.session.lists(topic_partition);
        let Some(node) = self.nodes.get_mut(&node_id).filter(lists) else { return 0 };
        let session = node.session.id();
        let Some(topic) = self.metadata.topic_name(topic_partition.topic_id).cloned() else { return 0 };
        let records = data.records.take().unwrap_or_default();
        let (check_crcs, limit) = (self.options.check_crcs, self.options.decompression_limit);
        let content = acquisition::read(records, &data.acquired_records, check_crcs, limit);

        self.last_acquisition += 1;
        let number = self.last_acquisition;
        node.ledger.acquired(topic_partition, &topic, &content.ranges, lock_deadline, number);
        if node.ending {
            // With the session the broker takes them back, and nobody gets to see them.
            return 0;
        }
        for range in content.settled {
            node.ledger.settle(now, topic_partition, &topic, range, lock_deadline);
        }
        for bad in content.bad {
            self.outputs.push_back(Output::Event(Event::BadBatch {
                topic: topic.clone(),
                topic_partition,
                first: bad.first,
                last: bad.last,
                settled: bad.settled,
                error: bad.error,
            }));
        }
        self.demand.saw(content.size);
        if content.records > 0 {
            self.demand.acquired(content.records);
            self.outputs.push_back(Output::Event(Event::Acquired(Acquisition {
                topic: topic.clone(),
                topic_partition,
                session,
                number,
                lock_timeout: self.lock_timeout.unwrap_or(super::DEFAULT_LOCK),
                lock_deadline,
                ranges: content.ranges,
                batches: content.batches,
                records: content.records,
            })));
        }
        if let Some((first, last)) = content.nonsense {
            let kind = MachineErrorKind::AcquiredRange { topic, topic_partition, node: node_id, first, last };
            self.fail_with(MachineError::passing(kind));
            self.pause(now, node_id, topic_partition);
        }
        content.records
    }

    fn acknowledged(&mut self, now: Instant, node_id: i32, request: InFlight, response: ShareAcknowledgeResponse) {
        for endpoint in &response.node_endpoints {
            self.metadata.endpoint(endpoint.node_id, &endpoint.host, endpoint.port);
        }
        self.learn_lock_timeout(response.acquisition_lock_timeout_ms);
        self.throttle(now, node_id, response.throttle_time_ms);
        let lock_deadline = self.lock_deadline(request);
        let policy = self.retry_policy(request.kind);
        if self.whole_request(now, node_id, request, response.error_code, response.error_message) {
            for topic in response.responses {
                for partition in topic.partitions {
                    let topic_partition =
                        TopicIdPartition { topic_id: topic.topic_id, partition: partition.partition_index };
                    let code = partition.error_code;
                    if let Some(node) = self.nodes.get_mut(&node_id) {
                        node.ledger.answered(now, topic_partition, code, lock_deadline, policy);
                    }
                    if !code.is_none() {
                        let leader = (partition.current_leader.leader_id, partition.current_leader.leader_epoch);
                        self.partition_error(now, node_id, topic_partition, code, leader, false);
                    }
                }
            }
            if let Some(node) = self.nodes.get_mut(&node_id) {
                node.ledger.answered_rest(now, ErrorCode::INVALID_RECORD_STATE, policy);
            }
        }
        if request.kind == Kind::End {
            self.ended(node_id);
        }
    }

    /// The session has ended because this side wanted it to. What was undecided is released by the broker.
    fn ended(&mut self, id: i32) {
        let Some(node) = self.nodes.get_mut(&id) else { return };
        let held_any = !node.ledger.is_empty();
        node.session.reset();
        node.lost = ErrorCode::SHARE_SESSION_NOT_FOUND;
        node.ledger.fail_all(node.lost);
        if held_any || node.ending {
            let (session, error) = (node.session.id(), node.lost);
            self.outputs.push_back(Output::Event(Event::SessionLost { session, error }));
        }
    }

    /// The error of a whole request, and what it does to the session. Returns whether the partitions of the response
    /// count.
    fn whole_request(
        &mut self,
        now: Instant,
        node_id: i32,
        request: InFlight,
        code: ErrorCode,
        message: Option<String>,
    ) -> bool {
        let policy = self.retry_policy(request.kind);
        let Some(node) = self.nodes.get_mut(&node_id) else { return false };
        match code {
            ErrorCode::NONE => {
                node.session.accepted();
                node.reported = None;
                node.look_for_leader = None;
                if request.feature.is_some() {
                    node.too_old_for = None;
                }
                // Opening proves little: a broker that opens session after session and keeps none would never be left
                // in peace.
                if !request.opening {
                    node.backoff.reset();
                    node.unreadable &= node.suspect.is_some();
                    node.not_before = None;
                }
                return true;
            }
            ErrorCode::INVALID_SHARE_SESSION_EPOCH if request.kind != Kind::End => {
                node.back_off(now);
                match node.session.refused() {
                    Refusal::Lost => self.lose_session(node_id, code),
                    Refusal::Doubted => node.ledger.not_taken(now, policy),
                    Refusal::Taken => self.lose_place(node_id),
                }
                return false;
            }
            ErrorCode::SHARE_SESSION_NOT_FOUND
            | ErrorCode::INVALID_SHARE_SESSION_EPOCH
            | ErrorCode::SHARE_SESSION_LIMIT_REACHED => {
                // A session that was to end has no more to lose.
                if request.kind == Kind::End {
                    node.ledger.answered_rest(now, code, policy);
                } else {
                    node.back_off(now);
                    let is_full = code == ErrorCode::SHARE_SESSION_LIMIT_REACHED;
                    if is_full && node.reported.replace(code) != Some(code) {
                        let broker = node.address.clone();
                        self.fail_with(MachineError::passing(MachineErrorKind::SessionLimit { broker }));
                    }
                    self.lose_session(node_id, code);
                }
                return false;
            }
            ErrorCode::UNSUPPORTED_VERSION => {
                self.lose_session(node_id, code);
                self.fail(MachineErrorKind::ShareGroupsDisabled);
                return false;
            }
            _ => {}
        }
        if request.opening {
            node.session.reset();
        } else {
            node.session.failed();
        }
        node.back_off(now);
        node.ledger.answered_rest(now, code, policy);
        let is_news = node.reported != Some(code);
        node.reported = Some(code);
        match code {
            ErrorCode::UNKNOWN_TOPIC_ID | ErrorCode::UNKNOWN_TOPIC_OR_PARTITION | ErrorCode::INCONSISTENT_TOPIC_ID => {
                self.metadata.refresh(now, Urgency::Debounced);
            }
            code if code.is_retriable() => self.metadata.refresh(now, Urgency::Now),
            ErrorCode::GROUP_AUTHORIZATION_FAILED if is_news => {
                let group = self.options.group_id.clone();
                self.fail_with(MachineError::passing(MachineErrorKind::GroupAuthorization { group }));
            }
            code if is_news => {
                let api = request.kind.api();
                let kind = MachineErrorKind::Refused { api, node: Some(node_id), code, message };
                self.fail_with(MachineError::passing(kind));
            }
            _ => {}
        }
        false
    }

    /// A broker that does not lead the partition any more, or does not have it, has forgotten what was acquired there.
    /// Returns whether anything was.
    fn lose_what_moved(&mut self, node_id: i32, topic_partition: TopicIdPartition, code: ErrorCode) -> bool {
        let is_gone = matches!(
            code,
            ErrorCode::NOT_LEADER_OR_FOLLOWER
                | ErrorCode::FENCED_LEADER_EPOCH
                | ErrorCode::UNKNOWN_TOPIC_OR_PARTITION
                | ErrorCode::UNKNOWN_TOPIC_ID
                | ErrorCode::INCONSISTENT_TOPIC_ID
        );
        let holds = |node: &Node| node.ledger.partitions().any(|held| held == topic_partition);
        let loses = is_gone && self.nodes.get(&node_id).is_some_and(holds);
        if loses {
            self.lose_partition(node_id, topic_partition, code);
        }
        loses
    }

    /// An error of one partition: a new leader is believed at once, else metadata is asked; `fetching`: it is not
    /// fetched for a while.
    fn partition_error(
        &mut self,
        now: Instant,
        node_id: i32,
        topic_partition: TopicIdPartition,
        code: ErrorCode,
        (leader, epoch): (i32, i32),
        fetching: bool,
    ) {
        let mut is_told = false;
        let held_any = self.lose_what_moved(node_id, topic_partition, code);
        match code {
            ErrorCode::NOT_LEADER_OR_FOLLOWER
            | ErrorCode::FENCED_LEADER_EPOCH
            | ErrorCode::UNKNOWN_LEADER_EPOCH
            | ErrorCode::LEADER_NOT_AVAILABLE
            | ErrorCode::KAFKA_STORAGE_ERROR => {
                if leader != node_id && self.metadata.hint(topic_partition, leader, epoch) {
                    self.paused.remove(&topic_partition);
                    self.reassign = true;
                    return;
                }
                self.metadata.refresh(now, Urgency::Now);
            }
            ErrorCode::UNKNOWN_TOPIC_OR_PARTITION | ErrorCode::UNKNOWN_TOPIC_ID | ErrorCode::INCONSISTENT_TOPIC_ID => {
                // A broker that has acquired records of it did know it: the partition has moved, or the topic is gone.
                self.metadata.refresh(now, if held_any { Urgency::Now } else { Urgency::Debounced });
            }
            code => is_told = !code.is_retriable(),
        }
        if !fetching {
            return;
        }
        let pause = self.pause(now, node_id, topic_partition);
        if is_told && pause.reported.replace(code) != Some(code) {
            let topic = self.topic_name(topic_partition);
            let kind = match code {
                ErrorCode::TOPIC_AUTHORIZATION_FAILED => MachineErrorKind::TopicAuthorization { topic: Some(topic) },
                code => MachineErrorKind::Fetch { topic, topic_partition, node: node_id, code },
            };
            self.fail_with(MachineError::passing(kind));
        }
    }

    /// Takes a partition out of the session for a while, longer each time until a fetch of it goes well.
    pub(super) fn pause(&mut self, now: Instant, node: i32, topic_partition: TopicIdPartition) -> &mut Pause {
        self.reassign = true;
        let options = &self.options;
        let pause = self.paused.entry(topic_partition).or_insert_with(|| Pause {
            until: None,
            backoff: Backoff::new(
                options.retry_backoff,
                options.retry_backoff_max.min(LONGEST_PAUSE),
                self.seed ^ topic_partition.partition as u64,
            ),
            node,
            reported: None,
            unreadable: None,
        });
        pause.until = Some(now + pause.backoff.next_delay());
        pause.node = node;
        pause
    }

    /// The broker does not know the version that the request needs; nothing was sent, so the epoch stays.
    fn unsupported(&mut self, now: Instant, id: i32, request: InFlight, offered: Option<i16>) {
        let Some(node) = self.nodes.get_mut(&id) else { return };
        let Some(feature) = request.feature else {
            self.lose_session(id, ErrorCode::UNSUPPORTED_VERSION);
            return self.fail(MachineErrorKind::ShareGroupsDisabled);
        };
        match request.kind {
            Kind::Acknowledge => node.ledger.refuse_renewals(now),
            // It opens a session, which is not there then: each connection speaks one version as long as it lives.
            Kind::Fetch { .. } | Kind::End => {
                node.back_off(now);
                self.lose_session(id, ErrorCode::UNSUPPORTED_VERSION);
            }
        }
        let Some(node) = self.nodes.get_mut(&id) else { return };
        if node.too_old_for.replace(feature) != Some(feature) {
            let (broker, api) = (node.address.clone(), request.kind.api());
            let kind = MachineErrorKind::OldBroker { broker, api, offered, least: FEATURES_SINCE, feature };
            self.fail_with(MachineError::passing(kind));
        }
    }

    fn throttle(&mut self, now: Instant, node: i32, milliseconds: i32) {
        if let Some(node) = self.nodes.get_mut(&node) {
            node.throttle(now, milliseconds);
        }
    }

    fn learn_lock_timeout(&mut self, milliseconds: i32) {
        let Ok(milliseconds @ 1..) = u64::try_from(milliseconds) else { return };
        let timeout = Duration::from_millis(milliseconds);
        if self.lock_timeout.replace(timeout) != Some(timeout) {
            self.outputs.push_back(Output::Event(Event::LockTimeout(timeout)));
        }
    }

    /// When locks that this request made or renewed have to be taken as lost.
    fn lock_deadline(&self, request: InFlight) -> Instant {
        request.written + self.lock_timeout.unwrap_or(super::DEFAULT_LOCK)
    }

    fn retry_policy(&self, kind: Kind) -> RetryPolicy {
        RetryPolicy {
            // Nothing can be tried again in a session that is over.
            timeout: if kind == Kind::End { Duration::ZERO } else { self.options.default_api_timeout },
            backoff: self.options.retry_backoff,
            backoff_max: self.options.retry_backoff_max,
            isolates: kind != Kind::End,
        }
    }
}

impl Kind {
    fn api(self) -> &'static str {
        match self {
            Self::Fetch { .. } => "ShareFetch",
            Self::Acknowledge | Self::End => "ShareAcknowledge",
        }
    }
}
