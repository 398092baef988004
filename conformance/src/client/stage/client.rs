//! A client under test, as a situation drives it.

use std::time::{Duration, Instant};

use super::event::{Event, Record, Refusal, Settled};
use super::shim::Shim;
use super::{PATIENCE, Stage, TOPIC};
use crate::stop::{Outcome, Stop};

/// Who decides about records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// The next poll or commit accepts what was handed out.
    Implicit,
    /// The application does.
    Explicit,
}

impl Mode {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Implicit => "implicit",
            Self::Explicit => "explicit",
        }
    }
}

/// A share consumer in a process of its own.
#[derive(Debug)]
pub(crate) struct Client<'a> {
    stage: &'a Stage,
    shim: Shim,
    mode: Mode,
    /// What was handed out so far.
    pub(crate) seen: Vec<Record>,
    /// The errors of polls so far.
    pub(crate) errors: Vec<Refusal>,
    /// The acknowledgements that have ended so far, as the callback and commits tell.
    pub(crate) settled: Vec<Settled>,
}

/// How long a commit and a close may take.
const CALL: Duration = Duration::from_secs(10);

impl<'a> Client<'a> {
    pub(super) fn new(stage: &'a Stage, shim: Shim, mode: Mode) -> Self {
        Self { stage, shim, mode, seen: Vec::new(), errors: Vec::new(), settled: Vec::new() }
    }

    async fn step(&mut self, step: &str, takes: Duration) -> Outcome<Event> {
        self.shim.step(step, takes, &mut self.settled).await
    }

    /// Subscribes to topics, instead of those before.
    pub(crate) async fn subscribe(&mut self, topics: &[&str]) -> Outcome {
        match self.step(&format!("subscribe {}", topics.join(" ")), CALL).await? {
            Event::Subscribed => Ok(()),
            other => Err(self.shim.unexpected("subscribed", &other)),
        }
    }

    /// Polls once.
    pub(crate) async fn poll(&mut self, time: Duration) -> Outcome<Result<Vec<Record>, Refusal>> {
        match self.step(&format!("poll {}", time.as_millis()), time).await? {
            Event::Records(records) => {
                self.seen.extend_from_slice(&records);
                Ok(Ok(records))
            }
            Event::Error(error) => {
                self.errors.push(error.clone());
                Ok(Err(error))
            }
            other => Err(self.shim.unexpected("records", &other)),
        }
    }

    /// Polls until records come, and gives them. Errors that come before are noted.
    pub(crate) async fn first(&mut self) -> Outcome<Vec<Record>> {
        let end = Instant::now() + PATIENCE;
        while Instant::now() < end {
            match self.poll(Duration::from_millis(500)).await? {
                Ok(records) if !records.is_empty() => return Ok(records),
                Err(error) if error.is_misuse => {
                    return Err(Stop::failed("a poll that is allowed", error.message));
                }
                // A client that has failed for good would answer at once, again and again.
                Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
                Ok(_) => {}
            }
        }
        Err(Stop::failed(format!("records within {} s", PATIENCE.as_secs()), "none came"))
    }

    /// One poll, after which everything that it handed out is accepted, where the application decides.
    async fn go_on(&mut self, time: Duration) -> Outcome {
        match self.poll(time).await? {
            Ok(records) if !records.is_empty() && self.mode == Mode::Explicit => {
                self.acknowledge_all("accept").await?;
            }
            Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
            Ok(_) => {}
        }
        Ok(())
    }

    /// Polls and accepts for so long, whatever comes.
    pub(crate) async fn goes_on_for(&mut self, time: Duration) -> Outcome {
        let end = Instant::now() + time;
        while Instant::now() < end {
            self.go_on(Duration::from_millis(100)).await?;
        }
        Ok(())
    }

    /// Polls and accepts until something is there.
    pub(crate) async fn goes_on_until(&mut self, what: &str, mut look: impl AsyncFnMut() -> Outcome<bool>) -> Outcome {
        let end = Instant::now() + PATIENCE;
        while !look().await? {
            if Instant::now() > end {
                return Err(Stop::failed(format!("{what}, within {} s", PATIENCE.as_secs()), "it did not come"));
            }
            self.go_on(Duration::from_millis(100)).await?;
        }
        self.stage.told.held(what);
        Ok(())
    }

    /// Polls and accepts until so many records were handed out.
    pub(crate) async fn reads(&mut self, count: usize) -> Outcome {
        let end = Instant::now() + PATIENCE;
        while self.seen.len() < count {
            if Instant::now() > end {
                let expected = format!("{count} records, within {} s", PATIENCE.as_secs());
                return Err(Stop::failed(expected, format!("{} records: {:?}", self.seen.len(), self.seen)));
            }
            self.go_on(Duration::from_millis(200)).await?;
        }
        self.stage.told.held(&format!("{count} records"));
        Ok(())
    }

    /// Decides about records of [`TOPIC`]'s first partition.
    pub(crate) async fn acknowledge(&mut self, decision: &str, first: i64, last: i64) -> Outcome {
        self.decide(&format!("acknowledge {decision} {TOPIC} 0 {first} {last}")).await
    }

    /// The same; gives the error where there is one.
    pub(crate) async fn may_acknowledge(&mut self, decision: &str, first: i64, last: i64) -> Outcome<Option<Refusal>> {
        match self.step(&format!("acknowledge {decision} {TOPIC} 0 {first} {last}"), CALL).await? {
            Event::Acknowledged => Ok(None),
            Event::Error(error) => Ok(Some(error)),
            other => Err(self.shim.unexpected("acknowledged", &other)),
        }
    }

    /// Decides about everything that the last poll has handed out.
    pub(crate) async fn acknowledge_all(&mut self, decision: &str) -> Outcome {
        self.decide(&format!("acknowledge {decision}")).await
    }

    async fn decide(&mut self, step: &str) -> Outcome {
        match self.step(step, CALL).await? {
            Event::Acknowledged => Ok(()),
            other => Err(self.shim.unexpected("acknowledged", &other)),
        }
    }

    /// Sends what is decided; gives the codes of partitions that failed, and the error of the call itself.
    pub(crate) async fn commit(&mut self) -> Outcome<Vec<String>> {
        match self.step(&format!("commit {}", CALL.as_millis()), CALL).await? {
            Event::Committed(results) => {
                self.settled.extend_from_slice(&results);
                Ok(results.into_iter().filter_map(|result| result.code).collect())
            }
            Event::Error(error) => Ok(vec![error.code.unwrap_or(error.message)]),
            other => Err(self.shim.unexpected("committed", &other)),
        }
    }

    /// The same where nothing may fail.
    pub(crate) async fn commits(&mut self) -> Outcome {
        match self.commit().await? {
            failed if failed.is_empty() => Ok(()),
            failed => Err(Stop::failed("a commit that works", format!("{failed:?}"))),
        }
    }

    /// Closes the consumer and waits for the end of its process. An error of closing is none of the situation.
    pub(crate) async fn close(&mut self) -> Outcome {
        match self.step(&format!("close {}", CALL.as_millis()), CALL).await? {
            Event::Closed | Event::Error(_) => self.shim.end().await,
            other => Err(self.shim.unexpected("closed", &other)),
        }
    }

    /// Whether the application was told of this error, by a poll or by an acknowledgement.
    pub(crate) fn was_told(&self, code: &str) -> bool {
        let polls = self.errors.iter().any(|error| error.code.as_deref() == Some(code));
        polls || self.settled.iter().any(|settled| settled.code.as_deref() == Some(code))
    }
}
