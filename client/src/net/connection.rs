//! A connection to one broker, as its callers see it.

use std::fmt;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

use ackflow_protocol::wire::{ApiKey, Request, Response};
use bytes::Bytes;
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout};
use tracing::Instrument;

use super::config::NetConfig;
use super::connect::{Opened, broker_name, open};
use super::hooks::Connected;
use super::negotiate::{Identity, Versions};
use super::owner;
use super::queue::{Inbox, Queue, Return};
use super::request::{self, ANY_VERSION};
use crate::error::{ClientError, ErrorKind};

/// A connection to one broker: requests go out in the order of the calls, many may be under way at a time.
///
/// It is a handle: clones share one connection, and the connection closes when the last of them is dropped. A task of
/// its own owns the socket, so dropping a call only abandons its answer. Any failure of the socket ends the connection
/// for good and fails all its calls at once.
#[derive(Clone)]
pub struct Connection(Arc<Handle>);

struct Handle {
    broker: Arc<str>,
    client_id: Arc<str>,
    versions: Arc<Versions>,
    queue: Arc<Queue>,
}

impl Connection {
    /// Connects to a broker and asks for its versions. Every address of `host` is tried in turn.
    ///
    /// Cancel-safe: dropping it closes what was opened. Needs a tokio runtime with I/O and time.
    ///
    /// # Errors
    /// [`ErrorKind::Unreachable`] where there is no broker to talk to, [`ErrorKind::Malformed`] where something else
    /// than a broker answers.
    pub async fn connect(host: &str, port: u16, config: &NetConfig) -> Result<Self, ClientError> {
        Self::connect_to(host, port, config, None).await
    }

    /// As [`Connection::connect`], to a broker that is known: where another one answers, it refuses.
    ///
    /// # Errors
    /// As there, and REBOOTSTRAP_REQUIRED of the other one.
    pub(crate) async fn connect_to(
        host: &str,
        port: u16,
        config: &NetConfig,
        meant: Option<&Identity>,
    ) -> Result<Self, ClientError> {
        let broker = broker_name(host, port);
        let began = Instant::now();
        let span = tracing::debug_span!("connect", broker = &*broker);
        let opened = open(&broker, (host, port), config, meant).instrument(span).await;
        let result = opened.as_ref().map(drop);
        let versions = opened.as_ref().ok().map(|opened| &*opened.versions);
        let authenticates = config.security.authenticates();
        config.hooks.tell(|hooks| {
            hooks.connected(&Connected { broker: &broker, took: began.elapsed(), result, authenticates, versions });
        });
        let opened = opened?;
        let queue = Arc::new(Queue::new(broker.clone(), config.hooks.clone()));
        queue.throttle(opened.versions.throttle);
        let Opened { reader, writer, versions, renewal } = opened;
        let owner = owner::run(queue.clone(), broker.clone(), reader, writer, config.max_idle, renewal);
        tokio::spawn(owner.instrument(tracing::debug_span!("connection", broker = &*broker)));
        Ok(Self(Arc::new(Handle { broker, client_id: config.client_id.clone(), versions, queue })))
    }

    /// Sends a request, in the newest stable version that both sides speak, and waits for its response.
    ///
    /// The request is queued when the future is first polled, and goes out whole. Cancel-safe: dropping the future
    /// abandons the answer and nothing else. An answer that does not come within `within` ends the connection, as in
    /// Kafka's own client: a broker answers in order, so nothing else would come either.
    ///
    /// While the broker throttles this client (KIP-219), the request waits in the queue, and `within` begins when that is over.
    ///
    /// # Errors
    /// [`ErrorKind::UnsupportedVersion`] where the broker does not speak the API or the version lacks a field that is
    /// set; [`ErrorKind::Invalid`] where one is longer than the wire can say; [`ErrorKind::NotSent`], [`ErrorKind::Disconnected`] and [`ErrorKind::TimedOut`] by how far the request
    /// came; [`ErrorKind::Malformed`].
    pub async fn call<R: Request>(&self, request: &R, within: Duration) -> Result<R::Response, ClientError> {
        self.start(request, within)?.await
    }

    /// As [`Connection::call`], in one of these versions.
    pub(crate) async fn call_in<R: Request>(
        &self,
        request: &R,
        versions: RangeInclusive<i16>,
        within: Duration,
    ) -> Result<R::Response, ClientError> {
        self.start_in(request, versions, within)?.await
    }

    /// As [`Connection::call`], but queues the request at once: requests go out in the order in which they were started,
    /// whoever is polled first. The future holds a handle of its own.
    ///
    /// # Errors
    /// As [`Connection::call`], where they are known before anything is sent.
    pub fn start<R: Request>(
        &self,
        request: &R,
        within: Duration,
    ) -> Result<impl Future<Output = Result<R::Response, ClientError>> + Send + use<R>, ClientError> {
        self.start_in(request, ANY_VERSION, within)
    }

    /// As [`Connection::start`], in one of these versions.
    pub(crate) fn start_in<R: Request>(
        &self,
        request: &R,
        versions: RangeInclusive<i16>,
        within: Duration,
    ) -> Result<impl Future<Output = Result<R::Response, ClientError>> + Send + use<R>, ClientError> {
        let (sender, answer) = oneshot::channel();
        let version = self.push(request, versions, Return::To(sender))?;
        Ok(self.answered::<R>(version, answer, within))
    }

    /// As [`Connection::call`], in a version that is not stable and that the broker [offers](Self::offers).
    #[cfg(feature = "unstable-kip-1289")]
    pub(crate) async fn call_unstable<R: Request>(
        &self,
        request: &R,
        version: i16,
        within: Duration,
    ) -> Result<R::Response, ClientError> {
        let (sender, answer) = oneshot::channel();
        self.push_in(request, version, Return::To(sender))?;
        self.answered::<R>(version, answer, within).await
    }

