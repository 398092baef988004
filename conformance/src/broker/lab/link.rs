//! One connection of a case: bare requests out, answers in.

use std::io;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use ackflow_client::net::RawConnection;
use ackflow_protocol::wire::{JsonWriter, Message, Request, Uuid, decode_response, encode_request};
use bytes::Bytes;
use tokio::time::timeout;

use super::record::{Number, Record};
use super::{Outcome, Stop, Target};

/// How long a broker may take for an answer that nothing holds.
pub(crate) const ANSWER: Duration = Duration::from_secs(30);

/// A connection of a case. What goes over it is in the report, unless it belongs to what a case takes for granted.
#[derive(Debug)]
pub(crate) struct Link {
    raw: RawConnection,
    target: Option<Arc<Target>>,
    record: Option<Arc<Record>>,
    correlation: i32,
    client_id: Option<String>,
}

/// A request whose answer is still to come.
#[derive(Debug)]
#[must_use]
pub(crate) struct Sent<R> {
    version: i16,
    correlation: i32,
    number: Option<Number>,
    request: PhantomData<fn() -> R>,
}

impl Link {
    /// A connection that no report tells of.
    pub(crate) fn bare(raw: RawConnection) -> Self {
        // The first numbers are those of the questions that made the connection.
        Self { raw, target: None, record: None, correlation: 1000, client_id: Some("ackflow-conformance".into()) }
    }

    pub(super) fn new(raw: RawConnection, target: Arc<Target>, record: Option<Arc<Record>>) -> Self {
        Self { target: Some(target), record, ..Self::bare(raw) }
    }

    /// The same connection for what a case takes for granted: the report does not tell of it.
    pub(crate) fn unrecorded(self) -> Self {
        Self { record: None, ..self }
    }

    pub(super) fn recorded(self, record: &Arc<Record>) -> Self {
        Self { record: Some(Arc::clone(record)), ..self }
    }

    /// Asks in the newest version that both sides know.
    pub(crate) async fn call<R: Request>(&mut self, request: &R) -> Outcome<R::Response> {
        let version = self.newest::<R>()?;
        self.call_in(version, request).await
    }

    /// Asks in this version, whatever the broker advertises.
    pub(crate) async fn call_in<R: Request>(&mut self, version: i16, request: &R) -> Outcome<R::Response> {
        let sent = self.send_in(version, request).await?;
        self.answer(sent).await
    }

    /// Sends a request in the newest version that both sides know, and waits for nothing.
    pub(crate) async fn send<R: Request>(&mut self, request: &R) -> Outcome<Sent<R>> {
        let version = self.newest::<R>()?;
        self.send_in(version, request).await
    }

    /// Sends a request in this version, and waits for nothing.
    pub(crate) async fn send_in<R: Request>(&mut self, version: i16, request: &R) -> Outcome<Sent<R>> {
        let correlation = self.next_correlation();
        let frame = encode_request(request, version, correlation, self.client_id.as_deref()).map_err(|error| {
            // The version has no place for what the case has to say.
            Stop::NotOffered(format!("{} {version}, the newest that is advertised: {error}", R::KEY))
        })?;
        let number = self.record.as_ref().map(|record| record.sent(told(request, version)));
        self.write(&frame).await?;
        Ok(Sent { version, correlation, number, request: PhantomData })
    }

    /// Waits for the answer to a request. Answers come in the order of their requests.
    pub(crate) async fn answer<R: Request>(&mut self, sent: Sent<R>) -> Outcome<R::Response> {
        self.answer_within(sent, ANSWER).await
    }

