//! What frames say: pairing, versions, and frames that cannot be read.

use ackflow_capture::{Encoded, Entry, Style, encode, line};
use ackflow_protocol::messages::api_versions::{ApiVersion, ApiVersionsResponse};
use ackflow_protocol::messages::metadata::{MetadataRequest, MetadataResponse};
use ackflow_protocol::messages::share_fetch::{PartitionData, ShareFetchResponse, ShareFetchableTopicResponse};
use ackflow_protocol::records::{BatchBuilder, BatchOptions, Compression, Header};
use ackflow_protocol::wire::{ErrorCode, encode_request, encode_response};
use serde_json::{Value, json};

use crate::session::{Broker, Client, Session, Talk, pcap, produce};
use crate::{decode, decode_with, gist, lines};

pub(crate) fn entries(talk: &Talk) -> Vec<Entry> {
    let mut session = Session::new(50_000, [1, 2]);
    let mut segments = session.open();
    segments.extend(session.say(talk, 500));
    decode(&pcap(&segments))
}

/// A request or a response that is written by hand, with its size.
pub(crate) fn frame(parts: &[&[u8]]) -> Vec<u8> {
    let body = parts.concat();
    [&(body.len() as u32).to_be_bytes(), &body[..]].concat()
}

pub(crate) fn header(key: i16, version: i16, correlation_id: i32) -> Vec<u8> {
    [&key.to_be_bytes()[..], &version.to_be_bytes(), &correlation_id.to_be_bytes(), &[0, 1, b'c']].concat()
}

pub(crate) fn metadata(correlation_id: i32) -> Vec<u8> {
    encode_request(&MetadataRequest::default(), 12, correlation_id, Some("c")).unwrap().into()
}

pub(crate) fn metadata_response(correlation_id: i32) -> Vec<u8> {
    encode_response(&MetadataResponse::default(), 12, correlation_id).unwrap().into()
}

#[test]
fn responses_find_their_requests_in_any_order() {
    let talk = vec![
        (Client, metadata(1)),
        (Client, produce(2, -1, 10).into()),
        (Client, metadata(3)),
        (Broker, metadata_response(3)),
        (Broker, metadata_response(1)),
    ];
    let said = ["request Metadata 1", "request Produce 2", "request Metadata 3"];
    let answers = ["response Metadata 3", "response Metadata 1"];
    assert_eq!(gist(&entries(&talk)), [&said[..], &answers].concat());
}

#[test]
fn produce_without_acknowledgement_waits_for_no_answer() {
    // The next request has the same id; its answer is not taken for that of the first.
    let talk = vec![(Client, produce(5, 0, 10).into()), (Client, metadata(5)), (Broker, metadata_response(5))];
    assert_eq!(gist(&entries(&talk))[2], "response Metadata 5");
}

#[test]
fn answer_to_a_version_of_api_versions_that_the_broker_does_not_know_is_read_as_version_0() {
    let supported = ApiVersion { api_key: 18, min_version: 0, max_version: 4 };
    let refusal = ApiVersionsResponse {
        error_code: ErrorCode::UNSUPPORTED_VERSION,
        api_keys: vec![supported],
        ..Default::default()
    };
    let newer = frame(&[&header(18, 9, 1), &[0, 2, b'c', 2, b'1', 0]]);
    let known = frame(&[&header(18, 4, 2), &[0, 2, b'c', 2, b'1', 0]]);
    let talk = vec![
        (Client, newer),
        (Broker, encode_response(&refusal, 0, 1).unwrap().into()),
        (Client, known.clone()),
        (Broker, encode_response(&refusal, 0, 2).unwrap().into()),
        (Client, metadata(3)),
    ];
    let entries = entries(&talk);
    assert_eq!(
        gist(&entries),
        [
            "request ApiVersions error",
            "response ApiVersions 1",
            "request ApiVersions 2",
            "response ApiVersions 2",
            "request Metadata 3"
        ]
    );
    let lines = lines(&entries);
    assert!(lines[0]["error"].as_str().unwrap().contains("no version 9; it has 0 to 5"), "{}", lines[0]);
    for (at, asked) in [(1, 9), (3, 4)] {
        let shown = (&lines[at]["version"], &lines[at]["askedVersion"], &lines[at]["body"]["errorCode"]);
        assert_eq!(shown, (&json!(0), &json!(asked), &json!(35)));
        assert_eq!(encode(&lines[at].to_string()), Ok(Encoded::Frame(talk[at].1.clone().into())));
    }
}

