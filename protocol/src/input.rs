//! Choices out of any bytes.

/// Bytes to choose by: each choice takes a few, and after the end all choices are zero. So fewer and smaller bytes make
/// less and simpler choices, and what fuzzers and property tests do to bytes does the same to what is made of them.
#[derive(Debug, Clone)]
pub struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    /// Chooses by `data`.
    pub fn new(data: &'a [u8]) -> Self {
        Self(data)
    }

    /// Whether all that follows is zero.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many bytes are left.
    pub fn left(&self) -> usize {
        self.0.len()
    }

    /// The next byte.
    pub fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    /// The next `length` bytes, or what is left of them.
    pub fn bytes(&mut self, length: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(length.min(self.0.len()));
        self.0 = rest;
        taken
    }

    /// A number below `end`, which is at least 1 and at most 256.
    pub fn below(&mut self, end: usize) -> usize {
        usize::from(self.byte()) % end
    }

    /// True once in `times`.
    pub fn once_in(&mut self, times: u8) -> bool {
        self.byte() % times == times - 1
    }

    /// One of `choices`, of which there is at least one.
    pub fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }

    /// Any number, of the next eight bytes.
    pub fn i64(&mut self) -> i64 {
        self.bytes(8).iter().fold(0, |value, byte| value << 8 | i64::from(*byte))
    }

    /// A small number most of the time, else -1, one of the edges of 8, 16, 32 and 64 bits, or any.
    pub fn number(&mut self) -> i64 {
        const EDGES: [i64; 12] = [
            -1,
            i8::MAX as i64,
            i8::MIN as i64,
            u8::MAX as i64,
            i16::MAX as i64,
            i16::MIN as i64,
            u16::MAX as i64,
            i32::MAX as i64,
            i32::MIN as i64,
            u32::MAX as i64,
            i64::MAX,
            i64::MIN,
        ];
        match self.byte() {
            small @ 0..200 => small.into(),
            edge @ 200..240 => EDGES[usize::from(edge) % EDGES.len()],
            _ => self.i64(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_the_end_all_choices_are_zero() {
        let mut input = Input::new(&[7, 9, 250, 1]);
        assert_eq!((input.below(4), input.pick(&['a', 'b']), input.number()), (3, 'b', 1));
        assert!(input.is_empty());
        assert_eq!((input.byte(), input.bytes(3), input.i64(), input.number()), (0, &[][..], 0, 0));
        assert_eq!((input.below(5), input.pick(&['a', 'b']), input.once_in(2)), (0, 'a', false));
    }
}
