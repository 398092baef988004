//! Finding brokers, losing them and finding them again.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ackflow_protocol::messages::api_versions::{ApiVersionsRequest, ApiVersionsResponse};
use ackflow_protocol::messages::metadata::MetadataResponseBroker;

use super::*;
use crate::net::testing::{Peer, all_versions};

/// A pool that knows the brokers at these ports from `bootstrap.servers`.
fn pool(ports: &[u16]) -> Pool {
    let servers: Vec<_> = ports.iter().map(|port| format!("127.0.0.1:{port}")).collect();
    let mut config = ClientConfig::new(&servers.join(",")).unwrap();
    config.net.reconnect_backoff = Duration::from_millis(1);
    config.net.reconnect_backoff_max = Duration::from_millis(5);
    config.retry_backoff = Duration::from_millis(1);
    Pool::new(config)
}

/// What a broker says of a cluster whose brokers have these ids and ports.
fn metadata(brokers: &[(i32, u16)]) -> MetadataResponse {
    let broker = |(id, port): &(i32, u16)| MetadataResponseBroker {
        node_id: *id,
        host: "127.0.0.1".into(),
        port: i32::from(*port),
        rack: None,
    };
    MetadataResponse { brokers: brokers.iter().map(broker).collect(), ..Default::default() }
}

/// Asks for metadata until there is some.
async fn refresh(pool: &Pool) -> Result<MetadataResponse, ClientError> {
    let mut retries = pool.retries();
    loop {
        if let Some(metadata) = retries.attempt(pool.metadata(&MetadataRequest::default())).await? {
            return Ok(metadata);
        }
    }
}

/// Answers every request for metadata on every connection; counts the connections.
fn serve(peer: Peer, answer: MetadataResponse) -> Arc<AtomicUsize> {
    let connections = Arc::new(AtomicUsize::new(0));
    let counted = connections.clone();
    tokio::spawn(async move {
        loop {
            let mut wire = peer.accept().await;
            counted.fetch_add(1, Ordering::Relaxed);
            let answer = answer.clone();
            tokio::spawn(async move {
                while let Some(request) = wire.try_request().await {
                    wire.answer(&request, &answer).await;
                }
            });
        }
    });
    connections
}

async fn dead_port() -> u16 {
    Peer::bind().await.port()
}

// Mutation: client/src/net/pool.rs
// - Err(error) => errors.push(error),
// + Err(error) => return Err(error),
#[tokio::test]
async fn row_67_bootstrap_servers_are_tried_until_one_answers() {
    let peer = Peer::bind().await;
    let port = peer.port();
    serve(peer, metadata(&[(7, port)]));
    let pool = pool(&[dead_port().await, dead_port().await, port]);
    refresh(&pool).await.unwrap();
    assert_eq!(pool.ids(), [7]);
    assert_eq!(pool.node(7).await.unwrap().broker(), format!("127.0.0.1:{port}"));
}

// Mutation: client/src/net/pool.rs
// - errors.extend(last);
// +
#[tokio::test]
async fn row_67_where_no_server_answers_the_error_names_each() {
    let ports = [dead_port().await, dead_port().await];
    let error = pool(&ports).any().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unreachable);
    for port in ports {
        assert!(error.to_string().contains(&format!("127.0.0.1:{port}: Connection refused")), "{error}");
    }
    assert!(error.to_string().contains("bootstrap.servers="), "{error}");
}

// Mutation: client/src/net/pool.rs
// - if named.is_empty() {
// + if false {
#[tokio::test]
async fn row_67_metadata_without_brokers_leaves_the_old_ones() {
    let peer = Peer::bind().await;
    let port = peer.port();
    let pool = pool(&[port]);
    let broker = async {
        let mut wire = peer.accept().await;
        for brokers in [&[(1, port), (2, port)][..], &[], &[], &[(2, port)]] {
            let request = wire.request().await;
            wire.answer(&request, &metadata(brokers)).await;
        }
        wire
    };
    let client = async {
        refresh(&pool).await.unwrap();
        assert_eq!(pool.ids(), [1, 2]);
        let error = pool.metadata(&MetadataRequest::default()).await.unwrap_err();
        assert!(error.is_retriable(), "{error}");
        assert_eq!(pool.ids(), [1, 2]);
        refresh(&pool).await.unwrap();
        assert_eq!(pool.ids(), [2]);
    };
    tokio::join!(broker, client);
}

// Mutation: client/src/net/pool.rs
// - if response.error_code == ErrorCode::REBOOTSTRAP_REQUIRED && self.0.config.rebootstraps() {
// + if false {
#[tokio::test]
async fn row_67_rebootstrap_required_drops_the_connections_and_asks_the_bootstrap_servers() {
    let (seed, node) = (Peer::bind().await, Peer::bind().await);
    let (seed_port, node_port) = (seed.port(), node.port());
    let pool = pool(&[seed_port]);
    let refuse = MetadataResponse { error_code: ErrorCode::REBOOTSTRAP_REQUIRED, ..metadata(&[]) };
    serve(node, refuse);
    let seeds = serve(seed, metadata(&[(1, seed_port)]));
    pool.learn(3, Address { host: "127.0.0.1".into(), port: node_port });
    let old = pool.node(3).await.unwrap();
    refresh(&pool).await.unwrap();
    assert!(old.is_closed());
    assert_eq!(pool.ids(), [1]);
    assert_eq!(seeds.load(Ordering::Relaxed), 1);
}

