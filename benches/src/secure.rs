//! A cluster with listeners of TLS and SASL, as `cargo xtask kafka --secure` makes it, and what its clients come with.

use std::collections::BTreeMap;
use std::env::var;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

/// Where its listeners and certificates are.
#[derive(Debug)]
pub struct SecureCluster {
    listeners: BTreeMap<String, String>,
    certificates: PathBuf,
}

/// Properties of a client.
pub type Properties = BTreeMap<String, String>;

impl SecureCluster {
    /// As the environment says it.
    ///
    /// # Errors
    /// Where it does not.
    pub fn from_environment() -> Result<Self> {
        let name = "ACKFLOW_KAFKA_LISTENERS";
        let listeners =
            var(name).with_context(|| format!("{name} has to name listeners: cargo xtask kafka --secure"))?;
        let pairs = listeners.split(' ').filter_map(|entry| entry.split_once('='));
        let listeners = pairs.map(|(name, at)| (name.to_owned(), at.to_owned())).collect();
        let name = "ACKFLOW_KAFKA_CERTIFICATES";
        let certificates = var(name).with_context(|| format!("{name} has to name a folder"))?.into();
        Ok(Self { listeners, certificates })
    }

    /// The address of a listener.
    ///
    /// # Errors
    /// Where there is none of that name.
    pub fn listener(&self, name: &str) -> Result<&str> {
        self.listeners.get(name).map(String::as_str).with_context(|| format!("there is no listener {name}"))
    }

    /// A file of the certificates.
    pub fn pem(&self, name: &str) -> String {
        self.certificates.join(name).display().to_string()
    }

    /// Properties of a client for a listener.
    ///
    /// # Errors
    /// As [`listener`](Self::listener).
    pub fn properties(&self, name: &str, more: &[(&str, &str)]) -> Result<Properties> {
        let protocol = if name.starts_with("SASL") || name == "SHORT" { "SASL_SSL" } else { "SSL" };
        let mut properties = BTreeMap::from([
            ("bootstrap.servers".to_owned(), self.listener(name)?.to_owned()),
            ("security.protocol".to_owned(), protocol.to_owned()),
            ("ssl.truststore.location".to_owned(), self.pem("ca.pem")),
        ]);
        properties.extend(more.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())));
        Ok(properties)
    }
}

/// The login module of a user, for PLAIN.
pub const PLAIN: &str =
    "org.apache.kafka.common.security.plain.PlainLoginModule required username=\"bob\" password=\"bob-secret\";";
/// The same for SCRAM.
pub const SCRAM: &str =
    "org.apache.kafka.common.security.scram.ScramLoginModule required username=\"alice\" password=\"alice-secret\";";
/// One that makes tokens which nobody signed.
pub const UNSECURED: &str = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub=\"carol\";";
/// One that gets tokens from an endpoint.
pub const CREDENTIALS: &str = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required clientId=\"me\" \
                                      clientSecret=\"client-secret-of-me\";";

/// Properties for a mechanism.
pub fn sasl<'a>(mechanism: &'a str, jaas: &'a str) -> [(&'a str, &'a str); 2] {
    [("sasl.mechanism", mechanism), ("sasl.jaas.config", jaas)]
}

/// A token that nobody signed, which a broker takes by default from `began` to `ends`, in seconds from now.
pub fn unsigned_token(began: i64, ends: i64) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let now = i64::try_from(now).unwrap_or(i64::MAX / 2);
    let claims = format!(r#"{{"sub":"carol","iat":{},"exp":{}}}"#, now + began, now + ends);
    format!("eyJhbGciOiJub25lIn0.{}.", URL_SAFE_NO_PAD.encode(claims))
}
