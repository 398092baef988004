//! What client and broker of one connection say to each other: requests, and the responses that answer them.

use std::collections::VecDeque;

use ackflow_protocol::wire::ApiKey;
use ackflow_protocol::wire::frame::SIZE_LENGTH;
use bytes::Bytes;
use serde_json::Value;

use super::framer::{Cut, Framer, Skipped, Verdict};
use super::message::{Content, Direction, Fault, Frame, api_name, check_response, correlation_id, read_response};
use super::requests::{Requests, is_newer_handshake, looks_like_request, proven, token};

/// Requests that may wait for their responses; of more the oldest are forgotten. Clients have a handful.
const MOST_WAITING: usize = 4_096;

/// Captures may have a response before its request, where two processors had a packet each. So long the bytes of a side wait
/// for a request of the other, in segments of the connection, in nanoseconds, and in bytes held.
const PATIENCE: Clock = Clock { segments: 16, time: 10_000_000_000 };
const MOST_EARLY: usize = 64 << 10;

/// What happens in a conversation.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// A frame.
    Frame(Frame),
    /// Bytes of one direction that belong to no frame that could be read.
    Skipped(Direction, Skipped),
}

/// One of the two ends of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    A,
    B,
}

impl Side {
    pub(crate) fn other(self) -> Self {
        match self {
            Self::A => Self::B,
            Self::B => Self::A,
        }
    }

    pub(crate) fn index(self) -> usize {
        self as usize
    }
}

/// Follows one connection.
pub(crate) struct Conversation {
    /// What each side sends.
    streams: [Framer; 2],
    /// Which side sends the requests, once it is known.
    client: Option<Side>,
    /// Whether it is certain that this is Kafka. Before that, bytes that are no request are no error.
    proven: bool,
    waiting: VecDeque<Waiting>,
    /// What the requests so far say of the next.
    requests: Requests,
    /// What was skipped before that, of each side.
    before: [Option<Skipped>; 2],
    /// Whether anything has been said.
    heard: bool,
    /// When the last segment came.
    now: Clock,
    /// Since when each side's bytes wait for a request of the other's.
    early: [Option<Clock>; 2],
}

/// How far a capture is.
#[derive(Debug, Clone, Copy, Default)]
struct Clock {
    segments: u64,
    time: i64,
}

/// A request, or a step of an authentication, that has no answer yet.
#[derive(Debug)]
enum Waiting {
    Response { correlation_id: i32, key: ApiKey, version: i16 },
    Token,
}

impl Conversation {
    /// Of a connection whose `client` opened it in the capture, or is known by its port; if `proven`, it is Kafka for
    /// certain.
    pub(crate) fn new(client: Option<Side>, from_the_middle: bool, proven: bool) -> Self {
        let stream = || if from_the_middle || client.is_none() { Framer::from_the_middle() } else { Framer::new() };
        let streams = [stream(), stream()];
        Self {
            streams,
            client,
            proven,
            waiting: VecDeque::new(),
            requests: Requests::default(),
            before: [None, None],
            heard: false,
            now: Clock::default(),
            early: [None, None],
        }
    }

    /// Whether it is certain that this is Kafka.
    pub(crate) fn is_proven(&self) -> bool {
        self.proven
    }

    /// Whether anything has been said.
    pub(crate) fn is_heard(&self) -> bool {
        self.heard
    }

    /// Bytes held.
    pub(crate) fn held(&self) -> usize {
        self.streams.iter().map(Framer::held).sum()
    }

    /// A segment comes, whatever is in it. What has waited too long for a request goes on without.
    pub(crate) fn tick(&mut self, time: Option<i64>, out: &mut impl FnMut(Side, Event)) {
        self.now = Clock { segments: self.now.segments + 1, time: time.unwrap_or(self.now.time) };
        for side in [Side::A, Side::B] {
            if self.early[side.index()].is_some() && !self.is_patient(side) {
                self.read(side, false, out);
            }
        }
    }

    /// Takes the next bytes of one side. What comes out names the client's side.
    pub(crate) fn data(&mut self, side: Side, data: &[u8], out: &mut impl FnMut(Side, Event)) {
        self.heard = true;
        self.streams[side.index()].push(data);
        self.read(side, true, out);
    }

