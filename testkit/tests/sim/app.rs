//! The caller of one member: it polls, works, and settles what it got, sometimes late, twice or never.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use ackflow_protocol::machine::{
    AckId, AckRange, AckType, AcquireMode, AcquiredRange, Acquisition, AcquisitionId, CommitId, Event, SessionId,
    ShareConsumerMachine, TopicIdPartition,
};

use ackflow_protocol::wire::ErrorCode;

use crate::member::MemberEvent;
use crate::sim::{Sim, What};

/// Something that the caller waits for.
#[derive(Debug)]
pub(crate) enum AppEvent {
    /// It polls, or something has come that a poll waits for.
    Poll,
    /// A poll that waits tells so again.
    Announce(u64),
    /// It is through with what it got.
    Done,
    /// It settles what it has kept.
    Settle(u64),
    /// It wants records again.
    Resume,
}

/// Records of one acquisition.
#[derive(Debug, Clone)]
struct Part {
    topic: Arc<str>,
    partition: TopicIdPartition,
    session: SessionId,
    number: u64,
    timeout: Duration,
    deadline: Instant,
    ranges: Vec<AcquiredRange>,
}

impl Part {
    fn new(acquisition: &Acquisition) -> Self {
        Self {
            topic: acquisition.topic.clone(),
            partition: acquisition.topic_partition,
            session: acquisition.session,
            number: acquisition.number,
            timeout: acquisition.lock_timeout,
            deadline: acquisition.lock_deadline,
            ranges: acquisition.ranges.clone(),
        }
    }

    fn id(&self) -> AcquisitionId {
        AcquisitionId { session: self.session, number: self.number }
    }

    /// Whether enough of its lock is left to be handed out, as the client has it.
    fn is_worth_starting(&self, now: Instant) -> bool {
        now + self.timeout / 10 < self.deadline
    }

    fn records(&self) -> u64 {
        self.ranges.iter().map(|range| (range.last - range.first + 1) as u64).sum()
    }

    fn take_front(&mut self, most: u64) -> Self {
        let (mut left, mut taken) = (most as i64, Vec::new());
        while let (Some(range), 1..) = (self.ranges.first_mut(), left) {
            let last = range.last.min(range.first + left - 1);
            taken.push(AcquiredRange { last, ..*range });
            left -= last - range.first + 1;
            if last == range.last {
                self.ranges.remove(0);
            } else {
                range.first = last + 1;
            }
        }
        Self { ranges: taken, ..self.clone() }
    }

    fn acquisition(&self) -> Acquisition {
        Acquisition {
            topic: self.topic.clone(),
            topic_partition: self.partition,
            session: self.session,
            number: self.number,
            lock_timeout: self.timeout,
            lock_deadline: self.deadline,
            records: self.records() as u32,
            ranges: self.ranges.clone(),
            batches: Vec::new(),
        }
    }

    fn verdict(&self, ack: AckType) -> Vec<AckRange> {
        self.ranges.iter().map(|range| AckRange { first: range.first, last: range.last, ack }).collect()
    }
}

#[derive(Debug)]
enum Phase {
    /// A poll waits; since when, and whether the machine knows.
    Polling {
        since: Instant,
        announced: bool,
    },
    Working(Part),
    Stopped,
}

/// What the caller has said and not heard of.
#[derive(Debug)]
struct Said {
    at: Instant,
    acquisition: AcquisitionId,
    ranges: Vec<AckRange>,
    /// Until when the machine had said that the records are locked.
    deadline: Instant,
    /// The delivery whose lock it renews.
    renews: Option<Part>,
}

#[derive(Debug)]
pub(crate) struct App {
    member: usize,
    life: u32,
    buffer: VecDeque<Part>,
    phase: Phase,
    kept: BTreeMap<u64, Part>,
    /// Names what is kept.
    last_kept: u64,
    /// Names the polls that wait.
    last_wait: u64,
    lost: BTreeSet<SessionId>,
    /// Partitions that were lost while their session went on.
    lost_partitions: BTreeSet<(SessionId, TopicIdPartition)>,
    said: BTreeMap<AckId, Said>,
    commits: BTreeMap<CommitId, Instant>,
    pub(crate) assigned: Vec<TopicIdPartition>,
    /// Records that came, words about them, and refusals of words, each of which may be followed by smaller parts of it.
    activity: u64,
    /// It takes very long for the next records.
    pub(crate) slow: Option<Duration>,
}

impl App {
    pub(crate) fn new(member: usize, life: u32) -> Self {
        Self {
            member,
            life,
            buffer: VecDeque::new(),
            phase: Phase::Stopped,
            kept: BTreeMap::new(),
            last_kept: 0,
            last_wait: 0,
            lost: BTreeSet::new(),
            lost_partitions: BTreeSet::new(),
            said: BTreeMap::new(),
            commits: BTreeMap::new(),
            assigned: Vec::new(),
            activity: 0,
            slow: None,
        }
    }

