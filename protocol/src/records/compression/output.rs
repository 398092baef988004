//! A buffer with a limit, for what is inflated.

use std::io::Read;

use super::Fault;

/// Most data that is worth compressing shrinks to a quarter or so.
const USUAL_RATIO: usize = 4;

pub(super) struct Output {
    pub(super) bytes: Vec<u8>,
    limit: usize,
}

impl Output {
    /// For what comes out of `input_len` bytes. The first allocation follows the bytes that are there, not what they
    /// claim to become.
    pub(super) fn new(input_len: usize, limit: usize) -> Self {
        let capacity = input_len.saturating_mul(USUAL_RATIO).min(limit);
        Self { bytes: Vec::with_capacity(capacity), limit }
    }

    /// Bytes that may still come.
    pub(super) fn room(&self) -> usize {
        self.limit - self.bytes.len()
    }

    pub(super) fn extend(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        if bytes.len() > self.room() {
            return Err(Fault::TooLarge);
        }
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }

    /// Reads until the end of `source`.
    pub(super) fn read_from(&mut self, source: &mut impl Read) -> Result<(), Fault> {
        let room = self.room() as u64;
        source.by_ref().take(room).read_to_end(&mut self.bytes).map_err(Fault::corrupt)?;
        if self.room() == 0 && source.read(&mut [0]).map_err(Fault::corrupt)? != 0 {
            return Err(Fault::TooLarge);
        }
        Ok(())
    }

    /// Appends `len` bytes that `fill` writes.
    pub(super) fn fill(&mut self, len: usize, fill: impl FnOnce(&mut [u8]) -> Result<(), Fault>) -> Result<(), Fault> {
        if len > self.room() {
            return Err(Fault::TooLarge);
        }
        let start = self.bytes.len();
        self.bytes.resize(start + len, 0);
        fill(&mut self.bytes[start..])
    }

    /// Lets `fill` write into room for `first` bytes, and into twice as much whenever it says that this is not enough
    /// (`None`), until it says how many bytes it has written. It begins anew each time.
    pub(super) fn fill_growing(
        &mut self,
        first: usize,
        mut fill: impl FnMut(&mut [u8]) -> Result<Option<usize>, Fault>,
    ) -> Result<(), Fault> {
        let start = self.bytes.len();
        let mut len = first.min(self.limit - start);
        loop {
            self.bytes.resize(start + len, 0);
            if let Some(written) = fill(&mut self.bytes[start..])? {
                self.bytes.truncate(start + written);
                break;
            }
            if len == self.limit - start {
                return Err(Fault::TooLarge);
            }
            len = len.max(1).saturating_mul(2).min(self.limit - start);
        }
        if self.bytes.capacity() / 2 > self.bytes.len() {
            self.bytes.shrink_to_fit();
        }
        Ok(())
    }
}
