//! What came out against what is in the topic, record by record.

use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::kafka::Tools;
use crate::process::Process;

/// Reading a topic of a million records takes some seconds.
const READ_LIMIT: Duration = Duration::from_secs(300);

/// The records of a topic: a hash of each value, by partition and offset.
pub(in crate::prove) struct Topic {
    values: Vec<Vec<u64>>,
}

impl Topic {
    /// Reads a topic of `records` records, whose values are text of one line, with Kafka's own consumer.
    ///
    /// # Errors
    /// When it holds fewer, or its offsets have gaps.
    pub(in crate::prove) fn read(tools: &Tools, topic: &str, partitions: u32, records: u64) -> Result<Self> {
        let limit = records.to_string();
        let mut consumer = tools.tool(
            "consumer.ConsoleConsumer",
            &[
                &["--topic", topic, "--from-beginning", "--max-messages", &limit, "--timeout-ms", "20000"][..],
                &["--formatter-property", "print.partition=true", "--formatter-property", "print.offset=true"],
            ]
            .concat(),
        );
        let lines = tempfile::NamedTempFile::new()?;
        consumer.stdout(lines.as_file().try_clone()?);
        Process::start("ConsoleConsumer", &mut consumer)?.success(READ_LIMIT)?;
        let mut values = vec![Vec::new(); partitions as usize];
        for line in BufReader::new(File::open(lines.path())?).lines() {
            let line = line?;
            // A hint on the newer group protocol comes first and has no tabs.
            let mut fields = line.splitn(3, '\t');
            let (Some(partition), Some(offset), Some(value)) = (fields.next(), fields.next(), fields.next()) else {
                continue;
            };
            let number = |field: &str, name: &str| field.strip_prefix(name).and_then(|n| n.parse::<usize>().ok());
            let partition = number(partition, "Partition:").context("a line begins with its partition")?;
            let offset = number(offset, "Offset:").context("a line has its offset")?;
            let partition = values.get_mut(partition).context("a line has a known partition")?;
            ensure!(partition.len() == offset, "the topic has a gap before offset {offset}");
            partition.push(hash(value));
        }
        let read: usize = values.iter().map(Vec::len).sum();
        ensure!(read as u64 == records, "the topic {topic} holds {read} records, not {records}");
        Ok(Self { values })
    }
}

fn hash(value: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// How often each record of a topic came out.
pub(in crate::prove) struct Delivered<'a> {
    topic: &'a Topic,
    times: Vec<Vec<u32>>,
    /// Records that the topic does not hold, or not so.
    strange: u64,
}

impl<'a> Delivered<'a> {
    pub(in crate::prove) fn of(topic: &'a Topic) -> Self {
        let times = topic.values.iter().map(|values| vec![0; values.len()]).collect();
        Self { topic, times, strange: 0 }
    }

    /// Counts a record whose value is not known.
    pub(in crate::prove) fn add(&mut self, partition: usize, offset: usize) {
        match self.times.get_mut(partition).and_then(|times| times.get_mut(offset)) {
            Some(times) => *times += 1,
            None => self.strange += 1,
        }
    }

    /// Counts the lines of a file sink's output and returns how many there are.
    ///
    /// # Errors
    /// When a line is no record.
    pub(in crate::prove) fn add_file(&mut self, file: &Path) -> Result<u64> {
        let input = File::open(file).with_context(|| format!("cannot read {}", file.display()))?;
        let mut lines = 0;
        for line in BufReader::new(input).lines() {
            lines += 1;
            self.add_line(&line?).with_context(|| format!("{}:{lines}", file.display()))?;
        }
        Ok(lines)
    }

    fn add_line(&mut self, line: &str) -> Result<()> {
        let record: Value = serde_json::from_str(line).context("not JSON")?;
        let partition = usize::try_from(record["partition"].as_u64().context("no partition")?)?;
        let offset = usize::try_from(record["offset"].as_u64().context("no offset")?)?;
        let value = record["value"].as_str().context("the value is no string")?;
        let expected = self.topic.values.get(partition).and_then(|values| values.get(offset));
        if expected == Some(&hash(value)) {
            self.add(partition, offset);
        } else {
            self.strange += 1;
        }
        Ok(())
    }

    /// Records of the topic that did not come.
    pub(in crate::prove) fn missing(&self) -> u64 {
        self.times.iter().flatten().filter(|times| **times == 0).count() as u64
    }

    /// Deliveries beyond the first of each record.
    pub(in crate::prove) fn extra(&self) -> u64 {
        self.times.iter().flatten().map(|times| u64::from(times.saturating_sub(1))).sum()
    }

    /// Records that the topic does not hold, or not with this value.
    pub(in crate::prove) fn strange(&self) -> u64 {
        self.strange
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kafka::{Cluster, Options};

    #[test]
    fn missing_extra_and_strange_records_are_told_apart() {
        let topic = Topic { values: vec![vec![hash("a"), hash("b")], vec![hash("c")]] };
        let mut delivered = Delivered::of(&topic);
        for line in [
            r#"{"partition":0,"offset":0,"value":"a"}"#,
            r#"{"partition":0,"offset":0,"value":"a"}"#,
            r#"{"partition":1,"offset":0,"value":"wrong"}"#,
            r#"{"partition":7,"offset":0,"value":"a"}"#,
        ] {
            delivered.add_line(line).unwrap();
        }
        assert_eq!((delivered.missing(), delivered.extra(), delivered.strange()), (2, 1, 2));
        assert!(delivered.add_line("{\"partition\":0").is_err());
    }

    #[test]
    #[ignore = "needs Java: cargo xtask kafka"]
    fn real_kafka_topic_is_read_whole() {
        let cluster = Cluster::start(&Options { fast: true, ..Options::default() }).unwrap();
        let tools = cluster.tools();
        tools.create_topic("t", 3).unwrap();
        tools.produce("t", 5_000, 100, -1).unwrap();
        let topic = Topic::read(&tools, "t", 3, 5_000).unwrap();
        assert_eq!(topic.values.iter().map(Vec::len).sum::<usize>(), 5_000);
    }
}
