//! SASL: a client says who it is (KIP-43, KIP-152), and says it again before its session ends (KIP-368).

mod config;
mod exchange;
#[cfg(feature = "oidc")]
pub(crate) mod oauth;
mod renewal;
mod scram;
#[cfg(test)]
mod tests;
mod token;

use std::borrow::Cow;
use std::time::Duration;

use ackflow_protocol::messages::sasl_authenticate::{SaslAuthenticateRequest, SaslAuthenticateResponse};
use ackflow_protocol::messages::sasl_handshake::{SaslHandshakeRequest, SaslHandshakeResponse};
use ackflow_protocol::wire::{ErrorCode, Request};

use self::exchange::{Exchange, Refusal, Whose};
use crate::error::{ClientError, ErrorKind};
use crate::heard::heard;

pub use config::{Credentials, Sasl, Tokens};
pub(super) use renewal::{Renewal, keep_authenticated};
pub(crate) use scram::Hash;
pub use token::{Token, TokenError, TokenFuture, TokenProvider};

/// Asks the broker one thing after the other.
pub(super) trait Transport: Send {
    /// Sends a request and waits for its response.
    fn call<R: Request + Sync>(&mut self, request: &R)
    -> impl Future<Output = Result<R::Response, ClientError>> + Send;
}

/// Gathers what is needed to authenticate, such as a token, which may take a while. Nothing is sent to the broker.
async fn prepare(sasl: &Sasl) -> Result<Exchange, ClientError> {
    Exchange::begin(sasl).await.map_err(|refusal| refused(sasl, refusal))
}

/// Authenticates a connection. Gives how long that holds; `None` means for ever.
pub(super) async fn authenticate(transport: &mut impl Transport, sasl: &Sasl) -> Result<Option<Duration>, ClientError> {
    let exchange = prepare(sasl).await?;
    perform(transport, sasl, exchange).await
}

async fn perform(
    transport: &mut impl Transport,
    sasl: &Sasl,
    mut exchange: Exchange,
) -> Result<Option<Duration>, ClientError> {
    handshake(transport, sasl.mechanism()).await?;
    let mut message = exchange.first();
    loop {
        let request = SaslAuthenticateRequest { auth_bytes: message.into() };
        let SaslAuthenticateResponse { error_code, error_message, auth_bytes, session_lifetime_ms } =
            transport.call(&request).await?;
        if let Err(code) = error_code.ok() {
            let message = error_message.map(|message| exchange.heard(&message));
            return Err(denied(sasl, code, message.as_deref(), exchange.said()));
        }
        // SCRAM hashes the password thousands of times.
        let next = tokio::task::spawn_blocking(move || {
            let next = exchange.next(&auth_bytes);
            (exchange, next)
        });
        let next =
            next.await.map_err(|_| ClientError::new(ErrorKind::Closed, DOING, "the runtime is shutting down"))?;
        exchange = next.0;
        match next.1.map_err(|refusal| refused(sasl, refusal))? {
            Some(next) => message = next,
            None => return Ok(u64::try_from(session_lifetime_ms).ok().filter(|ms| *ms > 0).map(Duration::from_millis)),
        }
    }
}

async fn handshake(transport: &mut impl Transport, mechanism: &'static str) -> Result<(), ClientError> {
    let SaslHandshakeResponse { error_code, mechanisms } =
        transport.call(&SaslHandshakeRequest { mechanism: mechanism.into() }).await?;
    let doing = format!("agreeing on SASL {mechanism}");
    match error_code.ok() {
        Ok(()) => Ok(()),
        Err(ErrorCode::UNSUPPORTED_SASL_MECHANISM) => {
            let reason = format!(
                "the broker's listener does not offer sasl.mechanism={mechanism}, it offers {}",
                heard(&mechanisms.join(", "), &[])
            );
            let remedy =
                "set sasl.mechanism to one that it offers, or add this one to the broker's sasl.enabled.mechanisms";
            Err(ClientError::new(ErrorKind::Authentication, doing, reason).remedy(remedy))
        }
        Err(ErrorCode::ILLEGAL_SASL_STATE) => {
            let remedy = "the port is one of a listener without SASL: set security.protocol to PLAINTEXT or SSL, or use another port";
            Err(ClientError::new(ErrorKind::Authentication, doing, ErrorCode::ILLEGAL_SASL_STATE.to_string())
                .remedy(remedy))
        }
        Err(code) => Err(ClientError::broker(doing, code, None)),
    }
}

const DOING: &str = "authenticating";

/// The mechanism, and who wants to be let in by it.
fn attempt(sasl: &Sasl) -> String {
    match sasl {
        Sasl::Plain(who) | Sasl::ScramSha256(who) | Sasl::ScramSha512(who) => {
            format!("SASL {} as {}", sasl.mechanism(), who.username)
        }
        Sasl::OAuthBearer(_) => "SASL OAUTHBEARER".to_owned(),
    }
}

/// The broker does not accept the credentials.
fn denied(sasl: &Sasl, code: ErrorCode, message: Option<&str>, said: Option<&str>) -> ClientError {
    let parts = [message, said].into_iter().flatten().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("; ");
    let said = if parts.is_empty() { String::new() } else { format!(" ({parts})") };
    let reason = format!("{}: {code}{said}", attempt(sasl));
    ClientError::new(ErrorKind::Authentication, DOING, reason).remedy(remedy(sasl))
}

fn refused(sasl: &Sasl, refusal: Refusal) -> ClientError {
    let (kind, usual) = match refusal.whose {
        // As a broker that cannot be reached: it is tried again.
        _ if refusal.passes => (ErrorKind::Unreachable, remedy(sasl)),
        Whose::Broker | Whose::Client => (ErrorKind::Authentication, remedy(sasl)),
        Whose::Imposter => {
            (ErrorKind::Authentication, "check that the address is that of your broker: somebody may stand between")
        }
        Whose::Malformed => (ErrorKind::Malformed, "check that the address is that of your broker"),
    };
    let remedy = refusal.remedy.unwrap_or(Cow::Borrowed(usual));
    ClientError::new(kind, DOING, format!("{}: {}", attempt(sasl), refusal.reason)).remedy(remedy)
}

fn remedy(sasl: &Sasl) -> &'static str {
    match sasl {
        Sasl::Plain(_) => "check user and password in sasl.jaas.config, and that the broker has this user",
        Sasl::ScramSha256(_) | Sasl::ScramSha512(_) => {
            "check user and password in sasl.jaas.config, and that the broker has credentials of this mechanism for the user"
        }
        Sasl::OAuthBearer(_) => "check that the token is for this broker and has not expired",
    }
}
