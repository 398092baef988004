//! Connections to brokers: addresses, frames, versions.

mod address;
mod config;
mod connect;
mod connection;
mod frames;
mod hooks;
mod negotiate;
mod owner;
mod pool;
mod queue;
mod random;
mod raw;
mod repeats;
mod request;
mod retries;
pub(crate) mod sasl;
mod stream;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
#[cfg(feature = "tls")]
pub(crate) mod tls;

pub use ackflow_protocol::backoff::Backoff;
pub use address::{Address, BootstrapServers};
pub use config::{NetConfig, Security};
pub use connection::Connection;
pub use hooks::{Connected, Disconnected, HookList, Hooks, Reauthenticated, Requested, Throttled};
pub(crate) use negotiate::{Identity, versions_request};
pub use pool::Pool;
pub(crate) use pool::{NO_RECOVERY, address};
pub(crate) use queue::{Answer, Inbox};
pub(crate) use random::random;
pub use raw::RawConnection;
pub(crate) use repeats::Repeats;
pub(crate) use retries::Retries;
pub use sasl::{Credentials, Sasl, Token, TokenError, TokenFuture, TokenProvider, Tokens};
#[cfg(feature = "tls")]
pub use tls::{Identity as TlsIdentity, Pem, Provider as TlsProvider, Tls, TlsConfig, TlsVersions};
