//! Kafka's wire protocol and the state machines of a share-group client, with no I/O.
//!
//! Nothing here touches a socket, a clock, a thread or a lock: bytes and instants come in, bytes and decisions go
//! out. That makes every rule testable in virtual time and the codec usable by clients and brokers alike.

pub mod backoff;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
#[cfg(any(feature = "arbitrary", feature = "fuzzing", feature = "proptest"))]
mod input;
pub mod machine;
pub mod messages;
pub mod nearest;
pub mod random;
pub mod records;
pub mod text;
#[cfg(any(feature = "arbitrary", feature = "fuzzing", feature = "proptest"))]
pub mod valid;
#[cfg(feature = "json")]
pub mod vectors;
pub mod wire;