    fn answered<R: Request>(
        &self,
        version: i16,
        answer: oneshot::Receiver<Result<Bytes, ClientError>>,
        within: Duration,
    ) -> impl Future<Output = Result<R::Response, ClientError>> + Send + use<R> {
        let answer = timeout(within.saturating_add(self.throttled_for()), answer);
        let connection = self.clone();
        let span = tracing::trace_span!("request", broker = self.broker(), api = %R::KEY, version);
        let answered = async move {
            match answer.await {
                Ok(Ok(answer)) => connection.decode::<R>(answer?, version),
                Ok(Err(_)) => unreachable!("the queue answers every waiter before it lets go of it"),
                Err(_) => Err(connection.timed_out::<R>(within)),
            }
        };
        answered.instrument(span)
    }

    /// Queues a request as [`Connection::start`] does, where the connection speaks `least` or a newer version of it. Its answer, or why there
    /// is none, goes into `inbox` under `tag`, once, unless this fails; the caller decodes it in the version that this gives, and sees to the
    /// time.
    ///
    /// # Errors
    /// As [`Connection::start`].
    pub(crate) fn post<R: Request>(
        &self,
        request: &R,
        least: i16,
        inbox: &Inbox,
        tag: u64,
    ) -> Result<i16, ClientError> {
        self.push(request, least..=i16::MAX, Return::Into(inbox.clone(), tag))
    }

    fn push<R: Request>(&self, request: &R, versions: RangeInclusive<i16>, to: Return) -> Result<i16, ClientError> {
        let handle = &*self.0;
        let version = request::agreed::<R>(&handle.versions, &versions).map_err(|error| self.named(error))?;
        self.push_in(request, version, to)?;
        Ok(version)
    }

    fn push_in<R: Request>(&self, request: &R, version: i16, to: Return) -> Result<(), ClientError> {
        let handle = &*self.0;
        let correlation_id = handle.queue.next_correlation_id();
        let outgoing = request::write(request, version, correlation_id, &handle.client_id);
        handle.queue.push(outgoing.map_err(|error| self.named(error))?, to)
    }

    /// Reads an answer that came into an inbox, and obeys it where it says that this client is throttled.
    ///
    /// # Errors
    /// [`ErrorKind::Malformed`].
    pub(crate) fn decode<R: Request>(&self, frame: Bytes, version: i16) -> Result<R::Response, ClientError> {
        let (_, response) = request::read::<R>(frame, version).map_err(|error| self.named(error))?;
        if let Ok(millis @ 1..) = u64::try_from(response.throttle_time_ms())
            && version >= R::Response::THROTTLES_SINCE
        {
            tracing::debug!(broker = self.broker(), api = %R::KEY, millis, "the broker throttles this client");
            self.0.queue.throttled_by(R::KEY, Duration::from_millis(millis));
        }
        Ok(response)
    }

    /// For how long nothing is sent from now on, because the broker throttles this client.
    pub(crate) fn throttled_for(&self) -> Duration {
        self.0.queue.throttled_for()
    }

    /// How many requests have no answer. A broker answers them in order, so that another one waits for all of them.
    pub(crate) fn in_flight(&self) -> usize {
        self.0.queue.in_flight()
    }

    /// Ends the connection because an answer has not come `within` the time that it had, and gives the error.
    pub(crate) fn timed_out<R: Request>(&self, within: Duration) -> ClientError {
        let reason = format!("no answer to {} within {} ms", R::NAME, within.as_millis());
        let error = self.named(
            ClientError::new(ErrorKind::TimedOut, "waiting for an answer", reason)
                .remedy("check the load of the broker and the network, or raise request.timeout.ms"),
        );
        self.0.queue.close(error.clone().of_kind(ErrorKind::Disconnected));
        error
    }

    fn named(&self, error: ClientError) -> ClientError {
        error.at(self.broker().to_owned())
    }

    /// The broker, as `host:port`.
    pub fn broker(&self) -> &str {
        &self.0.broker
    }

    /// The version of an API that this connection speaks: the newest stable one that both sides know.
    pub fn version(&self, key: ApiKey) -> Option<i16> {
        self.0.versions.agreed(key)
    }

    /// Whether the broker offers this version of an API, stable or not.
    #[cfg(feature = "unstable-kip-1289")]
    pub(crate) fn offers(&self, key: ApiKey, version: i16) -> bool {
        self.0.versions.offers(key, version)
    }

    /// The level of a finalized feature of the cluster, such as `share.version`; `None` where the cluster does not have
    /// it or the broker does not say.
    pub fn finalized_feature(&self, name: &str) -> Option<i16> {
        self.0.versions.feature(name)
    }

    /// All finalized features of the cluster and their levels; empty where the broker does not say.
    pub fn finalized_features(&self) -> impl Iterator<Item = (&str, i16)> {
        self.0.versions.features()
    }

    /// Completes when the connection has ended, whoever ended it, also while nothing is asked. Cancel-safe.
    pub async fn closed(&self) {
        self.0.queue.closed().await;
    }

    /// Whether the connection has ended.
    pub fn is_closed(&self) -> bool {
        self.0.queue.is_closed()
    }

    /// Why the connection has ended, if it has.
    pub fn end(&self) -> Option<ClientError> {
        self.0.queue.end()
    }

    /// Ends the connection; all calls under way fail.
    pub fn close(&self) {
        self.0.close();
    }
}

impl Handle {
    fn close(&self) {
        let error = ClientError::new(ErrorKind::Closed, "waiting for an answer", "this client closed the connection");
        self.queue.close(error.at(self.broker.to_string()));
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.close();
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection").field("broker", &self.broker()).field("closed", &self.is_closed()).finish()
    }
}
