//! The process that answers: what a share consumer needs before its first fetch, and then always the same records.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use ackflow_protocol::messages::api_versions::{ApiVersion, ApiVersionsResponse, FinalizedFeatureKey};
use ackflow_protocol::messages::find_coordinator::{Coordinator, FindCoordinatorRequest, FindCoordinatorResponse};
use ackflow_protocol::messages::metadata::{
    MetadataResponse, MetadataResponseBroker, MetadataResponsePartition, MetadataResponseTopic,
};
use ackflow_protocol::messages::share_acknowledge::{
    PartitionData, ShareAcknowledgeRequest, ShareAcknowledgeResponse, ShareAcknowledgeTopicResponse,
};
use ackflow_protocol::messages::share_fetch::{ShareFetchRequest, ShareFetchResponse};
use ackflow_protocol::messages::share_group_heartbeat::{
    Assignment, ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse, TopicPartitions,
};
use ackflow_protocol::wire::{ApiKey, Message, decode_request_header, encode_response};
use anyhow::bail;
use bytes::Bytes;

use crate::canned::{Canned, SHARE_VERSION, Shape, TOPIC, TOPIC_ID};

const HOST: &str = "127.0.0.1";
const ACCEPT: i8 = 1;

/// The versions that are spoken here, one of each API.
const VERSIONS: [(ApiKey, i16); 6] = [
    (ApiKey::API_VERSIONS, 4),
    (ApiKey::METADATA, 13),
    (ApiKey::FIND_COORDINATOR, 6),
    (ApiKey::SHARE_GROUP_HEARTBEAT, 1),
    (ApiKey::SHARE_FETCH, SHARE_VERSION),
    (ApiKey::SHARE_ACKNOWLEDGE, SHARE_VERSION),
];

/// Serves until standard input ends, then prints how many records were accepted.
pub(crate) fn serve(shape: Shape) -> anyhow::Result<()> {
    let listener = TcpListener::bind((HOST, 0))?;
    let port = listener.local_addr()?.port();
    println!("{port}");
    let canned = Canned::new(shape)?;
    let accepted = Arc::new(AtomicU64::new(0));
    let counter = Arc::clone(&accepted);
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let connection =
                Connection { port, canned: canned.clone(), next_offset: 0, accepted: Arc::clone(&counter) };
            thread::spawn(move || {
                if let Err(error) = connection.run(stream) {
                    eprintln!("the server ends a connection: {error:#}");
                }
            });
        }
    });
    io::copy(&mut io::stdin(), &mut io::sink())?;
    println!("{}", accepted.load(Ordering::Relaxed));
    Ok(())
}

struct Connection {
    port: u16,
    canned: Canned,
    next_offset: i64,
    accepted: Arc<AtomicU64>,
}

impl Connection {
    fn run(mut self, mut stream: TcpStream) -> anyhow::Result<()> {
        stream.set_nodelay(true)?;
        let mut size = [0; 4];
        loop {
            match stream.read_exact(&mut size) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
                // The client may go without reading what it asked for.
                Err(error) if error.kind() == io::ErrorKind::ConnectionReset => return Ok(()),
                Err(error) => return Err(error.into()),
            }
            let mut request = vec![0; u32::from_be_bytes(size) as usize];
            stream.read_exact(&mut request)?;
            if let Err(error) = self.answer(request.into(), &mut stream) {
                match error.downcast_ref::<io::Error>() {
                    Some(_) => return Ok(()),
                    None => return Err(error),
                }
            }
        }
    }

    fn answer(&mut self, request: Bytes, stream: &mut TcpStream) -> anyhow::Result<()> {
        let (header, body) = decode_request_header(request, ApiKey::request_is_flexible)?;
        let (version, id) = (header.request_api_version, header.correlation_id);
        let frame = match header.request_api_key {
            ApiKey::API_VERSIONS => encode_response(&api_versions(), version, id)?,
            ApiKey::METADATA => encode_response(&metadata(self.port), version, id)?,
            ApiKey::FIND_COORDINATOR => {
                let request = FindCoordinatorRequest::from_bytes(body, version)?;
                encode_response(&coordinators(request, self.port), version, id)?
            }
            ApiKey::SHARE_GROUP_HEARTBEAT => {
                let request = ShareGroupHeartbeatRequest::from_bytes(body, version)?;
                encode_response(&heartbeat(request), version, id)?
            }
            ApiKey::SHARE_FETCH => {
                let request = ShareFetchRequest::from_bytes(body, version)?;
                let partitions = request.topics.into_iter().flat_map(|topic| topic.partitions);
                let batches = partitions.flat_map(|partition| partition.acknowledgement_batches);
                self.count(batches.map(|batch| (batch.first_offset, batch.last_offset, batch.acknowledge_types)));
                if request.max_records > 0 {
                    stream.write_all(self.canned.frame(id, self.next_offset))?;
                    self.next_offset += self.canned.records();
                    return Ok(());
                }
                encode_response(&ShareFetchResponse::default(), version, id)?
            }
            ApiKey::SHARE_ACKNOWLEDGE => {
                let request = ShareAcknowledgeRequest::from_bytes(body, version)?;
                let response = acknowledged(&request);
                let partitions = request.topics.into_iter().flat_map(|topic| topic.partitions);
                let batches = partitions.flat_map(|partition| partition.acknowledgement_batches);
                self.count(batches.map(|batch| (batch.first_offset, batch.last_offset, batch.acknowledge_types)));
                encode_response(&response, version, id)?
            }
            key => bail!("{key} is not answered here"),
        };
        stream.write_all(&frame)?;
        Ok(())
    }

    /// Counts what is accepted: one type for a whole range, or one an offset.
    fn count(&self, batches: impl Iterator<Item = (i64, i64, Vec<i8>)>) {
        let accepted = batches.map(|(first, last, types)| match types[..] {
            [ACCEPT] => (last - first + 1) as u64,
            _ => types.iter().filter(|kind| **kind == ACCEPT).count() as u64,
        });
        self.accepted.fetch_add(accepted.sum(), Ordering::Relaxed);
    }
}

