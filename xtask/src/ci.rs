//! All checks, those that fail soonest first, after README's own test command.

use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use crate::kafka::{Cluster, DEFAULT_VERSION, Options};
use crate::process::Process;
use crate::workspace::{self, cargo};
use crate::{interrupt, layers, lengths, mutate, no_c, prove, readme, schemas, simulation};

/// A step that takes longer hangs.
const STEP_LIMIT: Duration = Duration::from_secs(3600);

/// Run all checks, README's test command first.
#[derive(clap::Args)]
pub struct Arguments {
    /// Also run every proof (`cargo xtask prove --list` names them), and see every recorded mutation noticed.
    #[arg(long)]
    full: bool,
    /// Go on after a step that fails.
    #[arg(long)]
    keep_going: bool,
}

struct Step {
    name: String,
    run: Box<dyn FnOnce() -> Result<()>>,
}

impl Step {
    fn new(name: impl Into<String>, run: impl FnOnce() -> Result<()> + 'static) -> Self {
        Self { name: name.into(), run: Box::new(run) }
    }

    fn command(name: impl Into<String>, mut command: Command) -> Self {
        let name = name.into();
        let what = name.clone();
        Self::new(name, move || Process::start(what, &mut command)?.success(STEP_LIMIT).map(drop))
    }

    fn cargo(name: &str, arguments: &[&str]) -> Self {
        let mut cargo = cargo();
        cargo.args(arguments).env("RUSTDOCFLAGS", "-D warnings");
        Self::command(name, cargo)
    }
}

/// Runs them, and prints each one's outcome and time at the end.
///
/// # Errors
/// When a step fails.
pub fn run(arguments: &Arguments) -> Result<()> {
    let mut table = Vec::new();
    let mut failed = 0;
    for step in steps(arguments.full)? {
        if interrupt::requested() || failed > 0 && !arguments.keep_going {
            table.push(format!("not run             {}", step.name));
            continue;
        }
        println!("\n== {}", step.name);
        let start = Instant::now();
        let outcome = (step.run)();
        let took = start.elapsed().as_secs_f64();
        if let Err(error) = outcome {
            println!("{error:#}");
            failed += 1;
            table.push(format!("FAILED  {took:>8.1} s  {}", step.name));
        } else {
            table.push(format!("ok      {took:>8.1} s  {}", step.name));
        }
    }
    println!("\n{}", table.join("\n"));
    interrupt::check()?;
    ensure!(failed == 0, "{failed} of {} steps failed", table.len());
    Ok(())
}

fn steps(full: bool) -> Result<Vec<Step>> {
    let readme = fs::read_to_string(workspace::root().join("README.md")).context("cannot read README.md")?;
    let mut steps = vec![
        readme_tests(&readme)?,
        Step::cargo("format", &["fmt", "--all", "--check"]),
        Step::cargo("lints", &["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]),
        // A build of the workspace unites the features that its crates ask for, and tests ask for some; a user's build does not.
        Step::cargo("protocol without features", &["clippy", "-p", "ackflow-protocol", "--", "-D", "warnings"]),
        Step::cargo(
            "client without features",
            &["clippy", "-p", "ackflow-client", "--no-default-features", "--", "-D", "warnings"],
        ),
        Step::cargo("broker without features", &["clippy", "-p", "ackflow-testkit", "--", "-D", "warnings"]),
        Step::cargo("documentation", &["doc", "--workspace", "--no-deps"]),
        Step::cargo("protocol with all features", &["test", "-p", "ackflow-protocol", "--all-features"]),
        Step::cargo(
            "client with drafts",
            &["test", "-p", "ackflow-client", "--features", "unstable-kip-1289", "--test", "kip_1289"],
        ),
        Step::cargo(
            "conformance with drafts",
            &["test", "-p", "ackflow-conformance", "--features", "unstable-kip-1289"],
        ),
        Step::new("schema oracle", || schemas::check(DEFAULT_VERSION)),
        Step::new("layers", layers::run),
        Step::new("lengths", lengths::run),
        Step::new("places of mutations", || mutate::check_all().and_then(|()| prove::check_broken_rules())),
        Step::new("no C", no_c::run),
        Step::cargo(
            "wire vectors",
            &["run", "-q", "-p", "ackflow", "--", "wire", "check", "testdata/vectors/core.jsonl"],
        ),
        Step::cargo(
            "wire vectors, the rest",
            &["run", "-q", "-p", "ackflow", "--", "wire", "check", "testdata/vectors/rest.jsonl"],
        ),
        Step::new("simulation", || simulation::SHARE.run_in_ci()),
        Step::new("simulation of KIP-1289", || simulation::KIP_1289.run_in_ci()),
        Step::new("tests on a real Kafka", kafka_tests),
    ];
    if full {
        // Those of the catalogue of faults are tried by its proofs.
        steps.push(Step::new("mutations", || mutate::notice_all_but(&prove::rows_tried())));
        steps.extend(
            prove::ALL.iter().map(|proof| Step::new(format!("prove {}", proof.name), || prove::run_one(proof))),
        );
    }
    Ok(steps)
}

/// The tests that README tells a newcomer to run, as it words them.
fn readme_tests(readme: &str) -> Result<Step> {
    let line =
        readme::cargo_lines(readme).nth(1).context("README.md has no second line in ```sh that starts with `cargo`")?;
    let mut shell = Command::new("sh");
    shell.args(["-c", line]).current_dir(workspace::root());
    Ok(Step::command(format!("README: {line}"), shell))
}

/// The tests that need a broker: ignored by default, and named for it.
fn kafka_tests() -> Result<()> {
    let cluster = Cluster::start(&Options { fast: true, secure: true, telemetry: true, ..Options::default() })?;
    // The first group makes the broker create the topic that holds the state of groups. Where many groups are that first
    // one, records whose locks end soon after may not come again for longer than a test waits (docs/broker-behaviour.md).
    let first = "real_kafka_::implicit_mode_consumes_everything_once_and_leaves_no_lag";
    for tests in [
        &["-p", "ackflow-client", "--test", "share", "--", "--ignored", first][..],
        &["--workspace", "--no-fail-fast", "--", "--ignored", "real_kafka_"],
    ] {
        let mut command = cargo();
        command.arg("test").args(tests);
        cluster.describe_to(&mut command);
        Process::start("tests on a real Kafka", &mut command)?.success(STEP_LIMIT)?;
    }
    Ok(())
}
