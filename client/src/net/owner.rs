//! The task that owns a connection. Nobody else touches the socket, so a caller that goes away cannot leave half a
//! frame on it.

use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};

use super::frames::{FrameError, FrameReader, OutgoingFrames};
use super::queue::Queue;
use super::sasl::{Renewal, keep_authenticated};
use super::stream::explain;
use crate::error::{ClientError, ErrorKind};

/// Runs a connection until it ends, and tells everyone who waits why it did.
pub(super) async fn run<R, W>(
    queue: Arc<Queue>,
    broker: Arc<str>,
    reader: FrameReader<R>,
    writer: W,
    max_idle: Duration,
    renewal: Option<Renewal>,
) where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    let authenticated = renewal.is_some();
    let end = tokio::select! {
        end = read(&queue, reader, authenticated) => end,
        end = write(&queue, writer) => end,
        end = idle(&queue, max_idle) => end,
        end = keep_authenticated(&queue, renewal) => end,
        // Whoever closed it gave the reason.
        () = queue.closed() => return,
    };
    tracing::debug!(broker = &*broker, reason = %end, "connection ended");
    queue.close(end.at(broker.to_string()));
}

async fn write<W: AsyncWrite + Unpin>(queue: &Queue, mut writer: W) -> ClientError {
    let mut frames = OutgoingFrames::default();
    loop {
        queue.take_unsent(&mut frames).await;
        let written = async {
            writer.write_all_buf(&mut frames).await?;
            // TLS may have kept some of it.
            writer.flush().await
        };
        if let Err(error) = written.await {
            return writing_failed(&error);
        }
    }
}

/// `authenticated` says whether this client has said who it is.
async fn read<R: AsyncRead + Unpin>(queue: &Queue, mut reader: FrameReader<R>, authenticated: bool) -> ClientError {
    let mut answered = false;
    loop {
        let frame = match reader.next().await {
            Ok(frame) => frame,
            Err(FrameError::Closed) if !answered && !authenticated && queue.idle_since().is_none() => {
                return reading_failed(FrameError::Closed).remedy(NOT_AUTHENTICATED);
            }
            Err(error) => return reading_failed(error),
        };
        answered = true;
        let Some(id) = frame.first_chunk().map(|id| i32::from_be_bytes(*id)) else {
            return malformed(format!("an answer of {} bytes has no correlation id", frame.len()));
        };
        if !queue.answer(id, frame) {
            // That says nothing of the answer that somebody waits for: as if the connection had ended before it.
            tracing::warn!("an answer has correlation id {id}, which no request had; the connection is given up");
            return disconnected(format!("an answer has correlation id {id}, which no request had"));
        }
    }
}

const NOT_AUTHENTICATED: &str = "if that goes on, the port is one of a listener with SASL, which wants to know who comes: set \
                                 security.protocol=SASL_PLAINTEXT or SASL_SSL";

/// Ends when nothing has happened for `max_idle`. The broker would close such a connection a little later
/// (its own `connections.max.idle.ms` is 10 minutes), perhaps just as a request is being written.
async fn idle(queue: &Queue, max_idle: Duration) -> ClientError {
    loop {
        let idle_for = queue.idle_since().map_or(Duration::ZERO, |since| since.elapsed());
        if idle_for >= max_idle {
            return disconnected("closed after being idle for connections.max.idle.ms");
        }
        tokio::time::sleep(max_idle - idle_for).await;
    }
}

/// The error that ends a connection from which no frame can be read any more.
pub(super) fn reading_failed(error: FrameError) -> ClientError {
    match error {
        FrameError::Closed => disconnected("the broker closed the connection"),
        FrameError::Io(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => {
            disconnected("the broker closed the connection within an answer")
        }
        FrameError::Io(error) => broken("reading failed", &error),
        FrameError::Malformed(error) => malformed(error.to_string()).remedy(
            "check that the port is one of a Kafka listener with this client's security.protocol; if an answer is too \
             large, raise receive.message.max.bytes above fetch.max.bytes plus the largest record batch",
        ),
    }
}

/// The error that ends a connection to which nothing can be written any more.
pub(super) fn writing_failed(error: &std::io::Error) -> ClientError {
    broken("writing failed", error)
}

/// A broker that does not believe this client's certificate says so after the handshake, in TLS 1.3.
fn broken(how: &str, error: &std::io::Error) -> ClientError {
    match explain(error) {
        Some((reason, remedy)) => disconnected(reason).of_kind(ErrorKind::Authentication).remedy(remedy),
        None => disconnected(format!("{how}: {error}")),
    }
}

fn disconnected(reason: impl Into<std::borrow::Cow<'static, str>>) -> ClientError {
    ClientError::new(ErrorKind::Disconnected, "waiting for an answer", reason)
}

fn malformed(reason: String) -> ClientError {
    ClientError::new(ErrorKind::Malformed, "reading an answer", reason)
}