// Mutation: client/src/net/pool.rs
// - for node in nodes.iter().chain(bootstrap) {
// + for node in &nodes {
#[tokio::test]
async fn row_67_where_all_known_brokers_are_gone_the_bootstrap_servers_are_asked_again() {
    let seed = Peer::bind().await;
    let seed_port = seed.port();
    serve(seed, metadata(&[(9, seed_port)]));
    let pool = pool(&[seed_port]);
    pool.learn_all(&metadata(&[(1, dead_port().await), (2, dead_port().await)]));
    refresh(&pool).await.unwrap();
    assert_eq!(pool.ids(), [9]);
}

// Mutation: client/src/net/pool.rs
// - if let Some(open) = open.min_by_key(|open| (open.throttled_for(), open.in_flight())) {
// + if let Some(open) = open.min_by_key(Connection::throttled_for) {
#[tokio::test]
async fn any_broker_is_one_that_holds_nothing_back() {
    let (busy, free) = (Peer::bind().await, Peer::bind().await);
    let pool = pool(&[dead_port().await]);
    for (id, peer) in [(1, &busy), (2, &free)] {
        pool.learn(id, Address { host: "127.0.0.1".into(), port: peer.port() });
    }
    let connecting = async { (pool.node(1).await.unwrap(), pool.node(2).await.unwrap()) };
    let ((busy, free), _wire, _other) = tokio::join!(connecting, busy.accept(), free.accept());
    assert_eq!(pool.any().await.unwrap().broker(), busy.broker());
    let parked = busy.start(&MetadataRequest::default(), Duration::from_secs(60)).unwrap();
    assert_eq!(pool.any().await.unwrap().broker(), free.broker());
    drop(parked);
}

// Mutation: client/src/net/pool.rs
// - self.lock_open().clone().filter(|connection| !connection.is_closed())
// + self.lock_open().clone()
#[tokio::test]
async fn row_75_a_connection_closed_while_idle_is_replaced_without_an_error() {
    let peer = Peer::bind().await;
    let port = peer.port();
    let pool = pool(&[port]);
    let first = async { drop(peer.accept().await) };
    let (connection, ()) = tokio::join!(pool.any(), first);
    connection.unwrap().closed().await;
    serve(peer, metadata(&[(1, port)]));
    pool.metadata(&MetadataRequest::default()).await.unwrap();
}

// Mutation: client/src/net/retries.rs
// - Ok(Err(error)) if error.is_retriable() => self.pause(error).await.map(|()| None),
// + Ok(Err(error)) if error.kind() == ErrorKind::NotSent => self.pause(error).await.map(|()| None),
#[tokio::test]
async fn row_75_a_question_that_was_cut_off_is_asked_again() {
    let peer = Peer::bind().await;
    let port = peer.port();
    let pool = pool(&[port]);
    let broker = async {
        peer.accept().await.request().await;
        serve(peer, metadata(&[(1, port)]));
    };
    let (refreshed, ()) = tokio::join!(refresh(&pool), broker);
    refreshed.unwrap();
}

