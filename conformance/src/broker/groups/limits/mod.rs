//! How much is taken: locks, sessions, members, sizes.

pub(crate) mod capacity;
pub(crate) mod fetches;
pub(crate) mod settings;
