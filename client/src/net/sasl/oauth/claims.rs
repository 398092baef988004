//! How long a token is valid.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::Value;

/// How long a token is taken for valid that says nothing about it.
const UNSAID: Duration = Duration::from_secs(5 * 60);

/// Why a token is of no use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Useless {
    /// It has ended already.
    Expired,
    /// Its claim `exp` is no time.
    NoTime,
}

/// The last time that Java's brokers can tell: 2^63 - 1 milliseconds since 1970. They refuse a token that ends later in ways that tell nothing.
const LATEST: Duration = Duration::from_millis(i64::MAX as u64);

/// How long a token is still valid: what its endpoint says (`expires_in`) or its own claim `exp`, whichever ends first.
///
/// A clock that differs from the issuer's makes `exp` useless; then `expires_in` counts, which needs no clock.
pub(super) fn remaining(token: &str, expires_in: Option<Duration>, now: SystemTime) -> Result<Duration, Useless> {
    let since_epoch = now.duration_since(UNIX_EPOCH).unwrap_or_default();
    let left = match (exp(token)?, expires_in) {
        (Some(exp), said) => {
            let left = exp.checked_sub(since_epoch).filter(|left| !left.is_zero());
            left.into_iter().chain(said).min()
        }
        (None, said) => Some(said.unwrap_or(UNSAID)),
    };
    left.filter(|left| !left.is_zero()).ok_or(Useless::Expired)
}

/// The claim `exp` of a JWT, since 1970; before that counts as 1970. `None` where the token is none, or has no such claim.
fn exp(token: &str) -> Result<Option<Duration>, Useless> {
    let claims = token.split('.').nth(1).and_then(|claims| URL_SAFE_NO_PAD.decode(claims.trim_end_matches('=')).ok());
    let claims = claims.and_then(|claims| serde_json::from_slice::<Value>(&claims).ok());
    let Some(exp) = claims.as_ref().and_then(|claims| claims.get("exp")) else { return Ok(None) };
    match number(exp) {
        Some(before) if before < 0.0 => Ok(Some(Duration::ZERO)),
        _ => seconds(exp).filter(|exp| *exp <= LATEST).map(Some).ok_or(Useless::NoTime),
    }
}

/// A number of seconds, whole or not, which some issuers write as text.
pub(super) fn seconds(value: &Value) -> Option<Duration> {
    Duration::try_from_secs_f64(number(value)?).ok()
}

fn number(value: &Value) -> Option<f64> {
    match value {
        Value::String(text) => text.trim().parse().ok(),
        other => other.as_f64(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(claims: &str) -> String {
        format!("eyJhbGciOiJub25lIn0.{}.", URL_SAFE_NO_PAD.encode(claims))
    }

    #[test]
    fn what_ends_first_counts_and_a_clock_that_differs_does_not() {
        let now = UNIX_EPOCH + Duration::from_secs(1_000);
        let seconds = |seconds| Some(Duration::from_secs(seconds));
        let lasts = |seconds| Ok(Duration::from_secs(seconds));
        for (claims, said, expected) in [
            (r#"{"exp":1060}"#, None, lasts(60)),
            (r#"{"exp":1060.5}"#, seconds(30), lasts(30)),
            (r#"{"exp":1060}"#, seconds(90), lasts(60)),
            (r#"{"exp":1000}"#, None, Err(Useless::Expired)),
            (r#"{"exp":900}"#, seconds(90), lasts(90)),
            (r#"{"exp":-1}"#, seconds(90), lasts(90)),
            (r#"{"exp":-1}"#, None, Err(Useless::Expired)),
            (r#"{"exp":"1060"}"#, None, lasts(60)),
            (r#"{"exp":253402300799}"#, None, lasts(253_402_299_799)),
            (r#"{"exp":1e30}"#, None, Err(Useless::NoTime)),
            (r#"{"exp":1e16}"#, seconds(90), Err(Useless::NoTime)),
            (r#"{"exp":"soon"}"#, seconds(90), Err(Useless::NoTime)),
            (r#"{"exp":"nan"}"#, None, Err(Useless::NoTime)),
            (r#"{"exp":null}"#, None, Err(Useless::NoTime)),
            (r#"{"sub":"a"}"#, seconds(0), Err(Useless::Expired)),
            ("[]", None, Ok(UNSAID)),
        ] {
            assert_eq!(remaining(&token(claims), said, now), expected, "{claims} {said:?}");
        }
        for text in ["", "opaque", "a.b.c", "..", "a.\u{e9}.c"] {
            assert_eq!(remaining(text, None, now), Ok(UNSAID), "{text}");
        }
    }
}
