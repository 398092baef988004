//! The machine that knows topics, leaders and brokers.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::broker::{self, OTHER_TOPIC, TOPIC};
use super::{Input, OPERATIONS, OUTPUTS, bounded, failure, pause};
use crate::machine::metadata::{Metadata, MetadataEvent, Urgency};
use crate::machine::types::Step;
use crate::machine::{MachineErrorKind, TopicIdPartition};
use crate::messages::metadata::{
    MetadataRequest, MetadataResponse, MetadataResponseBroker, MetadataResponsePartition, MetadataResponseTopic,
};
use crate::wire::ErrorCode;

const MAX_AGE: Duration = Duration::from_secs(300);
const BACKOFF: Duration = Duration::from_millis(100);
const BACKOFF_MAX: Duration = Duration::from_secs(1);

const NAMES: [&str; 2] = ["topic", "other"];

/// Requests that may be sent without time passing: by names, and by ids for what those left unknown.
const AT_ONCE: u32 = 2;

/// Target `metadata`: each byte chooses an operation: what is wanted changes, a leader is known to be wrong or is hinted
/// at, time passes, a broker answers well, badly, with what makes no sense, or not at all. `start` is any instant.
///
/// # Panics
/// Where the machine never waits, or waits for a time that has passed; sends a second request before the first is
/// answered, or requests without a pause; asks for what is not wanted; goes back to a leader of an older epoch; tells of a
/// missing topic twice; or does not know a leader of all that is wanted after good answers.
pub fn metadata(start: Instant, data: &[u8]) {
    let mut input = Input::new(bounded(data));
    let mut world = World {
        now: start,
        wait: None,
        metadata: Metadata::new(MAX_AGE, BACKOFF, BACKOFF_MAX, input.byte().into()),
        sent: None,
        topics: Vec::new(),
        partitions: BTreeSet::new(),
        sent_at: (start, 0),
        hinted: BTreeMap::new(),
        missing: BTreeSet::new(),
    };
    for _ in 0..OPERATIONS {
        if input.is_empty() {
            break;
        }
        world.operate(&mut input);
        world.drain();
    }
    world.finish();
}

struct World {
    now: Instant,
    wait: Option<Instant>,
    metadata: Metadata,
    sent: Option<MetadataRequest>,
    topics: Vec<String>,
    partitions: BTreeSet<TopicIdPartition>,
    /// When the last request was sent, and how many were sent then.
    sent_at: (Instant, u32),
    /// Leaders and epochs that the machine took over from other answers, until a newer one is told.
    hinted: BTreeMap<TopicIdPartition, (i32, i32)>,
    /// Topics that the application was told to be missing.
    missing: BTreeSet<Arc<str>>,
}

fn partition(input: &mut Input<'_>) -> TopicIdPartition {
    let topic_id = input.pick(&[TOPIC, TOPIC, TOPIC, OTHER_TOPIC]);
    TopicIdPartition { topic_id, partition: input.pick(&[0, 1, 2, 3, 0, 1, 2, 3, 4, -1, i32::MAX]) }
}

impl World {
    fn operate(&mut self, input: &mut Input<'_>) {
        let operation = input.below(16);
        if operation <= 4 {
            // What the application wants it gets at once, as often as it wants something else.
            self.sent_at.1 = 0;
        }
        match operation {
            0 | 1 => {
                self.topics = NAMES[..input.below(3)].iter().map(|name| (*name).to_owned()).collect();
                self.missing.clear();
                self.metadata.want_topics(self.now, &self.topics);
            }
            2 | 3 => {
                self.partitions = (0..input.below(5)).map(|_| partition(input)).collect();
                self.metadata.want_partitions(self.now, self.partitions.clone());
            }
            4 => self.metadata.refresh(self.now, input.pick(&[Urgency::Now, Urgency::Debounced])),
            5 | 6 => self.hint(input),
            7 => self.metadata.endpoint(
                input.pick(&[1, 2, 3, 4, -1]),
                input.pick(&["host", ""]),
                input.pick(&[9_092, -1, 65_536]),
            ),
            8..=10 => self.sleep(pause(input)),
            11 => {
                if self.sent.take().is_some() {
                    self.metadata.handle_failure(self.now, failure(input));
                }
            }
            _ => {
                if let Some(request) = self.sent.take() {
                    let mut response = broker::metadata(&request, input);
                    if input.once_in(8) {
                        response.topics.iter_mut().for_each(|topic| topic.error_code = broker::code(input));
                    }
                    self.answer(response);
                }
            }
        }
    }

    fn hint(&mut self, input: &mut Input<'_>) {
        let (partition, node) = (partition(input), input.pick(&[1, 2, 3, 4, -1]));
        let epoch = input.pick(&[0, 1, 2, 4, 8, i32::MAX, -1]);
        if self.metadata.hint(partition, node, epoch) {
            assert_eq!(self.metadata.leader(partition), Some(node));
            let before = self.hinted.insert(partition, (node, epoch));
            assert!(before.is_none_or(|(_, before)| before <= epoch), "back from epoch {before:?} to {epoch}");
        }
    }

