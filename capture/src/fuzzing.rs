//! Body of a fuzz target, for a fuzzer to feed with bytes (feature `fuzzing`).
//!
//! As the targets of `ackflow_protocol::fuzzing` it returns, panics only where this crate is wrong, and depends on nothing
//! but its input.

use crate::{Capture, CaptureFormat, Content, Encoded, Entry, Event, Style, encode, hex, line};

/// The bytes of an input that are looked at.
pub const LONGEST_INPUT: usize = 32 << 10;

/// What the target may hold beyond its input at a time, in bytes.
pub const MEMORY: usize = 16 << 20;

/// Target `capture`: a capture file, of the format that its first bytes say. Everything in it is decoded, written as lines,
/// and read back.
///
/// # Panics
/// Where a line of a frame cannot be encoded, or is encoded as other bytes although the frame is written canonically.
pub fn capture(data: &[u8]) {
    let data = &data[..data.len().min(LONGEST_INPUT)];
    let Some(format) = data.first_chunk().and_then(|magic| CaptureFormat::of(*magic)) else { return };
    let Ok(mut capture) = Capture::open(data, format, []) else { return };
    let mut out = |entry: Entry| reads_back(&entry);
    while let Ok(true) = capture.next_packet(&mut out) {}
    capture.end(&mut out);
}

fn reads_back(entry: &Entry) {
    let masked = line(entry.clone(), Style::default()).to_string();
    let shown = line(entry.clone(), Style { records: false, secrets: true }).to_string();
    let Event::Frame(frame) = &entry.event else {
        assert_eq!(encode(&shown), Ok(Encoded::Nothing));
        return;
    };
    let again = encode(&shown).unwrap_or_else(|error| panic!("{error} in {shown}"));
    let is_same = |again: &Encoded| matches!(again, Encoded::Frame(bytes) if bytes[4..] == frame.bytes);
    match &frame.content {
        Content::Body { canonical, .. } => assert_eq!(is_same(&again), *canonical, "{shown}"),
        Content::Fault(fault) if fault.missing.is_some() => assert_eq!(again, Encoded::Nothing),
        Content::Fault(_) | Content::Token { .. } => assert!(is_same(&again), "{} {shown}", hex::write(&frame.bytes)),
    }
    // With secrets masked there is either the same frame or a refusal that says so.
    match encode(&masked) {
        Ok(encoded) => assert_eq!(encoded, again),
        Err(error) => assert!(error.to_string().contains("mask"), "{error}"),
    }
}
