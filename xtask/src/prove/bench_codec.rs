//! The codec beside those of other crates, in one process.

use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::Value;

use super::Proof;
use super::verdict::Verdict;
use crate::process::Process;
use crate::workspace::{self, cargo};

pub(super) const PROOF: Proof = Proof {
    name: "bench-codec",
    shows: "ShareFetch and Produce are read and written at twice the speed of kafka-protocol and krabka-protocol at least",
    run,
};

/// The cases whose claim is judged; the others are told.
const JUDGED: [&str; 4] = ["share_fetch_decode", "share_fetch_encode", "produce_decode", "produce_encode"];
/// How many times as long as ours the faster peer takes at least.
const AT_LEAST: f64 = 2.0;
/// The crates are large, and may be built from nothing on a slow machine.
const BUILD_LIMIT: Duration = Duration::from_secs(3600);
const RUN_LIMIT: Duration = Duration::from_secs(300);

fn run() -> Result<Verdict> {
    let folder = workspace::cache().join("codec-peers");
    let mut build = cargo();
    // krabka-protocol says that it needs a newer compiler than ours; it builds with ours.
    build.args(["build", "--release", "--locked", "-q", "--ignore-rust-version"]);
    build.current_dir(workspace::root().join("benches/peers/codec")).env("CARGO_TARGET_DIR", &folder);
    Process::start("the build of the crates", &mut build)?.success(BUILD_LIMIT)?;

    let (output, _) =
        Process::capture("codec", &mut std::process::Command::new(folder.join("release/codec")), RUN_LIMIT)?;
    print!("{output}");
    let result: Value =
        serde_json::from_str(output.lines().last().unwrap_or_default()).context("the last line is JSON")?;

    let mut verdict = Verdict::default();
    let cases = result.as_object().context("the last line is an object of cases")?;
    for (case, figures) in cases {
        for ratio in ["ratio", "ratio_to_made"] {
            if let Some(times) = figures[ratio].as_f64() {
                let name = case.clone() + ratio.strip_prefix("ratio").unwrap_or_default();
                verdict.figure(&name, format!("{times:.2}"));
            }
        }
    }
    for case in JUDGED {
        let ratio = result[case]["ratio"].as_f64().with_context(|| format!("{case} was not measured"))?;
        verdict.require(ratio >= AT_LEAST, format!("{case}: the faster peer takes at least {AT_LEAST} times as long"));
    }
    Ok(verdict)
}
