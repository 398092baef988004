//! Structs inside the bytes of a message or of a record, each with its version in front of it.

use std::fmt::Debug;
use std::ops::RangeInclusive;

use bytes::Bytes;

use crate::wire::{BytesWriter, Decode, DecodeError, DecodeErrorKind, Decoder, Encode, EncodeError, Encoder, Reader};

/// A struct whose bytes are an int16, the version, and its fields in the classic form; none has a flexible version.
pub trait Embedded: Encode + Decode + Clone + Debug + Default + PartialEq + Send + 'static {
    /// The schema's name, such as `ConsumerProtocolSubscription`.
    const NAME: &'static str;
    /// The versions that Kafka 4.4.0's schema calls valid.
    const VERSIONS: RangeInclusive<i16>;

    /// Writes version and fields.
    ///
    /// # Errors
    /// [`EncodeError`] where a field holds what this version cannot say, or the struct has no such version.
    fn to_versioned_bytes(&self, version: i16) -> Result<Bytes, EncodeError> {
        if !Self::VERSIONS.contains(&version) {
            return Err(EncodeError::unknown_version(Self::NAME, version, Self::VERSIONS));
        }
        let mut w = BytesWriter::new(version, false);
        w.i16("version", version);
        w.message(self);
        let bytes = w.finish().map_err(|e| e.in_message(Self::NAME, version))?;
        Ok(bytes.freeze())
    }

    /// Reads version and fields, and gives the version as it was written. Later versions only add fields at the end, so
    /// one that is newer than all that is known here reads as the newest of those, and what follows is passed over.
    ///
    /// # Errors
    /// [`DecodeError`] where the version is negative, the bytes end early, or bytes are left in a known version.
    fn from_versioned_bytes(bytes: Bytes) -> Result<(i16, Self), DecodeError> {
        let mut prefix = Reader::new(bytes, 0, false);
        let version = prefix.i16("version").map_err(|e| e.in_message(Self::NAME, 0))?;
        if version < *Self::VERSIONS.start() {
            let unknown = DecodeError::new(DecodeErrorKind::Version(version), 0);
            return Err(unknown.in_field("version").in_message(Self::NAME, version));
        }
        let read_as = version.min(*Self::VERSIONS.end());
        let mut r = Reader::new(prefix.into_rest(), read_as, false);
        let read =
            r.message().and_then(|value| if version == read_as { r.finish().map(|()| value) } else { Ok(value) });
        Ok((version, read.map_err(|e| e.in_message(Self::NAME, version))?))
    }
}
