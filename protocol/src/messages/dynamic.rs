//! Messages chosen at run time: by API, kind and version.

use std::fmt;
use std::str::FromStr;

use bytes::Bytes;
use serde_json::Value;

use super::embedded::Embedded;
use crate::nearest::nearest;
use crate::wire::{
    ApiKey, BytesWriter, Decode, DecodeError, Encode, EncodeError, JsonReader, JsonWriter, Message, Reader,
    RequestHeader, ResponseHeader,
};
use crate::{for_each_api, for_each_embedded};

/// Which of an API's messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// The body of a request.
    Request,
    /// The body of a response.
    Response,
    /// `RequestHeader` or `ResponseHeader`, which belong to no API.
    Header,
    /// An [`Embedded`] struct, which goes by its own name; without the version in front of it.
    Data,
}

impl Kind {
    /// `request`, `response`, `header` or `data`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Request => "request",
            Self::Response => "response",
            Self::Header => "header",
            Self::Data => "data",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Kind {
    type Err = UnknownMessage;

    fn from_str(text: &str) -> Result<Self, UnknownMessage> {
        [Self::Request, Self::Response, Self::Header, Self::Data]
            .into_iter()
            .find(|kind| kind.as_str() == text)
            .ok_or_else(|| UnknownMessage::Kind(text.to_owned()))
    }
}

/// A message that this crate does not have.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum UnknownMessage {
    /// The kind is not one of four.
    #[error("kind {0:?} is none of request, response, header, data")]
    Kind(String),
    /// There is no such API.
    #[error("api {api:?} has no {kind} here; {}", remedy(.api, *.kind))]
    Api {
        /// The API asked for.
        api: String,
        /// The kind asked for.
        kind: Kind,
    },
    /// The API has no such version.
    #[error("{name} has no version {version}; it has {first} to {last}")]
    Version {
        /// The message.
        name: &'static str,
        /// The version asked for.
        version: i16,
        /// The oldest version.
        first: i16,
        /// The newest version.
        last: i16,
    },
}

/// What can go wrong between bytes and JSON.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum CodecError {
    /// The input is not the message.
    #[error(transparent)]
    Decode(#[from] DecodeError),
    /// The message cannot be written.
    #[error(transparent)]
    Encode(#[from] EncodeError),
}

/// One message in one version, between bytes and the JSON of Kafka's own converters.
#[derive(Debug, Clone, Copy)]
pub struct Codec {
    name: &'static str,
    key: ApiKey,
    version: i16,
    flexible: bool,
    bytes_to_json: fn(&Self, Bytes) -> Result<Value, CodecError>,
    json_to_bytes: fn(&Self, &Value) -> Result<Bytes, CodecError>,
    strict_json_to_bytes: fn(&Self, &Value) -> Result<Bytes, CodecError>,
    bytes_to_bytes: fn(&Self, Bytes) -> Result<Bytes, CodecError>,
}

macro_rules! find_body {
    ($api:ident, $kind:ident, $version:ident; $($name:ident($request:ty, $response:ty)),* $(,)?) => {
        match ($api, $kind) {
            $(
                (stringify!($name), Kind::Request) => Codec::body::<$request>($version),
                (stringify!($name), Kind::Response) => Codec::body::<$response>($version),
            )*
            _ => Err(UnknownMessage::Api { api: $api.to_owned(), kind: $kind }),
        }
    };
}

macro_rules! find_embedded {
    ($name:ident, $version:ident; $($known:ident($type:ty)),* $(,)?) => {
        match $name {
            $(stringify!($known) => Codec::embedded::<$type>($version),)*
            _ => Err(UnknownMessage::Api { api: $name.to_owned(), kind: Kind::Data }),
        }
    };
}

macro_rules! names {
    ($($name:ident($($type:ty),*)),* $(,)?) => { vec![$(stringify!($name)),*] };
}

/// The APIs that have messages of a kind.
fn known(kind: Kind) -> Vec<&'static str> {
    match kind {
        Kind::Header => vec!["RequestHeader", "ResponseHeader"],
        Kind::Request | Kind::Response => for_each_api!(names),
        Kind::Data => for_each_embedded!(names),
    }
}

/// The name that may be meant, or all that there are.
fn remedy(api: &str, kind: Kind) -> String {
    let known = known(kind);
    let same = known.iter().copied().find(|name| name.eq_ignore_ascii_case(api));
    match same.or_else(|| nearest(api, known.iter().copied())) {
        Some(near) => format!("did you mean {near}?"),
        None => format!("known are {}", known.join(", ")),
    }
}

impl Codec {
    /// The message of an API (`ShareFetch`; headers and embedded structs go by their whole name).
    ///
    /// # Errors
    /// [`UnknownMessage`], which lists what there is.
    pub fn find(api: &str, kind: Kind, version: i16) -> Result<Self, UnknownMessage> {
        match (api, kind) {
            ("RequestHeader", Kind::Header) => Self::header::<RequestHeader>("RequestHeader", version, 1),
            ("ResponseHeader", Kind::Header) => Self::header::<ResponseHeader>("ResponseHeader", version, 0),
            (name, Kind::Data) => for_each_embedded!(find_embedded, name, version),
            _ => for_each_api!(find_body, api, kind, version),
        }
    }

