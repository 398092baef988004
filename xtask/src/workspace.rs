//! Where things are.

use std::env;
use std::path::{Path, PathBuf};

/// The folder of the workspace's Cargo.toml.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask is a folder of the workspace")
}

/// Where downloads are kept: `ACKFLOW_CACHE`, or `.cache` in the workspace.
pub fn cache() -> PathBuf {
    env::var_os("ACKFLOW_CACHE").map_or_else(|| root().join(".cache"), PathBuf::from)
}
