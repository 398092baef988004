//! A buffer with a limit, for what is inflated. Room is taken in steps: what is held at a time, with the bytes that move
//! to larger room counted twice, is never more than the limit and [`SLACK`].

use std::io::{self, Read};

use super::Fault;

/// Most data that is worth compressing shrinks to a quarter or so.
const USUAL_RATIO: usize = 4;

/// What may be held beyond the limit while bytes move. With what the decoders keep of their own it stays below 16 MiB.
const SLACK: usize = 4 << 20;

/// Room that is taken at least where the first was not enough.
const LEAST_STEP: usize = 4 << 10;

pub(super) struct Output {
    pub(super) bytes: Vec<u8>,
    limit: usize,
}

impl Output {
    pub(super) fn new(limit: usize) -> Self {
        Self { bytes: Vec::new(), limit }
    }

    /// Takes room for `len` bytes, which are all that will come, by [`extend`](Self::extend) or [`fill`](Self::fill).
    pub(super) fn expect(&mut self, len: usize) -> Result<(), Fault> {
        if len > self.limit {
            return Err(Fault::TooLarge);
        }
        self.bytes = Vec::with_capacity(len);
        Ok(())
    }

    /// Bytes that may still come.
    fn room(&self) -> usize {
        self.limit - self.bytes.len()
    }

    pub(super) fn extend(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        if bytes.len() > self.room() {
            return Err(Fault::TooLarge);
        }
        self.bytes.extend_from_slice(bytes);
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

    /// Reads all of the source that `open` makes of `input_len` bytes, and gives it back at its end. The first
    /// allocation follows the bytes that are there, not what they claim to become, and room doubles as output comes.
    /// Where both the old room and twice as much would be too much, the rest is counted, and all is read once more
    /// into just the room that it takes.
    pub(super) fn read_from<R: Read>(&mut self, input_len: usize, open: impl Fn() -> R) -> Result<R, Fault> {
        let mut source = open();
        let capacity = input_len.saturating_mul(USUAL_RATIO).min(self.limit);
        self.bytes = Vec::with_capacity(capacity);
        loop {
            let Some(next) = self.read_into_room(&mut source)? else { return Ok(source) };
            if self.room() == 0 {
                return Err(Fault::TooLarge);
            }
            let larger = self.bytes.capacity().saturating_mul(2).max(LEAST_STEP).min(self.limit);
            if !self.may_move_to(larger) {
                break;
            }
            self.bytes.reserve_exact(larger - self.bytes.len());
            self.bytes.push(next);
        }
        let beyond = (self.room() - 1) as u64;
        let counted = io::copy(&mut source.by_ref().take(beyond + 1), &mut io::sink()).map_err(Fault::corrupt)?;
        if counted > beyond {
            return Err(Fault::TooLarge);
        }
        let len = self.bytes.len() + 1 + counted as usize;
        self.bytes = Vec::new();
        source = open();
        self.bytes = Vec::with_capacity(len);
        self.read_into_room(&mut source)?;
        Ok(source)
    }

    /// Reads as much as there is room for, and the byte behind it if there is one.
    fn read_into_room(&mut self, source: &mut impl Read) -> Result<Option<u8>, Fault> {
        let spare = self.room().min(self.bytes.capacity() - self.bytes.len());
        let read = source.by_ref().take(spare as u64).read_to_end(&mut self.bytes).map_err(Fault::corrupt)?;
        let mut next = [0];
        let more = read == spare && source.read(&mut next).map_err(Fault::corrupt)? != 0;
        Ok(more.then_some(next[0]))
    }

    /// Lets `fill` write into room for `first` bytes, and into twice as much whenever it says that this is not enough
    /// (`None`), until it says how many bytes it has written. It begins anew each time.
    pub(super) fn fill_growing(
        &mut self,
        first: usize,
        mut fill: impl FnMut(&mut [u8]) -> Result<Option<usize>, Fault>,
    ) -> Result<(), Fault> {
        let mut len = first.min(self.limit);
        loop {
            // What was not enough is given back before more is taken.
            self.bytes = Vec::new();
            self.bytes.resize(len, 0);
            if let Some(written) = fill(&mut self.bytes)? {
                self.bytes.truncate(written);
                break;
            }
            if len == self.limit {
                return Err(Fault::TooLarge);
            }
            len = len.max(1).saturating_mul(2).min(self.limit);
        }
        if self.bytes.capacity() / 2 > self.bytes.len() && self.may_move_to(self.bytes.len()) {
            self.bytes.shrink_to_fit();
        }
        Ok(())
    }

    /// Whether the room that there is and room for `len` bytes may exist side by side.
    fn may_move_to(&self, len: usize) -> bool {
        self.bytes.capacity().saturating_add(len) <= self.limit.saturating_add(SLACK)
    }
}
