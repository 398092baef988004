//! The worker against the embedded broker, and the same against a real Kafka.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod file_sink;
mod outcomes;
mod refusals;
mod stopping;
mod support;

use std::{env, process::Command};

/// Runs the suite of this file again, on the Kafka that the environment names (`cargo xtask kafka --fast -- cargo test -- --ignored
/// real_kafka_`).
#[test]
#[ignore = "needs a real Kafka"]
fn real_kafka_passes_the_same_suite() {
    let bootstrap = env::var("ACKFLOW_BOOTSTRAP").expect("ACKFLOW_BOOTSTRAP has to name a Kafka");
    let mut suite = Command::new(env::current_exe().unwrap());
    suite.args(["file_sink::", "outcomes::", "refusals::", "stopping::"]).env(support::REAL, bootstrap);
    let output = suite.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}