#[test]
fn frames_that_cannot_be_read_are_told_with_field_offset_and_bytes_and_the_next_is_read() {
    let unknown_api = frame(&[&header(300, 0, 2), b"whatever"]);
    let unknown_version = frame(&[&header(3, 99, 3), b"whatever"]);
    let not_read_here = frame(&[&header(52, 0, 4), b"whatever"]);
    // One topic of which nothing follows.
    let hostile = frame(&[&header(3, 4, 5), &[0, 0, 0, 1, 0x7f, 0xff, 0]]);
    let short = frame(&[&[0, 3, 0]]);
    let talk: Talk = [metadata(1), unknown_api, unknown_version, not_read_here, hostile, short, metadata(6)]
        .into_iter()
        .map(|bytes| (Client, bytes))
        .chain([(Broker, frame(&[&[0, 0, 0, 2], b"an answer"])), (Broker, frame(&[&[0, 0]]))])
        .collect();
    let entries = entries(&talk);
    let lines = lines(&entries);
    let error = |at: usize| lines[at]["error"].as_str().unwrap_or_else(|| panic!("{}", lines[at]));
    assert!(error(1).contains("API key 300"), "{}", lines[1]);
    assert!(error(2).contains("MetadataRequest has no version 99; it has 0 to 13"), "{}", lines[2]);
    assert!(error(3).contains("Vote") && error(3).contains("does not read"), "{}", lines[3]);
    assert_eq!(
        (&lines[4]["field"], &lines[4]["offset"]),
        (&json!("topics[0].name"), &json!(4 + 11 + 4 + 2)),
        "{}",
        lines[4]
    );
    assert!(error(4).contains("MetadataRequest v4: topics[0].name") && error(4).contains("byte 21"), "{}", lines[4]);
    assert!(error(5).contains("requestApiVersion"), "{}", lines[5]);
    assert_eq!(gist(&entries)[6], "request Metadata 6");
    assert!(error(7).contains("API key 300"), "{}", lines[7]);
    assert!(error(8).contains("too short"), "{}", lines[8]);
    for (line, (_, bytes)) in lines.iter().zip(&talk) {
        assert_eq!(encode(&line.to_string()), Ok(Encoded::Frame(bytes.clone().into())), "{line}");
    }
}

#[test]
fn form_that_kafka_does_not_write_is_noted() {
    // A tagged field 7 that nobody knows, in the body's last section.
    let tagged = frame(&[&header(18, 3, 1), &[0, 2, b'c', 2, b'1', 1, 7, 1, 0]]);
    let lines = lines(&entries(&vec![(Client, tagged), (Client, metadata(2))]));
    assert!(lines[0]["note"].as_str().unwrap().contains("tagged fields"), "{}", lines[0]);
    assert!(lines[0].get("body").is_some() && lines[1].get("note").is_none());
}

