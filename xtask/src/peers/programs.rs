//! How programs that measure other clients are built.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::Peer;
use crate::kafka::{Libs, SCRIPT_OPTIONS};
use crate::{cache, process};

/// The folder of the cache that a program is built in.
pub(super) fn built(name: &str) -> Result<PathBuf> {
    cache::folder(name, |partial| {
        let folder = partial.join("built");
        fs::create_dir(&folder)?;
        Ok(folder)
    })
}

/// A program in Java of one file: compiled before, so that the compiler is no part of what is measured; with the options of Kafka's own scripts.
pub(super) fn compiled_java(libs: &Libs, name: &str, source: &Path) -> Result<Peer> {
    let folder = built(name)?;
    let mut compile = Command::new("javac");
    compile.arg("-cp").arg(libs.folder().join("*")).arg("-d").arg(&folder).arg(source);
    process::output(&mut compile).context("a JDK 17 is needed for Java's clients")?;
    let class = source.file_stem().context("a source file has a name")?;
    let mut path = folder.into_os_string();
    path.push(":");
    path.push(libs.folder().join("*"));
    let options = SCRIPT_OPTIONS.iter().map(Into::into);
    Ok(Peer::new("java", [vec!["java".into()], options.collect(), vec!["-cp".into(), path, class.into()]].concat()))
}

/// A program with franz-go; Go keeps what it has built before.
pub(super) fn go(name: &str, source: &Path) -> Result<Peer> {
    let program = built(name)?.join("program");
    let mut go = Command::new("go");
    go.args(["build", "-mod=readonly", "-o"]).arg(&program).arg(".").current_dir(source);
    process::output(&mut go).context("Go 1.26 is needed for franz-go (its go.mod says so)")?;
    Ok(Peer::new("franz-go", [program]))
}
