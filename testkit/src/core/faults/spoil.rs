//! Answers that no broker should give.

use ackflow_protocol::messages::share_fetch::{PartitionData, ShareFetchRequest, ShareFetchResponse};
use ackflow_protocol::wire::frame::SIZE_LENGTH;
use ackflow_protocol::wire::{ApiKey, Message, decode_response, encode_response};
use bytes::Bytes;

/// What is wrong with an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spoil {
    /// It has the correlation id of another request.
    OtherCorrelationId,
    /// Behind its header there is nothing that a client can read.
    Unreadable,
    /// It ends with a tagged field that nobody knows. That is allowed in flexible versions; others stay as they are, and ApiVersions, which ends with tagged
    /// fields of its own.
    UnknownTag,
    /// Of ShareFetch: each partition stands there twice.
    PartitionsTwice,
    /// Of ShareFetch: each acquired range stands there twice.
    AcquiredTwice,
    /// Of ShareFetch: each partition stands there a second time under [`STRANGE_PARTITION`], which no client asks for.
    StrangePartition,
    /// Of ShareFetch: ranges are acquired, and their records are missing.
    RecordsMissing,
    /// Of ShareFetch: records are null where there are none, which Kafka's own client does not read.
    NullRecords,
}

/// The number of a partition that no topic of a test has.
pub const STRANGE_PARTITION: i32 = 9_999;

/// A varint and what it is the tag of: number 999, three bytes.
const UNKNOWN_FIELD: &[u8] = &[1, 0xe7, 0x07, 3, 1, 2, 3];

impl Spoil {
    /// The answer as it is sent.
    pub(super) fn apply(self, api: ApiKey, version: i16, frame: Bytes) -> Bytes {
        match self {
            Self::OtherCorrelationId => with_correlation_id(&frame),
            // An array of a length that no frame has; of a flexible version the same.
            Self::Unreadable => framed(&[&frame[SIZE_LENGTH..][..SIZE_LENGTH], &[0xfe; 20]].concat()),
            Self::UnknownTag if api.request_is_flexible(version) && api != ApiKey::API_VERSIONS => {
                with_unknown_field(&frame)
            }
            Self::UnknownTag => frame,
            Self::PartitionsTwice
            | Self::AcquiredTwice
            | Self::StrangePartition
            | Self::RecordsMissing
            | Self::NullRecords => self.of_share_fetch(api, version, frame),
        }
    }

    fn of_share_fetch(self, api: ApiKey, version: i16, frame: Bytes) -> Bytes {
        if api != ShareFetchRequest::KEY {
            return frame;
        }
        let Ok((header, mut response)) = decode_response::<ShareFetchResponse>(frame.slice(SIZE_LENGTH..), version)
        else {
            return frame;
        };
        for topic in &mut response.responses {
            let copies = || topic.partitions.clone();
            let more: Vec<PartitionData> = match self {
                Self::PartitionsTwice => copies(),
                Self::StrangePartition => copies()
                    .into_iter()
                    .map(|partition| PartitionData { partition_index: STRANGE_PARTITION, ..partition })
                    .collect(),
                _ => Vec::new(),
            };
            topic.partitions.extend(more);
            for partition in &mut topic.partitions {
                match self {
                    Self::AcquiredTwice => partition.acquired_records.extend_from_within(..),
                    Self::RecordsMissing => partition.records = Some(Bytes::new()),
                    Self::NullRecords if partition.records.as_ref().is_some_and(Bytes::is_empty) => {
                        partition.records = None;
                    }
                    _ => {}
                }
            }
        }
        encode_response(&response, version, header.correlation_id).unwrap_or(frame)
    }
}

fn with_correlation_id(frame: &[u8]) -> Bytes {
    let mut spoiled = frame.to_vec();
    // The answer to a request that is far away, whatever the client counts by.
    if let Some(high) = spoiled.get_mut(SIZE_LENGTH) {
        *high ^= 0x40;
    }
    Bytes::from(spoiled)
}

/// The last byte of a flexible answer that has no tagged field says so.
fn with_unknown_field(frame: &[u8]) -> Bytes {
    match frame[SIZE_LENGTH..].split_last() {
        Some((0, before)) => framed(&[before, UNKNOWN_FIELD].concat()),
        _ => Bytes::copy_from_slice(frame),
    }
}

fn framed(content: &[u8]) -> Bytes {
    let size = i32::try_from(content.len()).unwrap_or(i32::MAX);
    Bytes::from([&size.to_be_bytes()[..], content].concat())
}
