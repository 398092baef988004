//! Valid messages of every API in every version: written and read again, as bytes and as JSON.

use std::collections::{BTreeMap, BTreeSet};

use ackflow_protocol::messages::embedded::Embedded;
use ackflow_protocol::random::SplitMix64;
use ackflow_protocol::records::control::ControlRecord;
use ackflow_protocol::records::{Batches, Compression, DEFAULT_DECOMPRESSION_LIMIT, RecordBatch, TimestampType};
use ackflow_protocol::valid::{self, Valid, ValidRequest, strategies};
use ackflow_protocol::wire::{ApiKey, JsonReader, JsonWriter, Message, decode_request_header};
use ackflow_protocol::{for_each_api, for_each_embedded};
use bytes::Bytes;
use proptest::prelude::*;
use proptest::test_runner::{TestCaseResult, TestRunner};
use serde_json::Value;

/// Cases of one version. There are some 800 versions of messages.
const CASES: u32 = if cfg!(debug_assertions) { 40 } else { 1_000 };

/// Tries values of a strategy; the first that fails is shrunk and shown under `name`.
fn each<T: std::fmt::Debug>(
    name: impl std::fmt::Display,
    values: impl Strategy<Value = T>,
    test: impl Fn(T) -> TestCaseResult,
) {
    let config = ProptestConfig { cases: CASES, failure_persistence: None, ..ProptestConfig::default() };
    if let Err(error) = TestRunner::new(config).run(&values, test) {
        panic!("{name}: {error}");
    }
}

fn message_round_trips<M: Message>() {
    for version in M::VERSIONS {
        each(format_args!("{} v{version}", M::NAME), strategies::message_of::<M>(version), |message| {
            let bytes = message.to_bytes(version)?;
            prop_assert_eq!(message.size(version)?, bytes.len());
            prop_assert_eq!(&M::from_bytes(bytes, version)?, &message);
            let json = JsonWriter::to_json(&message, version)?;
            prop_assert_eq!(&JsonReader::from_json::<M>(&json, version)?, &message);
            let text: Value = serde_json::from_str(&json.to_string())?;
            prop_assert_eq!(JsonReader::from_json::<M>(&text, version)?, message);
            Ok(())
        });
    }
}

macro_rules! requests {
    ($($name:ident($request:ty, $response:ty)),* $(,)?) => { $(message_round_trips::<$request>();)* };
}

macro_rules! responses {
    ($($name:ident($request:ty, $response:ty)),* $(,)?) => { $(message_round_trips::<$response>();)* };
}

#[test]
fn every_request_in_every_version_reads_back_as_it_was() {
    for_each_api!(requests);
}

#[test]
fn every_response_in_every_version_reads_back_as_it_was() {
    for_each_api!(responses);
}

#[test]
fn every_embedded_struct_in_every_version_reads_back_as_it_was() {
    fn round_trips<T: Embedded>() {
        for version in T::VERSIONS {
            each(format_args!("{} v{version}", T::NAME), strategies::embedded::<T>(version), |value| {
                let bytes = value.to_versioned_bytes(version)?;
                prop_assert_eq!(T::from_versioned_bytes(bytes)?, (version, value));
                Ok(())
            });
        }
    }
    macro_rules! all {
        ($($name:ident($type:ty)),* $(,)?) => { $(round_trips::<$type>();)* };
    }
    for_each_embedded!(all);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: CASES * 8, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn frame_of_any_request_reads_back_as_it_was(request in strategies::request()) {
        let frame = request.frame();
        let (size, rest) = frame.split_first_chunk::<4>().unwrap();
        prop_assert_eq!(u32::from_be_bytes(*size) as usize, rest.len());
        let (header, body) = decode_request_header(frame.slice(4..), ApiKey::request_is_flexible)?;
        prop_assert_eq!(ValidRequest { header, body }, request);
    }

    #[test]
    fn request_of_chosen_apis_is_of_one_of_them(
        request in strategies::request_of(vec![ApiKey::SHARE_FETCH, ApiKey::PRODUCE])
    ) {
        prop_assert!([ApiKey::SHARE_FETCH, ApiKey::PRODUCE].contains(&request.header.request_api_key));
    }

    #[test]
    fn records_are_whole_and_can_be_read(records in strategies::records()) {
        walked(&records)?;
    }
}

