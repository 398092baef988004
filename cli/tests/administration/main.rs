//! `ackflow groups` and `ackflow topics` as a user runs them: on the embedded broker, and on a real Kafka beside Kafka's own tools.

#![expect(clippy::unwrap_used, reason = "helpers of tests may panic like tests")]

mod groups;
mod kafka;
mod kafka_groups;
mod kafka_topics;
mod refusals;
mod topics;

use std::io::Write;
use std::process::{Command, Output, Stdio};

use ackflow_testkit::EmbeddedBroker;
use serde_json::Value;

pub(crate) const ACKFLOW: &str = env!("CARGO_BIN_EXE_ackflow");

/// Runs a command with its words in one text, and something on stdin; off the threads of the broker that it talks to.
pub(crate) async fn with_stdin(words: &str, stdin: &str) -> Output {
    let mut command = Command::new(ACKFLOW);
    command.args(words.split_whitespace()).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let input = stdin.to_owned();
    let run = move || {
        let mut child = command.spawn().unwrap();
        // A command that refuses its words does not read it all.
        drop(child.stdin.take().unwrap().write_all(input.as_bytes()));
        child.wait_with_output().unwrap()
    };
    tokio::task::spawn_blocking(run).await.unwrap()
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// A cluster, and the commands that are run on it.
pub(crate) struct Site {
    pub(crate) servers: String,
}

impl Site {
    pub(crate) async fn run(&self, words: &str) -> Output {
        with_stdin(&format!("{words} --bootstrap-server {}", self.servers), "").await
    }

    /// The table that a command prints which succeeds, and what it says on stderr.
    pub(crate) async fn table_and_remarks(&self, words: &str) -> (String, String) {
        let output = self.run(words).await;
        let stderr = text(&output.stderr);
        assert!(output.status.success(), "{words}: {stderr}");
        (text(&output.stdout), stderr)
    }

    /// The table of a command that succeeds and has nothing to remark.
    pub(crate) async fn table(&self, words: &str) -> String {
        let (table, remarks) = self.table_and_remarks(words).await;
        assert_eq!(remarks, "", "{words}");
        table
    }

    /// The one line of JSON of a command that succeeds.
    pub(crate) async fn json(&self, words: &str) -> Value {
        let (line, _) = self.table_and_remarks(&format!("{words} --json")).await;
        assert_eq!(line.lines().count(), 1, "{line}");
        let json: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(json["errors"], serde_json::json!([]));
        json
    }

    /// What a command says that could not do something; its exit code is 1.
    pub(crate) async fn error(&self, words: &str) -> String {
        let output = self.run(words).await;
        failure(1, &output)
    }

    /// Produces lines as values.
    pub(crate) async fn produce(&self, topic: &str, lines: &str) {
        let words = format!("produce --bootstrap-server {} --topic {topic}", self.servers);
        let output = with_stdin(&words, lines).await;
        assert!(output.status.success(), "{}", text(&output.stderr));
    }

    /// Consumes so many records through a share group, from the earliest on.
    pub(crate) async fn consume(&self, topic: &str, group: &str, count: u32) {
        let words =
            format!("consume --topic {topic} --group {group} --offset-reset-strategy earliest --max-messages {count}");
        let output = self.run(&words).await;
        assert!(output.status.success(), "{}", text(&output.stderr));
    }
}

/// A failed command says what is wrong, without a trace of the program's insides.
pub(crate) fn failure(code: i32, output: &Output) -> String {
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{}{stderr}", text(&output.stdout));
    assert!(!stderr.contains("panicked") && !stderr.contains("stack backtrace"), "{stderr}");
    stderr
}

/// An embedded broker with the topic `t` of two partitions.
pub(crate) async fn embedded() -> (EmbeddedBroker, Site) {
    let broker = EmbeddedBroker::builder().fast().topic("t", 2).start().await.unwrap();
    let site = Site { servers: broker.bootstrap_servers() };
    (broker, site)
}

/// Records of partition 0, so many, with the values 0, 1, and so on.
pub(crate) fn records(count: u32) -> String {
    (0..count).map(|i| format!("{{\"partition\":0,\"value\":\"{i}\"}}\n")).collect()
}

/// The cells of a table's lines.
pub(crate) fn cells(table: &str) -> Vec<Vec<&str>> {
    table.lines().map(|line| line.split_whitespace().collect()).collect()
}
