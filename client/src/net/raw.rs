//! A connection for those who write frames themselves.

use std::fmt;
use std::io;
use std::sync::Arc;

use bytes::Bytes;
use tokio::io::AsyncWriteExt;

use super::config::NetConfig;
use super::connect::{Opened, broker_name, open};
use super::frames::{FrameError, FrameReader};
use super::stream::{ReadHalf, WriteHalf};
use crate::error::ClientError;

/// A connection that is made, secured and authenticated like any other, and whose bytes are its owner's from then on: for tests of brokers, which send
/// what no client would. Nothing is sent, answered or matched that the owner does not ask for, so a session that has to authenticate again (KIP-368) ends.
pub struct RawConnection {
    broker: Arc<str>,
    reader: FrameReader<ReadHalf>,
    writer: WriteHalf,
}

impl RawConnection {
    /// Connects to a broker, asks for its versions, and authenticates where the settings say so. Every address of `host` is tried in turn.
    ///
    /// Cancel-safe: dropping it closes what was opened. Needs a tokio runtime with I/O and time.
    ///
    /// # Errors
    /// As [`Connection::connect`](super::Connection::connect).
    pub async fn connect(host: &str, port: u16, config: &NetConfig) -> Result<Self, ClientError> {
        let broker = broker_name(host, port);
        let Opened { reader, writer, .. } = open(&broker, (host, port), config, None).await?;
        Ok(Self { broker, reader, writer })
    }

    /// Writes bytes: a frame with its size before it, several, or a part of one.
    ///
    /// Not cancel-safe: dropped halfway, it may have written some of them.
    ///
    /// # Errors
    /// Where the connection has ended.
    pub async fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.writer.write_all(bytes).await?;
        self.writer.flush().await
    }

    /// The next frame, without its size; `None` where the broker has closed the connection.
    ///
    /// Not cancel-safe: dropped halfway, it loses what it read of a frame.
    ///
    /// # Errors
    /// Where the connection breaks or ends within a frame, and [`io::ErrorKind::InvalidData`] where a size makes no sense or is above
    /// `receive.message.max.bytes`.
    pub async fn read(&mut self) -> io::Result<Option<Bytes>> {
        match self.reader.next().await {
            Ok(frame) => Ok(Some(frame)),
            Err(FrameError::Closed) => Ok(None),
            Err(FrameError::Io(error)) => Err(error),
            Err(FrameError::Malformed(error)) => Err(io::Error::new(io::ErrorKind::InvalidData, error)),
        }
    }
}

impl fmt::Debug for RawConnection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RawConnection").field("broker", &self.broker).finish_non_exhaustive()
    }
}
