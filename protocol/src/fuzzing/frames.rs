//! Frames: sizes, headers, and the bodies that they lead to.

use bytes::Bytes;

use super::{bounded, messages::version};
use crate::for_each_api;
use crate::wire::{
    ApiKey, Message, Request, decode_request_header, decode_response, encode_request, encode_response, frame,
};

/// An input of [`frames`]: the API and the version by which frames are read as responses, and the stream of frames.
pub fn frame_seed(key: ApiKey, version: i16, frames: &[u8]) -> Vec<u8> {
    [&[key.0 as u8, version as u8], frames].concat()
}

/// Target `frames`: two bytes choose an API and a version, the rest is a stream of frames as a connection would bring
/// it. Each frame is read as a request of the API that its header names, and as a response of the chosen one.
///
/// # Panics
/// Where a header or a body that was read cannot be written, or reads back as another one.
pub fn frames(data: &[u8]) {
    let data = bounded(data);
    let Some((&[key, version], stream)) = data.split_first_chunk() else { return };
    let mut stream = Bytes::copy_from_slice(stream);
    while let Some(prefix) = stream.first_chunk() {
        let Ok(size) = frame::frame_size(*prefix, data.len()) else { return };
        if stream.len() - frame::SIZE_LENGTH < size {
            return;
        }
        let frame = stream.split_to(frame::SIZE_LENGTH + size).slice(frame::SIZE_LENGTH..);
        request(frame.clone());
        response(ApiKey(key.into()), version, frame);
    }
}

fn request(frame: Bytes) {
    let Ok((header, body)) = decode_request_header(frame, ApiKey::request_is_flexible) else { return };
    let version = header.request_api_version;

    fn round_trip<R: Request>(version: i16, correlation_id: i32, client_id: Option<&str>, body: Bytes) {
        if !R::VERSIONS.contains(&version) {
            return;
        }
        let Ok(request) = R::from_bytes(body, version) else { return };
        let written =
            encode_request(&request, version, correlation_id, client_id).expect("what was read can be written");
        let (header, body) =
            decode_request_header(whole(written), ApiKey::request_is_flexible).expect("what was written can be read");
        assert_eq!((header.request_api_key, header.request_api_version), (R::KEY, version));
        assert_eq!((header.correlation_id, header.client_id.as_deref()), (correlation_id, client_id));
        assert_eq!(R::from_bytes(body, version), Ok(request), "{} v{version}", R::NAME);
    }
    macro_rules! of_api {
        ($($name:ident($request:ty, $response:ty)),* $(,)?) => {
            match header.request_api_key {
                $(<$request>::KEY => {
                    round_trip::<$request>(version, header.correlation_id, header.client_id.as_deref(), body)
                })*
                _ => {}
            }
        };
    }
    for_each_api!(of_api);
}

fn response(key: ApiKey, choice: u8, frame: Bytes) {
    fn round_trip<M: Message>(choice: u8, frame: Bytes) {
        let version = version::<M>(choice);
        let Ok((header, response)) = decode_response::<M>(frame, version) else { return };
        let written = encode_response(&response, version, header.correlation_id).expect("what was read can be written");
        assert_eq!(decode_response::<M>(whole(written), version), Ok((header, response)), "{} v{version}", M::NAME);
    }
    macro_rules! of_api {
        ($($name:ident($request:ty, $response:ty)),* $(,)?) => {
            match key {
                $(<$request>::KEY => round_trip::<$response>(choice, frame),)*
                _ => {}
            }
        };
    }
    for_each_api!(of_api);
}

/// A written frame without its size, which must be that of the rest.
fn whole(frame: Bytes) -> Bytes {
    let prefix = frame.first_chunk().expect("a frame has a size");
    let size = frame::frame_size(*prefix, frame.len()).expect("a written frame is within its own size");
    assert_eq!(size, frame.len() - frame::SIZE_LENGTH);
    frame.slice(frame::SIZE_LENGTH..)
}
