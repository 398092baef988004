//! TCP connections: which segments belong together, who is the broker, and what can be let go of.

mod flow;
mod table;

pub(crate) use table::{Connections, Limits};
pub use table::{Entry, Peers};
