//! Where tokens come from.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use super::claims::{Useless, remaining};
use super::endpoint::Endpoint;
use super::failure::Failure;
use super::unsecured::Unsecured;
use crate::config::read_text;
use crate::net::sasl::token::Token;

/// The longest token that is taken: those of many groups have some ten thousand bytes.
pub(super) const LONGEST_TOKEN: u64 = 256 * 1024;

/// One place that gives tokens.
#[derive(Debug)]
pub(crate) enum Source {
    /// An endpoint that gives a client tokens for its id and secret.
    Endpoint(Box<Endpoint>),
    /// A file with nothing but a token, which somebody else replaces.
    File {
        /// The file.
        path: PathBuf,
        /// Extensions, by name.
        extensions: BTreeMap<String, String>,
    },
    /// Tokens that nobody has signed.
    Unsecured(Unsecured),
}

impl Source {
    /// A token, and how long it is valid. It takes no longer than its source allows.
    pub(super) async fn fetch(&self) -> Result<(Token, Duration), Failure> {
        let (token, expires_in) = match self {
            Self::Endpoint(endpoint) => endpoint.fetch().await?,
            Self::File { path, extensions } => {
                let text = read_text(path, LONGEST_TOKEN).map_err(|error| {
                    let remedy = "check the path in sasl.oauthbearer.token.endpoint.url and the rights of the file";
                    Failure::passing(format!("{self}: it cannot be read: {error}"), remedy)
                })?;
                let token = Token { extensions: extensions.clone(), ..Token::new(text.trim()) };
                (token, None)
            }
            Self::Unsecured(unsecured) => {
                let (token, lasts) = unsecured.make(SystemTime::now());
                (token, Some(lasts))
            }
        };
        // What goes into a message of SASL; whoever put something else there did not mean it for a token.
        if token.text.reveal().is_empty() || !token.text.reveal().bytes().all(|byte| byte.is_ascii_graphic()) {
            let remedy = "check what sasl.oauthbearer.token.endpoint.url names: a token is one word";
            return Err(Failure::lasting(format!("{self}: what it gives is no token"), remedy));
        }
        let lasts = remaining(token.text.reveal(), expires_in, SystemTime::now()).map_err(|useless| match useless {
            Useless::Expired => {
                let remedy = "check the clock of this host, and how long the issuer lets tokens be valid";
                Failure::passing(format!("{self}: the token that it gives has expired already"), remedy)
            }
            Useless::NoTime => {
                let remedy = "have the issuer write exp in seconds since 1970";
                Failure::lasting(
                    format!("{self}: exp of the token that it gives is no time that a broker knows"),
                    remedy,
                )
            }
        })?;
        Ok((token, lasts))
    }
}

/// Names it, without secrets.
impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Endpoint(endpoint) => endpoint.fmt(f),
            Self::File { path, .. } => path.display().fmt(f),
            Self::Unsecured(_) => f.write_str("unsecured tokens"),
        }
    }
}
