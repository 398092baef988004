//! When a client tells its cluster what it measures, and what the cluster wants to know (KIP-714).
//!
//! ```text
//!   Asking --answer--> Waiting --interval over--> Pushing --answer--> Waiting
//!     ^  |                |                          |
//!     |  +- nothing       +- terminate --> Pushing --+-- the subscription has changed
//!     |     is wanted                                |
//!     +---------- interval over ---------------------+
//! ```
//!
//! A push that fails is not sent again: the next one has the same totals. A broker that finds no sense in what is pushed is left alone for good.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::machine::types::RequestFailure;
use crate::messages::get_telemetry_subscriptions::{
    GetTelemetrySubscriptionsRequest, GetTelemetrySubscriptionsResponse,
};
use crate::messages::push_telemetry::{PushTelemetryRequest, PushTelemetryResponse};
use crate::random::SplitMix64;
use crate::records::Compression;
use crate::wire::{ErrorCode, Uuid};

/// How long after a failure the cluster is asked again, where it has not said how often it wants to hear (Kafka's client waits as long).
const AFTER_FAILURE: Duration = Duration::from_secs(5 * 60);

/// The same where no broker gave an answer.
const UNANSWERED: Duration = Duration::from_secs(30);

/// The shortest pause between two pushes, whatever a broker says.
const LEAST_INTERVAL: Duration = Duration::from_millis(100);

/// The first push comes after a part of the interval that differs from client to client, or all that were started together would push together.
const FIRST_PUSH: std::ops::Range<f64> = 0.5..1.5;

/// Asks what is wanted, and says when it is to be pushed.
#[derive(Debug)]
pub struct TelemetryMachine {
    client_instance_id: Uuid,
    state: State,
    random: SplitMix64,
    /// What a broker of the cluster could not read.
    refused: Vec<Compression>,
    is_terminating: bool,
}

#[derive(Debug, Clone)]
enum State {
    Asking { at: Instant },
    AskedFor,
    Waiting { subscription: Arc<Subscription>, until: Instant },
    Pushing { subscription: Arc<Subscription>, compression: Compression, last: bool },
    Over,
}

/// What the cluster wants of a client.
#[derive(Debug, Clone, PartialEq)]
pub struct Subscription {
    id: i32,
    /// How long to wait between pushes.
    interval: Duration,
    compression: Vec<Compression>,
    /// How many bytes one push may have, before compression as little as after.
    pub max_bytes: usize,
    /// Whether totals are to be told as what came since the last push.
    pub delta_temporality: bool,
    requested: Vec<String>,
}

/// What to do next.
#[derive(Debug, Clone, PartialEq)]
pub enum TelemetryStep {
    /// Send this to any broker.
    Ask(GetTelemetrySubscriptionsRequest),
    /// Collect what [`Subscription::wants`], compress it, and send it with [`TelemetryPush::request`].
    Push(TelemetryPush),
    /// Nothing before this; nothing at all if there is no instant, as long as nothing comes in.
    Wait(Option<Instant>),
    /// There is nothing more to do, ever.
    Over,
}

/// A push that is due.
#[derive(Debug, Clone, PartialEq)]
pub struct TelemetryPush {
    client_instance_id: Uuid,
    terminating: bool,
    /// What is wanted.
    pub subscription: Arc<Subscription>,
    /// How to compress it.
    pub compression: Compression,
}

impl Subscription {
    fn new(response: &GetTelemetrySubscriptionsResponse) -> Self {
        let known = |id: &i8| u8::try_from(*id).ok().and_then(Compression::from_id);
        Self {
            id: response.subscription_id,
            interval: millis(response.push_interval_ms).max(LEAST_INTERVAL),
            compression: response.accepted_compression_types.iter().filter_map(known).collect(),
            max_bytes: usize::try_from(response.telemetry_max_bytes).unwrap_or(0),
            delta_temporality: response.delta_temporality,
            requested: response.requested_metrics.clone(),
        }
    }

    /// Whether a metric of this name, such as `org.apache.kafka.producer.record.send.total`, is wanted.
    pub fn wants(&self, name: &str) -> bool {
        self.requested.iter().any(|prefix| name.starts_with(prefix.as_str()))
    }

    fn is_empty(&self) -> bool {
        self.requested.is_empty()
    }
}

