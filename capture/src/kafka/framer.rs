//! Cuts one direction of a connection into frames, and finds the next frame where the beginning is not known.

use std::borrow::Cow;

use ackflow_protocol::wire::frame::{DEFAULT_MAX_FRAME, SIZE_LENGTH, frame_size};
use bytes::{Buf, Bytes, BytesMut};

/// While the beginning of a frame is searched for, a frame that is longer than this is believed by its first bytes alone.
const LONGEST_PROOF: usize = 1 << 20;
/// By so many of them, which the judge reads.
pub(crate) const PREFIX: usize = 4 << 10;
/// After bytes that looked like a frame and were none, the search goes on behind one in so many of them. Otherwise bytes
/// that look like many frames, each reaching to the end, would cost the square of their number.
const STEP_DIVISOR: usize = 64;

/// Why bytes are skipped where others are missing.
const LOST: &str = "bytes are not in the capture";

/// What a judge says of bytes that may be a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It looks like one.
    Frame,
    /// It is none.
    Other,
    /// More bytes are needed to say.
    Unclear,
}

/// What comes out.
pub(crate) enum Cut {
    /// A frame, without its size.
    Frame(Bytes),
    /// The beginning of a frame that is not all there.
    Broken {
        /// What is there of it up to the first byte that is missing, without its size.
        start: Bytes,
        /// How long it was to be.
        size: usize,
        /// The bytes that are missing there.
        missing: u64,
    },
    /// Bytes between frames.
    Skipped(Skipped),
}

/// Bytes that belong to no frame that could be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
    /// Bytes that are in the capture.
    pub skipped: u64,
    /// Bytes that are not.
    pub missing: u64,
    /// Why.
    pub reason: Cow<'static, str>,
}

pub(crate) struct Framer {
    buf: BytesMut,
    state: State,
    /// While searching: what has been passed over.
    over: Skipped,
    /// While searching: where in `buf` to go on.
    at: usize,
    /// Nothing follows what is in `buf`, so that a frame which is not all there is none.
    last: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// The buffer begins with a frame.
    Aligned,
    /// The buffer is empty, and a frame that was broken goes on for so many bytes.
    Inside(u64),
    /// Where the next frame begins is not known.
    Searching,
}

impl Framer {
    /// A stream from its first byte on.
    pub(crate) fn new() -> Self {
        Self { buf: BytesMut::new(), state: State::Aligned, over: Skipped::nothing(""), at: 0, last: false }
    }

    /// A stream of which an earlier part is not known.
    pub(crate) fn from_the_middle() -> Self {
        let over = Skipped::nothing("the capture has this connection from its middle on");
        Self { state: State::Searching, over, ..Self::new() }
    }

    /// Bytes held.
    pub(crate) fn held(&self) -> usize {
        self.buf.len()
    }

    pub(crate) fn push(&mut self, mut data: &[u8]) {
        if let State::Inside(left) = &mut self.state {
            let inside = (*left).min(data.len() as u64);
            *left -= inside;
            data = &data[inside as usize..];
            if *left > 0 {
                return;
            }
            self.state = State::Aligned;
        }
        self.buf.extend_from_slice(data);
    }

    /// Bytes are missing here. Gives the frame that they break, if it is known where it began.
    pub(crate) fn lose(&mut self, missing: u64) -> Option<Cut> {
        let (broken, left) = match self.state {
            State::Aligned => match self.broken() {
                Some((start, size)) => {
                    let left = (size - start.len()) as u64;
                    (Some(Cut::Broken { start, size, missing: missing.min(left) }), left)
                }
                None => (None, 0),
            },
            State::Inside(left) => (None, left),
            State::Searching => (None, 0),
        };
        if missing < left {
            self.state = State::Inside(left - missing);
        } else if missing == left {
            self.state = State::Aligned;
        } else {
            self.give_up(LOST);
            self.over.missing += missing - left;
        }
        broken
    }

    /// Gives up what is held, and searches for the next frame.
    pub(crate) fn give_up(&mut self, reason: &'static str) {
        self.search(reason);
        self.drop_front(self.buf.len());
    }

    /// The stream ends: what is left of it.
    pub(crate) fn end(&mut self) -> Option<Cut> {
        if self.state == State::Aligned
            && let Some((start, size)) = self.broken()
        {
            let missing = (size - start.len()) as u64;
            return Some(Cut::Broken { start, size, missing });
        }
        if !self.buf.is_empty() {
            self.give_up(LOST);
        }
        self.skipped()
    }

