//! State machines of a share-group client, with no I/O.
//!
//! A machine has commands, `handle_*(now, ..)` for what comes from outside, and `poll(now)`, which says what to do
//! next: send a request, tell an event, or wait until an instant. The law: **after each command or input, poll until it
//! says wait.** Time comes in as an argument and randomness (the jitter of backoff) from a seed, so every situation can
//! be played in virtual time.
//!
//! [`ShareConsumerMachine`] is the one that a driver runs.

mod ack_ledger;
mod acquisition;
mod backoff;
mod coordinator;
mod error;
mod membership;
mod metadata;
mod ranges;
mod share_consumer;
mod share_session;
mod types;

pub use error::{MachineError, MachineErrorKind};
pub use share_consumer::{AcquireMode, ShareConsumerMachine, ShareConsumerOptions};
pub use types::{
    AckId, AckRange, AckType, AcquiredRange, Acquisition, BrokerAddress, ClientRequest, ClientResponse, CommitId,
    CommitResult, Destination, Event, Output, RequestFailure, RequestId, SessionId, TopicIdPartition,
};
