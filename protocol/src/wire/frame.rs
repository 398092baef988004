//! Frames: a 4-byte big-endian size, then that many bytes.

use super::{DecodeError, DecodeErrorKind};

/// The largest frame that a client takes by default: well above `fetch.max.bytes` of 50 MiB, because a broker may
/// exceed that by one batch.
pub const DEFAULT_MAX_FRAME: usize = 100 << 20;

/// The largest frame taken before the peer is authenticated.
pub const MAX_UNAUTHENTICATED_FRAME: usize = 512 << 10;

/// The bytes that a frame's size takes.
pub const SIZE_LENGTH: usize = 4;

/// Checks a frame's size, before anything is allocated for it.
///
/// # Errors
/// [`DecodeErrorKind::Frame`] where the size is not in `1..=limit`; the error says so where the bytes look like
/// another protocol.
pub fn frame_size(prefix: [u8; SIZE_LENGTH], limit: usize) -> Result<usize, DecodeError> {
    let size = i32::from_be_bytes(prefix);
    match usize::try_from(size) {
        Ok(length) if (1..=limit).contains(&length) => Ok(length),
        _ => Err(DecodeError::new(DecodeErrorKind::Frame { size, limit, hint: hint(prefix) }, 0).in_field("frame")),
    }
}

/// What a size that makes no sense is likely to be.
fn hint(prefix: [u8; SIZE_LENGTH]) -> &'static str {
    match &prefix {
        b"HTTP" => "; the peer speaks HTTP: is this the port of a Kafka listener?",
        b"GET " | b"POST" | b"PUT " | b"HEAD" => "; the peer sends HTTP requests: is it a Kafka client?",
        // TLS records: 0x15 alert, 0x16 handshake, then version 3.x.
        [0x15 | 0x16, 3, ..] => "; the peer speaks TLS: is this an SSL listener (security.protocol)?",
        _ => "",
    }
}
