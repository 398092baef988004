//! `ackflow produce`: JSON lines in, records out.

use std::collections::VecDeque;
use std::io::{BufRead, ErrorKind, Read};
use std::process::ExitCode;

use ackflow_client::producer::{Producer, ProducerConfig, ProducerRecord};
use anyhow::{Context, anyhow, bail};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde_json::Value;
use tokio::sync::mpsc;

use crate::connection::Connection;
use crate::progress::{Progress, counted};
use crate::stderr::tell;

/// Lines read ahead of the producer.
const LINES_AHEAD: usize = 1024;
/// The longest line, in bytes: brokers take no request of more than 100 MiB, by default (`socket.request.max.bytes`).
const LONGEST_LINE: u64 = 128 << 20;
/// Delivery reports that may be outstanding before the oldest is awaited.
const REPORTS_AHEAD: usize = 100_000;

#[derive(Debug, clap::Args)]
#[command(after_help = "Each line of stdin is one record: {\"key\": .., \"value\": .., \"partition\": .., \
    \"timestamp\": .., \"headers\": [[\"name\", ..]]}; only the value must be there.\n\
    A string is sent as it is, null as null, {\"base64\": \"..\"} as the bytes it names, any other value as JSON text.\n\n\
    Example: echo '{\"key\":\"k\",\"value\":\"v\"}' | ackflow produce --bootstrap-server localhost:9092 --topic t")]
pub(crate) struct Args {
    #[command(flatten)]
    connection: Connection,

    /// The topic to produce to, for lines that name none
    #[arg(long)]
    topic: Option<String>,

    /// Take each line as a value, as kafka-console-producer does
    #[arg(long)]
    lines: bool,
}

pub(crate) async fn run(args: Args) -> anyhow::Result<ExitCode> {
    let producer = Producer::new(args.connection.properties()?.read(ProducerConfig::from_properties)?)?;
    let mut sent = 0;
    let result = send_lines(&producer, &args, &mut sent).await;
    // What was sent before a wrong line is sent: say so rather than leave it open.
    let closed = producer.close().await;
    let confirmed = if closed.is_ok() { "confirmed" } else { "sent, not all of them confirmed" };
    tell!("ackflow: {} {confirmed}", counted(sent, "record"));
    result?;
    closed?;
    Ok(ExitCode::SUCCESS)
}

async fn send_lines(producer: &Producer, args: &Args, sent: &mut u64) -> anyhow::Result<()> {
    let mut lines = stdin_lines();
    let mut progress = Progress::new("produced", 0);
    let mut reports = VecDeque::new();
    let mut number = 0u64;
    while let Some(line) = lines.recv().await {
        let line = line.context("cannot read stdin")?;
        number += 1;
        if line.is_empty() && !args.lines {
            continue;
        }
        let record = record(line, args).with_context(|| format!("line {number} of stdin"))?;
        reports.push_back(producer.send(record).await?);
        *sent += 1;
        if reports.len() > REPORTS_AHEAD
            && let Some(report) = reports.pop_front()
        {
            report.await?;
        }
        progress.at(*sent);
    }
    producer.flush().await?;
    for report in reports {
        report.await?;
    }
    Ok(())
}

/// The lines of stdin, read on a thread of their own: reading a terminal or pipe blocks.
fn stdin_lines() -> mpsc::Receiver<std::io::Result<Vec<u8>>> {
    let (send, receive) = mpsc::channel(LINES_AHEAD);
    std::thread::spawn(move || {
        let mut stdin = std::io::stdin().lock();
        while let Some(line) = next_line(&mut stdin, LONGEST_LINE).transpose() {
            let is_last = line.is_err();
            if send.blocking_send(line).is_err() || is_last {
                return;
            }
        }
    });
    receive
}

