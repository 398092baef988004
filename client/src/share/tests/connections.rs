//! Which connection carries what, and what becomes of it.

use std::collections::HashSet;
use std::time::Duration;

use ackflow_protocol::machine::{BrokerAddress, ClientRequest, ClientResponse, Destination, RequestId};
use ackflow_protocol::messages::api_versions::{ApiVersionsRequest, ApiVersionsResponse};
use ackflow_protocol::messages::metadata::{MetadataRequest, MetadataResponse, MetadataResponseBroker};
use ackflow_protocol::messages::share_acknowledge::ShareAcknowledgeRequest;
use ackflow_protocol::messages::share_fetch::{ShareFetchRequest, ShareFetchResponse};
use ackflow_protocol::messages::share_group_heartbeat::ShareGroupHeartbeatRequest;
use ackflow_protocol::wire::{ApiKey, ErrorCode};

use super::super::dialogue::{Connections, Outcome};
use crate::cluster::{Failed, Role};
use crate::config::{ClientConfig, MetadataRecovery};
use crate::error::ErrorKind;
use crate::net::testing::{Peer, Wire, all_versions};

fn connections(ports: &[u16]) -> Connections {
    let servers: Vec<_> = ports.iter().map(|port| format!("127.0.0.1:{port}")).collect();
    let mut config = ClientConfig::new(&servers.join(",")).unwrap();
    config.net.request_timeout = Duration::from_millis(300);
    Connections::new(config)
}

fn broker(node: i32, peer: &Peer) -> BrokerAddress {
    BrokerAddress { node, host: "127.0.0.1".to_owned(), port: peer.port() }
}

fn fetch() -> ClientRequest {
    ClientRequest::ShareFetch(ShareFetchRequest::default())
}

fn metadata() -> ClientRequest {
    ClientRequest::Metadata(MetadataRequest::default())
}

/// What follows from the next end of something.
async fn next(connections: &mut Connections) -> Vec<Outcome> {
    let mut outcomes = Vec::new();
    let done = tokio::time::timeout(Duration::from_secs(10), connections.next()).await.expect("something ends");
    connections.handle(done, &mut outcomes);
    outcomes
}

async fn connected(connections: &mut Connections, peer: &Peer) -> Wire {
    let accepted = tokio::time::timeout(Duration::from_secs(10), peer.accept());
    let (wire, ()) = tokio::join!(accepted, async {
        let mut outcomes = next(connections).await;
        while outcomes.is_empty() {
            // Nothing follows from the end of a connection that was given up before.
            outcomes = next(connections).await;
        }
        assert!(matches!(outcomes[..], [Outcome::Connected(_, _, Ok(Some(2)))]), "{outcomes:?}");
    });
    wire.expect("that peer is connected to")
}

#[tokio::test]
async fn a_session_shares_its_connection_with_nothing() {
    let peer = Peer::bind().await;
    let mut connections = connections(&[peer.port()]);
    let address = broker(1, &peer);
    connections.send(RequestId(1), Destination::Any, metadata(), 0);
    let mut any = connected(&mut connections, &peer).await;
    let heartbeat = ClientRequest::Heartbeat(ShareGroupHeartbeatRequest::default());
    connections.send(RequestId(2), Destination::Coordinator(address.clone()), heartbeat, 0);
    let mut coordinator = connected(&mut connections, &peer).await;
    connections.send(RequestId(3), Destination::Session(address), fetch(), 0);
    let mut session = connected(&mut connections, &peer).await;
    for (wire, expected) in [
        (&mut any, ApiKey::METADATA),
        (&mut coordinator, ApiKey::SHARE_GROUP_HEARTBEAT),
        (&mut session, ApiKey::SHARE_FETCH),
    ] {
        assert_eq!(wire.request().await.header.request_api_key, expected);
    }
}

