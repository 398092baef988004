//! A decoder that reads nothing: it chooses a value for each field that it is asked for.

use bytes::Bytes;

use crate::input::Input;
use crate::records::valid::ValidRecords;
use crate::wire::{Decode, DecodeError, Decoder, Element, Uuid};

pub(super) struct Maker<'a, 'b> {
    version: i16,
    flexible: bool,
    null_allowed: bool,
    input: &'a mut Input<'b>,
}

/// Elements of an array. More of them would only be more of the same.
const MOST_ELEMENTS: usize = 4;

/// Characters of texts, plain ones first: one to four bytes long, and some that JSON escapes.
const CHARACTERS: [char; 16] =
    ['a', 'b', 'c', '0', '1', '-', '.', '_', ' ', '"', '\\', '\n', '\0', 'é', '\u{4e2d}', '\u{1d11e}'];

/// A length that takes two bytes in the compact form.
const LONG: usize = 200;

impl<'a, 'b> Maker<'a, 'b> {
    pub(super) fn make<T: Decode>(version: i16, flexible: bool, input: &'a mut Input<'b>) -> T {
        let mut maker = Self { version, flexible, null_allowed: true, input };
        maker.structure("").expect("nothing is read, so nothing can be wrong")
    }

    fn text(&mut self) -> String {
        match self.input.byte() {
            255 => "x".repeat(LONG),
            length => (0..length % 8).map(|_| self.input.pick(&CHARACTERS)).collect(),
        }
    }

    fn octets(&mut self) -> Bytes {
        match self.input.byte() {
            255 => Bytes::from(vec![0xff; LONG]),
            length => Bytes::copy_from_slice(self.input.bytes(usize::from(length % 8))),
        }
    }

    fn nullable<T>(
        &mut self,
        value: impl FnOnce(&mut Self) -> Result<T, DecodeError>,
    ) -> Result<Option<T>, DecodeError> {
        let null_allowed = std::mem::replace(&mut self.null_allowed, true);
        if null_allowed && !self.input.once_in(2) { Ok(None) } else { value(self).map(Some) }
    }
}

macro_rules! numbers {
    ($($type:ident)*) => {$(
        fn $type(&mut self, _: &'static str) -> Result<$type, DecodeError> {
            // The low bits of an edge are an edge, or 0 or -1.
            Ok(self.input.number() as $type)
        }
    )*};
}

impl Decoder for Maker<'_, '_> {
    fn version(&self) -> i16 {
        self.version
    }

    fn allow_null(&mut self, allowed: bool) {
        self.null_allowed = allowed;
    }

    numbers! { i8 i16 u16 i32 u32 i64 }

    fn bool(&mut self, _: &'static str) -> Result<bool, DecodeError> {
        Ok(self.input.once_in(2))
    }

    /// Finite: others are no numbers of JSON, and one of them is not equal to itself.
    fn f64(&mut self, _: &'static str) -> Result<f64, DecodeError> {
        Ok(self.input.number() as f64 / self.input.pick(&[1.0, 3.0, 1e-100, -7e200]))
    }

    fn uuid(&mut self, _: &'static str) -> Result<Uuid, DecodeError> {
        let mut uuid = Uuid::ZERO;
        match self.input.byte() {
            small @ 0..240 => uuid.0[15] = small,
            _ => {
                let bytes = self.input.bytes(16);
                uuid.0[..bytes.len()].copy_from_slice(bytes);
            }
        }
        Ok(uuid)
    }

    fn string(&mut self, _: &'static str) -> Result<String, DecodeError> {
        Ok(self.text())
    }

    fn nullable_string(&mut self, _: &'static str) -> Result<Option<String>, DecodeError> {
        self.nullable(|maker| Ok(maker.text()))
    }

    fn classic_nullable_string(&mut self, name: &'static str) -> Result<Option<String>, DecodeError> {
        self.nullable_string(name)
    }

    fn bytes(&mut self, _: &'static str) -> Result<Bytes, DecodeError> {
        Ok(self.octets())
    }

    fn nullable_bytes(&mut self, _: &'static str) -> Result<Option<Bytes>, DecodeError> {
        self.nullable(|maker| Ok(maker.octets()))
    }

    fn records(&mut self, _: &'static str) -> Result<Option<Bytes>, DecodeError> {
        self.nullable(|maker| Ok(ValidRecords::choose(maker.input).0))
    }

    fn array<T: Element>(&mut self, _: &'static str) -> Result<Vec<T>, DecodeError> {
        let count = self.input.below(MOST_ELEMENTS + 1);
        let mut elements = Vec::new();
        while elements.len() < count && (elements.is_empty() || !self.input.is_empty()) {
            elements.push(T::take(self)?);
        }
        Ok(elements)
    }

    fn nullable_array<T: Element>(&mut self, name: &'static str) -> Result<Option<Vec<T>>, DecodeError> {
        self.nullable(|maker| maker.array(name))
    }

    fn structure<T: Decode>(&mut self, _: &'static str) -> Result<T, DecodeError> {
        T::decode(self)
    }

    fn nullable_structure<T: Decode>(&mut self, _: &'static str) -> Result<Option<T>, DecodeError> {
        self.nullable(|maker| T::decode(maker))
    }

    fn tags(
        &mut self,
        known: &[(u32, &'static str)],
        mut field: impl FnMut(&mut Self, u32) -> Result<(), DecodeError>,
    ) -> Result<(), DecodeError> {
        for (tag, _) in known {
            if self.flexible && self.input.once_in(2) {
                field(self, *tag)?;
            }
        }
        Ok(())
    }
}
