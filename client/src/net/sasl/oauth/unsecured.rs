//! Tokens that nobody has signed, for brokers in tests: what Kafka's client makes without further settings.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Map, Value};

use crate::net::sasl::token::Token;

/// What such tokens claim.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Unsecured {
    claims: Map<String, Value>,
    lasts: Duration,
    extensions: BTreeMap<String, String>,
}

const PREFIX: &str = "unsecuredLogin";

impl Unsecured {
    /// Reads the options `unsecuredLogin...` of a login module. `None` where there are none.
    ///
    /// # Errors
    /// With what is wrong, and with which option.
    pub(crate) fn read(options: &BTreeMap<String, String>) -> Result<Option<Self>, String> {
        let mut it = Self { claims: Map::new(), lasts: Duration::from_secs(3600), extensions: BTreeMap::new() };
        let (mut any, mut principal) = (false, "sub");
        for (name, value) in options {
            let Some(option) = name.strip_prefix(PREFIX) else { continue };
            any = true;
            let unusable = |what| format!("{name} {what}");
            match option.split_once('_') {
                Some((_, "iat" | "exp")) => return Err(unusable("cannot be set: that claim is made by the client")),
                Some(("StringClaim", claim)) => drop(it.claims.insert(claim.into(), Value::from(&**value))),
                Some(("NumberClaim", claim)) => {
                    let number = serde_json::from_str::<Value>(value.trim()).ok().filter(Value::is_number);
                    it.claims.insert(claim.into(), number.ok_or_else(|| unusable("is no number"))?);
                }
                Some(("ListClaim", claim)) => drop(it.claims.insert(claim.into(), list(value))),
                Some(("Extension", "auth")) => return Err(unusable("has a name that is taken")),
                Some(("Extension", extension)) => drop(it.extensions.insert(extension.into(), value.clone())),
                None if option == "PrincipalClaimName" => principal = value,
                None if option == "ScopeClaimName" => {}
                None if option == "LifetimeSeconds" => {
                    let seconds =
                        value.trim().parse().ok().filter(|seconds: &u64| (1..=u64::from(u32::MAX)).contains(seconds));
                    it.lasts = Duration::from_secs(seconds.ok_or_else(|| unusable("is no number of seconds"))?);
                }
                _ => return Err(unusable("is no option of this login module")),
            }
        }
        match it.claims.get(principal) {
            _ if !any => Ok(None),
            Some(Value::String(name)) if !name.is_empty() => Ok(Some(it)),
            _ => Err(format!("{PREFIX}StringClaim_{principal} is missing: it says who the client is")),
        }
    }

    /// A token that is valid from now on, and for how long.
    pub(super) fn make(&self, now: SystemTime) -> (Token, Duration) {
        let issued = now.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let mut claims = self.claims.clone();
        claims.insert("iat".into(), issued.into());
        claims.insert("exp".into(), (issued + self.lasts.as_secs()).into());
        let claims = URL_SAFE_NO_PAD.encode(Value::Object(claims).to_string());
        let header = URL_SAFE_NO_PAD.encode(r#"{"alg":"none"}"#);
        let token = Token { extensions: self.extensions.clone(), ..Token::new(format!("{header}.{claims}.")) };
        (token, self.lasts)
    }
}

/// A list whose first character stands between its members.
fn list(value: &str) -> Value {
    let mut rest = value.chars();
    match rest.next() {
        None => Value::Array(Vec::new()),
        Some(delimiter) => rest.as_str().split(delimiter).filter(|member| !member.is_empty()).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(options: &[(&str, &str)]) -> Result<Option<Unsecured>, String> {
        Unsecured::read(&options.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect())
    }

    #[test]
    fn claims_of_each_kind_are_said() {
        let options = [
            ("unsecuredLoginStringClaim_name", "caro\"l"),
            ("unsecuredLoginNumberClaim_n", "7"),
            ("unsecuredLoginListClaim_scope", ",a,b"),
            ("unsecuredLoginListClaim_none", ""),
            ("unsecuredLoginPrincipalClaimName", "name"),
            ("unsecuredLoginLifetimeSeconds", "10"),
            ("unsecuredLoginExtension_traceId", "9"),
        ];
        let (token, lasts) = read(&options).unwrap().unwrap().make(UNIX_EPOCH + Duration::from_millis(1_500));
        let parts: Vec<&str> = token.text.reveal().split('.').collect();
        let claims = String::from_utf8(URL_SAFE_NO_PAD.decode(parts[1]).unwrap()).unwrap();
        let claims: Value = serde_json::from_str(&claims).unwrap();
        let expected =
            serde_json::json!({"name": "caro\"l", "n": 7, "scope": ["a", "b"], "none": [], "iat": 1, "exp": 11});
        assert_eq!(claims, expected);
        assert_eq!((parts[0], parts[2], lasts), ("eyJhbGciOiJub25lIn0", "", Duration::from_secs(10)));
        assert_eq!(token.extensions, BTreeMap::from([("traceId".into(), "9".into())]));
    }

    #[test]
    fn what_cannot_work_is_refused_by_name() {
        assert_eq!(read(&[("clientId", "a")]), Ok(None));
        for (name, value, expected) in [
            ("unsecuredLoginStringClaim_exp", "1", "that claim is made by the client"),
            ("unsecuredLoginNumberClaim_n", "many", "is no number"),
            ("unsecuredLoginLifetimeSeconds", "0", "is no number of seconds"),
            ("unsecuredLoginStringClaim_name", "a", "unsecuredLoginStringClaim_sub is missing"),
            ("unsecuredLoginStringClaim_sub", "", "unsecuredLoginStringClaim_sub is missing"),
            ("unsecuredLoginExtension_auth", "a", "is taken"),
            ("unsecuredLogins", "a", "is no option"),
        ] {
            let error = read(&[(name, value)]).unwrap_err();
            assert!(error.contains(expected), "{name}: {error}");
        }
    }
}
