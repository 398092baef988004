//! The copy of the workspace that is broken and built. It stays in `target`, so that the next run builds little.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use super::recorded::{KnownTest, Mutation};
use crate::process::Process;
use crate::workspace::{self, cargo};

/// A build that takes longer hangs.
const BUILD_LIMIT: Duration = Duration::from_secs(1200);
/// A test that takes longer does not end. It would be noticed in the CI, but a failure says more.
const TEST_LIMIT: Duration = Duration::from_secs(120);

pub(crate) struct Tree {
    root: PathBuf,
    target: PathBuf,
    /// The features without which integration tests are not built, by the folder of their package and their name.
    features: BTreeMap<(String, String), String>,
}

impl Tree {
    /// Brings the copy up to date. What has not changed is not touched: cargo would build it again.
    pub(crate) fn copy() -> Result<Self> {
        let folder = workspace::root().join("target/mutate");
        let tree = Self {
            root: folder.join("tree"),
            target: folder.join("target"),
            features: required_features(&workspace::metadata()?),
        };
        let files: BTreeSet<PathBuf> = workspace::files()?.into_iter().map(PathBuf::from).collect();
        for file in &files {
            let text =
                fs::read(workspace::root().join(file)).with_context(|| format!("cannot read {}", file.display()))?;
            write(&tree.root.join(file), &text)?;
        }
        tree.remove_others(&tree.root, &files)?;
        Ok(tree)
    }

    fn remove_others(&self, folder: &Path, files: &BTreeSet<PathBuf>) -> Result<()> {
        for entry in fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))? {
            let path = entry?.path();
            if path.is_dir() {
                self.remove_others(&path, files)?;
            } else if path.strip_prefix(&self.root).is_ok_and(|name| !files.contains(name)) {
                fs::remove_file(&path).with_context(|| format!("cannot remove {}", path.display()))?;
            }
        }
        Ok(())
    }

    /// Sees that the tests pass while nothing is broken.
    pub(super) fn passes(&self, tests: &[&KnownTest]) -> Result<()> {
        let mut targets: BTreeMap<_, Vec<&KnownTest>> = BTreeMap::new();
        for test in tests {
            targets.entry((test.package(), test.target())).or_default().push(test);
        }
        for tests in targets.values() {
            let names: Vec<&str> = tests.iter().map(|test| test.name.as_str()).collect();
            let program = self.build(tests[0])?;
            let output = self.test(tests[0], &program, &names)?;
            for test in tests {
                let outcomes = outcomes(&output, &test.name);
                ensure!(!outcomes.is_empty(), "{} is not run\n{output}", test.place());
                ensure!(outcomes.iter().all(|ok| *ok), "{} fails while nothing is broken\n{output}", test.place());
            }
        }
        Ok(())
    }

    /// Applies the mutation of a test, and sees the test fail.
    pub(super) fn mutated(&self, test: &KnownTest) -> Result<()> {
        let mutation = test.mutation.as_ref().context("no mutation is recorded")?;
        let output =
            self.with(mutation, || self.build(test).and_then(|program| self.test(test, &program, &[&test.name])))?;
        match outcomes(&output, &test.name)[..] {
            [] => bail!("it is not run, or takes all tests down with it\n{output}"),
            ref outcomes if outcomes.iter().all(|ok| *ok) => bail!("it passes all the same"),
            _ => Ok(()),
        }
    }

    /// Does something while a mutation is applied.
    pub(crate) fn with<T>(&self, mutation: &Mutation, act: impl FnOnce() -> Result<T>) -> Result<T> {
        let file = self.root.join(&mutation.file);
        let whole = fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
        write(&file, mutation.apply(&whole)?.as_bytes())?;
        let outcome = act();
        write(&file, whole.as_bytes())?;
        outcome
    }

    /// Builds an example of a package as the tree is at the moment, and returns the program.
    pub(crate) fn example(&self, package: &str, name: &str) -> Result<PathBuf> {
        let mut build = cargo();
        build.current_dir(self.root.join(package)).args(["build", "--example", name]);
        self.built(&mut build)
    }

    /// Builds what a test is in, and returns the program.
    fn build(&self, test: &KnownTest) -> Result<PathBuf> {
        let mut build = cargo();
        build.current_dir(self.root.join(test.package())).args(["test", "--no-run"]);
        match test.target() {
            Some(target) => build.args(["--test", target]),
            None => build.arg("--lib"),
        };
        let name = (test.package().to_owned(), test.target().unwrap_or_default().to_owned());
        if let Some(features) = self.features.get(&name) {
            build.args(["--features", features]);
        }
        self.built(&mut build)
    }

    /// Has cargo build a program, and returns it.
    fn built(&self, build: &mut Command) -> Result<PathBuf> {
        build.args(["--quiet", "--message-format", "json-render-diagnostics"]);
        build.env("CARGO_TARGET_DIR", &self.target).env("CARGO_INCREMENTAL", "1").env("CARGO_PROFILE_DEV_DEBUG", "0");
        // What a mutation leaves unused is no matter.
        build.env("RUSTFLAGS", "-A warnings");
        let (messages, _) = Process::capture("the build", build, BUILD_LIMIT)?;
        let mut programs = messages.lines().filter_map(|line| {
            let message: Value = serde_json::from_str(line).ok()?;
            Some(PathBuf::from(message["executable"].as_str()?))
        });
        programs.next_back().context("cargo names no program that it has built")
    }

    /// Runs tests by name, and returns what they print.
    fn test(&self, test: &KnownTest, program: &Path, names: &[&str]) -> Result<String> {
        let mut run = Command::new(program);
        run.args(names).current_dir(self.root.join(test.package())).stderr(Stdio::null());
        let (output, _) = Process::finish("the test", &mut run, TEST_LIMIT)?;
        Ok(output)
    }
}

