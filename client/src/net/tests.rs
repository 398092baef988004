//! Connections against brokers that misbehave.

use std::sync::Arc;
use std::time::Duration;

use ackflow_protocol::messages::api_versions::{ApiVersion, ApiVersionsResponse};
use ackflow_protocol::messages::metadata::{MetadataRequest, MetadataRequestTopic, MetadataResponse};
use ackflow_protocol::wire::{ApiKey, ErrorCode, Request};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use super::testing::{Peer, Received, Wire, all_versions};
use super::{Connected, Connection, Disconnected, Hooks, NetConfig, Requested, Throttled};
use crate::error::{ClientError, ErrorKind};

const SOON: Duration = Duration::from_secs(10);

async fn connect(peer: &Peer) -> Result<Connection, ClientError> {
    Connection::connect("127.0.0.1", peer.port(), &NetConfig::default()).await
}

/// A connection and the broker's end of it, versions exchanged.
async fn pair(config: &NetConfig) -> (Connection, Wire) {
    let peer = Peer::bind().await;
    let (connection, wire) = tokio::join!(Connection::connect("127.0.0.1", peer.port(), config), peer.accept());
    (connection.unwrap(), wire)
}

/// An answer that can be told from others.
fn cluster(id: impl ToString) -> MetadataResponse {
    MetadataResponse { cluster_id: Some(id.to_string()), ..Default::default() }
}

/// A request that names a topic so many times.
fn about(name: String, times: usize) -> MetadataRequest {
    let topic = MetadataRequestTopic { name: Some(name), ..Default::default() };
    MetadataRequest { topics: Some(vec![topic; times]), ..Default::default() }
}

fn ask(connection: &Connection) -> JoinHandle<Result<MetadataResponse, ClientError>> {
    let connection = connection.clone();
    tokio::spawn(async move { connection.call(&MetadataRequest::default(), SOON).await })
}

#[tokio::test]
async fn answers_reach_their_callers_whatever_their_order() {
    let (connection, mut wire) = pair(&NetConfig::default()).await;
    let first = ask(&connection);
    let one = wire.request().await;
    let second = ask(&connection);
    let two = wire.request().await;
    wire.answer(&two, &cluster("two")).await;
    wire.answer(&one, &cluster("one")).await;
    assert_eq!(first.await.unwrap().unwrap().cluster_id.as_deref(), Some("one"));
    assert_eq!(second.await.unwrap().unwrap().cluster_id.as_deref(), Some("two"));
}

#[tokio::test]
async fn the_newest_stable_versions_are_spoken_and_features_known() {
    let (connection, mut wire) = pair(&NetConfig::default()).await;
    assert_eq!(connection.version(ApiKey::METADATA), Some(MetadataRequest::NEWEST_STABLE));
    assert_eq!(connection.version(ApiKey::ALTER_CLIENT_QUOTAS), None);
    assert_eq!(connection.finalized_feature("share.version"), Some(2));
    assert_eq!(connection.finalized_feature("kraft.version"), None);
    let asked = ask(&connection);
    let request = wire.request().await;
    assert_eq!(request.header.request_api_version, MetadataRequest::NEWEST_STABLE);
    assert_eq!(request.header.client_id.as_deref(), Some("ackflow"));
    wire.answer(&request, &cluster(1)).await;
    asked.await.unwrap().unwrap();
}

#[tokio::test]
async fn an_api_that_the_broker_lacks_is_an_error_before_anything_is_sent() {
    let peer = Peer::bind().await;
    let serve = async {
        let mut wire = peer.accept_raw().await;
        let mut versions = all_versions();
        versions.api_keys.retain(|api| api.api_key != ApiKey::METADATA.0);
        versions.api_keys.push(ApiVersion { api_key: ApiKey::SHARE_FETCH.0, min_version: 90, max_version: 99 });
        wire.exchange_versions(&versions).await;
        wire
    };
    let (connection, mut wire) = tokio::join!(connect(&peer), serve);
    let connection = connection.unwrap();
    let error = connection.call(&MetadataRequest::default(), SOON).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnsupportedVersion);
    assert!(error.to_string().contains("does not offer Metadata"), "{error}");
    drop(connection);
    assert!(wire.try_request().await.is_none());
}

