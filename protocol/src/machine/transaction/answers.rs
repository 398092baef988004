//! What answers mean.

use std::time::{Duration, Instant};

use super::{
    Asked, ProducerIdentity, Started, State, TransactionFault, TransactionMachine, TransactionResponse as Response,
};
use crate::{
    machine::{
        consumer::TopicPartition,
        types::{RequestFailure, RequestId},
    },
    messages::{
        add_partitions_to_txn::AddPartitionsToTxnResponse, end_txn::EndTxnResponse,
        init_producer_id::InitProducerIdResponse, txn_offset_commit::TxnOffsetCommitResponse,
    },
    wire::ErrorCode,
};

/// How long to wait while the coordinator completes the transaction before: it takes it a moment, and more often than not no longer (KAFKA-5477).
const COMPLETING: Duration = Duration::from_millis(20);

impl TransactionMachine {
    /// The answer to a request, exactly once for each. One that comes too late to matter is ignored.
    pub fn handle_response(&mut self, now: Instant, id: RequestId, response: Result<Response, RequestFailure>) {
        let Some((_, asked)) = self.in_flight.take_if(|(out, _)| *out == id) else { return };
        match (asked, response) {
            (Asked::Coordinator, Ok(Response::FindCoordinator(response))) => {
                self.coordinator.handle_response(now, response);
            }
            (Asked::Coordinator, response) => self.coordinator.handle_failure(now, failure(response)),
            (Asked::GroupCoordinator(group), response) => {
                let Some(group) = self.groups.get_mut(&group) else { return };
                match response {
                    Ok(Response::FindCoordinator(response)) => group.handle_response(now, response),
                    response => group.handle_failure(now, failure(response)),
                }
            }
            (Asked::Init, Ok(Response::InitProducerId(response))) => self.initialized(now, &response),
            (Asked::Partitions, Ok(Response::AddPartitionsToTxn(response))) => self.partitions_added(now, response),
            (Asked::Offsets, Ok(Response::AddOffsetsToTxn(response))) => {
                self.offsets_added(now, response.error_code);
            }
            (Asked::GroupOffsets, Ok(Response::TxnOffsetCommit(response))) => self.offsets_taken(now, &response),
            (Asked::End { commits }, Ok(Response::EndTxn(response))) => self.end_answered(now, commits, &response),
            #[cfg(feature = "unstable-kip-1289")]
            (Asked::Shares, Ok(Response::TxnShareAcknowledge(response))) => self.shares_staged(now, &response),
            #[cfg(feature = "unstable-kip-1289")]
            (Asked::Shares, Ok(Response::SharesLack(lack))) => self.shares_lack(lack),
            #[cfg(feature = "unstable-kip-1289")]
            (Asked::Shares, response) => self.shares_not_answered(failure(response)),
            (asked, response) => self.not_answered(now, &asked, failure(response)),
        }
    }

    fn not_answered(&mut self, now: Instant, asked: &Asked, failure: RequestFailure) {
        if let RequestFailure::UnsupportedVersion(_) = failure {
            return self.fail(TransactionFault::Unsupported { api: api(asked) });
        }
        self.lose_coordinator(now, asked);
        self.retry(now);
    }

    fn lose_coordinator(&mut self, now: Instant, asked: &Asked) {
        match asked {
            Asked::GroupOffsets => {
                let group = self.offsets.front().map(|call| &call.group.group_id);
                if let Some(group) = group.and_then(|group| self.groups.get_mut(group)) {
                    group.lost(now);
                }
            }
            _ => self.coordinator.lost(now),
        }
    }

    fn retry(&mut self, now: Instant) {
        self.retry_at = Some(now + self.backoff.next_delay());
    }

