//! One broker or three that end with the guard.

use std::fs;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use anyhow::{Context, Result, ensure};

use super::broker::Broker;
use super::libs::Libs;
use super::secure::{LISTENERS, Listener, make_certificates};
use super::settings::{Node, Options, properties};
use super::telemetry;
use super::tools::Tools;
use crate::random;

/// A running Kafka on free loopback ports. Dropping it stops the brokers and removes their data, unless a folder was
/// named to keep it in.
#[derive(Debug)]
pub struct Cluster {
    libs: Libs,
    heap: String,
    certificates: PathBuf,
    /// Where what clients push is written, where it is.
    telemetry: Option<PathBuf>,
    // Brokers end before their folder goes: fields are dropped in this order.
    brokers: Vec<Broker>,
    _folder: Option<tempfile::TempDir>,
}

impl Cluster {
    /// Fetches the version if need be, formats, starts, and waits until all brokers serve.
    ///
    /// # Errors
    /// With the broker's last log lines when it does not start.
    pub fn start(options: &Options) -> Result<Self> {
        ensure!(matches!(options.brokers, 1 | 3), "one broker or three, not {}", options.brokers);
        let mut libs = Libs::fetch(&options.version)?;
        let (folder, temporary) = match &options.keep_dir {
            Some(keep) => (empty_folder(keep)?, None),
            None => {
                let temporary = tempfile::Builder::new().prefix("ackflow-kafka-").tempdir()?;
                (temporary.path().to_owned(), Some(temporary))
            }
        };
        let nodes = nodes(options, &folder)?;
        let certificates = folder.join("certificates");
        if options.secure {
            make_certificates(&certificates)?;
        }
        let telemetry = options.telemetry.then(|| telemetry::log(&folder));
        let mut options = options.clone();
        if let Some(log) = &telemetry {
            let classes = folder.join("classes");
            telemetry::compile(&libs, &classes)?;
            libs = libs.with_classes(classes);
            options.config.splice(0..0, telemetry::settings(log));
        }
        let brokers = format(&libs, &options, &nodes, &certificates)?;
        let mut cluster = Self { libs, heap: options.heap, certificates, telemetry, brokers, _folder: temporary };
        for broker in &mut cluster.brokers {
            broker.start(&cluster.libs, &cluster.heap)?;
        }
        for broker in &mut cluster.brokers {
            broker.wait()?;
        }
        Ok(cluster)
    }

    /// The brokers' addresses, for bootstrap.servers.
    pub fn bootstrap(&self) -> String {
        let addresses: Vec<String> = self.brokers.iter().map(|b| format!("127.0.0.1:{}", b.node().port)).collect();
        addresses.join(",")
    }

    /// The listeners with TLS and SASL: their names and addresses; none without [`Options::secure`].
    pub fn secure_listeners(&self) -> Vec<(&'static str, String)> {
        let of_listener = |(at, listener): (usize, &Listener)| {
            let ports = self.brokers.iter().filter_map(|b| b.node().secure_ports.get(at));
            let addresses: Vec<String> = ports.map(|port| format!("127.0.0.1:{port}")).collect();
            (!addresses.is_empty()).then(|| (listener.name, addresses.join(",")))
        };
        LISTENERS.iter().enumerate().filter_map(of_listener).collect()
    }

    /// Where certificates and keys are, for those listeners and their clients.
    pub fn certificates(&self) -> &Path {
        &self.certificates
    }

    /// The data folders, one a broker.
    pub fn data_folders(&self) -> Vec<PathBuf> {
        self.brokers.iter().map(|b| b.node().folder.join("data")).collect()
    }

    /// The process ids of the brokers that run.
    pub fn process_ids(&self) -> Vec<u32> {
        self.brokers.iter().filter_map(Broker::id).collect()
    }

    /// Kafka's tools, for this cluster.
    pub fn tools(&self) -> Tools {
        Tools::new(self.libs.clone(), self.bootstrap())
    }

