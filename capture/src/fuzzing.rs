//! Body of a fuzz target, for a fuzzer to feed with bytes (feature `fuzzing`).
//!
//! As the targets of `ackflow_protocol::fuzzing` it returns, panics only where this crate is wrong, and depends on nothing
//! but its input.

mod segments;

use std::io::Read;

use ackflow_protocol::wire::ApiKey;
use ackflow_protocol::wire::frame::SIZE_LENGTH;

use crate::{Capture, CaptureFormat, Content, Encoded, Entry, Event, Expected, FrameStream, Style, encode, hex, line};
pub use segments::segment_seed;

/// The bytes of an input that are looked at.
pub const LONGEST_INPUT: usize = 32 << 10;

/// What the target may hold beyond its input at a time, in bytes.
pub const MEMORY: usize = 16 << 20;

/// What the first byte of an input makes of the rest. The magic numbers of capture files begin with none of them.
mod form {
    pub(super) const REQUESTS: u8 = 0;
    pub(super) const RESPONSES: u8 = 1;
    pub(super) const TEXT: u8 = 2;
    pub(super) const SEGMENTS: u8 = 3;
}

/// An input of [`capture()`]: a stream of requests.
pub fn requests_seed(frames: &[u8]) -> Vec<u8> {
    [&[form::REQUESTS], frames].concat()
}

/// An input of [`capture()`]: a stream of responses of an API, whose key is below 256, in a version.
pub fn responses_seed(key: ApiKey, version: i16, frames: &[u8]) -> Vec<u8> {
    [&[form::RESPONSES, key.0 as u8, version as u8], frames].concat()
}

/// An input of [`capture()`]: hexadecimal digits, or a line of JSON.
pub fn text_seed(text: &str) -> Vec<u8> {
    [&[form::TEXT], text.as_bytes()].concat()
}

/// Target `capture`: a capture file, if it begins as one; else the first byte chooses what the rest is: a stream of
/// requests or of responses, text that may be hexadecimal digits or a line of JSON, or segments of TCP under small limits.
/// Everything in it is decoded, written as lines, and read back.
///
/// # Panics
/// Where a line is not JSON, or one of a frame cannot be encoded, or is encoded as other bytes although the frame is
/// written canonically; where hexadecimal digits are written as others than were read; or where connections hold more
/// than they may.
pub fn capture(data: &[u8]) {
    let data = &data[..data.len().min(LONGEST_INPUT)];
    if let Some(format) = data.first_chunk().and_then(|magic| CaptureFormat::of(*magic)) {
        return file(data, format);
    }
    match data {
        [form::REQUESTS, frames @ ..] => stream(frames, Expected::Requests),
        [form::RESPONSES, key, version, frames @ ..] => {
            stream(frames, Expected::Responses { key: ApiKey((*key).into()), version: (*version).into() });
        }
        [form::TEXT, rest @ ..] => text(rest),
        [form::SEGMENTS, rest @ ..] => segments::segments(rest),
        _ => {}
    }
}

fn file(data: &[u8], format: CaptureFormat) {
    let Ok(mut capture) = Capture::open(data, format, []) else { return };
    let mut out = |entry: Entry| reads_back(&entry);
    while let Ok(true) = capture.next_packet(&mut out) {}
    capture.end(&mut out);
}

fn stream(frames: impl Read, expected: Expected) {
    let mut stream = FrameStream::new(frames, expected);
    while let Ok(Some(frame)) = stream.next_frame() {
        reads_back(&Entry { peers: None, time: None, event: Event::Frame(frame) });
    }
}

fn text(text: &[u8]) {
    let Ok(text) = str::from_utf8(text) else { return };
    if let Some(bytes) = hex::read(text) {
        assert_eq!(hex::read(&hex::write(&bytes)), Some(bytes));
    }
    if let Ok(Encoded::Frame(frame)) = encode(text) {
        let size = (frame.len() - SIZE_LENGTH) as u32;
        assert_eq!(frame.first_chunk(), Some(&size.to_be_bytes()), "{text}");
        stream(&frame[..], Expected::Requests);
    }
}

fn reads_back(entry: &Entry) {
    let masked = line(entry.clone(), Style { records: true, secrets: false }).to_string();
    let shown = line(entry.clone(), Style { records: false, secrets: true }).to_string();
    let Event::Frame(frame) = &entry.event else {
        assert_eq!(encode(&shown), Ok(Encoded::Nothing));
        return;
    };
    let again = encode(&shown).unwrap_or_else(|error| panic!("{error} in {shown}"));
    let is_same = |again: &Encoded| matches!(again, Encoded::Frame(bytes) if bytes[SIZE_LENGTH..] == frame.bytes);
    match &frame.content {
        Content::Body { canonical, .. } => assert_eq!(is_same(&again), *canonical, "{shown}"),
        Content::Fault(fault) if fault.missing.is_some() => assert_eq!(again, Encoded::Nothing),
        Content::Fault(_) | Content::Token { .. } => assert!(is_same(&again), "{} {shown}", hex::write(&frame.bytes)),
    }
    // With secrets masked there is either the same frame or a refusal that says so.
    match encode(&masked) {
        Ok(encoded) => assert_eq!(encoded, again),
        Err(error) => assert!(error.to_string().contains("mask"), "{error} in {masked}"),
    }
}
