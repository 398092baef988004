//! Starting: every check first, those of the cluster among them, then the sinks, then the settings of the groups, and only then the tasks. So
//! a sink makes no file for a cluster that cannot be used, and no group is changed for a sink that cannot start.

use std::{collections::BTreeSet, sync::Arc};

use ackflow_client::{Admin, ClientError, share::ShareConsumerConfig};
use tokio::sync::watch;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    counters::Counters,
    group::{self, GroupError, GroupFacts},
    machine::{Options, RetryPolicy},
    running::{RunningTask, RunningWorker},
    share_task::{Plan, ShareTask},
    status::TaskStatus,
};
use crate::{
    Plugins,
    config::{ConfigError, ConfigProblem, ConnectorConfig, Settings, WorkerConfig},
    contract::{SinkError, TaskFactory},
    convert::Converters,
};

/// Runs connectors in this process.
#[derive(Debug)]
pub struct Worker;

/// Why a worker did not start. Nothing runs, and nothing was acknowledged.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// Configurations are wrong.
    #[error("{}", lines(.0))]
    Config(Vec<ConfigError>),
    /// A sink cannot start.
    #[error("connector {connector}: {error}")]
    Sink {
        /// The connector.
        connector: String,
        /// What its sink says.
        error: SinkError,
    },
    /// The cluster cannot be used.
    #[error("connector {connector}: {error}")]
    Client {
        /// The connector.
        connector: String,
        /// What went wrong.
        error: ClientError,
    },
}

