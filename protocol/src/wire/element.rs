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
    #[inline]
    fn put<W: Encoder>(&self, w: &mut W) {
        w.structure("", self);
    }

    #[inline]
    fn take<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        r.structure("")
    }
}

macro_rules! number_elements {
    ($($type:ident),*) => {$(
        impl Element for $type {
            #[inline]
            fn put<W: Encoder>(&self, w: &mut W) {
                w.$type("", *self);
            }

            #[inline]
            fn take<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
                r.$type("")
            }
        }
    )*};
}

number_elements!(i8, i16, i32, i64);

impl Element for Uuid {
    #[inline]
    fn put<W: Encoder>(&self, w: &mut W) {
        w.uuid("", *self);
    }

    #[inline]
    fn take<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        r.uuid("")
    }
}

impl Element for String {
    #[inline]
    fn put<W: Encoder>(&self, w: &mut W) {
        w.string("", self);
    }

    #[inline]
    fn take<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        r.string("")
    }
}
