//! Tokens of OAUTHBEARER.

use std::collections::BTreeMap;
use std::error::Error;
use std::pin::Pin;

use crate::config::Secret;

/// A token that says who a client is (RFC 6750), such as a JWT.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    /// The token as it goes to the broker.
    pub text: Secret,
    /// Extensions (KIP-342), by name.
    pub extensions: BTreeMap<String, String>,
}

impl Token {
    /// A token without extensions.
    pub fn new(text: impl Into<std::sync::Arc<str>>) -> Self {
        Self { text: Secret::new(text), extensions: BTreeMap::new() }
    }
}

/// What gives tokens. Any function that gives a future of a token is one.
///
/// It is asked whenever a connection is made or has to be authenticated again, by each connection for itself; one that fetches tokens from afar should
/// keep what is still valid. Its errors are shown to the user, so they must hold no secret.
pub trait TokenProvider: Send + Sync + 'static {
    /// A token that is valid now.
    fn token(&self) -> TokenFuture<'_>;
}

/// The future of a token.
pub type TokenFuture<'a> = Pin<Box<dyn Future<Output = Result<Token, TokenError>> + Send + 'a>>;

/// Why there is no token.
pub type TokenError = Box<dyn Error + Send + Sync>;

impl<F, T> TokenProvider for F
where
    F: Fn() -> T + Send + Sync + 'static,
    T: Future<Output = Result<Token, TokenError>> + Send + 'static,
{
    fn token(&self) -> TokenFuture<'_> {
        Box::pin(self())
    }
}
