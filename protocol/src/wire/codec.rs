//! What a message is: how it is written, how it is read, and in which versions.

use std::fmt::Debug;
use std::ops::RangeInclusive;

use bytes::Bytes;

use super::{ApiKey, BytesWriter, DecodeError, Decoder, EncodeError, Encoder, Reader, SizeWriter};

/// Writes the fields of a struct in schema order.
pub trait Encode {
    /// Writes every field that exists in `w.version()`, then (where the struct has any) its tagged fields.
    ///
    /// Errors are kept by the writer and come out at its end, so that a field costs one short line.
    fn encode<W: Encoder>(&self, w: &mut W);
}

/// Reads the fields of a struct in schema order. Its `Default` holds the schema's defaults.
pub trait Decode: Sized + Default {
    /// Reads every field that exists in `r.version()`; a field absent by version gets its schema default.
    ///
    /// # Errors
    /// [`DecodeError`], which names the field and the byte.
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError>;
}

/// A request or response body.
pub trait Message: Encode + Decode + Clone + Debug + Default + PartialEq + Send + 'static {
    /// The schema's name, such as `ShareFetchRequest`.
    const NAME: &'static str;
    /// The API that the message belongs to.
    const KEY: ApiKey;
    /// The versions that Kafka 4.4.0's schema calls valid, unstable ones included.
    const VERSIONS: RangeInclusive<i16>;
    /// The first flexible version (KIP-482): compact lengths and tagged fields.
    const FLEXIBLE_FROM: i16;

    /// True where the body is written in the flexible form.
    fn is_flexible(version: i16) -> bool {
        version >= Self::FLEXIBLE_FROM
    }

    /// Refuses a version that the message does not have. What reads or writes a whole message has asked this already.
    ///
    /// # Errors
    /// [`EncodeErrorKind::UnknownVersion`](super::EncodeErrorKind::UnknownVersion), which names message and versions.
    fn check_version(version: i16) -> Result<(), EncodeError> {
        if Self::VERSIONS.contains(&version) {
            return Ok(());
        }
        Err(EncodeError::unknown_version(Self::NAME, version, Self::VERSIONS))
    }

    /// The number of bytes that the body takes.
    ///
    /// # Errors
    /// [`EncodeError`] as for [`Message::to_bytes`].
    fn size(&self, version: i16) -> Result<usize, EncodeError> {
        Self::check_version(version)?;
        let mut w = SizeWriter::new(version, Self::is_flexible(version));
        w.message(self);
        w.finish().map_err(|e| e.in_message(Self::NAME, version))
    }

    /// Writes the body.
    ///
    /// # Errors
    /// [`EncodeError`] where a field holds what this version cannot say, or the message has no such version.
    fn to_bytes(&self, version: i16) -> Result<Bytes, EncodeError> {
        let size = self.size(version)?;
        let mut w = BytesWriter::new(version, Self::is_flexible(version));
        w.reserve(size);
        w.message(self);
        let bytes = w.finish().map_err(|e| e.in_message(Self::NAME, version))?;
        Ok(bytes.freeze())
    }

    /// Writes the body in pieces that follow each other: large record sets are not copied, each is a piece that shares
    /// its bytes. Made for writes of many slices at once (`writev`).
    ///
    /// # Errors
    /// As [`Message::to_bytes`].
    fn to_pieces(&self, version: i16) -> Result<Vec<Bytes>, EncodeError> {
        Self::check_version(version)?;
        let mut size = SizeWriter::new(version, Self::is_flexible(version));
        size.message(self);
        let (size, records) = size.finish_with_records().map_err(|e| e.in_message(Self::NAME, version))?;
        let mut w = BytesWriter::new(version, Self::is_flexible(version)).in_pieces();
        w.reserve(size - records);
        w.message(self);
        w.finish_in_pieces().map_err(|e| e.in_message(Self::NAME, version))
    }

    /// Reads a body that fills `bytes`.
    ///
    /// # Errors
    /// [`DecodeError`]; bytes left after the last field are an error too, and a version that the message does not have
    /// is [`DecodeErrorKind::UnknownVersion`](super::DecodeErrorKind::UnknownVersion).
    fn from_bytes(bytes: Bytes, version: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(&version) {
            return Err(DecodeError::unknown_version::<Self>(version));
        }
        let mut r = Reader::new(bytes, version, Self::is_flexible(version));
        r.message::<Self>().and_then(|m| r.finish().map(|()| m)).map_err(|e| e.in_message(Self::NAME, version))
    }
}

/// A request body, and the response that answers it.
pub trait Request: Message {
    /// What the broker answers.
    type Response: Response;
    /// The newest version that Kafka 4.4.0 calls stable; clients negotiate up to this. -1 where none is.
    const NEWEST_STABLE: i16;
}

/// A response body.
pub trait Response: Message {
    /// Since this version the client waits out what [`throttle_time_ms`](Self::throttle_time_ms) says; before, the broker had waited itself
    /// before it answered (KIP-219).
    const THROTTLES_SINCE: i16 = 0;

    /// For how long nothing more may be sent over the connection, in milliseconds, because the client has exceeded a quota. 0 of a message that
    /// cannot say so.
    fn throttle_time_ms(&self) -> i32 {
        0
    }
}
