//! From settings and files to what rustls needs, and again when a file has changed.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore, SupportedCipherSuite, SupportedProtocolVersion};

use super::config::{Identity, Pem, TlsConfig, TlsVersions};
use super::key;
use super::provider::Provider;
use super::verifier;
use crate::config::{LONGEST_SETTINGS, read_bytes};
use crate::error::ClientError;

const TRUSTED: &str = "ssl.truststore.location";
const CHAIN: &str = "ssl.keystore.certificate.chain";
const KEY: &str = "ssl.keystore.key";
const KEYSTORE: &str = "ssl.keystore.location";
const PASSWORD: &str = "ssl.key.password";

/// What connections are made with, and the state of the files that it came from.
pub(super) struct Loaded {
    pub(super) config: Arc<ClientConfig>,
    stamps: Vec<Stamp>,
}

/// A file as it was when it was read.
#[derive(Debug, PartialEq)]
struct Stamp {
    path: PathBuf,
    /// `None` where there was nothing to see.
    seen: Option<(SystemTime, u64)>,
}

impl Loaded {
    /// Reads everything that `config` names.
    pub(super) fn load(config: &TlsConfig) -> Result<Self, ClientError> {
        // Taken first: a file that changes meanwhile is read once more.
        let stamps = stamps(config);
        let provider = match &config.provider {
            Some(given) => given.clone(),
            None => Provider::find()?,
        };
        let provider = with_suites(provider.get(), &config.cipher_suites)?;
        let roots = Arc::new(roots(config.trusted.as_ref())?);
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(versions(config.versions))
            .map_err(|error| {
                let remedy = "name suites of the versions in ssl.enabled.protocols";
                ClientError::config("ssl.cipher.suites", &config.cipher_suites.join(","), &error.to_string(), remedy)
            })?
            .dangerous()
            .with_custom_certificate_verifier(verifier::new(roots, &provider, config.verifies_host)?);
        let config = match &config.identity {
            None => builder.with_no_client_auth(),
            Some(identity) => {
                let (chain, key) = read_identity(identity)?;
                builder.with_client_auth_cert(chain, key).map_err(|error| {
                    let remedy = "give the private key that belongs to the first certificate of the chain";
                    unusable(KEYSTORE, &identity.key, &format!("key and certificate cannot be used: {error}"), remedy)
                })?
            }
        };
        Ok(Self { config: Arc::new(config), stamps })
    }

    /// Whether a file has changed since.
    pub(super) fn is_outdated(&self, config: &TlsConfig) -> bool {
        stamps(config) != self.stamps
    }
}

impl fmt::Debug for Loaded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Loaded").field("stamps", &self.stamps).finish_non_exhaustive()
    }
}

fn stamps(config: &TlsConfig) -> Vec<Stamp> {
    let identity = config.identity.iter().flat_map(|identity| [&identity.chain, &identity.key]);
    let files = config.trusted.iter().chain(identity).filter_map(|pem| match pem {
        Pem::File(path) => Some(path),
        Pem::Text(_) => None,
    });
    files.map(|path| Stamp { path: path.clone(), seen: seen(path) }).collect()
}

fn seen(path: &Path) -> Option<(SystemTime, u64)> {
    let metadata = path.metadata().ok()?;
    Some((metadata.modified().ok()?, metadata.len()))
}

fn versions(versions: TlsVersions) -> &'static [&'static SupportedProtocolVersion] {
    static BOTH: [&SupportedProtocolVersion; 2] = [&rustls::version::TLS13, &rustls::version::TLS12];
    match versions {
        TlsVersions::Both => &BOTH,
        TlsVersions::Only1_2 => &BOTH[1..],
        TlsVersions::Only1_3 => &BOTH[..1],
    }
}

