//! The commands that README shows: what it promises is what the checks run.

/// The lines in ```sh blocks that start with `cargo`. The first is the demo, the second the tests.
pub fn cargo_lines(markdown: &str) -> impl Iterator<Item = &str> {
    let mut in_shell = false;
    markdown.lines().filter(move |line| {
        if line.starts_with("```") {
            in_shell = line.trim_end() == "```sh";
        }
        in_shell && line.starts_with("cargo ")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_cargo_lines_of_shell_blocks_count() {
        let readme =
            "cargo not\n```sh\ncargo one\nls\ncargo two # x\n```\n```rust\ncargo no\n```\n```sh\ncargo three\n```\n";
        assert_eq!(cargo_lines(readme).collect::<Vec<_>>(), ["cargo one", "cargo two # x", "cargo three"]);
    }
}