    fn soon(&self, sim: &mut Sim, delay: Duration, event: AppEvent) {
        sim.after(delay, What::Member { member: self.member, life: self.life, event: MemberEvent::App(event) });
    }

    /// Begins to poll.
    pub(crate) fn begin(&mut self, sim: &mut Sim) {
        self.phase = Phase::Polling { since: sim.now, announced: false };
        let delay = sim.random.micros(0, 200);
        self.soon(sim, delay, AppEvent::Poll);
    }

    /// Polls no more, and lets go of all it has.
    pub(crate) fn stop(&mut self) {
        self.phase = Phase::Stopped;
        self.buffer.clear();
        self.kept.clear();
    }

    /// A broker refused words about so many partitions.
    pub(crate) fn refused(&mut self, partitions: u64) {
        self.activity += partitions;
    }

    pub(crate) fn activity(&self) -> u64 {
        self.activity
    }

    /// Since when a poll waits.
    pub(crate) fn waiting_since(&self) -> Option<Instant> {
        match self.phase {
            Phase::Polling { since, .. } => Some(since),
            _ => None,
        }
    }

    /// How many records could be handed out of the sessions and partitions that are meant.
    pub(crate) fn buffered(&self, now: Instant, means: impl Fn(i32, TopicIdPartition) -> bool) -> u64 {
        let meant = self.buffer.iter().filter(|part| means(part.session.node, part.partition));
        meant.filter(|part| part.is_worth_starting(now)).map(Part::records).sum()
    }

    pub(crate) fn handle(&mut self, sim: &mut Sim, machine: &mut ShareConsumerMachine, id: &str, event: AppEvent) {
        match event {
            AppEvent::Poll => self.poll(sim, machine, id),
            AppEvent::Announce(wait) => {
                if let (Phase::Polling { .. }, true) = (&self.phase, wait == self.last_wait) {
                    self.announce(sim, machine);
                }
            }
            AppEvent::Done => {
                if let Phase::Working(part) = std::mem::replace(&mut self.phase, Phase::Stopped) {
                    self.done(sim, machine, id, part);
                    self.begin(sim);
                }
            }
            AppEvent::Settle(kept) => {
                if let Some(part) = self.kept.remove(&kept) {
                    self.settle(sim, machine, id, part);
                }
            }
            AppEvent::Resume => machine.want_records(sim.now, true),
        }
    }

    fn poll(&mut self, sim: &mut Sim, machine: &mut ShareConsumerMachine, id: &str) {
        let Phase::Polling { announced, .. } = self.phase else { return };
        let (expired, fresh): (VecDeque<Part>, VecDeque<Part>) =
            std::mem::take(&mut self.buffer).into_iter().partition(|part| !part.is_worth_starting(sim.now));
        self.buffer = fresh;
        for part in expired {
            crate::trace!(sim, "m{} lets {} records go", self.member, part.records());
            sim.oracle.let_go(&part.partition, &part.ranges);
            machine.dropped(sim.now, &part.acquisition());
        }
        let most = u64::from(sim.plan.max_poll_records);
        let Some(front) = self.buffer.front_mut() else {
            if !announced {
                self.announce(sim, machine);
            }
            return;
        };
        let part = if front.records() <= most {
            self.buffer.pop_front().expect("there is a front")
        } else {
            front.take_front(most)
        };
        if !announced {
            machine.polled(sim.now);
        }
        crate::trace!(
            sim,
            "m{} gets {} {:?}",
            self.member,
            sim.oracle.name(part.partition.topic_id, part.partition.partition),
            part.ranges
        );
        sim.counts.handed_out += part.records();
        sim.oracle.handed_out((id, self.life), part.id(), part.partition, &part.ranges);
        machine.taken(sim.now, part.records() as u32);
        let works = self.working_time(sim, part.records());
        self.phase = Phase::Working(part);
        self.soon(sim, works, AppEvent::Done);
    }

    fn working_time(&mut self, sim: &mut Sim, records: u64) -> Duration {
        if let Some(slow) = self.slow.take() {
            return slow;
        }
        let (least, most) = if sim.passed() < sim.plan.active { sim.plan.caller.work } else { (0, 10) };
        let works: u64 = (0..records).map(|_| sim.random.between(least, most)).sum();
        Duration::from_micros(works).min(sim.plan.lock / 2)
    }

    fn announce(&mut self, sim: &mut Sim, machine: &mut ShareConsumerMachine) {
        machine.polled(sim.now);
        if let Phase::Polling { announced, .. } = &mut self.phase {
            *announced = true;
        }
        self.last_wait += 1;
        self.soon(sim, sim.plan.max_poll_interval / 3, AppEvent::Announce(self.last_wait));
    }

