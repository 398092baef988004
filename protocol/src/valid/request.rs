//! Requests of any API.

use bytes::{Bytes, BytesMut};

use super::maker::Maker;
use super::{Input, Valid};
use crate::for_each_api;
use crate::messages::api_versions::ApiVersionsRequest;
use crate::wire::{ApiKey, BytesWriter, Message, Request, RequestHeader, frame};

/// A request of any API in any of its versions, as the bytes that a client writes.
#[derive(Debug, Clone, PartialEq)]
pub struct ValidRequest {
    /// What the request is, and who sends it.
    pub header: RequestHeader,
    /// The request.
    pub body: Bytes,
}

impl ValidRequest {
    /// Chooses an API, one of its versions, and a request.
    pub fn new(data: &[u8]) -> Self {
        Self::of(every_api().as_ref(), data)
    }

    /// Chooses one of these APIs, one of its versions, and a request. Without any that this crate has it is ApiVersions.
    pub fn of(apis: &[ApiKey], data: &[u8]) -> Self {
        Self::choose(apis, &mut Input::new(data))
    }

    /// The same, by the next bytes of `input`.
    pub fn choose(apis: &[ApiKey], input: &mut Input<'_>) -> Self {
        let key = if apis.is_empty() { ApiKey::API_VERSIONS } else { input.pick(apis) };
        macro_rules! request {
            ($($name:ident($request:ty, $response:ty)),* $(,)?) => {
                match key {
                    $(<$request>::KEY => request::<$request>(input),)*
                    _ => request::<ApiVersionsRequest>(input),
                }
            };
        }
        for_each_api!(request)
    }

    /// The request as one frame: size, header, body.
    pub fn frame(&self) -> Bytes {
        let flexible = self.header.request_api_key.request_is_flexible(self.header.request_api_version);
        let room = BytesMut::from(&[0; frame::SIZE_LENGTH][..]);
        let mut w = BytesWriter::new(0, flexible).with_buffer(room);
        w.message(&self.header);
        let mut frame = w.finish().expect("a header with a short client id can be written");
        frame.extend_from_slice(&self.body);
        let size = (frame.len() - frame::SIZE_LENGTH) as u32;
        frame[..frame::SIZE_LENGTH].copy_from_slice(&size.to_be_bytes());
        frame.freeze()
    }
}

fn request<R: Request>(input: &mut Input<'_>) -> ValidRequest {
    let Valid::<R> { version, message } = Valid::choose(input);
    let mut header: RequestHeader = Maker::make(0, false, input);
    header.request_api_key = R::KEY;
    header.request_api_version = version;
    let body = message.to_bytes(version).expect("a valid message can be written");
    ValidRequest { header, body }
}

pub(super) fn every_api() -> impl AsRef<[ApiKey]> {
    macro_rules! keys {
        ($($name:ident($request:ty, $response:ty)),* $(,)?) => { [$(<$request>::KEY),*] };
    }
    for_each_api!(keys)
}
