//! The workspace: where things are, and what cargo knows of it.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::process;

/// The folder of the workspace's Cargo.toml.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask is a folder of the workspace")
}

/// Where downloads are kept: `ACKFLOW_CACHE`, or `.cache` in the workspace.
pub fn cache() -> PathBuf {
    env::var_os("ACKFLOW_CACHE").map_or_else(|| root().join(".cache"), PathBuf::from)
}

/// The files of the workspace, relative to its folder: what git tracks, and what is new and not ignored.
///
/// # Errors
/// When git fails, or this is no working tree of it.
pub fn files() -> Result<Vec<String>> {
    let mut git = Command::new("git");
    git.args(["ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate"]).current_dir(root());
    let listed = process::output(&mut git)?;
    // A file that was deleted and not committed is still listed.
    Ok(listed.split_terminator('\0').filter(|name| root().join(name).is_file()).map(str::to_owned).collect())
}

/// The cargo that runs this, in the workspace's folder.
pub fn cargo() -> Command {
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(root());
    cargo
}

/// What `cargo metadata` says of the workspace's own crates.
///
/// # Errors
/// When cargo fails.
pub fn metadata() -> Result<Value> {
    let text = process::output(cargo().args(["metadata", "--format-version", "1", "--no-deps"]))?;
    serde_json::from_str(&text).context("cargo metadata is not JSON")
}

/// The workspace's own packages among all that the metadata tells of.
pub fn members(metadata: &Value) -> impl Iterator<Item = &Value> {
    let ids = metadata["workspace_members"].as_array();
    let packages = metadata["packages"].as_array().into_iter().flatten();
    packages.filter(move |package| ids.is_some_and(|ids| ids.contains(&package["id"])))
}
