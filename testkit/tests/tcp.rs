//! The embedded broker over TCP.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::time::{Duration, Instant};

use ackflow_protocol::messages::api_versions::ApiVersionsRequest;
use ackflow_protocol::messages::metadata::{MetadataRequest, MetadataRequestTopic};
use ackflow_protocol::messages::sasl_authenticate::SaslAuthenticateRequest;
use ackflow_protocol::messages::sasl_handshake::SaslHandshakeRequest;
use ackflow_protocol::messages::share_acknowledge::{
    AcknowledgePartition, AcknowledgeTopic, AcknowledgementBatch, ShareAcknowledgeRequest,
};
use ackflow_protocol::messages::share_fetch::{FetchPartition, FetchTopic, ShareFetchRequest, ShareFetchResponse};
use ackflow_protocol::wire::{ApiKey, ErrorCode, Request, Uuid, decode_response, encode_request};
use ackflow_testkit::core::{FaultAction, FaultRule, ShareRecordState};
use ackflow_testkit::{BrokerError, EmbeddedBroker, EmbeddedBrokerBuilder, StartError};
use bytes::Bytes;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

const SOON: Duration = Duration::from_secs(10);

fn builder() -> EmbeddedBrokerBuilder {
    EmbeddedBroker::builder().fast().topic("orders", 1).group_config("billing", "share.auto.offset.reset", "earliest")
}

/// A bare connection.
struct Client {
    stream: TcpStream,
    sent: i32,
    received: i32,
}

impl Client {
    async fn connect(broker: &EmbeddedBroker) -> Self {
        Self { stream: TcpStream::connect(broker.addr()).await.unwrap(), sent: 0, received: 0 }
    }

    async fn send<R: Request>(&mut self, request: &R) {
        self.sent += 1;
        let frame = encode_request(request, R::NEWEST_STABLE, self.sent, Some("tcp")).unwrap();
        self.stream.write_all(&frame).await.unwrap();
    }

    async fn receive<R: Request>(&mut self) -> R::Response {
        let size = timeout(SOON, self.stream.read_i32()).await.unwrap().unwrap();
        let mut frame = vec![0; usize::try_from(size).unwrap()];
        self.stream.read_exact(&mut frame).await.unwrap();
        let (header, response) = decode_response(Bytes::from(frame), R::NEWEST_STABLE).unwrap();
        self.received += 1;
        assert_eq!(header.correlation_id, self.received, "answers come in the order of the requests");
        response
    }

    async fn call<R: Request>(&mut self, request: &R) -> R::Response {
        self.send(request).await;
        self.receive::<R>().await
    }

    /// Waits until the broker has closed the connection.
    async fn closed(&mut self) {
        let mut rest = Vec::new();
        // A reset is an end as well.
        let _ = timeout(SOON, self.stream.read_to_end(&mut rest)).await.expect("the connection is closed");
        assert!(rest.is_empty(), "{rest:?}");
    }
}

async fn topic_id(broker: &EmbeddedBroker) -> Uuid {
    let response =
        Client::connect(broker).await.call(&MetadataRequest { topics: None, ..MetadataRequest::default() }).await;
    response.topics[0].topic_id
}

fn fetch(topic_id: Uuid, member: &str, epoch: i32, max_wait_ms: i32) -> ShareFetchRequest {
    let partitions = vec![FetchPartition::default()];
    ShareFetchRequest {
        group_id: Some("billing".to_owned()),
        member_id: Some(member.to_owned()),
        share_session_epoch: epoch,
        max_wait_ms,
        min_bytes: 1,
        max_records: 100,
        batch_size: 100,
        topics: if epoch == 0 { vec![FetchTopic { topic_id, partitions }] } else { Vec::new() },
        ..ShareFetchRequest::default()
    }
}

fn accept(topic_id: Uuid, member: &str, epoch: i32, first_offset: i64, last_offset: i64) -> ShareAcknowledgeRequest {
    let batch = AcknowledgementBatch { first_offset, last_offset, acknowledge_types: vec![1] };
    let partition = AcknowledgePartition { partition_index: 0, acknowledgement_batches: vec![batch] };
    ShareAcknowledgeRequest {
        group_id: Some("billing".to_owned()),
        member_id: Some(member.to_owned()),
        share_session_epoch: epoch,
        topics: vec![AcknowledgeTopic { topic_id, partitions: vec![partition] }],
        ..ShareAcknowledgeRequest::default()
    }
}

