//! The real Kafka that `ACKFLOW_BOOTSTRAP` names, and Kafka's own tools (`cargo xtask kafka --fast`).

use std::env;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::{Site, text};

/// The cluster of the environment.
pub(crate) fn site() -> Site {
    Site { servers: env::var("ACKFLOW_BOOTSTRAP").expect("ACKFLOW_BOOTSTRAP has to name a Kafka") }
}

/// A name that no other test has.
pub(crate) fn unique(prefix: &str) -> String {
    format!("{prefix}-{:x}", RandomState::new().build_hasher().finish())
}

/// A new topic of two partitions, which the broker knows.
pub(crate) async fn new_topic(site: &Site, prefix: &str) -> String {
    let topic = unique(prefix);
    site.table(&format!("topics create {topic} --partitions 2 --config retention.ms=-1")).await;
    eventually(site, &format!("topics describe {topic}"), |_| true).await;
    topic
}

/// Runs a command until it succeeds and prints what is expected: on a busy machine the broker learns of a change a while after the controller.
pub(crate) async fn eventually(site: &Site, words: &str, expected: impl Fn(&str) -> bool) -> String {
    let mut output = site.run(words).await;
    for _ in 0..150 {
        let printed = text(&output.stdout);
        if output.status.success() && expected(&printed) {
            return printed;
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
        output = site.run(words).await;
    }
    panic!("{words}: {}{}", text(&output.stdout), text(&output.stderr));
}

/// A tool of Kafka's, by its class name after `org.apache.kafka.tools.`, with words in one text.
pub(crate) fn tool(class: &str, words: &str) -> Command {
    let libs = env::var("ACKFLOW_KAFKA_LIBS").expect("ACKFLOW_KAFKA_LIBS has to name the folder of Kafka's jars");
    let mut java = Command::new("java");
    java.args(["-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", &format!("{libs}/*")]);
    java.arg(format!("org.apache.kafka.tools.{class}")).args(["--bootstrap-server", &site().servers]);
    java.args(words.split_whitespace()).stdin(Stdio::null()).stderr(Stdio::piped());
    java
}

/// What it prints.
pub(crate) async fn run_tool(class: &str, words: &str) -> String {
    let mut java = tool(class, words);
    let output = tokio::task::spawn_blocking(move || java.output().unwrap()).await.unwrap();
    let stdout = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{class} {words}: {stdout}{}", String::from_utf8_lossy(&output.stderr));
    stdout
}

/// The columns of these headings in a table of Kafka's or ours, sorted by row.
pub(crate) fn columns(table: &str, headings: &[&str]) -> Vec<Vec<String>> {
    let mut lines = table.lines().skip_while(|line| !headings.iter().all(|heading| line.contains(heading)));
    let heads: Vec<&str> =
        lines.next().unwrap_or_else(|| panic!("no {headings:?} in {table}")).split_whitespace().collect();
    let at: Vec<usize> =
        headings.iter().map(|heading| heads.iter().position(|head| head == heading).unwrap()).collect();
    let row = |line: &str| {
        let cells: Vec<&str> = line.split_whitespace().collect();
        (cells.len() == heads.len()).then(|| at.iter().map(|at| cells[*at].to_owned()).collect::<Vec<_>>())
    };
    let mut rows: Vec<_> = lines.map_while(row).collect();
    rows.sort();
    rows
}
