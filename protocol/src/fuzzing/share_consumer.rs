//! Sequences of what an application, a network and brokers of any kind do to the machine of a share consumer.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use super::broker::{self, TOPIC};
use super::{Input, OPERATIONS, OUTPUTS, bounded, failure, pause};
use crate::machine::{
    AckId, AckRange, AckType, AcquireMode, Acquisition, AcquisitionId, AutoRenew, ClientRequest, ClientResponse,
    CommitId, Destination, Event, KeepId, Output, RequestFailure, RequestId, SessionId, ShareConsumerMachine,
    ShareConsumerOptions, TopicIdPartition,
};

/// Target `share_consumer`: each byte chooses an operation, and the bytes after it what it does. Brokers answer well,
/// or badly, or with what makes no sense; the application keeps to the contract of [`ShareConsumerMachine`] but may
/// acknowledge whatever it likes. `start` is any instant; time passes only as the input says.
///
/// # Panics
/// Where the machine never waits, or waits for a time that has passed; sends a second request to a session before the
/// first is answered; sends acknowledgements that are not sorted and disjoint; acquires what is not sorted and disjoint;
/// or ends an acknowledgement or a commit more than once, or not at all when every session has ended.
pub fn share_consumer(start: Instant, data: &[u8]) {
    let mut input = Input::new(bounded(data));
    let mut world = World::new(start, &mut input);
    for _ in 0..OPERATIONS {
        if input.is_empty() {
            break;
        }
        world.operate(&mut input);
    }
    world.finish();
}

struct Sent {
    id: RequestId,
    to: Destination,
    request: ClientRequest,
}

impl Sent {
    fn session_node(&self) -> Option<i32> {
        match &self.to {
            Destination::Session(address) => Some(address.node),
            _ => None,
        }
    }
}

struct World {
    machine: ShareConsumerMachine,
    now: Instant,
    wait: Option<Instant>,
    sent: Vec<Sent>,
    /// Requests whose session is gone. They may still be answered, too late.
    stale: Vec<Sent>,
    /// Acquisitions that the application was told of and did not take over.
    told: Vec<Acquisition>,
    taken: Vec<Acquisition>,
    /// How often each has ended.
    acknowledgements: BTreeMap<AckId, u32>,
    commits: BTreeMap<CommitId, u32>,
    keeps: BTreeMap<KeepId, u32>,
    nodes: BTreeSet<i32>,
}

impl World {
    fn new(now: Instant, input: &mut Input<'_>) -> Self {
        let mut options = ShareConsumerOptions::new("group", "member");
        options.acquire_mode = input.pick(&[AcquireMode::BatchOptimized, AcquireMode::RecordLimit]);
        options.max_poll_records = input.pick(&[500, 1, 10]);
        options.decompression_limit = 1 << 20;
        let mut world = Self {
            machine: ShareConsumerMachine::new(now, u64::from(input.byte()), options),
            now,
            wait: None,
            sent: Vec::new(),
            stale: Vec::new(),
            told: Vec::new(),
            taken: Vec::new(),
            acknowledgements: BTreeMap::new(),
            commits: BTreeMap::new(),
            keeps: BTreeMap::new(),
            nodes: BTreeSet::new(),
        };
        world.machine.subscribe(now, vec!["topic".to_owned()]);
        world.machine.polled(now);
        world.drain();
        world
    }

    fn operate(&mut self, input: &mut Input<'_>) {
        let now = self.now;
        match input.below(16) {
            0..=5 => self.answer(input),
            6 => self.fail(input),
            7 => self.machine.polled(now),
            8 => self.take(),
            9 | 10 => self.acknowledge(input),
            11 => {
                let id = self.machine.commit(now);
                assert!(self.commits.insert(id, 0).is_none(), "{id:?} twice");
            }
            12 | 13 => self.sleep(pause(input)),
            14 => self.disconnect(1 + input.below(3) as i32),
            _ => self.do_rare_things(input),
        }
        self.drain();
    }

    fn do_rare_things(&mut self, input: &mut Input<'_>) {
        let now = self.now;
        match input.below(8) {
            0 => self.machine.subscribe(now, Vec::new()),
            1 => self.machine.subscribe(now, vec!["topic".to_owned(), "other".to_owned()]),
            2 => self.machine.close(now),
            3 => self.machine.want_records(now, input.once_in(2)),
            4 => self.machine.handle_share_version(now, input.pick(&[Some(1), None, Some(0), Some(-1)])),
            5 => {
                if let Some(late) = self.stale.pop() {
                    self.machine.handle_response(now, late.id, broker::response(&late.request, input));
                }
            }
            6 => self.keep(input),
            _ => {
                if !self.told.is_empty() {
                    let dropped = self.told.remove(0);
                    self.machine.dropped(now, &dropped);
                }
            }
        }
    }

    /// Locks are to be renewed by themselves.
    fn keep(&mut self, input: &mut Input<'_>) {
        let Some(taken) = self.taken.last() else { return };
        let renew = AutoRenew { at_percent: input.byte(), max_renewals: input.below(4) as u32, ..AutoRenew::default() };
        if let Some(id) = self.machine.keep(self.now, taken.id(), taken.topic_partition, &taken.ranges, renew) {
            assert!(self.keeps.insert(id, 0).is_none(), "{id:?} twice");
        }
    }

