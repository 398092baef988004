//! franz-go, the client in Go.

use std::process::Command;

use anyhow::{Context, Result};

use super::Peer;
use crate::{process, workspace};

/// Builds the program; Go keeps what it has built before.
///
/// # Errors
/// When Go is missing, too old, or cannot fetch the modules that go.sum pins.
pub fn franz_go() -> Result<Peer> {
    let source = workspace::root().join("testdata/interop/franz-go");
    let program = workspace::cache().join("franz-go-peer");
    let mut go = Command::new("go");
    go.args(["build", "-mod=readonly", "-o"]).arg(&program).arg(".").current_dir(source);
    process::output(&mut go).context("Go 1.26 is needed for franz-go (its go.mod says so)")?;
    Ok(Peer::new("franz-go", [program]))
}
