//! Seeds, made of the test vectors and record batches that are there anyway.

#![expect(
    clippy::unwrap_used,
    reason = "test data that cannot be read is worth a panic: only fuzzers and tests come here"
)]

use std::collections::BTreeMap;
use std::fs;

use ackflow_capture::fuzzing::{requests_seed, responses_seed, segment_seed, text_seed};
use ackflow_protocol::for_each_embedded;
use ackflow_protocol::fuzzing::{BatchForm, Form, Selected, frame_seed, message_seed, record_seed};
use ackflow_protocol::records::{BATCH_OVERHEAD, Compression};
use ackflow_protocol::wire::ApiKey;
use serde_json::Value;

use crate::mutations::Mutator;
use crate::root;

/// A seed made of more is slow, and hardly says more.
const LONGEST_VECTOR: usize = 512;

struct Vector {
    api: String,
    kind: String,
    key: ApiKey,
    version: i16,
    json: String,
    bytes: Vec<u8>,
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join("testdata").join(path)).unwrap()
}

fn unhex(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}

/// The lines of the vectors.
fn lines() -> Vec<String> {
    let texts = [read("vectors/core.jsonl"), read("vectors/rest.jsonl")];
    texts.iter().flat_map(|text| text.lines()).map(str::to_owned).collect()
}

fn vectors() -> Vec<Vector> {
    let vectors = lines().into_iter().map(|line| {
        let line: Value = serde_json::from_str(&line).unwrap();
        let number = |part: &str| i16::try_from(line[part].as_i64().unwrap()).unwrap();
        Vector {
            api: line["api"].as_str().unwrap().to_owned(),
            kind: line["kind"].as_str().unwrap().to_owned(),
            key: ApiKey(number("key")),
            version: number("version"),
            json: line["json"].to_string(),
            bytes: unhex(line["hex"].as_str().unwrap()),
        }
    });
    vectors.collect()
}

/// The vector that says most, of each kind of each API in each version: the others take the same path, or one that a
/// fuzzer finds from there.
fn vectors_that_say_most() -> Vec<Vector> {
    let mut most = BTreeMap::new();
    for vector in vectors() {
        let place = (vector.kind.clone(), vector.api.clone(), vector.version);
        let longer = |known: &Vector| known.bytes.len() < vector.bytes.len() && vector.bytes.len() <= LONGEST_VECTOR;
        if most.get(&place).is_none_or(longer) {
            most.insert(place, vector);
        }
    }
    most.into_values().collect()
}

pub(crate) fn messages() -> Vec<Vec<u8>> {
    macro_rules! names {
        ($($name:ident($type:ty)),* $(,)?) => { [$(stringify!($name)),*] };
    }
    let embedded = for_each_embedded!(names);
    let mut seeds = Vec::new();
    for Vector { api, kind, key, version, json, bytes } in vectors_that_say_most() {
        let selected = match &*kind {
            "request" => Selected::Request(key),
            "response" => Selected::Response(key),
            "data" => {
                let place = embedded.iter().position(|name| *name == api).unwrap();
                let versioned = [&version.to_be_bytes()[..], &bytes].concat();
                seeds.push(message_seed(Selected::Embedded(place as u8), Form::Bytes, version, &versioned));
                continue;
            }
            _ => continue,
        };
        seeds.push(message_seed(selected, Form::Bytes, version, &bytes));
        seeds.push(message_seed(selected, Form::Json, version, json.as_bytes()));
    }
    seeds
}

/// A frame with its size, of a message in its vector's version; `None` where it is neither request nor response.
fn frame(vector: &Vector) -> Option<Vec<u8>> {
    let Vector { kind, key, version, bytes, .. } = vector;
    let flexible = key.request_is_flexible(*version);
    let correlation_id = [0, 0, 0, 7];
    let (header, no_tags) = match &**kind {
        "request" => {
            let client_id = b"\0\x06client";
            let api = [key.0.to_be_bytes(), version.to_be_bytes()].concat();
            ([&api[..], &correlation_id, client_id].concat(), flexible)
        }
        "response" => (correlation_id.to_vec(), flexible && *key != ApiKey::API_VERSIONS),
        _ => return None,
    };
    let no_tags: &[u8] = if no_tags { &[0] } else { &[] };
    let size = (header.len() + no_tags.len() + bytes.len()) as u32;
    Some([&size.to_be_bytes()[..], &header, no_tags, bytes].concat())
}

pub(crate) fn frames() -> Vec<Vec<u8>> {
    let vectors = vectors_that_say_most();
    vectors.iter().filter_map(|vector| Some(frame_seed(vector.key, vector.version, &frame(vector)?))).collect()
}

