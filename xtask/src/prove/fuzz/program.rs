//! The programs of cargo-fuzz: built once, each run as a process of its own.

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use super::log::{self, Outcome, Told};
use crate::cache;
use crate::process::{self, Process};
use crate::workspace::{self, cargo};

/// The version of cargo-fuzz.
const CARGO_FUZZ: &str = "0.13.2";
const BUILD_LIMIT: Duration = Duration::from_secs(3600);
/// What a run may take beyond its time: reading the seeds, and the input that is under way at the end.
const OVERTIME: Duration = Duration::from_secs(300);

/// What is the same for all targets.
const OPTIONS: [&str; 6] = [
    // Each a crash: an input that takes so many seconds, and so many MiB that the program has. What a target holds at a
    // time it counts itself, and ends with a panic where it is too much.
    "-timeout=10",
    "-rss_limit_mb=2048",
    "-max_len=4096",
    "-print_final_stats=1",
    // Names of functions cost seconds each.
    "-print_funcs=0",
    "-print_pcs=0",
];

/// The programs of all targets.
pub(super) struct Programs {
    folder: PathBuf,
}

impl Programs {
    /// Builds them: optimised, with debug assertions. The product has no unsafe code that a sanitizer could find fault with,
    /// and one would halve the executions.
    pub(super) fn build() -> Result<Self> {
        let target = nightly_host()?;
        let mut build = Command::new(cargo_fuzz()?);
        build.args(["build", "--release", "--debug-assertions", "--strip-dead-code", "--sanitizer", "none"]);
        build.args(["--target", &target]);
        // The toolchain of this process must not be that of the build.
        build.env("RUSTUP_TOOLCHAIN", "nightly").env_remove("CARGO").current_dir(workspace::root());
        Process::start("the build of the fuzz targets", &mut build)?.success(BUILD_LIMIT).with_context(
            || "the fuzz targets cannot be built: a nightly toolchain and a C++ compiler (Debian: g++) are needed",
        )?;
        Ok(Self { folder: workspace::root().join("fuzz/target").join(target).join("release") })
    }

    /// Starts a target, for so many seconds.
    pub(super) fn start(&self, name: &str, seconds: u64) -> Result<Run> {
        let fuzz = workspace::root().join("fuzz");
        let (artifacts, log) = (fuzz.join("artifacts").join(name), fuzz.join("artifacts").join(format!("{name}.log")));
        fs::create_dir_all(&artifacts).with_context(|| format!("cannot create {}", artifacts.display()))?;
        let output = File::create(&log).with_context(|| format!("cannot create {}", log.display()))?;
        let mut command = Command::new(self.folder.join(name));
        command.args(OPTIONS).arg(format!("-max_total_time={seconds}"));
        command.arg(format!("-artifact_prefix={}/", artifacts.display())).arg(fuzz.join("corpus").join(name));
        command.stdout(output.try_clone()?).stderr(output).current_dir(workspace::root());
        let deadline = Instant::now() + Duration::from_secs(seconds) + OVERTIME;
        Ok(Run { process: Process::start(name, &mut command)?, name: name.to_owned(), log, deadline })
    }
}

/// A target that runs. Dropping it ends it.
pub(super) struct Run {
    pub(super) name: String,
    process: Process,
    log: PathBuf,
    deadline: Instant,
}

impl Run {
    /// How it ended; `None` while it runs.
    pub(super) fn outcome(&mut self) -> Result<Option<Outcome>> {
        let Some(exit) = self.process.poll()? else {
            ensure!(
                Instant::now() < self.deadline,
                "{} does not end; its output is in {}",
                self.name,
                self.log.display()
            );
            return Ok(None);
        };
        Ok(Some(Outcome { exit: exit.status, log: self.log.clone(), told: Told::read(&self.output()?) }))
    }

    /// Where it is.
    pub(super) fn progress(&self) -> Result<String> {
        Ok(log::progress(&self.output()?).unwrap_or_else(|| "reads its seeds".to_owned()))
    }

    /// It shows inputs, which are any bytes.
    fn output(&self) -> Result<String> {
        let bytes = fs::read(&self.log).with_context(|| format!("cannot read {}", self.log.display()))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

/// cargo-fuzz, installed into the cache if it is not there.
fn cargo_fuzz() -> Result<PathBuf> {
    let folder = cache::folder(&format!("cargo-fuzz-{CARGO_FUZZ}"), |partial| {
        let made = partial.join("installed");
        let mut install = cargo();
        install.args(["install", "cargo-fuzz", "--version", CARGO_FUZZ, "--locked", "--root"]).arg(&made);
        Process::start("the installation of cargo-fuzz", &mut install)?.success(BUILD_LIMIT)?;
        Ok(made)
    })?;
    Ok(folder.join("bin/cargo-fuzz"))
}

/// The machine that the nightly compiler builds for.
fn nightly_host() -> Result<String> {
    let mut rustc = Command::new("rustc");
    let version = process::output(rustc.args(["+nightly", "-vV"]))
        .context("what counts coverage needs a nightly compiler: rustup toolchain install nightly --profile minimal")?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).with_context(|| format!("rustc names no host:\n{version}"))
}
