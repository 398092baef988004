//! The default build needs a Rust toolchain and nothing else: no crate of it compiles or links C.

use anyhow::{Result, ensure};

use crate::process;
use crate::workspace::cargo;

/// Crates that compile C or look for C libraries.
const TOOLS: [&str; 6] = ["cc", "cmake", "bindgen", "pkg-config", "vcpkg", "autotools"];
/// Named as bindings to C, but plain Rust: definitions of the kernel's interface.
const PURE: [&str; 1] = ["linux-raw-sys"];

/// Check that nothing in the default build of any crate compiles or links C.
#[derive(clap::Args)]
pub struct Arguments {}

/// Runs it.
///
/// # Errors
/// With the crates found.
pub fn run() -> Result<()> {
    let tree =
        process::output(cargo().args(["tree", "--workspace", "-e", "normal,build", "--prefix", "none", "-f", "{p}"]))?;
    let mut found: Vec<&str> = tree.lines().filter_map(|line| line.split(' ').next()).filter(|n| is_c(n)).collect();
    found.sort_unstable();
    found.dedup();
    ensure!(
        found.is_empty(),
        "the default build contains C: {} (cargo tree --workspace -e normal,build -i NAME says who brings it)",
        found.join(", ")
    );
    Ok(())
}

fn is_c(name: &str) -> bool {
    TOOLS.contains(&name) || name.ends_with("-sys") && !PURE.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bindings_and_compilers_count_as_c() {
        assert!(is_c("zstd-sys") && is_c("cc") && is_c("pkg-config"));
        assert!(!is_c("linux-raw-sys") && !is_c("rustix"));
    }
}