impl TelemetryPush {
    /// The request, with OpenTelemetry's `MetricsData` in protobuf, compressed as asked for.
    pub fn request(&self, metrics: bytes::Bytes) -> PushTelemetryRequest {
        PushTelemetryRequest {
            client_instance_id: self.client_instance_id,
            subscription_id: self.subscription.id,
            terminating: self.terminating,
            compression_type: self.compression.id() as i8,
            metrics,
        }
    }
}

impl TelemetryMachine {
    /// A machine that asks at once.
    pub fn new(now: Instant, seed: u64) -> Self {
        Self {
            client_instance_id: Uuid::ZERO,
            state: State::Asking { at: now },
            random: SplitMix64::new(seed),
            refused: Vec::new(),
            is_terminating: false,
        }
    }

    /// The id that the cluster has given this client, by which its metrics are known there.
    pub fn client_instance_id(&self) -> Option<Uuid> {
        Some(self.client_instance_id).filter(|id| *id != Uuid::ZERO)
    }

    /// What the cluster wants, in answer to [`TelemetryStep::Ask`].
    pub fn handle_subscription(&mut self, now: Instant, response: &GetTelemetrySubscriptionsResponse) {
        let State::AskedFor = self.state else { return };
        if !response.error_code.is_none() {
            return self.failed(now, response.error_code, AFTER_FAILURE);
        }
        if response.client_instance_id != Uuid::ZERO {
            self.client_instance_id = response.client_instance_id;
        }
        let subscription = Subscription::new(response);
        let interval = subscription.interval;
        if self.is_terminating {
            self.state = State::Over;
        } else if subscription.is_empty() {
            self.state = State::Asking { at: now + interval };
        } else {
            let part = FIRST_PUSH.start + (FIRST_PUSH.end - FIRST_PUSH.start) * self.random.unit();
            let until = now + interval.mul_f64(part);
            self.state = State::Waiting { subscription: Arc::new(subscription), until };
        }
    }

    /// The answer to [`TelemetryStep::Push`].
    pub fn handle_pushed(&mut self, now: Instant, response: &PushTelemetryResponse) {
        let State::Pushing { subscription, compression, last } = self.state.clone() else { return };
        match response.error_code {
            _ if last => self.state = State::Over,
            ErrorCode::NONE => {
                let until = now + subscription.interval;
                self.state = State::Waiting { subscription, until };
            }
            code => {
                if code == ErrorCode::UNSUPPORTED_COMPRESSION_TYPE {
                    self.refused.push(compression);
                }
                self.failed(now, code, subscription.interval);
            }
        }
    }

    /// There is no answer to what was sent last.
    pub fn handle_failure(&mut self, now: Instant, failure: RequestFailure) {
        match (&self.state, failure) {
            (State::AskedFor | State::Pushing { .. }, RequestFailure::UnsupportedVersion(_)) => {
                self.state = State::Over
            }
            (State::AskedFor, _) => self.again(now, UNANSWERED),
            (State::Pushing { last: true, .. }, _) => self.state = State::Over,
            (State::Pushing { subscription, .. }, _) => {
                let (subscription, until) = (subscription.clone(), now + subscription.interval);
                self.state = State::Waiting { subscription, until };
            }
            (State::Asking { .. } | State::Waiting { .. } | State::Over, _) => {}
        }
    }

    /// The client ends: what is wanted is pushed once more, at once.
    pub fn terminate(&mut self, now: Instant) {
        self.is_terminating = true;
        match &mut self.state {
            State::Asking { .. } => self.state = State::Over,
            State::Waiting { until, .. } => *until = now,
            // The broker takes the last one at any time.
            State::Pushing { .. } | State::AskedFor | State::Over => {}
        }
    }

    /// What to do next.
    pub fn poll(&mut self, now: Instant) -> TelemetryStep {
        match self.state.clone() {
            State::Asking { at } if at <= now => {
                self.state = State::AskedFor;
                let client_instance_id = self.client_instance_id;
                TelemetryStep::Ask(GetTelemetrySubscriptionsRequest { client_instance_id })
            }
            State::Asking { at } => TelemetryStep::Wait(Some(at)),
            State::Waiting { subscription, until } if until <= now || self.is_terminating => {
                let compression = self.compression(&subscription);
                let last = self.is_terminating;
                self.state = State::Pushing { subscription: subscription.clone(), compression, last };
                TelemetryStep::Push(TelemetryPush {
                    client_instance_id: self.client_instance_id,
                    terminating: last,
                    subscription,
                    compression,
                })
            }
            State::Waiting { until, .. } => TelemetryStep::Wait(Some(until)),
            State::AskedFor | State::Pushing { .. } => TelemetryStep::Wait(None),
            State::Over => TelemetryStep::Over,
        }
    }