    fn body<M: Message>(version: i16) -> Result<Self, UnknownMessage> {
        if !M::VERSIONS.contains(&version) {
            let (first, last) = M::VERSIONS.into_inner();
            return Err(UnknownMessage::Version { name: M::NAME, version, first, last });
        }
        Ok(Self::of::<M>(M::NAME, M::KEY, version, M::is_flexible(version)))
    }

    fn embedded<T: Embedded>(version: i16) -> Result<Self, UnknownMessage> {
        if !T::VERSIONS.contains(&version) {
            let (first, last) = T::VERSIONS.into_inner();
            return Err(UnknownMessage::Version { name: T::NAME, version, first, last });
        }
        Ok(Self::of::<T>(T::NAME, ApiKey(-1), version, false))
    }

    /// A header has two versions: the `classic` one, and the next, which is flexible.
    fn header<T: Encode + Decode>(name: &'static str, version: i16, classic: i16) -> Result<Self, UnknownMessage> {
        let last = classic + 1;
        if !(classic..=last).contains(&version) {
            return Err(UnknownMessage::Version { name, version, first: classic, last });
        }
        Ok(Self::of::<T>(name, ApiKey(-1), version, version == last))
    }

    fn of<T: Encode + Decode>(name: &'static str, key: ApiKey, version: i16, flexible: bool) -> Self {
        Self {
            name,
            key,
            version,
            flexible,
            bytes_to_json: |codec, bytes| codec.write_json(&codec.read_bytes::<T>(bytes)?),
            json_to_bytes: |codec, json| codec.write_bytes(&codec.read_json::<T>(json)?),
            strict_json_to_bytes: |codec, json| codec.write_bytes(&codec.read_strict_json::<T>(json)?),
            bytes_to_bytes: |codec, bytes| codec.write_bytes(&codec.read_bytes::<T>(bytes)?),
        }
    }

    /// The schema's name, such as `ShareFetchRequest`.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The API; -1 for headers and embedded structs.
    pub fn key(&self) -> ApiKey {
        self.key
    }

    /// The version.
    pub fn version(&self) -> i16 {
        self.version
    }

    /// Whether the version has the flexible form (KIP-482).
    pub fn is_flexible(&self) -> bool {
        self.flexible
    }

    /// Reads a message from bytes and writes it as JSON.
    ///
    /// # Errors
    /// [`CodecError::Decode`] where the bytes are not the message.
    pub fn bytes_to_json(&self, bytes: Bytes) -> Result<Value, CodecError> {
        (self.bytes_to_json)(self, bytes)
    }

    /// Reads a message from JSON and writes it as bytes, as Kafka does: names that no version of the message has are ignored, a field of
    /// another version is an error unless it is null or its default, or may be ignored.
    ///
    /// # Errors
    /// [`CodecError`] where the JSON is not the message, or says what the version cannot.
    pub fn json_to_bytes(&self, json: &Value) -> Result<Bytes, CodecError> {
        (self.json_to_bytes)(self, json)
    }

    /// As [`Codec::json_to_bytes`], but a field that the version does not have is an error, with the one that may be meant.
    ///
    /// # Errors
    /// As [`Codec::json_to_bytes`].
    pub fn strict_json_to_bytes(&self, json: &Value) -> Result<Bytes, CodecError> {
        (self.strict_json_to_bytes)(self, json)
    }

    /// Reads a message from bytes and writes it as bytes again.
    ///
    /// # Errors
    /// [`CodecError::Decode`] where the bytes are not the message.
    pub fn bytes_to_bytes(&self, bytes: Bytes) -> Result<Bytes, CodecError> {
        (self.bytes_to_bytes)(self, bytes)
    }

    fn read_bytes<T: Decode>(&self, bytes: Bytes) -> Result<T, CodecError> {
        let mut r = Reader::new(bytes, self.version, self.flexible);
        let message = r.message().and_then(|m| r.finish().map(|()| m));
        Ok(message.map_err(|e| e.in_message(self.name, self.version))?)
    }

    fn read_json<T: Decode>(&self, json: &Value) -> Result<T, CodecError> {
        Ok(JsonReader::decode(json, self.version).map_err(|e| e.in_message(self.name, self.version))?)
    }

    fn read_strict_json<T: Decode>(&self, json: &Value) -> Result<T, CodecError> {
        let read = JsonReader::decode_strictly(json, self.version, self.flexible);
        Ok(read.map_err(|e| e.in_message(self.name, self.version))?)
    }

    fn write_bytes<T: Encode>(&self, message: &T) -> Result<Bytes, CodecError> {
        let mut w = BytesWriter::new(self.version, self.flexible);
        w.message(message);
        Ok(w.finish().map_err(|e| e.in_message(self.name, self.version))?.freeze())
    }

    fn write_json<T: Encode>(&self, message: &T) -> Result<Value, CodecError> {
        Ok(JsonWriter::encode(message, self.version).map_err(|e| e.in_message(self.name, self.version))?)
    }
}
