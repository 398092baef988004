//! Choices out of a fuzzer's bytes.

/// The bytes that are left. Every choice takes a few of them; after the end all choices are zero.
pub(super) struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    pub(super) fn new(data: &'a [u8]) -> Self {
        Self(data)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    /// The next `length` bytes, or what is left of them.
    pub(super) fn bytes(&mut self, length: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(length.min(self.0.len()));
        self.0 = rest;
        taken
    }

    /// A number below `end`, which is at least 1.
    pub(super) fn below(&mut self, end: usize) -> usize {
        usize::from(self.byte()) % end
    }

    /// True once in `times`.
    pub(super) fn once_in(&mut self, times: u8) -> bool {
        self.byte() % times == times - 1
    }

    pub(super) fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }

    pub(super) fn i64(&mut self) -> i64 {
        self.bytes(8).iter().fold(0, |value, byte| value << 8 | i64::from(*byte))
    }
}