#[tokio::test]
async fn one_connection_a_broker_serves_all_who_ask_at_once() {
    let peer = Peer::bind().await;
    let port = peer.port();
    let connections = serve(peer, metadata(&[(1, port)]));
    let pool = pool(&[port]);
    pool.learn(1, Address { host: "127.0.0.1".into(), port });
    let asking: Vec<_> = (0..50)
        .map(|_| {
            let pool = pool.clone();
            tokio::spawn(async move { pool.node(1).await.unwrap().call(&MetadataRequest::default(), SOON).await })
        })
        .collect();
    for asking in asking {
        asking.await.unwrap().unwrap();
    }
    assert_eq!(connections.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn a_broker_that_refuses_is_left_alone_for_a_pause_that_grows() {
    let mut config = ClientConfig::new(&format!("127.0.0.1:{}", dead_port().await)).unwrap();
    config.net.reconnect_backoff = Duration::from_millis(20);
    config.net.reconnect_backoff_max = Duration::from_millis(80);
    let pool = Pool::new(config);
    let begin = Instant::now();
    for _ in 0..5 {
        pool.any().await.unwrap_err();
    }
    // 20 + 40 + 80 + 80 ms, each a fifth shorter at most.
    assert!(begin.elapsed() >= Duration::from_millis(176), "{:?}", begin.elapsed());
}

const SOON: Duration = Duration::from_secs(10);

#[tokio::test(start_paused = true)]
async fn a_cluster_that_was_never_reached_is_given_up_long_before_the_timeout_of_the_call() {
    let pool = pool(&[dead_port().await]);
    let began = Instant::now();
    let error = refresh(&pool).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unreachable);
    assert!(began.elapsed() < pool.config().default_api_timeout / 2, "{:?}", began.elapsed());
    assert!(error.to_string().contains("bootstrap.servers"), "{error}");
}

// Mutation: client/src/net/pool.rs
// - && !self.nodes().is_empty()
// + && self.nodes().is_empty()
#[tokio::test]
async fn row_67_brokers_that_answer_in_vain_for_too_long_are_forgotten() {
    let (seed, node) = (Peer::bind().await, Peer::bind().await);
    let (seed_port, node_port) = (seed.port(), node.port());
    // It knows no broker, and never will.
    serve(node, metadata(&[]));
    let seeds = serve(seed, metadata(&[(9, seed_port)]));
    let mut config = pool(&[seed_port]).config().clone();
    config.rebootstrap_trigger = Duration::from_millis(200);
    config.default_api_timeout = SOON;
    let pool = Pool::new(config);
    pool.learn_all(&metadata(&[(1, node_port)]));
    let began = Instant::now();
    refresh(&pool).await.unwrap();
    assert!(began.elapsed() >= Duration::from_millis(200) && seeds.load(Ordering::Relaxed) == 1);
    assert_eq!(pool.ids(), [9]);
}

// Mutation: client/src/net/pool.rs
// - let bootstrap = if known == 0 || self.0.config.rebootstraps() { &self.0.bootstrap[..] } else { &[] };
// + let bootstrap = &self.0.bootstrap[..];
#[tokio::test]
async fn row_67_without_recovery_the_known_brokers_stay_and_the_error_says_so() {
    let seed = Peer::bind().await;
    let seed_port = seed.port();
    let seeds = serve(seed, metadata(&[(9, seed_port)]));
    let mut config = pool(&[seed_port]).config().clone();
    config.metadata_recovery = crate::config::MetadataRecovery::None;
    config.rebootstrap_trigger = Duration::ZERO;
    let pool = Pool::new(config);
    pool.learn_all(&metadata(&[(1, dead_port().await)]));
    for _ in 0..3 {
        let error = pool.metadata(&MetadataRequest::default()).await.unwrap_err();
        assert!(error.to_string().contains("metadata.recovery.strategy=rebootstrap"), "{error}");
        assert_eq!(error.kind(), ErrorKind::Unreachable);
    }
    assert_eq!((pool.ids(), seeds.load(Ordering::Relaxed)), (vec![1], 0));
}

// Mutation: client/src/net/pool.rs
// - let meant = cluster_id.zip(node.id).map(|(cluster_id, node)| Identity { cluster_id, node });
// + let meant: Option<Identity> = None;
#[tokio::test]
async fn row_67_a_broker_that_is_another_one_than_meant_refuses_and_is_forgotten() {
    let (seed, other) = (Peer::bind().await, Peer::bind().await);
    let (seed_port, other_port) = (seed.port(), other.port());
    let named = |id, port| MetadataResponse { cluster_id: Some("c1".into()), ..metadata(&[(id, port)]) };
    let pool = pool(&[seed_port]);
    pool.learn_all(&named(4, other_port));
    let refuse = async {
        let mut wire = other.accept_raw().await;
        let asked = wire.request().await;
        let request: ApiVersionsRequest = asked.decode();
        assert_eq!((request.cluster_id.as_deref(), request.node_id), (Some("c1"), 4));
        let error_code = ErrorCode::REBOOTSTRAP_REQUIRED;
        wire.answer(&asked, &ApiVersionsResponse { error_code, ..Default::default() }).await;
    };
    let (connected, ()) = tokio::join!(pool.node(4), refuse);
    assert!(connected.unwrap_err().is_retriable());
    assert!(pool.ids().is_empty());
    let asked = async {
        let mut wire = seed.accept_raw().await;
        let asked = wire.request().await;
        assert_eq!(asked.decode::<ApiVersionsRequest>().cluster_id, None, "a bootstrap server may be any broker");
        wire.answer(&asked, &all_versions()).await;
        let asked = wire.request().await;
        wire.answer(&asked, &named(5, seed_port)).await;
    };
    let (answer, ()) = tokio::join!(refresh(&pool), asked);
    answer.unwrap();
    assert_eq!(pool.ids(), [5]);
}

#[test]
fn a_host_that_a_terminal_would_obey_is_no_address() {
    assert_eq!(
        address("b1.example.com", 9092).map(|address| address.to_string()).as_deref(),
        Some("b1.example.com:9092")
    );
    for (host, port) in [("b1\u{1b}[2J", 9092), ("b1\n", 9092), ("", 9092), ("b1", 0), ("b1", 65_536)] {
        assert_eq!(address(host, port), None, "{host:?}:{port}");
    }
}
