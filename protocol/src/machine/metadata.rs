//! What the cluster looks like: topics by id, the leaders of their partitions, where the brokers are.
//!
//! ```text
//!   Idle --due--> InFlight(names) --answer, something assigned unknown--> InFlight(ids) --answer--> Idle
//!     ^              | answer, all known                                                             |
//!     +--------------+-------------------------------------------------------------------------------+
//! ```
//!
//! A refresh is due after `metadata.max.age.ms`, at once where a leader is known to be wrong, a moment later where a
//! topic seems to be gone (brokers learn of topics one after the other), and after a backoff while something wanted is
//! missing. What brokers say about a leader by the way of other responses counts as much as metadata: the higher leader
//! epoch wins.
//!
//! Under a subscription by pattern all topics are asked for instead (`matching.rs`), and by name only what became wrong meanwhile.

mod look_up;

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, VecDeque},
    sync::Arc,
    time::{Duration, Instant},
};

use crate::{
    machine::{
        backoff::Backoff,
        error::{MachineError, MachineErrorKind},
        matching::{Matching, TopicFilter},
        types::{BrokerAddress, RequestFailure, Step, TopicIdPartition, earlier},
    },
    messages::metadata::{MetadataRequest, MetadataRequestTopic, MetadataResponse, MetadataResponseTopic},
    wire::{ErrorCode, Uuid},
};

/// How long a refresh waits when a topic seems to be gone, so that many such answers cause one.
const DEBOUNCE: Duration = Duration::from_millis(250);

/// How long a topic may be missing before the application hears of it: one made a moment ago is not known to every
/// broker.
pub(crate) const MISSING_GRACE: Duration = Duration::from_secs(1);

/// The least age at which metadata is asked for again by itself, whatever `metadata.max.age.ms` says.
const LEAST_AGE: Duration = Duration::from_millis(100);

#[derive(Debug)]
pub(crate) struct Metadata {
    wanted_topics: Vec<Arc<str>>,
    wanted_partitions: BTreeSet<TopicIdPartition>,
    brokers: HashMap<i32, BrokerAddress>,
    topics: HashMap<Uuid, Topic>,
    ids: HashMap<Arc<str>, Uuid>,
    /// Topics that the last answer did not have, since when, and whether the application knows.
    missing: BTreeMap<Arc<str>, (Instant, bool)>,
    state: State,
    due: Option<Instant>,
    /// No refresh before this, however urgent.
    earliest: Option<Instant>,
    max_age: Duration,
    spacing: Duration,
    backoff: Backoff,
    /// Whether brokers may create the wanted topics that do not exist.
    may_create: bool,
    /// The pattern that decides about the wanted topics, where one does.
    matching: Option<Matching>,
    events: VecDeque<MetadataEvent>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Idle,
    /// What was asked for by; `again`: something became wrong since.
    InFlight {
        by: AskBy,
        again: bool,
    },
    /// Something assigned is unknown after a request by names.
    AskIds,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AskBy {
    Names,
    Ids,
    /// For all topics.
    All,
}

#[derive(Debug)]
struct Topic {
    name: Arc<str>,
    leaders: BTreeMap<i32, Leader>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Leader {
    /// -1 where there is none.
    node: i32,
    epoch: i32,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum MetadataEvent {
    /// Leaders, names or addresses may have changed.
    Changed,
    /// The topic of this id does not exist any more.
    Gone(Uuid),
    /// The topics that match the pattern, where they are others than before.
    Matched(Vec<Arc<str>>),
    Failed(MachineError),
}

/// How soon a refresh is needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Urgency {
    Now,
    Debounced,
}

impl Metadata {
    pub(crate) fn new(max_age: Duration, retry_backoff: Duration, retry_backoff_max: Duration, seed: u64) -> Self {
        Self {
            wanted_topics: Vec::new(),
            wanted_partitions: BTreeSet::new(),
            brokers: HashMap::new(),
            topics: HashMap::new(),
            ids: HashMap::new(),
            missing: BTreeMap::new(),
            state: State::Idle,
            due: None,
            earliest: None,
            max_age: max_age.max(LEAST_AGE),
            spacing: retry_backoff,
            backoff: Backoff::new(retry_backoff, retry_backoff_max, seed),
            may_create: false,
            matching: None,
            events: VecDeque::new(),
        }
    }

