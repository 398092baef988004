//! TLS and SASL against a real Kafka that has listeners with them (`cargo xtask kafka --fast --secure -- cargo test -p ackflow-client -- --ignored real_kafka_`).

#![expect(clippy::unwrap_used, reason = "a test fails where it unwraps nothing")]

mod embedded;
mod refusals;
mod renewal;
#[cfg(all(feature = "graviola", feature = "oidc"))]
mod tokens;
mod ways_in;

use std::collections::BTreeMap;
use std::env::var;
use std::path::PathBuf;

use ackflow_client::{Admin, ClientConfig, ClientError};

const PLAIN: &str =
    "org.apache.kafka.common.security.plain.PlainLoginModule required username=\"bob\" password=\"bob-secret\";";
const SCRAM: &str =
    "org.apache.kafka.common.security.scram.ScramLoginModule required username=\"alice\" password=\"alice-secret\";";

/// The address of a listener.
fn listener(name: &str) -> String {
    let listeners = var("ACKFLOW_KAFKA_LISTENERS")
        .expect("ACKFLOW_KAFKA_LISTENERS has to name listeners: cargo xtask kafka --secure");
    let find = |entry: &str| entry.strip_prefix(name)?.strip_prefix('=').map(str::to_owned);
    listeners.split(' ').find_map(find).unwrap_or_else(|| panic!("no {name} among {listeners}"))
}

/// A file of the harness's certificates.
fn pem(name: &str) -> String {
    let folder = var("ACKFLOW_KAFKA_CERTIFICATES").expect("ACKFLOW_KAFKA_CERTIFICATES has to name their folder");
    PathBuf::from(folder).join(name).display().to_string()
}

/// Properties of a client for a listener, whose certificates are those of the harness.
fn properties(name: &str, more: &[(&str, &str)]) -> BTreeMap<String, String> {
    let protocol = match name {
        "SASL_PLAINTEXT" => "SASL_PLAINTEXT",
        "SASL_SSL" | "SHORT" => "SASL_SSL",
        _ => "SSL",
    };
    let mut properties = BTreeMap::from([
        ("bootstrap.servers".to_owned(), listener(name)),
        ("security.protocol".to_owned(), protocol.to_owned()),
        ("ssl.truststore.location".to_owned(), pem("ca.pem")),
    ]);
    properties.extend(more.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())));
    properties
}

/// Asks the broker something that needs all of the way in.
async fn enter(properties: &BTreeMap<String, String>) -> Result<(), ClientError> {
    Admin::new(ClientConfig::from_properties(properties)?).describe_cluster().await.map(drop)
}
