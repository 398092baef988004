//! Frames on a socket: whole ones in, whole ones out.

use std::collections::VecDeque;
use std::io::{self, IoSlice};

use ackflow_protocol::wire::DecodeError;
use ackflow_protocol::wire::frame::{SIZE_LENGTH, frame_size};
use bytes::{Buf, BufMut, Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt};

/// What one read may bring beyond the frame that is wanted: a small response takes one system call with its size, and
/// of a large one no more than this is copied.
const READ_AHEAD: usize = 4 << 10;

/// Reads frames, each into a buffer of its own size.
#[derive(Debug)]
pub(super) struct FrameReader<R> {
    source: R,
    ahead: BytesMut,
    limit: usize,
}

/// Why there is no further frame.
#[derive(Debug)]
pub(super) enum FrameError {
    /// The peer closed the connection between two frames.
    Closed,
    /// The connection broke, or ended within a frame.
    Io(io::Error),
    /// The size makes no sense: the peer speaks something else.
    Malformed(DecodeError),
}

impl From<io::Error> for FrameError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl<R: AsyncRead + Unpin> FrameReader<R> {
    /// Takes frames of up to `limit` bytes.
    pub(super) fn new(source: R, limit: usize) -> Self {
        Self { source, ahead: BytesMut::new(), limit }
    }

    /// From now on takes frames of up to `limit` bytes.
    pub(super) fn set_limit(&mut self, limit: usize) {
        self.limit = limit;
    }

    /// The next frame, without its size. Not cancel-safe: dropped halfway, it loses what it read of a frame.
    pub(super) async fn next(&mut self) -> Result<Bytes, FrameError> {
        while self.ahead.len() < SIZE_LENGTH {
            self.ahead.reserve(READ_AHEAD - self.ahead.len());
            if self.source.read_buf(&mut (&mut self.ahead).limit(READ_AHEAD)).await? == 0 {
                return Err(match self.ahead.is_empty() {
                    true => FrameError::Closed,
                    false => FrameError::Io(io::ErrorKind::UnexpectedEof.into()),
                });
            }
        }
        let prefix = self.ahead.get_u32().to_be_bytes();
        let size = frame_size(prefix, self.limit).map_err(FrameError::Malformed)?;

        if size <= self.ahead.len() {
            let frame = Bytes::copy_from_slice(&self.ahead[..size]);
            self.ahead.advance(size);
            return Ok(frame);
        }
        // With room for more than the frame, a read that brings the last of it is short, and so is known to have left
        // nothing behind: the next one waits without asking the system.
        let mut frame = BytesMut::with_capacity(size + READ_AHEAD);
        frame.extend_from_slice(&self.ahead);
        self.ahead.clear();
        while frame.len() < size {
            let left = size + READ_AHEAD - frame.len();
            if self.source.read_buf(&mut (&mut frame).limit(left)).await? == 0 {
                return Err(FrameError::Io(io::ErrorKind::UnexpectedEof.into()));
            }
        }
        if frame.len() > size {
            self.ahead.extend_from_slice(&frame[size..]);
            frame.truncate(size);
        }
        Ok(frame.freeze())
    }
}

/// Frames on their way out, in pieces; one system call writes many.
#[derive(Debug, Default)]
pub(super) struct OutgoingFrames(VecDeque<Bytes>);

impl OutgoingFrames {
    /// Adds a frame, no piece of which may be empty.
    pub(super) fn push(&mut self, frame: Vec<Bytes>) {
        debug_assert!(frame.iter().all(|piece| !piece.is_empty()));
        self.0.extend(frame);
    }
}

impl Buf for OutgoingFrames {
    fn remaining(&self) -> usize {
        self.0.iter().map(Bytes::len).sum()
    }

    fn has_remaining(&self) -> bool {
        !self.0.is_empty()
    }

    fn chunk(&self) -> &[u8] {
        self.0.front().map_or(&[], |piece| &piece[..])
    }

    fn chunks_vectored<'a>(&'a self, slices: &mut [IoSlice<'a>]) -> usize {
        let pieces = self.0.iter().zip(slices);
        pieces.map(|(piece, slice)| *slice = IoSlice::new(piece)).count()
    }

    fn advance(&mut self, mut count: usize) {
        while count > 0 {
            let Some(front) = self.0.front_mut() else {
                panic!("advance beyond the frames by {count} bytes");
            };
            if count < front.len() {
                return front.advance(count);
            }
            count -= front.len();
            self.0.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn frames_of_every_size_come_out_as_they_went_in() {
        let (mut client, server) = tokio::io::duplex(1000);
        let sizes = [1, 3, 900, READ_AHEAD - SIZE_LENGTH, READ_AHEAD, READ_AHEAD + 1, 3 * READ_AHEAD, 2, 100_000];
        let writing = tokio::spawn(async move {
            use tokio::io::AsyncWriteExt;
            let mut frames = OutgoingFrames::default();
            for size in sizes {
                let mut frame = BytesMut::new();
                frame.put_u32(size as u32);
                frame.put_bytes(size as u8, size);
                let body = frame.split_off(SIZE_LENGTH);
                frames.push(vec![frame.freeze(), body.freeze()]);
            }
            client.write_all_buf(&mut frames).await.unwrap();
        });
        let mut reader = FrameReader::new(server, 100_000);
        for size in sizes {
            let frame = reader.next().await.unwrap();
            assert_eq!(frame.len(), size);
            assert!(frame.iter().all(|byte| *byte == size as u8));
        }
        assert!(matches!(reader.next().await, Err(FrameError::Closed)));
        writing.await.unwrap();
    }

    #[tokio::test]
    async fn an_end_within_a_frame_is_an_error() {
        for bytes in [&[0, 0][..], &[0, 0, 0, 5, 1, 2]] {
            let mut reader = FrameReader::new(bytes, 100);
            assert!(matches!(reader.next().await, Err(FrameError::Io(_))), "{bytes:?}");
        }
    }
}