    /// A broker answers one of the requests.
    fn answer(&mut self, input: &mut Input<'_>) {
        if !self.sent.is_empty() {
            let sent = self.sent.remove(input.below(self.sent.len()));
            self.respond(&sent, broker::response(&sent.request, input));
        }
    }

    fn fail(&mut self, input: &mut Input<'_>) {
        if !self.sent.is_empty() {
            let sent = self.sent.remove(input.below(self.sent.len()));
            self.respond(&sent, Err(failure(input)));
        }
    }

    fn respond(&mut self, sent: &Sent, response: Result<ClientResponse, RequestFailure>) {
        self.machine.handle_response(self.now, sent.id, response);
        self.drain();
    }

    fn take(&mut self) {
        self.machine.polled(self.now);
        self.drain();
        if !self.told.is_empty() {
            let acquisition = self.told.remove(0);
            self.machine.taken(self.now, acquisition.records);
            self.taken.push(acquisition);
        }
    }

    fn acknowledge(&mut self, input: &mut Input<'_>) {
        let nobodys = AcquisitionId { session: SessionId { node: 1, incarnation: 1 }, number: 1 };
        let (acquisition, topic_partition, base) = match self.taken.len() {
            0 => (nobodys, TopicIdPartition { topic_id: TOPIC, partition: 0 }, 0),
            taken => {
                let acquisition = &self.taken[taken - 1 - input.below(taken)];
                let base = acquisition.ranges.first().map_or(0, |range| range.first);
                (acquisition.id(), acquisition.topic_partition, base)
            }
        };
        let mut ranges = Vec::new();
        for _ in 0..input.pick(&[1, 1, 1, 2, 3, 0]) {
            let (first, length) = match input.below(8) {
                7 => (input.i64(), input.i64()),
                _ => (base.saturating_add(i64::from(input.byte() % 16)), i64::from(input.byte() % 16)),
            };
            let ack = input.pick(&[
                AckType::Accept,
                AckType::Accept,
                AckType::Renew,
                AckType::Release,
                AckType::Reject,
                AckType::Gap,
            ]);
            ranges.push(AckRange { first, last: first.saturating_add(length), ack });
        }
        let id = self.machine.acknowledge(self.now, acquisition, topic_partition, ranges);
        assert!(self.acknowledgements.insert(id, 0).is_none(), "{id:?} twice");
    }

    fn disconnect(&mut self, node: i32) {
        self.session_is_gone(node);
        self.machine.handle_disconnect(self.now, node);
        self.drain();
    }

    fn session_is_gone(&mut self, node: i32) {
        let gone = self.sent.extract_if(.., |sent| sent.session_node() == Some(node));
        self.stale.extend(gone);
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
        self.drain();
    }

    /// Polls until the machine waits.
    fn drain(&mut self) {
        for _ in 0..OUTPUTS {
            match self.machine.poll(self.now) {
                Output::Send { id, to, request, .. } => self.send(Sent { id, to, request }),
                Output::Event(event) => self.hear(event),
                Output::Wait(wait) => {
                    assert!(wait.is_none_or(|wait| wait > self.now), "a deadline has passed and was not acted on");
                    self.wait = wait;
                    return;
                }
            }
        }
        panic!("the machine never waits");
    }

    fn send(&mut self, sent: Sent) {
        if let Some(node) = sent.session_node() {
            self.nodes.insert(node);
            let other = self.sent.iter().find(|other| other.session_node() == Some(node));
            assert!(other.is_none(), "two requests to node {node}");
        }
        broker::check(&sent.request);
        self.sent.push(sent);
    }

    fn hear(&mut self, event: Event) {
        match event {
            Event::Acquired(acquisition) => {
                assert!(!acquisition.ranges.is_empty(), "an acquisition of nothing");
                for range in &acquisition.ranges {
                    assert!(0 <= range.first && range.first <= range.last, "{range:?}");
                }
                assert!(acquisition.ranges.windows(2).all(|pair| pair[0].last < pair[1].first), "not disjoint");
                self.told.push(acquisition);
            }
            Event::Acknowledged { id, .. } => {
                let ends = self.acknowledgements.get_mut(&id).expect("an id that was given out");
                *ends += 1;
                assert_eq!(*ends, 1, "{id:?} ended again");
            }
            Event::Committed { id, .. } => {
                let ends = self.commits.get_mut(&id).expect("an id that was given out");
                *ends += 1;
                assert_eq!(*ends, 1, "{id:?} ended again");
            }
            Event::KeepEnded { id, .. } => {
                let ends = self.keeps.get_mut(&id).expect("an id that was given out");
                *ends += 1;
                assert_eq!(*ends, 1, "{id:?} ended again");
            }
            Event::SessionLost { session, .. } => {
                self.told.retain(|acquisition| acquisition.session != session);
                self.session_is_gone(session.node);
            }
            _ => {}
        }
    }

    /// Every session ends, and with it everything that was said about its records.
    fn finish(mut self) {
        self.machine.close(self.now);
        self.drain();
        for node in self.nodes.clone() {
            self.disconnect(node);
        }
        for (id, ends) in &self.acknowledgements {
            assert_eq!(*ends, 1, "{id:?}");
        }
        for (id, ends) in &self.commits {
            assert_eq!(*ends, 1, "{id:?}");
        }
        for (id, ends) in &self.keeps {
            assert_eq!(*ends, 1, "{id:?}");
        }
    }
}
