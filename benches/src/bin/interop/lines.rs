//! Lines of scripts, plans and output.

use std::fs;
use std::io::Write;
use std::path::Path;

use ackflow_protocol::records::{Headers, TimestampType};
use anyhow::Context;
use base64::prelude::{BASE64_STANDARD, Engine};
use bytes::Bytes;
use serde_json::{Value, json};

/// The JSON objects of a file, one a line.
pub(crate) fn read(file: &Path) -> anyhow::Result<Vec<Value>> {
    let text = fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    let line = |line: &str| serde_json::from_str(line).with_context(|| format!("no JSON: {line}"));
    text.lines().map(line).collect()
}

/// A field that is text.
pub(crate) fn text<'v>(line: &'v Value, name: &str) -> anyhow::Result<&'v str> {
    line[name].as_str().with_context(|| format!("no text `{name}` in {line}"))
}

/// A field that is a number.
pub(crate) fn number<N: TryFrom<i64>>(line: &Value, name: &str) -> anyhow::Result<N> {
    let number = line[name].as_i64().and_then(|number| N::try_from(number).ok());
    number.with_context(|| format!("no number `{name}` in {line}"))
}

/// A record of a script.
pub(crate) struct Record {
    pub(crate) partition: i32,
    pub(crate) timestamp: i64,
    pub(crate) key: Option<Bytes>,
    pub(crate) value: Option<Bytes>,
    pub(crate) headers: Vec<(String, Option<Bytes>)>,
}

impl Record {
    pub(crate) fn parse(line: &Value) -> anyhow::Result<Self> {
        let headers = line["headers"].as_array().context("a record has headers")?;
        let header =
            |pair: &Value| anyhow::Ok((pair[0].as_str().context("a header has a key")?.to_owned(), decode(&pair[1])?));
        Ok(Self {
            partition: number(line, "partition")?,
            timestamp: number(line, "timestamp")?,
            key: decode(&line["key"])?,
            value: decode(&line["value"])?,
            headers: headers.iter().map(header).collect::<Result<_, _>>()?,
        })
    }
}

/// A partition of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Partition {
    pub(crate) topic: String,
    pub(crate) partition: i32,
    /// The offset before which everything is to be read.
    pub(crate) end: i64,
}

/// The partitions of a plan.
pub(crate) fn plan(file: &Path) -> anyhow::Result<Vec<Partition>> {
    let partition = |line: &Value| {
        let topic = text(line, "topic")?.to_owned();
        Ok(Partition { topic, partition: number(line, "partition")?, end: number(line, "end")? })
    };
    read(file)?.iter().map(partition).collect()
}

/// A record that was read.
pub(crate) struct Shown<'a> {
    pub(crate) topic: &'a str,
    pub(crate) partition: i32,
    pub(crate) offset: i64,
    pub(crate) timestamp: i64,
    pub(crate) timestamp_type: TimestampType,
    pub(crate) key: Option<&'a [u8]>,
    pub(crate) value: Option<&'a [u8]>,
    pub(crate) headers: Headers<'a>,
}

impl Shown<'_> {
    pub(crate) fn print(&self, out: &mut impl Write) -> anyhow::Result<()> {
        let header = |header: Result<ackflow_protocol::records::Header<'_>, _>| {
            let header = header.with_context(|| format!("a header of {}@{}", self.topic, self.offset))?;
            anyhow::Ok(json!([std::str::from_utf8(header.key)?, encode(header.value)]))
        };
        let line = json!({
            "topic": self.topic,
            "partition": self.partition,
            "offset": self.offset,
            "timestamp": self.timestamp,
            "timestamp_type": format!("{:?}", self.timestamp_type),
            "key": encode(self.key),
            "value": encode(self.value),
            "headers": self.headers.map(header).collect::<Result<Vec<_>, _>>()?,
        });
        Ok(writeln!(out, "{line}")?)
    }
}

fn decode(base64: &Value) -> anyhow::Result<Option<Bytes>> {
    if base64.is_null() {
        return Ok(None);
    }
    let text = base64.as_str().context("neither text nor null")?;
    Ok(Some(BASE64_STANDARD.decode(text)?.into()))
}

fn encode(bytes: Option<&[u8]>) -> Option<String> {
    bytes.map(|bytes| BASE64_STANDARD.encode(bytes))
}
