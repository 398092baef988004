//! Request and response headers (RequestHeader v1-2, ResponseHeader v0-1).

use bytes::{Bytes, BytesMut};

use super::{
    ApiKey, BytesWriter, Decode, DecodeError, Decoder, Encode, EncodeError, Encoder, Message, Reader, Request,
    SizeWriter, frame,
};

/// What stands before each request body.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RequestHeader {
    /// The API.
    pub request_api_key: ApiKey,
    /// The version of the body.
    pub request_api_version: i16,
    /// Chosen by the client; the response repeats it.
    pub correlation_id: i32,
    /// `client.id`.
    pub client_id: Option<String>,
}

impl RequestHeader {
    /// Header version 2 goes with flexible bodies, 1 with the others.
    pub fn version_for<M: Message>(version: i16) -> i16 {
        if M::is_flexible(version) { 2 } else { 1 }
    }
}

impl Encode for RequestHeader {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.i16("requestApiKey", self.request_api_key.0);
        w.i16("requestApiVersion", self.request_api_version);
        w.i32("correlationId", self.correlation_id);
        w.classic_nullable_string("clientId", self.client_id.as_deref());
    }
}

impl Decode for RequestHeader {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            request_api_key: ApiKey(r.i16("requestApiKey")?),
            request_api_version: r.i16("requestApiVersion")?,
            correlation_id: r.i32("correlationId")?,
            client_id: r.classic_nullable_string("clientId")?,
        })
    }
}

/// What stands before each response body.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ResponseHeader {
    /// The correlation id of the request that is answered.
    pub correlation_id: i32,
}

impl ResponseHeader {
    /// Header version 1 goes with flexible bodies, 0 with the others. ApiVersions always has 0, so that a client
    /// can read the answer to a version that the broker does not know (KIP-511).
    pub fn version_for<M: Message>(version: i16) -> i16 {
        i16::from(M::is_flexible(version) && M::KEY != ApiKey::API_VERSIONS)
    }
}

impl Encode for ResponseHeader {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.i32("correlationId", self.correlation_id);
    }
}

impl Decode for ResponseHeader {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self { correlation_id: r.i32("correlationId")? })
    }
}

/// Writes a request as one frame: size, header, body.
///
/// # Errors
/// [`EncodeError`] where `request` cannot be said in `version`, or has no such version.
pub fn encode_request<R: Request>(
    request: &R,
    version: i16,
    correlation_id: i32,
    client_id: Option<&str>,
) -> Result<Bytes, EncodeError> {
    let (header, flexible) = request_header::<R>(version, correlation_id, client_id);
    frame_of(&header, flexible, request, version)
}

/// Writes a request as one frame in pieces that follow each other: large record sets are not copied, as
/// [`Message::to_pieces`] says.
///
/// # Errors
/// As [`encode_request`].
pub fn encode_request_in_pieces<R: Request>(
    request: &R,
    version: i16,
    correlation_id: i32,
    client_id: Option<&str>,
) -> Result<Vec<Bytes>, EncodeError> {
    let (header, flexible) = request_header::<R>(version, correlation_id, client_id);
    let w = write_frame(&header, flexible, request, version, true)?;
    w.finish_in_pieces().map_err(|e| e.in_message(R::NAME, version))
}

fn request_header<R: Request>(version: i16, correlation_id: i32, client_id: Option<&str>) -> (RequestHeader, bool) {
    let header = RequestHeader {
        request_api_key: R::KEY,
        request_api_version: version,
        correlation_id,
        client_id: client_id.map(str::to_owned),
    };
    (header, RequestHeader::version_for::<R>(version) == 2)
}

/// Writes a response as one frame: size, header, body.
///
/// # Errors
/// [`EncodeError`] where `response` cannot be said in `version`, or has no such version.
pub fn encode_response<M: Message>(response: &M, version: i16, correlation_id: i32) -> Result<Bytes, EncodeError> {
    let flexible = ResponseHeader::version_for::<M>(version) == 1;
    frame_of(&ResponseHeader { correlation_id }, flexible, response, version)
}

/// Reads a response, without its frame size: header, then a body that fills the rest.
///
/// # Errors
/// [`DecodeError`], which names the message, the field and the byte; or the versions, where `version` is none of them.
pub fn decode_response<M: Message>(response: Bytes, version: i16) -> Result<(ResponseHeader, M), DecodeError> {
    // First, because the form of the header depends on it.
    if !M::VERSIONS.contains(&version) {
        return Err(DecodeError::unknown_version::<M>(version));
    }
    let flexible = ResponseHeader::version_for::<M>(version) == 1;
    let mut r = Reader::new(response, i16::from(flexible), flexible);
    let header = r.message().map_err(|e| e.in_message("ResponseHeader", i16::from(flexible)))?;
    Ok((header, M::from_bytes(r.into_rest(), version)?))
}

/// Reads the header of a request, without its frame size; gives the header and the bytes of the body.
///
/// The form of the header depends on API and version, which `flexible` answers: [`ApiKey::request_is_flexible`]
/// for the APIs that this crate knows.
///
/// # Errors
/// [`DecodeError`].
pub fn decode_request_header(
    request: Bytes,
    flexible: impl FnOnce(ApiKey, i16) -> bool,
) -> Result<(RequestHeader, Bytes), DecodeError> {
    let mut peek = Reader::new(request.clone(), 1, false);
    let key = ApiKey(peek.i16("requestApiKey")?);
    let version = peek.i16("requestApiVersion")?;
    let flexible = flexible(key, version);
    let header_version = if flexible { 2 } else { 1 };
    let mut r = Reader::new(request, header_version, flexible);
    let header = r.message().map_err(|e| e.in_message("RequestHeader", header_version))?;
    Ok((header, r.into_rest()))
}

fn frame_of<H: Encode, M: Message>(
    header: &H,
    flexible_header: bool,
    body: &M,
    version: i16,
) -> Result<Bytes, EncodeError> {
    let w = write_frame(header, flexible_header, body, version, false)?;
    w.finish().map(BytesMut::freeze).map_err(|e| e.in_message(M::NAME, version))
}

fn write_frame<H: Encode, M: Message>(
    header: &H,
    flexible_header: bool,
    body: &M,
    version: i16,
    in_pieces: bool,
) -> Result<BytesWriter, EncodeError> {
    M::check_version(version)?;
    let mut of_header = SizeWriter::new(0, flexible_header);
    of_header.message(header);
    let mut of_body = SizeWriter::new(version, M::is_flexible(version));
    of_body.message(body);
    let (of_body, of_records) = of_body.finish_with_records().map_err(|e| e.in_message(M::NAME, version))?;
    let length = of_header.finish()? + of_body;
    let Ok(prefix) = i32::try_from(length) else {
        return Err(EncodeError::too_long("frame", length).in_message(M::NAME, version));
    };
    let left_apart = if in_pieces { of_records } else { 0 };
    let mut buf = BytesMut::with_capacity(frame::SIZE_LENGTH + length - left_apart);
    buf.extend_from_slice(&prefix.to_be_bytes());
    let mut w = BytesWriter::new(0, flexible_header).with_buffer(buf);
    w.message(header);
    let mut w = BytesWriter::new(version, M::is_flexible(version)).with_buffer(w.finish()?);
    if in_pieces {
        w = w.in_pieces();
    }
    w.message(body);
    Ok(w)
}
