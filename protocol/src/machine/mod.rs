//! State machines of a client of share groups and consumer groups, with no I/O.
//!
//! A machine has commands, `handle_*(now, ..)` for what comes from outside, and `poll(now)`, which says what to do
//! next: send a request, tell an event, or wait until an instant. The law: **after each command or input, poll until it
//! says wait.** Time comes in as an argument and randomness (the jitter of backoff) from a seed, so every situation can
//! be played in virtual time.
//!
//! [`ShareConsumerMachine`] and [`ConsumerMachine`](consumer::ConsumerMachine) are those that a driver runs.

pub(crate) mod ack_ledger;
pub(crate) mod acquisition;
mod backoff;
pub mod consumer;
pub(crate) mod coordinator;
pub(crate) mod error;
mod matching;
pub(crate) mod membership;
pub(crate) mod metadata;
pub(crate) mod ranges;
mod share_consumer;
pub(crate) mod share_session;
mod telemetry;
pub mod transaction;
pub(crate) mod types;

pub use error::{Feature, MachineError, MachineErrorKind};
pub use matching::TopicFilter;
pub use share_consumer::{AcquireMode, ShareConsumerMachine, ShareConsumerOptions};
pub use telemetry::{Subscription as TelemetrySubscription, TelemetryMachine, TelemetryPush, TelemetryStep};
pub use types::{
    AckId, AckRange, AckType, AcquiredRange, Acquisition, AcquisitionId, AutoRenew, BrokerAddress, ClientRequest,
    ClientResponse, CommitId, CommitResult, Destination, Event, KeepEnd, KeepId, Output, RequestFailure, RequestId,
    SessionId, TopicIdPartition,
};
