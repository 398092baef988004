//! Field writers and readers that know the version and the encoding.
//!
//! A message names each of its fields once in [`Encode::encode`] and once in [`Decode::decode`]. Which bytes a
//! field becomes (classic or compact lengths, tag sections) is decided here, by the [`Encoder`] and [`Decoder`]
//! that walk it, never in a message. The same `encode` writes bytes ([`BytesWriter`]), counts them
//! ([`SizeWriter`]) and makes JSON (`JsonWriter`, feature `json`); the same `decode` reads bytes ([`Reader`]) and
//! JSON (`JsonReader`).
//!
//! ```
//! use ackflow_protocol::wire::{Decode, Decoder, DecodeError, Encode, Encoder};
//!
//! /// A range of acquired offsets.
//! #[derive(Debug, Clone, PartialEq, Default)]
//! struct Acquired { first_offset: i64, delivery_count: i16 }
//!
//! impl Encode for Acquired {
//!     fn encode<W: Encoder>(&self, w: &mut W) {
//!         w.i64("firstOffset", self.first_offset);
//!         w.since(2, |w| w.i16("deliveryCount", self.delivery_count));
//!     }
//! }
//!
//! impl Decode for Acquired {
//!     fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
//!         Ok(Self {
//!             first_offset: r.i64("firstOffset")?,
//!             delivery_count: r.since(2, 0, |r| r.i16("deliveryCount"))?,
//!         })
//!     }
//! }
//! ```

mod api_key;
mod bytes_writer;
mod codec;
mod decoder;
mod element;
mod encoder;
mod error;
mod error_code;
pub mod frame;
mod header;
#[cfg(feature = "json")]
mod json;
mod reader;
mod size_writer;
#[cfg(test)]
mod tests;
mod uuid;
pub mod varint;

pub use api_key::ApiKey;
pub use bytes_writer::BytesWriter;
pub use codec::{Decode, Encode, Message, Request, Response};
pub use decoder::Decoder;
pub use element::Element;
pub use encoder::Encoder;
pub use error::{DecodeError, DecodeErrorKind, EncodeError, EncodeErrorKind};
pub use error_code::ErrorCode;
pub use header::{
    RequestHeader, ResponseHeader, decode_request_header, decode_response, encode_request, encode_request_in_pieces,
    encode_response,
};
#[cfg(feature = "json")]
pub use json::{JsonReader, JsonWriter};
pub use reader::Reader;
pub use size_writer::SizeWriter;
pub use uuid::Uuid;
