//! Several nodes over TCP.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::time::Duration;

use ackflow_protocol::messages::metadata::{MetadataRequest, MetadataResponse};
use ackflow_protocol::wire::{Request, decode_response, encode_request};
use ackflow_testkit::{BrokerError, EmbeddedBroker};
use bytes::Bytes;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

async fn cluster() -> EmbeddedBroker {
    EmbeddedBroker::builder().fast().nodes(3).topic("orders", 3).start().await.unwrap()
}

async fn connect(broker: &EmbeddedBroker, node: i32) -> std::io::Result<TcpStream> {
    TcpStream::connect(broker.node_addr(node).unwrap()).await
}

async fn metadata(stream: &mut TcpStream) -> MetadataResponse {
    let request = MetadataRequest { topics: None, ..MetadataRequest::default() };
    stream.write_all(&encode_request(&request, MetadataRequest::NEWEST_STABLE, 1, None).unwrap()).await.unwrap();
    let size = stream.read_i32().await.unwrap();
    let mut frame = vec![0; usize::try_from(size).unwrap()];
    stream.read_exact(&mut frame).await.unwrap();
    decode_response(Bytes::from(frame), MetadataRequest::NEWEST_STABLE).unwrap().1
}

fn leaders(metadata: &MetadataResponse) -> Vec<i32> {
    metadata.topics[0].partitions.iter().map(|partition| partition.leader_id).collect()
}

#[tokio::test]
async fn each_node_has_a_port_of_its_own_and_names_all_of_them() {
    let broker = cluster().await;
    assert_eq!(broker.nodes(), [1, 2, 3]);
    let addrs: Vec<String> = (1..=3).map(|node| broker.node_addr(node).unwrap().to_string()).collect();
    assert_eq!(broker.bootstrap_servers(), addrs.join(","));
    for node in broker.nodes() {
        let metadata = metadata(&mut connect(&broker, node).await.unwrap()).await;
        let named: Vec<String> = metadata.brokers.iter().map(|node| format!("{}:{}", node.host, node.port)).collect();
        assert_eq!(named, addrs);
        assert_eq!(leaders(&metadata), [1, 2, 3]);
    }
    broker.shutdown().await;
}

#[tokio::test]
async fn a_killed_node_refuses_connections_until_it_is_started_on_the_same_port() {
    let broker = cluster().await;
    let mut cut = connect(&broker, 2).await.unwrap();
    metadata(&mut cut).await;
    broker.kill_node(2, Duration::ZERO).await.unwrap();
    assert!(connect(&broker, 2).await.is_err());
    // A reset is an end as well.
    assert!(matches!(cut.read(&mut [0]).await, Ok(0) | Err(_)));
    assert_eq!(broker.leader("orders", 1).await, Ok(Some(3)));
    assert_eq!(leaders(&metadata(&mut connect(&broker, 1).await.unwrap()).await), [1, 3, 3]);

    broker.start_node(2).await.unwrap();
    broker.move_leader("orders", 2, 2).await.unwrap();
    assert_eq!(leaders(&metadata(&mut connect(&broker, 2).await.unwrap()).await), [1, 3, 2]);
    broker.elect_preferred_leaders().await.unwrap();
    assert_eq!(leaders(&metadata(&mut connect(&broker, 2).await.unwrap()).await), [1, 2, 3]);
    broker.shutdown().await;
}

#[tokio::test]
async fn nodes_that_are_none_and_leaders_that_cannot_lead_are_refused() {
    let broker = cluster().await;
    let refused = |result| assert!(matches!(result, Err(BrokerError::Refused { .. })), "{result:?}");
    refused(broker.kill_node(9, Duration::ZERO).await);
    refused(broker.start_node(9).await);
    refused(broker.move_leader("orders", 0, 9).await);
    refused(broker.move_leader("nothing", 0, 1).await);
    broker.kill_node(3, Duration::ZERO).await.unwrap();
    broker.kill_node(3, Duration::ZERO).await.unwrap();
    refused(broker.move_leader("orders", 0, 3).await);
    refused(broker.move_coordinator("billing", 3).await);
    broker.move_coordinator("billing", 2).await.unwrap();
    assert_eq!(broker.coordinator("billing").await, Ok(Some(2)));
}
