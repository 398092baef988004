//! Streams of frames without a connection around them: requests, or responses of one API.

use std::fmt;
use std::io::{self, Read};

use crate::kafka::message::{Frame, read_response};
use crate::kafka::requests::Requests;
use ackflow_protocol::wire::frame::{DEFAULT_MAX_FRAME, SIZE_LENGTH, frame_size};
use ackflow_protocol::wire::{ApiKey, DecodeError};

/// What the frames of a stream are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expected {
    /// Requests, which say themselves what they are.
    Requests,
    /// Responses, which do not.
    Responses {
        /// The API of all of them.
        key: ApiKey,
        /// The version of all of them.
        version: i16,
    },
}

/// Reads frames, one at a time.
pub struct FrameStream<R> {
    reader: R,
    expected: Expected,
    requests: Requests,
    offset: u64,
}

impl<R: Read> FrameStream<R> {
    /// A stream of frames, each with its size in front. Reads are small, so `reader` should have a buffer.
    pub fn new(reader: R, expected: Expected) -> Self {
        Self { reader, expected, requests: Requests::default(), offset: 0 }
    }

    /// The next frame; `None` at the end of the stream.
    ///
    /// # Errors
    /// [`StreamError`], after which no frame can be found.
    pub fn next_frame(&mut self) -> Result<Option<Frame>, StreamError> {
        let prefix = self.read(SIZE_LENGTH)?;
        if prefix.is_empty() {
            return Ok(None);
        }
        let Some(prefix) = prefix.first_chunk() else { return Err(self.ends(SIZE_LENGTH, prefix.len())) };
        let size = frame_size(*prefix, DEFAULT_MAX_FRAME).map_err(|e| self.fails(Problem::Size(e)))?;
        let frame = self.read(size)?;
        if frame.len() < size {
            return Err(self.ends(size, frame.len()));
        }
        self.offset += (SIZE_LENGTH + size) as u64;
        Ok(Some(match self.expected {
            Expected::Requests => self.requests.read(frame.into()),
            Expected::Responses { key, version } => read_response(frame.into(), key, version),
        }))
    }

    /// What is allocated grows with what is read, whatever the size says.
    fn read(&mut self, length: usize) -> Result<Vec<u8>, StreamError> {
        let mut bytes = Vec::new();
        match self.reader.by_ref().take(length as u64).read_to_end(&mut bytes) {
            Ok(_) => Ok(bytes),
            Err(error) => Err(self.fails(Problem::Io(error))),
        }
    }

    fn ends(&self, needed: usize, have: usize) -> StreamError {
        self.fails(Problem::End { needed, have })
    }

    fn fails(&self, problem: Problem) -> StreamError {
        StreamError { offset: self.offset, problem }
    }
}

/// Why a stream holds no further frame.
#[derive(Debug)]
pub struct StreamError {
    offset: u64,
    problem: Problem,
}

#[derive(Debug, thiserror::Error)]
enum Problem {
    #[error("cannot be read: {0}")]
    Io(io::Error),
    #[error("{0}. Each frame begins with its size in 4 bytes: is this a stream of frames?")]
    Size(DecodeError),
    #[error("ends inside a frame: {have} of {needed} bytes are there")]
    End { needed: usize, have: usize },
}

impl fmt::Display for StreamError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "byte {}: {}", self.offset, self.problem)
    }
}

/// The message has the cause in it already.
impl std::error::Error for StreamError {}
