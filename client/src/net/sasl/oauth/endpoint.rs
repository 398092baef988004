//! An endpoint that gives tokens for client credentials (RFC 6749 §4.4), as Kafka's client asks it.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use hyper::StatusCode;
use serde_json::Value;

use super::claims::seconds;
use super::failure::Failure;
use super::http::{self, Response};
use crate::config::Secret;
use crate::heard::heard;
use crate::net::config::Security;
use crate::net::sasl::token::Token;

/// The endpoint, and what it is to be asked with.
#[derive(Debug)]
pub(crate) struct Endpoint {
    /// `sasl.oauthbearer.token.endpoint.url`.
    pub(crate) target: Target,
    /// Who asks.
    pub(crate) client: Client,
    /// Extensions of the tokens, by name.
    pub(crate) extensions: BTreeMap<String, String>,
    /// How it is connected to: TLS, where the address says https.
    pub(crate) security: Security,
    /// `sasl.login.connect.timeout.ms`.
    pub(crate) connect_timeout: Duration,
    /// `sasl.login.read.timeout.ms`.
    pub(crate) read_timeout: Duration,
}

/// An address of HTTP, in its parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) is_https: bool,
    /// Name or address, as it is resolved and as certificates name it.
    pub(crate) host: String,
    pub(crate) port: u16,
    /// Host and port, as the header `Host` has them.
    pub(crate) authority: String,
    /// Path and query.
    pub(crate) path: String,
}

/// Client credentials.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Client {
    /// `sasl.oauthbearer.client.credentials.client.id`, `clientId`.
    pub(crate) id: String,
    /// `sasl.oauthbearer.client.credentials.client.secret`, `clientSecret`.
    pub(crate) secret: Secret,
    /// `sasl.oauthbearer.scope`, `scope`.
    pub(crate) scope: Option<String>,
    /// `sasl.oauthbearer.header.urlencode`.
    pub(crate) is_urlencoded: bool,
}

impl Target {
    /// Reads an address that begins with http:// or https://.
    pub(crate) fn parse(url: &str) -> Result<Self, &'static str> {
        let uri: hyper::Uri = url.parse().map_err(|_| "not an address of HTTP")?;
        let is_https = match uri.scheme_str() {
            Some("https") => true,
            Some("http") => false,
            _ => return Err("not an address of HTTP"),
        };
        let authority = uri.authority().ok_or("there is no host in it")?;
        if authority.as_str().contains('@') {
            return Err("user and password do not belong in it");
        }
        let host = authority.host().trim_start_matches('[').trim_end_matches(']');
        if host.is_empty() {
            return Err("there is no host in it");
        }
        Ok(Self {
            is_https,
            host: host.to_owned(),
            port: authority.port_u16().unwrap_or(if is_https { 443 } else { 80 }),
            authority: authority.to_string(),
            path: uri.path_and_query().map_or("/", |path| path.as_str()).to_owned(),
        })
    }
}

/// Without the query, which may be anybody's secret.
impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { is_https, authority, path, .. } = self;
        let path = path.split('?').next().unwrap_or_default();
        write!(f, "http{}://{authority}{path}", if *is_https { "s" } else { "" })
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.target.fmt(f)
    }
}

impl Client {
    /// The header `Authorization`.
    fn authorization(&self) -> String {
        let encode = |text: &str| if self.is_urlencoded { urlencode(text) } else { text.to_owned() };
        let both = format!("{}:{}", encode(&self.id), encode(self.secret.reveal()));
        format!("Basic {}", BASE64.encode(both))
    }

    fn form(&self) -> String {
        match self.scope.as_deref() {
            None | Some("") => "grant_type=client_credentials".to_owned(),
            Some(scope) => format!("grant_type=client_credentials&scope={}", urlencode(scope)),
        }
    }
}

/// As forms of HTML are encoded (`application/x-www-form-urlencoded`).
fn urlencode(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'.' | b'-' | b'*' | b'_' => encoded.push(char::from(byte)),
            b' ' => encoded.push('+'),
            _ => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}

const CREDENTIALS: &str = "check client id, secret and scope (clientId, clientSecret and scope in sasl.jaas.config, or \
                           sasl.oauthbearer.client.credentials.client.id and .secret, and sasl.oauthbearer.scope)";
const ADDRESS: &str = "check that sasl.oauthbearer.token.endpoint.url is the issuer's token endpoint";
const LATER: &str = "it is asked again; check that the issuer is well";

