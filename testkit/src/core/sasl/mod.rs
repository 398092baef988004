//! SASL from the broker's side: who may come in, and how far each connection has come (KIP-43, KIP-152, KIP-368).
//!
//! One connection first says which mechanism it wants (SaslHandshake), then proves who it is (SaslAuthenticate), once or in two steps. Nothing else but
//! ApiVersions is answered before that. Where sessions are limited it does both again in time, on the same connection.

mod mechanism;
mod plain;
mod scram;
mod users;

use std::time::{Duration, Instant};

use ackflow_protocol::wire::{ApiKey, ErrorCode};
use bytes::Bytes;

pub(crate) use mechanism::Mechanism;
use scram::ScramServer;
pub use users::Users;

use super::{Cluster, ConnectionId};

/// What a listener with SASL asks of its clients.
#[derive(Debug)]
pub(crate) struct Sasl {
    /// `sasl.enabled.mechanisms`.
    pub(crate) mechanisms: Vec<Mechanism>,
    /// `connections.max.reauth.ms`, unless that is 0.
    pub(crate) max_session: Option<Duration>,
    pub(crate) users: Users,
}

/// How far one connection has come.
#[derive(Debug, Default)]
pub(crate) struct Login {
    session: Option<Session>,
    exchange: Option<Exchange>,
}

/// A client that has proved itself.
#[derive(Debug)]
struct Session {
    user: String,
    /// When it has to do so again.
    until: Option<Instant>,
}

/// A client that is about to prove itself.
#[derive(Debug)]
enum Exchange {
    Plain,
    Scram(ScramServer),
}

/// What a token leads to.
enum Step {
    /// Say this, and wait for another one.
    Challenge(Bytes),
    /// It is this user; say this.
    Done(String, Bytes),
}

/// What the client hears of a token that was taken.
pub(crate) struct Taken {
    pub(crate) bytes: Bytes,
    /// How long it may stay before it has to prove itself again; zero is for ever.
    pub(crate) lifetime: Duration,
}

/// Why a token was not taken; the text is for the client.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) code: ErrorCode,
    pub(crate) message: String,
}

/// A token that proves nothing. `Some` is a reason that the client may hear.
struct Invalid(Option<&'static str>);

impl Exchange {
    fn new(mechanism: Mechanism, nonce: impl FnOnce() -> String) -> Self {
        match mechanism {
            Mechanism::Plain => Self::Plain,
            Mechanism::Scram(hash) => Self::Scram(ScramServer::new(hash, nonce())),
        }
    }

    fn mechanism(&self) -> Mechanism {
        match self {
            Self::Plain => Mechanism::Plain,
            Self::Scram(server) => Mechanism::Scram(server.hash()),
        }
    }

    fn next(&mut self, users: &Users, token: &[u8]) -> Result<Step, Invalid> {
        match self {
            Self::Plain => plain::check(users, token).map(|user| Step::Done(user, Bytes::new())),
            Self::Scram(server) => server.next(users, token).ok_or(Invalid(None)),
        }
    }
}

impl Cluster {
    /// Whether a connection may send such a request now.
    ///
    /// # Errors
    /// Why not: the connection has to be closed.
    pub(super) fn may_send(&self, now: Instant, connection: ConnectionId, key: ApiKey) -> Result<(), String> {
        let Some(login) = self.login(connection) else { return Ok(()) };
        let is_of_login = key == ApiKey::SASL_HANDSHAKE || key == ApiKey::SASL_AUTHENTICATE;
        match &login.session {
            None if is_of_login || key == ApiKey::API_VERSIONS => Ok(()),
            None => Err(format!("{key} before the client has proved who it is")),
            Some(Session { until: Some(until), .. }) if *until <= now && !is_of_login => {
                Err("the session has ended, and the client has not proved itself again".to_owned())
            }
            Some(_) => Ok(()),
        }
    }

    /// Whether a connection has proved who it is, or need not.
    pub(crate) fn is_let_in(&self, connection: ConnectionId) -> bool {
        self.login(connection).is_none_or(|login| login.session.is_some())
    }

    /// A client says which mechanism it wants.
    ///
    /// # Errors
    /// ILLEGAL_SASL_STATE where there is nothing to prove (any more); UNSUPPORTED_SASL_MECHANISM.
    pub(super) fn begin_login(&mut self, connection: ConnectionId, mechanism: &str) -> Result<(), ErrorCode> {
        let (Some(sasl), Some(login)) =
            (&self.sasl, self.connections.get_mut(&connection).and_then(|peer| peer.login.as_mut()))
        else {
            return Err(ErrorCode::ILLEGAL_SASL_STATE);
        };
        if login.exchange.is_some() || login.session.is_some() && sasl.max_session.is_none() {
            return Err(ErrorCode::ILLEGAL_SASL_STATE);
        }
        let wanted = sasl.mechanisms.iter().find(|each| each.name() == mechanism);
        let wanted = *wanted.ok_or(ErrorCode::UNSUPPORTED_SASL_MECHANISM)?;
        let random = &mut self.random;
        login.exchange = Some(Exchange::new(wanted, || random.uuid().to_string()));
        Ok(())
    }

    /// A client proves who it is, or goes on with that.
    ///
    /// # Errors
    /// [`Refusal`]; one with SASL_AUTHENTICATION_FAILED is the end of the connection.
    pub(super) fn authenticate(
        &mut self,
        now: Instant,
        connection: ConnectionId,
        token: &[u8],
    ) -> Result<Taken, Refusal> {
        let illegal = |message: &str| Refusal { code: ErrorCode::ILLEGAL_SASL_STATE, message: message.to_owned() };
        let (Some(sasl), Some(login)) =
            (&self.sasl, self.connections.get_mut(&connection).and_then(|peer| peer.login.as_mut()))
        else {
            return Err(illegal("SaslAuthenticate request received on a listener without SASL"));
        };
        let Some(mut exchange) = login.exchange.take() else {
            return Err(illegal(match login.session {
                Some(_) => "SaslAuthenticate request received after successful authentication",
                None => "SaslHandshake has to come before SaslAuthenticate",
            }));
        };
        let mechanism = exchange.mechanism();
        let failed = |message: String| Refusal { code: ErrorCode::SASL_AUTHENTICATION_FAILED, message };
        let (user, bytes) = match exchange.next(&sasl.users, token) {
            Ok(Step::Challenge(bytes)) => {
                login.exchange = Some(exchange);
                return Ok(Taken { bytes, lifetime: Duration::ZERO });
            }
            Ok(Step::Done(user, bytes)) => (user, bytes),
            Err(Invalid(Some(reason))) => return Err(failed(format!("Authentication failed: {reason}"))),
            Err(Invalid(None)) => {
                let which = if login.session.is_some() { "re-authentication" } else { "authentication" };
                return Err(failed(format!(
                    "Authentication failed during {which} due to invalid credentials with SASL mechanism {}",
                    mechanism.name()
                )));
            }
        };
        if let Some(session) = login.session.as_ref().filter(|session| session.user != user) {
            let old = &session.user;
            return Err(failed(format!(
                "Cannot change principals during re-authentication from User.{old}: User.{user}"
            )));
        }
        login.session = Some(Session { user, until: sasl.max_session.map(|longest| now + longest) });
        Ok(Taken { bytes, lifetime: sasl.max_session.unwrap_or_default() })
    }

    fn login(&self, connection: ConnectionId) -> Option<&Login> {
        self.connections.get(&connection)?.login.as_ref()
    }
}
