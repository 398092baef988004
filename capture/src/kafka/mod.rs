//! Kafka's frames: cut out of a stream, read, and paired.

pub(crate) mod conversation;
pub(crate) mod framer;
pub(crate) mod message;
pub(crate) mod requests;
