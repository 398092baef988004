//! What a capture held, in numbers.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use crate::kafka::conversation::{Conversation, Event};
use crate::kafka::message::{Content, Frame};
use crate::packet::NoSegment;

/// Brokers that are counted each for itself; more are counted, but not named.
const MOST_LISTENERS: usize = 1_024;

/// What was decoded, and what was passed over.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Summary {
    /// Packets in the capture.
    pub packets: u64,
    /// Packets that are no TCP segment, by what they are.
    pub no_segment: BTreeMap<NoSegment, u64>,
    /// Packets of which the capture has less than there was, but for those of ports that were not asked for.
    pub cut: u64,
    /// Segments of ports that were not asked for.
    pub other_ports: u64,
    /// Blocks of the file that are not what their type says.
    pub malformed_blocks: u64,
    /// Connections.
    pub connections: u64,
    /// Connections in which no Kafka was found, and which sent something.
    pub other_connections: u64,
    /// Frames, those that could not be read among them.
    pub frames: u64,
    /// Frames that could not be read.
    pub faults: u64,
    /// Bytes in the capture that belong to no frame.
    pub skipped: u64,
    /// Bytes of connections that are not in the capture, as far as it shows how many they were.
    pub missing: u64,
    /// What is listening where: frames to and from each broker's address.
    pub listeners: BTreeMap<SocketAddr, u64>,
}

impl Summary {
    pub(crate) fn listens(&self, end: SocketAddr) -> bool {
        self.listeners.contains_key(&end)
    }

    /// Counts what happened in a conversation with `broker`.
    pub(crate) fn count(&mut self, broker: SocketAddr, event: &Event) {
        match event {
            Event::Frame(frame) => {
                self.count_frame(frame);
                if self.listeners.len() < MOST_LISTENERS || self.listens(broker) {
                    *self.listeners.entry(broker).or_default() += 1;
                }
            }
            Event::Skipped(_, skipped) => self.skipped += skipped.skipped,
        }
    }

    /// Counts a frame without a connection.
    pub(crate) fn count_frame(&mut self, frame: &Frame) {
        self.frames += 1;
        self.faults += u64::from(matches!(frame.content, Content::Fault(_)));
    }

    pub(crate) fn ended(&mut self, conversation: &Conversation) {
        if !conversation.is_proven() && conversation.is_heard() {
            self.other_connections += 1;
        }
    }
}