// Mutation: client/src/cluster/connections.rs
// - outcomes.push(Outcome::SessionLost(node));
// +
#[tokio::test]
async fn row_04_a_session_whose_connection_ends_while_idle_is_lost_at_once() {
    let peer = Peer::bind().await;
    let mut connections = connections(&[peer.port()]);
    connections.send(RequestId(1), Destination::Session(broker(7, &peer)), fetch(), 0);
    let mut session = connected(&mut connections, &peer).await;
    let request = session.request().await;
    session.answer(&request, &ShareFetchResponse::default()).await;
    let outcomes = next(&mut connections).await;
    assert!(matches!(outcomes[..], [Outcome::Answered(RequestId(1), Ok(ClientResponse::ShareFetch(_)))]));

    drop(session);
    let outcomes = next(&mut connections).await;
    assert!(matches!(outcomes[..], [Outcome::SessionLost(7)]), "{outcomes:?}");
    // The next session has a connection of its own.
    connections.send(RequestId(2), Destination::Session(broker(7, &peer)), fetch(), 0);
    let mut session = connected(&mut connections, &peer).await;
    assert_eq!(session.request().await.header.request_api_key, ApiKey::SHARE_FETCH);
}

// Mutation: protocol/src/messages/share_acknowledge.rs
// - w.required_since(2, "isRenewAck", !self.is_renew_ack, |w| w.bool("isRenewAck", self.is_renew_ack));
// + w.since(2, |w| w.bool("isRenewAck", self.is_renew_ack));
#[tokio::test]
async fn row_12_a_renewal_that_the_broker_cannot_know_is_not_sent_and_its_session_goes_on() {
    let peer = Peer::bind().await;
    let mut connections = connections(&[peer.port()]);
    let acknowledge =
        |is_renew_ack| ClientRequest::ShareAcknowledge(ShareAcknowledgeRequest { is_renew_ack, ..Default::default() });
    connections.send(RequestId(1), Destination::Session(broker(7, &peer)), acknowledge(true), 0);
    let serve = async {
        let mut wire = peer.accept_raw().await;
        let mut versions = all_versions();
        let api = versions.api_keys.iter_mut().find(|api| api.api_key == ApiKey::SHARE_ACKNOWLEDGE.0).unwrap();
        api.max_version = 1;
        wire.exchange_versions(&versions).await;
        wire
    };
    let (mut session, outcomes) = tokio::join!(serve, next(&mut connections));
    assert!(matches!(outcomes[..], [Outcome::Connected(_, _, Ok(Some(2)))]), "{outcomes:?}");
    let outcomes = next(&mut connections).await;
    let [Outcome::Answered(RequestId(1), Err(Failed { error, speaks: Some(1) }))] = &outcomes[..] else {
        panic!("{outcomes:?}")
    };
    assert_eq!(error.kind(), ErrorKind::UnsupportedVersion);
    assert!(error.to_string().contains("sending ShareAcknowledgeRequest v1"), "{error}");

    connections.send(RequestId(2), Destination::Session(broker(7, &peer)), acknowledge(false), 0);
    let first = session.request().await;
    assert!(!first.decode::<ShareAcknowledgeRequest>().is_renew_ack, "nothing was sent before");
}

#[tokio::test]
async fn a_request_that_is_not_answered_in_time_ends_its_session_once() {
    let peer = Peer::bind().await;
    let mut connections = connections(&[peer.port()]);
    connections.send(RequestId(1), Destination::Session(broker(7, &peer)), fetch(), 0);
    let _silent = connected(&mut connections, &peer).await;
    let mut outcomes = next(&mut connections).await;
    outcomes.extend(next(&mut connections).await);
    let lost = outcomes.iter().filter(|outcome| matches!(outcome, Outcome::SessionLost(7))).count();
    let failed = |outcome: &&Outcome| matches!(outcome, Outcome::Answered(RequestId(1), Err(failed)) if failed.error.kind() == ErrorKind::TimedOut);
    assert_eq!((lost, outcomes.iter().filter(failed).count(), outcomes.len()), (1, 1, 2), "{outcomes:?}");
}

