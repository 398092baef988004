//! The machine of one share consumer: what a driver runs.

mod options;

pub use options::{AcquireMode, ShareConsumerOptions};

use std::{collections::VecDeque, time::Instant};

use crate::machine::types::{
    AckId, AckRange, Acquisition, ClientResponse, CommitId, Event, Output, RequestFailure, RequestId, SessionId,
    TopicIdPartition,
};

/// The machine of one share consumer.
#[derive(Debug)]
pub struct ShareConsumerMachine {
    options: ShareConsumerOptions,
    outputs: VecDeque<Output>,
    next_ack: u64,
    next_commit: u64,
}

impl ShareConsumerMachine {
    /// A machine that does nothing until it is told to subscribe. `seed` drives the jitter of backoffs.
    pub fn new(_now: Instant, _seed: u64, options: ShareConsumerOptions) -> Self {
        Self { options, outputs: VecDeque::new(), next_ack: 0, next_commit: 0 }
    }

    /// Its settings.
    pub fn options(&self) -> &ShareConsumerOptions {
        &self.options
    }

    /// Sets the topics to consume, all of them. An empty list unsubscribes: what is decided is sent, the sessions end, the member leaves.
    pub fn subscribe(&mut self, _now: Instant, _topics: Vec<String>) {}

    /// The application asks for records: call it at the start of each poll, also of one that finds records in the buffer. Nothing is
    /// acquired before the first, `max.poll.interval.ms` counts from the last, and a member that left for want of it joins again.
    pub fn polled(&mut self, _now: Instant) {}

    /// The application took this many records over from the acquisitions it was told of.
    pub fn taken(&mut self, _now: Instant, _records: u32) {}

    /// An acquisition, or the part of it that is left, will not be handed out: its lock or its session is gone.
    pub fn dropped(&mut self, _now: Instant, _acquisition: &Acquisition) {}

    /// Acknowledges offsets that the session acquired. The answer is one [`Event::Acknowledged`] with the id. A renewed offset has to be
    /// acknowledged again; one whose acknowledgement has not been sent yet may be, and then the last word counts.
    pub fn acknowledge(
        &mut self,
        _now: Instant,
        _session: SessionId,
        _topic_partition: TopicIdPartition,
        _ranges: Vec<AckRange>,
    ) -> AckId {
        self.next_ack += 1;
        AckId(self.next_ack)
    }

    /// Sends everything acknowledged so far without waiting for a fetch to carry it. [`Event::Committed`] tells when all of it has ended.
    pub fn commit(&mut self, _now: Instant) -> CommitId {
        self.next_commit += 1;
        CommitId(self.next_commit)
    }

    /// Ends: acknowledgements that were decided go out with the end of each session, the member leaves, then [`Event::Closed`]. What is
    /// undecided is released by the broker. The driver bounds the time; when it gives up it drops the machine.
    pub fn close(&mut self, _now: Instant) {
        self.outputs.push_back(Output::Event(Event::Closed));
    }

    /// The answer to a request, exactly once for each.
    pub fn handle_response(
        &mut self,
        _now: Instant,
        _id: RequestId,
        _response: Result<ClientResponse, RequestFailure>,
    ) {
    }

    /// The session connection to a broker ended, with or without a request on it.
    pub fn handle_disconnect(&mut self, _now: Instant, _node: i32) {}

    /// The finalized feature `share.version` of the cluster, as ApiVersions tells on connecting; `None` where it is not there. Zero and
    /// `None` are fatal: such a broker may list the APIs all the same.
    pub fn handle_share_version(&mut self, _now: Instant, _finalized: Option<i16>) {}

    /// What to do next.
    pub fn poll(&mut self, _now: Instant) -> Output {
        self.outputs.pop_front().unwrap_or(Output::Wait(None))
    }
}