    /// The next frame, or what lies before it. In a stream whose frames are known, `judge` is asked only where the beginning
    /// of the next one is not; with `doubt` it is asked of each. It gets what is there of a frame, and the frame's size. With
    /// `keep`, bytes that are searched in vain are held for a [search](Self::search_again) by another judge.
    pub(crate) fn next(
        &mut self,
        doubt: bool,
        allow_empty: bool,
        keep: bool,
        judge: impl Fn(&[u8], usize) -> Verdict,
    ) -> Option<Cut> {
        if self.state == State::Aligned
            && let Some(size) = self.aligned_size(allow_empty)
        {
            let body = &self.buf[SIZE_LENGTH..];
            if !doubt || judge(&body[..body.len().min(size)], size) != Verdict::Other {
                return (body.len() >= size).then(|| self.take(size));
            }
            self.search("this is not a Kafka request");
        }
        if self.state == State::Searching {
            return self.find(keep, judge);
        }
        None
    }

    /// What is there of the frame that begins here, where it is known that one does.
    pub(crate) fn front(&self) -> Option<&[u8]> {
        let (prefix, body) = self.buf.split_first_chunk()?;
        let size = frame_size(*prefix, DEFAULT_MAX_FRAME).ok()?;
        (self.state == State::Aligned).then(|| &body[..body.len().min(size)])
    }

    /// Whether nothing follows what is there. A search then goes on behind what might have become a frame.
    pub(crate) fn set_last(&mut self, last: bool) {
        self.last = last;
    }

    /// Searches what was kept once more.
    pub(crate) fn search_again(&mut self) {
        self.at = 0;
    }

    /// The size of the frame that begins here; `None` where it has not come yet, and where it makes no sense, whereupon the
    /// search begins.
    fn aligned_size(&mut self, allow_empty: bool) -> Option<usize> {
        let prefix = *self.buf.first_chunk()?;
        if allow_empty && prefix == [0; SIZE_LENGTH] {
            return Some(0);
        }
        match frame_size(prefix, DEFAULT_MAX_FRAME) {
            Ok(size) => Some(size),
            Err(error) => {
                self.search(error.to_string());
                None
            }
        }
    }

    fn take(&mut self, size: usize) -> Cut {
        self.buf.advance(SIZE_LENGTH);
        Cut::Frame(self.buf.split_to(size).freeze())
    }

    /// The frame that begins here and will not be whole, with its size.
    fn broken(&mut self) -> Option<(Bytes, usize)> {
        let size = frame_size(*self.buf.first_chunk()?, DEFAULT_MAX_FRAME).ok()?;
        self.buf.advance(SIZE_LENGTH);
        Some((self.buf.split().freeze(), size))
    }

    fn search(&mut self, reason: impl Into<Cow<'static, str>>) {
        if self.state != State::Searching {
            self.state = State::Searching;
            self.over = Skipped::nothing(reason);
            self.at = 0;
        }
    }

    fn find(&mut self, keep: bool, judge: impl Fn(&[u8], usize) -> Verdict) -> Option<Cut> {
        while let Some(prefix) = self.buf[self.at..].first_chunk() {
            let Ok(size) = frame_size(*prefix, DEFAULT_MAX_FRAME) else {
                self.at += 1;
                continue;
            };
            let body = &self.buf[self.at + SIZE_LENGTH..];
            let whole = body.len() >= size;
            if !whole && self.last {
                self.at += 1;
                continue;
            }
            match judge(&body[..body.len().min(size)], size) {
                Verdict::Frame if whole || size > LONGEST_PROOF && body.len() >= PREFIX => {
                    self.drop_front(self.at);
                    self.state = State::Aligned;
                    // With nothing before it, the frame comes with the next call.
                    return self.skipped().or_else(|| whole.then(|| self.take(size)));
                }
                Verdict::Frame | Verdict::Unclear if !whole => break,
                _ => self.at += if whole { (size / STEP_DIVISOR).max(1) } else { 1 },
            }
        }
        if !keep {
            self.drop_front(self.at.min(self.buf.len()));
        }
        None
    }

    fn drop_front(&mut self, count: usize) {
        self.buf.advance(count);
        self.at = self.at.saturating_sub(count);
        self.over.skipped += count as u64;
    }

    fn skipped(&mut self) -> Option<Cut> {
        let reason = self.over.reason.clone();
        let over = std::mem::replace(&mut self.over, Skipped::nothing(reason));
        (over.skipped + over.missing > 0).then_some(Cut::Skipped(over))
    }
}

impl Skipped {
    fn nothing(reason: impl Into<Cow<'static, str>>) -> Self {
        Self { skipped: 0, missing: 0, reason: reason.into() }
    }
}
