//! What the headers of the batches say: that each client really wrote what its script asked for.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use serde_json::Value;

use super::shown::Place;
use super::topics::{Kind, Topic};

/// librdkafka and franz-go leave a batch as it is where the codec makes it larger, and so does the cleaner where it leaves no record. A
/// batch of so many records becomes smaller.
const SURELY_COMPRESSED: u64 = 5;

/// What was seen of all topics.
#[derive(Debug, Default)]
pub(super) struct Batches {
    pub(super) batches: usize,
    pub(super) control: usize,
    /// Answers that ended within a batch.
    pub(super) cut_off: usize,
    /// Batches that carry the time when their tombstones may go.
    pub(super) delete_horizon: usize,
    /// Batches that the cleaner left without a record.
    pub(super) empty: usize,
    pub(super) differences: Vec<String>,
}

/// Judges the lines that `interop batches` prints.
pub(super) fn judge(lines: &str, topics: &[Topic]) -> Result<Batches> {
    let mut seen = Batches::default();
    let mut markers: BTreeMap<&str, BTreeMap<Place, bool>> = BTreeMap::new();
    for line in lines.lines() {
        let line: Value = serde_json::from_str(line)?;
        let topic = topics.iter().find(|topic| line["topic"] == *topic.name).context("a line of no topic")?;
        if let Some(cut_off) = line["cut_off"].as_u64() {
            seen.cut_off += usize::try_from(cut_off)?;
            continue;
        }
        seen.batches += 1;
        seen.delete_horizon += usize::from(line["delete_horizon"] == true);
        let records = line["records"].as_u64().context("a batch has a count")?;
        seen.empty += usize::from(records == 0);
        if let Some(end) = line["control"].as_str() {
            seen.control += 1;
            let place = (line["partition"].as_i64().and_then(|p| i32::try_from(p).ok()), line["first"].as_i64());
            let place = place.0.zip(place.1).context("a batch has a place")?;
            markers.entry(&topic.name).or_default().insert(place, end == "commit");
            continue;
        }
        let append_time = topic.kind == Kind::AppendTime;
        for (what, is) in [
            ("compression", line["compression"] == topic.codec || records < SURELY_COMPRESSED),
            ("transactional", line["transactional"] == topic.is_transactional()),
            ("timestamp_type", line["timestamp_type"] == if append_time { "LogAppendTime" } else { "CreateTime" }),
        ] {
            if !is {
                seen.differences.push(format!("{what} of a batch: {line}"));
            }
        }
    }
    for topic in topics.iter().filter(|topic| topic.kind == Kind::Transactional) {
        let (expected, found) = (topic.log().markers, markers.remove(topic.name.as_str()).unwrap_or_default());
        if expected != found {
            seen.differences.push(format!("{} ends transactions at {found:?}, not {expected:?}", topic.name));
        }
    }
    Ok(seen)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prove::records_interop::content::Content;
    use crate::random::Seeded;

    fn topic(kind: Kind) -> Topic {
        Topic::new("w", "gzip", kind, &mut Content::new(Seeded::new(1), 1 << 40), 1 << 40)
    }

    #[test]
    fn a_batch_that_is_not_as_asked_for_is_named() {
        let topics = [topic(Kind::Plain)];
        let line = r#"{"topic":"w-gzip-plain","partition":0,"first":0,"last":5,"records":6,"compression":"gzip","transactional":false,"timestamp_type":"CreateTime","delete_horizon":false,"control":null}"#;
        let cut_off = r#"{"topic":"w-gzip-plain","partition":0,"cut_off":2}"#;
        let seen = judge(&format!("{line}\n{cut_off}"), &topics).unwrap();
        assert_eq!((seen.batches, seen.cut_off, seen.differences.len()), (1, 2, 0));
        for (good, bad) in [("\"gzip\"", "\"none\""), ("l\":false", "l\":true"), ("CreateTime", "LogAppendTime")] {
            assert_eq!(judge(&line.replace(good, bad), &topics).unwrap().differences.len(), 1, "{bad}");
        }
        assert!(judge(&line.replace("w-gzip", "x"), &topics).is_err());
    }

    #[test]
    fn transactions_have_to_end_where_the_script_ends_them() {
        let topics = [topic(Kind::Transactional)];
        let marker = |(place, commit): (&Place, &bool)| {
            let control = if *commit { "commit" } else { "abort" };
            format!(
                r#"{{"topic":"w-gzip-transactional","partition":{},"first":{},"records":1,"control":"{control}"}}"#,
                place.0, place.1
            )
        };
        let mut lines: Vec<String> = topics[0].log().markers.iter().map(marker).collect();
        assert!(judge(&lines.join("\n"), &topics).unwrap().differences.is_empty());
        lines[1] = lines[1].replace("abort", "commit");
        assert_eq!(judge(&lines.join("\n"), &topics).unwrap().differences.len(), 1);
        lines.remove(1);
        assert_eq!(judge(&lines.join("\n"), &topics).unwrap().differences.len(), 1);
    }
}
