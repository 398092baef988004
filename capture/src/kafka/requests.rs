//! What tells a request from other bytes: from a step of an authentication, from the middle of another frame.

use ackflow_protocol::messages::dynamic::CodecError;
use ackflow_protocol::wire::{ApiKey, DecodeErrorKind, decode_request_header};
use bytes::Bytes;

use super::framer::{PREFIX, Verdict};
use super::message::{Content, Direction, Frame, find, read_request};

/// The shortest request: a header with a null client id.
const SHORTEST_REQUEST: usize = 10;
/// Client ids are checked up to here.
const CLIENT_ID_CHECKED: usize = 64;

/// Reads the requests of one client, one after the other.
#[derive(Debug, Default)]
pub(crate) struct Requests {
    /// The mechanism of an authentication whose steps travel bare.
    bare: Option<String>,
}

impl Requests {
    /// The mechanism of an authentication whose steps travel bare, if the next frame may be one.
    pub(crate) fn mechanism(&self) -> Option<&str> {
        self.bare.as_deref()
    }

    /// Reads the next request, without its size.
    pub(crate) fn read(&mut self, bytes: Bytes) -> Frame {
        if let Some(mechanism) = &self.bare
            && looks_like_request(&bytes, bytes.len()) != Verdict::Frame
        {
            return token(Direction::Request, mechanism, bytes);
        }
        let frame = read_request(bytes);
        self.bare = (frame.api == Some(ApiKey::SASL_HANDSHAKE) && frame.version == Some(0)).then(|| {
            let Content::Body { json, .. } = &frame.content else { return String::new() };
            json["mechanism"].as_str().unwrap_or_default().to_owned()
        });
        frame
    }
}

/// A step of an authentication that travels bare.
pub(crate) fn token(direction: Direction, mechanism: &str, bytes: Bytes) -> Frame {
    Frame::nothing(direction, Content::Token { mechanism: mechanism.to_owned() }, bytes)
}

/// Whether bytes are a request, or the start of one: an API and a version that the codec has, a client id that is text, and
/// a body that can be read if it is all there.
pub(crate) fn looks_like_request(body: &[u8], size: usize) -> Verdict {
    if size < SHORTEST_REQUEST {
        return Verdict::Other;
    }
    let Some((&[k0, k1, v0, v1, c0, c1, c2, c3, l0, l1], rest)) = body.split_first_chunk() else {
        return Verdict::Unclear;
    };
    let (key, version) = (ApiKey(i16::from_be_bytes([k0, k1])), i16::from_be_bytes([v0, v1]));
    let id_length = i16::from_be_bytes([l0, l1]);
    if key.name().is_none() {
        return Verdict::Other;
    }
    let codec = find(key, Direction::Request, version).ok();
    if codec.is_none() && !is_newer_handshake(key, version) {
        return Verdict::Other;
    }
    let in_bounds = id_length >= -1 && i32::from(id_length) <= (size - SHORTEST_REQUEST) as i32;
    if !in_bounds || i32::from_be_bytes([c0, c1, c2, c3]) < 0 {
        return Verdict::Other;
    }
    let id = &rest[..rest.len().min(id_length.max(0) as usize).min(CLIENT_ID_CHECKED)];
    if id.iter().any(u8::is_ascii_control) {
        return Verdict::Other;
    }
    let header = |bytes| decode_request_header(bytes, ApiKey::request_is_flexible);
    let Some(codec) = codec else {
        // Its body has a form of its own, but is never long.
        let is_one = size <= PREFIX && (body.len() < size || header(Bytes::copy_from_slice(body)).is_ok());
        return if is_one { Verdict::Frame } else { Verdict::Other };
    };
    proven(body, size, |bytes| codec.bytes_to_json(header(bytes)?.1).map(drop))
}

/// The first request of a client that is newer than the codec.
pub(crate) fn is_newer_handshake(key: ApiKey, version: i16) -> bool {
    const BEYOND_BELIEF: i16 = 64;
    key == ApiKey::API_VERSIONS && (0..BEYOND_BELIEF).contains(&version)
}

/// Bytes that look right are proven by reading them. Of a frame that is not all there the first bytes are read, and have to
/// end where they end for no other reason than that: not before, and with no length that is beyond the frame.
pub(crate) fn proven(body: &[u8], size: usize, read: impl FnOnce(Bytes) -> Result<(), CodecError>) -> Verdict {
    let there = if body.len() < size { &body[..body.len().min(PREFIX)] } else { body };
    let lacking = size - there.len();
    let fits = match read(Bytes::copy_from_slice(there)) {
        Ok(()) => lacking == 0,
        Err(CodecError::Decode(error)) if lacking > 0 => match error.kind() {
            DecodeErrorKind::Truncated { needed, left } => needed - left <= lacking,
            DecodeErrorKind::Length { length, left } => (0..=(left + lacking) as i64).contains(length),
            _ => false,
        },
        Err(_) => false,
    };
    if fits { Verdict::Frame } else { Verdict::Other }
}
