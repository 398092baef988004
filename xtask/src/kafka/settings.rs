//! The settings of a test cluster.

use std::path::{Path, PathBuf};

use super::libs::DEFAULT_VERSION;
use super::secure;

/// What kind of cluster to start.
#[derive(Clone, Debug)]
pub struct Options {
    /// Kafka's version, as Maven knows it.
    pub version: String,
    /// One broker or three, each a controller as well.
    pub brokers: u16,
    /// The finalized feature share.version; `None` takes what the version formats by itself, and 1 where that is none (4.1).
    pub share_version: Option<u16>,
    /// Short locks, sessions and assignments; see `fast` below.
    pub fast: bool,
    /// Listeners with TLS and SASL as well.
    pub secure: bool,
    /// A metrics reporter that takes what clients push (KIP-714).
    pub telemetry: bool,
    /// Further broker settings, which win over all others.
    pub config: Vec<(String, String)>,
    /// Keep data and logs in this folder; a temporary one otherwise.
    pub keep_dir: Option<PathBuf>,
    /// Each broker's -Xmx.
    pub heap: String,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            version: DEFAULT_VERSION.to_owned(),
            brokers: 1,
            share_version: None,
            fast: false,
            secure: false,
            telemetry: false,
            config: Vec::new(),
            keep_dir: None,
            heap: "1g".to_owned(),
        }
    }
}

impl Options {
    /// The finalized feature share.version to format with. Kafka 4.1 has share groups as a preview, which is off.
    pub(super) fn formatted_share_version(&self) -> Option<u16> {
        self.share_version.or_else(|| self.version.starts_with("4.1.").then_some(1))
    }
}

/// One broker's place in the cluster.
#[derive(Clone, Debug)]
pub(super) struct Node {
    /// Node id, from 1.
    pub(super) id: u16,
    /// Port of the clients' listener.
    pub(super) port: u16,
    /// Port of the controllers' listener.
    pub(super) controller_port: u16,
    /// Ports of the listeners with TLS and SASL, where it has them.
    pub(super) secure_ports: Vec<u16>,
    /// Its folder: settings, log and data.
    pub(super) folder: PathBuf,
}

/// The server.properties of a node, one `key=value` a line; the last of equal keys counts.
///
/// Certificates are in `certificates`, where there are listeners that show them.
pub(super) fn properties(options: &Options, node: &Node, all: &[Node], certificates: &Path) -> String {
    let voters: Vec<String> = all.iter().map(|n| format!("{}@127.0.0.1:{}", n.id, n.controller_port)).collect();
    let replicas = all.len();
    let in_sync = if replicas > 1 { 2 } else { 1 };
    let mut text = format!(
        "process.roles=broker,controller
node.id={id}
controller.quorum.voters={voters}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller_port}{secure}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}{secure}
controller.listener.names=CONTROLLER
inter.broker.listener.name=PLAINTEXT
log.dirs={data}
group.initial.rebalance.delay.ms=0
default.replication.factor={replicas}
min.insync.replicas={in_sync}
offsets.topic.replication.factor={replicas}
transaction.state.log.replication.factor={replicas}
transaction.state.log.min.isr={in_sync}
share.coordinator.state.topic.replication.factor={replicas}
share.coordinator.state.topic.min.isr={in_sync}
",
        id = node.id,
        voters = voters.join(","),
        port = node.port,
        controller_port = node.controller_port,
        data = node.folder.join("data").display(),
        secure = secure::addresses(&node.secure_ports),
    );
    if options.secure {
        text.push_str(&secure::properties(certificates));
    }
    if options.fast {
        text.push_str(FAST);
    }
    for (key, value) in &options.config {
        text.push_str(&format!("{key}={value}\n"));
    }
    text
}

/// Kafka's defaults suit production: a dead member holds its partitions for 45 s, a lock lasts at least 15 s, the
/// first assignment takes 5 s. A test cannot wait for them. There are ACLs, which bind nobody where none was made.
const FAST: &str = "offsets.topic.num.partitions=1
share.coordinator.state.topic.num.partitions=1
transaction.state.log.num.partitions=1
group.share.min.heartbeat.interval.ms=100
group.share.heartbeat.interval.ms=200
group.share.min.session.timeout.ms=1000
group.share.session.timeout.ms=3000
group.share.assignment.interval.ms=0
group.share.min.record.lock.duration.ms=1000
transaction.abort.timed.out.transaction.cleanup.interval.ms=500
log.cleaner.backoff.ms=500
broker.session.timeout.ms=3000
broker.heartbeat.interval.ms=500
leader.imbalance.check.interval.seconds=2
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
super.users=User:ANONYMOUS
allow.everyone.if.no.acl.found=true
";
