//! TLS of a listener.

#[cfg_attr(not(feature = "tls"), path = "absent.rs")]
mod acceptor;
#[cfg(feature = "tls")]
mod self_made;

use std::fmt;

pub(crate) use acceptor::Acceptor;

/// Who the broker is, and which clients it believes.
#[derive(Clone, Default)]
#[cfg_attr(not(feature = "tls"), expect(dead_code, reason = "nothing reads them without TLS"))]
pub(crate) struct TlsOptions {
    /// Certificate chain and private key in PEM; `None` has one made.
    pub(crate) identity: Option<String>,
    /// Whose certificates clients show, in PEM.
    pub(crate) client_authorities: Option<String>,
    pub(crate) client_auth: ClientAuth,
}

/// `ssl.client.auth`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum ClientAuth {
    #[default]
    None,
    /// A certificate is checked where there is one.
    Requested,
    Required,
}

impl fmt::Debug for TlsOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TlsOptions").field("client_auth", &self.client_auth).finish_non_exhaustive()
    }
}
