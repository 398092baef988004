//! What a share consumer holds of acquired ranges that no broker would mean: ranges, never offsets.

#[path = "support/counting.rs"]
mod counting;

use std::time::Instant;

use ackflow_protocol::machine::{
    AckRange, AckType, Acquisition, ClientRequest, ClientResponse, Event, Output, RequestId, ShareConsumerMachine,
    ShareConsumerOptions,
};
use ackflow_protocol::messages::find_coordinator::{Coordinator, FindCoordinatorResponse};
use ackflow_protocol::messages::metadata::{
    MetadataResponse, MetadataResponseBroker, MetadataResponsePartition, MetadataResponseTopic,
};
use ackflow_protocol::messages::share_fetch::{
    AcquiredRecords, PartitionData, ShareFetchResponse, ShareFetchableTopicResponse,
};
use ackflow_protocol::messages::share_group_heartbeat::{Assignment, ShareGroupHeartbeatResponse, TopicPartitions};
use ackflow_protocol::records::{BatchBuilder, BatchOptions};
use ackflow_protocol::wire::Uuid;
use bytes::Bytes;
use counting::peak;

const MIB: usize = 1 << 20;
const TOPIC: Uuid = Uuid([1; 16]);

/// Polls until the machine waits; gives what it sends and tells.
fn drain(machine: &mut ShareConsumerMachine, now: Instant) -> (Vec<(RequestId, ClientRequest)>, Vec<Event>) {
    let (mut sent, mut events) = (Vec::new(), Vec::new());
    loop {
        match machine.poll(now) {
            Output::Send { id, request, .. } => sent.push((id, request)),
            Output::Event(event) => events.push(event),
            Output::Wait(_) => return (sent, events),
        }
    }
}

/// What the one broker says before there are records; `None` to a fetch.
fn answer(request: &ClientRequest) -> Option<ClientResponse> {
    Some(match request {
        ClientRequest::FindCoordinator(_) => {
            let coordinator =
                Coordinator { key: "g".into(), node_id: 1, host: "h".into(), port: 9092, ..Default::default() };
            ClientResponse::FindCoordinator(FindCoordinatorResponse {
                coordinators: vec![coordinator],
                ..Default::default()
            })
        }
        ClientRequest::Heartbeat(_) => {
            let assigned = TopicPartitions { topic_id: TOPIC, partitions: vec![0] };
            ClientResponse::Heartbeat(ShareGroupHeartbeatResponse {
                member_epoch: 1,
                heartbeat_interval_ms: 5_000,
                assignment: Some(Assignment { topic_partitions: vec![assigned] }),
                ..Default::default()
            })
        }
        ClientRequest::Metadata(_) => ClientResponse::Metadata(MetadataResponse {
            brokers: vec![MetadataResponseBroker { node_id: 1, host: "h".into(), port: 9092, rack: None }],
            topics: vec![MetadataResponseTopic {
                name: Some("t".into()),
                topic_id: TOPIC,
                partitions: vec![MetadataResponsePartition { leader_id: 1, ..Default::default() }],
                ..Default::default()
            }],
            ..Default::default()
        }),
        _ => return None,
    })
}

/// A member with its first fetch out.
fn fetching(now: Instant) -> (ShareConsumerMachine, RequestId) {
    let mut machine = ShareConsumerMachine::new(now, 7, ShareConsumerOptions::new("g", "m"));
    machine.subscribe(now, vec!["t".into()]);
    machine.polled(now);
    for _ in 0..10 {
        for (id, request) in drain(&mut machine, now).0 {
            match answer(&request) {
                Some(response) => machine.handle_response(now, id, Ok(response)),
                None => return (machine, id),
            }
        }
    }
    panic!("no fetch goes out");
}

fn fetched(first_offset: i64, last_offset: i64, records: Bytes) -> ClientResponse {
    let acquired_records = vec![AcquiredRecords { first_offset, last_offset, delivery_count: 1 }];
    let partition = PartitionData { records: Some(records), acquired_records, ..Default::default() };
    let topic = ShareFetchableTopicResponse { topic_id: TOPIC, partitions: vec![partition] };
    ClientResponse::ShareFetch(ShareFetchResponse {
        acquisition_lock_timeout_ms: 30_000,
        responses: vec![topic],
        ..Default::default()
    })
}

// Mutation: protocol/src/machine/acquisition/mod.rs
// - self.acquired.ranges.reserve_exact(acquired.len());
// + self.acquired.ranges.reserve_exact(acquired.iter().map(|range| range.last_offset.min(1 << 20) as usize).sum());
#[test]
fn row_20_what_is_acquired_beyond_all_measure_costs_less_than_a_mebibyte() {
    let mut batch = BatchBuilder::new(BatchOptions::default());
    batch.try_append(0, None, Some(b"hello"), []).unwrap();
    let good = batch.build().unwrap();
    let mut broken = good.to_vec();
    broken[23..27].copy_from_slice(&i32::MAX.to_be_bytes());
    for (first, last, records) in [
        (0, 1 << 32, good.clone()),
        (0, i64::MAX, good.clone()),
        (5, 3, good.clone()),
        (0, i64::MAX, broken.into()),
        (0, i64::MAX, Bytes::new()),
    ] {
        let now = Instant::now();
        let (mut machine, fetch) = fetching(now);
        let (held, accepted) = peak(|| {
            machine.handle_response(now, fetch, Ok(fetched(first, last, records)));
            let (_, events) = drain(&mut machine, now);
            let acquired = events.into_iter().find_map(|event| match event {
                Event::Acquired(acquisition) => Some(acquisition),
                _ => None,
            });
            acquired.map(|acquisition: Acquisition| {
                let all = vec![AckRange { first: 0, last: i64::MAX, ack: AckType::Accept }];
                machine.acknowledge(now, acquisition.id(), acquisition.topic_partition, all);
                drain(&mut machine, now).1.len()
            })
        });
        assert!(held < MIB, "{held} bytes held for offsets {first} to {last}, answered with {accepted:?} events");
    }
}