fn share_fetch(records: Vec<u8>) -> Value {
    let partition = PartitionData { records: Some(records.into()), ..Default::default() };
    let topic = ShareFetchableTopicResponse { partitions: vec![partition], ..Default::default() };
    let response = ShareFetchResponse { responses: vec![topic], ..Default::default() };
    let request = ackflow_protocol::messages::share_fetch::ShareFetchRequest::default();
    let talk = vec![
        (Client, encode_request(&request, 2, 1, None).unwrap().into()),
        (Broker, encode_response(&response, 2, 1).unwrap().into()),
    ];
    let entries = entries(&talk);
    let shown = line(entries[1].clone(), Style { records: true, secrets: false });
    // The base64 is still there, so that the line can be encoded.
    assert_eq!(encode(&shown.to_string()), Ok(Encoded::Frame(talk[1].1.clone().into())));
    shown["body"]["responses"][0]["partitions"][0]["recordBatches"].clone()
}

fn batch(compression: Compression) -> Vec<u8> {
    let mut builder = BatchBuilder::new(BatchOptions { compression, ..Default::default() });
    let headers = [Header { key: b"h", value: Some(b"1") }, Header { key: b"n", value: None }];
    builder.try_append(1_000, Some(b"k"), Some(b"text"), headers).unwrap();
    builder.try_append(1_001, None, Some(&[0xff, 0]), []).unwrap();
    builder.try_append(1_002, Some(b""), None, []).unwrap();
    builder.build().unwrap().into()
}

#[test]
fn records_are_readable_whatever_their_compression() {
    for compression in [Compression::None, Compression::Gzip, Compression::Snappy, Compression::Lz4, Compression::Zstd]
    {
        let batches = share_fetch(batch(compression));
        let first = &batches[0];
        assert_eq!(first["compression"], compression.to_string());
        assert_eq!((&first["baseOffset"], &first["lastOffset"]), (&json!(0), &json!(2)));
        let expected = json!([
            {"offset": 0, "timestamp": 1000, "key": "k", "value": "text", "headers": [["h", "1"], ["n", null]]},
            {"offset": 1, "timestamp": 1001, "key": null, "value": {"base64": "/wA="}, "headers": []},
            {"offset": 2, "timestamp": 1002, "key": "", "value": null, "headers": []},
        ]);
        assert_eq!(first["records"], expected, "{compression}");
        assert!(first.get("error").is_none());
    }
}

#[test]
fn damaged_and_partial_batches_are_told_and_the_others_shown() {
    let whole = batch(Compression::None);
    let mut damaged = whole.clone();
    let last = damaged.len() - 20;
    damaged[last] ^= 1;
    let batches = share_fetch([&whole[..], &damaged, &whole, &whole[..30]].concat());
    let errors: Vec<bool> = batches.as_array().unwrap().iter().map(|batch| batch.get("error").is_some()).collect();
    assert_eq!(errors, [false, true, false, false]);
    assert!(batches[1]["error"].as_str().unwrap().contains("crc"), "{batches}");
    assert_eq!(batches[3], json!({"partial": 30, "of": whole.len()}));
    assert_eq!(share_fetch([&whole[..], &whole[..11]].concat())[1], json!({"partial": 11}));
    // Behind a length that makes no sense no batch can be found.
    let senseless = share_fetch([&whole[..], &[0; 8], &[0, 0, 0, 13], &whole].concat());
    assert!(senseless[1]["error"].as_str().unwrap().contains("13 bytes long"), "{senseless}");
    assert_eq!(senseless[2], json!({"skipped": 12 + whole.len()}));
    // Of a format that is not read.
    let mut old = whole.clone();
    old[16] = 1;
    let told = share_fetch(old)[0]["error"].as_str().unwrap().to_owned();
    assert!(
        told.contains("magic 1") && told.contains("before Kafka 0.11") && told.contains("fetch with version 4"),
        "{told}"
    );
}

#[test]
fn tls_where_kafka_was_asked_for_is_named() {
    let mut session = Session::new(50_000, [1, 2]);
    let mut segments = session.open();
    segments.extend(session.say(&vec![(Client, vec![0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3])], 500));
    let reason = lines(&decode_with(&pcap(&segments), &[9092]).0)[0]["reason"].as_str().unwrap().to_owned();
    assert!(reason.contains("TLS"), "{reason}");
}
