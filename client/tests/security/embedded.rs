//! Refusals of the embedded broker, which have to look like a real Kafka's.

use std::time::{Duration, Instant};

use ackflow_client::share::{OwnedShareConsumer, ShareConsumerConfig};
use ackflow_testkit::EmbeddedBroker;

#[tokio::test]
async fn who_speaks_tls_and_does_not_say_who_it_is_hears_what_to_set() {
    let broker =
        EmbeddedBroker::builder().listen("SASL_SSL://127.0.0.1:0").user("alice", "secret").start().await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let authority = folder.path().join("ca.pem");
    std::fs::write(&authority, broker.certificate().unwrap()).unwrap();
    let properties = [
        ("bootstrap.servers", broker.bootstrap_servers()),
        ("security.protocol", "SSL".to_owned()),
        ("ssl.truststore.location", authority.display().to_string()),
        ("group.id", "nobody".to_owned()),
    ];
    let properties = properties.map(|(key, value)| (key.to_owned(), value)).into();
    let mut consumer = OwnedShareConsumer::new(ShareConsumerConfig::from_properties(&properties).unwrap()).unwrap();
    consumer.subscribe(["nothing"]).unwrap();
    let began = Instant::now();
    let error = consumer.poll(Duration::from_secs(20)).await.unwrap_err().to_string();
    for words in ["closed the connection", "security.protocol=SASL_PLAINTEXT or SASL_SSL"] {
        assert!(error.contains(words), "{error}");
    }
    assert!(began.elapsed() < Duration::from_secs(12), "{:?}", began.elapsed());
    broker.shutdown().await;
}
