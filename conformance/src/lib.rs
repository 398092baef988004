//! A conformance suite for share groups and transactions.
//!
//! [`broker`] has cases that run against any broker: each states a rule and where it comes from, sends bare requests, and compares what comes back.
//! [`client`] has situations that are played to any client: an embedded broker plays them, and what the client sends and tells is judged.

pub mod broker;
pub mod client;
mod report;
mod select;
mod stop;

pub use report::{CaseReport, Format, Report, Subject, Verdict};
pub use select::UnknownName;
