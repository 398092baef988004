//! `security.protocol` and what belongs to it.

mod jaas;
#[cfg(feature = "oidc")]
mod oauth;

use super::{Properties, Secret};
use crate::error::ClientError;
use crate::net::{Credentials, Sasl, Security};

const PROTOCOL: &str = "security.protocol";
const MECHANISM: &str = "sasl.mechanism";
const JAAS: &str = "sasl.jaas.config";

/// Reads the keys. Those of TLS and SASL are looked at where the protocol has them, and mean nothing elsewhere, as in Kafka.
pub(super) fn read(p: &mut Properties<'_>) -> Result<Security, ClientError> {
    let (mut tls, mut sasl) = (false, false);
    if let Some(protocol) = p.get(PROTOCOL) {
        (tls, sasl) = match protocol.to_ascii_uppercase().as_str() {
            "PLAINTEXT" => (false, false),
            "SSL" => (true, false),
            "SASL_PLAINTEXT" => (false, true),
            "SASL_SSL" => (true, true),
            _ => {
                let remedy = "use PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL";
                return Err(ClientError::config(PROTOCOL, protocol, "not a value of this setting", remedy));
            }
        };
    }
    let mut security = Security::default();
    read_tls(p, tls, &mut security)?;
    let (mechanism, jaas) = (p.get(MECHANISM), p.get(JAAS).unwrap_or_default());
    let mechanism = match mechanism {
        Some(mechanism) => mechanism,
        None if sasl => return Err(p.missing(MECHANISM, MECHANISMS)),
        None => "GSSAPI",
    };
    let tokens = read_tokens(p, jaas, sasl && mechanism == OAUTHBEARER, &security)?;
    if sasl {
        security.sasl = match tokens {
            None => Some(read_sasl(p, mechanism, jaas)?),
            tokens => tokens,
        };
    }
    Ok(security)
}

const OAUTHBEARER: &str = "OAUTHBEARER";

/// Reads where tokens come from, where they are `wanted`.
#[cfg(feature = "oidc")]
fn read_tokens(
    p: &mut Properties<'_>,
    jaas: &str,
    wanted: bool,
    security: &Security,
) -> Result<Option<Sasl>, ClientError> {
    let settings = oauth::Settings::read(p, wanted)?;
    wanted.then(|| settings.sasl(p, jaas, security)).transpose()
}

#[cfg(not(feature = "oidc"))]
fn read_tokens(_: &mut Properties<'_>, _: &str, wanted: bool, _: &Security) -> Result<Option<Sasl>, ClientError> {
    if !wanted {
        return Ok(None);
    }
    let remedy = "build ackflow-client with the feature oidc, or give the client a function that provides tokens (Sasl::OAuthBearer)";
    Err(ClientError::config(MECHANISM, OAUTHBEARER, "this build fetches no tokens", remedy))
}

const MECHANISMS: &str = "use PLAIN, SCRAM-SHA-256, SCRAM-SHA-512 or OAUTHBEARER";

fn read_sasl(p: &Properties<'_>, mechanism: &str, jaas: &str) -> Result<Sasl, ClientError> {
    let (module, make): (_, fn(Credentials) -> Sasl) = match mechanism {
        "PLAIN" => (jaas::PLAIN, Sasl::Plain),
        "SCRAM-SHA-256" => (jaas::SCRAM_SHA_256, Sasl::ScramSha256),
        "SCRAM-SHA-512" => (jaas::SCRAM_SHA_512, Sasl::ScramSha512),
        _ => {
            let reason = "this client does not have the mechanism";
            return Err(ClientError::config(MECHANISM, mechanism, reason, MECHANISMS));
        }
    };
    if jaas.is_empty() {
        return Err(p.missing(JAAS, module.example()));
    }
    let options = module.read(mechanism, jaas)?.options;
    let option = |name: &str| options.get(name).ok_or_else(|| module.unusable(&format!("{name} is missing")));
    let credentials =
        Credentials { username: option("username")?.clone(), password: Secret::new(&**option("password")?) };
    if options.get("tokenauth").is_some_and(|value| value.eq_ignore_ascii_case("true")) {
        let reason = "delegation tokens are not supported (tokenauth)";
        return Err(ClientError::config(JAAS, "[hidden]", reason, "use the user's own credentials"));
    }
    Ok(make(credentials))
}

#[cfg(not(feature = "tls"))]
fn read_tls(p: &mut Properties<'_>, wanted: bool, _: &mut Security) -> Result<(), ClientError> {
    match (wanted, p.get(PROTOCOL)) {
        (true, Some(protocol)) => {
            let remedy = "build ackflow-client with a provider of TLS: the feature graviola, ring or aws-lc-rs";
            Err(ClientError::config(PROTOCOL, protocol, "this build has no TLS", remedy))
        }
        _ => Ok(()),
    }
}

#[cfg(feature = "tls")]
fn read_tls(p: &mut Properties<'_>, wanted: bool, security: &mut Security) -> Result<(), ClientError> {
    let config = tls::read(p, wanted)?;
    if wanted {
        security.tls = Some(crate::net::Tls::new(config)?);
    }
    Ok(())
}

#[cfg(feature = "tls")]
mod tls {
    use std::path::PathBuf;

