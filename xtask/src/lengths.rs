//! How long a file may be. What does not fit into one can be told apart into two, each with a name that says what it is.

use std::fs;

use anyhow::{Context, Result, ensure};

use crate::workspace;

/// Lines of a source file, its own `mod tests` among them.
const SOURCE: usize = 500;
/// Lines of a file that has nothing but tests: one of a folder `tests`, or named so.
const TESTS: usize = 800;

const LANGUAGES: [&str; 6] = [".rs", ".java", ".py", ".go", ".c", ".sh"];

/// Check that no source file is over 500 lines, and no file of tests over 800.
#[derive(clap::Args)]
pub struct Arguments {}

/// Runs it.
///
/// # Errors
/// With every file that is too long.
pub fn run() -> Result<()> {
    let mut found = Vec::new();
    for name in workspace::files()?.iter().filter(|name| LANGUAGES.iter().any(|end| name.ends_with(end))) {
        let text = fs::read_to_string(workspace::root().join(name)).with_context(|| format!("cannot read {name}"))?;
        found.extend(too_long(name, text.lines().count()));
    }
    ensure!(found.is_empty(), "files that are too long:\n{}", found.join("\n"));
    Ok(())
}

fn too_long(name: &str, lines: usize) -> Option<String> {
    let is_test = name.split('/').any(|part| part == "tests" || part == "tests.rs");
    let limit = if is_test { TESTS } else { SOURCE };
    (lines > limit).then(|| format!("{name} has {lines} lines, the limit is {limit}: make two of it"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_and_its_limit_are_named() {
        assert_eq!(too_long("client/src/net/pool.rs", 500), None);
        let told = too_long("client/src/net/pool.rs", 501).unwrap();
        assert!(told.contains("client/src/net/pool.rs has 501 lines, the limit is 500"), "{told}");
    }

    #[test]
    fn tests_may_be_longer() {
        for name in ["client/src/net/tests.rs", "protocol/src/machine/tests/rig.rs", "client/tests/share/main.rs"] {
            assert_eq!(too_long(name, 800), None);
            assert!(too_long(name, 801).is_some());
        }
        assert!(too_long("client/src/contests.rs", 501).is_some());
    }
}