    fn done(&mut self, sim: &mut Sim, machine: &mut ShareConsumerMachine, id: &str, part: Part) {
        let caller = sim.plan.caller;
        let active = sim.passed() < sim.plan.active;
        if active && sim.random.percent(caller.keep) {
            let most = (part.timeout.as_millis() as u64).min(2_000);
            let delay = sim.random.millis(1, most);
            self.keep(sim, part, delay);
        } else {
            self.settle(sim, machine, id, part);
        }
        if sim.random.percent(caller.commit) {
            let commit = machine.commit(sim.now);
            crate::trace!(sim, "m{} commits: {}", self.member, commit.0);
            self.commits.insert(commit, sim.now);
        }
    }

    fn keep(&mut self, sim: &mut Sim, part: Part, delay: Duration) {
        self.last_kept += 1;
        self.kept.insert(self.last_kept, part);
        self.soon(sim, delay, AppEvent::Settle(self.last_kept));
    }

    fn settle(&mut self, sim: &mut Sim, machine: &mut ShareConsumerMachine, id: &str, mut part: Part) {
        let caller = sim.plan.caller;
        if sim.random.percent(caller.split) && part.records() > 1 {
            let half = part.records() / 2;
            let front = part.take_front(half);
            self.settle_whole(sim, machine, id, front);
        }
        self.settle_whole(sim, machine, id, part);
    }

    fn settle_whole(&mut self, sim: &mut Sim, machine: &mut ShareConsumerMachine, id: &str, part: Part) {
        let caller = sim.plan.caller;
        let active = sim.passed() < sim.plan.active;
        let dice = sim.random.below(100);
        let word = match dice {
            _ if !active => AckType::Accept,
            dice if dice < caller.release => AckType::Release,
            dice if dice < caller.release + caller.reject => AckType::Reject,
            dice if dice < caller.release + caller.reject + caller.renew => AckType::Renew,
            _ => AckType::Accept,
        };
        let first = self.say(sim, machine, id, &part, word);
        if sim.random.percent(caller.rethink) {
            let word = sim.random.pick(&[AckType::Accept, AckType::Release, AckType::Reject]);
            self.say(sim, machine, id, &part, word);
            // The last word has been said.
            if let Some(first) = self.said.get_mut(&first) {
                first.renews = None;
            }
        }
    }

    fn say(
        &mut self,
        sim: &mut Sim,
        machine: &mut ShareConsumerMachine,
        id: &str,
        part: &Part,
        word: AckType,
    ) -> AckId {
        let ranges = part.verdict(word);
        let ack = machine.acknowledge(sim.now, part.id(), part.partition, ranges.clone());
        crate::trace!(sim, "m{} says {word:?} of {:?}: {}", self.member, part.ranges, ack.0);
        sim.counts.acknowledgements += 1;
        self.activity += 1;
        sim.oracle.said((id, self.life), part.id(), part.partition, &part.ranges, (ack, word));
        let renews = (word == AckType::Renew).then(|| part.clone());
        let (at, acquisition, deadline) = (sim.now, part.id(), part.deadline);
        self.said.insert(ack, Said { at, acquisition, ranges, deadline, renews });
        ack
    }

