//! Requests that no client would send.

pub(crate) mod acknowledgements;
pub(crate) mod bytes;
pub(crate) mod fields;
