//! Valid messages and record batches out of any bytes, to fuzz and test the code that reads, writes or handles them
//! (features `arbitrary`, `proptest` and `fuzzing`).
//!
//! Whatever the bytes are, a message that is made of them is one that its version can say: it can be written, and reads
//! back as the same. No bytes, or zeros, make the smallest message, and no message is much larger than the bytes that it
//! is made of. What a fuzzer or a property test learns about the bytes it learns about the message: cutting and
//! lowering bytes makes the message smaller and simpler.
//!
//! ```
//! use ackflow_protocol::messages::share_fetch::ShareFetchRequest;
//! use ackflow_protocol::{valid, wire::Message};
//!
//! let request: ShareFetchRequest = valid::message(2, b"\x05group\x04name\x02\x01\x02\x03");
//! let written = request.to_bytes(2)?;
//! assert_eq!(ShareFetchRequest::from_bytes(written, 2)?, request);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! With the feature `arbitrary`, [`Valid`], [`ValidRequest`] and [`ValidRecords`] can stand in the signature of a fuzz
//! target, or in a struct that derives `Arbitrary`:
//!
//! ```
//! # #[cfg(feature = "arbitrary")] {
//! use ackflow_protocol::messages::metadata::MetadataResponse;
//! use ackflow_protocol::valid::Valid;
//!
//! /// `fuzz_target!(|response: Valid<MetadataResponse>| leaders_are_brokers(response));`
//! fn leaders_are_brokers(Valid { message, .. }: Valid<MetadataResponse>) {
//!     for broker in &message.brokers {
//!         assert!(broker.host.len() < 1 << 15);
//!     }
//! }
//!
//! let mut fuzzer = arbitrary::Unstructured::new(b"any bytes");
//! leaders_are_brokers(fuzzer.arbitrary()?);
//! # }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! With the feature `proptest`, the module `strategies` has the same for property tests.

#[cfg(feature = "arbitrary")]
mod arbitrary;
mod maker;
mod request;
#[cfg(feature = "proptest")]
pub mod strategies;

use bytes::Bytes;

use crate::messages::embedded::Embedded;
use crate::wire::Message;
use maker::Maker;

pub use crate::input::Input;
pub use crate::records::valid::ValidRecords;
pub use request::ValidRequest;

/// A message, and a version that can say it.
#[derive(Debug, Clone, PartialEq)]
pub struct Valid<M> {
    /// One of the message's versions.
    pub version: i16,
    /// What `data` makes of it.
    pub message: M,
}

impl<M: Message> Valid<M> {
    /// Chooses the version and the message.
    pub fn new(data: &[u8]) -> Self {
        Self::choose(&mut Input::new(data))
    }

    /// The same, by the next bytes of `input`.
    pub fn choose(input: &mut Input<'_>) -> Self {
        let (first, last) = M::VERSIONS.into_inner();
        let version = first + i16::from(input.byte()) % (last - first + 1);
        Self { version, message: Maker::make(version, M::is_flexible(version), input) }
    }
}

/// A message that `version` can say. `version` is one of the message's.
pub fn message<M: Message>(version: i16, data: &[u8]) -> M {
    Maker::make(version, M::is_flexible(version), &mut Input::new(data))
}

/// A struct that `version` can say. `version` is one of the struct's.
pub fn embedded<T: Embedded>(version: i16, data: &[u8]) -> T {
    Maker::make(version, false, &mut Input::new(data))
}

/// A `records` field: none to three batches, as [`ValidRecords`] makes them.
pub fn records(data: &[u8]) -> Bytes {
    ValidRecords::new(data).0
}