// Mutation: client/src/net/negotiate.rs
// - if response.error_code == ErrorCode::UNSUPPORTED_VERSION {
// + if false {
#[tokio::test]
async fn row_36_a_broker_that_knows_only_older_versions_is_asked_again() {
    for (listed, expected) in [("0012 0000 0003", 3), ("0012 0000 0002", 2), ("", 0)] {
        let peer = Peer::bind().await;
        let serve = async {
            let mut wire = peer.accept_raw().await;
            let first = wire.request().await;
            assert_eq!(first.header.request_api_version, 5);
            // Response header v0, error 35, body v0.
            let count = u8::from(!listed.is_empty());
            let body = hex(&format!("0023 000000{count:02x} {listed}"));
            let mut frame = (body.len() as i32 + 4).to_be_bytes().to_vec();
            frame.extend(first.header.correlation_id.to_be_bytes());
            frame.extend(body);
            wire.write(&frame).await;
            let second = wire.request().await;
            assert_eq!(second.header.request_api_version, expected);
            wire.answer(
                &second,
                &ApiVersionsResponse { finalized_features: Vec::new(), finalized_features_epoch: -1, ..all_versions() },
            )
            .await;
            wire
        };
        let (connection, _wire) = tokio::join!(connect(&peer), serve);
        assert!(connection.unwrap().version(ApiKey::METADATA).is_some(), "{listed:?}");
    }
}

// Mutation: client/src/net/negotiate.rs
// - let newest = to.min(R::NEWEST_STABLE);
// + let newest = to.max(R::NEWEST_STABLE);
#[tokio::test]
async fn row_36_each_new_connection_asks_and_believes_what_it_is_told() {
    let peer = Peer::bind().await;
    for newest in [9, 12] {
        let serve = async {
            let mut wire = peer.accept_raw().await;
            let mut versions = all_versions();
            let metadata = versions.api_keys.iter_mut().find(|api| api.api_key == ApiKey::METADATA.0).unwrap();
            metadata.max_version = newest;
            wire.exchange_versions(&versions).await;
            wire
        };
        let (connection, _wire) = tokio::join!(connect(&peer), serve);
        assert_eq!(connection.unwrap().version(ApiKey::METADATA), Some(newest));
    }
}

// Mutation: client/src/net/negotiate.rs
// - if response.error_code == ErrorCode::UNSUPPORTED_VERSION {
// + while response.error_code == ErrorCode::UNSUPPORTED_VERSION {
#[tokio::test]
async fn row_36_the_second_refusal_is_final() {
    let peer = Peer::bind().await;
    let serve = async {
        let mut wire = peer.accept_raw().await;
        for _ in 0..2 {
            let request = wire.request().await;
            let mut frame = vec![0, 0, 0, 10];
            frame.extend(request.header.correlation_id.to_be_bytes());
            frame.extend(hex("0023 00000000"));
            wire.write(&frame).await;
        }
        assert!(wire.try_request().await.is_none());
    };
    let (connection, ()) = tokio::join!(connect(&peer), serve);
    assert_eq!(connection.unwrap_err().code(), Some(ErrorCode::UNSUPPORTED_VERSION));
}

// Mutation: client/src/net/negotiate.rs
// - reader.set_limit(MAX_UNAUTHENTICATED_FRAME);
// + reader.set_limit(100 << 20);
#[tokio::test]
async fn row_46_sizes_that_make_no_sense_are_refused_before_and_after_the_first_answer() {
    for (prefix, hint) in [
        ("7fffffff", ""),
        ("ffffffff", ""),
        ("00000000", ""),
        ("48545450", "HTTP"),
        ("15030300", "TLS"),
        // Small enough for an answer, too large for the first one.
        ("00100000", ""),
    ] {
        let peer = Peer::bind().await;
        let serve = async {
            let mut wire = peer.accept_raw().await;
            wire.request().await;
            wire.write(&hex(prefix)).await;
            wire
        };
        let (connection, _wire) = tokio::join!(connect(&peer), serve);
        let error = connection.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Malformed, "{prefix}");
        assert!(error.to_string().contains(hint) && error.to_string().contains("security.protocol"), "{error}");
    }
    for prefix in ["7fffffff", "ffffffff", "00000000", "48545450"] {
        let (connection, mut wire) = pair(&NetConfig::default()).await;
        let asked = ask(&connection);
        wire.request().await;
        wire.write(&hex(prefix)).await;
        assert_eq!(asked.await.unwrap().unwrap_err().kind(), ErrorKind::Malformed, "{prefix}");
        timeout(SOON, connection.closed()).await.unwrap();
    }
}

