//! Strategies of proptest. They shrink to smaller and simpler messages.
//!
//! ```
//! use ackflow_protocol::messages::find_coordinator::FindCoordinatorRequest;
//! use ackflow_protocol::valid::{Valid, strategies};
//! use ackflow_protocol::wire::Message;
//! use proptest::prelude::*;
//!
//! proptest!(|(
//!     Valid { version, message } in strategies::message::<FindCoordinatorRequest>(),
//!     records in strategies::records(),
//! )| {
//!     prop_assert_eq!(message.to_bytes(version)?.len(), message.size(version)?);
//!     prop_assert!(records.is_empty() || records.len() > 60);
//! });
//! ```

use bytes::Bytes;
use proptest::prelude::*;

use super::{Valid, ValidRequest};
use crate::messages::embedded::Embedded;
use crate::wire::{ApiKey, Message};

/// Bytes to choose by. More would make messages larger, and all that is in them is in smaller ones.
const MOST_BYTES: usize = 256;

fn choices() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), 0..MOST_BYTES)
}

/// A message in any of its versions.
pub fn message<M: Message>() -> impl Strategy<Value = Valid<M>> {
    choices().prop_map(|data| Valid::new(&data))
}

/// A message that `version`, one of its versions, can say.
pub fn message_of<M: Message>(version: i16) -> impl Strategy<Value = M> {
    choices().prop_map(move |data| super::message(version, &data))
}

/// A struct that `version`, one of its versions, can say.
pub fn embedded<T: Embedded>(version: i16) -> impl Strategy<Value = T> {
    choices().prop_map(move |data| super::embedded(version, &data))
}

/// A request of any API in any of its versions.
pub fn request() -> impl Strategy<Value = ValidRequest> {
    choices().prop_map(|data| ValidRequest::new(&data))
}

/// A request of one of these APIs.
pub fn request_of(apis: Vec<ApiKey>) -> impl Strategy<Value = ValidRequest> {
    choices().prop_map(move |data| ValidRequest::of(&apis, &data))
}

/// A `records` field; see [`ValidRecords`](super::ValidRecords).
pub fn records() -> impl Strategy<Value = Bytes> {
    choices().prop_map(|data| super::records(&data))
}
