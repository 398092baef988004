//! `ackflow run`: sink connectors, from the configuration files of Connect's standalone worker.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use ackflow_client::config::{LONGEST_SETTINGS, read_text};
use ackflow_sink_runtime::{ConnectorConfig, Plugins, TaskState, TaskStatus, Worker, WorkerConfig};
use anyhow::Context;

use crate::progress::counted;
use crate::signals::Stop;
use crate::stderr::tell;

#[derive(Debug, clap::Args)]
#[command(after_help = "Example: ackflow run worker.properties file-sink.json\n\n\
    SIGINT and SIGTERM stop the tasks gracefully: what the sinks have is acknowledged, the rest is released.")]
pub(crate) struct Args {
    /// The worker's settings, as for connect-standalone or connect-distributed
    #[arg(value_name = "WORKER.PROPERTIES")]
    worker: PathBuf,

    /// Connectors: .properties, or JSON, flat or {"name", "config"}
    #[arg(required = true, value_name = "CONNECTOR")]
    connectors: Vec<PathBuf>,
}

pub(crate) async fn run(args: Args) -> anyhow::Result<ExitCode> {
    let worker = worker_config(&args.worker)?;
    let connectors =
        args.connectors.iter().map(|path| ConnectorConfig::from_file(path)).collect::<Result<Vec<_>, _>>()?;
    let mut stop = Stop::listen()?;
    let running = tokio::select! {
        started = Worker::start(worker, Plugins::builtin(), connectors) => started?,
        () = stop.requested() => return Ok(ExitCode::SUCCESS),
    };
    tell!("ackflow: {} started", counted(running.status().len() as u64, "task"));
    tokio::select! {
        () = stop.requested() => tell!("ackflow: stopping"),
        () = running.finished() => {}
    }
    let failed: Vec<_> = running.stop().await.into_iter().filter(|task| task.state == TaskState::Failed).collect();
    failed.iter().for_each(report);
    Ok(if failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn worker_config(path: &Path) -> anyhow::Result<WorkerConfig> {
    let origin = path.display().to_string();
    let text =
        read_text(path, LONGEST_SETTINGS).with_context(|| format!("cannot read the worker's settings {origin}"))?;
    Ok(WorkerConfig::from_properties(&text, &origin)?)
}

fn report(task: &TaskStatus) {
    let trace = task.trace.as_deref().unwrap_or("no reason is known");
    tell!("ackflow: task {} of connector {} failed: {trace}", task.task, task.connector);
}