/// First offset, last offset and delivery count of what was acquired.
fn acquired(response: &ShareFetchResponse) -> Vec<(i64, i64, i16)> {
    assert_eq!(response.error_code, ErrorCode::NONE);
    let partitions = response.responses.iter().flat_map(|topic| &topic.partitions);
    partitions
        .flat_map(|partition| &partition.acquired_records)
        .map(|range| (range.first_offset, range.last_offset, range.delivery_count))
        .collect()
}

#[tokio::test]
async fn records_go_through_a_share_group() {
    let broker = builder().start().await.unwrap();
    assert_eq!(broker.produce("orders", 0, ["a", "b", "c"]).await, Ok(0));
    let topic = topic_id(&broker).await;
    let mut client = Client::connect(&broker).await;
    assert_eq!(acquired(&client.call(&fetch(topic, "m1", 0, 0)).await), [(0, 2, 1)]);
    assert_eq!(broker.group_lag("billing", "orders", 0).await, Ok(Some(3)));
    client.call(&accept(topic, "m1", 1, 0, 2)).await;
    assert_eq!(broker.group_lag("billing", "orders", 0).await, Ok(Some(0)));
    broker.shutdown().await;
}

#[tokio::test]
async fn an_acknowledgement_waits_behind_a_parked_fetch_of_its_connection() {
    let broker = builder().start().await.unwrap();
    broker.produce("orders", 0, ["a"]).await.unwrap();
    let topic = topic_id(&broker).await;
    let mut client = Client::connect(&broker).await;
    client.call(&fetch(topic, "m1", 0, 0)).await;
    let sent = Instant::now();
    client.send(&fetch(topic, "m1", 1, 400)).await;
    client.send(&accept(topic, "m1", 2, 0, 0)).await;
    assert_eq!(acquired(&client.receive::<ShareFetchRequest>().await), []);
    client.receive::<ShareAcknowledgeRequest>().await;
    assert!(sent.elapsed() >= Duration::from_millis(400));
    assert_eq!(broker.group_lag("billing", "orders", 0).await, Ok(Some(0)));
}

#[tokio::test]
async fn a_closed_connection_gives_its_records_to_the_member_that_waits() {
    let broker = builder().start().await.unwrap();
    broker.produce("orders", 0, ["a", "b"]).await.unwrap();
    let topic = topic_id(&broker).await;
    let (mut first, mut second) = (Client::connect(&broker).await, Client::connect(&broker).await);
    first.call(&fetch(topic, "m1", 0, 0)).await;
    second.call(&fetch(topic, "m2", 0, 0)).await;
    second.send(&fetch(topic, "m2", 1, 60_000)).await;
    drop(first);
    assert_eq!(acquired(&second.receive::<ShareFetchRequest>().await), [(0, 1, 2)]);
}

#[tokio::test]
async fn a_member_that_goes_away_while_it_waits_acquires_nothing() {
    let broker = builder().start().await.unwrap();
    let topic = topic_id(&broker).await;
    let mut first = Client::connect(&broker).await;
    first.call(&fetch(topic, "m1", 0, 0)).await;
    first.send(&fetch(topic, "m1", 1, 60_000)).await;
    drop(first);
    let mut second = Client::connect(&broker).await;
    second.call(&fetch(topic, "m2", 0, 0)).await;
    second.send(&fetch(topic, "m2", 1, 60_000)).await;
    broker.produce("orders", 0, ["a"]).await.unwrap();
    let got = acquired(&second.receive::<ShareFetchRequest>().await);
    assert!(got == [(0, 0, 1)] || got == [(0, 0, 2)], "at the latest when the end was noticed: {got:?}");
}

#[tokio::test]
async fn all_connections_can_be_cut() {
    let broker = builder().start().await.unwrap();
    broker.produce("orders", 0, ["a"]).await.unwrap();
    let topic = topic_id(&broker).await;
    let (mut idle, mut waiting) = (Client::connect(&broker).await, Client::connect(&broker).await);
    idle.call(&fetch(topic, "m1", 0, 0)).await;
    waiting.call(&fetch(topic, "m2", 0, 0)).await;
    waiting.send(&fetch(topic, "m2", 1, 60_000)).await;
    broker.disconnect_all().await.unwrap();
    idle.closed().await;
    waiting.closed().await;
    let mut again = Client::connect(&broker).await;
    assert_eq!(acquired(&again.call(&fetch(topic, "m1", 0, 0)).await), [(0, 0, 2)]);
}

