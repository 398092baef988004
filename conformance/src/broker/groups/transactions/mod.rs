//! Transactions of producers (KIP-98, KIP-890).

pub(super) mod beginning;
pub(super) mod coordinators;
pub(super) mod ends;
pub(super) mod members;
pub(super) mod offsets;
pub(super) mod reads;
pub(super) mod time_outs;
pub(super) mod told;
pub(super) mod writes;
