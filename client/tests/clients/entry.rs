//! The ways into an embedded broker: TLS, and SASL by each mechanism. What a real Kafka lets in, tests/security has.

use std::collections::BTreeMap;
use std::time::Duration;

use ackflow_client::{Admin, ClientConfig, ClientError, ErrorKind, Producer, ProducerConfig, ProducerRecord};
use ackflow_testkit::{EmbeddedBroker, EmbeddedBrokerBuilder};

const MECHANISMS: [(&str, &str); 3] = [
    ("PLAIN", "org.apache.kafka.common.security.plain.PlainLoginModule"),
    ("SCRAM-SHA-256", "org.apache.kafka.common.security.scram.ScramLoginModule"),
    ("SCRAM-SHA-512", "org.apache.kafka.common.security.scram.ScramLoginModule"),
];

fn broker(protocol: &str) -> EmbeddedBrokerBuilder {
    EmbeddedBroker::builder().fast().listen(format!("{protocol}://127.0.0.1:0")).user("a,b=c", "secret")
}

/// What a client needs to come in.
fn properties(broker: &EmbeddedBroker, protocol: &str, mechanism: usize, password: &str) -> BTreeMap<String, String> {
    let (mechanism, module) = MECHANISMS[mechanism];
    let jaas = format!("{module} required username=\"a,b=c\" password=\"{password}\";");
    let mut properties = BTreeMap::from([
        ("bootstrap.servers".to_owned(), broker.bootstrap_servers()),
        ("security.protocol".to_owned(), protocol.to_owned()),
    ]);
    if let Some(certificate) = broker.certificate() {
        properties.insert("ssl.truststore.certificates".to_owned(), certificate.to_owned());
        properties.insert("ssl.truststore.type".to_owned(), "PEM".to_owned());
    }
    if protocol.starts_with("SASL") {
        properties.insert("sasl.mechanism".to_owned(), mechanism.to_owned());
        properties.insert("sasl.jaas.config".to_owned(), jaas);
    }
    properties
}

async fn enter(properties: &BTreeMap<String, String>) -> Result<usize, ClientError> {
    Admin::new(ClientConfig::from_properties(properties)?).describe_cluster().await.map(|found| found.brokers.len())
}

#[tokio::test]
async fn every_protocol_and_mechanism_lets_its_client_in_on_every_node() {
    for protocol in ["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"] {
        let broker = broker(protocol).nodes(2).start().await.unwrap();
        assert_eq!(broker.certificate().is_some(), protocol.ends_with("SSL"));
        for mechanism in 0..MECHANISMS.len() {
            let properties = properties(&broker, protocol, mechanism, "secret");
            assert_eq!(enter(&properties).await.unwrap(), 2, "{protocol} {mechanism}");
            if protocol.starts_with("SASL") {
                let wrong = self::properties(&broker, protocol, mechanism, "guess");
                let error = enter(&wrong).await.unwrap_err();
                assert_eq!(error.kind(), ErrorKind::Authentication, "{error}");
            }
        }
        broker.shutdown().await;
    }
}

#[tokio::test]
async fn a_certificate_that_nobody_trusts_ends_the_clients_way_in() {
    let broker = broker("SSL").start().await.unwrap();
    let other = self::broker("SSL").start().await.unwrap();
    let mut properties = properties(&broker, "SSL", 0, "");
    properties.insert("ssl.truststore.certificates".to_owned(), other.certificate().unwrap().to_owned());
    let error = enter(&properties).await.unwrap_err();
    assert!(error.to_string().contains("ssl.truststore.location"), "{error}");
}

// Mutation: client/src/producer/transaction/mod.rs
// - if let Some(error) = error.filter(|error| error.kind() == ErrorKind::Authentication) {
// + if let Some(error) = error.filter(|_| false) {
#[tokio::test]
async fn a_transactional_producer_hears_at_once_that_it_is_not_let_in() {
    let broker = broker("SASL_PLAINTEXT").start().await.unwrap();
    let properties = properties(&broker, "SASL_PLAINTEXT", 0, "guess");
    let mut config = ProducerConfig::from_properties(&properties).unwrap();
    config.transactional_id = Some("id".to_owned());
    let producer = Producer::new(config).unwrap();
    let error = producer.init_transactions().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Authentication, "{error}");
    assert!(error.to_string().contains("initializing transactions") && !error.to_string().contains("guess"), "{error}");
}

#[tokio::test]
async fn a_time_out_of_transactions_tells_of_the_last_attempt() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let nobody = listener.local_addr().unwrap().to_string();
    drop(listener);
    let mut config = ProducerConfig::new(&nobody).unwrap();
    config.transactional_id = Some("id".to_owned());
    config.max_block = Duration::from_millis(500);
    let error = Producer::new(config).unwrap().init_transactions().await.unwrap_err();
    assert!(error.kind() == ErrorKind::TimedOut && error.to_string().contains(&nobody), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_stays_beyond_the_end_of_its_session() {
    let broker =
        broker("SASL_SSL").topic("orders", 1).config("connections.max.reauth.ms", "1000").start().await.unwrap();
    let properties = properties(&broker, "SASL_SSL", 1, "secret");
    let producer = Producer::new(ProducerConfig::from_properties(&properties).unwrap()).unwrap();
    let until = tokio::time::Instant::now() + Duration::from_millis(2500);
    let mut sent = 0;
    while tokio::time::Instant::now() < until {
        let confirmed = producer.send(ProducerRecord::new("orders", "x")).await.unwrap().await.unwrap();
        assert_eq!(confirmed.offset, Some(sent));
        sent += 1;
    }
}
