//! The output as a consumer reads it that reads committed records alone.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};

use ackflow_protocol::messages::fetch::{FetchPartition, FetchRequest, FetchTopic};
use ackflow_protocol::records::Batches;
use ackflow_protocol::wire::frame::SIZE_LENGTH;
use ackflow_protocol::wire::{ApiKey, Request, decode_request_header, decode_response, encode_request};
use ackflow_testkit::core::{Answer, ConnectionId};

use crate::world::{OUT, World, is_poison};

/// A connection that no worker has.
const READER: u64 = u64::MAX;

impl World {
    /// The output is the input, without what was rejected, each record once.
    pub(crate) fn check_output(&mut self) {
        let mut seen: BTreeMap<u64, u32> = BTreeMap::new();
        for partition in 0..self.plan.outputs {
            for value in self.committed(partition) {
                *seen.entry(value).or_default() += 1;
            }
        }
        let expected = self.input.iter().filter(|value| !is_poison(**value));
        let lost: Vec<&u64> = expected.clone().filter(|value| !seen.contains_key(value)).collect();
        let twice: Vec<(&u64, &u32)> = seen.iter().filter(|(_, times)| **times > 1).collect();
        let strange: Vec<&u64> =
            seen.keys().filter(|value| !self.input.contains(value) || is_poison(**value)).collect();
        assert!(
            lost.is_empty() && twice.is_empty() && strange.is_empty(),
            "lost {lost:?}, written more than once {twice:?}, never to be written {strange:?}"
        );
        *self.counts.entry("records").or_default() += self.input.len() as u64;
        *self.counts.entry("output").or_default() += expected.count() as u64;
    }

    fn committed(&mut self, partition: i32) -> Vec<u64> {
        let end = self.cluster.end_offset(OUT, partition).expect("it is there");
        let node = self.cluster.leader(OUT, partition).expect("it is there").expect("all nodes run");
        let connection = ConnectionId(READER - partition as u64);
        assert!(self.cluster.connected(connection, node, IpAddr::V4(Ipv4Addr::LOCALHOST)));
        let topic_id = self.cluster.topic_id(OUT).expect("it is there");
        let (mut values, mut next) = (Vec::new(), 0);
        while next < end {
            let wanted =
                FetchPartition { partition, fetch_offset: next, partition_max_bytes: 10 << 20, ..Default::default() };
            let request = FetchRequest {
                max_bytes: 50 << 20,
                isolation_level: 1,
                topics: vec![FetchTopic { topic_id, partitions: vec![wanted], ..Default::default() }],
                ..Default::default()
            };
            let frame = encode_request(&request, FetchRequest::NEWEST_STABLE, 0, None).expect("it is valid");
            let (header, body) =
                decode_request_header(frame.slice(SIZE_LENGTH..), ApiKey::request_is_flexible).expect("it is valid");
            let Answer::Reply(frame) = self.cluster.handle(self.now, connection, &header, body) else {
                panic!("the fetch is not answered");
            };
            let (_, mut response) = decode_response::<<FetchRequest as Request>::Response>(
                frame.slice(SIZE_LENGTH..),
                FetchRequest::NEWEST_STABLE,
            )
            .expect("it can be read");
            let mut found = response.responses.remove(0).partitions.remove(0);
            let mut aborted: Vec<(i64, i64)> =
                found.aborted_transactions.iter().flatten().map(|one| (one.first_offset, one.producer_id)).collect();
            aborted.sort_unstable();
            let before = next;
            for batch in Batches::new(found.records.take().unwrap_or_default()) {
                let batch = batch.expect("it is whole");
                next = batch.last_offset() + 1;
                let of =
                    |(first, producer): &(i64, i64)| *producer == batch.producer_id() && *first <= batch.base_offset();
                if batch.is_control() {
                    // The first of this producer's has ended here, where it was one that was aborted.
                    if let Some(at) = aborted.iter().position(of) {
                        aborted.remove(at);
                    }
                } else if !(batch.is_transactional() && aborted.iter().any(of)) {
                    for record in batch.records() {
                        let record = record.expect("it is whole");
                        let value = record.value.expect("it has a value");
                        values.push(u64::from_be_bytes(value.try_into().expect("eight bytes")));
                    }
                }
            }
            assert!(next > before, "the output is not decided from {next} on, of {end}");
        }
        values
    }
}
