//! One frame: whose it is, and what it says.

use std::borrow::Cow;
use std::fmt;

use ackflow_protocol::messages::dynamic::{Codec, CodecError, Kind, UnknownMessage};
use ackflow_protocol::wire::{
    ApiKey, BytesWriter, DecodeError, DecodeErrorKind, Encode, EncodeError, ErrorCode, Reader, ResponseHeader,
    decode_request_header, frame,
};
use bytes::{Bytes, BytesMut};
use serde_json::Value;

/// Which way a frame goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Direction {
    /// From a client to a broker.
    Request,
    /// Back.
    Response,
}

impl Direction {
    /// `request` or `response`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Request => "request",
            Self::Response => "response",
        }
    }

    pub(crate) fn kind(self) -> Kind {
        match self {
            Self::Request => Kind::Request,
            Self::Response => Kind::Response,
        }
    }
}

/// A frame, read as far as it could be.
#[derive(Clone, PartialEq)]
pub struct Frame {
    /// Which way it goes.
    pub direction: Direction,
    /// The API; `None` where it is not known.
    pub api: Option<ApiKey>,
    /// The version that it is written in.
    pub version: Option<i16>,
    /// The version that was asked for, where the answer came in another one: that of ApiVersions may.
    pub asked_version: Option<i16>,
    /// What pairs a response with its request.
    pub correlation_id: Option<i32>,
    /// The client id of a request, which may be null.
    pub client_id: Option<Option<String>>,
    /// What it says.
    pub content: Content,
    /// The frame without its size; of one that is not all in the capture, what is there.
    pub bytes: Bytes,
}

impl Frame {
    /// A frame of which nothing more is known.
    pub(crate) fn nothing(direction: Direction, content: Content, bytes: Bytes) -> Self {
        Self {
            direction,
            api: None,
            version: None,
            asked_version: None,
            correlation_id: None,
            client_id: None,
            content,
            bytes,
        }
    }
}

/// What a frame says.
#[derive(Clone, PartialEq)]
pub enum Content {
    /// A message.
    Body {
        /// The JSON of Kafka's own converters, secrets included.
        json: Value,
        /// Whether it is written as the codec writes it: false where it has tagged fields that are not known, or numbers in
        /// more bytes than they need.
        canonical: bool,
    },
    /// A step of an authentication that travels bare, as after SaslHandshake 0.
    Token {
        /// The mechanism that the handshake named.
        mechanism: String,
    },
    /// Nothing that can be read.
    Fault(Fault),
}

impl fmt::Debug for Frame {
    /// Shows whose the frame is, and nothing of what it says: that may be a password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Frame")
            .field("direction", &self.direction)
            .field("api", &self.api)
            .field("version", &self.version)
            .field("correlation_id", &self.correlation_id)
            .field("content", &self.content)
            .field("bytes", &self.bytes.len())
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Content {
    /// Shows what is wrong with a frame, and nothing of what it says: that may be a password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Body { canonical, .. } => {
                f.debug_struct("Body").field("canonical", canonical).finish_non_exhaustive()
            }
            Self::Token { mechanism } => f.debug_struct("Token").field("mechanism", mechanism).finish(),
            Self::Fault(fault) => fault.fmt(f),
        }
    }
}

/// Why a frame cannot be read.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Fault {
    /// All of it in words.
    pub message: String,
    /// The field, such as `topics[0].partitions`.
    pub field: Option<String>,
    /// The byte at which reading stopped, counted from the start of the frame's size.
    pub offset: Option<usize>,
    /// Bytes that are not in the capture, in the middle of the frame or at its end.
    pub missing: Option<u64>,
}

impl Fault {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), ..Self::default() }
    }

    /// Of bytes that stand `behind` bytes after the start of the frame's size.
    fn codec(error: CodecError, behind: usize) -> Self {
        match error {
            CodecError::Decode(error) => {
                let error = error.behind(behind);
                let (field, offset) = (Some(error.path()), error.offset());
                Self { message: error.to_string(), field, offset, missing: None }
            }
            CodecError::Encode(error) => Self::new(error.to_string()),
        }
    }
}

/// Reads a request, without its size.
pub(crate) fn read_request(bytes: Bytes) -> Frame {
    let short = |at: usize| bytes.get(at..).and_then(<[u8]>::first_chunk).map(|two| i16::from_be_bytes(*two));
    // Known even where the rest of the header is broken.
    let (api, version) = (short(0).map(ApiKey), short(2));
    let correlation_id = bytes.get(4..).and_then(correlation_id);
    let mut client_id = None;
    let content = read_header_and_body(&bytes, api, version, &mut client_id).unwrap_or_else(Content::Fault);
    Frame {
        direction: Direction::Request,
        api,
        version,
        asked_version: None,
        correlation_id,
        client_id,
        content,
        bytes,
    }
}

