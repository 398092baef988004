//! Topics and partitions on the command line: `orders`, `orders:0,1,4-7`.

use std::collections::BTreeSet;

use ackflow_client::Admin;
use ackflow_client::admin::TopicPartition;

use crate::report::Report;

/// A topic, and partitions of it; all of them where none is named.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TopicScope {
    pub(crate) topic: String,
    pub(crate) partitions: Option<BTreeSet<i32>>,
}

impl TopicScope {
    /// One partition.
    pub(crate) fn of(partition: &TopicPartition) -> Self {
        Self { topic: partition.topic.to_string(), partitions: Some(BTreeSet::from([partition.partition])) }
    }
}

/// More partitions than a topic has: a range that is longer is a slip of the finger.
const MOST: i32 = 1_000_000;

/// Reads `topic` or `topic:0,1,4-7`. No topic has a colon in its name.
pub(crate) fn topic_scope(text: &str) -> Result<TopicScope, String> {
    let (topic, partitions) = match text.split_once(':') {
        Some((topic, list)) => (topic, Some(indexes(list)?)),
        None => (text, None),
    };
    match topic {
        "" => Err("expected TOPIC or TOPIC:PARTITION,..".to_owned()),
        topic => Ok(TopicScope { topic: topic.to_owned(), partitions }),
    }
}

fn indexes(list: &str) -> Result<BTreeSet<i32>, String> {
    let wrong = || format!("{list} names no partitions: expected numbers and ranges such as 0,1,4-7");
    let number = |text: &str| text.trim().parse().ok().filter(|n| (0..MOST).contains(n)).ok_or_else(wrong);
    let mut indexes = BTreeSet::new();
    for part in list.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (number(first)?, number(last)?);
        if first > last {
            return Err(wrong());
        }
        indexes.extend(first..=last);
    }
    Ok(indexes)
}

/// The partitions that scopes name. What does not exist is a failure in the report.
pub(crate) async fn partitions(
    admin: &Admin,
    scopes: &[TopicScope],
    report: &mut Report,
) -> anyhow::Result<BTreeSet<TopicPartition>> {
    let mut described =
        admin.describe_topics(scopes.iter().map(|scope| &*scope.topic).collect::<BTreeSet<_>>()).await?;
    let mut found = BTreeSet::new();
    for scope in scopes {
        let Some(topic) = described.get_mut(&scope.topic) else { continue };
        let topic = match topic {
            Ok(topic) => topic,
            Err(error) => {
                report.failed(&*error);
                described.remove(&scope.topic);
                continue;
            }
        };
        let has: BTreeSet<i32> = topic.partitions.iter().map(|partition| partition.partition).collect();
        for index in scope.partitions.as_ref().unwrap_or(&has) {
            match has.contains(index) {
                true => _ = found.insert(TopicPartition::new(scope.topic.as_str(), *index)),
                false => report.failed(format!(
                    "topic {} has no partition {index}; it has {}: name one from 0 on",
                    scope.topic,
                    has.len()
                )),
            }
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scopes_are_a_topic_and_partitions_of_it() {
        let scope = |topic: &str, partitions: &[i32]| TopicScope {
            topic: topic.to_owned(),
            partitions: (!partitions.is_empty()).then(|| partitions.iter().copied().collect()),
        };
        assert_eq!(topic_scope("t"), Ok(scope("t", &[])));
        assert_eq!(topic_scope("t.x-1:0, 2,4-6"), Ok(scope("t.x-1", &[0, 2, 4, 5, 6])));
        for wrong in ["", ":1", "t:", "t:a", "t:-1", "t:3-1", "t:0-99999999", "t:1:2"] {
            assert!(topic_scope(wrong).is_err(), "{wrong}");
        }
    }
}
