//! The shim of this project's share consumer: steps on stdin, events on stdout, as `docs/conformance-shim.md` has it.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ackflow_client::share::{AckType, Acknowledged, CommitResults, ShareConsumer, ShareConsumerConfig};
use ackflow_client::{ClientError, ErrorKind};
use ackflow_protocol::wire::ErrorCode;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};

/// What a consumer tells beside the answers to steps.
type Settled = Arc<Mutex<Vec<Value>>>;

#[tokio::main]
async fn main() -> ExitCode {
    match serve().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

async fn serve() -> io::Result<()> {
    let mut consumer = match start() {
        Ok(consumer) => Some(consumer),
        Err(error) => return say(&json!({"event": "unsupported", "message": error.to_string()})),
    };
    let settled = Settled::default();
    if let Some(consumer) = &mut consumer {
        let settled = Arc::clone(&settled);
        consumer.set_acknowledgement_callback(Box::new(move |acknowledged| keep(&settled, acknowledged)));
    }
    say(&json!({"event": "ready"}))?;
    let mut steps = BufReader::new(tokio::io::stdin()).lines();
    while let Some(step) = steps.next_line().await? {
        let words: Vec<&str> = step.split_whitespace().collect();
        let answer = take(&mut consumer, &words).await;
        for told in std::mem::take(&mut *settled.lock().unwrap_or_else(PoisonError::into_inner)) {
            say(&told)?;
        }
        say(&answer.unwrap_or_else(|error| refusal(&error)))?;
    }
    Ok(())
}

fn start() -> Result<ShareConsumer, ClientError> {
    let from = |name: &str| std::env::var(format!("ACKFLOW_SHIM_{name}")).unwrap_or_default();
    let mut properties: BTreeMap<String, String> = from("CONFIG")
        .lines()
        .filter_map(|line| line.split_once('='))
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .collect();
    properties.insert("bootstrap.servers".to_owned(), from("BOOTSTRAP"));
    properties.insert("group.id".to_owned(), from("GROUP"));
    properties.insert("share.acknowledgement.mode".to_owned(), from("MODE"));
    ShareConsumer::new(ShareConsumerConfig::from_properties(&properties)?)
}

/// Takes a step and gives its answer.
async fn take(open: &mut Option<ShareConsumer>, step: &[&str]) -> Result<Value, ClientError> {
    let Some(consumer) = open else {
        return Ok(json!({"event": "error", "kind": "misuse", "code": null, "message": "the consumer is closed"}));
    };
    match step {
        ["subscribe", topics @ ..] => {
            match topics {
                [] => consumer.subscribe([std::env::var("ACKFLOW_SHIM_TOPIC").unwrap_or_default()])?,
                topics => consumer.subscribe(topics.iter().copied())?,
            }
            Ok(json!({"event": "subscribed"}))
        }
        ["poll", time] => poll(consumer, millis(time)).await,
        ["acknowledge", decision] => match ack_type(decision) {
            Some(ack) => consumer.acknowledge_all(ack).map(|()| json!({"event": "acknowledged"})),
            None => Ok(unsupported(step)),
        },
        ["acknowledge", decision, topic, partition, first, last] => {
            let numbers = (partition.parse(), first.parse(), last.parse());
            let (Some(ack), (Ok(partition), Ok(first), Ok(last))) = (ack_type(decision), numbers) else {
                return Ok(unsupported(step));
            };
            consumer.acknowledge_range(topic, partition, first..=last, ack)?;
            Ok(json!({"event": "acknowledged"}))
        }
        ["commit", time] => {
            let results = consumer.commit_sync(millis(time)).await?;
            Ok(json!({"event": "committed", "results": committed(&results)}))
        }
        ["close", time] => {
            if let Some(consumer) = open.take() {
                consumer.close(millis(time)).await?;
            }
            Ok(json!({"event": "closed"}))
        }
        _ => Ok(unsupported(step)),
    }
}

async fn poll(consumer: &mut ShareConsumer, time: Duration) -> Result<Value, ClientError> {
    let records = consumer.poll(time).await?;
    let told: Vec<Value> = records
        .iter()
        .flatten()
        .map(|record| {
            json!({
                "topic": record.topic,
                "partition": record.partition,
                "offset": record.offset,
                "deliveryCount": record.delivery_count,
                "value": record.value.map(String::from_utf8_lossy),
            })
        })
        .collect();
    Ok(json!({"event": "records", "records": told}))
}

fn keep(settled: &Settled, acknowledged: &Acknowledged) {
    let told = json!({
        "event": "settled",
        "topic": acknowledged.topic.as_ref(),
        "partition": acknowledged.partition,
        "code": acknowledged.result.err().map(name),
    });
    settled.lock().unwrap_or_else(PoisonError::into_inner).push(told);
}

fn committed(results: &CommitResults) -> Vec<Value> {
    let told = results.iter().map(|(partition, result)| {
        json!({"topic": partition.topic.as_ref(), "partition": partition.partition, "code": result.err().map(name)})
    });
    told.collect()
}

fn refusal(error: &ClientError) -> Value {
    let (kind, code) = match error.kind() {
        ErrorKind::Invalid => ("misuse", None),
        ErrorKind::UnsupportedVersion => ("failed", Some(name(ErrorCode::UNSUPPORTED_VERSION))),
        _ => ("failed", error.code().map(name)),
    };
    json!({"event": "error", "kind": kind, "code": code, "message": error.to_string()})
}

/// Kafka's name of a code; the number of one that Kafka has not.
fn name(code: ErrorCode) -> String {
    code.name().map_or_else(|| code.0.to_string(), str::to_owned)
}

fn unsupported(step: &[&str]) -> Value {
    json!({"event": "unsupported", "message": step.join(" ")})
}

fn ack_type(decision: &str) -> Option<AckType> {
    Some(match decision {
        "accept" => AckType::Accept,
        "release" => AckType::Release,
        "reject" => AckType::Reject,
        "renew" => AckType::Renew,
        _ => return None,
    })
}

fn millis(time: &str) -> Duration {
    Duration::from_millis(time.parse().unwrap_or_default())
}

fn say(event: &Value) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    writeln!(stdout, "{event}")?;
    stdout.flush()
}