/// The provider with no suites but these, in their order.
fn with_suites(provider: &Arc<CryptoProvider>, names: &[String]) -> Result<Arc<CryptoProvider>, ClientError> {
    if names.is_empty() {
        return Ok(Arc::clone(provider));
    }
    // rustls says TLS13_ where IANA and Java say TLS_.
    let name = |suite: &SupportedCipherSuite| format!("{:?}", suite.suite()).replacen("TLS13_", "TLS_", 1);
    let of_name = |wanted: &String| {
        let found = provider.cipher_suites.iter().find(|suite| name(suite) == *wanted);
        found.copied().ok_or_else(|| {
            let known: Vec<_> = provider.cipher_suites.iter().map(name).collect();
            let remedy = format!("use some of {}", known.join(", "));
            ClientError::config("ssl.cipher.suites", wanted, "there is no such suite here", remedy)
        })
    };
    let cipher_suites = names.iter().map(of_name).collect::<Result<_, _>>()?;
    Ok(Arc::new(CryptoProvider { cipher_suites, ..(**provider).clone() }))
}

fn roots(trusted: Option<&Pem>) -> Result<RootCertStore, ClientError> {
    let mut store = RootCertStore::empty();
    let Some(pem) = trusted else {
        let native = rustls_native_certs::load_native_certs();
        for error in &native.errors {
            tracing::warn!(%error, "certificates of the system cannot be read");
        }
        // Systems hold certificates that nobody can use; those that can be used are what counts.
        store.add_parsable_certificates(native.certs);
        if store.is_empty() {
            let remedy = "install the system's CA certificates (package ca-certificates), or name a PEM file";
            return Err(ClientError::config(TRUSTED, "", "the system has no trusted certificates", remedy));
        }
        return Ok(store);
    };
    for certificate in certificates(TRUSTED, pem)? {
        store.add(certificate).map_err(|error| {
            let remedy = "give certificates of authorities that sign the brokers' certificates";
            unusable(TRUSTED, pem, &format!("a certificate cannot be trusted: {error}"), remedy)
        })?;
    }
    Ok(store)
}

fn read_identity(identity: &Identity) -> Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>), ClientError> {
    let chain = certificates(CHAIN, &identity.chain)?;
    let text = read(KEY, &identity.key)?;
    let key =
        key::read(&text, identity.key_password.as_ref()).map_err(|error| match (error, &identity.key_password) {
            (key::Unusable { is_password: true, reason, remedy }, password) => {
                let shown = if password.is_some() { "[hidden]" } else { "" };
                let reason = match &identity.key {
                    Pem::File(path) => format!("{}: {reason}", path.display()),
                    Pem::Text(_) => reason,
                };
                ClientError::config(PASSWORD, shown, &reason, remedy)
            }
            (key::Unusable { reason, remedy, .. }, _) => unusable(KEY, &identity.key, &reason, remedy),
        })?;
    Ok((chain, key))
}

/// All certificates of a text, of which there has to be one.
fn certificates(setting: &str, pem: &Pem) -> Result<Vec<CertificateDer<'static>>, ClientError> {
    let text = read(setting, pem)?;
    let found = CertificateDer::pem_slice_iter(&text).collect::<Result<Vec<_>, _>>();
    match found {
        Ok(found) if !found.is_empty() => Ok(found),
        Ok(_) => Err(unusable(setting, pem, "there is no certificate in it", PEM_REMEDY)),
        Err(error) => Err(unusable(setting, pem, &format!("it cannot be read: {}", key::damage(&error)), PEM_REMEDY)),
    }
}

pub(super) const PEM_REMEDY: &str = "give PEM text (-----BEGIN ...); a Java keystore is turned into it by keytool -exportcert -rfc for certificates, or \
                          openssl pkcs12 -nodes for PKCS12 files";

fn read(setting: &str, pem: &Pem) -> Result<Vec<u8>, ClientError> {
    match pem {
        Pem::Text(text) => Ok(text.reveal().as_bytes().to_vec()),
        Pem::File(path) => read_bytes(path, LONGEST_SETTINGS).map_err(|error| {
            unusable(setting, pem, &format!("it cannot be read: {error}"), "check the path and the rights of the file")
        }),
    }
}

/// An error of a setting that never shows the text itself.
fn unusable(setting: &str, pem: &Pem, reason: &str, remedy: &'static str) -> ClientError {
    let shown = match pem {
        Pem::File(path) => path.display().to_string(),
        Pem::Text(_) => "[hidden]".to_owned(),
    };
    ClientError::config(setting, &shown, reason, remedy)
}
