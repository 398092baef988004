//! Whatever is in a capture, nothing panics, and memory is bounded.

use ackflow_capture::fuzzing;
use proptest::prelude::*;

use crate::counting;
use crate::file::{self, Captured, Format};
use crate::packet::{Link, Segment};
use crate::session::{Broker, Client, START, Session, file_of, packets, talk};

const FORMATS: [Format; 3] = [
    file::PCAP,
    Format::PcapNg { big_endian: true, resolution: Some(9), offset: Some(3) },
    Format::PcapNg { big_endian: false, resolution: None, offset: None },
];

fn runs(input: &[u8]) {
    let (held, ()) = counting::peak(|| fuzzing::capture(input));
    assert!(held <= fuzzing::MEMORY, "{held} bytes held");
}

/// A change of bytes at a place: others in their place, more, fewer, none that follow.
fn change() -> impl Strategy<Value = (prop::sample::Index, u8, Vec<u8>)> {
    (any::<prop::sample::Index>(), 0u8..4, noise(1..8))
}

/// Bytes, half of them such as lengths and counts have at their edges.
fn noise(length: std::ops::Range<usize>) -> impl Strategy<Value = Vec<u8>> {
    const EDGES: [u8; 5] = [0, 1, 0x7f, 0x80, 0xff];
    let edge = |byte: u8| if byte & 1 == 0 { byte >> 1 } else { EDGES[usize::from(byte >> 1) % EDGES.len()] };
    prop::collection::vec(any::<u8>(), length).prop_map(move |bytes| bytes.into_iter().map(edge).collect())
}

fn changed(mut bytes: Vec<u8>, changes: Vec<(prop::sample::Index, u8, Vec<u8>)>) -> Vec<u8> {
    for (at, kind, new) in changes {
        // The first bytes say what the file is; without them there is nothing to test.
        let at = 4 + at.index(bytes.len().max(5) - 4);
        let end = (at + new.len()).min(bytes.len());
        match kind {
            0 => drop(bytes.splice(at.min(end)..end, new)),
            1 => drop(bytes.splice(at.min(end)..at.min(end), new)),
            2 => drop(bytes.drain(at.min(end)..end)),
            _ => bytes.truncate(at.max(bytes.len() / 2)),
        }
    }
    bytes
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn changed_captures(
        format in prop::sample::select(&FORMATS[..]),
        link in prop::sample::select(&Link::ALL[..]),
        size in 40usize..1_500,
        opened in any::<bool>(),
        changes in prop::collection::vec(change(), 0..12),
    ) {
        let mut session = Session::new(50_000, [u32::MAX - 100, 2_000]);
        let mut segments = session.open();
        if !opened {
            segments.clear();
        }
        segments.extend(session.say(&talk(7), size));
        segments.extend(session.close());
        runs(&changed(file_of(format, link, &segments, false), changes));
    }

    #[test]
    fn changed_frames(size in 40usize..1_500, changes in prop::collection::vec(change(), 1..12)) {
        let mut session = Session::new(50_000, [1, 2]);
        let mut segments = session.open();
        for (who, bytes) in talk(7) {
            let mut changes = changes.clone();
            changes.truncate(1 + bytes.len() % changes.len());
            segments.extend(session.say(&vec![(who, changed(bytes, changes))], size));
        }
        runs(&file_of(file::PCAP, Link::Ethernet, &segments, false));
    }

    #[test]
    fn noise_in_segments_of_any_order(
        segments in prop::collection::vec(
            (any::<bool>(), any::<u32>(), any::<u32>(), 0u8..8, noise(0..60)), 0..60),
    ) {
        let mut session = Session::new(50_000, [1, 2]);
        let noise = |(is_client, sequence, acknowledged, flags, payload): (bool, u32, u32, u8, Vec<u8>)| Segment {
            // Near each other half of the time, so that they meet.
            sequence: if sequence & 1 == 0 { sequence } else { sequence & 0xff },
            acknowledged: (acknowledged & 3 != 0).then_some(if acknowledged & 4 == 0 { acknowledged } else { acknowledged & 0xff }),
            flags: if flags == 0 { 0 } else { flags & 5 },
            payload,
            ..session.send(if is_client { Client } else { Broker }, 0, b"")
        };
        let segments: Vec<Segment> = segments.into_iter().map(noise).collect();
        let file = file::write(file::PCAP, 1, &packets(Link::Ethernet, &segments));
        runs(&file);
    }

    #[test]
    fn noise_in_a_file(magic in prop::sample::select(&MAGICS[..]), noise in noise(0..2_000)) {
        runs(&[&magic[..], &noise].concat());
    }

    #[test]
    fn noise_in_packets(link in 0u16..300, packets in prop::collection::vec(noise(0..120), 0..20)) {
        let captured = |data| Captured { time: START, data, original: Some(1_000) };
        let packets: Vec<Captured> = packets.into_iter().map(captured).collect();
        for format in FORMATS {
            runs(&file::write(format, link, &packets));
        }
    }
}

const MAGICS: [[u8; 4]; 6] = [
    [0xa1, 0xb2, 0xc3, 0xd4],
    [0xd4, 0xc3, 0xb2, 0xa1],
    [0x4d, 0x3c, 0xb2, 0xa1],
    [0x34, 0xcd, 0xb2, 0xa1],
    [0x0a, 0x0d, 0x0d, 0x0a],
    [0xa1, 0xb2, 0x3c, 0x4d],
];

/// Requests of a client whose frames all claim 100 MiB, and segments that all leave a hole: the least bytes for the most
/// memory.
#[test]
fn claims_of_large_frames_and_packets_take_no_memory() {
    let claim = [&(100u32 << 20).to_be_bytes()[..], &[0, 3, 0, 12, 0, 0, 0, 1, 0xff, 0xff, 0]].concat();
    let mut segments = Vec::new();
    for port in 50_000..50_100 {
        let mut session = Session::new(port, [1, 2]);
        segments.extend(session.open());
        segments.push(session.send(Client, 0, &claim));
    }
    runs(&file::write(file::PCAP, 1, &packets(Link::Ethernet, &segments)));

    for (magic, length) in [(MAGICS[1], 16u32 << 20), (MAGICS[4], 16 << 20)] {
        let mut file = [&magic[..], &[0; 20]].concat();
        if magic == MAGICS[4] {
            file[4..8].copy_from_slice(&length.to_le_bytes());
        } else {
            file.extend([[0; 4], [0; 4], length.to_le_bytes(), length.to_le_bytes()].concat());
        }
        runs(&file);
    }
}

#[test]
fn many_connections_and_their_holes_are_bounded() {
    let mut segments = Vec::new();
    for port in 1_024..1_200u16 {
        let mut session = Session::new(port, [1, 2]);
        segments.extend(session.open());
        session.next[0] += 1;
        segments.push(session.send(Client, 0, b"behind a hole"));
    }
    runs(&file::write(file::PCAP, 1, &packets(Link::Ethernet, &segments)));
}
