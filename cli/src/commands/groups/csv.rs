//! Offsets as lines of text, as `--export` and `--from-file` of Kafka's tools have them.

use std::collections::BTreeMap;

use ackflow_client::admin::TopicPartition;

/// One line a partition: `topic,partition,offset`.
pub(super) fn write(offsets: &BTreeMap<TopicPartition, i64>) -> String {
    offsets.iter().map(|(at, offset)| format!("{},{},{offset}\n", at.topic, at.partition)).collect()
}

/// Reads such lines, and those of Kafka's that name the group first.
///
/// # Errors
/// What is wrong, with the number of the line.
pub(super) fn read(text: &str, group: &str) -> Result<BTreeMap<TopicPartition, i64>, String> {
    let mut offsets = BTreeMap::new();
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let wrong = |what: String| format!("line {}: {what}", number + 1);
        let (partition, offset) = read_line(line, group).map_err(wrong)?;
        let shown = partition.to_string();
        if offsets.insert(partition, offset).is_some() {
            return Err(wrong(format!("{shown} is there for the second time")));
        }
    }
    if offsets.is_empty() { Err("it names no partition".to_owned()) } else { Ok(offsets) }
}

fn read_line(line: &str, group: &str) -> Result<(TopicPartition, i64), String> {
    // A group's name may have commas, and is quoted then; topics have none.
    let mut fields = line.trim().rsplitn(4, ',').map(unquoted);
    let offset = fields.next().and_then(|text| text.parse().ok()).filter(|offset: &i64| *offset >= 0);
    let partition = fields.next().and_then(|text| text.parse().ok()).filter(|index: &i32| *index >= 0);
    let topic = fields.next().filter(|topic| !topic.is_empty());
    let (Some(topic), Some(partition), Some(offset)) = (topic, partition, offset) else {
        return Err(format!("{line:?} is not TOPIC,PARTITION,OFFSET or GROUP,TOPIC,PARTITION,OFFSET"));
    };
    match fields.next() {
        Some(other) if other != group => Err(format!("{line:?} is about group {other}, not {group}; name that group")),
        _ => Ok((TopicPartition::new(topic, partition), offset)),
    }
}

fn unquoted(field: &str) -> String {
    let field = field.trim();
    match field.strip_prefix('"').and_then(|field| field.strip_suffix('"')) {
        Some(quoted) => quoted.replace("\"\"", "\""),
        None => field.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_as_they_are_written_and_as_kafka_writes_them() {
        let offsets = BTreeMap::from([(TopicPartition::new("t", 0), 5), (TopicPartition::new("u", 12), 0)]);
        assert_eq!(write(&offsets), "t,0,5\nu,12,0\n");
        assert_eq!(read(&write(&offsets), "g"), Ok(offsets.clone()));
        assert_eq!(read("g,t,0,5\r\n\n g , \"u\" , 12, 0", "g"), Ok(offsets.clone()));
        assert_eq!(read("\"a,\"\"b\",t,0,5\n\"a,\"\"b\",u,12,0\n", "a,\"b"), Ok(offsets));
    }

    #[test]
    fn lines_that_are_wrong_are_named() {
        for (text, expected) in [
            ("", "names no partition"),
            ("t,0,5\nt,0", "line 2"),
            ("topic,partition,offset", "line 1"),
            ("t,0,-1", "TOPIC,PARTITION,OFFSET"),
            ("t,-1,0", "TOPIC,PARTITION,OFFSET"),
            (",0,0", "TOPIC,PARTITION,OFFSET"),
            ("h,t,0,5", "about group h, not g"),
            ("t,0,5\n\nt,0,6", "line 3: t-0 is there for the second time"),
        ] {
            let error = read(text, "g").unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}