fn lines(errors: &[ConfigError]) -> String {
    errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

/// A connector that has passed every check that needs no broker.
struct Checked {
    config: ConnectorConfig,
    connector: Arc<dyn crate::SinkConnector>,
    values: crate::config::ConfigValues,
    consumers: Vec<ShareConsumerConfig>,
    admin: Admin,
}

/// A connector whose sink has started.
struct Ready {
    config: ConnectorConfig,
    factory: Box<dyn TaskFactory>,
    consumers: Vec<ShareConsumerConfig>,
    admin: Admin,
}

impl Worker {
    /// Starts the tasks of these connectors. When it returns, each task is on its way: whether its sink's `start` succeeds shows in its
    /// [status](RunningWorker::status).
    ///
    /// Not cancel-safe: settings of groups may have been made when the future is dropped; no task runs then.
    ///
    /// # Errors
    /// [`StartError`], with all configuration problems together. Nothing runs then.
    pub async fn start(
        worker: WorkerConfig,
        plugins: Plugins,
        connectors: Vec<ConnectorConfig>,
    ) -> Result<RunningWorker, StartError> {
        let warnings = connectors.iter().flat_map(|connector| &connector.warnings);
        for warning in worker.warnings.iter().chain(warnings) {
            tracing::warn!("{warning}");
        }
        check_names(&connectors)?;
        let checked = check_all(&worker, &plugins, connectors)?;
        for Checked { config, admin, .. } in &checked {
            group::check(admin, config).await.map_err(|error| of_group(config, error))?;
        }
        let ready = checked.into_iter().map(start_sink).collect::<Result<Vec<_>, _>>()?;
        let mut planned = Vec::new();
        for connector in ready {
            let facts = group::configure(&connector.admin, &connector.config).await;
            let facts = facts.map_err(|error| of_group(&connector.config, error))?;
            planned.push((connector, facts));
        }
        Ok(run(&worker, planned))
    }
}

fn of_group(config: &ConnectorConfig, error: GroupError) -> StartError {
    match error {
        GroupError::Problems(problems) => {
            StartError::Config(vec![ConfigError { origin: config.origin.clone(), problems }.at_lines(&config.lines)])
        }
        GroupError::Client(error) => StartError::Client { connector: config.name.clone(), error },
    }
}

fn check_names(connectors: &[ConnectorConfig]) -> Result<(), StartError> {
    let mut seen = BTreeSet::new();
    let twice = connectors.iter().filter(|connector| !seen.insert(&connector.name));
    let error = |connector: &ConnectorConfig| ConfigError {
        origin: connector.origin.clone(),
        problems: vec![ConfigProblem::new(
            "name",
            Some(&connector.name),
            "is the name of two connectors",
            "give each its own name",
        )],
    };
    let errors: Vec<_> = twice.map(|connector| error(connector).at_lines(&connector.lines)).collect();
    if errors.is_empty() { Ok(()) } else { Err(StartError::Config(errors)) }
}

/// Checks the configurations of all connectors, as far as no broker is needed.
fn check_all(
    worker: &WorkerConfig,
    plugins: &Plugins,
    connectors: Vec<ConnectorConfig>,
) -> Result<Vec<Checked>, StartError> {
    let (mut checked, mut errors) = (Vec::new(), Vec::new());
    for config in connectors {
        let (origin, lines) = (config.origin.clone(), config.lines.clone());
        match check(worker, plugins, config) {
            Ok(connector) => checked.push(connector),
            Err(problems) => errors.push(ConfigError { origin, problems }.at_lines(&lines)),
        }
    }
    if errors.is_empty() { Ok(checked) } else { Err(StartError::Config(errors)) }
}

fn start_sink(checked: Checked) -> Result<Ready, StartError> {
    let Checked { config, connector, values, consumers, admin } = checked;
    match connector.start(&values) {
        Ok(factory) => Ok(Ready { config, factory, consumers, admin }),
        Err(error) => Err(StartError::Sink { connector: config.name, error }),
    }
}

fn check(worker: &WorkerConfig, plugins: &Plugins, config: ConnectorConfig) -> Result<Checked, Vec<ConfigProblem>> {
    let mut problems = config.check_with(worker);
    let connector = plugins.find(&config.class);
    let values = match &connector {
        Some(connector) => connector.config().parse(config.sink.0.clone()).map_err(|more| problems.extend(more)).ok(),
        None => {
            let remedy = format!("choose one of {}", plugins.names().join(", "));
            problems.push(ConfigProblem::new(
                "connector.class",
                Some(&config.class),
                "is no sink of this build",
                remedy,
            ));
            None
        }
    };
    let client = |error: ClientError| ConfigProblem::of_client("consumer.override.*", &error);
    let defaults = connector.as_ref().map_or(&[][..], |connector| connector.consumer_defaults());
    let consumers = (0..config.tasks_max).map(|task| consumer(worker, &config, defaults, task));
    let consumers: Result<Vec<_>, _> = consumers.collect();
    let consumers = consumers.map_err(|error| problems.push(client(error))).ok();
    let admin = admin(worker, &config)
        .map_err(|error| problems.push(ConfigProblem::of_client("admin.override.*", &error)))
        .ok();
    match (connector, values, consumers, admin) {
        (Some(connector), Some(values), Some(consumers), Some(admin)) if problems.is_empty() => {
            Ok(Checked { config, connector, values, consumers, admin })
        }
        _ => Err(problems),
    }
}

/// The consumer of a task: what suits the sink, the worker's settings over that, the connector's over them, and who it is.
fn consumer(
    worker: &WorkerConfig,
    config: &ConnectorConfig,
    defaults: &[(&str, &str)],
    task: u32,
) -> Result<ShareConsumerConfig, ClientError> {
    let mut settings = Settings(defaults.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect());
    settings.0.insert("client.id".to_owned(), format!("connector-consumer-{}-{task}", config.name));
    let settings = settings.overridden_by(&worker.consumer).overridden_by(&config.consumer);
    settings.at(&worker.bootstrap_servers).share_consumer(&config.share.group_id)
}

fn admin(worker: &WorkerConfig, config: &ConnectorConfig) -> Result<Admin, ClientError> {
    let settings = worker.admin.overridden_by(&config.admin).at(&worker.bootstrap_servers);
    Ok(Admin::new(settings.client()?))
}

fn run(worker: &WorkerConfig, planned: Vec<(Ready, GroupFacts)>) -> RunningWorker {
    let (tracker, stop) = (TaskTracker::new(), CancellationToken::new());
    let (mut tasks, mut factories) = (Vec::new(), Vec::new());
    for (Ready { config, factory, consumers, admin }, facts) in planned {
        let name: Arc<str> = config.name.as_str().into();
        let key = config.key_converter.clone().unwrap_or_else(|| worker.key_converter.clone());
        let value = config.value_converter.clone().unwrap_or_else(|| worker.value_converter.clone());
        let converters = Arc::new(Converters::new(key, value));
        for (number, consumer) in (0..).zip(consumers) {
            let task = factory.task(number);
            let plan = Plan {
                connector: name.clone(),
                number,
                topics: config.topics.clone(),
                options: options(worker, &config, &consumer, facts, task.buffers()),
                consumer,
                converters: converters.clone(),
                log_errors: config.log_errors,
                admin: admin.clone(),
            };
            let counters = Arc::new(Counters::default());
            let (sender, status) = watch::channel(TaskStatus::starting(&name, number));
            let task = ShareTask::new(plan, task, counters.clone(), sender, stop.clone());
            let abort = tracker.spawn(task.run()).abort_handle();
            tasks.push(RunningTask { status, counters, abort });
        }
        factories.push(factory);
    }
    tracker.close();
    RunningWorker::new(tasks, factories, tracker, stop, worker.graceful_timeout)
}

fn options(
    worker: &WorkerConfig,
    config: &ConnectorConfig,
    consumer: &ShareConsumerConfig,
    facts: GroupFacts,
    buffers: bool,
) -> Options {
    Options {
        buffers,
        flush_interval: worker.flush_interval,
        graceful_timeout: worker.graceful_timeout,
        tolerance: config.tolerance,
        last_delivery: config.share.last_delivery,
        delivery_limit: facts.delivery_limit,
        most_written: facts.record_locks / 2,
        most_put: consumer.max_poll_records.into(),
        retry: RetryPolicy { delay_max: config.retry_delay_max, timeout: config.share.retry_timeout },
    }
}
