//! The product's binary.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::process::Process;
use crate::workspace::{self, cargo};

/// A release build, at worst from nothing on a slow machine.
const BUILD_LIMIT: Duration = Duration::from_secs(1800);

/// A release build of `ackflow`.
#[derive(Clone)]
pub(in crate::prove) struct Ackflow {
    binary: PathBuf,
}

impl Ackflow {
    /// Builds it.
    ///
    /// # Errors
    /// When it does not build.
    pub(in crate::prove) fn build() -> Result<Self> {
        Process::start("the release build", cargo().args(["build", "--release", "-q", "-p", "ackflow"]))?
            .success(BUILD_LIMIT)?;
        let metadata = workspace::metadata()?;
        let target = metadata["target_directory"].as_str().context("cargo metadata names no target directory")?;
        Ok(Self { binary: PathBuf::from(target).join("release/ackflow") })
    }

    /// A command line of it.
    pub(in crate::prove) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.binary);
        command.args(arguments);
        command
    }
}
