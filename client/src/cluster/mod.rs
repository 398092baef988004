//! What the consumers have in common on their way to brokers: which they know, the connections of each, and when to say that none is reached.

mod alarm;
mod brokers;
mod connections;
mod dialogue;
pub(crate) mod failure;
mod identity;
mod reach;

pub(crate) use alarm::{Alarm, sleep};
#[cfg(test)]
pub(crate) use connections::Role;
pub(crate) use connections::{Connections, Done, Failed, Outcome};
pub(crate) use dialogue::{Dialogue, Reader, dialogue};
pub(crate) use failure::{failure, kind_of_failure};
pub(crate) use identity::member_id;
pub(crate) use reach::Reach;
