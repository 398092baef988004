//! What an array may hold.

use super::{Decode, DecodeError, Decoder, Encode, Encoder, Uuid};

/// An array element: a number, a string, a uuid or a struct.
pub trait Element: Sized + Default {
    /// Writes the element.
    fn put<W: Encoder>(&self, w: &mut W);
    /// Reads the element.
    ///
    /// # Errors
    /// [`DecodeError`] as for the field it stands in.
    fn take<R: Decoder>(r: &mut R) -> Result<Self, DecodeError>;
}

impl<T: Encode + Decode> Element for T {
    fn put<W: Encoder>(&self, w: &mut W) {
        w.structure("", self);
    }

    fn take<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        r.structure("")
    }
}

macro_rules! number_elements {
    ($($type:ident),*) => {$(
        impl Element for $type {
            fn put<W: Encoder>(&self, w: &mut W) {
                w.$type("", *self);
            }

            fn take<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
                r.$type("")
            }
        }
    )*};
}

number_elements!(i8, i16, i32, i64);

impl Element for Uuid {
    fn put<W: Encoder>(&self, w: &mut W) {
        w.uuid("", *self);
    }

    fn take<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        r.uuid("")
    }
}

impl Element for String {
    fn put<W: Encoder>(&self, w: &mut W) {
        w.string("", self);
    }

    fn take<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        r.string("")
    }
}
