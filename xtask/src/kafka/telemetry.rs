//! A metrics reporter for brokers, which takes what clients push (KIP-714): testdata/telemetry/MetricsLog.java.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::libs::Libs;
use crate::{process, workspace};

/// Compiles it for these jars into a folder.
pub(super) fn compile(libs: &Libs, into: &Path) -> Result<()> {
    std::fs::create_dir_all(into)?;
    let mut compile = Command::new("javac");
    compile.arg("-cp").arg(libs.folder().join("*")).arg("-d").arg(into);
    compile.arg(workspace::root().join("testdata/telemetry/MetricsLog.java"));
    process::output(&mut compile).context("a JDK 17 is needed for the metrics reporter")?;
    Ok(())
}

/// Where the pushes to the brokers of a cluster in `folder` are written.
pub(super) fn log(folder: &Path) -> PathBuf {
    folder.join("telemetry.jsonl")
}

/// What a broker is told of it.
pub(super) fn settings(log: &Path) -> [(String, String); 2] {
    [
        ("metric.reporters".to_owned(), "MetricsLog".to_owned()),
        ("ackflow.telemetry.log".to_owned(), log.display().to_string()),
    ]
}
