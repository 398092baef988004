//! Messages as the JSON that Kafka's `*DataJsonConverter` classes write and read.
//!
//! Names are the schema's camelCase, bytes are base64, uuids URL-safe base64; fields that the version lacks and
//! tagged fields that hold their default are left out. One deviation: record sets are base64 in both directions.
//! Kafka's converters read base64 there too, but write an empty value.

mod reader;
mod writer;

pub use reader::JsonReader;
pub use writer::JsonWriter;
