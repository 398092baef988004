//! Producers of other clients, for measurements: benches/peers/produce has their sources and says what they take and print.

use std::path::PathBuf;

use anyhow::Result;

use super::Peer;
use super::programs::{built, compiled_java, go};
use crate::kafka::Libs;
use crate::workspace;

/// Builds all of them, with the versions that their sources pin.
///
/// # Errors
/// When a compiler or a package is missing.
pub fn producers(libs: &Libs) -> Result<Vec<Peer>> {
    let librdkafka = built("produce-librdkafka")?.join("produce");
    super::librdkafka::compile(&source("librdkafka").join("produce.c"), &librdkafka)?;
    Ok(vec![
        Peer::new("librdkafka", [librdkafka]),
        compiled_java(libs, "produce-java", &source("java").join("Produce.java"))?,
        go("produce-franz-go", &source("franz-go"))?,
    ])
}

fn source(name: &str) -> PathBuf {
    workspace::root().join("benches/peers/produce").join(name)
}
