//! Segments of a few connections, in order or not, under limits that a small input reaches.

use std::net::SocketAddr;

use ackflow_protocol::fuzzing::{Input, OPERATIONS};

use super::{form, reads_back};
use crate::packet::Segment;
use crate::summary::Summary;
use crate::tcp::{Connections, Entry, Limits};

/// More clients than connections are followed.
const CLIENTS: u8 = 8;
const LIMITS: Limits = Limits { connections: 6, held: 6 << 10, pending: 2 << 10 };

/// Bits of an operation's first byte.
const OF_BROKER: u8 = 0x80;
const SPECIAL: u8 = 0x40;

/// An input of [`capture()`](super::capture): what is said on one connection, client or broker, in order.
pub fn segment_seed<'a>(talk: impl IntoIterator<Item = (bool, &'a [u8])>) -> Vec<u8> {
    let mut seed = vec![form::SEGMENTS, 0];
    for (of_broker, bytes) in talk {
        for part in bytes.chunks(u8::MAX.into()) {
            seed.extend([if of_broker { OF_BROKER } else { 0 }, part.len() as u8]);
            seed.extend_from_slice(part);
        }
    }
    seed
}

/// One byte chooses whether the broker's port is known; each byte after the first an operation of one side of one
/// connection: to say the next bytes, as many as the byte after it says, or anything else.
pub(super) fn segments(data: &[u8]) {
    let mut input = Input::new(data);
    let broker = SocketAddr::from(([127, 0, 0, 1], 9_092));
    let named = input.once_in(2).then_some(broker.port());
    let mut connections = Connections::new(named, LIMITS);
    let mut summary = Summary::default();
    let mut out = |entry: Entry| reads_back(&entry);
    // What each side of each connection sends next.
    let mut next = [[u32::MAX - 100, 2_000]; CLIENTS as usize];
    for time in 0..OPERATIONS as i64 {
        if input.is_empty() {
            break;
        }
        let operation = input.byte();
        let (of_broker, number) = (operation & OF_BROKER != 0, operation % CLIENTS);
        let client = SocketAddr::from(([127, 0, 0, 1], 50_000 + u16::from(number)));
        let (from, to) = if of_broker { (broker, client) } else { (client, broker) };
        let (side, other) = (usize::from(of_broker), usize::from(!of_broker));
        let next = &mut next[usize::from(number)];
        let mut segment = Segment {
            from,
            to,
            sequence: next[side],
            acknowledged: Some(next[other]),
            syn: false,
            fin: false,
            rst: false,
            payload: &[],
            cut: false,
        };
        if operation & SPECIAL != 0 {
            special(&mut segment, &mut input);
        }
        let length = input.byte();
        segment.payload = input.bytes(length.into());
        next[side] =
            segment.sequence.wrapping_add(segment.payload.len() as u32 + u32::from(segment.syn || segment.fin));
        connections.segment(&segment, Some(time), &mut summary, &mut out);
        connections.check();
    }
    connections.end(&mut summary, &mut out);
    connections.check();
}

/// Makes something else of a segment that would follow the one before.
fn special(segment: &mut Segment<'_>, input: &mut Input<'_>) {
    match input.below(12) {
        // A hole before it, or a part that comes again.
        0 | 1 => segment.sequence = segment.sequence.wrapping_add(input.byte().into()),
        2 => segment.sequence = segment.sequence.wrapping_sub(input.byte().into()),
        3 => segment.sequence = segment.sequence.wrapping_add(input.i64() as u32),
        4 => segment.syn = true,
        5 => (segment.syn, segment.acknowledged) = (true, None),
        6 => segment.fin = true,
        7 => segment.rst = true,
        8 => segment.cut = true,
        9 => segment.acknowledged = None,
        10 => segment.acknowledged = segment.acknowledged.map(|next| next.wrapping_add(input.byte().into())),
        _ => segment.acknowledged = segment.acknowledged.map(|next| next.wrapping_sub(input.byte().into())),
    }
}
