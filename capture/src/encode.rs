//! The way back: frames from lines of JSON, those that [`line`](crate::line()) makes and those written by hand.
//!
//! By hand a line needs `direction`, `api` (or `apiKey`), `version` and `body`; without `correlationId` it is 0, without
//! `clientId` null. It may as well be several lines, as of `ackflow wire decode --pretty`.
//!
//! Kafka's own converters pass over fields that they do not know. Here they are refused, in the line and in the body, and so
//! is a name that stands twice: what somebody has written would be lost without a word.

use std::io::BufRead;

use ackflow_protocol::messages::dynamic::CodecError;
use ackflow_protocol::nearest::nearest;
use ackflow_protocol::wire::frame::SIZE_LENGTH;
use ackflow_protocol::wire::{ApiKey, RequestHeader, ResponseHeader};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use bytes::{BufMut, Bytes, BytesMut};
use serde_json::{Map, Value};

use crate::api::{api, codec, versions};
use crate::kafka::message::{Direction, write};
use crate::objects::Objects;
use crate::{records, secrets};

/// All that a line may have.
const PARTS: [&str; 20] = [
    "connection",
    "time",
    "direction",
    "apiKey",
    "api",
    "version",
    "askedVersion",
    "correlationId",
    "clientId",
    "body",
    "note",
    "sasl",
    "token",
    "error",
    "field",
    "offset",
    "hex",
    "skipped",
    "missing",
    "reason",
];

/// What a line became.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Encoded {
    /// A frame with its size.
    Frame(Bytes),
    /// A frame with its size, of a line whose `note` says that the frame it comes from was written otherwise: what that one
    /// had in tagged fields that are not known here is lost.
    Other(Bytes),
    /// Nothing, because the line tells of bytes that are no frame or not all there.
    Nothing,
}

/// Why a line is no frame. The part of the line at fault comes first.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct LineError(String);

fn wrong<T>(message: impl Into<String>) -> Result<T, LineError> {
    Err(LineError(message.into()))
}

/// Writes the frame of a line.
///
/// # Errors
/// [`LineError`], which names the part of the line that is missing or wrong.
pub fn encode(line: &str) -> Result<Encoded, LineError> {
    let mut stream = EncodeStream::new(line.as_bytes());
    let (_, encoded) = stream.next_line().ok_or_else(|| LineError("is not a JSON object: it is empty".into()))?;
    let encoded = encoded?;
    match stream.next_line() {
        Some((line, _)) => wrong(format!("is followed by something else on line {line}")),
        None => Ok(encoded),
    }
}

/// Writes the frames of lines, or of JSON objects that take several lines.
pub struct EncodeStream<R> {
    objects: Objects<R>,
}

impl<R: BufRead> EncodeStream<R> {
    /// Of lines that are read as they are asked for.
    pub fn new(reader: R) -> Self {
        Self { objects: Objects::new(reader) }
    }

    /// The number of the next line that holds anything, and what it became; `None` at the end. After an error of JSON's the
    /// next line may be the middle of something.
    pub fn next_line(&mut self) -> Option<(u64, Result<Encoded, LineError>)> {
        let (number, object) = self.objects.next_object()?;
        let object = object.map_err(|error| match error.is_io() {
            true => LineError(format!("cannot be read: {error}")),
            false => LineError(format!("is not a JSON object: {error}")),
        });
        Some((number, object.and_then(encode_object)))
    }
}

fn encode_object(mut line: Map<String, Value>) -> Result<Encoded, LineError> {
    refuse_unknown(&line)?;
    let said: Vec<&str> = ["body", "hex", "token"].into_iter().filter(|name| line.contains_key(*name)).collect();
    if let [first, second, ..] = said[..] {
        return wrong(format!("has both {first} and {second}, each of which is the frame: leave one out"));
    }
    if line.contains_key("body") {
        let frame = message(&mut line).and_then(sized)?;
        return Ok(if line.contains_key("note") { Encoded::Other(frame) } else { Encoded::Frame(frame) });
    }
    if let Some(hex) = line.get("hex") {
        return raw(hex).map(Encoded::Frame);
    }
    if let Some(token) = line.get("token") {
        let Some(text) = token.as_str() else { return wrong("token is not a string") };
        refuse_mask("token", text)?;
        let bytes = BASE64_STANDARD.decode(text).map_err(|e| LineError(format!("token is not base64: {e}")))?;
        return sized(bytes.into()).map(Encoded::Frame);
    }
    if ["skipped", "missing"].iter().any(|name| line.contains_key(*name)) {
        return Ok(Encoded::Nothing);
    }
    wrong("has neither body nor hex; a frame needs direction, api, version and body")
}

fn refuse_unknown(line: &Map<String, Value>) -> Result<(), LineError> {
    let Some(name) = line.keys().find(|name| !PARTS.contains(&name.as_str())) else { return Ok(()) };
    let remedy = match nearest(name, PARTS) {
        Some(near) => format!("did you mean {near:?}?"),
        None => "what a message says belongs into its body".to_owned(),
    };
    wrong(format!("has {name:?}, which is no part of a line; {remedy}"))
}

