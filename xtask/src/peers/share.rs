//! Share consumers of other clients, for measurements: benches/peers/share has their sources and says what they take and print.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};

use super::Peer;
use crate::kafka::{Libs, SCRIPT_OPTIONS};
use crate::{cache, process, workspace};

/// Builds all of them, with the versions that their sources pin.
///
/// # Errors
/// When a compiler or a package is missing.
pub fn share_consumers(libs: &Libs) -> Result<Vec<Peer>> {
    Ok(vec![java(libs)?, librdkafka()?, franz_go()?, krafka()?])
}

fn source(name: &str) -> PathBuf {
    workspace::root().join("benches/peers/share").join(name)
}

/// The folder of the cache that a program is built in.
fn built(name: &str) -> Result<PathBuf> {
    cache::folder(&format!("share-{name}"), |partial| {
        let folder = partial.join("built");
        std::fs::create_dir(&folder)?;
        Ok(folder)
    })
}

/// Compiled before, so that the compiler is no part of what is measured; with the options of Kafka's own scripts.
fn java(libs: &Libs) -> Result<Peer> {
    let folder = built("java")?;
    let mut compile = Command::new("javac");
    compile
        .arg("-cp")
        .arg(libs.folder().join("*"))
        .arg("-d")
        .arg(&folder)
        .arg(source("java").join("ShareConsume.java"));
    process::output(&mut compile).context("a JDK 17 is needed for Java's share consumer")?;
    let mut path = folder.into_os_string();
    path.push(":");
    path.push(libs.folder().join("*"));
    let options = SCRIPT_OPTIONS.iter().map(Into::into);
    Ok(Peer::new(
        "java",
        [vec!["java".into()], options.collect(), vec!["-cp".into(), path, "ShareConsume".into()]].concat(),
    ))
}

fn librdkafka() -> Result<Peer> {
    let program = built("librdkafka")?.join("share_consume");
    super::librdkafka::compile(&source("librdkafka").join("share_consume.c"), &program)?;
    Ok(Peer::new("librdkafka", [program]))
}

fn franz_go() -> Result<Peer> {
    let program = built("franz-go")?.join("share_consume");
    let mut go = Command::new("go");
    go.args(["build", "-mod=readonly", "-o"]).arg(&program).arg(".").current_dir(source("franz-go"));
    process::output(&mut go).context("Go 1.26 is needed for franz-go (its go.mod says so)")?;
    Ok(Peer::new("franz-go", [program]))
}

fn krafka() -> Result<Peer> {
    let folder = built("krafka")?;
    let mut build = workspace::cargo();
    build.args(["build", "--release", "--locked", "-q"]).current_dir(source("krafka")).env("CARGO_TARGET_DIR", &folder);
    process::output(&mut build)?;
    Ok(Peer::new("krafka", [folder.join("release/krafka-share-consume")]))
}
