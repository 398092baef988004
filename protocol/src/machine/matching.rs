//! Subscriptions by pattern: which topics they mean, now.
//!
//! A share group is told names, so the pattern is the client's own affair: it asks for all topics when it subscribes and once a
//! `metadata.max.age.ms`, and takes those that match. A topic that one answer does not have is looked for once more a moment later, since
//! brokers learn of topics one after the other.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::Arc,
    time::{Duration, Instant},
};

use crate::messages::metadata::MetadataResponseTopic;

/// How long a topic that matched is taken for one that is there, though an answer does not have it.
const MISSING_GRACE: Duration = Duration::from_secs(1);

/// Decides by its name whether a topic is subscribed to.
#[derive(Clone)]
pub struct TopicFilter(Arc<dyn Fn(&str) -> bool + Send + Sync>);

impl TopicFilter {
    /// The topics whose names `matches` is true for.
    pub fn new(matches: impl Fn(&str) -> bool + Send + Sync + 'static) -> Self {
        Self(Arc::new(matches))
    }

    /// Whether the topic is subscribed to.
    pub fn matches(&self, topic: &str) -> bool {
        (self.0)(topic)
    }
}

impl fmt::Debug for TopicFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TopicFilter")
    }
}

/// A subscription by pattern, and what it has come to.
#[derive(Debug)]
pub(crate) struct Matching {
    filter: TopicFilter,
    exclude_internal: bool,
    /// When to ask for all topics next.
    due: Instant,
    /// The topics that match; `None` before the first answer.
    found: Option<BTreeSet<Arc<str>>>,
    /// Those of them that the last answer did not have, and since when.
    missing: BTreeMap<Arc<str>, Instant>,
}

/// What an answer about all topics comes to.
#[derive(Debug, Default)]
pub(crate) struct Matched {
    /// All topics that match now, where they are others than before.
    pub(crate) changed: Option<Vec<Arc<str>>>,
    /// The topics that do not exist any more.
    pub(crate) gone: Vec<Arc<str>>,
}

impl Matching {
    pub(crate) fn new(filter: TopicFilter, exclude_internal: bool, due: Instant) -> Self {
        Self { filter, exclude_internal, due, found: None, missing: BTreeMap::new() }
    }

    pub(crate) fn due(&self) -> Instant {
        self.due
    }

    /// All topics are to be asked for at this time, if not before.
    pub(crate) fn ask_at(&mut self, at: Instant) {
        self.due = self.due.min(at);
    }

    /// There was no answer: the question is to be asked again at this time.
    pub(crate) fn failed(&mut self, again: Instant) {
        self.due = again;
    }

    /// Whether a topic that exists is subscribed to.
    pub(crate) fn is_wanted(&self, topic: &MetadataResponseTopic) -> bool {
        let matches = topic.name.as_deref().is_some_and(|name| self.filter.matches(name));
        matches && !(topic.is_internal && self.exclude_internal)
    }

    /// Takes in all topics that there are.
    pub(crate) fn answered(&mut self, now: Instant, topics: &[MetadataResponseTopic], max_age: Duration) -> Matched {
        self.due = now + max_age;
        let is_first = self.found.is_none();
        let before = self.found.take().unwrap_or_default();
        let exist: BTreeSet<&str> = topics.iter().filter_map(|topic| topic.name.as_deref()).collect();
        let wanted = topics.iter().filter(|topic| self.is_wanted(topic));
        let mut found: BTreeSet<Arc<str>> = wanted.filter_map(|topic| topic.name.as_deref()).map(Arc::from).collect();
        let mut missing = std::mem::take(&mut self.missing);
        let mut gone = Vec::new();
        for topic in before.iter().filter(|topic| !exist.contains(&***topic)) {
            let since = missing.remove(topic).unwrap_or(now);
            if now < since + MISSING_GRACE {
                self.due = self.due.min(since + MISSING_GRACE);
                self.missing.insert(Arc::clone(topic), since);
                found.insert(Arc::clone(topic));
            } else {
                gone.push(Arc::clone(topic));
            }
        }
        let changed = (is_first || found != before).then(|| found.iter().cloned().collect());
        self.found = Some(found);
        Matched { changed, gone }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AGE: Duration = Duration::from_secs(300);

    fn topics(names: &[&str]) -> Vec<MetadataResponseTopic> {
        let topic = |name: &&str| MetadataResponseTopic {
            name: Some((*name).to_owned()),
            is_internal: name.starts_with("__"),
            ..Default::default()
        };
        names.iter().map(topic).collect()
    }

    fn orders(exclude_internal: bool, now: Instant) -> Matching {
        let filter = TopicFilter::new(|name| name.contains("orders"));
        Matching::new(filter, exclude_internal, now)
    }

    fn names(matched: &Matched) -> Option<Vec<&str>> {
        Some(matched.changed.as_ref()?.iter().map(|name| &**name).collect())
    }

    #[test]
    fn changes_are_told_once_and_internal_topics_only_where_they_are_wanted() {
        let now = Instant::now();
        let mut matching = orders(true, now);
        let all = topics(&["orders", "bills", "__orders"]);
        assert_eq!(names(&matching.answered(now, &all, AGE)), Some(vec!["orders"]));
        assert_eq!(matching.due(), now + AGE);
        assert_eq!(names(&matching.answered(now + AGE, &all, AGE)), None);
        assert_eq!(names(&orders(false, now).answered(now, &all, AGE)), Some(vec!["__orders", "orders"]));
        assert_eq!(names(&orders(true, now).answered(now, &[], AGE)), Some(vec![]), "nothing is an answer too");
    }

    #[test]
    fn a_topic_that_one_answer_does_not_have_is_looked_for_once_more() {
        let now = Instant::now();
        let mut matching = orders(true, now);
        matching.answered(now, &topics(&["orders", "old-orders"]), AGE);
        let lagging = matching.answered(now, &topics(&["orders"]), AGE);
        assert!(lagging.changed.is_none() && lagging.gone.is_empty());
        assert_eq!(matching.due(), now + MISSING_GRACE);
        matching.answered(matching.due(), &topics(&["orders", "old-orders"]), AGE);

        let again = matching.due();
        matching.answered(again, &topics(&["orders"]), AGE);
        assert_eq!(matching.due(), again + MISSING_GRACE, "seen again, it is missing from then on");
        let gone = matching.answered(matching.due(), &topics(&["orders"]), AGE);
        assert_eq!((names(&gone), &*gone.gone[0]), (Some(vec!["orders"]), "old-orders"));
    }
}
