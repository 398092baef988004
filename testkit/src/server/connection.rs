//! One task a connection: frames in, one request at a time, frames out.

use std::io;
use std::time::Duration;

use ackflow_protocol::wire::{ApiKey, decode_request_header};
use bytes::Bytes;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::owner::{Command, Reply};
use super::reader::FrameReader;
use super::tls::Acceptor;
use crate::core::ConnectionId;

/// How long a peer may take for the end of TLS.
const LAST_WORD: Duration = Duration::from_secs(1);

/// A connection, and the ways to and from the owner of the core.
#[derive(Debug)]
pub(super) struct Connection {
    /// Its name in the core.
    pub(super) id: ConnectionId,
    /// `socket.request.max.bytes`.
    pub(super) max_frame: usize,
    /// `sasl.server.max.receive.size`, until the client has proved who it is.
    pub(super) max_first_frame: usize,
    /// To the owner.
    pub(super) commands: UnboundedSender<Command>,
    /// From the owner. It holds one answer at most, because one request is under way at a time, and that the client is let in.
    pub(super) replies: UnboundedReceiver<Reply>,
}

impl Connection {
    /// Serves until the peer closes, a request is refused or `stop` is cancelled; then the core is told.
    pub(super) async fn run(self, stream: TcpStream, tls: Option<Acceptor>, stop: CancellationToken) {
        let (id, commands) = (self.id, self.commands.clone());
        tokio::select! {
            () = stop.cancelled() => {}
            ended = self.enter(stream, tls) => {
                if let Err(error) = ended {
                    tracing::debug!(connection = id.0, %error, "connection closed");
                }
            }
        }
        // Without an owner there is no session left to end.
        let _ = commands.send(Command::Disconnected(id));
    }

    async fn enter(self, mut stream: TcpStream, tls: Option<Acceptor>) -> io::Result<()> {
        stream.set_nodelay(true)?;
        match tls {
            // Halves that borrow the socket cost nothing.
            None => {
                let (input, mut output) = stream.split();
                self.serve(input, &mut output).await
            }
            Some(tls) => {
                let (input, mut output) = tokio::io::split(tls.accept(stream).await?);
                let served = self.serve(input, &mut output).await;
                // An end that TLS does not announce looks like an attack to clients, not like an answer.
                let _ = timeout(LAST_WORD, output.shutdown()).await;
                served
            }
        }
    }

    async fn serve(mut self, input: impl AsyncRead + Unpin, output: &mut (impl AsyncWrite + Unpin)) -> io::Result<()> {
        let mut reader = FrameReader::new(input, self.max_first_frame);
        let mut outstanding = false;
        loop {
            if !outstanding && let Some(frame) = reader.take_frame()? {
                let command = request(self.id, frame)?;
                outstanding = self.commands.send(command).is_ok();
            }
            if reader.is_at_end() && !(outstanding && reader.has_frame()) {
                return Ok(());
            }
            tokio::select! {
                reply = self.replies.recv() => match reply {
                    Some(Reply::Frame(frame)) => {
                        output.write_all(&frame).await?;
                        // TLS may keep what is not flushed.
                        output.flush().await?;
                        outstanding = false;
                    }
                    Some(Reply::Silent) => outstanding = false,
                    Some(Reply::LetIn) => reader.set_limit(self.max_frame),
                    Some(Reply::Last(bytes)) => {
                        output.write_all(&bytes).await?;
                        return output.shutdown().await;
                    }
                    Some(Reply::Close(reason)) => return Err(io::Error::new(io::ErrorKind::InvalidData, reason)),
                    None => return Ok(()),
                },
                filled = reader.fill(), if reader.can_fill(outstanding) => filled?,
            }
        }
    }
}

fn request(id: ConnectionId, frame: Bytes) -> io::Result<Command> {
    let (header, body) = decode_request_header(frame, ApiKey::request_is_flexible)
        .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
    Ok(Command::Request { id, header, body })
}
