//! A member and its group: the machines of the membership and of the coordinator, run as a share consumer runs them.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use super::{Input, OPERATIONS, OUTPUTS, bounded, broker, failure, pause};
use crate::machine::coordinator::{CoordinatorMachine, KeyType};
use crate::machine::membership::{Membership, MembershipEvent};
use crate::machine::types::{Step, earlier};
use crate::messages::find_coordinator::FindCoordinatorRequest;
use crate::messages::share_group_heartbeat::{ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse};

const BACKOFF: Duration = Duration::from_millis(100);
const BACKOFF_MAX: Duration = Duration::from_secs(1);

/// Target `group`: each byte chooses an operation: the application subscribes or leaves, time passes, the coordinator
/// answers well, badly, with what makes no sense, or not at all. `start` is any instant.
///
/// # Panics
/// Where the machines never wait, or wait for a time that has passed; send a second request before the first is
/// answered; send an epoch that the group did not give out; join without saying everything, or say anything when leaving;
/// keep an assignment without being a member; do anything after a fatal error; or do not get out of the group while the
/// coordinator answers well.
pub fn group(start: Instant, data: &[u8]) {
    let mut input = Input::new(bounded(data));
    let mut world = World::new(start, &mut input);
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
    membership: Membership,
    coordinator: CoordinatorMachine,
    heartbeat: Option<ShareGroupHeartbeatRequest>,
    lookup: Option<FindCoordinatorRequest>,
    topics: Vec<String>,
    /// The epoch that the group gave out last.
    epoch: Option<i32>,
    /// Whether the next heartbeat, unless it leaves, must say everything: the group may not know it.
    is_unknown: bool,
    is_dead: bool,
}

impl World {
    fn new(now: Instant, input: &mut Input<'_>) -> Self {
        let seed = input.byte().into();
        let rack = input.pick(&[None, Some("rack"), Some("")]).map(str::to_owned);
        let membership = Membership::new("group".into(), "member".into(), rack, BACKOFF, BACKOFF_MAX, seed);
        let coordinator = CoordinatorMachine::new(KeyType::Group, "group".into(), BACKOFF, BACKOFF_MAX, seed);
        let mut world = Self {
            now,
            wait: None,
            membership,
            coordinator,
            heartbeat: None,
            lookup: None,
            topics: Vec::new(),
            epoch: None,
            is_unknown: true,
            is_dead: false,
        };
        world.subscribe(&["topic"]);
        world.drain();
        world
    }

    fn subscribe(&mut self, topics: &[&str]) {
        let topics: Vec<String> = topics.iter().map(|topic| (*topic).to_owned()).collect();
        self.is_unknown |= topics != self.topics;
        self.topics.clone_from(&topics);
        self.membership.subscribe(topics);
    }

    fn operate(&mut self, input: &mut Input<'_>) {
        match input.below(16) {
            0..=4 => {
                if let Some(request) = self.heartbeat.take() {
                    let response = broker::heartbeat(&request, input);
                    self.answer(&request, response);
                }
                if self.lookup.take().is_some() {
                    self.coordinator.handle_response(self.now, broker::coordinator(input));
                }
            }
            5 => {
                if self.heartbeat.take().is_some() {
                    self.is_unknown = true;
                    self.membership.handle_failure(self.now, failure(input));
                }
            }
            6 => {
                if self.lookup.take().is_some() {
                    self.coordinator.handle_failure(self.now, failure(input));
                }
            }
            7..=11 => self.sleep(pause(input)),
            12 => self.subscribe(input.pick(&[&["topic"][..], &["topic", "other"], &["other"]])),
            13 => self.membership.leave(),
            14 => self.membership.rejoin(),
            _ => {
                if input.once_in(8) {
                    self.membership.give_up();
                    self.is_dead = true;
                }
            }
        }
    }

