//! A cluster, a worker, and a sink that does what a test says.

use std::collections::BTreeMap;
use std::env;
use std::future::Future;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::ops::Range;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ackflow_client::ClientConfig;
use ackflow_client::admin::{Admin, ConfigChange, ConfigResource, NewTopic};
use ackflow_client::producer::{Producer, ProducerConfig, ProducerRecord};
use ackflow_sink_runtime::config::{ConfigDef, ConfigValues};
use ackflow_sink_runtime::{
    BoxFuture, ConnectorConfig, DynSinkTask, Plugins, PutOutcome, RunningWorker, SinkConnector, SinkError, SinkRecords,
    SinkTask, SinkTaskContext, StartError, TaskFactory, TaskStatus, TopicPartition, Worker, WorkerConfig,
};
use ackflow_testkit::EmbeddedBroker;
use bytes::Bytes;
use tokio::sync::watch;

/// How long anything may take.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// Names a real Kafka for the suite; without it the tests run on the embedded broker.
pub(crate) const REAL: &str = "ACKFLOW_WORKER_SUITE_ON";

/// A cluster with one topic, and locks of one second for one group.
pub(crate) struct Cluster {
    pub(crate) bootstrap: String,
    pub(crate) topic: String,
    pub(crate) group: String,
    pub(crate) admin: Admin,
    producer: Producer,
    /// `None` on a real Kafka.
    pub(crate) embedded: Option<EmbeddedBroker>,
}

impl Cluster {
    pub(crate) async fn new(partitions: i32) -> Self {
        let (embedded, bootstrap) = match env::var(REAL) {
            Ok(bootstrap) => (None, bootstrap),
            Err(_) => {
                let broker = EmbeddedBroker::start().await.unwrap();
                let bootstrap = broker.bootstrap_servers();
                (Some(broker), bootstrap)
            }
        };
        let cluster = Self::bare(embedded, bootstrap);
        let created = cluster.admin.create_topics([NewTopic::new(&cluster.topic, partitions)]).await.unwrap();
        for created in created.into_values() {
            created.unwrap();
        }
        eventually("the topic", async || {
            cluster.admin.describe_topics([&cluster.topic]).await.unwrap().remove(&cluster.topic)?.ok()
        })
        .await;
        cluster.set_group_config("share.record.lock.duration.ms", "1000").await;
        cluster
    }

    /// A cluster as it is.
    pub(crate) fn bare(embedded: Option<EmbeddedBroker>, bootstrap: String) -> Self {
        let unique = RandomState::new().build_hasher().finish();
        Self {
            topic: format!("t-{unique:x}"),
            group: format!("g-{unique:x}"),
            admin: Admin::new(ClientConfig::new(&bootstrap).unwrap()),
            producer: Producer::new(ProducerConfig::new(&bootstrap).unwrap()).unwrap(),
            bootstrap,
            embedded,
        }
    }

    /// Produces records whose values are these numbers.
    pub(crate) async fn produce(&self, partition: i32, numbers: Range<u32>) {
        self.produce_values(partition, numbers.map(|number| number.to_string())).await;
    }

    pub(crate) async fn produce_values(&self, partition: i32, values: impl IntoIterator<Item = impl Into<Bytes>>) {
        let topic: Arc<str> = self.topic.as_str().into();
        for value in values {
            let record = ProducerRecord::new(topic.clone(), value).partition(partition);
            drop(self.producer.send(record).await.unwrap());
        }
        self.producer.flush().await.unwrap();
    }

    pub(crate) async fn set_group_config(&self, key: &str, value: &str) {
        let changes = vec![ConfigChange::set(key, value)];
        let group = ConfigResource::group(&self.group);
        self.admin.alter_configs([(group.clone(), changes)]).await.unwrap().remove(&group).unwrap().unwrap();
        self.admin.await_configs(&group, &[(key, value)]).await.unwrap();
    }

    pub(crate) async fn group_config(&self, key: &str) -> Option<String> {
        let group = ConfigResource::group(&self.group);
        let mut entries = self.admin.describe_configs([group.clone()]).await.unwrap().remove(&group).unwrap().unwrap();
        entries.remove(key)?.value
    }

    /// How much of a partition the group has not finished with; `None` before it has begun.
    pub(crate) async fn lag(&self, partition: i32) -> Option<i64> {
        let offsets = self.admin.share_group_offsets(&self.group).await.unwrap_or_default();
        offsets.iter().find(|offset| offset.partition == partition)?.lag
    }

    /// Waits until so much is left.
    pub(crate) async fn until_lag(&self, partition: i32, lag: i64) {
        eventually(&format!("lag {lag}"), async || (self.lag(partition).await == Some(lag)).then_some(())).await;
    }

    pub(crate) fn worker(&self) -> WorkerConfig {
        let text = format!(
            "bootstrap.servers={}\nconsumer.group.protocol=share\nvalue.converter=StringConverter\n\
             task.shutdown.graceful.timeout.ms=3000",
            self.bootstrap
        );
        WorkerConfig::from_properties(&text, "worker.properties").unwrap()
    }

    /// A connector with these keys over the names of topic and group.
    pub(crate) fn connector(&self, keys: &[(&str, &str)]) -> ConnectorConfig {
        let defaults = [("name", "c"), ("topics", &self.topic), ("share.group.id", &self.group)];
        let entries: BTreeMap<_, _> =
            defaults.iter().chain(keys).map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        ConnectorConfig::from_entries(entries, "c.properties").unwrap()
    }

    /// Starts a worker with one connector of this sink and these keys.
    pub(crate) async fn start(&self, sink: &ScriptedSink, keys: &[(&str, &str)]) -> Result<RunningWorker, StartError> {
        let mut plugins = Plugins::builtin();
        plugins.register(Box::new(sink.clone()));
        let connector = self.connector(&[&[("connector.class", "scripted")], keys].concat());
        Worker::start(self.worker(), plugins, vec![connector]).await
    }

    /// Has another worker take what is left, and gives what it got.
    pub(crate) async fn drain(&self) -> Vec<Got> {
        let sink = ScriptedSink::ok();
        let worker = self.start(&sink, &[]).await.unwrap();
        self.until_lag(0, 0).await;
        worker.stop().await;
        sink.got()
    }
}

/// Looks until there is something to see.
pub(crate) async fn eventually<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let looked = async {
        loop {
            if let Some(seen) = look().await {
                return seen;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(PATIENCE, looked).await.unwrap_or_else(|_| panic!("{what} did not come"))
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

/// Waits until the worker's only task is as wanted.
pub(crate) async fn until_status(worker: &RunningWorker, wanted: impl Fn(&TaskStatus) -> bool) -> TaskStatus {
    eventually("the status", async || Some(worker.status().remove(0)).filter(&wanted)).await
}
