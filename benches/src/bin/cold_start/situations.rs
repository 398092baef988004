//! The situations in which a process starts.

use std::process::Stdio;
use std::time::{Duration, Instant};

use ackflow_benches::{begin_at_start, create_topic};
use ackflow_client::admin::NewTopic;
use ackflow_client::producer::{Producer, ProducerConfig, ProducerRecord};
use ackflow_client::{Admin, ClientConfig};
use anyhow::{Context, Result, ensure};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::time::timeout;

use crate::{Measured, member};

const PARTITIONS: i32 = 3;
/// Records that wait.
const RECORDS: usize = 30;
const PATIENCE: Duration = Duration::from_secs(60);

/// A member starts in a group that exists, as the last one has left it.
pub(crate) async fn existing_group(bootstrap: &str, repetitions: u32) -> Result<Measured> {
    let topic = Topic::new(bootstrap, "existing").await?;
    topic.group("cold-existing").await?;
    let mut times = Vec::new();
    for round in 0..=repetitions {
        topic.fill().await?;
        let (time, member) = topic.start("cold-existing", &leaving()).await?;
        ended(member).await?;
        // The first one makes the group.
        times.extend((round > 0).then_some(time));
    }
    Ok(Measured(times))
}

/// Each member starts in a group of its own, which did not exist.
pub(crate) async fn new_groups(bootstrap: &str, repetitions: u32) -> Result<Measured> {
    let topic = Topic::new(bootstrap, "new").await?;
    topic.fill().await?;
    let mut times = Vec::new();
    for round in 0..repetitions {
        let group = format!("cold-new-{round}");
        topic.group(&group).await?;
        let (time, member) = topic.start(&group, &leaving()).await?;
        ended(member).await?;
        times.push(time);
    }
    Ok(Measured(times))
}

/// A member that holds all records is killed, and starts again at once under its id.
pub(crate) async fn after_a_kill(bootstrap: &str, repetitions: u32) -> Result<Measured> {
    let topic = Topic::new(bootstrap, "killed").await?;
    topic.group("cold-killed").await?;
    let id = ["--member-id".to_owned(), "the-one".to_owned()];
    let mut times = Vec::new();
    for _ in 0..repetitions {
        topic.fill().await?;
        let (_, mut member) = topic.start("cold-killed", &id).await?;
        member.kill().await?;
        let (time, member) = topic.start("cold-killed", &[&id[..], &leaving()].concat()).await?;
        ended(member).await?;
        times.push(time);
    }
    Ok(Measured(times))
}

/// The member takes what there is and leaves.
fn leaving() -> Vec<String> {
    vec!["--records".to_owned(), RECORDS.to_string()]
}

/// Waits until a member has left.
async fn ended(mut member: Child) -> Result<()> {
    let status = timeout(PATIENCE, member.wait()).await.context("a member does not end")??;
    ensure!(status.success(), "a member failed: {status}");
    Ok(())
}

/// A topic, and where it is.
struct Topic<'a> {
    bootstrap: &'a str,
    admin: Admin,
    name: String,
}

impl<'a> Topic<'a> {
    async fn new(bootstrap: &'a str, name: &str) -> Result<Self> {
        let admin = Admin::new(ClientConfig::new(bootstrap)?);
        create_topic(&admin, NewTopic::new(name, PARTITIONS)).await?;
        Ok(Self { bootstrap, admin, name: name.to_owned() })
    }

    /// Has a group begin at the start of its topics. That alone does not make the group.
    async fn group(&self, name: &str) -> Result<()> {
        begin_at_start(&self.admin, name).await
    }

    /// Writes records that wait.
    async fn fill(&self) -> Result<()> {
        let producer = Producer::new(ProducerConfig::new(self.bootstrap)?)?;
        for number in 0..RECORDS {
            let partition = i32::try_from(number)? % PARTITIONS;
            let mut record = ProducerRecord::new(self.name.as_str(), number.to_string());
            record.partition = Some(partition);
            // How it went is told by closing.
            drop(producer.send(record).await?);
        }
        Ok(producer.close().await?)
    }

    /// Starts a member, and gives how long it took to its first record.
    async fn start(&self, group: &str, arguments: &[String]) -> Result<(Duration, Child)> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["member", "--bootstrap-server", self.bootstrap, "--topic", &self.name, "--group", group]);
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).kill_on_drop(true);
        let begun = Instant::now();
        let mut member = command.spawn().context("this program cannot start itself")?;
        let output = member.stdout.take().context("the member has an output")?;
        let line = timeout(PATIENCE, BufReader::new(output).lines().next_line()).await;
        let time = begun.elapsed();
        let line = line.context("no record came")??;
        ensure!(line.as_deref() == Some(member::FIRST), "the member said {line:?}");
        Ok((time, member))
    }
}
