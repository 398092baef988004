//! A program of benches/ whose processes are signalled by their own ids, so that cargo does not stand between.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};

use super::bench::Bench;
use crate::workspace;

/// A program, built.
pub(crate) struct Program(PathBuf);

impl Program {
    pub(crate) fn build(name: &'static str) -> Result<Self> {
        Bench::build(name)?;
        let metadata = workspace::metadata()?;
        let target = metadata["target_directory"].as_str().context("cargo metadata names no target directory")?;
        Ok(Self(PathBuf::from(target).join("release").join(name)))
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.0);
        command.args(arguments);
        command
    }
}