/// A line without its end; `None` at the end.
fn next_line(from: &mut impl BufRead, limit: u64) -> std::io::Result<Option<Vec<u8>>> {
    let mut line = Vec::new();
    if from.take(limit.saturating_add(1)).read_until(b'\n', &mut line)? == 0 {
        return Ok(None);
    }
    let has_end = line.pop_if(|byte| *byte == b'\n').is_some();
    if !has_end && line.len() as u64 > limit {
        let reason = format!("a line is longer than {limit} bytes; a record is one line");
        return Err(std::io::Error::new(ErrorKind::InvalidData, reason));
    }
    line.pop_if(|byte| *byte == b'\r');
    Ok(Some(line))
}

fn record(line: Vec<u8>, args: &Args) -> anyhow::Result<ProducerRecord> {
    let default_topic =
        || args.topic.clone().ok_or_else(|| anyhow!("no topic: give --topic, or \"topic\" in the line"));
    if args.lines {
        return Ok(ProducerRecord::new(default_topic()?, line));
    }
    let Value::Object(fields) = serde_json::from_slice(&line).context("not JSON (--lines takes plain text)")? else {
        bail!("not a JSON object (--lines takes plain text)");
    };
    let mut record = ProducerRecord::new("", Bytes::new());
    let mut has_value = false;
    for (name, value) in fields {
        match name.as_str() {
            "topic" => record.topic = value.as_str().context("topic is not a string")?.into(),
            "partition" => {
                let partition = value.as_i64().and_then(|p| i32::try_from(p).ok());
                record.partition = Some(partition.context("partition is not a number")?);
            }
            "timestamp" => {
                let timestamp = value.as_i64().filter(|millis| *millis >= 0);
                record.timestamp = Some(timestamp.context("timestamp is not a number of milliseconds since 1970")?);
            }
            "key" => record.key = bytes(value).context("key")?,
            "value" => (record.value, has_value) = (bytes(value).context("value")?, true),
            "headers" => record.headers = headers(value)?,
            // What `ackflow consume` prints besides, so that its output can be produced again.
            "offset" | "deliveryCount" => {}
            other => bail!("unknown field {other:?}"),
        }
    }
    if !has_value {
        bail!("no value: write \"value\": null for a tombstone");
    }
    if record.topic.is_empty() {
        record.topic = default_topic()?.into();
    }
    Ok(record)
}

/// The bytes of a key or value: text as it is, `{"base64": ..}` decoded, other values as JSON text.
fn bytes(value: Value) -> anyhow::Result<Option<Bytes>> {
    Ok(match value {
        Value::Null => None,
        Value::String(text) => Some(text.into()),
        Value::Object(fields) if fields.len() == 1 && fields.contains_key("base64") => {
            let text = fields["base64"].as_str().context("base64 is not a string")?;
            Some(STANDARD.decode(text).context("base64 is not valid")?.into())
        }
        other => Some(other.to_string().into()),
    })
}

fn headers(value: Value) -> anyhow::Result<Vec<(String, Option<Bytes>)>> {
    let Value::Array(headers) = value else { bail!("headers is not a list of [name, value]") };
    headers
        .into_iter()
        .map(|header| match header {
            Value::Array(mut pair) if pair.len() == 2 && pair[0].is_string() => {
                let value = bytes(pair.remove(1)).context("header")?;
                Ok((pair[0].as_str().unwrap_or_default().to_owned(), value))
            }
            other => Err(anyhow!("header {other} is not [name, value]")),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_up_to_their_limit() {
        let mut text = &b"abc\r\n\nabcd\nab"[..];
        let mut next = || next_line(&mut text, 4).unwrap();
        let lines: Vec<_> = std::iter::from_fn(&mut next).collect();
        assert_eq!(lines, [&b"abc"[..], b"", b"abcd", b"ab"]);
        for text in [&b"abcde"[..], b"abcde\n", b"abcdefgh"] {
            let error = next_line(&mut &*text, 4).unwrap_err().to_string();
            assert!(error.contains("longer than 4 bytes"), "{error}");
        }
    }
}