#[tokio::test]
async fn all_that_waits_for_a_connection_that_cannot_be_made_hears_of_it() {
    let refused = Peer::bind().await.port();
    let mut connections = connections(&[refused]);
    connections.send(RequestId(1), Destination::Any, metadata(), 0);
    connections.send(RequestId(2), Destination::Any, metadata(), 0);
    let outcomes = next(&mut connections).await;
    let mut failed = HashSet::new();
    for outcome in outcomes {
        match outcome {
            Outcome::Answered(id, Err(Failed { error, .. })) => {
                assert_eq!(error.kind(), ErrorKind::Unreachable);
                failed.insert(id);
            }
            Outcome::Connected(Role::Any, _, Err(error)) => {
                let text = error.to_string();
                assert!(text.contains(&format!("bootstrap.servers=127.0.0.1:{refused}")), "{text}");
            }
            other => panic!("unexpected {other:?}"),
        }
    }
    assert_eq!(failed, HashSet::from([RequestId(1), RequestId(2)]));
}

// Mutation: client/src/cluster/brokers.rs
// - let mut candidates: Vec<Candidate> = self.named.iter().map(identified).collect();
// + let mut candidates: Vec<Candidate> = self.named.iter().take(0).map(identified).collect();
#[tokio::test]
async fn row_67_any_broker_is_looked_for_among_all_that_were_named() {
    let (refused, first, second) = (Peer::bind().await.port(), Peer::bind().await, Peer::bind().await);
    let mut connections = connections(&[refused, first.port()]);
    connections.send(RequestId(1), Destination::Any, metadata(), 0);
    let mut wire = connected(&mut connections, &first).await;
    let asked = wire.request().await;
    let broker = MetadataResponseBroker {
        node_id: 2,
        host: "127.0.0.1".to_owned(),
        port: i32::from(second.port()),
        ..Default::default()
    };
    wire.answer(&asked, &MetadataResponse { brokers: vec![broker], ..Default::default() }).await;
    assert!(matches!(next(&mut connections).await[..], [Outcome::Answered(RequestId(1), Ok(_))]));

    // The first is gone, and metadata has named another.
    drop((wire, first));
    assert!(next(&mut connections).await.is_empty());
    connections.send(RequestId(2), Destination::Any, metadata(), 0);
    connected(&mut connections, &second).await;
}

/// What a broker says whose cluster has this one broker.
fn cluster_of(node_id: i32, peer: &Peer) -> MetadataResponse {
    let broker = MetadataResponseBroker {
        node_id,
        host: "127.0.0.1".to_owned(),
        port: i32::from(peer.port()),
        ..Default::default()
    };
    MetadataResponse { cluster_id: Some("c1".to_owned()), brokers: vec![broker], ..Default::default() }
}

/// Connections that know one broker by metadata of the other, and are connected to neither.
async fn knowing(seed: &Peer, node: &Peer, change: impl FnOnce(&mut ClientConfig)) -> Connections {
    let mut config = ClientConfig::new(&format!("127.0.0.1:{}", seed.port())).unwrap();
    change(&mut config);
    let mut connections = Connections::new(config);
    connections.send(RequestId(1), Destination::Any, metadata(), 0);
    let mut wire = connected(&mut connections, seed).await;
    let asked = wire.request().await;
    wire.answer(&asked, &cluster_of(2, node)).await;
    assert!(matches!(next(&mut connections).await[..], [Outcome::Answered(RequestId(1), Ok(_))]));
    drop(wire);
    assert!(next(&mut connections).await.is_empty());
    connections
}