    use super::{ClientError, Properties, Secret};
    use crate::net::{Pem, TlsConfig, TlsIdentity, TlsVersions};

    /// Reads `ssl.*`; what it says is checked where it is `wanted`.
    pub(super) fn read(p: &mut Properties<'_>, wanted: bool) -> Result<TlsConfig, ClientError> {
        let mut config = TlsConfig::default();
        let trusted = store(p, wanted, &TRUSTSTORE)?;
        let certificates = given(p, "ssl.truststore.certificates").map(text);
        config.trusted =
            one_of(trusted, certificates, ["ssl.truststore.location", "ssl.truststore.certificates"], wanted)?;

        let keystore = store(p, wanted, &KEYSTORE)?;
        let (chain, key) =
            (given(p, "ssl.keystore.certificate.chain").map(text), given(p, "ssl.keystore.key").map(text));
        let key_password = given(p, "ssl.key.password").map(Secret::new);
        let inline = match (chain, key) {
            (Some(chain), Some(key)) => Some((chain, key)),
            (None, None) => None,
            (chain, _) if wanted => {
                let missing = if chain.is_none() { "ssl.keystore.certificate.chain" } else { "ssl.keystore.key" };
                let remedy = "give both ssl.keystore.key and ssl.keystore.certificate.chain, or neither";
                return Err(p.missing(missing, remedy));
            }
            _ => None,
        };
        let keystore = keystore.map(|file| (file.clone(), file));
        let keys = ["ssl.keystore.location", "ssl.keystore.key"];
        let identity = one_of(keystore, inline, keys, wanted)?;
        config.identity = identity.map(|(chain, key)| TlsIdentity { chain, key, key_password });

        match p.get("ssl.endpoint.identification.algorithm") {
            None => {}
            Some(algorithm) if algorithm.eq_ignore_ascii_case("https") => {}
            Some("") => config.verifies_host = false,
            Some(other) if wanted => {
                let remedy = "use https, or nothing to accept certificates for every name";
                let reason = "not a value of this setting";
                return Err(ClientError::config("ssl.endpoint.identification.algorithm", other, reason, remedy));
            }
            Some(_) => {}
        }
        if let Some(versions) = given(p, "ssl.enabled.protocols") {
            let names: Vec<_> = versions.split(',').map(str::trim).collect();
            let has = |name| names.contains(&name);
            config.versions = match (has("TLSv1.2"), has("TLSv1.3")) {
                (true, true) => TlsVersions::Both,
                (true, false) => TlsVersions::Only1_2,
                (false, true) => TlsVersions::Only1_3,
                (false, false) if wanted => {
                    let (key, reason) = ("ssl.enabled.protocols", "none of these is spoken");
                    return Err(ClientError::config(key, versions, reason, "use TLSv1.2, TLSv1.3 or both"));
                }
                (false, false) => config.versions,
            };
        }
        let suites = given(p, "ssl.cipher.suites").unwrap_or_default();
        config.cipher_suites =
            suites.split(',').map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect();
        Ok(config)
    }

    /// The keys of a store.
    struct Store {
        location: &'static str,
        kind: &'static str,
        password: &'static str,
    }

    const TRUSTSTORE: Store =
        Store { location: "ssl.truststore.location", kind: "ssl.truststore.type", password: "ssl.truststore.password" };
    const KEYSTORE: Store =
        Store { location: "ssl.keystore.location", kind: "ssl.keystore.type", password: "ssl.keystore.password" };

    fn store(p: &mut Properties<'_>, wanted: bool, store: &Store) -> Result<Option<Pem>, ClientError> {
        let (location, kind, password) = (given(p, store.location), given(p, store.kind), given(p, store.password));
        let remedy = "use PEM, and turn the store into PEM text: keytool -exportcert -rfc for certificates, openssl pkcs12 -nodes for \
                      PKCS12 files";
        match kind {
            Some(kind) if wanted && !kind.eq_ignore_ascii_case("PEM") => {
                return Err(ClientError::config(store.kind, kind, "stores of Java are not read", remedy));
            }
            _ => {}
        }
        if wanted && location.is_some() && password.is_some() {
            let reason = "a PEM file has no password";
            return Err(ClientError::config(store.password, "[hidden]", reason, remedy));
        }
        Ok(location.map(|location| Pem::File(PathBuf::from(location))))
    }

    fn one_of<T>(file: Option<T>, text: Option<T>, keys: [&str; 2], wanted: bool) -> Result<Option<T>, ClientError> {
        match (file, text) {
            (Some(_), Some(_)) if wanted => {
                let reason = format!("{} is given as well", keys[0]);
                Err(ClientError::config(keys[1], "[hidden]", &reason, "give one of them"))
            }
            (file, text) => Ok(file.or(text)),
        }
    }

    fn given<'a>(p: &mut Properties<'a>, key: &'static str) -> Option<&'a str> {
        p.get(key).filter(|value| !value.is_empty())
    }

    /// PEM text out of a properties file, where `\n` may stand for a line end.
    fn text(value: &str) -> Pem {
        Pem::Text(Secret::new(value.replace("\\n", "\n")))
    }
}

#[cfg(test)]
mod tests;
