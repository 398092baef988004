//! Sessions of a client and a broker, cut into segments.

use std::net::SocketAddr;

use ackflow_protocol::messages::api_versions::{ApiVersion, ApiVersionsRequest, ApiVersionsResponse};
use ackflow_protocol::messages::metadata::{MetadataRequest, MetadataRequestTopic, MetadataResponse};
use ackflow_protocol::messages::produce::{PartitionProduceData, ProduceRequest, TopicProduceData};
use ackflow_protocol::wire::{encode_request, encode_response};
use bytes::Bytes;

use crate::file::{self, Captured, Format};
use crate::packet::{FIN, Link, RST, SYN, Segment};

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Who {
    Client,
    Broker,
}
pub(crate) use Who::{Broker, Client};

/// What is said, in order: the bytes of one or more frames each.
pub(crate) type Talk = Vec<(Who, Vec<u8>)>;

/// Requests and answers whose correlation ids begin at `first`.
pub(crate) fn talk(first: i32) -> Talk {
    let versions = ApiVersionsRequest {
        client_software_name: "c".into(),
        client_software_version: "1".into(),
        ..Default::default()
    };
    let api = ApiVersion { api_key: 3, min_version: 0, max_version: 13 };
    let supported = ApiVersionsResponse { api_keys: vec![api], ..Default::default() };
    let topic = MetadataRequestTopic { name: Some("orders".into()), ..Default::default() };
    let metadata = MetadataRequest { topics: Some(vec![topic]), ..Default::default() };
    let cluster = MetadataResponse { cluster_id: Some("cluster".into()), ..Default::default() };
    vec![
        (Client, encode_request(&versions, 4, first, Some("client")).unwrap().into()),
        (Broker, encode_response(&supported, 4, first).unwrap().into()),
        (Client, encode_request(&metadata, 12, first + 1, Some("client")).unwrap().into()),
        (Client, produce(first + 2, 0, 2_000).into()),
        (Client, encode_request(&metadata, 9, first + 3, None).unwrap().into()),
        (Broker, encode_response(&cluster, 12, first + 1).unwrap().into()),
        (Broker, encode_response(&cluster, 9, first + 3).unwrap().into()),
    ]
}

/// What [`talk`] is decoded to.
pub(crate) fn gist_of_talk(first: i32) -> Vec<String> {
    let said =
        [("request ApiVersions", 0), ("response ApiVersions", 0), ("request Metadata", 1), ("request Produce", 2)];
    let more = [("request Metadata", 3), ("response Metadata", 1), ("response Metadata", 3)];
    said.into_iter().chain(more).map(|(what, id)| format!("{what} {}", first + id)).collect()
}

/// A produce request with `length` bytes that are no records, and are not looked at.
pub(crate) fn produce(correlation_id: i32, acks: i16, length: usize) -> Bytes {
    let records: Vec<u8> = (0..length).map(|i| (i * 7 % 251) as u8).collect();
    let partition = PartitionProduceData { index: 0, records: Some(records.into()) };
    let topic = TopicProduceData { name: "orders".into(), partition_data: vec![partition], ..Default::default() };
    let request = ProduceRequest { acks, timeout_ms: 1_000, topic_data: vec![topic], ..Default::default() };
    encode_request(&request, 9, correlation_id, Some("client")).unwrap()
}

/// One connection being captured.
#[derive(Debug, Clone)]
pub(crate) struct Session {
    pub(crate) client: SocketAddr,
    pub(crate) broker: SocketAddr,
    /// The next sequence number of client and broker.
    pub(crate) next: [u32; 2],
    /// What each has of the other.
    pub(crate) received: [u32; 2],
}

impl Session {
    /// From the client's port, both sides at these sequence numbers before their SYN.
    pub(crate) fn new(port: u16, sequences: [u32; 2]) -> Self {
        let address = |port| SocketAddr::from(([127, 0, 0, 1], port));
        Self { client: address(port), broker: address(9092), next: sequences, received: [sequences[1], sequences[0]] }
    }

    pub(crate) fn on_ipv6(mut self) -> Self {
        let address = |port| SocketAddr::from(([0, 0, 0, 0, 0, 0, 0, 1], port));
        (self.client, self.broker) = (address(self.client.port()), address(self.broker.port()));
        self
    }

    /// A segment with a flag or with data, after all that were made before.
    pub(crate) fn send(&mut self, who: Who, flags: u8, payload: &[u8]) -> Segment {
        let i = who as usize;
        let (from, to) = if who == Client { (self.client, self.broker) } else { (self.broker, self.client) };
        let acknowledged = (flags & SYN == 0 || who == Broker).then_some(self.received[i]);
        let segment = Segment { from, to, sequence: self.next[i], acknowledged, flags, payload: payload.to_vec() };
        let length = payload.len() as u32 + u32::from(flags & (SYN | FIN) != 0);
        self.next[i] = self.next[i].wrapping_add(length);
        self.received[1 - i] = self.next[i];
        segment
    }

    pub(crate) fn open(&mut self) -> Vec<Segment> {
        vec![self.send(Client, SYN, b""), self.send(Broker, SYN, b""), self.send(Client, 0, b"")]
    }

    /// Each piece of a talk in segments of at most `size` bytes.
    pub(crate) fn say(&mut self, talk: &Talk, size: usize) -> Vec<Segment> {
        talk.iter()
            .flat_map(|(who, bytes)| bytes.chunks(size).map(|part| (*who, part)))
            .map(|(who, part)| self.send(who, 0, part))
            .collect()
    }

    pub(crate) fn close(&mut self) -> Vec<Segment> {
        vec![self.send(Client, FIN, b""), self.send(Broker, FIN, b""), self.send(Client, 0, b"")]
    }

    pub(crate) fn reset(&mut self) -> Vec<Segment> {
        vec![self.send(Client, RST, b"")]
    }
}

/// A time that has microseconds.
pub(crate) const START: u64 = 1_700_000_000_123_456_000;
/// Between two packets, in nanoseconds.
pub(crate) const STEP: u64 = 1_000_000;

/// The packets of segments, a millisecond apart.
pub(crate) fn packets(link: Link, segments: &[Segment]) -> Vec<Captured> {
    let packet = |(i, segment): (usize, &Segment)| Captured {
        time: START + i as u64 * STEP,
        data: link.dress(&segment.ip(false)),
        original: None,
    };
    segments.iter().enumerate().map(packet).collect()
}

/// A pcap file of segments on Ethernet.
pub(crate) fn pcap(segments: &[Segment]) -> Vec<u8> {
    file::write(file::PCAP, 1, &packets(Link::Ethernet, segments))
}

/// A file of any format and link.
pub(crate) fn file_of(format: Format, link: Link, segments: &[Segment], options: bool) -> Vec<u8> {
    let mut packets = packets(link, segments);
    for (packet, segment) in packets.iter_mut().zip(segments) {
        packet.data = link.dress(&segment.ip(options));
    }
    file::write(format, link.number(segments[0].from.ip()), &packets)
}
