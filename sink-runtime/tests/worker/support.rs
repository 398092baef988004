//! A broker, a worker, and a sink that does what a test says.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ackflow_sink_runtime::config::{ConfigDef, ConfigValues};
use ackflow_sink_runtime::{
    BoxFuture, ConnectorConfig, DynSinkTask, Plugins, PutOutcome, RunningWorker, SinkConnector, SinkError, SinkRecords,
    SinkTask, SinkTaskContext, StartError, TaskFactory, TopicPartition, Worker, WorkerConfig,
};
use ackflow_testkit::EmbeddedBroker;
use tokio::sync::watch;

/// How long anything may take.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// A broker with one topic, `t`, and locks of one second for the group `g`.
pub(crate) async fn broker(partitions: i32) -> EmbeddedBroker {
    let broker = EmbeddedBroker::builder()
        .fast()
        .topic("t", partitions)
        .config("group.share.min.record.lock.duration.ms", "1000");
    broker.group_config("g", "share.record.lock.duration.ms", "1000").start().await.unwrap()
}

/// Records numbered from `first` on, as their own values, in one batch.
pub(crate) async fn produce(broker: &EmbeddedBroker, partition: i32, numbers: std::ops::Range<u32>) {
    broker.produce("t", partition, numbers.map(|number| number.to_string())).await.unwrap();
}

/// Starts a worker with one connector of this sink and these keys over `group g, topic t`.
pub(crate) async fn start(
    broker: &EmbeddedBroker,
    sink: &ScriptedSink,
    keys: &[(&str, &str)],
) -> Result<RunningWorker, StartError> {
    let mut plugins = Plugins::builtin();
    plugins.register(Box::new(sink.clone()));
    let connector = connector(&[&[("connector.class", "scripted")], keys].concat());
    Worker::start(worker_config(broker), plugins, vec![connector]).await
}

pub(crate) fn worker_config(broker: &EmbeddedBroker) -> WorkerConfig {
    let text = format!(
        "bootstrap.servers={}\nconsumer.group.protocol=share\nvalue.converter=StringConverter\n\
         task.shutdown.graceful.timeout.ms=3000",
        broker.bootstrap_servers()
    );
    WorkerConfig::from_properties(&text, "worker.properties").unwrap()
}

pub(crate) fn connector(keys: &[(&str, &str)]) -> ConnectorConfig {
    let defaults = [("name", "c"), ("topics", "t"), ("share.group.id", "g")];
    let entries: BTreeMap<_, _> =
        defaults.iter().chain(keys).map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    ConnectorConfig::from_entries(entries, "c.properties").unwrap()
}

/// What a task was called with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Call {
    Start,
    Open(usize),
    Put(Vec<Got>),
    Flush,
    Close(usize),
    Stop,
}

/// A record that a put was given.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Got {
    pub(crate) partition: i32,
    pub(crate) offset: i64,
    pub(crate) delivery_count: i16,
}

type Script = dyn Fn(usize, SinkRecords) -> BoxFuture<'static, Result<PutOutcome, SinkError>> + Send + Sync;

/// A sink whose puts run a script, which gets how many puts with records there were before.
#[derive(Clone)]
pub(crate) struct ScriptedSink {
    config: ConfigDef,
    script: Arc<Script>,
    start: Arc<dyn Fn() -> Result<(), SinkError> + Send + Sync>,
    buffers: bool,
    log: Arc<Log>,
}

struct Log {
    calls: Mutex<Vec<Call>>,
    changed: watch::Sender<usize>,
}

