//! Faults as data: rules that say which requests go wrong, and how.
//!
//! A rule meets requests that have all it names; the first `after` of them pass, the next `times` go wrong. Of several rules the
//! first one that is due acts.

mod answer;
mod refuse;
mod spoil;

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

use ackflow_protocol::wire::{ApiKey, ErrorCode, RequestHeader};
use bytes::Bytes;

use super::{Answer, Cluster, ConnectionId, Due, Output};
pub(super) use answer::Later;
pub(super) use refuse::whole;
pub use spoil::{STRANGE_PARTITION, Spoil};

/// Names a rule of a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FaultId(u64);

/// Which requests go wrong, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FaultRule {
    api: Option<ApiKey>,
    node: Option<i32>,
    client_id: Option<String>,
    connection: Option<ConnectionId>,
    after: u32,
    times: u32,
    action: FaultAction,
}

/// What becomes of a request that a rule meets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultAction {
    /// Nothing is done, and the whole response is this error. An API whose response has no error of its own gives it to each thing
    /// that the request names.
    Refuse(ErrorCode),
    /// Nothing is done, and each partition that the request names gets this error: of ShareFetch as the error of fetching and, where it
    /// carries acknowledgements, as theirs. Other APIs than Produce, Fetch, ShareFetch and ShareAcknowledge are refused as a whole. A share
    /// session goes on, as after every request with an error of a partition.
    RefusePartitions(ErrorCode),
    /// The acknowledgements that a ShareFetch or ShareAcknowledge carries get this error, and nothing of them is done; the rest of the request is. Other
    /// requests are as if there was no rule.
    RefuseAcknowledgements(ErrorCode),
    /// It is done and answered only after so long. What follows on the connection waits.
    DelayRequest(Duration),
    /// It is done at once and answered after so long. What follows on the connection waits.
    DelayAnswer(Duration),
    /// Nothing is done and nothing answered, ever; the connection stays.
    Ignore,
    /// Nothing is done, and the connection is cut.
    CutBefore,
    /// It is done, and the connection is cut in place of the answer.
    CutAfter,
    /// It is done, half of the answer is sent, and then the connection is cut.
    CutHalfway,
    /// It is done, and the answer says that the client is throttled for so long. Whatever it sends earlier waits until then, as in
    /// Kafka (KIP-219).
    Throttle(Duration),
    /// It is done, and the answer is not what a broker would give.
    Spoil(Spoil),
}

impl FaultRule {
    /// Every request goes wrong, until [`api`](Self::api) and its like say less.
    pub fn new(action: FaultAction) -> Self {
        Self { api: None, node: None, client_id: None, connection: None, after: 0, times: u32::MAX, action }
    }

    /// Only requests of this API.
    #[must_use]
    pub fn api(self, api: ApiKey) -> Self {
        Self { api: Some(api), ..self }
    }

    /// Only requests to this node.
    #[must_use]
    pub fn node(self, node: i32) -> Self {
        Self { node: Some(node), ..self }
    }

    /// Only requests of clients with this `client.id`.
    #[must_use]
    pub fn client_id(self, client_id: impl Into<String>) -> Self {
        Self { client_id: Some(client_id.into()), ..self }
    }

    /// Only requests on this connection.
    #[must_use]
    pub fn connection(self, connection: ConnectionId) -> Self {
        Self { connection: Some(connection), ..self }
    }

    /// Lets so many of the requests pass first.
    #[must_use]
    pub fn after(self, requests: u32) -> Self {
        Self { after: requests, ..self }
    }

    /// Meets so many requests, and then no more.
    #[must_use]
    pub fn times(self, requests: u32) -> Self {
        Self { times: requests, ..self }
    }

    fn matches(&self, connection: ConnectionId, node: i32, header: &RequestHeader) -> bool {
        self.api.is_none_or(|api| api == header.request_api_key)
            && self.node.is_none_or(|wanted| wanted == node)
            && self.connection.is_none_or(|wanted| wanted == connection)
            && self.client_id.as_ref().is_none_or(|id| header.client_id.as_ref() == Some(id))
    }
}

/// What of a request is refused because of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refused {
    /// Nothing.
    Nothing,
    /// The request.
    Everything(ErrorCode),
    /// Each partition of it.
    Partitions(ErrorCode),
    /// What it acknowledges.
    Acknowledgements(ErrorCode),
}

impl Refused {
    /// The error of each partition.
    pub(super) fn partitions(self) -> Option<ErrorCode> {
        match self {
            Self::Everything(code) | Self::Partitions(code) => Some(code),
            Self::Nothing | Self::Acknowledgements(_) => None,
        }
    }

    /// The error of each acknowledgement.
    pub(super) fn acknowledgements(self) -> Option<ErrorCode> {
        match self {
            Self::Acknowledgements(code) => Some(code),
            other => other.partitions(),
        }
    }
}

/// The rules of a cluster, and what is under way because of them.
#[derive(Debug, Default)]
pub(super) struct Faults {
    rules: VecDeque<(FaultId, FaultRule)>,
    hits: BTreeMap<FaultId, u32>,
    next: u64,
    /// What happens to answers that are not ready yet.
    later: BTreeMap<ConnectionId, Later>,
    /// Until when the requests of throttled connections wait.
    muted: BTreeMap<ConnectionId, Instant>,
    /// How many requests came though their client was throttled.
    early: BTreeMap<ApiKey, u32>,
}

