//! One round: races of one kind of consumer, and what became of the records.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use ackflow_client::share::{AckType, AcquireMode, OwnedShareConsumer, ShareConsumer, ShareConsumerBuilder};
use anyhow::Result;
use serde_json::{Value, json};

use crate::explicit::Explicit;
use crate::implicit::Implicit;
use crate::ledger::{Key, Ledger};
use crate::moment::Random;
use crate::owned::Owned;
use crate::stage::Stage;

pub(crate) const CLOSE: Duration = Duration::from_secs(30);
/// What a member does not get or end within this is stuck: shorter than a lock, which would free it.
const PATIENCE: Duration = Duration::from_secs(20);
/// How long a group that is done is watched for more.
const AFTERWARDS: Duration = Duration::from_millis(300);

pub(crate) type Shared = Arc<Mutex<Ledger>>;

pub(crate) fn lock(ledger: &Shared) -> MutexGuard<'_, Ledger> {
    ledger.lock().unwrap_or_else(PoisonError::into_inner)
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Kind {
    Implicit,
    Owned,
    Explicit,
}

impl Kind {
    pub(crate) const ALL: [Self; 3] = [Self::Implicit, Self::Owned, Self::Explicit];
}

enum Member {
    Implicit(Implicit),
    Owned(Owned),
    Explicit(Explicit),
}

impl Member {
    fn new(kind: Kind, stage: &Stage, ledger: &Shared, random: &mut Random) -> Result<Self> {
        let ledger = Arc::clone(ledger);
        Ok(match kind {
            Kind::Implicit => Self::Implicit(Implicit::new(stage, ledger, random)?),
            Kind::Owned => Self::Owned(Owned::new(stage, ledger, random)?),
            Kind::Explicit => Self::Explicit(Explicit::new(stage, ledger, random)?),
        })
    }

    async fn race(&mut self, random: &mut Random) -> Result<bool> {
        match self {
            Self::Implicit(member) => member.race(random).await,
            Self::Owned(member) if member.is_full(random) => member.settle_one(random).await,
            Self::Owned(member) => member.race(random).await,
            Self::Explicit(member) => member.race(random).await,
        }
    }

    async fn close(self, random: &mut Random) -> Result<bool> {
        match self {
            Self::Implicit(member) => member.close(random).await,
            Self::Owned(member) => member.close(random).await,
            Self::Explicit(member) => member.close(random).await,
        }
    }
}

pub(crate) struct Round<'a> {
    stage: &'a mut Stage,
    seed: u64,
    kind: Kind,
}

pub(crate) struct Report {
    seed: u64,
    kind: Kind,
    /// How many futures were dropped.
    pub(crate) dropped: u64,
    pub(crate) records: usize,
    /// Deliveries beyond one a record.
    pub(crate) again: u64,
    /// Records whose acceptance or rejection was confirmed to a member.
    confirmed: u64,
    pub(crate) faults: Vec<String>,
}

impl Report {
    pub(crate) fn to_json(&self) -> Value {
        let first: Vec<&String> = self.faults.iter().take(10).collect();
        json!({
            "seed": self.seed, "kind": format!("{:?}", self.kind), "dropped": self.dropped, "records": self.records,
            "again": self.again, "confirmed": self.confirmed, "faults": self.faults.len(), "first_faults": first,
        })
    }
}

impl<'a> Round<'a> {
    pub(crate) fn new(stage: &'a mut Stage, seed: u64, kind: Kind) -> Self {
        Self { stage, seed, kind }
    }

    /// Plays so many races, then consumes what is left, and judges.
    pub(crate) async fn play(self, races: u64) -> Result<Report> {
        let Self { stage, seed, kind } = self;
        let mut random = Random::new(seed);
        let ledger = Shared::default();
        let mut dropped = 0;
        stage.write(50).await?;
        let mut member = Member::new(kind, stage, &ledger, &mut random)?;
        for _ in 1..races {
            if random.percent(30) {
                stage.write(1 + random.below(20)).await?;
            }
            if random.percent(1) {
                dropped += u64::from(member.close(&mut random).await?);
                member = Member::new(kind, stage, &ledger, &mut random)?;
            } else {
                dropped += u64::from(member.race(&mut random).await?);
            }
        }
        let written = stage.written().await?;
        random.is_calm = true;
        drain(stage, &ledger, &written, &mut member, &mut random).await?;
        random.is_calm = false;
        dropped += u64::from(member.close(&mut random).await?);
        nothing_is_left(stage, &ledger).await?;
        let mut ledger = lock(&ledger);
        ledger.judge(&written);
        let (again, confirmed) = (ledger.again(), ledger.confirmed());
        let faults = std::mem::take(&mut ledger.faults);
        Ok(Report { seed, kind, dropped, records: written.len(), again, confirmed, faults })
    }
}

