//! The vectors that Kafka's classes wrote, and that the check finds what is wrong with a line.

use std::collections::BTreeSet;

use serde_json::json;

use super::*;
use crate::messages::embedded::Embedded;
use crate::wire::{JsonReader, JsonWriter, Message, Response};
use crate::{for_each_api, for_each_embedded};

const FILES: [(&str, &str); 2] = [
    ("core.jsonl", include_str!("../../../testdata/vectors/core.jsonl")),
    ("rest.jsonl", include_str!("../../../testdata/vectors/rest.jsonl")),
];

/// The vectors that are checked in, each with the place that it stands at.
fn vectors() -> impl Iterator<Item = (String, &'static str)> {
    FILES.iter().flat_map(|(file, text)| text.lines().enumerate().map(move |(i, v)| (format!("{file}:{}", i + 1), v)))
}

fn parsed(line: &str) -> Map<String, Value> {
    serde_json::from_str(line).unwrap()
}

fn bytes_of(line: &Map<String, Value>) -> Vec<u8> {
    unhex(line["hex"].as_str().unwrap()).unwrap().to_vec()
}

/// The line with other bytes.
fn with_bytes(line: &Map<String, Value>, bytes: &[u8]) -> String {
    let mut line = line.clone();
    line["hex"] = bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>().into();
    Value::Object(line).to_string()
}

/// The line with one part replaced.
fn with(line: &str, part: &str, value: Value) -> String {
    let mut line = parsed(line);
    line[part] = value;
    Value::Object(line).to_string()
}

fn error(line: &str) -> String {
    check_line(line).unwrap_err().to_string()
}

/// A small line by hand.
fn heartbeat() -> String {
    let json = json!({
        "throttleTimeMs": 0, "errorCode": 0, "errorMessage": null, "memberId": "m", "memberEpoch": 1,
        "heartbeatIntervalMs": 5,
        "assignment": {"topicPartitions": [{"topicId": "AAAAAAAAAAAAAAAAAAAAAQ", "partitions": [0, 1]}]},
    });
    let fields = ["00000000", "0000", "00", "026d", "00000001", "00000005"];
    let assignment = ["01", "02", "00000000000000000000000000000001", "03", "00000000", "00000001", "00", "00"];
    let hex = [&fields[..], &assignment, &["00"]].concat().concat();
    json!({"api": "ShareGroupHeartbeat", "kind": "response", "version": 1, "key": 76, "json": json, "hex": hex})
        .to_string()
}

#[test]
fn every_vector_holds() {
    for (place, line) in vectors() {
        if let Err(e) = check_line(line) {
            panic!("{place}: {e}");
        }
    }
}

