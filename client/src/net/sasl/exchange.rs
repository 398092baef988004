//! What a client says in an authentication, step by step, without a socket.

use std::borrow::Cow;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::config::{Credentials, Sasl};
use super::scram::{Hash, Scram};
use super::token::{Token, TokenError};
use crate::heard::heard;

/// One authentication.
pub(super) enum Exchange {
    Plain(Credentials),
    Scram(Box<Scram>),
    OAuthBearer(Token, Option<String>),
}

/// Why an authentication cannot go on.
#[derive(Debug)]
pub(super) struct Refusal {
    pub(super) reason: Cow<'static, str>,
    pub(super) whose: Whose,
    /// A better remedy than the usual one of the mechanism.
    pub(super) remedy: Option<Cow<'static, str>>,
    /// Whether it may pass without anyone changing anything.
    pub(super) passes: bool,
}

/// Who refuses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Whose {
    /// The broker does not accept the credentials.
    Broker,
    /// The broker does not prove that it knows the password.
    Imposter,
    /// What the broker says is none of the mechanism's messages.
    Malformed,
    /// There are no credentials to send.
    Client,
}

impl Refusal {
    fn new(reason: impl Into<Cow<'static, str>>, whose: Whose) -> Self {
        Self { reason: reason.into(), whose, remedy: None, passes: false }
    }

    pub(super) fn malformed(what: impl Into<Cow<'static, str>>) -> Self {
        Self::new(format!("the broker sent {}", what.into()), Whose::Malformed)
    }

    pub(super) fn refused(error: &str) -> Self {
        Self::new(format!("the broker said {:?}", heard(error, &[])), Whose::Broker)
    }

    pub(super) fn imposter() -> Self {
        Self::new("the broker does not prove that it knows the password", Whose::Imposter)
    }

    fn no_token(error: &TokenError) -> Self {
        #[cfg(feature = "oidc")]
        if let Some(failure) = error.downcast_ref::<super::oauth::Failure>() {
            let reason = format!("there is no token: {}", failure.reason);
            let remedy = Some(failure.remedy.clone());
            return Self { remedy, passes: failure.passes, ..Self::new(reason, Whose::Client) };
        }
        Self::new(format!("there is no token: {error}"), Whose::Client)
    }

    fn invalid(what: &'static str) -> Self {
        Self::new(what, Whose::Client)
    }
}

impl Exchange {
    /// Gathers what is needed. Cancel-safe.
    pub(super) async fn begin(sasl: &Sasl) -> Result<Self, Refusal> {
        Ok(match sasl {
            Sasl::Plain(credentials) => {
                if [&*credentials.username, credentials.password.reveal()].iter().any(|text| text.contains('\0')) {
                    return Err(Refusal::invalid("user and password of PLAIN may hold no NUL"));
                }
                Self::Plain(credentials.clone())
            }
            Sasl::ScramSha256(credentials) => Self::scram(Hash::Sha256, credentials)?,
            Sasl::ScramSha512(credentials) => Self::scram(Hash::Sha512, credentials)?,
            Sasl::OAuthBearer(tokens) => {
                let token = tokens.0.token().await.map_err(|error| Refusal::no_token(&error))?;
                let texts = token.extensions.iter().flat_map(|(name, value)| [&**name, &**value]);
                if [token.text.reveal()].into_iter().chain(texts).any(|text| text.contains('\x01')) {
                    return Err(Refusal::invalid("token and extensions of OAUTHBEARER may hold no byte 1"));
                }
                Self::OAuthBearer(token, None)
            }
        })
    }

    fn scram(hash: Hash, credentials: &Credentials) -> Result<Self, Refusal> {
        let mut random = [0; 24];
        getrandom::fill(&mut random).map_err(|_| Refusal::invalid("the system gives no random numbers"))?;
        let nonce = URL_SAFE_NO_PAD.encode(random);
        Ok(Self::Scram(Box::new(Scram::new(hash, credentials.clone(), nonce))))
    }

    /// The first message.
    pub(super) fn first(&mut self) -> Vec<u8> {
        match self {
            Self::Plain(Credentials { username, password }) => {
                format!("\0{username}\0{}", password.reveal()).into_bytes()
            }
            Self::Scram(scram) => scram.first(),
            Self::OAuthBearer(token, _) => {
                let extensions: String =
                    token.extensions.iter().map(|(name, value)| format!("{name}={value}\x01")).collect();
                format!("n,,\x01auth=Bearer {}\x01{extensions}\x01", token.text.reveal()).into_bytes()
            }
        }
    }

    /// Takes the broker's answer. `None` where the authentication is over and has succeeded.
    pub(super) fn next(&mut self, message: &[u8]) -> Result<Option<Vec<u8>>, Refusal> {
        match self {
            Self::Plain(_) if message.is_empty() => Ok(None),
            Self::Plain(_) => Err(Refusal::malformed("a message after the last one of PLAIN")),
            Self::Scram(scram) => scram.next(message),
            Self::OAuthBearer(..) if message.is_empty() => Ok(None),
            // A JSON object with the reason (RFC 7628 §3.2.2), which has to be answered before the broker fails the authentication.
            Self::OAuthBearer(token, said @ None) => {
                *said = Some(heard(&String::from_utf8_lossy(message), &[token.text.reveal()]));
                Ok(Some(vec![1]))
            }
            Self::OAuthBearer(_, Some(said)) => Err(Refusal::refused(said)),
        }
    }

    /// Text of the broker, as errors may show it.
    pub(super) fn heard(&self, text: &str) -> String {
        match self {
            Self::Plain(credentials) => heard(text, &[credentials.password.reveal()]),
            Self::OAuthBearer(token, _) => heard(text, &[token.text.reveal()]),
            // The broker has not been told the password.
            Self::Scram(_) => heard(text, &[]),
        }
    }

    /// What the broker has said against the credentials, beyond its error.
    pub(super) fn said(&self) -> Option<&str> {
        match self {
            Self::OAuthBearer(_, said) => said.as_deref(),
            Self::Plain(_) | Self::Scram(_) => None,
        }
    }
}
