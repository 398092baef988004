//! Situations for clients: what a client of share groups has to do in them.
//!
//! Each plays on an embedded broker of its own. The client under test is a process that a shim makes of it: steps come to it on stdin, and what
//! came of them is told on stdout, as `docs/conformance-shim.md` has it.

mod groups;
mod run;
mod select;
mod situation;
mod stage;

pub use groups::all;
pub use run::{NoShim, Options, run};
pub use select::Selection;
pub use situation::{Group, Situation};