    fn answer(&mut self, request: &ShareGroupHeartbeatRequest, response: ShareGroupHeartbeatResponse) {
        if response.error_code.is_none() {
            // With a new epoch there may be an assignment that went to a heartbeat nobody waits for.
            let rises = request.member_epoch > 0 && request.member_epoch < response.member_epoch;
            self.is_unknown |= rises && response.assignment.is_none();
            self.epoch = if response.member_epoch > 0 { Some(response.member_epoch) } else { self.epoch };
        } else {
            self.is_unknown = true;
        }
        if request.member_epoch < 0 {
            self.is_unknown = true;
        }
        self.membership.handle_response(self.now, response);
    }

    /// Lets time pass, waking the machines as they want.
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
            let is_known = self.coordinator.address().is_some();
            let heartbeat = match self.membership.poll(self.now, is_known) {
                Step::Event(event) => {
                    self.hear(event);
                    continue;
                }
                Step::Send(request) => {
                    assert!(is_known, "a heartbeat to nobody");
                    self.check(&request);
                    assert!(self.heartbeat.replace(request).is_none(), "two heartbeats on the wire");
                    continue;
                }
                Step::Wait(wait) => wait,
            };
            let mut lookup = None;
            if self.membership.needs_coordinator() {
                match self.coordinator.poll(self.now) {
                    Step::Event(error) => {
                        assert!(error.fatal, "{error}");
                        self.membership.give_up();
                        self.is_dead = true;
                        continue;
                    }
                    Step::Send(request) => {
                        assert_eq!(request.coordinator_keys, ["group"]);
                        assert!(self.lookup.replace(request).is_none(), "two lookups on the wire");
                        continue;
                    }
                    Step::Wait(wait) => lookup = wait,
                }
            }
            self.wait = earlier(heartbeat, lookup);
            assert!(self.wait.is_none_or(|wait| wait > self.now), "a deadline has passed and was not acted on");
            let member = &self.membership;
            assert!(member.is_member() || member.assignment().is_empty(), "an assignment without a member");
            return;
        }
        panic!("the machines never wait");
    }

    fn hear(&mut self, event: MembershipEvent) {
        match event {
            MembershipEvent::CoordinatorLost => self.coordinator.lost(self.now),
            MembershipEvent::CoordinatorConfirmed => self.coordinator.confirmed(),
            MembershipEvent::Left => self.is_unknown = true,
            MembershipEvent::Failed(error) => self.is_dead |= error.fatal,
            MembershipEvent::Assigned => {}
        }
    }

    fn check(&mut self, request: &ShareGroupHeartbeatRequest) {
        assert!(!self.is_dead, "a heartbeat after the end");
        assert_eq!((&*request.group_id, &*request.member_id), ("group", "member"));
        let topics = request.subscribed_topic_names.as_ref();
        match request.member_epoch {
            -1 => assert!(topics.is_none() && request.rack_id.is_none(), "a leave that says more"),
            0 => assert_eq!(topics, Some(&self.topics), "a join that does not say everything"),
            epoch => {
                assert_eq!(Some(epoch), self.epoch, "an epoch that the group did not give out");
                let says_all = if self.is_unknown { Some(&self.topics) } else { None };
                assert_eq!(topics, says_all, "not what the group has to know");
            }
        }
        self.is_unknown &= request.member_epoch < 0;
    }

    /// The member leaves, and the coordinator answers well from now on.
    fn finish(mut self) {
        self.membership.leave();
        self.drain();
        for _ in 0..64 {
            let well = &mut Input::new(&[]);
            if let Some(request) = self.heartbeat.take() {
                self.answer(&request, broker::heartbeat(&request, well));
            } else if self.lookup.take().is_some() {
                self.coordinator.handle_response(self.now, broker::coordinator(well));
            } else if let Some(wait) = self.wait {
                self.now = wait;
            } else {
                break;
            }
            self.drain();
        }
        assert!(self.is_dead || !self.membership.needs_coordinator(), "still in the group");
        assert_eq!(self.membership.assignment(), &BTreeSet::new());
    }
}