/// Reads everything, and gives the batches.
fn walked(records: &Bytes) -> Result<Vec<RecordBatch>, TestCaseError> {
    let mut batches = Batches::new(records.clone());
    let mut read: Vec<RecordBatch> = Vec::new();
    for batch in &mut batches {
        let batch = batch?;
        batch.verify_crc()?;
        prop_assert!(read.last().is_none_or(|before| before.last_offset() < batch.base_offset()));
        let batch = batch.decompress(DEFAULT_DECOMPRESSION_LIMIT)?;
        let (mut count, mut last) = (0, -1);
        for record in batch.records() {
            let record = record?;
            prop_assert!(last < record.offset && record.timestamp <= batch.max_timestamp());
            prop_assert!(record.headers().all(|header| header.is_ok()));
            prop_assert!(!batch.is_control() || ControlRecord::parse(&record).is_ok());
            (count, last) = (count + 1, record.offset);
        }
        prop_assert!(count == batch.count() && last <= batch.last_offset());
        read.push(batch);
    }
    prop_assert_eq!(batches.remaining(), 0);
    Ok(read)
}

/// Bytes that are the same in every run.
fn samples(count: usize) -> impl Iterator<Item = Vec<u8>> {
    let mut random = SplitMix64::new(1);
    (0..count).map(move |_| (0..200).map(|_| random.next_u64() as u8).collect())
}

type Kind = (&'static str, fn(&RecordBatch) -> bool);

#[test]
fn records_are_of_every_kind_and_compression() {
    let batches: Vec<_> = samples(400).flat_map(|data| walked(&valid::records(&data)).unwrap()).collect();
    for codec in Compression::ALL {
        let of_codec: Vec<_> = batches.iter().filter(|batch| batch.compression() == codec).collect();
        let kinds: [Kind; 8] = [
            ("plain", |batch| batch.is_dense() && !batch.is_transactional()),
            ("transactional", |batch| batch.is_dense() && batch.is_transactional()),
            ("control", RecordBatch::is_control),
            ("append time", |batch| batch.timestamp_type() == TimestampType::LogAppendTime),
            ("compacted", |batch| (1..=batch.last_offset_delta()).contains(&batch.count())),
            ("compacted away", |batch| batch.count() == 0),
            ("delete horizon", RecordBatch::has_delete_horizon),
            ("idempotent", |batch| batch.producer_id() >= 0 && !batch.is_transactional()),
        ];
        for (kind, is_kind) in kinds {
            assert!(of_codec.iter().any(|batch| is_kind(batch)), "no batch with {codec} is {kind}");
        }
    }
}

/// How often a field was there, and its values.
#[derive(Default)]
struct Seen {
    times: u32,
    values: BTreeSet<String>,
}

/// What stands for the value of a struct: there is no other, unless it may be null.
const STRUCT: &str = "{}";

fn note(seen: &mut BTreeMap<String, Seen>, path: &str, value: &Value) {
    let field = seen.entry(path.to_owned()).or_default();
    field.times += 1;
    match value {
        Value::Object(fields) => {
            field.values.insert(STRUCT.to_owned());
            fields.iter().for_each(|(name, value)| note(seen, &format!("{path}.{name}"), value));
        }
        Value::Array(elements) => {
            field.values.insert(elements.len().to_string());
            elements.iter().for_each(|element| note(seen, &format!("{path}[]"), element));
        }
        plain => {
            field.values.insert(plain.to_string());
        }
    }
}

/// Counts fields that are there at times only, because a tagged field that has its default is not: those have another
/// value when they are not there.
#[test]
fn every_field_takes_more_than_one_value() {
    fn fields<M: Message>() {
        for version in [*M::VERSIONS.start(), *M::VERSIONS.end()] {
            let mut seen = BTreeMap::new();
            for data in samples(300) {
                let json = JsonWriter::to_json(&valid::message::<M>(version, &data), version).unwrap();
                note(&mut seen, M::NAME, &json);
            }
            for (path, field) in &seen {
                let is_tagged = path.rsplit_once('.').is_some_and(|(around, _)| field.times < seen[around].times);
                let is_struct = field.values.iter().eq([STRUCT]);
                let values = &field.values;
                assert!(is_struct || is_tagged || values.len() > 1, "{path} of version {version}: {values:?}");
            }
        }
    }
    macro_rules! all {
        ($($name:ident($request:ty, $response:ty)),* $(,)?) => { $(fields::<$request>(); fields::<$response>();)* };
    }
    for_each_api!(all);
}

#[test]
fn no_bytes_and_zeros_make_the_smallest_message() {
    fn smallest<M: Message>() {
        for version in M::VERSIONS {
            let smallest: M = valid::message(version, &[]);
            assert_eq!(valid::message::<M>(version, &[0; 500]), smallest, "{} v{version}", M::NAME);
            let bytes = smallest.to_bytes(version).unwrap();
            let shortest = samples(20).map(|data| valid::message::<M>(version, &data).size(version).unwrap()).min();
            assert!(Some(bytes.len()) <= shortest, "{} v{version}", M::NAME);
        }
        assert_eq!(Valid::<M>::new(&[]).version, *M::VERSIONS.start());
    }
    macro_rules! all {
        ($($name:ident($request:ty, $response:ty)),* $(,)?) => { $(smallest::<$request>(); smallest::<$response>();)* };
    }
    for_each_api!(all);
}