#[tokio::test]
async fn an_answer_to_nothing_ends_the_connection_and_fails_everyone_with_one_reason() {
    let (connection, mut wire) = pair(&NetConfig::default()).await;
    let (one, two) = (ask(&connection), ask(&connection));
    let request = wire.request().await;
    wire.request().await;
    let header = ackflow_protocol::wire::RequestHeader { correlation_id: 4711, ..request.header.clone() };
    wire.answer(&Received { header, ..request }, &cluster(1)).await;
    let (one, two) = (one.await.unwrap().unwrap_err(), two.await.unwrap().unwrap_err());
    // What was asked for may be in order, so that nothing is to blame for it but the connection.
    assert_eq!(one.kind(), ErrorKind::Disconnected);
    assert_eq!(one.to_string(), two.to_string());
    assert!(one.to_string().contains("4711"), "{one}");
}

#[tokio::test]
async fn an_answer_that_is_cut_or_too_long_names_message_and_field() {
    for (body, named) in [(&b""[..], "throttleTimeMs"), (&[0; 400], "")] {
        let (connection, mut wire) = pair(&NetConfig::default()).await;
        let asked = ask(&connection);
        let request = wire.request().await;
        let mut frame = (body.len() as i32 + 5).to_be_bytes().to_vec();
        frame.extend(request.header.correlation_id.to_be_bytes());
        frame.push(0);
        frame.extend(body);
        wire.write(&frame).await;
        let error = asked.await.unwrap().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Malformed);
        assert!(error.to_string().contains("MetadataResponse") && error.to_string().contains(named), "{error}");
    }
}

// Mutation: client/src/net/queue.rs
// - Self::To(waiter) => _ = waiter.send(answer),
// + Self::To(waiter) => waiter.send(answer).expect("nobody goes away"),
/// Callers give up at random moments, and still every frame arrives whole and
/// every caller that stays gets its own answer.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn row_61_callers_that_go_away_leave_the_connection_whole() {
    for seed in 0..500u64 {
        let (connection, mut wire) = pair(&NetConfig::default()).await;
        let broker = tokio::spawn(async move {
            let mut served = 0;
            while let Some(request) = wire.try_request().await {
                let topics = request.decode::<MetadataRequest>().topics.unwrap();
                let name = topics[0].name.clone().unwrap();
                wire.answer(&request, &cluster(&name[..name.find('-').unwrap()])).await;
                served += 1;
            }
            served
        });
        let mut random = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut calls = Vec::new();
        for id in 0..20 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let patience = (random >> 33) % 400;
            let connection = connection.clone();
            calls.push(tokio::spawn(async move {
                let name = format!("{id}-{}", "x".repeat((random >> 20) as usize % 30_000));
                let request = about(name, 1);
                let call = connection.call(&request, SOON);
                match id % 4 {
                    0 => {
                        let answer = call.await.unwrap();
                        assert_eq!(answer.cluster_id, Some(id.to_string()));
                    }
                    _ => {
                        if let Ok(answer) = timeout(Duration::from_micros(patience), call).await {
                            assert_eq!(answer.unwrap().cluster_id, Some(id.to_string()));
                        }
                    }
                }
            }));
        }
        for call in calls {
            call.await.unwrap();
        }
        assert!(!connection.is_closed(), "seed {seed}");
        connection.close();
        drop(connection);
        assert!(broker.await.unwrap() >= 5, "seed {seed}");
    }
}

// Mutation: client/src/net/frames.rs
// - return front.advance(count);
// + return front.clear();
#[tokio::test]
async fn row_61_a_large_request_to_a_slow_reader_arrives_whole_though_its_caller_has_gone() {
    let (connection, mut wire) = pair(&NetConfig::default()).await;
    let request = about("x".repeat(30_000), 1000);
    assert!(timeout(Duration::from_millis(10), connection.call(&request, SOON)).await.is_err());
    let second = ask(&connection);
    assert_eq!(wire.request().await.decode::<MetadataRequest>(), request);
    let other = wire.request().await;
    wire.answer(&other, &cluster("second")).await;
    assert_eq!(second.await.unwrap().unwrap().cluster_id.as_deref(), Some("second"));
}

#[tokio::test]
async fn a_request_without_an_answer_ends_the_connection() {
    let (connection, mut wire) = pair(&NetConfig::default()).await;
    let other = ask(&connection);
    wire.request().await;
    let error = connection.call(&MetadataRequest::default(), Duration::from_millis(50)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TimedOut);
    assert!(error.to_string().contains("MetadataRequest within 50 ms"), "{error}");
    assert_eq!(other.await.unwrap().unwrap_err().kind(), ErrorKind::Disconnected);
    wire.request().await;
    assert!(wire.try_request().await.is_none());
}

