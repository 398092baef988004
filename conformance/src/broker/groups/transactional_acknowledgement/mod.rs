//! Acknowledgements in transactions (draft of KIP-1289).

pub(super) mod ends;
mod holding;
pub(super) mod refused;
pub(super) mod staged;