    /// Sets whether brokers may create the wanted topics that do not exist.
    pub(crate) fn may_create(mut self, may_create: bool) -> Self {
        self.may_create = may_create;
        self
    }

    /// Sets the topics to know about, by a pattern.
    pub(crate) fn want_matching(&mut self, now: Instant, filter: TopicFilter, exclude_internal: bool) {
        let due = self.earliest.map_or(now, |earliest| earliest.max(now));
        self.matching = Some(Matching::new(filter, exclude_internal, due));
        self.missing.clear();
    }

    /// Sets the topics to know about, by name.
    pub(crate) fn want_topics(&mut self, now: Instant, names: &[String]) {
        self.matching = None;
        self.wanted_topics = names.iter().map(|name| Arc::from(name.as_str())).collect();
        self.missing.clear();
        // While nothing was wanted, what is known has grown old, and is not asked for again by itself.
        let is_old = self.state == State::Idle && self.due.is_none() && !names.is_empty();
        if is_old || self.wanted_topics.iter().any(|name| !self.ids.contains_key(name)) {
            self.refresh(now, Urgency::Now);
        }
    }

    /// Sets the partitions to know about. Their topics' ids may be here before the names are.
    pub(crate) fn want_partitions(&mut self, now: Instant, partitions: BTreeSet<TopicIdPartition>) {
        self.wanted_partitions = partitions;
        if self.has_unknown() {
            self.refresh(now, Urgency::Now);
        }
    }

    /// Asks for a refresh.
    pub(crate) fn refresh(&mut self, now: Instant, urgency: Urgency) {
        if let State::InFlight { again, .. } = &mut self.state {
            *again = true;
            return;
        }
        let wanted = match urgency {
            Urgency::Now => now,
            Urgency::Debounced => now + DEBOUNCE,
        };
        self.schedule(wanted);
    }

    /// Takes over what a broker says about a leader. Returns whether the leader is now known to be this one.
    pub(crate) fn hint(&mut self, topic_partition: TopicIdPartition, node: i32, epoch: i32) -> bool {
        if node < 0 || epoch < 0 || !self.brokers.contains_key(&node) {
            return false;
        }
        let Some(topic) = self.topics.get_mut(&topic_partition.topic_id) else { return false };
        let Some(leader) = topic.leaders.get_mut(&topic_partition.partition) else { return false };
        if epoch < leader.epoch {
            return false;
        }
        *leader = Leader { node, epoch };
        self.events.push_back(MetadataEvent::Changed);
        true
    }

    /// Takes over an address that came with a hint.
    pub(crate) fn endpoint(&mut self, node: i32, host: &str, port: i32) {
        let Ok(port) = u16::try_from(port) else { return };
        if node >= 0 && !host.is_empty() {
            self.brokers.insert(node, BrokerAddress { node, host: host.to_owned(), port });
        }
    }

    /// The partition's leader, where there is one.
    pub(crate) fn leader(&self, topic_partition: TopicIdPartition) -> Option<i32> {
        let leader = self.topics.get(&topic_partition.topic_id)?.leaders.get(&topic_partition.partition)?;
        (leader.node >= 0).then_some(leader.node)
    }

    pub(crate) fn address(&self, node: i32) -> Option<&BrokerAddress> {
        self.brokers.get(&node)
    }

    pub(crate) fn topic_name(&self, id: Uuid) -> Option<&Arc<str>> {
        Some(&self.topics.get(&id)?.name)
    }

    /// Whether brokers have not had a topic of this name for long enough to be believed.
    pub(crate) fn is_missing(&self, topic: &str) -> bool {
        self.missing.get(topic).is_some_and(|(_, is_reported)| *is_reported)
    }

    /// Whether the topic of this id is gone: brokers have none of its name, or another one.
    pub(crate) fn is_replaced_or_missing(&self, topic: &str, id: Uuid) -> bool {
        !self.topics.contains_key(&id) && (self.ids.contains_key(topic) || self.is_missing(topic))
    }

    /// Whether the topic is known, without such a partition.
    pub(crate) fn lacks(&self, topic_partition: TopicIdPartition) -> bool {
        let topic = self.topics.get(&topic_partition.topic_id);
        topic.is_some_and(|topic| !topic.leaders.contains_key(&topic_partition.partition))
    }

