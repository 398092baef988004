//! Frames out of a socket.

use std::io;

use ackflow_protocol::wire::frame::{SIZE_LENGTH, frame_size};
use bytes::{Buf, Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt};

/// How many bytes are read ahead of a request that waits its turn: enough to notice that the peer has gone.
const READ_AHEAD: usize = 64 << 10;

/// How many bytes a read makes room for. A frame's declared size is never allocated up front.
const CHUNK: usize = 64 << 10;

/// Reads frames; keeps what came after the last one.
#[derive(Debug)]
pub(super) struct FrameReader<R> {
    input: R,
    buffer: BytesMut,
    limit: usize,
    at_end: bool,
}

impl<R: AsyncRead + Unpin> FrameReader<R> {
    /// Frames of at most `limit` bytes.
    pub(super) fn new(input: R, limit: usize) -> Self {
        Self { input, buffer: BytesMut::new(), limit, at_end: false }
    }

    /// Frames of at most `limit` bytes from now on.
    pub(super) fn set_limit(&mut self, limit: usize) {
        self.limit = limit;
    }

    /// Whether the peer has closed its side.
    pub(super) fn is_at_end(&self) -> bool {
        self.at_end
    }

    /// Whether more may be read now.
    pub(super) fn can_fill(&self, request_outstanding: bool) -> bool {
        !self.at_end && (!request_outstanding || self.buffer.len() < READ_AHEAD)
    }

    /// Reads what is there. Cancel-safe.
    pub(super) async fn fill(&mut self) -> io::Result<()> {
        self.buffer.reserve(CHUNK);
        self.at_end = self.input.read_buf(&mut self.buffer).await? == 0;
        Ok(())
    }

    /// Whether a whole frame is there, or one that is refused.
    pub(super) fn has_frame(&self) -> bool {
        match self.size() {
            Ok(Some(size)) => self.buffer.len() >= SIZE_LENGTH + size,
            Ok(None) => false,
            Err(_) => true,
        }
    }

    /// Takes the next frame, without its size, where it is all there.
    pub(super) fn take_frame(&mut self) -> io::Result<Option<Bytes>> {
        let Some(size) = self.size()? else { return Ok(None) };
        if self.buffer.len() < SIZE_LENGTH + size {
            return Ok(None);
        }
        self.buffer.advance(SIZE_LENGTH);
        Ok(Some(self.buffer.split_to(size).freeze()))
    }

    fn size(&self) -> io::Result<Option<usize>> {
        let Some(prefix) = self.buffer.first_chunk() else { return Ok(None) };
        frame_size(*prefix, self.limit).map(Some).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
    }
}
