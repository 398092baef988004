//! Reads pieces of a known size, and knows where it is.

use std::io::{self, Read};

/// A reader with one piece in memory: a header, a packet, a block.
pub(super) struct Input<R> {
    reader: R,
    /// Where the piece begins in the input.
    offset: u64,
    piece: Vec<u8>,
}

impl<R: Read> Input<R> {
    pub(super) fn new(reader: R) -> Self {
        Self { reader, offset: 0, piece: Vec::new() }
    }

    /// Lets go of the piece; the next one begins behind it.
    pub(super) fn next_piece(&mut self) {
        self.offset += self.piece.len() as u64;
        self.piece.clear();
    }

    /// Makes the piece `length` bytes long. It stays shorter where the input ends. What is allocated grows with what is
    /// read, whatever `length` says.
    pub(super) fn fill(&mut self, length: usize) -> io::Result<()> {
        let missing = length.saturating_sub(self.piece.len()) as u64;
        self.reader.by_ref().take(missing).read_to_end(&mut self.piece).map(drop)
    }

    pub(super) fn piece(&self) -> &[u8] {
        &self.piece
    }

    pub(super) fn offset(&self) -> u64 {
        self.offset
    }
}
