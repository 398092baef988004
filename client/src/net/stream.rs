//! The byte stream of a connection: TCP, or TLS on it.

use std::io;

use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};

use super::config::Security;

#[cfg(feature = "tls")]
mod kinds {
    use tokio::io::{ReadHalf as Read, WriteHalf as Write};
    use tokio_rustls::client::TlsStream;
    use tokio_util::either::Either;

    use super::*;

    pub(in crate::net) type Stream = Either<TcpStream, Box<TlsStream<TcpStream>>>;
    pub(in crate::net) type ReadHalf = Either<OwnedReadHalf, Read<Box<TlsStream<TcpStream>>>>;
    pub(in crate::net) type WriteHalf = Either<OwnedWriteHalf, Write<Box<TlsStream<TcpStream>>>>;

    /// Speaks TLS on it, where that is wanted.
    pub(in crate::net) async fn secure(stream: TcpStream, host: &str, security: &Security) -> io::Result<Stream> {
        Ok(match &security.tls {
            None => Either::Left(stream),
            Some(tls) => Either::Right(Box::new(tls.connect(host, stream).await?)),
        })
    }

    pub(in crate::net) fn split(stream: Stream) -> (ReadHalf, WriteHalf) {
        match stream {
            Either::Left(tcp) => {
                let (reader, writer) = tcp.into_split();
                (Either::Left(reader), Either::Left(writer))
            }
            Either::Right(tls) => {
                let (reader, writer) = tokio::io::split(tls);
                (Either::Right(reader), Either::Right(writer))
            }
        }
    }

    pub(in crate::net) use crate::net::tls::explain;
}

#[cfg(not(feature = "tls"))]
mod kinds {
    use super::*;

    pub(in crate::net) type Stream = TcpStream;
    pub(in crate::net) type ReadHalf = OwnedReadHalf;
    pub(in crate::net) type WriteHalf = OwnedWriteHalf;

    pub(in crate::net) async fn secure(stream: TcpStream, _: &str, _: &Security) -> io::Result<Stream> {
        Ok(stream)
    }

    pub(in crate::net) fn split(stream: Stream) -> (ReadHalf, WriteHalf) {
        stream.into_split()
    }

    pub(in crate::net) fn explain(_: &io::Error) -> Option<(String, &'static str)> {
        None
    }
}

#[cfg(feature = "oidc")]
pub(super) use kinds::Stream;
pub(super) use kinds::{ReadHalf, WriteHalf, explain, secure, split};