/// Streams, conversations and lines made of the vectors; the packets of a real session, a few at a time.
pub(crate) fn capture() -> Vec<Vec<u8>> {
    let vectors = vectors_that_say_most();
    let mut seeds = Vec::new();
    for request in vectors.iter().filter(|vector| vector.kind == "request") {
        let asked = frame(request).unwrap();
        seeds.push(requests_seed(&asked));
        let is_answer =
            |other: &&Vector| other.kind == "response" && (other.key, other.version) == (request.key, request.version);
        let Some(response) = vectors.iter().find(is_answer) else { continue };
        let answered = frame(response).unwrap();
        seeds.push(responses_seed(request.key, request.version, &answered));
        seeds.push(segment_seed([(false, &asked[..]), (true, &answered)]));
        if seeds.len() % 8 == 0 {
            let json = format!(
                r#"{{"direction":"request","apiKey":{},"version":{},"clientId":"c","body":{}}}"#,
                request.key.0, request.version, request.json
            );
            seeds.push(text_seed(&json));
            let hex: String = asked.iter().map(|byte| format!("{byte:02x}")).collect();
            seeds.push(text_seed(&format!(r#"{{"hex":"{hex}"}}"#)));
            seeds.push(text_seed(&hex));
        }
    }
    seeds.extend(pieces_of_capture(&fs::read(root().join("testdata/captures/share-group.pcap")).unwrap()));
    seeds
}

/// Capture files of some packets each, as long as a fuzzer's inputs, and one of the newer format.
fn pieces_of_capture(pcap: &[u8]) -> Vec<Vec<u8>> {
    const HEADER: usize = 24;
    const PACKET_HEADER: usize = 16;
    const LONGEST: usize = 4_000;
    let (header, mut rest) = pcap.split_at(HEADER);
    let mut pieces = vec![header.to_vec()];
    while let Some(captured) = rest.get(8..).and_then(<[u8]>::first_chunk) {
        let (packet, others) = rest.split_at(PACKET_HEADER + u32::from_le_bytes(*captured) as usize);
        if pieces.last().is_some_and(|piece| piece.len() + packet.len() > LONGEST) {
            pieces.push(header.to_vec());
        }
        pieces.last_mut().unwrap().extend_from_slice(packet);
        rest = others;
    }
    pieces.push(newer_format(&pieces[0][HEADER..]));
    pieces.retain(|piece| piece.len() <= 4_096);
    pieces
}

/// The packets of a capture file as one of the newer format.
fn newer_format(mut packets: &[u8]) -> Vec<u8> {
    let mut file = Vec::new();
    let mut block = |kind: u32, content: &[u8]| {
        let padded = content.len().next_multiple_of(4);
        let length = (12 + padded) as u32;
        file.extend(kind.to_le_bytes());
        file.extend(length.to_le_bytes());
        file.extend_from_slice(content);
        file.resize(file.len() + padded - content.len(), 0);
        file.extend(length.to_le_bytes());
    };
    block(0x0a0d_0d0a, &[&0x1a2b_3c4d_u32.to_le_bytes()[..], &[1, 0, 0, 0], &[0xff; 8]].concat());
    block(1, &[1, 0, 0, 0, 0, 0, 4, 0]);
    while let Some(captured) = packets.get(8..).and_then(<[u8]>::first_chunk) {
        let (packet, others) = packets.split_at(16 + u32::from_le_bytes(*captured) as usize);
        block(6, &[&[0; 12], &packet[8..]].concat());
        packets = others;
    }
    file
}

pub(crate) fn records() -> Vec<Vec<u8>> {
    let (cases, java) = (read("batches/batches.tsv"), read("batches/java.tsv"));
    let cases = cases.lines().filter(|line| !line.starts_with('#')).map(|line| line.split('\t').nth(1).unwrap());
    let java = java.lines().filter(|line| !line.starts_with('#')).map(|line| line.split('\t').nth(1).unwrap());
    let mut seeds = Vec::new();
    for field in cases.map(unhex) {
        // The body of one batch, as the records or the compressed records of a batch of each codec.
        let (count, body) = (field[BATCH_OVERHEAD - 1], &field[BATCH_OVERHEAD..]);
        let codec = Compression::from_id(field[22] & 7).unwrap();
        if codec == Compression::None {
            seeds.extend(Compression::ALL.map(|codec| record_seed(BatchForm::Records(codec), count, body)));
        } else {
            seeds.push(record_seed(BatchForm::Compressed(codec), count, body));
        }
        seeds.push(record_seed(BatchForm::Field, 0, &field));
    }
    // Large, and read by other tests, so a few are enough: those of each codec.
    seeds.extend(java.map(|hex| record_seed(BatchForm::Field, 0, &unhex(hex))));
    seeds
}

pub(crate) fn text() -> Vec<Vec<u8>> {
    let texts = [
        "AAAAAAAAAAAAAAAAAAAAAA",
        "_wAB-QIDBAUGBwgJCgsMDQ==",
        "zstd",
        "none",
        "request",
        "header",
        "localhost:9092",
        "a:1,b:2 , [::1]:3",
        "SSL://kafka.example.org:9093",
        "bootstrap.servers=localhost:9092\ngroup.id = orders\n# comment\n! comment\nkey:\\u00e9\\ud83d\\ude00\n",
        "long=first \\\n   second\r\nwith\\ space=\\t\\n\\:\n",
        "a.b.PlainLoginModule required /* who */ username=\"bob\" password='a\\'b' // what\n token=true;",
        "r=rOprNGfwEbeRWgbNEkqO%hvYD,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096,x=more",
        "v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=",
        "e=other-error",
    ];
    lines().into_iter().step_by(8).chain(texts.map(str::to_owned)).map(String::into_bytes).collect()
}

/// Sequences of operations. Zeros are brokers that answer well, so between other operations much goes well.
pub(crate) fn operations() -> Vec<Vec<u8>> {
    let mut random = Mutator::new(1);
    let mut sequence = |operations: usize| {
        let mut bytes = vec![0; 60];
        for _ in 0..operations {
            bytes.push(random.below(16) as u8);
            let choices = random.below(6);
            bytes.extend((0..choices).map(|_| random.below(12) as u8));
            bytes.resize(bytes.len() + random.below(30), 0);
        }
        bytes
    };
    (0..60).map(|index| sequence(10 + index * 2)).collect()
}
