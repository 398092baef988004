//! PLAIN (RFC 4616): whom to act for, the user and the password, with zeros between.

use super::{Invalid, Users};

/// The user whose password the token has. The reasons are Kafka's.
pub(super) fn check(users: &Users, token: &[u8]) -> Result<String, Invalid> {
    let text = str::from_utf8(token).map_err(|_| Invalid(Some("Invalid username or password")))?;
    let parts: Vec<&str> = text.split('\0').collect();
    let [authzid, user, password] = parts[..] else {
        return Err(Invalid(Some("Invalid SASL/PLAIN response: expected 3 tokens")));
    };
    if user.is_empty() {
        return Err(Invalid(Some("username not specified")));
    }
    if password.is_empty() {
        return Err(Invalid(Some("password not specified")));
    }
    if !users.has(user, password) {
        return Err(Invalid(Some("Invalid username or password")));
    }
    if !authzid.is_empty() && authzid != user {
        return Err(Invalid(Some("Client requested an authorization id that is different from username")));
    }
    Ok(user.to_owned())
}
