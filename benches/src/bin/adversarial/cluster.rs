//! The cluster under test, as `cargo xtask kafka` describes it in the environment.

use std::collections::BTreeSet;
use std::env;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;

use ackflow_client::{Admin, ClientConfig, Connection, NetConfig};
use ackflow_protocol::wire::ApiKey;
use anyhow::{Context, Result, bail, ensure};
use tokio::process::Command;

/// A Kafka of one broker or several, with its own tools.
#[derive(Clone)]
pub(crate) struct Cluster {
    pub(crate) bootstrap: Arc<str>,
    pub(crate) admin: Admin,
    libs: Arc<str>,
    /// By node id, from 1.
    pids: Arc<[String]>,
}

impl Cluster {
    pub(crate) fn from_environment() -> Result<Self> {
        let variable = |name: &str| {
            env::var(name).with_context(|| format!("{name} is not set: run this by `cargo xtask kafka --fast -- ...`"))
        };
        let bootstrap = variable("ACKFLOW_BOOTSTRAP")?;
        let admin = Admin::new(ClientConfig::new(&bootstrap)?);
        let pids: Vec<String> = variable("ACKFLOW_KAFKA_PIDS")?.split(',').map(str::to_owned).collect();
        Ok(Self { bootstrap: bootstrap.into(), admin, libs: variable("ACKFLOW_KAFKA_LIBS")?.into(), pids: pids.into() })
    }

    pub(crate) fn brokers(&self) -> usize {
        self.pids.len()
    }

    /// The addresses of the brokers.
    pub(crate) fn addresses(&self) -> impl Iterator<Item = &str> {
        self.bootstrap.split(',')
    }

    /// The newest version of an API that a broker and this client both know.
    pub(crate) async fn version(&self, api: ApiKey) -> Result<Option<i16>> {
        let address = self.addresses().next().context("there is a broker")?;
        let (host, port) = address.rsplit_once(':').context("an address has a port")?;
        let connection = Connection::connect(host, port.parse()?, &NetConfig::default()).await?;
        Ok(connection.version(api))
    }

    /// Runs one of Kafka's command-line tools and returns what it printed.
    pub(crate) async fn tool(&self, class: &str, arguments: &[&str]) -> Result<String> {
        let class = format!("org.apache.kafka.tools.{class}");
        self.java(&[&[class.as_str(), "--bootstrap-server", &self.bootstrap], arguments].concat()).await
    }

    /// Runs a program of testdata/gen, whose first argument is the cluster's address.
    pub(crate) async fn program(&self, file: &str, arguments: &[&str]) -> Result<String> {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/gen").join(file);
        let path = path.to_str().context("the path of the workspace is not UTF-8")?;
        self.java(&[&[path, &*self.bootstrap], arguments].concat()).await
    }

    async fn java(&self, arguments: &[&str]) -> Result<String> {
        let mut java = Command::new("java");
        java.args(["-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp"]).arg(format!("{}/*", self.libs));
        output(java.args(arguments)).await
    }

    /// The local addresses of all connections to the brokers.
    pub(crate) async fn connections(&self) -> Result<BTreeSet<String>> {
        let mut addresses = BTreeSet::new();
        for filter in self.to_each_broker()? {
            let mut ss = Command::new("ss");
            let listed = output(ss.args(["--no-header", "--tcp", "--numeric", "state", "established"]).args(&filter));
            let listed = listed.await.context("listing connections takes `ss` of iproute2")?;
            // Recv-Q, Send-Q, local address, peer address.
            addresses.extend(listed.lines().filter_map(|line| line.split_whitespace().nth(2)).map(str::to_owned));
        }
        Ok(addresses)
    }

    /// Cuts every connection to the brokers but those listed, as a failing network does: both ends see a reset.
    pub(crate) async fn cut_connections(&self, spared: &BTreeSet<String>) -> Result<()> {
        let before = self.connections().await?;
        let cut: Vec<&String> = before.difference(spared).collect();
        for address in &cut {
            let mut ss = Command::new("ss");
            ss.args(["--kill", "--tcp", "--numeric", "state", "established", "src", address.as_str()]);
            output(&mut ss).await.context("cutting connections takes `ss` of iproute2, and root")?;
        }
        let after = self.connections().await?;
        ensure!(!cut.is_empty(), "there is no connection to cut");
        ensure!(cut.iter().all(|address| !after.contains(*address)), "`ss --kill` cut nothing: it needs root");
        Ok(())
    }

    /// For `ss`: what goes to a broker's port, one broker each.
    fn to_each_broker(&self) -> Result<Vec<[String; 3]>> {
        let filter = |address: &str| {
            let (_, port) = address.rsplit_once(':').context("an address has a port")?;
            Ok(["dport".to_owned(), "=".to_owned(), format!(":{port}")])
        };
        self.addresses().map(filter).collect()
    }

    /// Kills a broker (SIGKILL).
    pub(crate) async fn kill(&self, node: i32) -> Result<()> {
        let pid = usize::try_from(node - 1).ok().and_then(|index| self.pids.get(index));
        let pid = pid.with_context(|| format!("there is no broker {node}"))?;
        output(Command::new("kill").args(["-9", pid])).await.map(drop)
    }

    /// The broker that is the active controller.
    pub(crate) async fn controller(&self) -> Result<i32> {
        let status = self.tool("MetadataQuorumCommand", &["describe", "--status"]).await?;
        let id = status.lines().find_map(|line| line.strip_prefix("LeaderId:")).context("no LeaderId in the status")?;
        Ok(id.trim().parse()?)
    }

    /// The broker that leads a partition, as far as any broker knows.
    pub(crate) async fn leader(&self, topic: &str, partition: i32) -> Result<Option<i32>> {
        let described = self.admin.describe_topics([topic]).await?.remove(topic).context("the topic is left out")??;
        let found = described.partitions.iter().find(|found| found.partition == partition);
        Ok(found.context("the partition is left out")?.leader)
    }
}

async fn output(command: &mut Command) -> Result<String> {
    let name = command.as_std().get_program().to_string_lossy().into_owned();
    let output = command.stdin(Stdio::null()).output().await.with_context(|| format!("cannot run `{name}`"))?;
    if !output.status.success() {
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        bail!("{name} failed ({}):\n{out}{err}", output.status);
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
