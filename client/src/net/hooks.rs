//! What a client tells those who watch its connections.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use ackflow_protocol::wire::ApiKey;

use super::negotiate::Versions;
use crate::error::ClientError;

/// Watches the connections of a client: for metrics of one's own, audits, tests.
///
/// Each function is called where the thing happens, by the task that owns the connection: it must be quick and must not block. A panic in it is
/// caught and logged.
pub trait Hooks: Send + Sync {
    /// A connection was made and secured, or was not.
    fn connected(&self, event: &Connected<'_>) {
        let _ = event;
    }

    /// A connection has authenticated again before its session ended (KIP-368), or could not.
    fn reauthenticated(&self, event: &Reauthenticated<'_>) {
        let _ = event;
    }

    /// A connection that was made has ended.
    fn disconnected(&self, event: &Disconnected<'_>) {
        let _ = event;
    }

    /// A request has its answer, or will have none.
    fn requested(&self, event: &Requested<'_>) {
        let _ = event;
    }

    /// A broker wants nothing more for a while (KIP-219); requests wait in this client meanwhile.
    fn throttled(&self, event: &Throttled<'_>) {
        let _ = event;
    }
}

/// The end of an attempt to connect.
#[derive(Debug)]
#[non_exhaustive]
pub struct Connected<'a> {
    /// The broker, as `host:port`.
    pub broker: &'a str,
    /// How long it took, with TLS, the question for versions and SASL.
    pub took: Duration,
    /// Why there is no connection, where there is none.
    pub result: Result<(), &'a ClientError>,
    /// Whether it is of TLS or SASL, so that one side at least has shown who it is.
    pub authenticates: bool,
    pub(super) versions: Option<&'a Versions>,
}

impl Connected<'_> {
    /// The version of an API that the connection speaks: the newest stable one that both sides know.
    pub fn version(&self, api: ApiKey) -> Option<i16> {
        self.versions?.agreed(api)
    }
}

/// The end of an attempt to authenticate a connection again.
#[derive(Debug)]
#[non_exhaustive]
pub struct Reauthenticated<'a> {
    /// The broker, as `host:port`.
    pub broker: &'a str,
    /// How long requests waited for it. To get a token first is not part of that.
    pub took: Duration,
    /// Why the connection ends, where it does.
    pub result: Result<(), &'a ClientError>,
}

/// The end of a connection.
#[derive(Debug)]
#[non_exhaustive]
pub struct Disconnected<'a> {
    /// The broker, as `host:port`.
    pub broker: &'a str,
    /// Why: an error also where this client closed it ([`ErrorKind::Closed`](crate::ErrorKind::Closed)).
    pub reason: &'a ClientError,
}

/// The end of a request.
#[derive(Debug)]
#[non_exhaustive]
pub struct Requested<'a> {
    /// The broker, as `host:port`.
    pub broker: &'a str,
    /// What was asked for.
    pub api: ApiKey,
    /// In which version.
    pub version: i16,
    /// Bytes of the request, with the length before it.
    pub request_bytes: usize,
    /// From when it was queued to its answer.
    pub took: Duration,
    /// Bytes of the answer, without the length before it, or why there is none.
    pub result: Result<usize, &'a ClientError>,
}

/// A broker that wants nothing more for a while.
#[derive(Debug)]
#[non_exhaustive]
pub struct Throttled<'a> {
    /// The broker, as `host:port`.
    pub broker: &'a str,
    /// What it was that it answered with this.
    pub api: ApiKey,
    /// For how long.
    pub time: Duration,
}

/// Those who watch a client. Clones tell the same.
#[derive(Clone, Default)]
pub struct HookList(Vec<Arc<dyn Hooks>>);

impl HookList {
    /// One more who is told, after those who are there.
    pub fn push(&mut self, hooks: Arc<dyn Hooks>) {
        self.0.push(hooks);
    }

    /// Tells all of them.
    pub(super) fn tell(&self, what: impl Fn(&dyn Hooks)) {
        for hooks in &self.0 {
            // The task that owns the connection has to live on, or its callers would wait for nothing.
            if catch_unwind(AssertUnwindSafe(|| what(&**hooks))).is_err() {
                tracing::error!("a hook has panicked");
            }
        }
    }
}

impl fmt::Debug for HookList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} hooks", self.0.len())
    }
}

/// The same hooks in the same order.
impl PartialEq for HookList {
    fn eq(&self, other: &Self) -> bool {
        self.0.len() == other.0.len() && self.0.iter().zip(&other.0).all(|(one, another)| Arc::ptr_eq(one, another))
    }
}

impl Eq for HookList {}
