//! How long a token is valid.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::Value;

/// How long a token is taken for valid that says nothing about it.
const UNSAID: Duration = Duration::from_secs(5 * 60);

/// How long a token is still valid: what its endpoint says (`expires_in`) or its own claim `exp`, whichever ends first. `None` where that is over.
///
/// A clock that differs from the issuer's makes `exp` useless; then `expires_in` counts, which needs no clock.
pub(super) fn remaining(token: &str, expires_in: Option<Duration>, now: SystemTime) -> Option<Duration> {
    let since_epoch = now.duration_since(UNIX_EPOCH).unwrap_or_default();
    match (exp(token), expires_in) {
        (Some(exp), said) => {
            let left = exp.checked_sub(since_epoch).filter(|left| !left.is_zero());
            left.into_iter().chain(said).min()
        }
        (None, said) => Some(said.unwrap_or(UNSAID)),
    }
    .filter(|left| !left.is_zero())
}

/// The claim `exp` of a JWT, since 1970. `None` where the token is none, or has no such claim.
fn exp(token: &str) -> Option<Duration> {
    let claims = token.split('.').nth(1)?;
    let claims = URL_SAFE_NO_PAD.decode(claims.trim_end_matches('=')).ok()?;
    seconds(serde_json::from_slice::<Value>(&claims).ok()?.get("exp")?)
}

/// A number of seconds, whole or not, which some issuers write as text.
pub(super) fn seconds(value: &Value) -> Option<Duration> {
    let seconds = match value {
        Value::String(text) => text.trim().parse().ok()?,
        other => other.as_f64()?,
    };
    Duration::try_from_secs_f64(seconds).ok()
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
        for (claims, said, expected) in [
            (r#"{"exp":1060}"#, None, seconds(60)),
            (r#"{"exp":1060.5}"#, seconds(30), seconds(30)),
            (r#"{"exp":1060}"#, seconds(90), seconds(60)),
            (r#"{"exp":1000}"#, None, None),
            (r#"{"exp":900}"#, seconds(90), seconds(90)),
            (r#"{"exp":-1}"#, seconds(90), seconds(90)),
            (r#"{"exp":1e300}"#, None, Some(UNSAID)),
            (r#"{"sub":"a"}"#, seconds(0), None),
            ("[]", None, Some(UNSAID)),
        ] {
            assert_eq!(remaining(&token(claims), said, now), expected, "{claims} {said:?}");
        }
        for text in ["", "opaque", "a.b.c", "..", "a.\u{e9}.c"] {
            assert_eq!(remaining(text, None, now), Some(UNSAID), "{text}");
        }
    }
}