// Mutation: client/src/net/queue.rs
// - ErrorKind::Disconnected | ErrorKind::TimedOut => reason.clone().of_kind(ErrorKind::NotSent),
// + ErrorKind::Disconnected | ErrorKind::TimedOut => reason.clone(),
#[tokio::test]
async fn row_75_a_connection_that_the_broker_closes_while_idle_says_so_at_once() {
    let (connection, wire) = pair(&NetConfig::default()).await;
    drop(wire);
    timeout(SOON, connection.closed()).await.unwrap();
    let error = connection.call(&MetadataRequest::default(), SOON).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotSent);
}

// Mutation: client/src/net/queue.rs
// - let reason = if is_unsent { not_sent(&reason) } else { reason.clone() };
// + let reason = not_sent(&reason);
#[tokio::test]
async fn row_75_a_request_that_was_written_before_the_end_is_unclear() {
    let (connection, mut wire) = pair(&NetConfig::default()).await;
    let asked = ask(&connection);
    wire.request().await;
    drop(wire);
    assert_eq!(asked.await.unwrap().unwrap_err().kind(), ErrorKind::Disconnected);
}

// Mutation: client/src/net/queue.rs
// - state.waiting.is_empty().then_some(state.last_activity)
// + Some(state.last_activity)
#[tokio::test]
async fn row_75_an_idle_connection_is_closed_here_first_but_not_one_in_use() {
    let config = NetConfig { max_idle: Duration::from_millis(150), ..Default::default() };
    let (connection, mut wire) = pair(&config).await;
    let asked = ask(&connection);
    let request = wire.request().await;
    sleep(Duration::from_millis(400)).await;
    assert!(!connection.is_closed());
    wire.answer(&request, &cluster(1)).await;
    asked.await.unwrap().unwrap();
    timeout(SOON, connection.closed()).await.unwrap();
    assert!(connection.end().unwrap().to_string().contains("connections.max.idle.ms"));
    assert!(wire.try_request().await.is_none());
}

#[tokio::test]
async fn a_dropped_connection_is_closed() {
    let (connection, mut wire) = pair(&NetConfig::default()).await;
    let clone = connection.clone();
    drop(connection);
    assert!(!clone.is_closed());
    drop(clone);
    assert!(wire.try_request().await.is_none());
}

#[tokio::test]
async fn where_nobody_listens_the_error_names_address_setting_and_remedy() {
    let port = Peer::bind().await.port();
    let error = Connection::connect("127.0.0.1", port, &NetConfig::default()).await.unwrap_err();
    let text = error.to_string();
    assert_eq!(error.kind(), ErrorKind::Unreachable);
    assert!(error.is_retriable());
    for part in [&format!("127.0.0.1:{port}"), "bootstrap.servers", "refused", "check"] {
        assert!(text.contains(part), "{text}");
    }
    let error = Connection::connect("no-such-host.invalid", 1, &NetConfig::default()).await.unwrap_err();
    assert!(error.to_string().contains("cannot be resolved"), "{error}");
}

#[tokio::test]
async fn a_peer_that_accepts_and_says_nothing_is_given_up() {
    let peer = Peer::bind().await;
    let config = NetConfig { connect_timeout: Duration::from_millis(100), ..Default::default() };
    let error = Connection::connect("127.0.0.1", peer.port(), &config).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unreachable);
    assert!(error.to_string().contains("socket.connection.setup.timeout.ms=100"), "{error}");
}

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u32> = text.chars().filter_map(|c| c.to_digit(16)).collect();
    digits.chunks(2).map(|pair| (pair[0] * 16 + pair[1]) as u8).collect()
}

/// An answer that throttles the client.
fn throttling(millis: u64) -> MetadataResponse {
    MetadataResponse { throttle_time_ms: millis as i32, ..cluster("throttled") }
}

// Mutation: client/src/net/connection.rs
// - let answer = timeout(within.saturating_add(self.throttled_for()), answer);
// + let answer = timeout(within, answer);
#[tokio::test]
async fn a_throttled_connection_is_quiet_until_that_is_over_and_only_then_time_runs() {
    let (connection, mut wire) = pair(&NetConfig::default()).await;
    let first = ask(&connection);
    let one = wire.request().await;
    wire.answer(&one, &throttling(400)).await;
    first.await.unwrap().unwrap();
    let throttled = std::time::Instant::now();
    let request = MetadataRequest::default();
    let second = connection.start(&request, Duration::from_millis(100)).unwrap();
    let (answered, ()) = tokio::join!(second, async {
        let two = wire.request().await;
        assert!(throttled.elapsed() > Duration::from_millis(350), "{:?}", throttled.elapsed());
        wire.answer(&two, &cluster("two")).await;
    });
    assert_eq!(answered.unwrap().cluster_id.as_deref(), Some("two"));
}

