//! Each certificate, version of TLS and mechanism of SASL lets its client in.

use std::sync::Arc;

use ackflow_client::net::{Sasl, Token, TokenError, Tokens};
use ackflow_client::{Admin, ClientConfig};

use crate::{PLAIN, SCRAM, enter, listener, pem, properties};

#[tokio::test]
#[ignore = "needs a broker: cargo xtask kafka --secure"]
async fn real_kafka_certificates_of_every_kind_are_believed_in_both_versions() {
    // Ed25519 in TLS 1.2 is beyond the default provider.
    for (name, versions) in
        [("EC", &["TLSv1.2", "TLSv1.3"][..]), ("ED", &["TLSv1.3"]), ("MTLS", &["TLSv1.2", "TLSv1.3"])]
    {
        for version in versions {
            let client = pem("client.pem");
            let mut properties = properties(name, &[("ssl.enabled.protocols", version)]);
            if name == "MTLS" {
                properties.insert("ssl.keystore.location".into(), client);
            }
            enter(&properties).await.unwrap_or_else(|error| panic!("{name} {version}: {error}"));
        }
    }
}

#[tokio::test]
#[ignore = "needs a broker: cargo xtask kafka --secure"]
async fn real_kafka_every_mechanism_lets_its_client_in_with_and_without_tls() {
    for name in ["SASL_PLAINTEXT", "SASL_SSL"] {
        for (mechanism, jaas) in [("PLAIN", PLAIN), ("SCRAM-SHA-256", SCRAM), ("SCRAM-SHA-512", SCRAM)] {
            let properties = properties(name, &[("sasl.mechanism", mechanism), ("sasl.jaas.config", jaas)]);
            enter(&properties).await.unwrap_or_else(|error| panic!("{name} {mechanism}: {error}"));
        }
    }
    // The broker's default takes tokens that nobody has signed: {"alg":"none"}.{"sub":"carol","iat":1600000000,"exp":4000000000}
    let token = "eyJhbGciOiJub25lIn0.eyJzdWIiOiJjYXJvbCIsImlhdCI6MTYwMDAwMDAwMCwiZXhwIjo0MDAwMDAwMDAwfQ.";
    let give = move || std::future::ready(Ok::<_, TokenError>(Token::new(token)));
    let mut config = ClientConfig::new(&listener("SASL_PLAINTEXT")).unwrap();
    config.net.security.sasl = Some(Sasl::OAuthBearer(Tokens(Arc::new(give))));
    Admin::new(config).describe_cluster().await.unwrap();
}

#[tokio::test]
#[ignore = "needs a broker: cargo xtask kafka --secure"]
async fn real_kafka_pem_may_stand_in_the_properties_themselves() {
    let read = |name: &str| std::fs::read_to_string(pem(name)).unwrap().replace('\n', "\\n");
    let mut properties = properties("MTLS", &[]);
    properties.remove("ssl.truststore.location");
    properties.insert("ssl.truststore.certificates".into(), read("ca.pem"));
    properties.insert("ssl.keystore.certificate.chain".into(), read("client.crt"));
    properties.insert("ssl.keystore.key".into(), read("client.key"));
    enter(&properties).await.unwrap();
}

#[tokio::test]
#[ignore = "needs a broker: cargo xtask kafka --secure"]
async fn real_kafka_an_encrypted_key_lets_its_client_in_with_its_password() {
    let encrypted = pem("encrypted.pem");
    let with = |password| properties("MTLS", &[("ssl.keystore.location", &encrypted), ("ssl.key.password", password)]);
    enter(&with("changeit")).await.unwrap();
    for (password, expected) in [("changeme", "it does not decrypt the private key"), ("", "is encrypted")] {
        let error = enter(&with(password)).await.unwrap_err().to_string();
        assert!(error.contains("ssl.key.password=") && error.contains(expected), "{error}");
        assert!(error.contains(&encrypted) && !error.contains("changeme"), "{error}");
    }
}

#[tokio::test]
#[ignore = "needs a broker: cargo xtask kafka --secure"]
async fn real_kafka_a_certificate_that_is_replaced_on_disk_serves_the_next_connection() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("client.pem").display().to_string();
    std::fs::copy(pem("client.pem"), &file).unwrap();
    let properties = properties("MTLS", &[("ssl.keystore.location", &file)]);
    let config = ClientConfig::from_properties(&properties).unwrap();
    Admin::new(config.clone()).describe_cluster().await.unwrap();
    std::fs::copy(pem("stranger.pem"), &file).unwrap();
    assert!(Admin::new(config.clone()).describe_cluster().await.is_err(), "nobody trusts the new one");
    std::fs::write(&file, "half a key").unwrap();
    assert!(Admin::new(config.clone()).describe_cluster().await.is_err(), "what cannot be read changes nothing");
    std::fs::copy(pem("client.pem"), &file).unwrap();
    Admin::new(config).describe_cluster().await.unwrap();
}
