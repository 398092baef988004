//! librdkafka, by its Python binding: the wheel brings the library, so that its version does not depend on the machine.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::Peer;
use crate::{cache, process, workspace};

/// The version in testdata/interop/librdkafka/requirements.txt, which names the folder of the cache.
const VERSION: &str = "2.16.1";

/// Installs the wheel into the cache if it is not there.
///
/// # Errors
/// When Python is missing or the wheel cannot be installed.
pub fn librdkafka() -> Result<Peer> {
    Ok(Peer::new("librdkafka", [environment()?.join("bin/python"), source().join("peer.py")]))
}

/// librdkafka's consumer of partitions, for measurements: benches/peers/consumer has its source and says what it takes and prints.
///
/// # Errors
/// As [`librdkafka`], and where there is no C compiler.
pub fn librdkafka_consumer() -> Result<Peer> {
    let folder = cache::folder("consumer-librdkafka", |partial| {
        let folder = partial.join("built");
        fs::create_dir(&folder)?;
        Ok(folder)
    })?;
    let program = folder.join("consume");
    compile(&workspace::root().join("benches/peers/consumer/librdkafka/consume.c"), &program)?;
    Ok(Peer::new("librdkafka", [program]))
}

/// Compiles a program in C that uses the library.
pub(super) fn compile(source: &Path, program: &Path) -> Result<()> {
    let library = library()?;
    let folder = library.parent().context("a library is in a folder")?.display().to_string();
    let mut compile = Command::new("cc");
    compile.args(["-O2", "-Wall", "-Werror", "-o"]).arg(program).arg(source);
    process::output(compile.arg(&library).arg(format!("-Wl,-rpath,{folder}")))
        .context("a C compiler is needed for programs with librdkafka")?;
    Ok(())
}

/// The shared library itself, out of the wheel.
///
/// # Errors
/// As [`librdkafka`].
fn library() -> Result<PathBuf> {
    let libraries = fs::read_dir(environment()?.join("lib"))?.map(|python| {
        let folder = python?.path().join("site-packages/confluent_kafka.libs");
        let mut files = fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))?;
        let is_it = |path: &PathBuf| path.file_name().is_some_and(|n| n.to_string_lossy().starts_with("librdkafka"));
        anyhow::Ok(files.find_map(|file| file.ok().map(|file| file.path()).filter(is_it)))
    });
    let found = libraries.collect::<Result<Vec<_>>>()?.into_iter().flatten().next();
    found.context("the wheel of confluent-kafka has no librdkafka in it")
}

fn source() -> PathBuf {
    workspace::root().join("testdata/interop/librdkafka")
}

/// A virtual environment with the wheel.
fn environment() -> Result<PathBuf> {
    cache::folder(&format!("confluent-kafka-{VERSION}"), |partial| {
        let made = partial.join("python");
        install(&made, &source().join("requirements.txt"))?;
        Ok(made)
    })
}

/// A virtual environment still works after it was moved, but for the scripts that pip installs.
fn install(folder: &Path, requirements: &Path) -> Result<()> {
    eprintln!("fetching confluent-kafka {VERSION} from PyPI");
    process::output(Command::new("python3").args(["-m", "venv"]).arg(folder))
        .context("Python 3 with venv is needed for librdkafka (Debian: python3-venv)")?;
    let mut pip = Command::new(folder.join("bin/python"));
    pip.args([
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--only-binary=:all:",
        "--requirement",
    ]);
    process::output(pip.arg(requirements))?;
    process::output(Command::new(folder.join("bin/python")).args(["-c", "import confluent_kafka"])).map(drop)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_folder_is_named_for_the_version_that_is_installed() {
        let file = workspace::root().join("testdata/interop/librdkafka/requirements.txt");
        assert_eq!(fs::read_to_string(file).unwrap(), format!("confluent-kafka=={VERSION}\n"));
    }
}
