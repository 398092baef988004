//! Tokens of OAUTHBEARER by properties: from an endpoint (KIP-768), from a file, or made here and signed by nobody (KIP-255).

mod claims;
mod endpoint;
mod failure;
mod http;
mod keeper;
mod refresh;
mod source;
#[cfg(test)]
mod tests;
mod unsecured;

pub(crate) use endpoint::{Client, Endpoint, Target};
pub(crate) use failure::Failure;
pub(crate) use keeper::Keeper;
pub(crate) use refresh::Refresh;
pub(crate) use source::Source;
pub(crate) use unsecured::Unsecured;
