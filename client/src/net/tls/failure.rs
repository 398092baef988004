//! What a failed handshake was about, and what to do.

use std::io;

use rustls::{AlertDescription, CertificateError, Error};

/// A reason and a remedy, where the error is one of TLS.
pub(crate) fn explain(error: &io::Error) -> Option<(String, &'static str)> {
    let inner = error.get_ref()?;
    let tls = inner.downcast_ref::<Error>().or_else(|| inner.source()?.downcast_ref())?;
    let remedy = match tls {
        Error::InvalidCertificate(reason) => certificate(reason),
        Error::NoCertificatesPresented => "give the broker's listener a certificate (ssl.keystore.location there)",
        Error::InvalidMessage(_) => "check that the port is one of an SSL or SASL_SSL listener",
        Error::PeerIncompatible(_) => AGREE,
        Error::AlertReceived(alert) => match alert {
            AlertDescription::HandshakeFailure
            | AlertDescription::ProtocolVersion
            | AlertDescription::InsufficientSecurity => AGREE,
            // What a broker says that asks for a certificate and gets none, or one that it does not believe; Java says the same of both.
            _ => {
                "give a certificate of this client in ssl.keystore.location that the broker trusts (by its ssl.truststore.location) and that has not \
                 expired"
            }
        },
        _ => AGREE,
    };
    Some((format!("TLS: {tls}"), remedy))
}

const AGREE: &str = "check that broker and client have a version (ssl.enabled.protocols) and a suite (ssl.cipher.suites) in common; a broker that \
                     wants a certificate of its clients also needs ssl.keystore.location here";

fn certificate(error: &CertificateError) -> &'static str {
    match error {
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            "renew the broker's certificate, or set the clock of this host"
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            "wait until the broker's certificate is valid, or set the clock of this host"
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            "connect by a name in the subjectAltName of the broker's certificate, or have one made that names this host; \
             ssl.endpoint.identification.algorithm= (empty) switches the check off"
        }
        CertificateError::UnknownIssuer | CertificateError::BadSignature => {
            "add the certificate of the authority that signed the broker's to ssl.truststore.location"
        }
        _ => "have a certificate made for the broker that is right for a TLS server",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn explained(error: Error) -> (String, &'static str) {
        explain(&io::Error::new(io::ErrorKind::InvalidData, error)).expect("an error of TLS")
    }

    #[test]
    fn each_kind_has_its_remedy() {
        let (reason, remedy) = explained(Error::InvalidCertificate(CertificateError::Expired));
        assert!(reason.contains("Expired") && remedy.contains("renew"), "{reason}; {remedy}");
        let (_, remedy) = explained(Error::InvalidCertificate(CertificateError::NotValidForName));
        assert!(remedy.contains("subjectAltName"), "{remedy}");
        let (_, remedy) = explained(Error::AlertReceived(AlertDescription::CertificateRequired));
        assert!(remedy.contains("ssl.keystore.location"), "{remedy}");
        assert!(explain(&io::Error::other("a broken pipe")).is_none());
    }
}
