//! The codec against the schemas in Kafka's jar (protocol/tests/schema_oracle).

use std::process::Command;
use std::time::Duration;

use anyhow::Result;

use crate::kafka::{DEFAULT_VERSION, Libs};
use crate::process::Process;
use crate::workspace::cargo;

/// A build of the tests and the comparison.
pub(crate) const TIME_LIMIT: Duration = Duration::from_secs(1200);

/// Compare the codec with Apache's message schemas, and name each difference.
///
/// With another version than the default it says what that Kafka has and the codec lacks.
#[derive(clap::Args)]
pub struct Arguments {
    /// The Kafka version whose schemas are read.
    #[arg(long, default_value = DEFAULT_VERSION)]
    kafka: String,
}

/// Runs it.
///
/// # Errors
/// When Kafka cannot be fetched, or there is a difference.
pub fn run(arguments: &Arguments) -> Result<()> {
    check(&arguments.kafka)
}

/// Compares with one Kafka.
///
/// # Errors
/// As [`run`].
pub fn check(version: &str) -> Result<()> {
    Process::start("schema oracle", &mut tests(version)?)?.success(TIME_LIMIT).map(drop)
}

/// The tests that compare, and what they print.
pub(crate) fn tests(version: &str) -> Result<Command> {
    let libs = Libs::fetch(version)?;
    let mut tests = cargo();
    tests.args([
        "test",
        "-q",
        "-p",
        "ackflow-protocol",
        "--test",
        "schema_oracle",
        "--",
        "--include-ignored",
        "--nocapture",
    ]);
    tests.env("ACKFLOW_KAFKA_LIBS", libs.folder());
    Ok(tests)
}
