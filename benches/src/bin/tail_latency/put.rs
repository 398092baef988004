//! From `send` to the `put` of a sink task.

use std::time::{Duration, Instant};

use ackflow_sink_runtime::config::{ConfigDef, ConfigValues};
use ackflow_sink_runtime::{
    ConnectorConfig, DynSinkTask, Plugins, PutOutcome, SinkConnector, SinkError, SinkRecords, SinkTask,
    SinkTaskContext, TaskFactory, Worker, WorkerConfig,
};
use serde_json::json;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::timeout;

use crate::paced::{Sent, produce};
use crate::summary::Summary;

const CLASS: &str = "tail-latency";
/// A record that takes longer does not come.
const STALLED_AFTER: Duration = Duration::from_secs(30);

/// Runs a sink for so long after the first record has come; its share group is `connect-tail-put`.
pub(crate) async fn measure(bootstrap: &str, topic: &str, period: Duration) -> anyhow::Result<Summary> {
    let (arrived, arrivals) = unbounded_channel();
    let sent = Sent::default();
    let mut plugins = Plugins::builtin();
    plugins.register(Box::new(LatencySink { sent: sent.clone(), arrived, config: ConfigDef::new([]) }));
    let worker = WorkerConfig::from_properties(&format!("bootstrap.servers={bootstrap}\n"), "the worker")?;
    let connector = json!({
        "name": "tail-put",
        "config": {
            "connector.class": CLASS,
            "topics": topic,
            "tasks.max": "1",
            "consumer.override.group.protocol": "share",
        },
    });
    let connector = ConnectorConfig::from_json(&connector.to_string(), "the connector")?;
    let running = Worker::start(worker, plugins, vec![connector]).await?;
    let producer = produce(bootstrap, topic, sent)?;
    let durations = collect(arrivals, period).await;
    producer.abort();
    running.stop().await;
    Summary::of(durations?)
}

/// What arrives in the period. What was sent while the group was joined is not counted.
async fn collect(mut arrivals: UnboundedReceiver<Duration>, period: Duration) -> anyhow::Result<Vec<Duration>> {
    let mut durations = Vec::new();
    let mut begin = None;
    loop {
        let Some(age) = timeout(STALLED_AFTER, arrivals.recv()).await? else { anyhow::bail!("the sink has ended") };
        let now = Instant::now();
        let begin = *begin.get_or_insert(now);
        if now >= begin + period {
            return Ok(durations);
        }
        if now.checked_sub(age).is_some_and(|sent| sent > begin) {
            durations.push(age);
        }
    }
}

struct LatencySink {
    sent: Sent,
    arrived: UnboundedSender<Duration>,
    config: ConfigDef,
}

impl SinkConnector for LatencySink {
    fn name(&self) -> &str {
        CLASS
    }

    fn config(&self) -> &ConfigDef {
        &self.config
    }

    fn start(&self, _: &ConfigValues) -> Result<Box<dyn TaskFactory>, SinkError> {
        Ok(Box::new(LatencyTasks(self.sent.clone(), self.arrived.clone())))
    }
}

struct LatencyTasks(Sent, UnboundedSender<Duration>);

impl TaskFactory for LatencyTasks {
    fn task(&self, _: u32) -> Box<dyn DynSinkTask> {
        Box::new(LatencyTask { sent: self.0.clone(), arrived: self.1.clone() })
    }
}

struct LatencyTask {
    sent: Sent,
    arrived: UnboundedSender<Duration>,
}

impl SinkTask for LatencyTask {
    async fn start(&mut self, _: &SinkTaskContext) -> Result<(), SinkError> {
        Ok(())
    }

    async fn put(&mut self, records: &SinkRecords) -> Result<PutOutcome, SinkError> {
        for record in records.iter() {
            let age = self.sent.age(record.raw_value).map_err(SinkError::fatal)?;
            // The receiver is gone at the end of the measurement.
            let _ = self.arrived.send(age);
        }
        Ok(PutOutcome::ok())
    }
}