    /// Bytes of one side are missing here.
    pub(crate) fn lose(&mut self, side: Side, missing: u64, out: &mut impl FnMut(Side, Event)) {
        self.read_last(side, out);
        if let Some(cut) = self.streams[side.index()].lose(missing) {
            self.take(side, cut, out);
        }
    }

    /// Lets go of what is held, and goes on with what comes.
    pub(crate) fn give_up(&mut self) {
        for stream in &mut self.streams {
            stream.give_up("too much was held back at one time");
        }
    }

    /// The connection ends, or the capture.
    pub(crate) fn end(&mut self, out: &mut impl FnMut(Side, Event)) {
        let first = self.client.unwrap_or(Side::A);
        for side in [first, first.other()] {
            self.read_last(side, out);
            if let Some(cut) = self.streams[side.index()].end() {
                self.take(side, cut, out);
            }
        }
    }

    /// Reads what is there of one side, and then what the other had too early; with `patient` it may wait for the other.
    fn read(&mut self, side: Side, patient: bool, out: &mut impl FnMut(Side, Event)) {
        self.read_one(side, patient, out);
        let other = side.other();
        if self.client == Some(side) && self.early[other.index()].is_some() {
            self.streams[other.index()].search_again();
            self.read_one(other, true, out);
        }
    }

    /// Reads what is there of one side, where what would follow does not come.
    fn read_last(&mut self, side: Side, out: &mut impl FnMut(Side, Event)) {
        self.streams[side.index()].set_last(true);
        self.read(side, false, out);
        self.streams[side.index()].set_last(false);
    }

    fn read_one(&mut self, side: Side, patient: bool, out: &mut impl FnMut(Side, Event)) {
        while let Some(cut) = self.next(side, patient && self.is_patient(side)) {
            if self.client.is_none() && matches!(cut, Cut::Frame(_)) {
                self.client = Some(side);
            }
            self.take(side, cut, out);
        }
        if self.streams[side.index()].held() == 0 {
            self.early[side.index()] = None;
        }
    }

    /// Whether bytes of a side may wait, or wait on.
    fn is_patient(&self, side: Side) -> bool {
        let waits = |since: Clock| {
            let (segments, time) = (self.now.segments - since.segments, self.now.time.saturating_sub(since.time));
            segments <= PATIENCE.segments && time <= PATIENCE.time
        };
        self.streams[side.index()].held() <= MOST_EARLY && self.early[side.index()].is_none_or(waits)
    }

    fn next(&mut self, side: Side, patient: bool) -> Option<Cut> {
        let (doubt, bare) = (!self.proven, self.requests.mechanism().is_some());
        let (stream, waiting) = (&mut self.streams[side.index()], &self.waiting);
        if self.client == Some(side) {
            return stream.next(doubt, bare, false, looks_like_request);
        }
        let cut = if self.client.is_none() {
            stream.next(doubt, bare, patient, looks_like_request)
        } else if patient && !bare && stream.front().and_then(correlation_id).is_some_and(|id| !is_awaited(waiting, id))
        {
            None
        } else {
            stream.next(doubt, bare, patient, |body, size| looks_like_response(waiting, body, size))
        };
        let early = &mut self.early[side.index()];
        *early = if cut.is_none() { early.or(Some(self.now)) } else { None };
        cut
    }

    fn take(&mut self, side: Side, cut: Cut, out: &mut impl FnMut(Side, Event)) {
        let client = self.client.unwrap_or(side);
        let direction = if client == side { Direction::Request } else { Direction::Response };
        let event = match cut {
            // Before it is certain that this is Kafka, there is nothing to report.
            Cut::Skipped(skipped) if !self.proven => return self.remember(side, skipped),
            Cut::Broken { start, missing, .. } if !self.proven => {
                let skipped = (SIZE_LENGTH + start.len()) as u64;
                return self.remember(side, Skipped { skipped, missing, reason: "the frame is not all there".into() });
            }
            Cut::Skipped(skipped) => Event::Skipped(direction, skipped),
            Cut::Frame(bytes) => Event::Frame(self.frame(direction, bytes)),
            Cut::Broken { start, size, missing } => Event::Frame(broken(self.frame(direction, start), size, missing)),
        };
        if self.proven {
            for side in [client, client.other()] {
                if let Some(skipped) = self.before[side.index()].take() {
                    let direction = if client == side { Direction::Request } else { Direction::Response };
                    out(client, Event::Skipped(direction, skipped));
                }
            }
        }
        out(client, event);
    }

