//! What stands for TLS in a build without it.

use std::io;

use tokio::net::TcpStream;

use super::TlsOptions;

/// There is none.
#[derive(Debug, Clone)]
pub(crate) enum Acceptor {}

impl Acceptor {
    /// # Errors
    /// The remedy.
    pub(crate) fn new(_options: TlsOptions) -> Result<Self, String> {
        Err("this build has no TLS: enable the feature tls of ackflow-testkit".to_owned())
    }

    pub(crate) fn chain(&self) -> &str {
        match *self {}
    }

    pub(in crate::server) async fn accept(&self, _stream: TcpStream) -> io::Result<TcpStream> {
        match *self {}
    }
}