#[test]
fn vectors_cover_every_message_in_every_version() {
    let checked = |line| check_line(line).map(|c| (c.name, c.version)).unwrap();
    let have: BTreeSet<(&str, i16)> = vectors().map(|(_, line)| checked(line)).collect();
    let mut want: BTreeSet<_> =
        BTreeSet::from([("RequestHeader", 1), ("RequestHeader", 2), ("ResponseHeader", 0), ("ResponseHeader", 1)]);
    macro_rules! add {
        ($($name:ident($request:ty, $response:ty)),* $(,)?) => {$(
            want.extend(<$request>::VERSIONS.map(|version| (<$request>::NAME, version)));
            want.extend(<$response>::VERSIONS.map(|version| (<$response>::NAME, version)));
        )*};
    }
    for_each_api!(add);
    macro_rules! add_embedded {
        ($($name:ident($type:ty)),* $(,)?) => {$(
            want.extend(<$type>::VERSIONS.map(|version| (<$type>::NAME, version)));
        )*};
    }
    for_each_embedded!(add_embedded);
    // Kafka does not know the APIs that are drafts.
    want.retain(|(name, _)| !name.starts_with("TxnShareAcknowledge"));
    // Not both sets: what is missing, and what is too much.
    let without = |all: &BTreeSet<(&'static str, i16)>, others| all.difference(others).copied().collect::<Vec<_>>();
    assert_eq!(
        (without(&want, &have), without(&have, &want)),
        (vec![], vec![]),
        "without vectors, and unknown: see docs/protocol.md"
    );
}

#[test]
fn every_response_that_says_how_long_the_client_is_throttled_is_heard() {
    let mut heard = 0;
    macro_rules! hear {
        ($($name:ident($request:ty, $response:ty)),* $(,)?) => {$(
            let version = *<$response>::VERSIONS.end();
            let mut json = JsonWriter::to_json(&<$response>::default(), version).unwrap();
            if let Some(time) = json.get_mut("throttleTimeMs") {
                *time = 1_234.into();
                let response: $response = JsonReader::from_json(&json, version).unwrap();
                assert_eq!(response.throttle_time_ms(), 1_234, "{}", <$response>::NAME);
                assert!(<$response>::VERSIONS.contains(&<$response>::THROTTLES_SINCE) || <$response>::THROTTLES_SINCE == 0);
                heard += 1;
            }
        )*};
    }
    for_each_api!(hear);
    assert!(heard > 50, "{heard}");
}

#[test]
fn one_flipped_byte_in_any_vector_is_found() {
    for (i, (place, line)) in vectors().enumerate() {
        let line = parsed(line);
        let bytes = bytes_of(&line);
        // Every byte of short vectors, one of each long one.
        let flipped = if bytes.len() <= 32 { 0..bytes.len() } else { i * 31 % bytes.len()..i * 31 % bytes.len() + 1 };
        for at in flipped {
            for bit in [0x01, 0x80] {
                let mut bytes = bytes.clone();
                bytes[at] ^= bit;
                let checked = check_line(&with_bytes(&line, &bytes));
                assert!(checked.is_err(), "{place}, byte {at} xor {bit:02x}: {checked:?}");
            }
        }
    }
}

#[test]
fn shortened_and_lengthened_vectors_are_found() {
    for (_, line) in vectors() {
        let line = parsed(line);
        let bytes = bytes_of(&line);
        let step = bytes.len() / 12 + 1;
        for end in (0..bytes.len()).step_by(step) {
            assert!(matches!(
                check_line(&with_bytes(&line, &bytes[..end])),
                Err(VectorError::Codec { input: "hex", .. })
            ));
        }
        assert!(error(&with_bytes(&line, &[&bytes[..], &[0]].concat())).contains("followed by 1 bytes"));
    }
}

#[test]
fn good_lines_say_what_they_proved() {
    let checked = check_line(&heartbeat()).unwrap();
    assert_eq!(checked, Checked { name: "ShareGroupHeartbeatResponse", kind: Kind::Response, version: 1, bytes: 47 });
}

#[test]
fn differing_field_is_named() {
    let assignment = json!({"topicPartitions": [{"topicId": "AAAAAAAAAAAAAAAAAAAAAQ", "partitions": [0, 2]}]});
    let mut json = parsed(&heartbeat())["json"].clone();
    json["assignment"] = assignment;
    assert_eq!(
        error(&with(&heartbeat(), "json", json)),
        "ShareGroupHeartbeatResponse v1: assignment.topicPartitions[0].partitions[1] is 1 in the bytes and 2 in the JSON"
    );
    let mut json = parsed(&heartbeat())["json"].clone();
    json["surplus"] = json!(true);
    assert_eq!(
        error(&with(&heartbeat(), "json", json)),
        "ShareGroupHeartbeatResponse v1: surplus is absent in the bytes and true in the JSON"
    );
}

#[test]
fn differing_byte_is_named() {
    // An unknown tag is skipped on reading, so the JSON agrees and the bytes do not.
    let line = parsed(&heartbeat());
    let mut bytes = bytes_of(&line);
    bytes.truncate(46);
    bytes.extend([1, 9, 0]);
    assert_eq!(
        error(&with_bytes(&line, &bytes)),
        "ShareGroupHeartbeatResponse v1: read from json and written again, byte 46 is 00 instead of 01"
    );
}

#[test]
fn malformed_lines_say_what_is_wrong() {
    let line = heartbeat();
    assert!(error("{").starts_with("not a JSON object: "));
    assert!(error("[]").starts_with("not a JSON object: "));
    assert_eq!(error("{}"), r#""api" is missing, or is not a string"#);
    assert_eq!(error(&with(&line, "version", json!(40_000))), r#""version" is missing, or is not an int16"#);
    assert_eq!(error(&with(&line, "hex", json!("0"))), r#""hex" is missing, or is not hexadecimal"#);
    assert_eq!(error(&with(&line, "hex", json!("é0"))), r#""hex" is missing, or is not hexadecimal"#);
    assert_eq!(
        error(&with(&line, "kind", json!("reply"))),
        r#"kind "reply" is none of request, response, header, data"#
    );
    assert_eq!(error(&with(&line, "version", json!(0))), "ShareGroupHeartbeatResponse has no version 0; it has 1 to 1");
    assert_eq!(error(&with(&line, "key", json!(77))), "ShareGroupHeartbeatResponse has the key 76, the line says 77");
    let unknown = error(&with(&line, "api", json!("ShareFetsch")));
    assert_eq!(unknown, r#"api "ShareFetsch" has no response here; did you mean ShareFetch?"#);
    let unknown = error(&with(&line, "api", json!("Nothing")));
    assert!(unknown.starts_with(r#"api "Nothing" has no response here; known are AddOffsetsToTxn, "#), "{unknown}");
    assert_eq!(
        error(&with(&line, "kind", json!("header"))),
        r#"api "ShareGroupHeartbeat" has no header here; known are RequestHeader, ResponseHeader"#
    );
    assert_eq!(
        error(&with(&line, "hex", json!("00"))),
        "hex: ShareGroupHeartbeatResponse v1: throttleTimeMs needs 4 bytes, 1 are left (byte 0)"
    );
}
