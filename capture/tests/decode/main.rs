//! Captures that the tests make themselves, byte by byte, and what is read out of them.

#![expect(clippy::unwrap_used, reason = "helpers of tests may panic like tests")]

#[path = "../../../protocol/tests/support/counting.rs"]
mod counting;
mod early;
mod file;
mod files;
mod hostile;
mod kafka;
mod packet;
mod real;
mod round_trip;
mod secrets;
mod session;
mod streams;

use ackflow_capture::{Capture, CaptureFormat, Entry, FileError, Style, Summary, line};
use serde_json::Value;

/// Decodes a capture file whole.
pub(crate) fn decode_with(file: &[u8], ports: &[u16]) -> (Vec<Entry>, Summary, Result<(), FileError>) {
    let format = CaptureFormat::of(*file.first_chunk().unwrap()).unwrap();
    let mut capture = Capture::open(file, format, ports.iter().copied()).unwrap();
    let mut entries = Vec::new();
    let result = loop {
        match capture.next_packet(&mut |entry| entries.push(entry)) {
            Ok(true) => {}
            Ok(false) => break Ok(()),
            Err(error) => break Err(error),
        }
    };
    capture.end(&mut |entry| entries.push(entry));
    (entries, capture.summary().clone(), result)
}

/// Decodes a capture file that is whole and has nothing in it to complain about.
pub(crate) fn decode(file: &[u8]) -> Vec<Entry> {
    let (entries, _, result) = decode_with(file, &[]);
    result.unwrap();
    entries
}

/// The lines of entries, with secrets.
pub(crate) fn lines(entries: &[Entry]) -> Vec<Value> {
    entries.iter().map(|entry| line(entry.clone(), Style { records: false, secrets: true })).collect()
}

/// Lines without their time, which depends on when which part of a frame was captured.
pub(crate) fn timeless(entries: &[Entry]) -> Vec<Value> {
    let mut lines = lines(entries);
    lines.iter_mut().for_each(|line| drop(line.as_object_mut().unwrap().remove("time")));
    lines
}

/// What lines are about, shortly: `request ApiVersions 1`, `skipped 17`, `error`.
pub(crate) fn gist(entries: &[Entry]) -> Vec<String> {
    lines(entries)
        .iter()
        .map(|line| {
            let word = |name: &str| line[name].as_str().unwrap_or("?").to_owned();
            let number = |name: &str| line[name].as_u64().unwrap_or(0);
            if line.get("reason").is_some() {
                format!("{} skipped {} missing {}", word("direction"), number("skipped"), number("missing"))
            } else if line.get("error").is_some() {
                format!("{} {} error", word("direction"), word("api"))
            } else if line.get("token").is_some() {
                format!("{} token", word("direction"))
            } else {
                format!("{} {} {}", word("direction"), word("api"), line["correlationId"])
            }
        })
        .collect()
}
