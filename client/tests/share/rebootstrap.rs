//! Clusters whose brokers are all replaced (KIP-899): what stays is the address in `bootstrap.servers`.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ackflow_client::config::MetadataRecovery;
use ackflow_client::share::OwnedShareConsumer;
use ackflow_client::{ClientConfig, ErrorKind, Producer, ProducerConfig, ProducerRecord};
use ackflow_testkit::EmbeddedBroker;
use tokio::net::{TcpListener, TcpStream};

use crate::cluster::{Cluster, SECOND, Seen, within_a_minute};

/// An address that stays, and leads to whatever broker it is told to: what a load balancer or a name is.
struct Front {
    addr: SocketAddr,
    leads_to: Arc<Mutex<SocketAddr>>,
}

impl Front {
    async fn to(first: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let front = Self { addr: listener.local_addr().unwrap(), leads_to: Arc::new(Mutex::new(first)) };
        let leads_to = Arc::clone(&front.leads_to);
        tokio::spawn(async move {
            while let Ok((mut client, _)) = listener.accept().await {
                let target = *leads_to.lock().unwrap();
                tokio::spawn(async move {
                    if let Ok(mut broker) = TcpStream::connect(target).await {
                        // Either end may go at any time.
                        let _ = tokio::io::copy_bidirectional(&mut client, &mut broker).await;
                    }
                });
            }
        });
        front
    }

    /// Replaces every node of the cluster by one at another port, and leads to the first of them.
    async fn replace_all(&self, broker: &EmbeddedBroker) {
        for node in broker.nodes() {
            broker.kill_node(node, Duration::ZERO).await.unwrap();
        }
        let mut first = None;
        for node in broker.nodes() {
            let addr = broker.start_node_elsewhere(node).await.unwrap();
            assert_ne!(Some(addr), broker.node_addr(node));
            first.get_or_insert(addr);
        }
        *self.leads_to.lock().unwrap() = first.unwrap();
    }
}

/// A cluster of three nodes behind an address that stays.
async fn behind_a_front() -> (Cluster, Front) {
    let broker = EmbeddedBroker::builder().fast().nodes(3).start().await.unwrap();
    let front = Front::to(broker.addr()).await;
    (Cluster::behind(front.addr, broker).await, front)
}

async fn consume(consumer: &mut OwnedShareConsumer, records: usize) {
    let mut seen = Seen::default();
    while seen.len() < records {
        let delivery = consumer.poll(20 * SECOND).await.unwrap().expect("records come within 20 s");
        let got: Vec<_> = delivery.records().map(|record| record.unwrap()).map(|r| (r.partition, r.offset)).collect();
        if delivery.accept().await.is_ok() {
            got.into_iter().for_each(|(partition, offset)| seen.add(partition, offset));
        }
    }
}

// Mutation: client/src/cluster/brokers.rs
// - if candidates.is_empty() || config.rebootstraps() {
// + if candidates.is_empty() {
#[tokio::test]
async fn row_67_a_consumer_goes_on_when_every_broker_that_it_knows_is_replaced() {
    within_a_minute(async {
        let (cluster, front) = behind_a_front().await;
        let producer = Producer::new(ProducerConfig::new(&cluster.bootstrap).unwrap()).unwrap();
        let mut consumer = cluster.owned(cluster.config());
        for round in 0..3 {
            for number in 0..60 {
                let record = ProducerRecord::new(cluster.topic.as_str(), number.to_string()).partition(number % 3);
                producer.send(record).await.unwrap().await.unwrap();
            }
            consume(&mut consumer, 60).await;
            if round < 2 {
                front.replace_all(cluster.broker()).await;
            }
        }
        assert_eq!(cluster.admin.describe_cluster().await.unwrap().brokers.len(), 3);
        producer.close().await.unwrap();
        consumer.close(10 * SECOND).await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn without_recovery_a_consumer_says_that_its_brokers_are_gone() {
    within_a_minute(async {
        let (cluster, front) = behind_a_front().await;
        cluster.produce(0, 0..10).await;
        let stays = |client: &mut ClientConfig| client.metadata_recovery = MetadataRecovery::None;
        let mut consumer = cluster.owned(cluster.config().client(stays));
        consume(&mut consumer, 10).await;
        front.replace_all(cluster.broker()).await;
        let error = consumer.poll(20 * SECOND).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unreachable);
        assert!(error.to_string().contains("metadata.recovery.strategy=rebootstrap"), "{error}");
        assert!(consumer.failure().is_none());
        assert!(consumer.poll(SECOND).await.unwrap().is_none(), "told once");
        consumer.close(SECOND).await.unwrap_err();
    })
    .await;
}
