//! TLS, by rustls.

mod config;
mod failure;
mod key;
mod load;
mod provider;
mod verifier;

use std::fmt;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use self::load::Loaded;
use crate::error::ClientError;
use crate::net::Repeats;

pub use config::{Identity, Pem, TlsConfig, TlsVersions};
pub(crate) use failure::explain;
pub use provider::Provider;

/// How a client's connections speak TLS. It is a handle: clones share what was read.
///
/// Files are looked at whenever a connection is made, and read again where they have changed: a certificate that was replaced on disk serves the
/// next connection. Files that cannot be used any more (a key of which half is written) are logged, and what was read before stays in use.
#[derive(Clone)]
pub struct Tls(Arc<Shared>);

struct Shared {
    config: TlsConfig,
    loaded: Mutex<(Loaded, Repeats)>,
}

impl Tls {
    /// Reads everything that `config` names.
    ///
    /// # Errors
    /// [`ErrorKind::Config`](crate::ErrorKind::Config), which names the setting and the file.
    pub fn new(config: TlsConfig) -> Result<Self, ClientError> {
        let loaded = Mutex::new((Loaded::load(&config)?, Repeats::default()));
        Ok(Self(Arc::new(Shared { config, loaded })))
    }

    /// What it was made with.
    pub fn config(&self) -> &TlsConfig {
        &self.0.config
    }

    /// Makes a connection one of TLS. Cancel-safe: dropping it closes the connection.
    pub(super) async fn connect(&self, host: &str, stream: TcpStream) -> io::Result<TlsStream<TcpStream>> {
        let name = ServerName::try_from(host.to_owned())
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
        TlsConnector::from(self.current()).connect(name, stream).await
    }

    fn current(&self) -> Arc<ClientConfig> {
        // No code that holds the lock can panic halfway through a change.
        let mut guard = self.0.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        let (loaded, repeats) = &mut *guard;
        if loaded.is_outdated(&self.0.config) {
            match Loaded::load(&self.0.config) {
                Ok(anew) => {
                    tracing::info!("certificates have changed and were read again");
                    *loaded = anew;
                    *repeats = Repeats::default();
                }
                // Every connection looks at them.
                Err(error) if repeats.is_news(Instant::now(), &error.to_string()) => {
                    tracing::warn!(%error, "certificates have changed and cannot be used; those of before are")
                }
                Err(error) => {
                    tracing::debug!(%error, "certificates have changed and cannot be used; those of before are")
                }
            }
        }
        Arc::clone(&loaded.config)
    }
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Tls").field(&self.0.config).finish()
    }
}

/// Whether they were made with the same settings.
impl PartialEq for Tls {
    fn eq(&self, other: &Self) -> bool {
        self.0.config == other.0.config
    }
}

impl Eq for Tls {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::testing::Log;

    /// One that signed itself, for nobody.
    const CERTIFICATE: &str = "\
-----BEGIN CERTIFICATE-----\n\
MIIBdTCCARugAwIBAgIUMCRr26UG5evIwTrYXjIer0Tz2TQwCgYIKoZIzj0EAwIw\n\
DzENMAsGA1UEAwwEdGVzdDAgFw0yNjEyMDEwMzExNDBaGA8yMTI2MTEwNzAzMTE0\n\
MFowDzENMAsGA1UEAwwEdGVzdDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABKVV\n\
n++WHvvHUFwYO/sOqBWPGm6gyWLubY7EyFbHqboV/Ib9RGBQMlhic2haruDKlRZu\n\
ze1GnW5hd5Xt1ZmoK9OjUzBRMB0GA1UdDgQWBBQ7SCycg4b1tUFOE27Ht1DCUi7w\n\
ejAfBgNVHSMEGDAWgBQ7SCycg4b1tUFOE27Ht1DCUi7wejAPBgNVHRMBAf8EBTAD\n\
AQH/MAoGCCqGSM49BAMCA0gAMEUCIFN/lXsw65NVQMBIuShPY2UbXtOW4VOlv8ug\n\
ILQQGifFAiEAhNpcfRV52/lwuXi/73XTtdPfbvdLM4MSTAhM9StJ0sU=\n\
-----END CERTIFICATE-----\n\
";

    // Mutation: client/src/net/tls/mod.rs
    // - Err(error) if repeats.is_news(Instant::now(), &error.to_string()) => {
    // + Err(error) if error.kind() == crate::error::ErrorKind::Config => {
    #[test]
    fn the_log_hears_once_of_files_that_cannot_be_used_whenever_a_connection_is_made() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), CERTIFICATE).unwrap();
        let config = TlsConfig { trusted: Some(Pem::File(file.path().to_owned())), ..TlsConfig::default() };
        let tls = Tls::new(config).unwrap();
        let log = Log::listen();
        for _ in 0..2 {
            let before = tls.current();
            std::fs::write(file.path(), "half a certif").unwrap();
            for _ in 0..3 {
                assert!(Arc::ptr_eq(&before, &tls.current()), "what was read before stays in use");
            }
            std::fs::write(file.path(), CERTIFICATE).unwrap();
            assert!(!Arc::ptr_eq(&before, &tls.current()), "it is read again");
        }
        assert_eq!(log.lines().len(), 2, "{:?}", log.lines());
    }
}
