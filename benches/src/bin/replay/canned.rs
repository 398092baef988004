//! A ShareFetch response that is made once. Only what must differ from one to the next is written anew: the correlation
//! id, the offsets of the batches (which their checksums do not cover) and the range that was acquired.

use ackflow_protocol::messages::share_fetch::{
    AcquiredRecords, PartitionData, ShareFetchResponse, ShareFetchableTopicResponse,
};
use ackflow_protocol::records::{BATCH_OVERHEAD, BatchBuilder, BatchOptions, Batches};
use ackflow_protocol::wire::{Uuid, encode_response};
use anyhow::Context;
use bytes::BytesMut;

/// The topic, of one partition.
pub(crate) const TOPIC: &str = "replay";
pub(crate) const TOPIC_ID: Uuid = Uuid([7; 16]);
/// The version of ShareFetch and ShareAcknowledge.
pub(crate) const SHARE_VERSION: i16 = 2;

const CORRELATION_ID_AT: usize = 4;
const TIMESTAMP: i64 = 1_796_000_000_000;

/// What the responses hold.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shape {
    pub(crate) records: usize,
    pub(crate) value_size: usize,
    pub(crate) batch_size: usize,
}

/// The response as a frame, and where in it the numbers stand.
#[derive(Debug, Clone)]
pub(crate) struct Canned {
    frame: Vec<u8>,
    /// Where each batch begins, and the place of its first record.
    batches: Vec<(usize, i64)>,
    acquired_at: usize,
    records: i64,
}

impl Canned {
    pub(crate) fn new(shape: Shape) -> anyhow::Result<Self> {
        let mut field = BytesMut::new();
        let mut batches = Vec::new();
        let mut made = 0;
        let value = vec![b'v'; shape.value_size];
        while made < shape.records {
            batches.push((field.len(), made as i64));
            let mut builder = BatchBuilder::new(BatchOptions { max_size: shape.batch_size, ..BatchOptions::default() });
            while made < shape.records
                && builder.try_append(TIMESTAMP + made as i64 / 10, None, Some(&value), [])?.is_some()
            {
                made += 1;
            }
            field.extend_from_slice(&builder.build()?);
        }
        let field = field.freeze();
        let acquired = AcquiredRecords { first_offset: 0, last_offset: shape.records as i64 - 1, delivery_count: 1 };
        let partition = PartitionData {
            records: Some(field.clone()),
            acquired_records: vec![acquired],
            ..PartitionData::default()
        };
        let topic = ShareFetchableTopicResponse { topic_id: TOPIC_ID, partitions: vec![partition] };
        let response = ShareFetchResponse {
            acquisition_lock_timeout_ms: 30_000,
            responses: vec![topic],
            ..ShareFetchResponse::default()
        };
        let frame = encode_response(&response, SHARE_VERSION, 0)?.to_vec();
        let mut windows = frame.windows(BATCH_OVERHEAD);
        let field_at =
            windows.position(|window| window == &field[..BATCH_OVERHEAD]).context("the first batch is there")?;
        for (at, _) in &mut batches {
            *at += field_at;
        }
        // An array's length in one byte stands between the records and the range.
        let acquired_at = field_at + field.len() + 1;
        Ok(Self { frame, batches, acquired_at, records: shape.records as i64 })
    }

    /// How many records each response has.
    pub(crate) fn records(&self) -> i64 {
        self.records
    }

    /// The response to the request with this correlation id, with records from `first_offset` on.
    pub(crate) fn frame(&mut self, correlation_id: i32, first_offset: i64) -> &[u8] {
        self.put(CORRELATION_ID_AT, &correlation_id.to_be_bytes());
        for i in 0..self.batches.len() {
            let (at, delta) = self.batches[i];
            self.put(at, &(first_offset + delta).to_be_bytes());
        }
        self.put(self.acquired_at, &first_offset.to_be_bytes());
        self.put(self.acquired_at + 8, &(first_offset + self.records - 1).to_be_bytes());
        &self.frame
    }

    fn put(&mut self, at: usize, bytes: &[u8]) {
        self.frame[at..at + bytes.len()].copy_from_slice(bytes);
    }
}

/// Looks at both ends of a key or a value.
#[inline]
pub(crate) fn ends(bytes: Option<&[u8]>) -> u64 {
    match bytes {
        Some([first, .., last]) => u64::from(*first) + u64::from(*last),
        _ => 0,
    }
}

/// The batches of a response, for whoever reads it without the client.
pub(crate) fn batches(response: ShareFetchResponse) -> impl Iterator<Item = Batches> {
    let partitions = response.responses.into_iter().flat_map(|topic| topic.partitions);
    partitions.filter_map(|partition| partition.records).map(Batches::new)
}

#[cfg(test)]
mod tests {
    use ackflow_protocol::wire::decode_response;
    use bytes::Bytes;

    use super::*;

    #[test]
    fn every_response_has_the_records_after_those_of_the_last() {
        let mut canned = Canned::new(Shape { records: 500, value_size: 100, batch_size: 4096 }).unwrap();
        for (correlation_id, first) in [(1, 0), (2, 500), (3, 1 << 40)] {
            let frame = Bytes::copy_from_slice(&canned.frame(correlation_id, first)[4..]);
            let (header, response) = decode_response::<ShareFetchResponse>(frame, SHARE_VERSION).unwrap();
            assert_eq!(header.correlation_id, correlation_id);
            let acquired = &response.responses[0].partitions[0].acquired_records;
            assert_eq!((acquired[0].first_offset, acquired[0].last_offset), (first, first + 499));
            let mut offsets = Vec::new();
            for batch in batches(response).flatten() {
                let batch = batch.unwrap();
                batch.verify_crc().unwrap();
                offsets.extend(batch.records().map(|record| record.unwrap().offset));
            }
            assert_eq!(offsets, (first..first + 500).collect::<Vec<_>>());
        }
    }
}
