//! Share consumers of other clients, for measurements: benches/peers/share has their sources and says what they take and print.

use std::path::PathBuf;

use anyhow::Result;

use super::Peer;
use super::programs::{built, compiled_java, go};
use crate::kafka::Libs;
use crate::{process, workspace};

/// Builds all of them, with the versions that their sources pin.
///
/// # Errors
/// When a compiler or a package is missing.
pub fn share_consumers(libs: &Libs) -> Result<Vec<Peer>> {
    let java = compiled_java(libs, "share-java", &source("java").join("ShareConsume.java"))?;
    Ok(vec![java, librdkafka()?, go("share-franz-go", &source("franz-go"))?, krafka()?])
}

/// Builds those that are written in C and in Go: librdkafka and franz-go.
///
/// # Errors
/// When a compiler or a package is missing.
pub fn foreign_share_consumers() -> Result<[Peer; 2]> {
    Ok([librdkafka()?, go("share-franz-go", &source("franz-go"))?])
}

fn source(name: &str) -> PathBuf {
    workspace::root().join("benches/peers/share").join(name)
}

fn librdkafka() -> Result<Peer> {
    let program = built("share-librdkafka")?.join("share_consume");
    super::librdkafka::compile(&source("librdkafka").join("share_consume.c"), &program)?;
    Ok(Peer::new("librdkafka", [program]))
}

fn krafka() -> Result<Peer> {
    let folder = built("share-krafka")?;
    let mut build = workspace::cargo();
    build.args(["build", "--release", "--locked", "-q"]).current_dir(source("krafka")).env("CARGO_TARGET_DIR", &folder);
    process::output(&mut build)?;
    Ok(Peer::new("krafka", [folder.join("release/krafka-share-consume")]))
}
