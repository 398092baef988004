//! Finds the broker that coordinates a group, or the transactions of a producer.
//!
//! ```text
//!   Unknown --poll, once due--> Finding --answer--> Known
//!      ^                           |                  |
//!      +---- error, after backoff -+                  |
//!      +---- lost: at once if a heartbeat had worked, else after backoff
//! ```

use std::time::{Duration, Instant};

use crate::{
    machine::{
        backoff::Backoff,
        error::{MachineError, MachineErrorKind},
        types::{BrokerAddress, RequestFailure, Step},
    },
    messages::find_coordinator::{Coordinator, FindCoordinatorRequest, FindCoordinatorResponse},
    wire::ErrorCode,
};

/// What a coordinator coordinates: FindCoordinator's `keyType`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyType {
    /// A group, share groups among them.
    Group = 0,
    /// The transactions of a transactional id.
    Transaction = 1,
}

#[derive(Debug)]
pub(crate) struct CoordinatorMachine {
    key_type: KeyType,
    /// `group.id` or `transactional.id`.
    key: String,
    state: State,
    backoff: Backoff,
    error: Option<MachineError>,
}

#[derive(Debug)]
enum State {
    /// To be asked for; `None`: at once.
    Unknown(Option<Instant>),
    Finding,
    Known {
        address: BrokerAddress,
        confirmed: bool,
    },
    Failed,
}

impl CoordinatorMachine {
    pub(crate) fn new(
        key_type: KeyType,
        key: String,
        retry_backoff: Duration,
        retry_backoff_max: Duration,
        seed: u64,
    ) -> Self {
        Self {
            key_type,
            key,
            state: State::Unknown(None),
            backoff: Backoff::new(retry_backoff, retry_backoff_max, seed),
            error: None,
        }
    }

    /// The coordinator, where known.
    pub(crate) fn address(&self) -> Option<&BrokerAddress> {
        match &self.state {
            State::Known { address, .. } => Some(address),
            _ => None,
        }
    }

    /// A request to the coordinator worked.
    pub(crate) fn confirmed(&mut self) {
        if let State::Known { confirmed, .. } = &mut self.state {
            *confirmed = true;
            self.backoff.reset();
        }
    }

    /// The coordinator has moved or cannot be reached.
    pub(crate) fn lost(&mut self, now: Instant) {
        if let State::Known { confirmed, .. } = self.state {
            // A broker that names itself and then declines would make a loop without the pause.
            self.state = State::Unknown((!confirmed).then(|| now + self.backoff.next_delay()));
        }
    }

    pub(crate) fn handle_response(&mut self, now: Instant, response: FindCoordinatorResponse) {
        let FindCoordinatorResponse { error_code, error_message, node_id, host, port, coordinators, .. } = response;
        // Since version 4 the answer is a list, with one entry for our one key.
        let answer = coordinators.into_iter().find(|answer| answer.key == self.key).unwrap_or(Coordinator {
            key: String::new(),
            node_id,
            host,
            port,
            error_code,
            error_message,
        });
        self.state = match (answer.error_code, u16::try_from(answer.port)) {
            (ErrorCode::NONE, Ok(port)) if answer.node_id >= 0 => State::Known {
                address: BrokerAddress { node: answer.node_id, host: answer.host, port },
                confirmed: false,
            },
            (ErrorCode::NONE, _) => self.retry(now),
            (ErrorCode::GROUP_AUTHORIZATION_FAILED, _) => {
                self.fail(MachineErrorKind::GroupAuthorization { group: self.key.clone() })
            }
            (code, _) if code.is_retriable() => self.retry(now),
            (code, _) => self.fail(MachineErrorKind::Refused {
                api: "FindCoordinator",
                node: None,
                code,
                message: answer.error_message,
            }),
        };
    }

    pub(crate) fn handle_failure(&mut self, now: Instant, failure: RequestFailure) {
        self.state = match failure {
            RequestFailure::UnsupportedVersion(_) => self.fail(MachineErrorKind::ShareGroupsDisabled),
            _ => self.retry(now),
        };
    }

    pub(crate) fn poll(&mut self, now: Instant) -> Step<FindCoordinatorRequest, MachineError> {
        if let Some(error) = self.error.take() {
            return Step::Event(error);
        }
        match self.state {
            State::Unknown(Some(due)) if now < due => Step::Wait(Some(due)),
            State::Unknown(_) => {
                self.state = State::Finding;
                Step::Send(FindCoordinatorRequest {
                    key: String::new(),
                    key_type: self.key_type as i8,
                    coordinator_keys: vec![self.key.clone()],
                })
            }
            State::Finding | State::Known { .. } | State::Failed => Step::Wait(None),
        }
    }

    fn retry(&mut self, now: Instant) -> State {
        State::Unknown(Some(now + self.backoff.next_delay()))
    }

    fn fail(&mut self, kind: MachineErrorKind) -> State {
        self.error = Some(MachineError::fatal(kind));
        State::Failed
    }
}