impl ScriptedSink {
    pub(crate) fn new<F>(script: impl Fn(usize, SinkRecords) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<PutOutcome, SinkError>> + Send + 'static,
    {
        Self {
            config: ConfigDef::default(),
            script: Arc::new(move |put, records| Box::pin(script(put, records))),
            start: Arc::new(|| Ok(())),
            buffers: false,
            log: Arc::new(Log { calls: Mutex::default(), changed: watch::channel(0).0 }),
        }
    }

    /// A sink that takes everything.
    pub(crate) fn ok() -> Self {
        Self::new(|_, _| async { Ok(PutOutcome::ok()) })
    }

    pub(crate) fn buffering(self) -> Self {
        Self { buffers: true, ..self }
    }

    pub(crate) fn starting(self, start: impl Fn() -> Result<(), SinkError> + Send + Sync + 'static) -> Self {
        Self { start: Arc::new(start), ..self }
    }

    pub(crate) fn calls(&self) -> Vec<Call> {
        self.log.calls.lock().unwrap().clone()
    }

    /// Everything that puts were given, each time they were.
    pub(crate) fn got(&self) -> Vec<Got> {
        let got = |call| if let Call::Put(got) = call { got } else { vec![] };
        self.calls().into_iter().flat_map(got).collect()
    }

    /// Waits until the calls are as wanted.
    pub(crate) async fn until(&self, wanted: impl Fn(&[Call]) -> bool) {
        let mut changed = self.log.changed.subscribe();
        let waited =
            tokio::time::timeout(PATIENCE, changed.wait_for(|_| wanted(&self.log.calls.lock().unwrap()))).await;
        assert!(waited.is_ok(), "{:?}", self.calls());
    }

    /// Waits until puts were given so many records.
    pub(crate) async fn until_got(&self, records: usize) {
        let count = |call: &Call| if let Call::Put(got) = call { got.len() } else { 0 };
        self.until(|calls| calls.iter().map(count).sum::<usize>() >= records).await;
    }
}

impl Log {
    /// Notes a call; gives how many puts with records there were before.
    fn note(&self, call: Call) -> usize {
        let mut calls = self.calls.lock().unwrap();
        let puts = calls.iter().filter(|call| matches!(call, Call::Put(got) if !got.is_empty())).count();
        calls.push(call);
        let len = calls.len();
        drop(calls);
        self.changed.send_replace(len);
        puts
    }
}

impl SinkConnector for ScriptedSink {
    fn name(&self) -> &str {
        "scripted"
    }

    fn config(&self) -> &ConfigDef {
        &self.config
    }

    fn start(&self, _: &ConfigValues) -> Result<Box<dyn TaskFactory>, SinkError> {
        Ok(Box::new(self.clone()))
    }
}

impl TaskFactory for ScriptedSink {
    fn task(&self, _: u32) -> Box<dyn DynSinkTask> {
        Box::new(ScriptedTask(self.clone()))
    }
}

struct ScriptedTask(ScriptedSink);

impl SinkTask for ScriptedTask {
    async fn start(&mut self, _: &SinkTaskContext) -> Result<(), SinkError> {
        self.0.log.note(Call::Start);
        (self.0.start)()
    }

    async fn open(&mut self, partitions: &[TopicPartition]) -> Result<(), SinkError> {
        self.0.log.note(Call::Open(partitions.len()));
        Ok(())
    }

    async fn put(&mut self, records: &SinkRecords) -> Result<PutOutcome, SinkError> {
        let got = records.iter().map(|record| Got {
            partition: record.partition,
            offset: record.offset,
            delivery_count: record.delivery_count.unwrap(),
        });
        let put = self.0.log.note(Call::Put(got.collect()));
        (self.0.script)(put, records.clone()).await
    }

    async fn flush(&mut self) -> Result<(), SinkError> {
        self.0.log.note(Call::Flush);
        Ok(())
    }

    async fn close(&mut self, partitions: &[TopicPartition]) {
        self.0.log.note(Call::Close(partitions.len()));
    }

    async fn stop(&mut self) {
        self.0.log.note(Call::Stop);
    }

    fn buffers(&self) -> bool {
        self.0.buffers
    }
}

/// Waits until the group is done with everything in `t`.
pub(crate) async fn until_lag(broker: &EmbeddedBroker, partition: i32, lag: i64) {
    let reached = async {
        while broker.group_lag("g", "t", partition).await.unwrap() != Some(lag) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    let found = tokio::time::timeout(PATIENCE, reached).await;
    assert!(found.is_ok(), "lag is {:?}", broker.group_lag("g", "t", partition).await);
}

/// Waits until the worker's only task is as wanted.
pub(crate) async fn until_status(
    worker: &RunningWorker,
    wanted: impl Fn(&ackflow_sink_runtime::TaskStatus) -> bool,
) -> ackflow_sink_runtime::TaskStatus {
    let reached = async {
        loop {
            let status = worker.status().remove(0);
            if wanted(&status) {
                return status;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(PATIENCE, reached).await.unwrap_or_else(|_| panic!("{:?}", worker.status()))
}