impl Faults {
    /// What becomes of this request, where a rule meets it.
    fn meet(&mut self, connection: ConnectionId, node: i32, header: &RequestHeader) -> Option<FaultAction> {
        let due = self.rules.iter_mut().position(|(_, rule)| {
            let matches = rule.times > 0 && rule.matches(connection, node, header);
            let passes = matches && rule.after > 0;
            rule.after -= u32::from(passes);
            matches && !passes
        })?;
        let (id, rule) = &mut self.rules[due];
        *self.hits.entry(*id).or_default() += 1;
        let action = rule.action;
        // "Always" stays so.
        rule.times -= u32::from(rule.times != u32::MAX);
        if rule.times == 0 {
            self.rules.remove(due);
        }
        Some(action)
    }

    /// Forgets a connection that has ended.
    pub(super) fn forget(&mut self, connection: ConnectionId) {
        self.later.remove(&connection);
        self.muted.remove(&connection);
    }
}

impl Cluster {
    /// Adds a rule. It counts from now on.
    pub fn add_fault(&mut self, rule: FaultRule) -> FaultId {
        let id = FaultId(self.faults.next);
        self.faults.next += 1;
        self.faults.rules.push_back((id, rule));
        id
    }

    /// Takes all rules away. What they have begun goes on.
    pub fn clear_faults(&mut self) {
        self.faults.rules.clear();
    }

    /// How many requests a rule has met so far, also one that is gone.
    pub fn fault_hits(&self, id: FaultId) -> u32 {
        self.faults.hits.get(&id).copied().unwrap_or_default()
    }

    /// How many requests of an API came too early: after an answer on their connection had said that the client is throttled
    /// ([`FaultAction::Throttle`]), and before that was over. A client that obeys sends none, but for those that were on their way already.
    pub fn early_requests(&self, api: ApiKey) -> u32 {
        self.faults.early.get(&api).copied().unwrap_or_default()
    }

    /// Handles a request as the rules say.
    pub(super) fn handle_with_faults(
        &mut self,
        now: Instant,
        connection: ConnectionId,
        header: &RequestHeader,
        body: Bytes,
    ) -> Answer {
        if let Some(until) = self.faults.muted.remove(&connection).filter(|until| now < *until) {
            *self.faults.early.entry(header.request_api_key).or_default() += 1;
            self.timers.schedule(until, Due::Request(connection, header.clone(), body));
            return Answer::Parked;
        }
        let Some(node) = self.connections.get(&connection).map(|peer| peer.node) else {
            return self.handle_now(now, connection, header, body, Refused::Nothing);
        };
        let Some(action) = self.faults.meet(connection, node, header) else {
            return self.handle_now(now, connection, header, body, Refused::Nothing);
        };
        let has_partitions = [ApiKey::PRODUCE, ApiKey::FETCH, ApiKey::SHARE_FETCH, ApiKey::SHARE_ACKNOWLEDGE];
        match action {
            FaultAction::RefusePartitions(code) if has_partitions.contains(&header.request_api_key) => {
                self.handle_now(now, connection, header, body, Refused::Partitions(code))
            }
            FaultAction::Refuse(code) | FaultAction::RefusePartitions(code) => {
                self.handle_now(now, connection, header, body, Refused::Everything(code))
            }
            FaultAction::RefuseAcknowledgements(code) => {
                self.handle_now(now, connection, header, body, Refused::Acknowledgements(code))
            }
            FaultAction::DelayRequest(by) => {
                self.timers.schedule(now + by, Due::Request(connection, header.clone(), body));
                Answer::Parked
            }
            FaultAction::Ignore => Answer::Parked,
            FaultAction::CutBefore => Answer::Close("a fault rule cuts the connection".to_owned()),
            FaultAction::CutAfter
            | FaultAction::CutHalfway
            | FaultAction::DelayAnswer(_)
            | FaultAction::Throttle(_)
            | FaultAction::Spoil(_) => {
                let later = Later::new(action, header);
                match self.handle_now(now, connection, header, body, Refused::Nothing) {
                    Answer::Reply(frame) => self.spoil(now, connection, later, frame),
                    Answer::Parked => {
                        self.faults.later.insert(connection, later);
                        Answer::Parked
                    }
                    answer => answer,
                }
            }
        }
    }

    /// Does a request that was held back.
    pub(super) fn handle_held(&mut self, now: Instant, connection: ConnectionId, header: &RequestHeader, body: Bytes) {
        if !self.connections.contains_key(&connection) {
            return;
        }
        match self.handle_now(now, connection, header, body, Refused::Nothing) {
            Answer::Parked => {}
            Answer::Reply(frame) => self.ready.push_back(Output::Reply(connection, frame)),
            Answer::Silent => self.ready.push_back(Output::Silent(connection)),
            Answer::Cut(bytes) => self.ready.push_back(Output::Cut(connection, bytes)),
            Answer::Close(reason) => self.ready.push_back(Output::Close(connection, reason)),
        }
    }

    /// Gives the answer to a parked request, as the rule says that met it.
    pub(super) fn deliver(&mut self, now: Instant, connection: ConnectionId, frame: Bytes) {
        let answer = match self.faults.later.remove(&connection) {
            Some(later) => self.spoil(now, connection, later, frame),
            None => Answer::Reply(frame),
        };
        match answer {
            Answer::Reply(frame) => self.ready.push_back(Output::Reply(connection, frame)),
            Answer::Cut(bytes) => self.ready.push_back(Output::Cut(connection, bytes)),
            Answer::Close(reason) => self.ready.push_back(Output::Close(connection, reason)),
            Answer::Parked | Answer::Silent => {}
        }
    }
}
