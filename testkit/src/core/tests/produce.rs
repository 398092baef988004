//! Produce: what a broker takes and refuses, and the sequence of idempotent producers.

use ackflow_protocol::messages::incremental_alter_configs::{
    AlterConfigsResource, AlterableConfig, IncrementalAlterConfigsRequest,
};
use ackflow_protocol::messages::init_producer_id::InitProducerIdRequest;
use ackflow_protocol::messages::produce::{
    PartitionProduceData, PartitionProduceResponse, ProduceRequest, TopicProduceData,
};
use ackflow_protocol::records::{BatchBuilder, BatchOptions, Batches, Compression, TimestampType};
use ackflow_protocol::wire::{ErrorCode, Uuid};
use bytes::{Bytes, BytesMut};

use super::rig::{Member, Rig, STARTED_MS, TOPIC, batch};
use crate::core::Answer;

fn request(rig: &Rig, records: Bytes) -> ProduceRequest {
    ProduceRequest {
        acks: -1,
        timeout_ms: 1000,
        topic_data: vec![TopicProduceData {
            name: TOPIC.to_owned(),
            topic_id: rig.topic_id(TOPIC),
            partition_data: vec![PartitionProduceData { index: 0, records: Some(records) }],
        }],
        ..ProduceRequest::default()
    }
}

fn produce(rig: &mut Rig, records: Bytes) -> PartitionProduceResponse {
    let request = request(rig, records);
    rig.call(1, &request).responses.remove(0).partition_responses.remove(0)
}

fn idempotent(producer_id: i64, epoch: i16, sequence: i32, records: usize) -> Bytes {
    let options =
        BatchOptions { producer_id, producer_epoch: epoch, base_sequence: sequence, ..BatchOptions::default() };
    let mut builder = BatchBuilder::new(options);
    for _ in 0..records {
        builder.try_append(STARTED_MS, None, Some(b"v"), []).unwrap();
    }
    builder.build().unwrap()
}

#[test]
fn batches_are_kept_as_they_came() {
    for compression in [Compression::None, Compression::Lz4, Compression::Zstd] {
        let mut rig = Rig::new();
        let mut builder = BatchBuilder::new(BatchOptions { compression, ..BatchOptions::default() });
        for _ in 0..100 {
            builder.try_append(STARTED_MS, Some(b"key"), Some(b"the same value"), []).unwrap();
        }
        let sent = builder.build().unwrap();
        rig.produce(0, 3);
        assert_eq!(produce(&mut rig, sent.clone()).base_offset, 3);
        let mut member = Member::new(&rig, "m1", 1, &[0]);
        let request = member.request(500);
        let response = rig.call(1, &request);
        let records = response.responses[0].partitions[0].records.clone().unwrap();
        let kept = Batches::new(records.clone()).nth(1).unwrap().unwrap();
        assert_eq!((kept.base_offset(), kept.compression()), (3, compression));
        kept.verify_crc().unwrap();
        assert_eq!(records[records.len() - sent.len() + 16..], sent[16..], "only offset and leader epoch differ");
    }
}

