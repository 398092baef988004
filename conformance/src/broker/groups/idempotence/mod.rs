//! Idempotent producers, and what Produce takes at all.

pub(super) mod sequences;
pub(super) mod taken;
