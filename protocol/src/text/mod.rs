//! Grammars of texts that go with the protocol, by nom.
//!
//! What they read may hold secrets: an error says where it is, never what stands there.

pub mod jaas;
pub mod scram;
