//! Kafka's own command-line tools, against any broker: what they are asked, and what their output says.

use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result};

use super::libs::Libs;
use crate::process::{Process, output};

/// The options that Kafka's own scripts give the JVM of a performance tool (kafka-run-class.sh and, for the heap,
/// kafka-producer-perf-test.sh and kafka-share-consumer-perf-test.sh).
pub const SCRIPT_OPTIONS: [&str; 7] = [
    "-Xmx512M",
    "-server",
    "-XX:+UseG1GC",
    "-XX:MaxGCPauseMillis=20",
    "-XX:InitiatingHeapOccupancyPercent=35",
    "-XX:+ExplicitGCInvokesConcurrent",
    "-Djava.awt.headless=true",
];

/// The tools, and the broker that they talk to.
#[derive(Clone, Debug)]
pub struct Tools {
    libs: Libs,
    bootstrap: String,
}

impl Tools {
    /// The tools of a Kafka version for the broker at `bootstrap`.
    pub fn new(libs: Libs, bootstrap: impl Into<String>) -> Self {
        Self { libs, bootstrap: bootstrap.into() }
    }

    /// The address they talk to.
    pub fn bootstrap(&self) -> &str {
        &self.bootstrap
    }

    /// A tool that asks or administers something, by its class name after `org.apache.kafka.tools.`, with
    /// `--bootstrap-server` and the arguments given.
    pub fn tool(&self, class: &str, arguments: &[&str]) -> Command {
        self.add(self.libs.admin_java(), class, arguments)
    }

    /// A `java` command for a program of one source file that uses Kafka's jars.
    pub fn java(&self) -> Command {
        self.libs.admin_java()
    }

    /// The same with the JVM options of Kafka's own scripts, for measurements.
    pub fn performance_tool(&self, class: &str, arguments: &[&str]) -> Command {
        self.add(self.libs.java(&SCRIPT_OPTIONS), class, arguments)
    }

    fn add(&self, mut java: Command, class: &str, arguments: &[&str]) -> Command {
        java.arg(format!("org.apache.kafka.tools.{class}"))
            .args(["--bootstrap-server", &self.bootstrap])
            .args(arguments)
            .stdin(Stdio::null());
        java
    }

    /// Runs a tool and returns what it printed.
    ///
    /// # Errors
    /// When it fails.
    pub fn run(&self, class: &str, arguments: &[&str]) -> Result<String> {
        output(&mut self.tool(class, arguments))
    }

    /// The same for a tool that wants its subcommand before all else.
    ///
    /// # Errors
    /// When it fails.
    pub fn run_subcommand(&self, class: &str, arguments: &[&str]) -> Result<String> {
        let mut java = self.libs.admin_java();
        java.arg(format!("org.apache.kafka.tools.{class}")).args(arguments);
        java.args(["--bootstrap-server", &self.bootstrap]).stdin(Stdio::null());
        output(&mut java)
    }

    /// Creates a topic with one replica.
    ///
    /// # Errors
    /// When the broker refuses.
    pub fn create_topic(&self, topic: &str, partitions: u32) -> Result<()> {
        let partitions = partitions.to_string();
        self.run("TopicCommand", &["--create", "--topic", topic, "--partitions", &partitions]).map(drop)
    }

    /// Lets a share group begin at the start of its topics; must come before its first member.
    ///
    /// # Errors
    /// When the broker refuses.
    pub fn read_from_the_start(&self, group: &str) -> Result<()> {
        let add = ["--alter", "--entity-type", "groups", "--entity-name", group, "--add-config"];
        self.run("ConfigCommand", &[&add[..], &["share.auto.offset.reset=earliest"]].concat()).map(drop)
    }

    /// Produces random records with Kafka's ProducerPerformance: `throughput` a second, or as fast as it goes with -1.
    ///
    /// # Errors
    /// When it fails or takes more than ten minutes.
    pub fn produce(&self, topic: &str, records: u64, size: u32, throughput: i64) -> Result<()> {
        self.start_producing(topic, records, size, throughput)?.success(Duration::from_secs(600)).map(drop)
    }

    /// The same, without waiting for its end.
    ///
    /// # Errors
    /// When Java cannot be run.
    pub fn start_producing(&self, topic: &str, records: u64, size: u32, throughput: i64) -> Result<Process> {
        let (records, size, throughput) = (records.to_string(), size.to_string(), throughput.to_string());
        let arguments =
            ["--topic", topic, "--num-records", &records, "--record-size", &size, "--throughput", &throughput];
        let mut tool = self.performance_tool("ProducerPerformance", &arguments);
        Process::start("ProducerPerformance", tool.stdout(Stdio::null()))
    }

    /// What a share group still has to do, in records over all partitions. `None` while a partition has no state.
    ///
    /// # Errors
    /// When the broker does not know the group.
    pub fn share_group_lag(&self, group: &str) -> Result<Option<u64>> {
        let text = self.run("consumer.group.ShareGroupCommand", &["--describe", "--group", group])?;
        Self::lag_in(&text)
    }

    /// The same out of what `ShareGroupCommand --describe` printed.
    ///
    /// # Errors
    /// When it has no lag in it.
    pub fn lag_in(text: &str) -> Result<Option<u64>> {
        lag(text).with_context(|| format!("ShareGroupCommand printed:\n{text}"))
    }

    /// How many members a share group has.
    ///
    /// # Errors
    /// When the broker does not know the group.
    pub fn share_group_members(&self, group: &str) -> Result<usize> {
        let text = self.run("consumer.group.ShareGroupCommand", &["--describe", "--group", group, "--members"])?;
        Ok(text.lines().filter(|line| line.split_whitespace().next() == Some(group)).count())
    }
}

/// The sum of the LAG column. `None` inside when a partition's is `-`, outside when there is no such column.
fn lag(text: &str) -> Option<Option<u64>> {
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    let header = lines.by_ref().find(|line| line.starts_with("GROUP"))?;
    let column = header.split_whitespace().position(|name| name == "LAG")?;
    let mut sum = Some(0);
    let mut rows = 0;
    for line in lines {
        let cell = line.split_whitespace().nth(column)?;
        let lag = if cell == "-" { None } else { Some(cell.parse::<u64>().ok()?) };
        sum = sum.zip(lag).map(|(sum, lag)| sum + lag);
        rows += 1;
    }
    (rows > 0).then_some(sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lag_is_the_sum_over_partitions() {
        let text = "\nGROUP           TOPIC           PARTITION  START-OFFSET  LAG\n\
                    g               t               0          33151         33152\n\
                    g               t               1          32560         8\n";
        assert_eq!(lag(text), Some(Some(33160)));
        assert_eq!(lag(&text.replace("33152", "-")), Some(None));
        assert_eq!(lag("\nShare group 'g' has no active members.\n"), None);
    }
}