    pub(crate) fn handle_response(&mut self, now: Instant, response: MetadataResponse) {
        let State::InFlight { by, again } = self.state else { return };
        let asked = std::mem::replace(&mut self.state, State::Idle);
        if !response.error_code.is_none() {
            return self.no_answer(now, asked);
        }
        self.earliest = Some(now + self.spacing);
        // An empty list comes from a broker that is starting: what is known is better.
        if !response.brokers.is_empty() {
            self.brokers = response
                .brokers
                .into_iter()
                .filter_map(|broker| {
                    let port = u16::try_from(broker.port).ok()?;
                    Some((broker.node_id, BrokerAddress { node: broker.node_id, host: broker.host, port }))
                })
                .collect();
        }
        let mut complete = true;
        let topics = match by {
            AskBy::All => self.match_topics(now, response.topics),
            AskBy::Names | AskBy::Ids => response.topics,
        };
        for topic in topics {
            complete &= match topic.error_code {
                ErrorCode::NONE => self.learn(topic),
                ErrorCode::UNKNOWN_TOPIC_OR_PARTITION | ErrorCode::UNKNOWN_TOPIC_ID => self.miss(now, topic),
                ErrorCode::TOPIC_AUTHORIZATION_FAILED => {
                    let topic = topic.name.map(Arc::from);
                    self.report_once(topic.clone(), now, MachineErrorKind::TopicAuthorization { topic });
                    true
                }
                code if code.is_retriable() => false,
                code => {
                    let name: Option<Arc<str>> = topic.name.as_deref().map(Arc::from);
                    let kind = MachineErrorKind::Refused { api: "Metadata", node: None, code, message: topic.name };
                    self.report_once(name, now, kind);
                    true
                }
            };
        }
        complete &=
            self.wanted_topics.iter().all(|name| self.ids.contains_key(name) || self.missing.contains_key(name));
        self.events.push_back(MetadataEvent::Changed);
        let unknown = self.has_unknown();
        if unknown && by != AskBy::Ids {
            self.state = State::AskIds;
            return;
        }
        if complete && !unknown {
            self.backoff.reset();
            self.due = self.matching.is_none().then(|| now + self.max_age);
        } else {
            self.retry(now);
        }
        if again {
            self.refresh(now, Urgency::Now);
        }
    }

    /// Takes in all topics. Returns those that matter.
    fn match_topics(&mut self, now: Instant, mut topics: Vec<MetadataResponseTopic>) -> Vec<MetadataResponseTopic> {
        // Without a pattern, another subscription has come since.
        let Some(matching) = &mut self.matching else { return Vec::new() };
        let matched = matching.answered(now, &topics, self.max_age);
        topics.retain(|topic| matching.is_wanted(topic) || self.topics.contains_key(&topic.topic_id));
        for gone in matched.gone.iter().filter_map(|name| self.ids.get(name).copied()).collect::<Vec<_>>() {
            self.forget(gone);
        }
        if let Some(names) = matched.changed {
            self.wanted_topics.clone_from(&names);
            self.events.push_back(MetadataEvent::Matched(names));
        }
        topics
    }

    pub(crate) fn handle_failure(&mut self, now: Instant, _failure: RequestFailure) {
        let asked = std::mem::replace(&mut self.state, State::Idle);
        self.no_answer(now, asked);
    }

    fn no_answer(&mut self, now: Instant, asked: State) {
        match (&mut self.matching, asked) {
            (Some(matching), State::InFlight { by: AskBy::All, .. }) => {
                matching.failed(now + self.backoff.next_delay());
            }
            _ => self.retry(now),
        }
    }

    pub(crate) fn poll(&mut self, now: Instant) -> Step<MetadataRequest, MetadataEvent> {
        if let Some(event) = self.events.pop_front() {
            return Step::Event(event);
        }
        let all_due = self.matching.as_ref().map(Matching::due);
        let by = match self.state {
            State::InFlight { .. } => return Step::Wait(None),
            State::AskIds => AskBy::Ids,
            State::Idle if all_due.is_some_and(|due| due <= now) => AskBy::All,
            State::Idle => match self.due {
                None => return Step::Wait(all_due),
                Some(due) if now < due => return Step::Wait(earlier(Some(due), all_due)),
                Some(_) if self.wanted_topics.is_empty() && self.wanted_partitions.is_empty() => {
                    self.due = None;
                    return Step::Wait(all_due);
                }
                Some(_) if self.wanted_topics.is_empty() => AskBy::Ids,
                Some(_) => AskBy::Names,
            },
        };
        self.due = None;
        self.state = State::InFlight { by, again: false };
        let topics = match by {
            AskBy::Names => {
                Some(self.wanted_topics.iter().map(|name| ask(Uuid::ZERO, Some(name.to_string()))).collect())
            }
            AskBy::Ids => {
                let ids: BTreeSet<Uuid> = self.wanted_partitions.iter().map(|partition| partition.topic_id).collect();
                Some(ids.into_iter().map(|id| ask(id, None)).collect())
            }
            AskBy::All => None,
        };
        Step::Send(MetadataRequest {
            topics,
            allow_auto_topic_creation: self.may_create && by == AskBy::Names,
            ..MetadataRequest::default()
        })
    }

