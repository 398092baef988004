//! The commands as a user runs them, on the embedded broker: what they print, and how they end.

#![expect(clippy::unwrap_used, reason = "helpers of tests may panic like tests")]

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use ackflow_testkit::EmbeddedBroker;
use serde_json::{Value, json};
use tempfile::TempDir;

const ACKFLOW: &str = env!("CARGO_BIN_EXE_ackflow");

/// Runs a command with `stdin`, off the threads of the broker that it talks to.
async fn ackflow(args: &[&str], stdin: &str) -> Output {
    let mut command = Command::new(ACKFLOW);
    command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let input = stdin.to_owned();
    let run = move || {
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        child.wait_with_output().unwrap()
    };
    tokio::task::spawn_blocking(run).await.unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn lines(output: &Output) -> Vec<Value> {
    assert!(output.status.success(), "{}", text(&output.stderr));
    text(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// A failed command says one thing, without a trace of the program's insides.
fn error(output: &Output) -> String {
    let error = text(&output.stderr);
    assert!(!output.status.success(), "{error}");
    assert!(!error.contains("panicked") && !error.contains("stack backtrace"), "{error}");
    error
}

/// Writes the files of `ackflow run` and gives their paths.
fn configuration(dir: &Path, worker: &str, connector: &Value) -> [String; 2] {
    let write = |name: &str, text: &str| {
        let path = dir.join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    [write("worker.properties", worker), write("sink.json", &connector.to_string())]
}

fn worker(bootstrap: &str) -> String {
    format!("bootstrap.servers={bootstrap}\nconsumer.group.protocol=share\n")
}

fn file_sink(file: &Path) -> Value {
    json!({ "name": "sink", "connector.class": "file", "topics": "t", "file": file })
}

/// Runs `ackflow run` until it fails.
async fn run_fails(worker: &str, connector: &Value) -> String {
    let dir = TempDir::new().unwrap();
    let [worker, connector] = configuration(dir.path(), worker, connector);
    error(&ackflow(&["run", &worker, &connector], "").await)
}

/// A broker with the empty topic `t`.
async fn broker() -> EmbeddedBroker {
    EmbeddedBroker::builder().fast().topic("t", 1).start().await.unwrap()
}

/// Consumes `count` records of `t` in group `g`, from the earliest on.
fn consume<'a>(bootstrap: &'a str, count: &'a str) -> Vec<&'a str> {
    let topic = ["consume", "--bootstrap-server", bootstrap, "--topic", "t", "--group", "g"];
    [&topic[..], &["--offset-reset-strategy", "earliest", "--max-messages", count]].concat()
}

#[tokio::test(flavor = "multi_thread")]
async fn demo_loses_nothing_and_says_so_in_json() {
    let output = ackflow(&["demo", "--records", "20000", "--json"], "").await;
    let error = text(&output.stderr);
    assert!(output.status.success(), "{error}");
    let stdout = text(&output.stdout);
    let result: Value = serde_json::from_str(stdout.lines().last().unwrap()).unwrap();
    assert_eq!((&result["produced"], &result["delivered"], &result["lost"]), (&json!(20000), &json!(20000), &json!(0)));
    assert!(result["redelivered"].as_u64().unwrap() > 0, "the killed task held records: {result}");
    assert!(error.contains("is killed with records in its hands"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_consume_prints_can_be_produced_again() {
    let broker = broker().await;
    let bootstrap = broker.bootstrap_servers();
    let produced = concat!(
        r#"{"key":"k","value":"text","headers":[["h","1"],["h",null]],"timestamp":17}"#,
        "\n",
        r#"{"value":{"base64":"/wA="}}"#,
        "\n",
        r#"{"key":null,"value":null}"#,
        "\n",
        r#"{"value":""}"#,
        "\n",
    );
    let produce = ["produce", "--bootstrap-server", &bootstrap, "--topic", "t"];
    let consume = consume(&bootstrap, "4");
    assert!(ackflow(&produce, produced).await.status.success());
    let first = ackflow(&consume, "").await;
    let records = lines(&first);
    assert_eq!(records[0]["headers"], json!([["h", "1"], ["h", null]]));
    assert_eq!((&records[0]["timestamp"], &records[0]["deliveryCount"]), (&json!(17), &json!(1)));
    assert_eq!(records[1]["value"], json!({"base64": "/wA="}));
    assert_eq!((&records[2]["value"], &records[3]["value"]), (&Value::Null, &json!("")));

    assert!(ackflow(&produce, &text(&first.stdout)).await.status.success());
    let again = lines(&ackflow(&consume, "").await);
    let content = |record: &Value| [&record["key"], &record["value"], &record["headers"]].map(Value::clone);
    assert_eq!(again.iter().map(content).collect::<Vec<_>>(), records.iter().map(content).collect::<Vec<_>>());
    assert_eq!(broker.group_lag("g", "t", 0).await.unwrap(), Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn released_records_come_again_with_a_higher_count() {
    let broker = broker().await;
    let bootstrap = broker.bootstrap_servers();
    assert!(
        ackflow(&["produce", "--bootstrap-server", &bootstrap, "--topic", "t"], "{\"value\":\"v\"}\n")
            .await
            .status
            .success()
    );
    let mut counts = Vec::new();
    for ack in ["release", "release", "renew"] {
        let output = ackflow(&[&consume(&bootstrap, "1")[..], &["--ack", ack]].concat(), "").await;
        counts.push(lines(&output)[0]["deliveryCount"].as_i64().unwrap());
    }
    assert_eq!(counts, [1, 2, 3]);
    assert_eq!(broker.group_lag("g", "t", 0).await.unwrap(), Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn consume_goes_on_when_connections_are_cut_and_topics_are_missing() {
    let broker = broker().await;
    let bootstrap = broker.bootstrap_servers();
    let values: String = (0..20_000).map(|i| format!("{i}\n")).collect();
    let produce = ["produce", "--bootstrap-server", &bootstrap, "--topic", "t", "--lines"];
    assert!(ackflow(&produce, &values).await.status.success());
    let mut command = Command::new(ACKFLOW);
    command.args(["consume", "--bootstrap-server", &bootstrap, "--topic", "t", "--topic", "nope", "--group", "g"]);
    command.args([
        "--offset-reset-strategy",
        "earliest",
        "--timeout-ms",
        "2000",
        "--command-property",
        "max.poll.records=50",
    ]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let consuming = tokio::task::spawn_blocking(move || command.output().unwrap());
    for _ in 0..4 {
        tokio::time::sleep(Duration::from_millis(250)).await;
        broker.disconnect_all().await.unwrap();
    }
    let output = consuming.await.unwrap();
    let seen: BTreeSet<String> =
        lines(&output).iter().map(|record| record["value"].as_str().unwrap().to_owned()).collect();
    assert_eq!(seen.len(), 20_000, "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("nope"), "{}", text(&output.stderr));
}

#[tokio::test(flavor = "multi_thread")]
async fn record_that_cannot_be_printed_costs_one_delivery_attempt() {
    let broker = broker().await;
    let bootstrap = broker.bootstrap_servers();
    let produce = ["produce", "--bootstrap-server", &bootstrap, "--topic", "t"];
    assert!(ackflow(&produce, "{\"value\":\"v\"}\n").await.status.success());
    let mut command = Command::new(ACKFLOW);
    command.args(consume(&bootstrap, "1")).stdout(std::fs::File::create("/dev/full").unwrap());
    let full = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
    assert!(error(&full).contains("stdout"), "{}", text(&full.stderr));
    assert_eq!(lines(&ackflow(&consume(&bootstrap, "1"), "").await)[0]["deliveryCount"], json!(2));
}

#[tokio::test(flavor = "multi_thread")]
async fn produce_names_the_line_that_is_wrong() {
    let broker = broker().await;
    let produce = ["produce", "--bootstrap-server", &broker.bootstrap_servers(), "--topic", "t"];
    let wrong = error(&ackflow(&produce, "{\"value\":\"v\"}\nnot json\n").await);
    assert!(wrong.contains("line 2") && wrong.contains("--lines"), "{wrong}");
    assert!(wrong.contains("1 record confirmed"), "{wrong}");
    let unknown = error(&ackflow(&produce, "{\"vlaue\":\"v\"}\n").await);
    assert!(unknown.contains("vlaue"), "{unknown}");
    assert!(error(&ackflow(&produce, "{\"key\":\"k\"}\n").await).contains("no value"));
}

#[tokio::test(flavor = "multi_thread")]
async fn run_says_what_is_wrong_before_anything_is_acknowledged() {
    let broker = broker().await;
    let bootstrap = broker.bootstrap_servers();
    let dir = TempDir::new().unwrap();
    let file = dir.path().join("out.jsonl");

    let unwritable = run_fails(&worker(&bootstrap), &file_sink(&dir.path().join("no/such/dir/out"))).await;
    assert!(unwritable.contains("file = ") && unwritable.contains("no/such/dir/out"), "{unwritable}");

    let mut connector = file_sink(&file);
    connector["topics"] = json!("missing");
    let missing = run_fails(&worker(&bootstrap), &connector).await;
    assert!(missing.contains("topics = missing"), "{missing}");

    let mut connector = file_sink(&file);
    connector["tasks.max"] = json!("none");
    connector["errors.tolerence"] = json!("all");
    let wrong = run_fails(&worker(&bootstrap), &connector).await;
    assert!(wrong.contains("tasks.max = none") && wrong.contains("errors.tolerance?"), "{wrong}");

    let consumer_group = format!("bootstrap.servers={bootstrap}\n");
    let refused = run_fails(&consumer_group, &file_sink(&file)).await;
    assert!(refused.contains("group.protocol"), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn broker_without_share_groups_is_named_as_such() {
    let broker = EmbeddedBroker::builder().fast().topic("t", 1).share_version(0).start().await.unwrap();
    let bootstrap = broker.bootstrap_servers();
    let dir = TempDir::new().unwrap();
    let run = run_fails(&worker(&bootstrap), &file_sink(&dir.path().join("out"))).await;
    assert!(run.contains("share.version"), "{run}");
    let consume =
        ackflow(&["consume", "--bootstrap-server", &bootstrap, "--topic", "t", "--timeout-ms", "20000"], "").await;
    assert!(error(&consume).contains("share.version"), "{}", text(&consume.stderr));
}

#[tokio::test(flavor = "multi_thread")]
async fn unreachable_broker_is_told_within_seconds() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let dir = TempDir::new().unwrap();
    let run = run_fails(&worker(&free), &file_sink(&dir.path().join("out"))).await;
    let consume = error(&ackflow(&["consume", "--bootstrap-server", &free, "--topic", "t"], "").await);
    let produce = ["produce", "--bootstrap-server", &free, "--topic", "t"];
    let produce = error(&ackflow(&produce, "{\"value\":\"v\"}\n").await);
    for message in [run, consume, produce] {
        assert!(message.contains(&free) && message.contains("bootstrap.servers"), "{message}");
        assert_eq!(message.matches("Connection refused").count(), 1, "{message}");
    }
    assert!(!dir.path().join("out").exists(), "a sink made its file for nothing");
}

#[tokio::test]
async fn what_the_system_says_is_said_once() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = taken.local_addr().unwrap().to_string();
    let message = error(&ackflow(&["broker", "--listen", &addr], "").await);
    assert_eq!(message.matches("already in use").count(), 1, "{message}");

    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(b"{\n").unwrap();
    let message = error(&ackflow(&["wire", "check", file.path().to_str().unwrap()], "").await);
    assert_eq!(message.matches("EOF while parsing").count(), 1, "{message}");
}

#[tokio::test]
async fn two_names_for_one_group_are_refused() {
    let consume = ["consume", "--bootstrap-server", "127.0.0.1:1", "--topic", "t", "--command-property", "group.id=a"];
    let message = error(&ackflow(&[&consume[..], &["--group", "b"]].concat(), "").await);
    assert!(message.contains("--group b and group.id=a name two groups"), "{message}");
}

#[test]
fn results_that_cannot_be_written_are_an_error() {
    let commands: [&[&str]; 3] = [
        &["broker", "--listen", "127.0.0.1:0"],
        &["demo", "--records", "20000"],
        &["perf", "share-consume", "--bootstrap-server", "127.0.0.1:1", "--topic", "t", "--num-records", "1"],
    ];
    for args in commands {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = Command::new(ACKFLOW).args(args).stdin(Stdio::null()).stdout(full).output().unwrap();
        assert!(error(&output).contains("cannot write to stdout: No space left on device"), "{}", error(&output));
        assert_eq!(output.status.code(), Some(1));
    }
}

#[tokio::test]
async fn wire_check_passes_kafkas_vectors_and_catches_one_wrong_byte() {
    let vectors: PathBuf = [env!("CARGO_MANIFEST_DIR"), "../testdata/vectors/core.jsonl"].iter().collect();
    let passed = ackflow(&["wire", "check", vectors.to_str().unwrap()], "").await;
    assert!(passed.status.success(), "{}", text(&passed.stderr));
    assert!(text(&passed.stdout).lines().last().unwrap().ends_with(" passed, 0 failed"));

    let all = std::fs::read_to_string(&vectors).unwrap();
    let line = all.lines().find(|line| line.contains("ShareFetch") && line.contains("\"hex\":\"")).unwrap();
    let at = line.find("\"hex\":\"").unwrap() + 8;
    let digit = if line.as_bytes()[at] == b'0' { "1" } else { "0" };
    let mut damaged = tempfile::NamedTempFile::new().unwrap();
    writeln!(damaged, "{}{digit}{}", &line[..at], &line[at + 1..]).unwrap();
    let failed = ackflow(&["wire", "check", damaged.path().to_str().unwrap()], "").await;
    assert!(error(&failed).contains(":1: "));
    assert_eq!(text(&failed.stdout).lines().last().unwrap(), "0 passed, 1 failed");
}