    /// Deals with the errors that each request to a coordinator can meet. Gives the code where it is another one.
    pub(super) fn common_error(&mut self, now: Instant, asked: &Asked, code: ErrorCode) -> Option<ErrorCode> {
        match code {
            ErrorCode::NOT_COORDINATOR | ErrorCode::COORDINATOR_NOT_AVAILABLE => {
                self.lose_coordinator(now, asked);
                self.retry(now);
            }
            ErrorCode::CONCURRENT_TRANSACTIONS => self.retry_at = Some(now + COMPLETING),
            ErrorCode::PRODUCER_FENCED | ErrorCode::INVALID_PRODUCER_EPOCH => {
                let transactional_id = self.options.transactional_id.clone();
                let timeout_ms = self.options.transaction_timeout.as_millis();
                self.fail(TransactionFault::Fenced { transactional_id, timeout_ms });
            }
            ErrorCode::TRANSACTIONAL_ID_AUTHORIZATION_FAILED => {
                let transactional_id = self.options.transactional_id.clone();
                self.fail(TransactionFault::NotAuthorized { transactional_id });
            }
            code if code.is_retriable() => self.retry(now),
            code => return Some(code),
        }
        None
    }

    pub(super) fn refused(&self, asked: &Asked, code: ErrorCode) -> TransactionFault {
        TransactionFault::Refused { api: api(asked), transactional_id: self.options.transactional_id.clone(), code }
    }

    fn initialized(&mut self, now: Instant, response: &InitProducerIdResponse) {
        if response.error_code.is_none() {
            self.went_well();
            self.producer = Some(ProducerIdentity { id: response.producer_id, epoch: response.producer_epoch });
            return self.ready();
        }
        match self.common_error(now, &Asked::Init, response.error_code) {
            None => {}
            Some(ErrorCode::INVALID_TRANSACTION_TIMEOUT) => {
                self.fail(TransactionFault::Timeout { timeout_ms: self.options.transaction_timeout.as_millis() });
            }
            Some(code) => self.fail(self.refused(&Asked::Init, code)),
        }
    }

    fn went_well(&mut self) {
        self.backoff.reset();
        self.coordinator.confirmed();
    }

    fn partitions_added(&mut self, now: Instant, response: AddPartitionsToTxnResponse) {
        let mut worst = None;
        let mut again = None;
        for topic in response.results_by_topic_v3_and_below {
            for result in topic.results_by_partition {
                let name = TopicPartition::new(topic.name.as_str(), result.partition_index);
                match result.partition_error_code {
                    ErrorCode::NONE => {
                        self.started = Started::Yes;
                        self.partitions.to_add.remove(&name);
                        self.partitions.added.insert(name);
                    }
                    // Refused with others that are to blame.
                    ErrorCode::OPERATION_NOT_ATTEMPTED => {}
                    code if code.is_retriable() => again = Some(code),
                    code => worst = Some((name, code)),
                }
            }
        }
        self.events.push_back(super::TransactionEvent::Changed);
        if let Some((partition, code)) = worst {
            match self.common_error(now, &Asked::Partitions, code) {
                Some(ErrorCode::INVALID_TXN_STATE | ErrorCode::INVALID_PRODUCER_ID_MAPPING) => {
                    self.fail(self.refused(&Asked::Partitions, code));
                }
                Some(code) => self.make_abortable(TransactionFault::Partition { partition, code }),
                None => {}
            }
        } else if let Some(code) = again {
            self.common_error(now, &Asked::Partitions, code);
        } else if self.partitions.to_add.is_empty() {
            self.went_well();
        } else {
            // More came while it was out, or the coordinator said nothing of some.
            self.retry_at = Some(now + COMPLETING);
        }
    }

    fn offsets_added(&mut self, now: Instant, code: ErrorCode) {
        if code.is_none() {
            self.started = Started::Yes;
            self.went_well();
            if let Some(call) = self.offsets.front_mut() {
                call.is_added = true;
            }
            return;
        }
        match self.common_error(now, &Asked::Offsets, code) {
            None => {}
            Some(code @ (ErrorCode::GROUP_AUTHORIZATION_FAILED | ErrorCode::TRANSACTION_ABORTABLE)) => {
                self.make_abortable(self.refused(&Asked::Offsets, code));
            }
            Some(code) => self.fail(self.refused(&Asked::Offsets, code)),
        }
    }

