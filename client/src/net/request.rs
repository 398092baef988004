//! Requests as frames, and frames as their answers, in the version that both sides speak.

use std::ops::RangeInclusive;

use ackflow_protocol::wire::{
    ApiKey, EncodeErrorKind, Request, ResponseHeader, decode_response, encode_request_in_pieces,
};
use bytes::Bytes;

use super::negotiate::Versions;
use crate::error::{ClientError, ErrorKind};

/// Of a request that will do in every version.
pub(super) const ANY_VERSION: RangeInclusive<i16> = 0..=i16::MAX;

/// The newest of the `wanted` versions of a request that both sides speak.
///
/// # Errors
/// [`ErrorKind::UnsupportedVersion`] where there is none.
pub(super) fn agreed<R: Request>(versions: &Versions, wanted: &RangeInclusive<i16>) -> Result<i16, ClientError> {
    let agreed = versions.agreed_until(R::KEY, *wanted.end()).filter(|version| wanted.contains(version));
    agreed.ok_or_else(|| versions.unsupported::<R>(*wanted.start()))
}

/// A request that is ready to be sent.
#[derive(Debug)]
pub(super) struct Outgoing {
    pub(super) api: ApiKey,
    pub(super) version: i16,
    pub(super) correlation_id: i32,
    /// In pieces.
    pub(super) frame: Vec<Bytes>,
}

/// A request as a frame.
///
/// # Errors
/// [`ErrorKind::UnsupportedVersion`] where the version lacks a field that is set, [`ErrorKind::Invalid`] for what is too long for it.
pub(super) fn write<R: Request>(
    request: &R,
    version: i16,
    correlation_id: i32,
    client_id: &str,
) -> Result<Outgoing, ClientError> {
    let frame = encode_request_in_pieces(request, version, correlation_id, Some(client_id)).map_err(|error| {
        let kind = match error.kind() {
            EncodeErrorKind::TooLong(_) | EncodeErrorKind::TooMuchJson(_) => ErrorKind::Invalid,
            _ => ErrorKind::UnsupportedVersion,
        };
        ClientError::new(kind, format!("sending {} v{version}", R::NAME), error.to_string())
    })?;
    Ok(Outgoing { api: R::KEY, version, correlation_id, frame })
}

/// The answer in a frame.
///
/// # Errors
/// [`ErrorKind::Malformed`].
pub(super) fn read<R: Request>(frame: Bytes, version: i16) -> Result<(ResponseHeader, R::Response), ClientError> {
    decode_response(frame, version).map_err(|error| {
        ClientError::new(ErrorKind::Malformed, format!("reading the answer to {}", R::NAME), error.to_string())
    })
}