// Mutation: client/src/cluster/brokers.rs
// - is_over && config.rebootstraps() && !self.named.is_empty()
// + is_over && config.rebootstraps() && self.named.is_empty()
#[tokio::test]
async fn row_67_a_consumer_that_asks_for_metadata_in_vain_starts_again_from_the_bootstrap_servers() {
    let (seed, node) = (Peer::bind().await, Peer::bind().await);
    let mut connections = knowing(&seed, &node, |config| {
        config.net.request_timeout = Duration::from_millis(100);
        config.rebootstrap_trigger = Duration::from_millis(150);
    })
    .await;
    // The broker is there, and never answers: twice it is asked.
    for id in 2..4 {
        connections.send(RequestId(id), Destination::Any, metadata(), 0);
        let _silent = connected(&mut connections, &node).await;
        let outcomes = next(&mut connections).await;
        assert!(matches!(outcomes[..], [Outcome::Answered(_, Err(_))]), "{outcomes:?}");
    }
    connections.send(RequestId(4), Destination::Any, metadata(), 0);
    let mut wire = connected(&mut connections, &seed).await;
    assert_eq!(wire.request().await.header.request_api_key, ApiKey::METADATA);
}

// Mutation: client/src/cluster/connections.rs
// - Some(metadata) if metadata.error_code == REBOOTSTRAP => self.rebootstrap(),
// +
#[tokio::test]
async fn row_67_a_consumer_that_is_told_to_start_again_does() {
    let (seed, node) = (Peer::bind().await, Peer::bind().await);
    let mut connections = knowing(&seed, &node, |_| {}).await;
    connections.send(RequestId(2), Destination::Any, metadata(), 0);
    let mut wire = connected(&mut connections, &node).await;
    let asked = wire.request().await;
    let refusal = MetadataResponse { error_code: ErrorCode::REBOOTSTRAP_REQUIRED, ..Default::default() };
    wire.answer(&asked, &refusal).await;
    assert!(matches!(next(&mut connections).await[..], [Outcome::Answered(RequestId(2), Ok(_))]));
    connections.send(RequestId(3), Destination::Any, metadata(), 0);
    connected(&mut connections, &seed).await;
}

#[tokio::test]
async fn without_recovery_no_bootstrap_server_is_asked_again() {
    let (seed, node) = (Peer::bind().await, Peer::bind().await);
    let mut connections = knowing(&seed, &node, |config| config.metadata_recovery = MetadataRecovery::None).await;
    let address = format!("127.0.0.1:{}", node.port());
    drop(node);
    connections.send(RequestId(2), Destination::Any, metadata(), 0);
    let outcomes = next(&mut connections).await;
    let [Outcome::Answered(_, Err(_)), Outcome::Connected(Role::Any, _, Err(error))] = &outcomes[..] else {
        panic!("{outcomes:?}")
    };
    let text = error.to_string();
    assert!(text.contains(&address) && text.contains("metadata.recovery.strategy=rebootstrap"), "{text}");
}

// Mutation: client/src/cluster/connections.rs
// - let meant = self.brokers.identity(&self.config, node);
// + let meant: Option<crate::net::Identity> = None;
#[tokio::test]
async fn a_connection_says_whom_it_is_meant_for_unless_that_is_switched_off() {
    for is_on in [true, false] {
        let (seed, node) = (Peer::bind().await, Peer::bind().await);
        let mut connections = knowing(&seed, &node, |config| config.cluster_check = is_on).await;
        connections.send(RequestId(2), Destination::Session(broker(2, &node)), fetch(), 0);
        let refuse = async {
            let mut wire = node.accept_raw().await;
            let asked = wire.request().await;
            let request: ApiVersionsRequest = asked.decode();
            let error_code = ErrorCode::REBOOTSTRAP_REQUIRED;
            wire.answer(&asked, &ApiVersionsResponse { error_code, ..Default::default() }).await;
            (request.cluster_id, request.node_id)
        };
        let (meant, outcomes) = tokio::join!(refuse, next(&mut connections));
        assert_eq!(meant, if is_on { (Some("c1".to_owned()), 2) } else { (None, -1) });
        assert!(
            matches!(outcomes[..], [Outcome::Answered(_, Err(_)), Outcome::Connected(_, _, Err(_))]),
            "{outcomes:?}"
        );
        // What refused is not the cluster that was known.
        connections.send(RequestId(3), Destination::Any, metadata(), 0);
        connected(&mut connections, &seed).await;
    }
}