    /// Takes what the machine says. Returns whether the member has failed for good.
    pub(crate) fn event(&mut self, sim: &mut Sim, machine: &mut ShareConsumerMachine, id: &str, event: Event) -> bool {
        match event {
            Event::Acquired(acquisition) => {
                let lost = self.lost.contains(&acquisition.session);
                sim.oracle.check(!lost, || format!("{id}: records of a session that is lost: {acquisition:?}"));
                sim.oracle.acquired(sim.now, id, self.life, &acquisition);
                self.activity += u64::from(acquisition.records);
                let part = Part::new(&acquisition);
                sim.oracle.check(part.records() == u64::from(acquisition.records), || format!("{id}: miscounted"));
                if !matches!(self.phase, Phase::Stopped) {
                    self.buffer.push_back(part);
                    let buffered: u64 = self.buffer.iter().map(Part::records).sum();
                    let most = most_buffered(sim);
                    sim.oracle.check(buffered <= most, || format!("{id}: {buffered} records wait, {most} are enough"));
                }
                let delay = sim.random.micros(0, 100);
                self.soon(sim, delay, AppEvent::Poll);
            }
            Event::SessionLost { session, error } => {
                crate::trace!(sim, "m{} lost session {session:?}: {error:?}", self.member);
                self.lost.insert(session);
                self.lose(sim, machine, |part| part.session == session);
            }
            Event::PartitionLost { session, topic_partition, error } => {
                crate::trace!(sim, "m{} lost {topic_partition:?} of {session:?}: {error:?}", self.member);
                self.lost_partitions.insert((session, topic_partition));
                self.lose(sim, machine, |part| part.session == session && part.partition == topic_partition);
            }
            Event::Acknowledged { id: ack, topic_partition, ranges, result, failed, lock_deadline, .. } => {
                crate::trace!(sim, "m{} hears of {}: {result:?}", self.member, ack.0);
                let said = self.said.remove(&ack);
                sim.oracle.check(said.is_some(), || format!("{id}: {ack:?} ended twice, or was never said"));
                let Some(said) = said else { return false };
                sim.oracle
                    .check(said.ranges == ranges, || format!("{id}: {ack:?} ended with other ranges: {ranges:?}"));
                let member = (id, self.life);
                // No broker answers in no time.
                let lost = self.lost_partitions.contains(&(said.acquisition.session, topic_partition));
                let unasked = said.at == sim.now && said.at < said.deadline && !lost;
                if unasked && result == Err(ErrorCode::INVALID_RECORD_STATE) {
                    sim.oracle.refused_unasked(member, said.acquisition, topic_partition, &ranges, ack);
                }
                let good = without(&ranges, &failed);
                sim.oracle.ended(member, said.acquisition, topic_partition, &good, ack, Ok(()));
                sim.oracle.ended(member, said.acquisition, topic_partition, &failed, ack, result);
                // What could not be renewed may be held all the same: there is more to say about it, for what that is worth.
                if let Some(mut part) = said.renews {
                    if let Some(deadline) = lock_deadline {
                        sim.oracle.renewed(member, said.acquisition, topic_partition, &part.ranges, deadline);
                        part.deadline = deadline;
                    }
                    // Up to its end a lock has to last that was renewed. Where a member asks for more only when it has nothing, others wait.
                    let left = part.deadline.saturating_duration_since(sim.now + Duration::from_millis(500));
                    let short = sim.random.millis(1, 300);
                    let holds = sim.plan.acquire_mode == AcquireMode::BatchOptimized && sim.random.percent(40);
                    self.keep(sim, part, if holds { left.max(short) } else { short });
                }
            }
            Event::Committed { id: commit, .. } => {
                crate::trace!(sim, "m{} committed {}", self.member, commit.0);
                let known = self.commits.remove(&commit).is_some();
                sim.oracle.check(known, || format!("{id}: {commit:?} ended twice, or was never made"));
            }
            Event::Assigned(partitions) => {
                self.assigned = partitions.into_iter().map(|(_, partition)| partition).collect()
            }
            Event::LockTimeout(_) | Event::Renewed { .. } | Event::KeepEnded { .. } | Event::Closed => {}
            Event::BadBatch { first, last, topic_partition, error, .. } => {
                sim.oracle.check(false, || format!("{id}: {topic_partition:?} {first}-{last} is bad: {error}"));
            }
            Event::Failed(error) => {
                crate::trace!(sim, "m{} is told: {error}", self.member);
                return error.fatal;
            }
        }
        false
    }

    fn lose(&mut self, sim: &mut Sim, machine: &mut ShareConsumerMachine, is_lost: impl Fn(&Part) -> bool) {
        let (lost, kept): (VecDeque<Part>, VecDeque<Part>) =
            std::mem::take(&mut self.buffer).into_iter().partition(is_lost);
        self.buffer = kept;
        for part in lost {
            machine.dropped(sim.now, &part.acquisition());
        }
    }

    /// What was said and has not ended for so long; commits among it.
    pub(crate) fn unanswered(&self, now: Instant, longer_than: Duration) -> usize {
        let late = |at: &&Instant| now.duration_since(**at) > longer_than;
        self.said.values().map(|said| &said.at).filter(late).count() + self.commits.values().filter(late).count()
    }

    /// The machine is closed: nothing may be open any more.
    pub(crate) fn ended(&mut self, sim: &mut Sim) {
        let open = self.said.len() + self.commits.len();
        sim.oracle.check(open == 0, || format!("m{}: closed with {open} words and commits unanswered", self.member));
    }
}

/// How many records may wait for a caller at most.
fn most_buffered(sim: &Sim) -> u64 {
    let plan = &sim.plan;
    let a_fetch = u64::from(plan.fetch_max_records.max(plan.max_poll_records)) + plan.batch_records;
    2 * a_fetch * u64::from(plan.nodes)
}

/// What is said of other offsets than the failed ones.
fn without(ranges: &[AckRange], failed: &[AckRange]) -> Vec<AckRange> {
    let single = ranges.iter().flat_map(|range| (range.first..=range.last).map(move |offset| (offset, range.ack)));
    let good = single.filter(|(offset, _)| !failed.iter().any(|range| (range.first..=range.last).contains(offset)));
    good.map(|(offset, ack)| AckRange { first: offset, last: offset, ack }).collect()
}