fn message(line: &mut Map<String, Value>) -> Result<Bytes, LineError> {
    let direction = match line.get("direction").and_then(Value::as_str) {
        Some("request") => Direction::Request,
        Some("response") => Direction::Response,
        _ => return wrong("direction is neither \"request\" nor \"response\""),
    };
    let key = key(line)?;
    let version = number(line, "version", None)
        .map_err(|LineError(error)| LineError(format!("{error}{}", versions(key, direction))))?;
    let codec = codec(key, direction, version).map_err(|e| LineError(e.to_string()))?;
    let correlation_id = number(line, "correlationId", Some(0))?;
    let client_id = match line.get("clientId") {
        Some(_) if direction == Direction::Response => {
            return wrong("has clientId, which only requests have; leave it out");
        }
        None | Some(Value::Null) => None,
        Some(Value::String(id)) => Some(id.clone()),
        Some(_) => return wrong("clientId is neither a string nor null"),
    };
    let body = line.get_mut("body").ok_or_else(|| LineError("body is missing".into()))?;
    if let Some(field) = secrets::masked_field(codec.key(), direction, body) {
        return wrong(format!("body has a masked {field}: decode with --show-secrets"));
    }
    if records::has_records(codec.key(), direction) {
        records::hide(body);
    }
    let body = codec.strict_json_to_bytes(body).map_err(|error| match error {
        CodecError::Decode(error) => {
            let path = error.path();
            let dot = if path.is_empty() { "" } else { "." };
            LineError(format!("body{dot}{path} {} ({} v{version})", error.kind(), codec.name()))
        }
        CodecError::Encode(error) => LineError(format!("body: {error}")),
    })?;
    let flexible = codec.is_flexible();
    match direction {
        Direction::Request => {
            let header =
                RequestHeader { request_api_key: codec.key(), request_api_version: version, correlation_id, client_id };
            write(&header, flexible, &body)
        }
        Direction::Response => {
            write(&ResponseHeader { correlation_id }, flexible && codec.key() != ApiKey::API_VERSIONS, &body)
        }
    }
    .map_err(|e| LineError(e.to_string()))
}

/// The API by its name or by its key; both must agree.
fn key(line: &Map<String, Value>) -> Result<ApiKey, LineError> {
    let find = |text: &str| api(text).map_err(|e| LineError(e.to_string()));
    let named = match line.get("api") {
        None => None,
        Some(Value::String(name)) => Some(find(name)?),
        Some(key @ Value::Number(_)) => Some(find(&key.to_string())?),
        Some(_) => return wrong("api is neither a name nor a key"),
    };
    if !line.contains_key("apiKey") {
        return named.ok_or_else(|| LineError("api is missing: name one, such as \"Metadata\"".into()));
    }
    let key = find(&number::<i16>(line, "apiKey", None)?.to_string())?;
    match named {
        Some(named) if named != key => wrong(format!("api is {named}, but apiKey {} is {key}", key.0)),
        _ => Ok(key),
    }
}

fn number<T: TryFrom<i64>>(line: &Map<String, Value>, name: &str, default: Option<T>) -> Result<T, LineError> {
    let bits = size_of::<T>() * 8;
    match (line.get(name), default) {
        (None, Some(default)) => Ok(default),
        (None, None) => wrong(format!("{name} is missing")),
        (Some(value), _) => value
            .as_i64()
            .and_then(|value| value.try_into().ok())
            .ok_or_else(|| LineError(format!("{name} is {value}, not a whole number of {bits} bits"))),
    }
}

/// A frame that is given as it is, with its size.
fn raw(hex: &Value) -> Result<Bytes, LineError> {
    let Some(text) = hex.as_str() else { return wrong("hex is not a string") };
    refuse_mask("hex", text)?;
    let Some(bytes) = crate::hex::read(text) else {
        return wrong("hex is not hexadecimal digits, two a byte");
    };
    let Some((prefix, rest)) = bytes.split_first_chunk() else {
        return wrong(format!("hex has {} bytes, and a frame begins with its size in {SIZE_LENGTH}", bytes.len()));
    };
    let (size, rest) = (i32::from_be_bytes(*prefix), rest.len());
    if usize::try_from(size) != Ok(rest) {
        return wrong(format!("hex begins with the size {size}, but {rest} bytes follow"));
    }
    Ok(bytes)
}

fn refuse_mask(part: &str, text: &str) -> Result<(), LineError> {
    if secrets::is_masked(text) {
        return wrong(format!("{part} is masked: decode with --show-secrets"));
    }
    Ok(())
}

fn sized(frame: Bytes) -> Result<Bytes, LineError> {
    let Ok(size) = i32::try_from(frame.len()) else { return wrong("body is larger than a frame can be") };
    let mut bytes = BytesMut::with_capacity(SIZE_LENGTH + frame.len());
    bytes.put_i32(size);
    bytes.put(frame);
    Ok(bytes.freeze())
}
