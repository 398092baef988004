//! How a client says who it is.

use std::fmt;
use std::sync::Arc;

use super::token::TokenProvider;
use crate::config::Secret;

/// A mechanism of SASL and its credentials (`sasl.mechanism`, `sasl.jaas.config`).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Sasl {
    /// PLAIN: the password itself goes to the broker, so that it belongs on connections with TLS.
    Plain(Credentials),
    /// SCRAM-SHA-256.
    ScramSha256(Credentials),
    /// SCRAM-SHA-512.
    ScramSha512(Credentials),
    /// OAUTHBEARER: a token, asked for whenever a connection has to be authenticated. By properties, it comes from `sasl.oauthbearer.token.endpoint.url`.
    OAuthBearer(Tokens),
}

/// Who a client is, and what proves it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Credentials {
    /// The user.
    pub username: String,
    /// The user's password.
    pub password: Secret,
}

impl Sasl {
    /// The mechanism's name on the wire.
    pub fn mechanism(&self) -> &'static str {
        match self {
            Self::Plain(_) => "PLAIN",
            Self::ScramSha256(_) => "SCRAM-SHA-256",
            Self::ScramSha512(_) => "SCRAM-SHA-512",
            Self::OAuthBearer(_) => "OAUTHBEARER",
        }
    }
}

/// Where tokens come from.
#[derive(Clone)]
pub struct Tokens(pub Arc<dyn TokenProvider>);

impl fmt::Debug for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tokens")
    }
}

/// The same provider.
impl PartialEq for Tokens {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Tokens {}