impl Endpoint {
    /// Asks for a token. What the endpoint says about how long it is valid comes with it.
    pub(super) async fn fetch(&self) -> Result<(Token, Option<Duration>), Failure> {
        let (authorization, form) = (self.client.authorization(), self.client.form());
        let response = http::post(self, &authorization, form).await?;
        let said: Option<Value> = serde_json::from_slice(&response.body).ok();
        if response.status != StatusCode::OK {
            return Err(self.refused(&response, said.as_ref()));
        }
        let unusable = |what: &str| Failure::lasting(format!("{self}: {what}"), ADDRESS);
        let said = said.ok_or_else(|| unusable("its answer is no JSON"))?;
        let text = said.get("access_token").or_else(|| said.get("id_token")).and_then(Value::as_str);
        let text = text.map(str::trim).ok_or_else(|| unusable("its answer has no access_token"))?;
        let token = Token { extensions: self.extensions.clone(), ..Token::new(text) };
        Ok((token, said.get("expires_in").and_then(seconds)))
    }

    fn refused(&self, response: &Response, said: Option<&Value>) -> Failure {
        let said = ["error", "error_description"].into_iter().filter_map(|name| said?.get(name)?.as_str());
        // Some issuers repeat what they were asked with.
        let said: Vec<_> = said.map(|text| self.heard(text)).collect();
        let said = if said.is_empty() { String::new() } else { format!(" ({})", said.join(": ")) };
        let reason = format!("{self}: it answered {}{said}", response.status);
        match response.status {
            StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_EARLY | StatusCode::TOO_MANY_REQUESTS => {
                Failure::passing(reason, LATER)
            }
            StatusCode::NOT_IMPLEMENTED | StatusCode::HTTP_VERSION_NOT_SUPPORTED => Failure::lasting(reason, ADDRESS),
            status if status.is_server_error() => Failure::passing(reason, LATER),
            StatusCode::BAD_REQUEST | StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                Failure::lasting(reason, CREDENTIALS)
            }
            _ => Failure::lasting(reason, ADDRESS),
        }
    }

    /// Text of the endpoint, as errors may show it: without what it was asked with, in any of the forms that it had on its way.
    fn heard(&self, text: &str) -> String {
        let secret = self.client.secret.reveal();
        let authorization = self.client.authorization();
        let (_, credentials) = authorization.split_once(' ').unwrap_or_default();
        let query = self.target.path.split_once('?').map_or("", |(_, query)| query);
        heard(text, &[secret, &urlencode(secret), credentials, query])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_taken_apart_and_shown_without_their_query() {
        let target = Target::parse("https://id.example.com/a/token?key=hunter2").unwrap();
        assert_eq!((&*target.host, target.port, &*target.path), ("id.example.com", 443, "/a/token?key=hunter2"));
        assert_eq!(target.to_string(), "https://id.example.com/a/token");
        let target = Target::parse("http://[::1]:8080").unwrap();
        assert_eq!((&*target.host, target.port, &*target.path), ("::1", 8080, "/"));
        for url in ["ftp://a/b", "/token", "https:///token", "http://me:hunter2@a/", "https://", ""] {
            assert!(!Target::parse(url).expect_err(url).contains("hunter2"));
        }
    }

    // Mutation: client/src/net/sasl/oauth/endpoint.rs
    // - heard(text, &[secret, &urlencode(secret), credentials, query])
    // + heard(text, &[secret])
    #[test]
    fn what_an_issuer_repeats_of_what_it_was_asked_with_is_hidden() {
        for is_urlencoded in [false, true] {
            let endpoint = Endpoint {
                target: Target::parse("http://a/token?key=hunter3").unwrap(),
                client: Client { id: "me".into(), secret: Secret::new("hunt er/2"), scope: None, is_urlencoded },
                extensions: BTreeMap::new(),
                security: Security::default(),
                connect_timeout: Duration::ZERO,
                read_timeout: Duration::ZERO,
            };
            let authorization = endpoint.client.authorization();
            let said = format!("hunt er/2 or hunt+er%2F2 or {authorization} at /token?key=hunter3\u{1b}[2J");
            let expected = "[hidden] or [hidden] or Basic [hidden] at /token?[hidden] [2J";
            assert_eq!(endpoint.heard(&said), expected);
            let body = serde_json::json!({ "error": "e", "error_description": format!("{said}{}", "x".repeat(9_000)) });
            let response = Response { status: StatusCode::UNAUTHORIZED, body: Default::default() };
            let reason = endpoint.refused(&response, Some(&body)).reason;
            assert!(reason.contains(expected) && reason.len() < 300 && !reason.contains("hunt"), "{reason}");
        }
    }

    #[test]
    fn id_and_secret_are_encoded_where_that_is_wanted() {
        let client =
            Client { id: "a b".into(), secret: Secret::new("p:ü"), scope: Some("x y/z".into()), is_urlencoded: false };
        assert_eq!(client.authorization(), format!("Basic {}", BASE64.encode("a b:p:ü")));
        assert_eq!(client.form(), "grant_type=client_credentials&scope=x+y%2Fz");
        let client = Client { is_urlencoded: true, scope: None, ..client };
        assert_eq!(client.authorization(), format!("Basic {}", BASE64.encode("a+b:p%3A%C3%BC")));
        assert_eq!(client.form(), "grant_type=client_credentials");
    }
}