/// Has the member consume what is left, until the group is done. It gives back nothing before its locks end, which is later.
async fn drain(
    stage: &Stage,
    ledger: &Shared,
    written: &BTreeSet<Key>,
    member: &mut Member,
    random: &mut Random,
) -> Result<()> {
    let deadline = Instant::now() + PATIENCE;
    while stage.lag(written).await? != Some(0) {
        if Instant::now() > deadline {
            let lag = stage.lag(written).await?;
            let mut ledger = lock(ledger);
            let left = written.iter().filter(|key| !ledger.knows(**key)).count();
            let (all, what) = (written.len(), format!("the lag is {lag:?} after {PATIENCE:?}"));
            ledger.faults.push(format!("{what}, and {left} of {all} records never came"));
            return Ok(());
        }
        for _ in 0..10 {
            member.race(random).await?;
        }
    }
    Ok(())
}

/// Sees that the group gives nothing to another member.
async fn nothing_is_left(stage: &Stage, ledger: &Shared) -> Result<()> {
    let mut consumer = OwnedShareConsumer::new(stage.config().build()?)?;
    consumer.subscribe([&stage.topic])?;
    take(&mut consumer, ledger, AFTERWARDS).await?;
    Ok(consumer.close(CLOSE).await?)
}

/// Accepts what a poll gives.
async fn take(consumer: &mut OwnedShareConsumer, ledger: &Shared, timeout: Duration) -> Result<()> {
    while let Some(delivery) = consumer.poll(timeout).await? {
        let partition = delivery.partition();
        let ranges = delivery.ranges().to_vec();
        let keys = || {
            let offsets = |range: &ackflow_client::share::AcquiredRange| range.first..=range.last;
            ranges
                .iter()
                .flat_map(move |range| offsets(range).map(move |offset| ((partition, offset), range.delivery_count)))
        };
        for (key, delivery_count) in keys() {
            lock(ledger).hand_out(key, delivery_count);
            lock(ledger).say(key, AckType::Accept);
        }
        let accepted = delivery.accept().await;
        for (key, _) in keys() {
            match &accepted {
                Ok(()) => lock(ledger).confirm(key, AckType::Accept),
                Err(error) => lock(ledger).refuse(key, AckType::Accept, error),
            }
        }
    }
    Ok(())
}

/// Tells the ledger how acknowledgements end.
pub(crate) fn report_to(consumer: &mut ShareConsumer, ledger: &Shared) {
    let ledger = Arc::clone(ledger);
    consumer.set_acknowledgement_callback(Box::new(move |acknowledged| {
        for range in &acknowledged.ranges {
            for key in (range.first..=range.last).map(|offset| (acknowledged.partition, offset)) {
                match acknowledged.result {
                    // A released record may have come again before anybody hears that it was released.
                    Ok(()) if range.ack == AckType::Release => {}
                    Ok(()) => lock(&ledger).confirm(key, range.ack),
                    Err(code) => lock(&ledger).refuse(key, range.ack, code),
                }
            }
        }
    }));
}

pub(crate) fn settings(stage: &Stage, random: &mut Random) -> ShareConsumerBuilder {
    let modes = [AcquireMode::BatchOptimized, AcquireMode::BatchOptimized, AcquireMode::RecordLimit];
    let mode = modes[random.below(3) as usize];
    stage.config().acquire_mode(mode).max_poll_records([1, 5, 50, 500][random.below(4) as usize])
}

pub(crate) fn poll_timeout(random: &mut Random) -> Duration {
    Duration::from_millis([0, 5, 50, 1_000][random.below(4) as usize])
}

/// What to say about a record; one that has come often is not given back.
pub(crate) fn word(random: &mut Random, delivery_count: i16) -> AckType {
    match random.below(20) {
        _ if random.is_calm => AckType::Accept,
        0 | 1 if delivery_count < 4 => AckType::Release,
        2 => AckType::Reject,
        _ => AckType::Accept,
    }
}