fn read_header_and_body(
    bytes: &Bytes,
    api: Option<ApiKey>,
    version: Option<i16>,
    client_id: &mut Option<Option<String>>,
) -> Result<Content, Fault> {
    let header = decode_request_header(bytes.clone(), ApiKey::request_is_flexible);
    if let Ok((header, _)) = &header {
        client_id.replace(header.client_id.clone());
    }
    // An API or a version that is not known says more than what is wrong with its header, whose form is then a guess.
    let codec = match (api, version) {
        (Some(key), Some(version)) => Some(find(key, Direction::Request, version)?),
        _ => None,
    };
    let (header, body) = header.map_err(|e| Fault::codec(e.into(), frame::SIZE_LENGTH))?;
    let Some(codec) = codec else { return Err(Fault::new("is too short for a request")) };
    read_body(&codec, body, bytes, |body| write(&header, codec.is_flexible(), body))
}

/// Reads a response, without its size, that answers a request of this API and version.
pub(crate) fn read_response(bytes: Bytes, key: ApiKey, version: i16) -> Frame {
    let mut response = Frame {
        direction: Direction::Response,
        api: Some(key),
        version: Some(version),
        asked_version: None,
        correlation_id: correlation_id(&bytes),
        client_id: None,
        content: Content::Fault(Fault::default()),
        bytes,
    };
    if version != 0
        && is_unsupported_version(&response.bytes, key)
        && let Ok(content) = read_answer(&response.bytes, key, 0)
    {
        return Frame { version: Some(0), asked_version: Some(version), content, ..response };
    }
    response.content = read_answer(&response.bytes, key, version).unwrap_or_else(Content::Fault);
    response
}

/// What says which request is answered, the first thing in each response.
pub(crate) fn correlation_id(response: &[u8]) -> Option<i32> {
    response.first_chunk().map(|bytes| i32::from_be_bytes(*bytes))
}

/// A broker answers a version of ApiVersions that it does not know in version 0, so that the client can read it.
fn is_unsupported_version(response: &[u8], key: ApiKey) -> bool {
    let error = ErrorCode::UNSUPPORTED_VERSION.0.to_be_bytes();
    key == ApiKey::API_VERSIONS && response.get(4..).is_some_and(|body| body.starts_with(&error))
}

/// Whether bytes are the response to a request of this API and version; the error tells the first ones of it from others.
pub(crate) fn check_response(bytes: Bytes, key: ApiKey, version: i16) -> Result<(), CodecError> {
    let version = if is_unsupported_version(&bytes, key) { 0 } else { version };
    let Ok(codec) = find(key, Direction::Response, version) else {
        return Err(DecodeError::new(DecodeErrorKind::Version(version), 0).into());
    };
    answer_body(bytes, &codec).map_err(CodecError::from).and_then(|(_, body)| codec.bytes_to_json(body)).map(drop)
}

/// The header of a response, and what is behind it.
fn answer_body(bytes: Bytes, codec: &Codec) -> Result<(ResponseHeader, Bytes), DecodeError> {
    let flexible = codec.is_flexible() && codec.key() != ApiKey::API_VERSIONS;
    let mut r = Reader::new(bytes, flexible.into(), flexible);
    let header = r.message().map_err(|e| e.in_message("ResponseHeader", flexible.into()))?;
    Ok((header, r.into_rest()))
}

fn read_answer(bytes: &Bytes, key: ApiKey, version: i16) -> Result<Content, Fault> {
    let codec = find(key, Direction::Response, version)?;
    let flexible = codec.is_flexible() && key != ApiKey::API_VERSIONS;
    let (header, body) = answer_body(bytes.clone(), &codec).map_err(|e| Fault::codec(e.into(), frame::SIZE_LENGTH))?;
    read_body(&codec, body, bytes, |body| write(&header, flexible, body))
}

/// The codec of a message; where there is none, why.
pub(crate) fn find(key: ApiKey, direction: Direction, version: i16) -> Result<Codec, Fault> {
    let Some(name) = key.name() else {
        return Err(Fault::new(format!(
            "API key {} is not one of Kafka 4.4.0's: is this Kafka, or a newer one?",
            key.0
        )));
    };
    Codec::find(name, direction.kind(), version).map_err(|error| match error {
        UnknownMessage::Version { .. } => Fault::new(error.to_string()),
        _ => Fault::new(format!("{name} is an API that ackflow does not read")),
    })
}

fn read_body(
    codec: &Codec,
    body: Bytes,
    whole: &Bytes,
    written: impl FnOnce(&[u8]) -> Result<Bytes, EncodeError>,
) -> Result<Content, Fault> {
    let behind = frame::SIZE_LENGTH + whole.len() - body.len();
    let json = codec.bytes_to_json(body.clone()).map_err(|e| Fault::codec(e, behind))?;
    let again = codec.bytes_to_bytes(body).map_err(|e| Fault::codec(e, behind))?;
    let canonical = written(&again).is_ok_and(|again| again == *whole);
    Ok(Content::Body { json, canonical })
}

/// A header and a body, without the frame's size.
pub(crate) fn write(header: &impl Encode, flexible: bool, body: &[u8]) -> Result<Bytes, EncodeError> {
    let mut w = BytesWriter::new(0, flexible);
    w.message(header);
    let mut bytes: BytesMut = w.finish()?;
    bytes.extend_from_slice(body);
    Ok(bytes.freeze())
}

/// Names an API for people: its name, or its key where it has none here.
pub(crate) fn api_name(key: ApiKey) -> Cow<'static, str> {
    match key.name() {
        Some(name) => Cow::Borrowed(name),
        None => Cow::Owned(key.0.to_string()),
    }
}