    /// The first that the broker names and has not refused.
    fn compression(&self, subscription: &Subscription) -> Compression {
        let mut offered = subscription.compression.iter().copied();
        offered.find(|compression| !self.refused.contains(compression)).unwrap_or(Compression::None)
    }

    fn failed(&mut self, now: Instant, code: ErrorCode, pause: Duration) {
        match code {
            ErrorCode::UNKNOWN_SUBSCRIPTION_ID | ErrorCode::UNSUPPORTED_COMPRESSION_TYPE => {
                self.again(now, LEAST_INTERVAL)
            }
            ErrorCode::TELEMETRY_TOO_LARGE | ErrorCode::THROTTLING_QUOTA_EXCEEDED => self.again(now, pause),
            code if code.is_retriable() => self.again(now, pause),
            _ => self.state = State::Over,
        }
    }

    fn again(&mut self, now: Instant, pause: Duration) {
        self.state = if self.is_terminating { State::Over } else { State::Asking { at: now + pause } };
    }
}

fn millis(millis: i32) -> Duration {
    Duration::from_millis(u64::try_from(millis).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTERVAL: Duration = Duration::from_secs(10);
    const ID: Uuid = Uuid([7; 16]);

    fn wanted(requested: &[&str]) -> GetTelemetrySubscriptionsResponse {
        GetTelemetrySubscriptionsResponse {
            client_instance_id: ID,
            subscription_id: 3,
            accepted_compression_types: vec![9, 4, 1, 0],
            push_interval_ms: INTERVAL.as_millis() as i32,
            telemetry_max_bytes: 1_000,
            requested_metrics: requested.iter().map(|&name| name.to_owned()).collect(),
            ..Default::default()
        }
    }

    fn pushed(error_code: ErrorCode) -> PushTelemetryResponse {
        PushTelemetryResponse { error_code, ..Default::default() }
    }

    /// A machine that knows what is wanted, and when it pushes first.
    fn subscribed(now: Instant, requested: &[&str]) -> (TelemetryMachine, Instant) {
        let mut machine = TelemetryMachine::new(now, 1);
        assert!(matches!(machine.poll(now), TelemetryStep::Ask(asked) if asked.client_instance_id == Uuid::ZERO));
        assert_eq!(machine.poll(now), TelemetryStep::Wait(None), "one question at a time");
        machine.handle_subscription(now, &wanted(requested));
        let TelemetryStep::Wait(Some(first)) = machine.poll(now) else { panic!("{machine:?}") };
        (machine, first)
    }

    fn push(machine: &mut TelemetryMachine, now: Instant) -> TelemetryPush {
        match machine.poll(now) {
            TelemetryStep::Push(push) => push,
            step => panic!("{step:?}"),
        }
    }

    #[test]
    fn what_is_wanted_is_pushed_at_the_interval_under_the_id_that_was_given() {
        let now = Instant::now();
        let (mut machine, first) = subscribed(now, &["org.apache.kafka.producer."]);
        assert!((now + INTERVAL / 2..now + INTERVAL * 3 / 2).contains(&first));
        let due = push(&mut machine, first);
        assert_eq!((due.compression, due.subscription.max_bytes), (Compression::Zstd, 1_000));
        let request = due.request(bytes::Bytes::from_static(b"x"));
        assert_eq!((request.client_instance_id, request.subscription_id, request.terminating), (ID, 3, false));
        assert!(due.subscription.wants("org.apache.kafka.producer.record.send.total"));
        assert!(!due.subscription.wants("org.apache.kafka.consumer.records"));
        machine.handle_pushed(first, &pushed(ErrorCode::NONE));
        assert_eq!(machine.poll(first), TelemetryStep::Wait(Some(first + INTERVAL)));
    }

    #[test]
    fn where_nothing_is_wanted_the_cluster_is_asked_again_after_the_interval() {
        let now = Instant::now();
        let (mut machine, again) = subscribed(now, &[]);
        assert_eq!(again, now + INTERVAL);
        assert!(matches!(machine.poll(again), TelemetryStep::Ask(asked) if asked.client_instance_id == ID));
        machine.handle_subscription(again, &wanted(&[""]));
        let TelemetryStep::Wait(Some(first)) = machine.poll(again) else { panic!("{machine:?}") };
        assert!(push(&mut machine, first).subscription.wants("anything"), "an empty prefix is all");
    }

    #[test]
    fn after_an_error_the_cluster_is_asked_what_it_wants_or_left_alone() {
        for (code, pause) in [
            (ErrorCode::UNKNOWN_SUBSCRIPTION_ID, Some(LEAST_INTERVAL)),
            (ErrorCode::TELEMETRY_TOO_LARGE, Some(INTERVAL)),
            (ErrorCode::THROTTLING_QUOTA_EXCEEDED, Some(INTERVAL)),
            (ErrorCode::INVALID_RECORD, None),
            (ErrorCode::INVALID_REQUEST, None),
        ] {
            let now = Instant::now();
            let (mut machine, first) = subscribed(now, &[""]);
            push(&mut machine, first);
            machine.handle_pushed(first, &pushed(code));
            let expected = pause.map_or(TelemetryStep::Over, |pause| TelemetryStep::Wait(Some(first + pause)));
            assert_eq!(machine.poll(first), expected, "{code}");
        }
    }

    #[test]
    fn a_compression_that_was_refused_is_not_used_again() {
        let now = Instant::now();
        let (mut machine, first) = subscribed(now, &[""]);
        let mut at = first;
        for expected in [Compression::Zstd, Compression::Gzip, Compression::None] {
            assert_eq!(push(&mut machine, at).compression, expected);
            machine.handle_pushed(at, &pushed(ErrorCode::UNSUPPORTED_COMPRESSION_TYPE));
            at += LEAST_INTERVAL;
            assert!(matches!(machine.poll(at), TelemetryStep::Ask(_)));
            machine.handle_subscription(at, &wanted(&[""]));
            at += INTERVAL * 2;
        }
    }

    #[test]
    fn a_failure_costs_one_push_and_a_broker_without_the_api_is_left_alone() {
        let now = Instant::now();
        let (mut machine, first) = subscribed(now, &[""]);
        push(&mut machine, first);
        machine.handle_failure(first, RequestFailure::Disconnected);
        assert_eq!(machine.poll(first), TelemetryStep::Wait(Some(first + INTERVAL)));
        push(&mut machine, first + INTERVAL);
        machine.handle_failure(first + INTERVAL, RequestFailure::UnsupportedVersion(None));
        assert_eq!(machine.poll(first + INTERVAL), TelemetryStep::Over);

        let mut machine = TelemetryMachine::new(now, 1);
        machine.poll(now);
        machine.handle_failure(now, RequestFailure::TimedOut);
        assert_eq!(machine.poll(now), TelemetryStep::Wait(Some(now + UNANSWERED)));
    }

    #[test]
    fn the_end_of_the_client_is_a_last_push_where_something_is_wanted() {
        let now = Instant::now();
        let (mut machine, _) = subscribed(now, &[""]);
        machine.terminate(now);
        assert!(push(&mut machine, now).request(bytes::Bytes::new()).terminating);
        machine.handle_failure(now, RequestFailure::TimedOut);
        assert_eq!(machine.poll(now), TelemetryStep::Over);

        let (mut machine, first) = subscribed(now, &[""]);
        push(&mut machine, first);
        machine.terminate(first);
        machine.handle_pushed(first, &pushed(ErrorCode::NONE));
        assert!(push(&mut machine, first).request(bytes::Bytes::new()).terminating, "after the one under way");

        let (mut machine, again) = subscribed(now, &[]);
        machine.terminate(again);
        assert_eq!(machine.poll(again), TelemetryStep::Over, "nobody wants anything");
    }

    #[test]
    fn no_interval_makes_it_loop() {
        let now = Instant::now();
        let mut machine = TelemetryMachine::new(now, 1);
        machine.poll(now);
        let response = GetTelemetrySubscriptionsResponse { push_interval_ms: i32::MIN, ..wanted(&[]) };
        machine.handle_subscription(now, &response);
        assert_eq!(machine.poll(now), TelemetryStep::Wait(Some(now + LEAST_INTERVAL)));
    }
}