    /// Puts the cluster into a command's environment; `cargo xtask kafka --help` names the variables.
    pub fn describe_to(&self, command: &mut Command) {
        let folders: Vec<String> = self.data_folders().iter().map(|folder| folder.display().to_string()).collect();
        let ids: Vec<String> = self.process_ids().iter().map(u32::to_string).collect();
        command
            .env("ACKFLOW_BOOTSTRAP", self.bootstrap())
            .env("ACKFLOW_KAFKA_LIBS", self.libs.folder())
            .env("ACKFLOW_KAFKA_LOG_DIRS", folders.join(","))
            .env("ACKFLOW_KAFKA_PIDS", ids.join(","));
        if let Some(log) = &self.telemetry {
            command.env("ACKFLOW_KAFKA_TELEMETRY", log);
        }
        let listeners = self.secure_listeners();
        if !listeners.is_empty() {
            let listeners: Vec<String> = listeners.iter().map(|(name, at)| format!("{name}={at}")).collect();
            command
                .env("ACKFLOW_KAFKA_LISTENERS", listeners.join(" "))
                .env("ACKFLOW_KAFKA_CERTIFICATES", &self.certificates);
        }
    }

    /// Kills a broker (SIGKILL) by its node id, which counts from 1.
    ///
    /// # Errors
    /// When there is no such broker or it does not run.
    pub fn kill(&mut self, node: u16) -> Result<()> {
        let broker = self.broker(node)?;
        broker.process()?.kill()?;
        broker.forget();
        Ok(())
    }

    /// Starts a broker again, on its ports and its data; stops it first if it runs. Returns when it serves.
    ///
    /// # Errors
    /// As [`Cluster::start`].
    pub fn restart(&mut self, node: u16) -> Result<()> {
        let (libs, heap) = (self.libs.clone(), self.heap.clone());
        let broker = self.broker(node)?;
        broker.forget();
        broker.start(&libs, &heap)?;
        broker.wait()
    }

    /// Fails with the log's end when a broker has ended by itself.
    ///
    /// # Errors
    /// Only that one.
    pub fn check(&mut self) -> Result<()> {
        for broker in &mut self.brokers {
            if let Some(exit) = broker.process()?.poll()? {
                anyhow::bail!("broker {} ended ({}):\n{}", broker.node().id, exit.status, broker.log_tail());
            }
        }
        Ok(())
    }

    fn broker(&mut self, node: u16) -> Result<&mut Broker> {
        self.brokers.iter_mut().find(|b| b.node().id == node).with_context(|| format!("there is no broker {node}"))
    }
}

impl Drop for Cluster {
    /// All at once: the last broker of three cannot leave in good order when the other two are gone already.
    fn drop(&mut self) {
        for broker in &mut self.brokers {
            broker.ask_to_end();
        }
    }
}

fn empty_folder(folder: &Path) -> Result<PathBuf> {
    fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    ensure!(fs::read_dir(folder)?.next().is_none(), "{} is not empty", folder.display());
    Ok(folder.canonicalize()?)
}

fn nodes(options: &Options, folder: &Path) -> Result<Vec<Node>> {
    let secure = if options.secure { LISTENERS.len() } else { 0 };
    let mut ports = free_ports((2 + secure) * usize::from(options.brokers))?.into_iter();
    let mut port = || ports.next().expect("as many were picked");
    let node = |id| Node {
        id,
        port: port(),
        controller_port: port(),
        secure_ports: (0..secure).map(|_| port()).collect(),
        folder: folder.join(format!("broker-{id}")),
    };
    Ok((1..=options.brokers).map(node).collect())
}

/// Ports below the kernel's ephemeral range (32768 and up), so that no outgoing connection takes one while its broker
/// is down between kill and restart.
fn free_ports(count: usize) -> Result<Vec<u16>> {
    let mut held: Vec<(u16, TcpListener)> = Vec::new();
    for _ in 0..1000 {
        let port = 20_000 + u16::try_from(random::u64() % 12_000)?;
        if let Ok(listener) = TcpListener::bind((Ipv4Addr::LOCALHOST, port)) {
            held.push((port, listener));
        }
        if held.len() == count {
            return Ok(held.into_iter().map(|(port, _)| port).collect());
        }
    }
    anyhow::bail!("no free ports between 20000 and 32000 on 127.0.0.1")
}

/// Formats all brokers at once: a JVM's start is most of it.
fn format(libs: &Libs, options: &Options, nodes: &[Node], certificates: &Path) -> Result<Vec<Broker>> {
    let cluster_id = random::uuid();
    thread::scope(|scope| {
        let formats: Vec<_> = nodes
            .iter()
            .map(|node| {
                let properties = properties(options, node, nodes, certificates);
                let cluster_id = &cluster_id;
                scope.spawn(move || Broker::format(libs, node, &properties, cluster_id, options))
            })
            .collect();
        formats.into_iter().map(|format| format.join().expect("formatting does not panic")).collect()
    })
}