/// The features that targets ask for.
fn required_features(metadata: &Value) -> BTreeMap<(String, String), String> {
    let mut features = BTreeMap::new();
    for package in workspace::members(metadata) {
        let manifest = Path::new(package["manifest_path"].as_str().unwrap_or_default());
        let folder = manifest.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy();
        for target in package["targets"].as_array().into_iter().flatten() {
            let required: Vec<&str> =
                target["required-features"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
            if let (Some(name), false) = (target["name"].as_str(), required.is_empty()) {
                features.insert((folder.to_string(), name.to_owned()), required.join(","));
            }
        }
    }
    features
}

/// Writes a file where it says something else.
fn write(path: &Path, text: &[u8]) -> Result<()> {
    if fs::read(path).is_ok_and(|there| there == text) {
        return Ok(());
    }
    let folder = path.parent().context("a file lies in a folder")?;
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

/// Whether each run of a test went well, from lines such as `test acks::row_06_gaps ... ok`.
fn outcomes(output: &str, name: &str) -> Vec<bool> {
    let lines = output.lines().filter_map(|line| line.strip_prefix("test ")?.split_once(" ... "));
    let of_test = lines.filter(|(path, _)| path.rsplit("::").next() == Some(name));
    of_test.filter(|(_, outcome)| !outcome.starts_with("ignored")).map(|(_, outcome)| outcome == "ok").collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_built_with_the_features_that_they_ask_for() {
        let metadata = serde_json::json!({
            "workspace_members": ["a"],
            "packages": [{
                "id": "a",
                "manifest_path": "/somewhere/kit/Cargo.toml",
                "targets": [{ "name": "plain" }, { "name": "draft", "required-features": ["x", "y"] }],
            }],
        });
        let expected = BTreeMap::from([(("kit".to_owned(), "draft".to_owned()), "x,y".to_owned())]);
        assert_eq!(required_features(&metadata), expected);
    }

    #[test]
    fn outcomes_are_those_of_the_test_itself() {
        let output = "test a::row_06_x ... ok\ntest b::row_06_x ... FAILED\ntest row_06_x_more ... ok\n\
                      test real_kafka_::row_06_x ... ignored, needs a broker\n";
        assert_eq!(outcomes(output, "row_06_x"), [true, false]);
        assert_eq!(outcomes(output, "row_07_x"), [false; 0]);
    }
}