    fn answer(&mut self, response: MetadataResponse) {
        let said: Vec<_> = response
            .topics
            .iter()
            .filter(|_| response.error_code.is_none())
            .map(|topic| (topic.error_code, topic.topic_id, topic.name.clone(), topic.partitions.clone()))
            .collect();
        self.metadata.handle_response(self.now, response);
        for (code, topic_id, name, partitions) in said {
            if !code.is_none() {
                continue;
            }
            if let Some(name) = name {
                self.missing.remove(&*name);
            }
            // What the answer tells of a partition counts, unless a hint of a newer epoch came before.
            self.hinted.retain(|hinted, (_, epoch)| {
                let told = partitions.iter().rfind(|told| told.partition_index == hinted.partition);
                let is_newer = |told: &MetadataResponsePartition| told.leader_epoch >= 0 && told.leader_epoch < *epoch;
                hinted.topic_id != topic_id || told.is_some_and(is_newer)
            });
        }
    }

    fn check_hints(&mut self) {
        let metadata = &self.metadata;
        // A topic that is forgotten takes its leaders with it.
        self.hinted.retain(|partition, _| metadata.topic_name(partition.topic_id).is_some());
        for (partition, (node, epoch)) in &self.hinted {
            let leader = metadata.leader(*partition);
            assert_eq!(leader, Some(*node), "epoch {epoch} of {partition:?} was forgotten");
        }
    }

    /// Lets time pass, waking the machine as it wants.
    fn sleep(&mut self, time: Duration) {
        let end = self.now + time;
        for _ in 0..OUTPUTS {
            let Some(wait) = self.wait.filter(|wait| *wait <= end) else { break };
            self.now = wait;
            self.drain();
        }
        self.now = end;
    }

    fn drain(&mut self) {
        for _ in 0..OUTPUTS {
            match self.metadata.poll(self.now) {
                Step::Event(event) => self.hear(event),
                Step::Send(request) => self.send(request),
                Step::Wait(wait) => {
                    assert!(wait.is_none_or(|wait| wait > self.now), "a deadline has passed and was not acted on");
                    self.wait = wait;
                    return self.check_hints();
                }
            }
        }
        panic!("the machine never waits");
    }

    fn hear(&mut self, event: MetadataEvent) {
        match event {
            MetadataEvent::Changed => {}
            MetadataEvent::Gone(topic) => self.hinted.retain(|partition, _| partition.topic_id != topic),
            MetadataEvent::Matched(topics) => panic!("{topics:?} match, and no pattern was given"),
            MetadataEvent::Failed(error) => {
                assert!(!error.fatal, "{error}");
                if let MachineErrorKind::UnknownTopic { topic } = error.kind {
                    assert!(self.missing.insert(topic.clone()), "{topic} is missing, told again");
                }
            }
        }
    }

    fn send(&mut self, request: MetadataRequest) {
        let (at, times) = self.sent_at;
        self.sent_at = if at == self.now { (at, times + 1) } else { (self.now, 1) };
        assert!(self.sent_at.1 <= AT_ONCE, "requests without a pause");
        assert!(!request.allow_auto_topic_creation);
        let asked = request.topics.as_ref().expect("topics are asked for one by one");
        assert!(!asked.is_empty(), "a request for nothing");
        for topic in asked {
            match &topic.name {
                Some(name) => assert!(topic.topic_id.is_zero() && self.topics.contains(name), "{name} is not wanted"),
                None => {
                    let is_wanted = self.partitions.iter().any(|partition| partition.topic_id == topic.topic_id);
                    assert!(is_wanted, "{} is not wanted", topic.topic_id);
                }
            }
        }
        assert!(self.sent.replace(request).is_none(), "two requests on the wire");
    }

    /// Brokers that know everything answer from now on.
    fn finish(mut self) {
        self.topics = NAMES.map(str::to_owned).to_vec();
        self.missing.clear();
        self.sent_at.1 = 0;
        self.metadata.want_topics(self.now, &self.topics);
        let partition = |topic_id| (0..4).map(move |partition| TopicIdPartition { topic_id, partition });
        self.partitions = partition(TOPIC).chain(partition(OTHER_TOPIC)).collect();
        self.metadata.want_partitions(self.now, self.partitions.clone());
        // What is known may be of brokers that are gone.
        self.metadata.refresh(self.now, Urgency::Now);
        self.drain();
        for _ in 0..64 {
            if let Some(request) = self.sent.take() {
                self.answer(all_is_well(&request));
            } else if let Some(wait) = self.wait.filter(|wait| *wait < self.now + MAX_AGE) {
                self.now = wait;
            } else {
                break;
            }
            self.drain();
        }
        assert!(self.sent.is_none(), "still asking after good answers");
        for partition in &self.partitions {
            let leader = self.metadata.leader(*partition).expect("a leader of what is wanted");
            assert_eq!(self.metadata.address(leader).map(|address| address.node), Some(leader));
        }
    }
}

fn all_is_well(request: &MetadataRequest) -> MetadataResponse {
    let brokers = (1..=3).map(|node_id| MetadataResponseBroker { node_id, host: "host".into(), port: 1, rack: None });
    let partition = |partition_index| MetadataResponsePartition {
        partition_index,
        leader_id: 1,
        leader_epoch: i32::MAX,
        ..Default::default()
    };
    let topics = request.topics.iter().flatten().map(|asked| {
        let name = match asked.topic_id {
            OTHER_TOPIC => "other",
            TOPIC => "topic",
            _ => asked.name.as_deref().unwrap_or_default(),
        };
        MetadataResponseTopic {
            error_code: ErrorCode::NONE,
            name: Some(name.to_owned()),
            topic_id: if name == "other" { OTHER_TOPIC } else { TOPIC },
            partitions: (0..4).map(partition).collect(),
            ..Default::default()
        }
    });
    MetadataResponse { brokers: brokers.collect(), topics: topics.collect(), ..Default::default() }
}