#[tokio::test]
async fn faults_reach_the_socket() {
    let broker = builder().start().await.unwrap();
    let metadata = MetadataRequest { topics: None, ..MetadataRequest::default() };
    let mut client = Client::connect(&broker).await;
    let refuse = FaultRule::new(FaultAction::Refuse(ErrorCode::UNKNOWN_SERVER_ERROR)).api(ApiKey::METADATA).times(1);
    let id = broker.add_fault(refuse).await.unwrap();
    assert_eq!(client.call(&metadata).await.error_code, ErrorCode::UNKNOWN_SERVER_ERROR);
    assert_eq!(client.call(&metadata).await.error_code, ErrorCode::NONE);
    assert_eq!(broker.fault_hits(id).await, Ok(1));

    let whole = encode_request(&metadata, MetadataRequest::NEWEST_STABLE, 1, Some("tcp")).unwrap();
    for (action, rest) in
        [(FaultAction::CutBefore, 0..=0), (FaultAction::CutAfter, 0..=0), (FaultAction::CutHalfway, 1..=1000)]
    {
        broker.add_fault(FaultRule::new(action).times(1)).await.unwrap();
        let mut client = Client::connect(&broker).await;
        client.stream.write_all(&whole).await.unwrap();
        let mut read = Vec::new();
        // A reset is an end as well.
        let _ = timeout(SOON, client.stream.read_to_end(&mut read)).await.expect("the connection is closed");
        assert!(rest.contains(&read.len()), "{action:?}: {}", read.len());
    }
    broker.add_fault(FaultRule::new(FaultAction::DelayAnswer(Duration::from_millis(100))).times(1)).await.unwrap();
    let asked = Instant::now();
    client.call(&metadata).await;
    assert!(asked.elapsed() >= Duration::from_millis(100));
    broker.add_fault(FaultRule::new(FaultAction::Ignore)).await.unwrap();
    broker.clear_faults().await.unwrap();
    client.call(&metadata).await;
    broker.shutdown().await;
}

#[tokio::test]
async fn locks_end_and_topics_change_when_a_test_says_so() {
    let broker = builder().start().await.unwrap();
    broker.produce("orders", 0, ["a", "b"]).await.unwrap();
    let topic = topic_id(&broker).await;
    let mut client = Client::connect(&broker).await;
    client.call(&fetch(topic, "m1", 0, 0)).await;
    let state = broker.share_records("billing", "orders", 0).await.unwrap().remove(0);
    assert!(matches!(&state.state, ShareRecordState::Acquired { member, .. } if &**member == "m1"), "{state:?}");
    broker.expire_locks("billing").await.unwrap();
    let state = broker.share_records("billing", "orders", 0).await.unwrap().remove(0);
    assert_eq!((state.first, state.last, state.state, state.delivery_count), (0, 1, ShareRecordState::Available, 1));
    broker.create_partitions("orders", 4).await.unwrap();
    assert_eq!(broker.produce("orders", 3, ["c"]).await, Ok(0));
    broker.delete_topic("orders").await.unwrap();
    assert!(broker.produce("orders", 0, ["d"]).await.is_err());
    broker.shutdown().await;
}

#[tokio::test]
async fn bytes_that_are_no_request_close_the_connection_and_nothing_else() {
    let broker = builder().config("socket.request.max.bytes", "1000000").start().await.unwrap();
    let mut bystander = Client::connect(&broker).await;
    bystander.call(&MetadataRequest::default()).await;
    let hostile: &[&[u8]] = &[
        b"GET / HTTP/1.1\r\nHost: kafka\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        &[0x7f, 0xff, 0xff, 0xff],
        &[0xff, 0xff, 0xff, 0xff],
        &[0, 0, 0, 0],
        &[0, 15, 66, 65],
        &[0, 0, 0, 1, 0],
        &[0, 0, 0, 14, 0, 1, 0, 18, 0, 0, 0, 1, 0xff, 0xff, 0, 0, 0, 0],
        &[0, 0, 0, 14, 0, 78, 0, 2, 0, 0, 0, 1, 0xff, 0xff, 0, 0xff, 0xff, 0xff],
        &[0, 0, 0, 14, 0, 3, 0, 13, 0, 0, 0, 1, 0x7f, 0xff, 0, 0xff, 0xff, 0xff],
    ];
    for bytes in hostile {
        let mut client = Client::connect(&broker).await;
        client.stream.write_all(bytes).await.unwrap();
        client.closed().await;
    }
    bystander.call(&MetadataRequest::default()).await;
}

