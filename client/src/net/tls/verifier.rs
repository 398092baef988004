//! Whether a broker's certificate is believed.

use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::verify_server_cert_signed_by_trust_anchor;
use rustls::crypto::{CryptoProvider, WebPkiSupportedAlgorithms};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{DigitallySignedStruct, Error, RootCertStore, SignatureScheme};

use crate::error::ClientError;

/// One that checks signatures, times and, with `verifies_host`, the name.
pub(super) fn new(
    roots: Arc<RootCertStore>,
    provider: &Arc<CryptoProvider>,
    verifies_host: bool,
) -> Result<Arc<dyn ServerCertVerifier>, ClientError> {
    let full = WebPkiServerVerifier::builder_with_provider(Arc::clone(&roots), Arc::clone(provider)).build();
    let full = full.map_err(|error| {
        let remedy = "name a PEM file of authorities that sign the brokers' certificates";
        ClientError::config("ssl.truststore.location", "", &error.to_string(), remedy)
    })?;
    Ok(match verifies_host {
        true => full,
        false => Arc::new(AnyHost { roots, algorithms: provider.signature_verification_algorithms, full }),
    })
}

/// All checks but that of the name (`ssl.endpoint.identification.algorithm=`).
#[derive(Debug)]
struct AnyHost {
    roots: Arc<RootCertStore>,
    algorithms: WebPkiSupportedAlgorithms,
    full: Arc<WebPkiServerVerifier>,
}

impl ServerCertVerifier for AnyHost {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let certificate = ParsedCertificate::try_from(end_entity)?;
        verify_server_cert_signed_by_trust_anchor(&certificate, &self.roots, intermediates, now, self.algorithms.all)?;
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.full.verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.full.verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.full.supported_verify_schemes()
    }
}