#[tokio::test]
async fn a_connection_may_be_throttled_from_the_start() {
    let peer = Peer::bind().await;
    let throttling = ApiVersionsResponse { throttle_time_ms: 300, ..all_versions() };
    let config = NetConfig::default();
    let (connection, mut wire) = tokio::join!(Connection::connect("127.0.0.1", peer.port(), &config), async {
        let mut wire = peer.accept_raw().await;
        wire.exchange_versions(&throttling).await;
        wire
    });
    let (connection, connected) = (connection.unwrap(), std::time::Instant::now());
    let asked = ask(&connection);
    let request = wire.request().await;
    assert!(connected.elapsed() > Duration::from_millis(250), "{:?}", connected.elapsed());
    wire.answer(&request, &cluster("one")).await;
    asked.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_broker_that_has_waited_before_it_answered_is_not_waited_for_again() {
    let peer = Peer::bind().await;
    let mut versions = all_versions();
    let metadata = versions.api_keys.iter_mut().find(|api| api.api_key == ApiKey::METADATA.0).unwrap();
    metadata.max_version = 5;
    let config = NetConfig::default();
    let (connection, mut wire) = tokio::join!(Connection::connect("127.0.0.1", peer.port(), &config), async {
        let mut wire = peer.accept_raw().await;
        wire.exchange_versions(&versions).await;
        wire
    });
    let connection = connection.unwrap();
    let first = ask(&connection);
    let one = wire.request().await;
    wire.answer(&one, &throttling(3_600_000)).await;
    first.await.unwrap().unwrap();
    let second = ask(&connection);
    let two = timeout(SOON, wire.request()).await.expect("a request");
    wire.answer(&two, &cluster("two")).await;
    second.await.unwrap().unwrap();
}

// Mutation: client/src/net/request.rs
// - EncodeErrorKind::TooLong(_) | EncodeErrorKind::TooMuchJson(_) => ErrorKind::Invalid,
// + EncodeErrorKind::TooMuchJson(_) => ErrorKind::Invalid,
#[tokio::test]
async fn what_is_too_long_for_a_request_is_no_fault_of_the_version() {
    let (connection, _wire) = pair(&NetConfig::default()).await;
    let error = connection.call(&about("x".repeat(40_000), 1), SOON).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error.to_string().contains("40000"), "{error}");
}

/// Keeps what it is told, a line each, and panics at a throttled connection.
#[derive(Default)]
struct Diary(std::sync::Mutex<Vec<String>>);

impl Diary {
    fn write(&self, line: String) {
        self.0.lock().unwrap().push(line);
    }
}

impl Hooks for Diary {
    fn connected(&self, event: &Connected<'_>) {
        let version = event.version(ApiKey::METADATA);
        self.write(format!("connected {:?} {version:?}", event.result.map_err(ClientError::kind)));
    }

    fn disconnected(&self, event: &Disconnected<'_>) {
        self.write(format!("disconnected {:?}", event.reason.kind()));
    }

    fn requested(&self, event: &Requested<'_>) {
        let (asked, result) = (event.request_bytes > 4, event.result.map_err(ClientError::kind));
        self.write(format!("requested {} v{} {asked} {:?}", event.api, event.version, result.map(|bytes| bytes > 8)));
    }

    fn throttled(&self, event: &Throttled<'_>) {
        self.write(format!("throttled {} {:?}", event.api, event.time));
        panic!("a hook may be wrong");
    }
}

#[tokio::test]
async fn hooks_are_told_of_each_connection_and_request_and_may_panic() {
    let diary = Arc::new(Diary::default());
    let mut config = NetConfig::default();
    config.hooks.push(diary.clone());
    let gone = Connection::connect("127.0.0.1", 1, &config).await.unwrap_err();
    assert_eq!(gone.kind(), ErrorKind::Unreachable);
    let (connection, mut wire) = pair(&config).await;
    for millis in [0, 1] {
        let asked = ask(&connection);
        let request = wire.request().await;
        wire.answer(&request, &throttling(millis)).await;
        asked.await.unwrap().unwrap();
    }
    let unanswered = ask(&connection);
    wire.request().await;
    connection.close();
    unanswered.await.unwrap().unwrap_err();
    let newest = MetadataRequest::NEWEST_STABLE;
    assert_eq!(
        *diary.0.lock().unwrap(),
        [
            "connected Err(Unreachable) None".to_owned(),
            format!("connected Ok(()) Some({newest})"),
            format!("requested Metadata v{newest} true Ok(true)"),
            format!("requested Metadata v{newest} true Ok(true)"),
            "throttled Metadata 1ms".to_owned(),
            "disconnected Closed".to_owned(),
            format!("requested Metadata v{newest} true Err(Closed)"),
        ]
    );
}
