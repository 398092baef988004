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

use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use self::load::Loaded;
use crate::error::ClientError;

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
    loaded: Mutex<Loaded>,
}

impl Tls {
    /// Reads everything that `config` names.
    ///
    /// # Errors
    /// [`ErrorKind::Config`](crate::ErrorKind::Config), which names the setting and the file.
    pub fn new(config: TlsConfig) -> Result<Self, ClientError> {
        let loaded = Mutex::new(Loaded::load(&config)?);
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
        let mut loaded = self.0.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        if loaded.is_outdated(&self.0.config) {
            match Loaded::load(&self.0.config) {
                Ok(anew) => {
                    tracing::info!("certificates have changed and were read again");
                    *loaded = anew;
                }
                Err(error) => {
                    tracing::warn!(%error, "certificates have changed and cannot be used; those of before are")
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