#[test]
fn both_names_and_ids_find_the_topic() {
    let mut rig = Rig::new();
    let by_name = request(&rig, batch(1, STARTED_MS));
    for version in 3..=13 {
        let response = rig.call_version(1, version, &by_name);
        assert_eq!(response.responses[0].partition_responses[0].error_code, ErrorCode::NONE, "version {version}");
    }
    let mut unknown = by_name.clone();
    unknown.topic_data[0].name = "nothing".to_owned();
    unknown.topic_data[0].topic_id = Uuid([9; 16]);
    let code =
        |rig: &mut Rig, version| rig.call_version(1, version, &unknown).responses[0].partition_responses[0].error_code;
    assert_eq!(code(&mut rig, 12), ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
    assert_eq!(code(&mut rig, 13), ErrorCode::UNKNOWN_TOPIC_ID);
    let mut unknown = by_name;
    unknown.topic_data[0].partition_data[0].index = 7;
    let response = rig.call(1, &unknown);
    assert_eq!(response.responses[0].partition_responses[0].error_code, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
}

#[test]
fn damaged_and_foreign_batches_are_refused() {
    let mut rig = Rig::new();
    let good = batch(3, STARTED_MS);
    let changed = |at: usize, value: u8| {
        let mut bytes = BytesMut::from(&good[..]);
        bytes[at] = value;
        bytes.freeze()
    };
    let twice = Bytes::from([&good[..], &good[..]].concat());
    for (name, records, code) in [
        ("crc", changed(70, 0xff), ErrorCode::CORRUPT_MESSAGE),
        ("magic 1", changed(16, 1), ErrorCode::INVALID_RECORD),
        ("cut off", good.slice(..good.len() - 1), ErrorCode::INVALID_RECORD),
        ("two batches", twice, ErrorCode::INVALID_RECORD),
        ("nothing", Bytes::new(), ErrorCode::INVALID_RECORD),
        ("too large", batch(100_000, STARTED_MS), ErrorCode::MESSAGE_TOO_LARGE),
        ("too young", batch(1, STARTED_MS + 3_600_001), ErrorCode::INVALID_TIMESTAMP),
    ] {
        let refused = produce(&mut rig, records);
        assert_eq!((refused.error_code, refused.base_offset), (code, -1), "{name}");
        assert!(refused.error_message.is_some(), "{name}");
    }
    assert_eq!(produce(&mut rig, good).base_offset, 0, "the log is as it was");
}

#[test]
fn a_retried_batch_is_appended_once() {
    let mut rig = Rig::new();
    for sequence in [0, 3, 6, 9, 12] {
        assert_eq!(produce(&mut rig, idempotent(7, 0, sequence, 3)).base_offset, i64::from(sequence));
    }
    for sequence in [0, 12, 6] {
        let again = produce(&mut rig, idempotent(7, 0, sequence, 3));
        assert_eq!((again.error_code, again.base_offset), (ErrorCode::NONE, i64::from(sequence)));
    }
    assert_eq!(produce(&mut rig, idempotent(7, 0, 15, 3)).base_offset, 15);
    assert_eq!(
        produce(&mut rig, idempotent(7, 0, 0, 3)).error_code,
        ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER,
        "only five batches are remembered"
    );
}

#[test]
fn a_missing_batch_and_an_old_epoch_are_refused() {
    let mut rig = Rig::new();
    assert_eq!(produce(&mut rig, idempotent(7, 3, 0, 3)).error_code, ErrorCode::NONE);
    assert_eq!(produce(&mut rig, idempotent(7, 3, 6, 3)).error_code, ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER);
    assert_eq!(produce(&mut rig, idempotent(7, 2, 3, 3)).error_code, ErrorCode::INVALID_PRODUCER_EPOCH);
    assert_eq!(produce(&mut rig, idempotent(7, 4, 3, 3)).error_code, ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER);
    assert_eq!(produce(&mut rig, idempotent(7, 4, 0, 3)).base_offset, 3, "a new epoch begins at 0");
    assert_eq!(produce(&mut rig, idempotent(8, 0, 55, 3)).base_offset, 6, "an unknown producer may be anywhere");
}

#[test]
fn sequences_go_on_at_zero_after_the_largest() {
    let mut rig = Rig::new();
    assert_eq!(produce(&mut rig, idempotent(7, 0, i32::MAX - 1, 3)).base_offset, 0);
    assert_eq!(produce(&mut rig, idempotent(7, 0, 1, 3)).base_offset, 3);
}

#[test]
fn producer_ids_are_given_out_once() {
    let mut rig = Rig::new();
    let request = InitProducerIdRequest::default();
    let (first, second) = (rig.call(1, &request), rig.call(1, &request));
    assert_eq!((first.error_code, first.producer_epoch), (ErrorCode::NONE, 0));
    assert_ne!(first.producer_id, second.producer_id);
}

#[test]
fn acks_zero_is_silent_and_closes_on_errors() {
    let mut rig = Rig::new();
    let silent = ProduceRequest { acks: 0, ..request(&rig, batch(1, STARTED_MS)) };
    assert_eq!(rig.send(1, 13, &silent), Answer::Silent);
    let broken = ProduceRequest { acks: 0, ..request(&rig, Bytes::new()) };
    assert!(matches!(rig.send(1, 13, &broken), Answer::Close(_)));
    let unknown = ProduceRequest { acks: 2, ..request(&rig, batch(1, STARTED_MS)) };
    let response = rig.call(1, &unknown);
    assert_eq!(response.responses[0].partition_responses[0].error_code, ErrorCode::INVALID_REQUIRED_ACKS);
}

#[test]
fn topic_settings_decide_about_time_and_keys() {
    let mut rig = Rig::new();
    let set = |rig: &mut Rig, name: &str, value: &str| {
        let resource = AlterConfigsResource {
            resource_type: 2,
            resource_name: TOPIC.to_owned(),
            configs: vec![AlterableConfig {
                name: name.to_owned(),
                config_operation: 0,
                value: Some(value.to_owned()),
            }],
        };
        let request = IncrementalAlterConfigsRequest { resources: vec![resource], validate_only: false };
        assert_eq!(rig.call(1, &request).responses[0].error_code, ErrorCode::NONE);
    };
    set(&mut rig, "message.timestamp.type", "LogAppendTime");
    let appended = produce(&mut rig, batch(2, 5));
    assert_eq!((appended.error_code, appended.log_append_time_ms), (ErrorCode::NONE, STARTED_MS));
    let mut member = Member::new(&rig, "m1", 1, &[0]);
    let request = member.request(10);
    let records = rig.call(1, &request).responses[0].partitions[0].records.clone().unwrap();
    let batch_kept = Batches::new(records).next().unwrap().unwrap();
    batch_kept.verify_crc().unwrap();
    assert_eq!((batch_kept.timestamp_type(), batch_kept.max_timestamp()), (TimestampType::LogAppendTime, STARTED_MS));

    set(&mut rig, "cleanup.policy", "compact,delete");
    assert_eq!(produce(&mut rig, batch(2, 5)).error_code, ErrorCode::INVALID_RECORD, "no keys");
    set(&mut rig, "cleanup.policy", "delete");
    set(&mut rig, "max.message.bytes", "100");
    assert_eq!(produce(&mut rig, batch(20, 5)).error_code, ErrorCode::MESSAGE_TOO_LARGE);
}

#[test]
fn raw_batches_keep_their_offsets_and_their_faults() {
    let mut rig = Rig::new();
    let raw = |base: i64| {
        let mut bytes = BytesMut::from(&batch(3, STARTED_MS)[..]);
        bytes[..8].copy_from_slice(&base.to_be_bytes());
        bytes[80] ^= 1;
        bytes.freeze()
    };
    rig.cluster.append_raw(rig.now, TOPIC, 0, raw(20)).unwrap();
    assert_eq!(rig.cluster.append_raw(rig.now, TOPIC, 0, raw(20)).unwrap_err().0, ErrorCode::OFFSET_OUT_OF_RANGE);
    assert_eq!(
        rig.cluster.append_raw(rig.now, TOPIC, 0, Bytes::from_static(b"short")).unwrap_err().0,
        ErrorCode::CORRUPT_MESSAGE
    );
    let mut member = Member::new(&rig, "m1", 1, &[0]);
    assert_eq!(member.fetch(&mut rig, 10), "0[20-22x1]");
    assert_eq!(rig.produce(0, 1), 23);
}
