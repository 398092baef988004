//! How TLS is to be spoken.

use std::path::PathBuf;

use super::provider::Provider;
use crate::config::Secret;

/// The settings of TLS. Each field names the properties that set it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TlsConfig {
    /// `ssl.truststore.location`, `ssl.truststore.certificates`: whom to trust; `None` means the certificates of the system.
    pub trusted: Option<Pem>,
    /// `ssl.keystore.location`, `ssl.keystore.certificate.chain` and `ssl.keystore.key`: who this client is, for brokers that ask.
    pub identity: Option<Identity>,
    /// `ssl.endpoint.identification.algorithm`: whether the broker's certificate has to name the host that was connected to (`https`, the default).
    pub verifies_host: bool,
    /// `ssl.enabled.protocols`: TLS 1.2 and 1.3 by default.
    pub versions: TlsVersions,
    /// `ssl.cipher.suites`: by their IANA names; empty means all that the provider has.
    pub cipher_suites: Vec<String>,
    /// Who does the cryptography; `None` means [`Provider::find`].
    pub provider: Option<Provider>,
}

/// The versions of TLS that may be spoken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum TlsVersions {
    Both,
    Only1_2,
    Only1_3,
}

/// Text with certificates or keys between `-----BEGIN` and `-----END` lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pem {
    /// In a file, which is read again when it changes: the next connection is made with what is there then.
    File(PathBuf),
    /// This text.
    Text(Secret),
}

/// A client's certificate, those that certify it, and its private key: PKCS#8, encrypted (PBES2) or not, or PKCS#1 or SEC 1, not encrypted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// The certificates, the client's own first.
    pub chain: Pem,
    /// The private key; it may stand in the same file.
    pub key: Pem,
    /// `ssl.key.password`: what the key is encrypted with, where it is.
    pub key_password: Option<Secret>,
}

impl Default for TlsConfig {
    fn default() -> Self {
        Self {
            trusted: None,
            identity: None,
            verifies_host: true,
            versions: TlsVersions::Both,
            cipher_suites: Vec::new(),
            provider: None,
        }
    }
}
