//! One broker process.

use std::fs::{self, OpenOptions};
use std::net::{Ipv4Addr, TcpStream};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use super::libs::Libs;
use super::secure::SCRAM_USERS;
use super::settings::{Node, Options};
use crate::interrupt;
use crate::process::Process;

/// How long a broker may take to start: three of them share two slow cores at worst.
const START: Duration = Duration::from_secs(90);
/// What a broker logs when it serves requests: after the port is open, after the controller let it in.
const STARTED: &str = "Kafka Server started";

/// A broker that runs, or did.
#[derive(Debug)]
pub(super) struct Broker {
    node: Node,
    process: Option<Process>,
    /// Where this run's part of the log begins, in bytes.
    log_start: u64,
}

impl Broker {
    /// Writes the settings and formats the data folder.
    pub(super) fn format(
        libs: &Libs,
        node: &Node,
        properties: &str,
        cluster_id: &str,
        options: &Options,
    ) -> Result<Self> {
        fs::create_dir_all(&node.folder).with_context(|| format!("cannot create {}", node.folder.display()))?;
        fs::write(node.folder.join("server.properties"), properties)?;
        fs::write(node.folder.join("log4j2.properties"), LOG4J2)?;
        let mut format = libs.admin_java();
        // One word: an id may begin with a dash, and would be taken for an option.
        format.args(["kafka.tools.StorageTool", "format", &format!("--cluster-id={cluster_id}"), "-c"]);
        format.arg(node.folder.join("server.properties"));
        if options.secure {
            SCRAM_USERS.iter().for_each(|user| _ = format.args(["--add-scram", user]));
        }
        if let Some(version) = options.formatted_share_version() {
            format.arg("--feature").arg(format!("share.version={version}"));
        }
        let output = format.output().context("cannot run `java`: Java 17 is needed to run Kafka")?;
        ensure!(
            output.status.success(),
            "cannot format broker {} ({}):\n{}{}",
            node.id,
            output.status,
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
        Ok(Self { node: node.clone(), process: None, log_start: 0 })
    }

    /// Starts the process; [`Broker::wait`] says when it serves.
    pub(super) fn start(&mut self, libs: &Libs, heap: &str) -> Result<()> {
        let log = OpenOptions::new().create(true).append(true).open(self.log())?;
        self.log_start = log.metadata()?.len();
        let configuration = self.node.folder.join("log4j2.properties");
        let mut java = libs.java(&[
            &format!("-Xmx{heap}"),
            "-Djava.awt.headless=true",
            &format!("-Dlog4j2.configurationFile=file:{}", configuration.display()),
        ]);
        java.arg("kafka.Kafka")
            .arg(self.node.folder.join("server.properties"))
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            // Out of the terminal's group: on Ctrl-C the client under test ends first, its broker after it.
            .process_group(0);
        self.process = Some(Process::start(format!("broker {}", self.node.id), &mut java)?);
        Ok(())
    }

    /// Waits until it serves.
    pub(super) fn wait(&mut self) -> Result<()> {
        let deadline = Instant::now() + START;
        while !self.serves()? {
            let ended = match &mut self.process {
                Some(process) => process.poll()?,
                None => return Ok(()),
            };
            if let Some(exit) = ended {
                anyhow::bail!("broker {} ended at start ({}):\n{}", self.node.id, exit.status, self.log_tail());
            }
            interrupt::check()?;
            ensure!(
                Instant::now() < deadline,
                "broker {} is not up after {START:?}:\n{}",
                self.node.id,
                self.log_tail()
            );
            thread::sleep(Duration::from_millis(50));
        }
        Ok(())
    }

    fn serves(&self) -> Result<bool> {
        if TcpStream::connect((Ipv4Addr::LOCALHOST, self.node.port)).is_err() {
            return Ok(false);
        }
        let log = fs::read(self.log())?;
        let this_run = log.get(usize::try_from(self.log_start)?..).unwrap_or_default();
        Ok(String::from_utf8_lossy(this_run).contains(STARTED))
    }

    /// The running process.
    pub(super) fn process(&mut self) -> Result<&mut Process> {
        self.process.as_mut().with_context(|| format!("broker {} does not run", self.node.id))
    }

    /// Forgets the process, which ends it in good order if it still runs.
    pub(super) fn forget(&mut self) {
        self.process = None;
    }

    /// Sends SIGTERM without waiting; one that has ended is left alone.
    pub(super) fn ask_to_end(&mut self) {
        if let Some(process) = &mut self.process {
            process.ask_to_end();
        }
    }

    pub(super) fn id(&self) -> Option<u32> {
        self.process.as_ref().map(Process::id)
    }

    pub(super) fn node(&self) -> &Node {
        &self.node
    }

    fn log(&self) -> PathBuf {
        log_file(&self.node.folder)
    }

    /// The last lines of its log, for an error.
    pub(super) fn log_tail(&self) -> String {
        let log = fs::read(self.log()).unwrap_or_default();
        let log = String::from_utf8_lossy(&log);
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(40)..].join("\n")
    }
}

/// The log of the broker in a folder.
fn log_file(folder: &Path) -> PathBuf {
    folder.join("server.log")
}

/// Everything goes to standard output, which is the log file together with what the JVM itself has to say.
const LOG4J2: &str = "appender.out.type=Console
appender.out.name=out
appender.out.layout.type=PatternLayout
appender.out.layout.pattern=[%d] %p %m (%c)%n
rootLogger.level=INFO
rootLogger.appenderRef.out.ref=out
";
