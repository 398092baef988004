//! TLS by rustls.

use std::fmt;
use std::io;
use std::sync::Arc;

use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use super::{ClientAuth, TlsOptions, self_made};

/// Makes connections those of TLS.
#[derive(Clone)]
pub(crate) struct Acceptor {
    tls: TlsAcceptor,
    chain: String,
}

impl Acceptor {
    /// What `options` say.
    ///
    /// # Errors
    /// The reason: what is wrong with which of them.
    pub(crate) fn new(options: TlsOptions) -> Result<Self, String> {
        let provider = provider()?;
        let identity = match options.identity {
            Some(identity) => identity,
            None => self_made::identity()?,
        };
        let chain: Vec<CertificateDer<'_>> = CertificateDer::pem_slice_iter(identity.as_bytes())
            .collect::<Result<_, _>>()
            .map_err(|error| format!("the broker's certificate: {error}"))?;
        let key = PrivateKeyDer::from_pem_slice(identity.as_bytes())
            .map_err(|error| format!("the broker's private key: {error}"))?;
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?;
        let builder = match options.client_auth {
            ClientAuth::None => builder.with_no_client_auth(),
            auth => {
                let authorities = options.client_authorities.ok_or(
                    "ssl.client.auth asks clients for certificates, and ssl.truststore.location does not say whose",
                )?;
                let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots(&authorities)?), provider);
                let verifier = match auth {
                    ClientAuth::Requested => verifier.allow_unauthenticated(),
                    _ => verifier,
                };
                builder.with_client_cert_verifier(verifier.build().map_err(|error| error.to_string())?)
            }
        };
        let config = builder
            .with_single_cert(chain, key)
            .map_err(|error| format!("the broker's certificate and private key: {error}"))?;
        let tls = TlsAcceptor::from(Arc::new(config));
        Ok(Self { tls, chain: only_certificates(&identity) })
    }

    /// The broker's certificates in PEM.
    pub(crate) fn chain(&self) -> &str {
        &self.chain
    }

    /// Cancel-safe: dropping it closes the connection.
    pub(in crate::server) async fn accept(&self, stream: TcpStream) -> io::Result<TlsStream<TcpStream>> {
        self.tls.accept(stream).await
    }
}

impl fmt::Debug for Acceptor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Acceptor")
    }
}

/// The one that the process has installed, or the built-in one.
fn provider() -> Result<Arc<CryptoProvider>, String> {
    match CryptoProvider::get_default() {
        Some(installed) => Ok(Arc::clone(installed)),
        None => built_in().map(Arc::new),
    }
}

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
fn built_in() -> Result<CryptoProvider, String> {
    self_made::check_processor()?;
    Ok(rustls_graviola::default_provider())
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn built_in() -> Result<CryptoProvider, String> {
    Err("this build has no cryptography for this processor: install a provider of rustls before the broker starts"
        .to_owned())
}

fn roots(pem: &str) -> Result<RootCertStore, String> {
    let wrong = |error: &dyn fmt::Display| format!("the certificates that clients are to show: {error}");
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(pem.as_bytes()) {
        roots.add(certificate.map_err(|error| wrong(&error))?).map_err(|error| wrong(&error))?;
    }
    Ok(roots)
}

/// A PEM without its private key.
fn only_certificates(pem: &str) -> String {
    let mut certificates = String::new();
    let mut is_certificate = false;
    for line in pem.lines() {
        is_certificate |= line.starts_with("-----BEGIN CERTIFICATE");
        if is_certificate {
            certificates.push_str(line);
            certificates.push('\n');
        }
        is_certificate &= !line.starts_with("-----END");
    }
    certificates
}

#[cfg(test)]
mod tests {
    use rustls::ClientConfig;
    use tokio::net::TcpListener;
    use tokio_rustls::TlsConnector;

    use super::*;

    #[test]
    fn what_is_told_of_an_identity_has_no_key() {
        let pem = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n\
                   -----BEGIN CERTIFICATE-----\nBBBB\n-----END CERTIFICATE-----\n";
        assert_eq!(only_certificates(pem), "-----BEGIN CERTIFICATE-----\nBBBB\n-----END CERTIFICATE-----\n");
        let options = TlsOptions { identity: Some(pem.to_owned()), ..TlsOptions::default() };
        assert!(!format!("{options:?}").contains("AAAA"));
    }

    #[test]
    fn an_identity_that_is_none_is_named() {
        let error = |identity: &str| {
            Acceptor::new(TlsOptions { identity: Some(identity.to_owned()), ..TlsOptions::default() }).unwrap_err()
        };
        assert!(error("").contains("private key"), "{}", error(""));
        let whole = self_made::identity().unwrap();
        assert!(error(&only_certificates(&whole)).contains("private key"));
        let other = self_made::identity().unwrap();
        let mixed = only_certificates(&whole) + &other[other.find("-----BEGIN PRIVATE").unwrap()..];
        assert!(error(&mixed).contains("certificate and private key"), "{}", error(&mixed));
    }

    // Mutation: testkit/src/server/tls/acceptor.rs
    // - ClientAuth::Requested => verifier.allow_unauthenticated(),
    // + _ if auth != ClientAuth::None => verifier.allow_unauthenticated(),
    #[tokio::test]
    async fn clients_show_a_certificate_where_that_is_asked_for() {
        let (client, stranger) = (self_made::identity().unwrap(), self_made::identity().unwrap());
        for (client_auth, shown, comes_in) in [
            (ClientAuth::None, None, true),
            (ClientAuth::Requested, None, true),
            (ClientAuth::Requested, Some(&client), true),
            (ClientAuth::Requested, Some(&stranger), false),
            (ClientAuth::Required, None, false),
            (ClientAuth::Required, Some(&client), true),
            (ClientAuth::Required, Some(&stranger), false),
        ] {
            let client_authorities = Some(only_certificates(&client));
            let acceptor = Acceptor::new(TlsOptions { identity: None, client_authorities, client_auth }).unwrap();
            let config = ClientConfig::builder_with_provider(provider().unwrap())
                .with_safe_default_protocol_versions()
                .unwrap()
                .with_root_certificates(roots(acceptor.chain()).unwrap());
            let config = match shown {
                None => config.with_no_client_auth(),
                Some(identity) => {
                    let chain = CertificateDer::pem_slice_iter(identity.as_bytes()).map(Result::unwrap).collect();
                    let key = PrivateKeyDer::from_pem_slice(identity.as_bytes()).unwrap();
                    config.with_client_auth_cert(chain, key).unwrap()
                }
            };
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let addr = listener.local_addr().unwrap();
            let connecting = async {
                let stream = TcpStream::connect(addr).await.unwrap();
                TlsConnector::from(Arc::new(config)).connect("localhost".try_into().unwrap(), stream).await
            };
            let accepting = async { acceptor.accept(listener.accept().await.unwrap().0).await };
            let (_connected, accepted) = tokio::join!(connecting, accepting);
            assert_eq!(accepted.is_ok(), comes_in, "{client_auth:?}, with a certificate: {}", shown.is_some());
        }
    }
}
