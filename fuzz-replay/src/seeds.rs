//! Seeds, made of the test vectors and record batches that are there anyway.

#![expect(
    clippy::unwrap_used,
    reason = "test data that cannot be read is worth a panic: only fuzzers and tests come here"
)]

use std::collections::BTreeMap;
use std::fs;

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

pub(crate) fn frames() -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    for Vector { kind, key, version, bytes, .. } in vectors_that_say_most() {
        let flexible = key.request_is_flexible(version);
        let correlation_id = [0, 0, 0, 7];
        let (header, no_tags) = match &*kind {
            "request" => {
                let client_id = b"\0\x06client";
                let api = [key.0.to_be_bytes(), version.to_be_bytes()].concat();
                ([&api[..], &correlation_id, client_id].concat(), flexible)
            }
            "response" => (correlation_id.to_vec(), flexible && key != ApiKey::API_VERSIONS),
            _ => continue,
        };
        let no_tags: &[u8] = if no_tags { &[0] } else { &[] };
        let size = (header.len() + no_tags.len() + bytes.len()) as u32;
        let frame = [&size.to_be_bytes()[..], &header, no_tags, &bytes].concat();
        seeds.push(frame_seed(key, version, &frame));
    }
    seeds
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
