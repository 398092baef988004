//! One file a command.

pub(crate) mod broker;
pub(crate) mod conformance;
pub(crate) mod consume;
pub(crate) mod demo;
pub(crate) mod groups;
pub(crate) mod perf;
pub(crate) mod produce;
pub(crate) mod run;
pub(crate) mod topics;
pub(crate) mod wire;
