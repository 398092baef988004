//! What a case works with: connections, topics, groups and members of its own, and checks whose results the report shows.

mod cleanup;
mod frames;
mod groups;
mod lag;
mod link;
mod member;
mod offsets;
pub(crate) mod produce;
pub(crate) mod producer;
mod read;
mod record;
mod session;
mod stage;
mod stored;
mod topics;

use std::fmt::Debug;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use ackflow_client::net::RawConnection;
use ackflow_protocol::wire::ErrorCode;

use super::target::Target;
pub(crate) use crate::stop::{Outcome, Stop};
use cleanup::Made;
pub(crate) use frames::{header_tags, sized, with_version};
pub(crate) use groups::{GROUP_RESOURCE, Kind, set};
pub(crate) use link::{Link, random_uuid};
pub(crate) use member::{Member, join};
pub(crate) use offsets::ClassicMember;
pub(crate) use produce::{batch, batch_at, now_ms, values};
pub(crate) use producer::{Producer, Way};
pub(crate) use read::{Isolation, Seen, fetch};
pub(crate) use record::Record;
pub(crate) use session::{
    ACCEPT, Acquired, GAP, REJECT, RELEASE, RENEW, Ranges, Session, acquired, offsets, partitions, told,
};
pub(crate) use stage::Stage;
pub(crate) use stored::Stored;
pub(crate) use topics::Topic;

/// How long a case waits for what a broker does in its own time.
const PATIENCE: Duration = Duration::from_secs(30);

/// The place of one case.
#[derive(Debug)]
pub(crate) struct Lab {
    case: String,
    pub(crate) target: Arc<Target>,
    record: Arc<Record>,
    made: Mutex<Made>,
}

impl Lab {
    pub(crate) fn new(case: String, target: Arc<Target>) -> Self {
        Self { case, target, record: Arc::default(), made: Mutex::default() }
    }

    /// What was sent, what came, and what was as expected.
    pub(crate) fn take_record(&self) -> (String, String, String) {
        self.record.take()
    }

    /// Notes that something is as the rule says, or ends the case.
    pub(crate) fn check<T: PartialEq + Debug>(&self, what: &str, got: T, wanted: T) -> Outcome {
        self.check_that(what, got == wanted, &format!("{wanted:?}"), &got)
    }

    /// The same, where more than one answer is right: `wanted` says in words which.
    pub(crate) fn check_that(&self, what: &str, holds: bool, wanted: &str, got: &dyn Debug) -> Outcome {
        match holds {
            true => {
                self.record.held(format!("{what}: {wanted}"));
                Ok(())
            }
            false => Err(Stop::failed(format!("{what}: {wanted}"), format!("{what}: {got:?}"))),
        }
    }

    /// Ends the case where what it takes for granted does not work.
    ///
    /// # Errors
    /// [`Stop::NotOffered`] where the broker says that it does not have it: Kafka advertises the APIs of share groups all the same where
    /// `share.version` is 0.
    pub(crate) fn granted(&self, what: &str, code: ErrorCode, message: Option<&str>) -> Outcome {
        match code {
            ErrorCode::NONE => Ok(()),
            ErrorCode::UNSUPPORTED_VERSION => Err(Stop::NotOffered(format!("{what} is answered UNSUPPORTED_VERSION"))),
            _ => Err(Stop::failed(
                format!("{what} works, which the case takes for granted"),
                format!("{code:?} {}", message.unwrap_or_default()),
            )),
        }
    }

    /// A connection to a broker, the coordinator and leader of everything where it is the only one.
    pub(crate) async fn link(&self) -> Outcome<Link> {
        self.link_to(self.target.info.nodes[0]).await
    }

    /// A connection to this broker.
    pub(crate) async fn link_to(&self, node: i32) -> Outcome<Link> {
        let address = self.target.nodes.get(&node).ok_or_else(|| {
            Stop::failed("a broker that Metadata names", format!("broker {node}, which it does not name"))
        })?;
        let raw = RawConnection::connect(&address.host, address.port, &self.target.net).await;
        let raw = raw.map_err(|error| Stop::failed(format!("a connection to broker {node}"), error.to_string()))?;
        Ok(Link::new(raw, Arc::clone(&self.target), Some(Arc::clone(&self.record))))
    }

    /// Only where a finalized feature has at least this level.
    ///
    /// # Errors
    /// [`Stop::NotOffered`].
    pub(crate) fn needs_feature(&self, name: &str, level: i16) -> Outcome {
        match self.target.feature(name) {
            has if has >= level => Ok(()),
            has => Err(Stop::NotOffered(format!("the finalized {name} is {has}, not {level} or more"))),
        }
    }

    /// Only where there are so many brokers.
    ///
    /// # Errors
    /// [`Stop::NotOffered`].
    pub(crate) fn needs_brokers(&self, count: usize) -> Outcome {
        match self.target.nodes.len() {
            has if has >= count => Ok(()),
            has => Err(Stop::NotOffered(format!("the cluster has {has} brokers, not {count} or more"))),
        }
    }

    /// Whether an answer is what Kafka 4.4.0 makes of a topic id that it does not know where it has an authorizer.
    pub(crate) fn is_fault_of_authorizer(&self, code: ErrorCode) -> bool {
        let authorizer = self.target.settings.get("authorizer.class.name");
        code == ErrorCode::UNKNOWN_SERVER_ERROR && authorizer.is_some_and(|name| !name.is_empty())
    }

    /// A name that nothing else has.
    pub(crate) fn unique(&self, kind: &str) -> String {
        format!("conformance-{}-{kind}-{:08x}", self.case, random() as u32)
    }

    /// Looks until something is there.
    ///
    /// # Errors
    /// Where it does not come within 30 s, and those of `look`.
    pub(crate) async fn eventually<T>(
        &self,
        what: &str,
        mut look: impl AsyncFnMut() -> Outcome<Option<T>>,
    ) -> Outcome<T> {
        let end = Instant::now() + PATIENCE;
        let mut pause = Duration::from_millis(5);
        loop {
            if let Some(found) = look().await? {
                return Ok(found);
            }
            if Instant::now() > end {
                return Err(Stop::failed(format!("{what}, within {} s", PATIENCE.as_secs()), "it did not come"));
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(Duration::from_millis(100));
        }
    }

    fn made(&self) -> MutexGuard<'_, Made> {
        self.made.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A number that nobody foresees. Not for secrets.
pub(crate) fn random() -> u64 {
    // Each RandomState has keys of its own.
    RandomState::new().build_hasher().finish()
}