    /// Keeps what was skipped until it is certain that this is Kafka.
    fn remember(&mut self, side: Side, skipped: Skipped) {
        match &mut self.before[side.index()] {
            Some(before) => {
                before.skipped += skipped.skipped;
                before.missing += skipped.missing;
            }
            none => *none = Some(skipped),
        }
    }

    fn frame(&mut self, direction: Direction, bytes: Bytes) -> Frame {
        match direction {
            Direction::Request => self.request(bytes),
            Direction::Response => self.response(bytes),
        }
    }

    fn request(&mut self, bytes: Bytes) -> Frame {
        let frame = self.requests.read(bytes);
        if matches!(frame.content, Content::Token { .. }) {
            self.wait(Waiting::Token);
            return frame;
        }
        let Frame { api: Some(key), version: Some(version), correlation_id: Some(correlation_id), .. } = frame else {
            return frame;
        };
        let body = match &frame.content {
            Content::Body { json, .. } => json,
            _ => &Value::Null,
        };
        self.proven |= !body.is_null() || is_newer_handshake(key, version);
        // A producer that asks for no acknowledgement gets no answer at all.
        if key != ApiKey::PRODUCE || body["acks"] != 0 {
            self.wait(Waiting::Response { correlation_id, key, version });
        }
        frame
    }

    fn wait(&mut self, waiting: Waiting) {
        if self.waiting.len() == MOST_WAITING {
            self.waiting.pop_front();
        }
        self.waiting.push_back(waiting);
    }

    fn response(&mut self, bytes: Bytes) -> Frame {
        if let (Some(Waiting::Token), Some(mechanism)) = (self.waiting.front(), self.requests.mechanism()) {
            let token = token(Direction::Response, mechanism, bytes);
            self.waiting.pop_front();
            return token;
        }
        let id = correlation_id(&bytes);
        let answered = |waiting: &Waiting| matches!(waiting, Waiting::Response { correlation_id, .. } if Some(*correlation_id) == id);
        if let Some(at) = self.waiting.iter().position(answered)
            && let Some(Waiting::Response { key, version, .. }) = self.waiting.remove(at)
        {
            return read_response(bytes, key, version);
        }
        let fault = match id {
            Some(id) => format!("answers the request with correlation id {id}, which is not in the capture"),
            None => "is too short for a response".to_owned(),
        };
        Frame { correlation_id: id, ..Frame::nothing(Direction::Response, Content::Fault(Fault::new(fault)), bytes) }
    }
}

/// A frame that is not all there. Whose it is may be known all the same.
fn broken(frame: Frame, size: usize, missing: u64) -> Frame {
    let name = frame.api.map_or_else(String::new, |key| format!("{}: ", api_name(key)));
    let have = frame.bytes.len();
    let message =
        format!("{name}{missing} of the frame's {size} bytes are not in the capture, behind the first {have}");
    Frame { content: Content::Fault(Fault { message, missing: Some(missing), ..Fault::default() }), ..frame }
}

fn is_awaited(waiting: &VecDeque<Waiting>, id: i32) -> bool {
    waiting.iter().any(|waiting| matches!(waiting, Waiting::Response { correlation_id, .. } if *correlation_id == id))
}

/// Whether bytes are a response to a request that waits, or the start of one.
fn looks_like_response(waiting: &VecDeque<Waiting>, body: &[u8], size: usize) -> Verdict {
    let Some(id) = correlation_id(body) else {
        return if size < 4 { Verdict::Other } else { Verdict::Unclear };
    };
    let answered = waiting.iter().find_map(|waiting| match waiting {
        Waiting::Response { correlation_id, key, version } if *correlation_id == id => Some((*key, *version)),
        _ => None,
    });
    answered.map_or(Verdict::Other, |(key, version)| proven(body, size, |bytes| check_response(bytes, key, version)))
}