    /// Takes over a topic that exists. Returns whether it is complete: each partition has a leader.
    fn learn(&mut self, topic: MetadataResponseTopic) -> bool {
        let id = topic.topic_id;
        let known = self.topics.remove(&id);
        let name: Arc<str> = match (&topic.name, &known) {
            (Some(name), Some(known)) if **name == *known.name => known.name.clone(),
            (Some(name), _) => Arc::from(name.as_str()),
            (None, Some(known)) => known.name.clone(),
            (None, None) => return false,
        };
        self.missing.remove(&name);
        if let Some(replaced) = self.ids.insert(name.clone(), id).filter(|replaced| *replaced != id) {
            self.forget(replaced);
        }
        let mut complete = true;
        let leaders = topic
            .partitions
            .iter()
            .map(|partition| {
                let said = Leader { node: partition.leader_id, epoch: partition.leader_epoch };
                let held = known.as_ref().and_then(|known| known.leaders.get(&partition.partition_index)).copied();
                // A broker that lags behind would undo what a hint has told.
                let leader = held.filter(|held| said.epoch >= 0 && held.epoch > said.epoch).unwrap_or(said);
                complete &= leader.node >= 0;
                (partition.partition_index, leader)
            })
            .collect();
        self.topics.insert(id, Topic { name, leaders });
        complete
    }

    /// A topic that the broker does not know. Returns whether that is settled: the application has heard of it.
    fn miss(&mut self, now: Instant, topic: MetadataResponseTopic) -> bool {
        let Some(name) = topic.name.map(Arc::<str>::from) else {
            // Asked by id, and an id that is gone never comes back.
            self.forget(topic.topic_id);
            return false;
        };
        if let Some(matching) = &mut self.matching {
            // Whether it still is one of those that match, the list of all has to say.
            matching.ask_at(now + self.spacing);
            return true;
        }
        let (since, _) = *self.missing.entry(name.clone()).or_insert((now, false));
        if now < since + MISSING_GRACE {
            return false;
        }
        if let Some(id) = self.ids.get(&name).copied() {
            self.forget(id);
        }
        self.report_once(Some(name.clone()), now, MachineErrorKind::UnknownTopic { topic: name });
        true
    }

    /// Tells the application, once until the topic is well again.
    fn report_once(&mut self, topic: Option<Arc<str>>, now: Instant, kind: MachineErrorKind) {
        let key = topic.unwrap_or_else(|| Arc::from(""));
        let (_, reported) = self.missing.entry(key).or_insert((now, false));
        if !std::mem::replace(reported, true) {
            self.events.push_back(MetadataEvent::Failed(MachineError::passing(kind)));
        }
    }

    fn forget(&mut self, id: Uuid) {
        if let Some(topic) = self.topics.remove(&id)
            && self.ids.get(&topic.name) == Some(&id)
        {
            self.ids.remove(&topic.name);
        }
        self.events.push_back(MetadataEvent::Gone(id));
    }

    fn has_unknown(&self) -> bool {
        self.wanted_partitions.iter().any(|wanted| {
            self.topics.get(&wanted.topic_id).is_none_or(|topic| !topic.leaders.contains_key(&wanted.partition))
        })
    }

    fn schedule(&mut self, wanted: Instant) {
        let wanted = self.earliest.map_or(wanted, |earliest| wanted.max(earliest));
        self.due = Some(self.due.map_or(wanted, |due| due.min(wanted)));
    }

    fn retry(&mut self, now: Instant) {
        self.due = Some(now + self.backoff.next_delay());
    }
}

fn ask(topic_id: Uuid, name: Option<String>) -> MetadataRequestTopic {
    MetadataRequestTopic { topic_id, name }
}
