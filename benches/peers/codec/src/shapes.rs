//! What is encoded and decoded, as plain data that each codec turns into types of its own.

use bytes::Bytes;

pub const SHARE_VERSION: i16 = 1;
pub const PRODUCE_VERSION: i16 = 13;
pub const METADATA_VERSION: i16 = 13;

pub const TOPIC_ID: [u8; 16] = *b"codec-topic-uuid";
pub const GROUP: &str = "payments";
pub const MEMBER: &str = "wGo4WzXlR4Kq1hCzbRGDTQ";
pub const HOST: &str = "broker.example.com";
pub const TIMEOUT_MS: i32 = 30_000;
pub const BROKERS: i32 = 3;
pub const TOPICS: usize = 100;
/// Partitions of each topic of the metadata.
pub const TOPIC_PARTITIONS: i32 = 3;

/// Batches of a fetch or of a produce request, one a partition.
pub const PARTITIONS: usize = 3;
/// Bytes of a batch at most.
pub const BATCH: usize = 16 << 10;
/// Bytes of a record in a batch beside its key and value.
const AROUND_RECORD: usize = 9;
const TIME: i64 = 1_700_000_000_000;

pub struct Record {
    pub timestamp: i64,
    pub key: Bytes,
    pub value: Bytes,
}

/// The records of each partition: 100 bytes of key and value a record, with words that repeat as in JSON.
pub fn records() -> Vec<Vec<Record>> {
    let record = |i: usize| {
        let key = format!("order-{:04}", i % 10_000);
        let value = format!(
            r#"{{"order":{i:08},"customer":{:06},"state":"paid","amount":{:>7}.00,"currency":"EUR"}}"#,
            i * 7_919 % 1_000_000,
            i * 31 % 10_000
        );
        let value = format!("{value:<90}");
        Record { timestamp: TIME + i as i64 / 10, key: key.into(), value: value.into() }
    };
    let a_batch = (BATCH - 100) / (100 + AROUND_RECORD);
    (0..PARTITIONS).map(|partition| (0..a_batch).map(|i| record(partition * a_batch + i)).collect()).collect()
}

/// A range of offsets with its delivery count or its acknowledgement.
pub type Range = (i64, i64, i8);

/// What a partition acquired: a range for its batch, and one that was delivered before.
pub fn acquired(records: usize) -> [Range; 2] {
    let last = records as i64 - 1;
    [(0, last / 2, 1), (last / 2 + 1, last, 2)]
}

/// What is acknowledged in a partition: 20 ranges, accepted and released in turns.
pub fn acknowledged() -> Vec<Range> {
    (0..20).map(|i| (i * 50, i * 50 + 49, if i % 5 == 4 { 2 } else { 1 })).collect()
}

pub fn topic_name(i: usize) -> String {
    format!("orders.region-{i:03}")
}

pub fn topic_id(i: usize) -> [u8; 16] {
    let mut id = TOPIC_ID;
    id[15] = i as u8;
    id
}

/// Looks at a key or a value: its length and its last byte.
pub fn touch(bytes: &[u8]) -> u64 {
    match bytes {
        [.., last] => bytes.len() as u64 + u64::from(*last),
        [] => 0,
    }
}