// Mutation: testkit/src/server/connection.rs
// - let mut reader = FrameReader::new(input, self.max_first_frame);
// + let mut reader = FrameReader::new(input, self.max_frame);
#[tokio::test]
async fn a_client_that_has_not_proved_who_it_is_may_send_little() {
    let builder = builder().listen("SASL_PLAINTEXT://127.0.0.1:0").user("alice", "secret");
    let broker = builder.config("sasl.server.max.receive.size", "1000").start().await.unwrap();
    let mut stranger = Client::connect(&broker).await;
    stranger.stream.write_i32(1001).await.unwrap();
    stranger.closed().await;

    let mut client = Client::connect(&broker).await;
    let said = client.call(&SaslHandshakeRequest { mechanism: "PLAIN".to_owned() }).await;
    assert_eq!(said.error_code, ErrorCode::NONE);
    let token = Bytes::from_static(b"\0alice\0secret");
    let said = client.call(&SaslAuthenticateRequest { auth_bytes: token }).await;
    assert_eq!(said.error_code, ErrorCode::NONE);
    let name = |i: i32| MetadataRequestTopic { name: Some(format!("topic-{i}")), ..Default::default() };
    client.call(&MetadataRequest { topics: Some((0..200).map(name).collect()), ..Default::default() }).await;
}

#[tokio::test]
async fn a_half_sent_request_is_given_up_with_its_connection() {
    let broker = builder().start().await.unwrap();
    let frame = encode_request(&MetadataRequest::default(), 13, 1, Some("tcp")).unwrap();
    let mut client = Client::connect(&broker).await;
    client.stream.write_all(&frame[..frame.len() - 1]).await.unwrap();
    client.stream.shutdown().await.unwrap();
    client.closed().await;
}

#[tokio::test]
async fn requests_that_come_in_pieces_or_together_are_answered_one_by_one() {
    let broker = builder().start().await.unwrap();
    let mut client = Client::connect(&broker).await;
    let request = ApiVersionsRequest {
        client_software_name: "tcp".to_owned(),
        client_software_version: "1".to_owned(),
        ..ApiVersionsRequest::default()
    };
    let mut bytes = Vec::new();
    for _ in 0..3 {
        client.sent += 1;
        let version = ApiVersionsRequest::NEWEST_STABLE;
        bytes.extend_from_slice(&encode_request(&request, version, client.sent, Some("tcp")).unwrap());
    }
    let (whole, pieces) = bytes.split_at(bytes.len() / 2);
    client.stream.write_all(whole).await.unwrap();
    let first = client.receive::<ApiVersionsRequest>().await;
    assert!(!first.api_keys.is_empty());
    for byte in pieces {
        client.stream.write_all(&[*byte]).await.unwrap();
    }
    for _ in 0..2 {
        assert_eq!(client.receive::<ApiVersionsRequest>().await, first);
    }
}

#[tokio::test]
async fn a_stopped_broker_closes_its_connections_and_its_port() {
    let broker = builder().start().await.unwrap();
    let addr = broker.addr();
    let mut client = Client::connect(&broker).await;
    client.call(&MetadataRequest::default()).await;
    broker.shutdown().await;
    client.closed().await;
    let again = EmbeddedBroker::builder().listen(addr.to_string()).start().await.unwrap();
    let taken = EmbeddedBroker::builder().listen(again.bootstrap_servers()).start().await.unwrap_err();
    assert!(matches!(taken, StartError::Listen { .. }));
    assert!(taken.to_string().contains(&addr.to_string()), "{taken}");
}

#[tokio::test]
async fn helpers_say_what_the_broker_refuses() {
    let broker = builder().start().await.unwrap();
    let code = |refused: Result<i64, BrokerError>| match refused {
        Err(BrokerError::Refused { code, .. }) => code,
        other => panic!("not refused: {other:?}"),
    };
    assert_eq!(code(broker.produce("nothing", 0, ["a"]).await), ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
    assert_eq!(code(broker.produce("orders", 9, ["a"]).await), ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
    assert_eq!(code(broker.produce("orders", 0, [""; 0]).await), ErrorCode::INVALID_RECORD);
    broker.create_topic("nothing", 1).await.unwrap();
    assert!(broker.create_topic("nothing", 1).await.is_err());
    assert_eq!(broker.produce("nothing", 0, ["a"]).await, Ok(0));
}
