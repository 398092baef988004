//! The layers: which crate may stand on which, and that protocol/ is pure. It gets bytes, time and randomness as
//! arguments, so the same code runs under tokio, in a simulation and in a fuzzer.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::process;
use crate::workspace::{self, cargo};

/// Each crate and the crates of the workspace that it may depend on (tests aside). The order is that of the layers.
const MAY_USE: [(&str, &[&str]); 10] = [
    ("ackflow-protocol", &[]),
    ("ackflow-capture", &["ackflow-protocol"]),
    ("ackflow-testkit", &["ackflow-protocol"]),
    ("ackflow-client", &["ackflow-protocol"]),
    ("ackflow-sink-runtime", &["ackflow-protocol", "ackflow-client"]),
    ("ackflow-conformance", &["ackflow-protocol", "ackflow-client", "ackflow-testkit"]),
    (
        "ackflow",
        &[
            "ackflow-protocol",
            "ackflow-capture",
            "ackflow-client",
            "ackflow-sink-runtime",
            "ackflow-testkit",
            "ackflow-conformance",
        ],
    ),
    ("ackflow-benches", &["ackflow-protocol", "ackflow-client", "ackflow-sink-runtime", "ackflow-testkit"]),
    (
        "ackflow-fuzz-replay",
        &["ackflow-protocol", "ackflow-capture", "ackflow-client", "ackflow-sink-runtime", "ackflow-testkit"],
    ),
    ("xtask", &[]),
];

/// Crates that bring sockets, clocks, threads or randomness.
const IMPURE_CRATES: [&str; 10] =
    ["tokio", "tokio-util", "mio", "socket2", "polling", "async-io", "rand", "getrandom", "parking_lot", "crossbeam"];

/// Words that bring the same from the standard library. `Instant` as a value is fine, reading the clock is not.
const IMPURE_WORDS: [&str; 15] = [
    "net::",
    "std::net",
    "thread::",
    "std::thread",
    "fs::",
    "std::fs",
    "Mutex",
    "RwLock",
    "Condvar",
    "mpsc",
    "atomic",
    "Instant::now",
    "SystemTime",
    "RandomState",
    "tokio",
];

/// Check that dependencies point one way and that protocol/ touches no socket, clock, thread, lock or tokio.
#[derive(clap::Args)]
pub struct Arguments {}

/// Runs it.
///
/// # Errors
/// With every breach found.
pub fn run() -> Result<()> {
    let mut breaches = directions(&workspace::metadata()?)?;
    breaches.extend(impure_crates()?);
    for file in rust_files(&workspace::root().join("protocol/src"))? {
        let text = fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
        let name = file.strip_prefix(workspace::root())?.display().to_string();
        breaches.extend(impure_words(&text).map(|(line, word)| format!("{name}:{line}: `{word}` in protocol/")));
    }
    ensure!(breaches.is_empty(), "the layers are broken:\n{}", breaches.join("\n"));
    Ok(())
}

fn directions(metadata: &Value) -> Result<Vec<String>> {
    let mut breaches = Vec::new();
    for package in workspace::members(metadata) {
        let name = package["name"].as_str().context("a package has a name")?;
        let Some((_, allowed)) = MAY_USE.iter().find(|(member, _)| *member == name) else {
            breaches.push(format!("{name} has no place among the layers: add it to xtask/src/layers.rs"));
            continue;
        };
        for dependency in package["dependencies"].as_array().into_iter().flatten() {
            let used = dependency["name"].as_str().context("a dependency has a name")?;
            let for_tests = dependency["kind"] == "dev";
            let member = MAY_USE.iter().any(|(member, _)| *member == used);
            if member && !for_tests && !allowed.contains(&used) {
                breaches.push(format!("{name} must not depend on {used}"));
            }
        }
    }
    Ok(breaches)
}

fn impure_crates() -> Result<Vec<String>> {
    let tree = process::output(cargo().args([
        "tree",
        "-p",
        "ackflow-protocol",
        "--all-features",
        "-e",
        "normal",
        // Brings chance to the tests of users who ask for the feature of its name, and to nothing else.
        "--prune",
        "proptest",
        "--prefix",
        "none",
        "-f",
        "{p}",
    ]))?;
    let names = tree.lines().filter_map(|line| line.split(' ').next());
    Ok(names
        .filter(|name| IMPURE_CRATES.contains(name))
        .map(|name| format!("ackflow-protocol depends on {name}: cargo tree -p ackflow-protocol -e normal -i {name}"))
        .collect())
}

/// The sources below a folder, in the order of their names, without the tests' own files and folders.
fn rust_files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))? {
        let path = entry?.path();
        if path.file_stem().is_some_and(|stem| stem == "tests") {
            continue;
        }
        if path.is_dir() {
            files.extend(rust_files(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// Line numbers and words, up to the file's own tests and without comments.
fn impure_words(text: &str) -> impl Iterator<Item = (usize, &'static str)> {
    let code = text.lines().take_while(|line| line.trim() != "#[cfg(test)]");
    code.enumerate().flat_map(|(index, line)| {
        let line = line.split("//").next().unwrap_or_default();
        IMPURE_WORDS.into_iter().filter(move |word| has_word(line, word)).map(move |word| (index + 1, word))
    })
}

fn has_word(line: &str, word: &str) -> bool {
    let part_of_name = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word).any(|(at, _)| {
        let open_end = word.ends_with(':');
        !line[..at].ends_with(part_of_name) && (open_end || !line[at + word.len()..].starts_with(part_of_name))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<(usize, &'static str)> {
        impure_words(text).collect()
    }

    #[test]
    fn clock_lock_and_socket_are_found_with_their_lines() {
        let text = "fn f() {\n    let now = Instant::now();\n    let m: Mutex<u8>;\n}\nuse std::{net::IpAddr};";
        assert_eq!(found(text), [(2, "Instant::now"), (3, "Mutex"), (5, "net::")]);
    }

    #[test]
    fn values_comments_names_and_tests_are_fine() {
        let text = "use std::time::Instant; // not Instant::now\nlet subnet_atomics = 1;\n#[cfg(test)]\nuse std::fs;";
        assert_eq!(found(text), []);
    }

    #[test]
    fn dependency_against_the_layers_is_found() {
        let metadata = serde_json::json!({
            "workspace_members": ["p", "n"],
            "packages": [
                {"id": "p", "name": "ackflow-protocol", "dependencies": [
                    {"name": "ackflow-client", "kind": null}, {"name": "ackflow-testkit", "kind": "dev"}]},
                {"id": "n", "name": "newcomer", "dependencies": []},
            ]
        });
        let breaches = directions(&metadata).unwrap();
        assert_eq!(breaches.len(), 2, "{breaches:?}");
        assert!(breaches[0].contains("must not depend on ackflow-client"), "{breaches:?}");
        assert!(breaches[1].contains("newcomer has no place"), "{breaches:?}");
    }
}