fn api_versions() -> ApiVersionsResponse {
    let api = |(key, version): (ApiKey, i16)| ApiVersion { api_key: key.0, min_version: version, max_version: version };
    let feature = FinalizedFeatureKey { name: "share.version".to_owned(), max_version_level: 1, min_version_level: 1 };
    ApiVersionsResponse {
        api_keys: VERSIONS.map(api).to_vec(),
        finalized_features_epoch: 0,
        finalized_features: vec![feature],
        ..ApiVersionsResponse::default()
    }
}

fn metadata(port: u16) -> MetadataResponse {
    let broker = MetadataResponseBroker { node_id: 1, host: HOST.to_owned(), port: port.into(), rack: None };
    let partition = MetadataResponsePartition {
        leader_id: 1,
        leader_epoch: 0,
        replica_nodes: vec![1],
        isr_nodes: vec![1],
        ..MetadataResponsePartition::default()
    };
    let topic = MetadataResponseTopic {
        name: Some(TOPIC.to_owned()),
        topic_id: TOPIC_ID,
        partitions: vec![partition],
        ..MetadataResponseTopic::default()
    };
    MetadataResponse {
        brokers: vec![broker],
        cluster_id: Some("replay".to_owned()),
        controller_id: 1,
        topics: vec![topic],
        ..MetadataResponse::default()
    }
}

fn coordinators(request: FindCoordinatorRequest, port: u16) -> FindCoordinatorResponse {
    let coordinator =
        |key| Coordinator { key, node_id: 1, host: HOST.to_owned(), port: port.into(), ..Coordinator::default() };
    let coordinators = request.coordinator_keys.into_iter().map(coordinator).collect();
    FindCoordinatorResponse { coordinators, ..FindCoordinatorResponse::default() }
}

/// The one partition for whoever asks.
fn heartbeat(request: ShareGroupHeartbeatRequest) -> ShareGroupHeartbeatResponse {
    let partitions = TopicPartitions { topic_id: TOPIC_ID, partitions: vec![0] };
    ShareGroupHeartbeatResponse {
        member_id: Some(request.member_id),
        member_epoch: if request.member_epoch < 0 { request.member_epoch } else { 1 },
        heartbeat_interval_ms: 5_000,
        assignment: Some(Assignment { topic_partitions: vec![partitions] }),
        ..ShareGroupHeartbeatResponse::default()
    }
}

fn acknowledged(request: &ShareAcknowledgeRequest) -> ShareAcknowledgeResponse {
    let topics = request.topics.iter().map(|topic| ShareAcknowledgeTopicResponse {
        topic_id: topic.topic_id,
        partitions: topic
            .partitions
            .iter()
            .map(|partition| PartitionData { partition_index: partition.partition_index, ..PartitionData::default() })
            .collect(),
    });
    ShareAcknowledgeResponse { responses: topics.collect(), ..ShareAcknowledgeResponse::default() }
}