    /// The same, for so long.
    pub(crate) async fn answer_within<R: Request>(&mut self, sent: Sent<R>, within: Duration) -> Outcome<R::Response> {
        let expected = || format!("an answer to {} {}", R::KEY, sent.version);
        let frame = match timeout(within, self.raw.read()).await {
            Ok(Ok(Some(frame))) => frame,
            Ok(Ok(None)) => return Err(Stop::failed(expected(), "the broker closed the connection")),
            Ok(Err(error)) => return Err(Stop::failed(expected(), format!("the connection broke: {error}"))),
            Err(_) => return Err(Stop::failed(expected(), format!("nothing within {} s", within.as_secs()))),
        };
        let (header, response) = decode_response::<R::Response>(frame.clone(), sent.version).map_err(|error| {
            Stop::failed(
                format!("{}, as its schema has it", expected()),
                format!("{error}; the frame: {}", hex(&frame)),
            )
        })?;
        if let (Some(record), Some(number)) = (&self.record, sent.number) {
            record.got(number, &told(&response, sent.version));
        }
        if header.correlation_id != sent.correlation {
            let expected = format!("{} with the correlation id {}", expected(), sent.correlation);
            return Err(Stop::failed(expected, format!("the correlation id {}", header.correlation_id)));
        }
        Ok(response)
    }

    /// Writes bytes as they are; the report has `what` for them. A connection that the broker has closed meanwhile is no failure.
    pub(crate) async fn send_bytes(&mut self, what: &str, bytes: &[u8]) -> Outcome<Option<Number>> {
        let number = self.record.as_ref().map(|record| record.sent(what.to_owned()));
        match self.raw.write(bytes).await {
            Ok(()) => Ok(number),
            Err(error) if ended(&error) => Ok(number),
            Err(error) => Err(Stop::failed("a connection that takes a request", error.to_string())),
        }
    }

    /// The frame of a request, to be spoiled before it is sent by [`send_bytes`](Self::send_bytes).
    pub(crate) fn frame_of<R: Request>(&mut self, version: i16, request: &R) -> Vec<u8> {
        let correlation = self.next_correlation();
        let frame = encode_request(request, version, correlation, self.client_id.as_deref());
        frame.map(|frame| frame.to_vec()).unwrap_or_default()
    }

    /// The next frame without its size, of whatever kind; `None` where the connection ended, in whatever way.
    pub(crate) async fn next_frame(&mut self) -> Outcome<Option<Bytes>> {
        match timeout(ANSWER, self.raw.read()).await {
            Ok(Ok(frame)) => Ok(frame),
            Ok(Err(error)) if ended(&error) => Ok(None),
            Ok(Err(error)) => Err(Stop::failed("a frame, or the end of the connection", error.to_string())),
            Err(_) => Err(Stop::failed(
                "a frame, or the end of the connection",
                format!("nothing within {} s", ANSWER.as_secs()),
            )),
        }
    }

    /// Whether nothing comes for so long, not even an end.
    pub(crate) async fn is_silent_for(&mut self, time: Duration) -> bool {
        timeout(time, self.raw.read()).await.is_err()
    }

    /// The newest version of `R` that both sides know.
    pub(crate) fn newest<R: Request>(&self) -> Outcome<i16> {
        match &self.target {
            Some(target) => target.version::<R>(),
            None => Ok(R::NEWEST_STABLE),
        }
    }

    fn next_correlation(&mut self) -> i32 {
        self.correlation += 1;
        self.correlation
    }

    async fn write(&mut self, frame: &[u8]) -> Outcome {
        let written = self.raw.write(frame).await;
        written.map_err(|error| Stop::failed("a connection that takes a request", error.to_string()))
    }
}

/// Whether the other end has gone.
fn ended(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof};
    matches!(error.kind(), BrokenPipe | ConnectionAborted | ConnectionReset | UnexpectedEof)
}

/// A message as the report shows it: name, version, and Kafka's JSON of it.
fn told<M: Message>(message: &M, version: i16) -> String {
    match JsonWriter::to_json(message, version) {
        Ok(json) => format!("{} {version} {json}", M::NAME),
        Err(error) => format!("{} {version} ({error})", M::NAME),
    }
}

/// The beginning of a frame, for who has to find out what is wrong with it.
fn hex(bytes: &[u8]) -> String {
    const SHOWN: usize = 200;
    let shown: String = bytes.iter().take(SHOWN).map(|byte| format!("{byte:02x}")).collect();
    match bytes.len().checked_sub(SHOWN) {
        Some(left @ 1..) => format!("{shown}.. ({left} more bytes)"),
        _ => shown,
    }
}

/// An id that is nobody's.
pub(crate) fn random_uuid() -> Uuid {
    let bytes: [u8; 16] = std::array::from_fn(|_| super::random() as u8);
    Uuid(bytes)
}
