//! `ackflow conformance`: whether a broker or a client keeps the rules of share groups and transactions.

use std::process::ExitCode;

use ackflow_client::ClientConfig;
use ackflow_conformance::{CaseReport, Format, Verdict, broker, client};
use anyhow::Context;

use crate::connection::ConnectionOrClient;
use crate::numbers::within;
use crate::progress::Progress;
use crate::signals::Stop;
use crate::stderr::tell;
use crate::stdout::say;

/// What a script sees when the cases could not be run.
const COULD_NOT_RUN: u8 = 2;

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples: ackflow conformance --bootstrap-server localhost:9092 --group sessions --format junit > report.xml\n          \
    ackflow conformance --client 'java -cp \"libs/*\" Shim.java' --group leaders\n\n\
    Cases for brokers make topics and groups whose names begin with conformance-, and delete them. Situations for clients have embedded brokers of their own; \
    docs/conformance-shim.md says what a shim does. What the broker does not advertise or the client does not have is not offered, never passed.\n\n\
    Exit code: 0 all passed or not offered, 1 something failed, 2 could not run. docs/conformance.md lists the cases and situations."
)]
pub(crate) struct Args {
    #[command(flatten)]
    connection: ConnectionOrClient,

    /// Judge a client instead of a broker: the command that starts its shim, for sh -c
    #[arg(long, value_name = "CMD")]
    client: Option<String>,

    /// How the report is written to stdout; with json and junit what is under way goes to stderr
    #[arg(long, value_enum, default_value = "text")]
    format: Written,

    /// Only this case or situation; may be repeated
    #[arg(long, value_name = "NAME")]
    case: Vec<String>,

    /// Only those of this group; may be repeated
    #[arg(long, value_name = "NAME")]
    group: Vec<String>,

    /// How many run at a time [default: 16 for a broker, 8 for a client]
    #[arg(long, value_name = "N", value_parser = within::<u16>(1..=256))]
    jobs: Option<u16>,
}

/// A form of the report.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Written {
    /// A line a case, and what failed in full
    Text,
    /// One document of JSON
    Json,
    /// JUnit's XML
    Junit,
}

impl From<Written> for Format {
    fn from(written: Written) -> Self {
        match written {
            Written::Text => Self::Text,
            Written::Json => Self::Json,
            Written::Junit => Self::Junit,
        }
    }
}

pub(crate) async fn run(args: Args) -> anyhow::Result<ExitCode> {
    match play(args).await {
        Ok(code) => Ok(code),
        Err(error) => {
            crate::fail(&error);
            Ok(ExitCode::from(COULD_NOT_RUN))
        }
    }
}

async fn play(args: Args) -> anyhow::Result<ExitCode> {
    let format = Format::from(args.format);
    let report = match (args.client, args.connection.connection()) {
        (Some(command), _) => {
            let selection = client::Selection::new(&args.case, &args.group)?;
            let mut told = Told::new(format, selection.situations().count());
            let mut options = client::Options { selection, ..client::Options::default() };
            options.jobs = args.jobs.map_or(options.jobs, usize::from);
            let mut stop = Stop::listen()?;
            let report = tokio::select! {
                report = client::run(&command, &options, |case| told.case(case)) => report?,
                () = stop.requested() => anyhow::bail!("stopped before the end"),
            };
            told.end()?;
            report
        }
        (None, Some(connection)) => {
            let selection = broker::Selection::new(&args.case, &args.group)?;
            let config = connection.properties()?.read(ClientConfig::from_properties)?;
            let mut told = Told::new(format, selection.cases().count());
            let mut options = broker::Options { selection, ..broker::Options::default() };
            options.jobs = args.jobs.map_or(options.jobs, usize::from);
            let mut stop = Stop::listen()?;
            let report = tokio::select! {
                report = broker::run(&config, &options, |case| told.case(case)) => report.context("the cases cannot be run")?,
                () = stop.requested() => anyhow::bail!("stopped before the end; topics and groups whose names begin with conformance- may be left"),
            };
            told.end()?;
            report
        }
        (None, None) => anyhow::bail!("nothing to judge; name a broker by --bootstrap-server or a client by --client"),
    };
    say!("{}", report.to_text(format).trim_end())?;
    if let Some(cases) = &report.gone {
        tell!(
            "ackflow: the broker has gone, and the other cases were not played; these were under way, and one of them may have ended it (--jobs 1 tells which): {}",
            cases.join(", ")
        );
        return Ok(ExitCode::from(COULD_NOT_RUN));
    }
    Ok(match report.count(Verdict::Failed) {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    })
}

/// What is told while cases run.
struct Told {
    format: Format,
    progress: Progress,
    done: u64,
    /// Whether stdout can still be written.
    written: anyhow::Result<()>,
}

impl Told {
    fn new(format: Format, cases: usize) -> Self {
        Self { format, progress: Progress::new("cases", cases as u64), done: 0, written: Ok(()) }
    }

    fn case(&mut self, case: &CaseReport) {
        self.done += 1;
        if self.format == Format::Text && self.written.is_ok() {
            self.progress.clear();
            self.written = say!("{}", case.to_line());
        }
        self.progress.at(self.done);
    }

    fn end(self) -> anyhow::Result<()> {
        drop(self.progress);
        self.written
    }
}
