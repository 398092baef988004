//! What does not fit is one clear error with its remedy, soon, and without a secret.

use std::time::{Duration, Instant};

use ackflow_client::consumer::{Consumer, ConsumerConfig};
use ackflow_client::share::{OwnedShareConsumer, ShareConsumerConfig};
use ackflow_client::{ClientError, ErrorKind};

use crate::{PLAIN, SCRAM, enter, pem, properties};

/// Further properties.
type Settings<'a> = &'a [(&'a str, &'a str)];

fn check(case: &str, error: &ClientError, expected: &[&str]) {
    let text = error.to_string();
    for expected in expected {
        assert!(text.contains(expected), "{case}: {expected:?} is not in: {text}");
    }
    assert!(!text.contains("secret"), "{case}: {text}");
}

#[tokio::test]
#[ignore = "needs a broker: cargo xtask kafka --secure"]
async fn real_kafka_what_does_not_fit_is_one_clear_error() {
    let stranger = pem("stranger.pem");
    let strangers = pem("stranger-ca.pem");
    let wrong = PLAIN.replace("bob-secret", "bobs-secret");
    let nobody = SCRAM.replace("alice\"", "nobody\"");
    let sasl = |mechanism, jaas| [("sasl.mechanism", mechanism), ("sasl.jaas.config", jaas)];
    let cases: [(&str, Settings<'_>, &[&str]); 10] = [
        ("EC", &[("ssl.truststore.location", &strangers)], &["UnknownIssuer", "ssl.truststore.location"]),
        ("OTHER", &[], &["other.example.com", "subjectAltName"]),
        ("EXPIRED", &[], &["xpired", "renew the broker's certificate"]),
        ("MTLS", &[], &["TLS: received fatal alert", "give a certificate of this client in ssl.keystore.location"]),
        ("MTLS", &[("ssl.keystore.location", &stranger)], &["TLS: received fatal alert", "that the broker trusts"]),
        ("EC", &[("security.protocol", "PLAINTEXT")], &["security.protocol"]),
        (
            "SASL_PLAINTEXT",
            &[("security.protocol", "SSL")],
            &["check that the port is one of an SSL or SASL_SSL listener"],
        ),
        (
            "SASL_SSL",
            &sasl("PLAIN", &wrong),
            &["SASL PLAIN as bob", "SASL_AUTHENTICATION_FAILED", "check user and password"],
        ),
        ("SASL_SSL", &sasl("SCRAM-SHA-512", &nobody), &["SCRAM-SHA-512 as nobody", "credentials of this mechanism"]),
        ("SASL_PLAINTEXT", &[("security.protocol", "PLAINTEXT")], &["security.protocol"]),
    ];
    for (listener, more, expected) in cases {
        let case = format!("{listener} {:?}", more.iter().map(|(key, _)| key).collect::<Vec<_>>());
        let mut properties = properties(listener, more);
        properties.insert("default.api.timeout.ms".into(), "8000".into());
        let began = Instant::now();
        let error = enter(&properties).await.expect_err(&case);
        check(&case, &error, &[expected, &["127.0.0.1:"]].concat());
        assert!(began.elapsed() < Duration::from_secs(12), "{case} took {:?}", began.elapsed());
    }
    let names_any = properties("OTHER", &[("ssl.endpoint.identification.algorithm", "")]);
    enter(&names_any).await.unwrap();
}

#[tokio::test]
#[ignore = "needs a broker: cargo xtask kafka --secure"]
async fn real_kafka_a_share_consumer_hears_of_a_wrong_password_at_once_and_does_not_spin() {
    let wrong = PLAIN.replace("bob-secret", "bobs-secret");
    let mut properties = properties("SASL_SSL", &[("sasl.mechanism", "PLAIN"), ("sasl.jaas.config", &wrong)]);
    properties.insert("group.id".into(), "refused".into());
    let mut consumer = OwnedShareConsumer::new(ShareConsumerConfig::from_properties(&properties).unwrap()).unwrap();
    consumer.subscribe(["nothing"]).unwrap();
    let began = Instant::now();
    let error = consumer.poll(Duration::from_secs(20)).await.unwrap_err();
    check("share consumer", &error, &["SASL PLAIN as bob", "check user and password"]);
    assert_eq!(error.kind(), ErrorKind::Authentication);
    assert!(began.elapsed() < Duration::from_secs(4), "{:?}", began.elapsed());
}

#[tokio::test]
#[ignore = "needs a broker: cargo xtask kafka --secure"]
async fn real_kafka_a_share_consumer_that_does_not_say_who_it_is_hears_what_to_set() {
    let mut properties = properties("SASL_PLAINTEXT", &[("security.protocol", "PLAINTEXT")]);
    properties.insert("group.id".into(), "nobody".into());
    let mut consumer = OwnedShareConsumer::new(ShareConsumerConfig::from_properties(&properties).unwrap()).unwrap();
    consumer.subscribe(["nothing"]).unwrap();
    let began = Instant::now();
    let error = consumer.poll(Duration::from_secs(20)).await.unwrap_err();
    check("share consumer", &error, &["closed the connection", "security.protocol=SASL_PLAINTEXT or SASL_SSL"]);
    assert!(began.elapsed() < Duration::from_secs(12), "{:?}", began.elapsed());
}

#[tokio::test]
#[ignore = "needs a broker: cargo xtask kafka --secure"]
async fn real_kafka_a_consumer_that_does_not_say_who_it_is_hears_what_to_set() {
    let mut properties = properties("SASL_PLAINTEXT", &[("security.protocol", "PLAINTEXT")]);
    properties.insert("group.id".into(), "nobody".into());
    let mut consumer = Consumer::new(ConsumerConfig::from_properties(&properties).unwrap()).unwrap();
    consumer.subscribe(["nothing"]).unwrap();
    let error = consumer.poll(Duration::from_secs(20)).await.unwrap_err();
    check("consumer", &error, &["closed the connection", "security.protocol=SASL_PLAINTEXT or SASL_SSL"]);
}
