//! Messages: what can be read can be written, and reads back as the same.

use bytes::Bytes;

use super::bounded;
use crate::messages::embedded::Embedded;
use crate::wire::{ApiKey, JsonReader, JsonWriter, Message};
use crate::{for_each_api, for_each_embedded};

/// What the bytes of an input of [`messages`] are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// The body of a message.
    Bytes,
    /// Its JSON.
    Json,
}

/// The message that an input of [`messages`] is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Selected {
    /// The request of an API.
    Request(ApiKey),
    /// The response of an API.
    Response(ApiKey),
    /// An [`Embedded`] struct by its place in `for_each_embedded!`; its version stands in its bytes.
    Embedded(u8),
}

const RESPONSE: u8 = 1;
const JSON: u8 = 2;
const EMBEDDED: u8 = 4;

/// An input of [`messages`]: which message, its key (all that Kafka has are below 256), its version, the body.
pub fn message_seed(selected: Selected, form: Form, version: i16, body: &[u8]) -> Vec<u8> {
    let (kind, key) = match selected {
        Selected::Request(key) => (0, key.0 as u8),
        Selected::Response(key) => (RESPONSE, key.0 as u8),
        Selected::Embedded(place) => (EMBEDDED, place),
    };
    let form = if form == Form::Json { JSON } else { 0 };
    [&[kind | form, key, version as u8], body].concat()
}

/// Target `messages`: three bytes choose one message of one API in one version, or an embedded struct, and whether the
/// rest is its bytes or its JSON; any other choice is passed over. What [`Reader`](crate::wire::Reader) lets a message take
/// in memory is more than any whole message of this length wants: none that was read is refused when it is read again.
///
/// # Panics
/// Where a message that was read cannot be written, is written with another size than it was said to have, or reads
/// back as another message, from bytes or from JSON.
pub fn messages(data: &[u8]) {
    let Some((&[kind, key, version], body)) = bounded(data).split_first_chunk() else { return };
    let form = if kind & JSON == 0 { Form::Bytes } else { Form::Json };
    if kind & EMBEDDED != 0 {
        return embedded(key, Bytes::copy_from_slice(body));
    }
    let (key, is_response) = (ApiKey(key.into()), kind & RESPONSE != 0);

    macro_rules! of_api {
        ($($name:ident($request:ty, $response:ty)),* $(,)?) => {
            match key {
                $(<$request>::KEY if is_response => message::<$response>(version, form, body),)*
                $(<$request>::KEY => message::<$request>(version, form, body),)*
                _ => {}
            }
        };
    }
    for_each_api!(of_api);
}

/// The version that a byte stands for: itself, if there is such a version; after the newest follows the oldest again.
pub(super) fn version<M: Message>(byte: u8) -> i16 {
    let (first, last) = M::VERSIONS.into_inner();
    first + (i16::from(byte) - first).rem_euclid(last - first + 1)
}

fn message<M: Message>(choice: u8, form: Form, body: &[u8]) {
    let version = version::<M>(choice);
    match form {
        Form::Bytes => {
            let Ok(message) = M::from_bytes(Bytes::copy_from_slice(body), version) else { return };
            let bytes = message.to_bytes(version).expect("what was read from bytes can be written");
            reads_back(&message, version, bytes);
        }
        Form::Json => {
            let Ok(json) = serde_json::from_slice(body) else { return };
            let Ok(message) = JsonReader::from_json::<M>(&json, version) else { return };
            // JSON can say more than bytes can: a string of 32,768 bytes, for one.
            let Ok(bytes) = message.to_bytes(version) else { return };
            // It can also say what another version has and this one may ignore.
            let said = M::from_bytes(bytes.clone(), version).expect("what was written can be read");
            assert_eq!(said.to_bytes(version).as_ref(), Ok(&bytes), "{} v{version}", M::NAME);
            reads_back(&said, version, bytes);
        }
    }
}

/// `bytes` are what `message` was written as.
fn reads_back<M: Message>(message: &M, version: i16, bytes: Bytes) {
    assert_eq!(message.size(version), Ok(bytes.len()), "{} v{version}", M::NAME);
    let read = M::from_bytes(bytes, version).expect("what was written can be read");
    assert_eq!(&read, message, "{} v{version}", M::NAME);
    drop(read);
    let json = JsonWriter::to_json(message, version).expect("what can be written as bytes can be written as JSON");
    let read: M = JsonReader::from_json(&json, version).expect("what was written as JSON can be read");
    assert_eq!(&read, message, "{} v{version} as JSON", M::NAME);
}

fn embedded(place: u8, bytes: Bytes) {
    fn round_trip<T: Embedded>(bytes: Bytes) {
        let Ok((version, value)) = T::from_versioned_bytes(bytes) else { return };
        let version = version.min(*T::VERSIONS.end());
        let written = value.to_versioned_bytes(version).expect("what was read from bytes can be written");
        assert_eq!(T::from_versioned_bytes(written), Ok((version, value)), "{}", T::NAME);
    }
    macro_rules! round_trips {
        ($($name:ident($type:ty)),* $(,)?) => { [$(round_trip::<$type>),*] };
    }
    let all: [fn(Bytes); _] = for_each_embedded!(round_trips);
    if let Some(round_trip) = all.get(usize::from(place)) {
        round_trip(bytes);
    }
}