    fn offsets_taken(&mut self, now: Instant, response: &TxnOffsetCommitResponse) {
        let Some(call) = self.offsets.front_mut() else { return };
        let mut worst: Option<(TopicPartition, ErrorCode)> = None;
        for topic in &response.topics {
            for result in &topic.partitions {
                let name = TopicPartition::new(topic.name.as_str(), result.partition_index);
                let code = result.error_code;
                if code.is_none() {
                    self.started = Started::Yes;
                    call.left.remove(&name);
                } else if worst.as_ref().is_none_or(|(_, worst)| worst.is_retriable() && !code.is_retriable()) {
                    worst = Some((name, code));
                }
            }
        }
        let (id, group) = (call.id, call.group.group_id.clone());
        let is_done = call.left.is_empty();
        let Some((partition, code)) = worst else {
            if is_done {
                self.offsets.pop_front();
                self.backoff.reset();
                self.groups.get_mut(&group).into_iter().for_each(super::CoordinatorMachine::confirmed);
                self.answer(id, Ok(()));
            } else {
                self.retry(now);
            }
            return;
        };
        match self.common_error(now, &Asked::GroupOffsets, code) {
            None => {}
            Some(
                code @ (ErrorCode::INVALID_TXN_STATE
                | ErrorCode::INVALID_PRODUCER_ID_MAPPING
                | ErrorCode::UNSUPPORTED_FOR_MESSAGE_FORMAT),
            ) => self.fail(self.refused(&Asked::GroupOffsets, code)),
            Some(code) => self.make_abortable(TransactionFault::Offsets { group, partition, code }),
        }
    }

    fn end_answered(&mut self, now: Instant, commits: bool, response: &EndTxnResponse) {
        if !matches!(self.state, State::Ending { commits: under_way, .. } if under_way == commits) {
            return;
        }
        // Where it is not known whether there is a transaction, the coordinator may have none to abort.
        let has_none =
            !commits && self.started == Started::Maybe && response.error_code == ErrorCode::INVALID_TXN_STATE;
        if response.error_code.is_none() || has_none {
            self.went_well();
            if self.is_v2 && response.producer_id >= 0 {
                self.producer = Some(ProducerIdentity { id: response.producer_id, epoch: response.producer_epoch });
            }
            return self.ended(commits);
        }
        match self.common_error(now, &Asked::End { commits }, response.error_code) {
            None => {}
            Some(ErrorCode::INVALID_TXN_STATE) if commits => {
                let transactional_id = self.options.transactional_id.clone();
                let timeout_ms = self.options.transaction_timeout.as_millis();
                self.fail(TransactionFault::Late { transactional_id, timeout_ms });
            }
            Some(code @ ErrorCode::TRANSACTION_ABORTABLE) => {
                self.make_abortable(self.refused(&Asked::End { commits }, code))
            }
            Some(code) => self.fail(self.refused(&Asked::End { commits }, code)),
        }
    }
}

/// The failure of a response that is none, or that belongs to another request.
fn failure(response: Result<Response, RequestFailure>) -> RequestFailure {
    response.err().unwrap_or(RequestFailure::Malformed)
}

fn api(asked: &Asked) -> &'static str {
    match asked {
        Asked::Coordinator | Asked::GroupCoordinator(_) => "FindCoordinator",
        Asked::Init => "InitProducerId",
        Asked::Partitions => "AddPartitionsToTxn",
        Asked::Offsets => "AddOffsetsToTxn",
        Asked::GroupOffsets => "TxnOffsetCommit",
        #[cfg(feature = "unstable-kip-1289")]
        Asked::Shares => "TxnShareAcknowledge",
        Asked::End { .. } => "EndTxn",
    }
}
