//! Every form of capture file and of packet leads to the same lines.

use crate::file::{self, Captured, Format};
use crate::packet::Link;
use crate::session::{START, STEP, Session, file_of, gist_of_talk, packets, pcap, talk};
use crate::{decode, decode_with, gist, lines};
use ackflow_capture::{LinkType, NoSegment};

const FORMATS: [Format; 10] = [
    Format::Pcap { big_endian: false, nanoseconds: false },
    Format::Pcap { big_endian: false, nanoseconds: true },
    Format::Pcap { big_endian: true, nanoseconds: false },
    Format::Pcap { big_endian: true, nanoseconds: true },
    Format::PcapModified,
    Format::PcapNg { big_endian: false, resolution: None, offset: None },
    Format::PcapNg { big_endian: true, resolution: Some(9), offset: Some(1_000_000_000) },
    Format::PcapNg { big_endian: false, resolution: Some(9), offset: Some(3) },
    // 2^-30 s a unit.
    Format::PcapNg { big_endian: true, resolution: Some(0x80 | 30), offset: None },
    Format::PcapNgSimple,
];

fn session() -> Session {
    Session::new(50_000, [1_000, 2_000])
}

#[test]
fn every_format_and_link_gives_the_same_lines() {
    for format in FORMATS {
        for link in Link::ALL {
            for (v6, options) in [(false, false), (false, true), (true, false), (true, true)] {
                let mut session = if v6 { session().on_ipv6() } else { session() };
                let segments = [session.open(), session.say(&talk(7), 700), session.close()].concat();
                let entries = decode(&file_of(format, link, &segments, options));
                assert_eq!(gist(&entries), gist_of_talk(7), "{format:?} {link:?} v6 {v6} options {options}");
                let peers = entries[1].peers.unwrap();
                assert_eq!((peers.client, peers.broker), (session.client, session.broker));
            }
        }
    }
}

#[test]
fn time_is_that_of_the_last_packet_of_a_frame_in_every_resolution() {
    let mut session = session();
    let segments = [session.open(), session.say(&talk(7), 10_000)].concat();
    for format in FORMATS {
        let entries = decode(&file_of(format, Link::Ethernet, &segments, false));
        if format == Format::PcapNgSimple {
            assert!(entries.iter().all(|entry| entry.time.is_none()));
            continue;
        }
        // Three packets open the connection, each frame is one packet.
        for (i, entry) in entries.iter().enumerate() {
            let expected = (START + (3 + i as u64) * STEP) as i64;
            let difference = entry.time.unwrap() - expected;
            assert!(difference.abs() < 2, "{format:?} {difference}");
        }
    }
    assert_eq!(lines(&decode(&pcap(&segments)))[0]["time"], "2023-11-14T22:13:20.126456Z");
}

#[test]
fn what_is_no_segment_is_counted_by_what_it_is() {
    let mut session = session();
    let segments = [session.open(), session.say(&talk(7), 10_000)].concat();
    let mut packets = packets(Link::Ethernet, &segments);
    let with = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut data = Link::Ethernet.dress(&segments[3].ip(false));
        change(&mut data);
        Captured { time: START, data, original: None }
    };
    packets.push(with(&|data| data[12..14].copy_from_slice(&[0x08, 0x06])));
    packets.push(with(&|data| data[12..14].copy_from_slice(&[0x12, 0x34])));
    // More fragments follow; a later fragment.
    packets.push(with(&|data| data[20] |= 0x20));
    packets.push(with(&|data| data[21] = 1));
    packets.push(with(&|data| data[23] = 17));
    packets.push(with(&|data| data.truncate(40)));
    packets.push(with(&|data| data.truncate(9)));
    let (entries, summary, result) = decode_with(&file::write(file::PCAP, 1, &packets), &[]);
    result.unwrap();
    assert_eq!(gist(&entries), gist_of_talk(7));
    let counted = |other| summary.no_segment.get(&other).copied().unwrap_or_default();
    assert_eq!(counted(NoSegment::Fragment), 2, "{summary:?}");
    assert_eq!((counted(NoSegment::NotIp), counted(NoSegment::NotTcp)), (2, 1), "{summary:?}");
    assert_eq!(counted(NoSegment::Malformed), 2, "{summary:?}");
    assert_eq!(summary.packets, packets.len() as u64);

    let (entries, summary, _) = decode_with(&file::write(file::PCAP, 105, &packets[..3]), &[]);
    assert!(entries.is_empty());
    assert_eq!(summary.no_segment, [(NoSegment::Link(LinkType(105)), 3)].into());
}

#[test]
fn file_that_ends_too_early_is_decoded_up_to_there() {
    let mut session = session();
    let segments = [session.open(), session.say(&talk(7), 10_000)].concat();
    for format in [file::PCAP, FORMATS[6], FORMATS[9]] {
        let whole = file_of(format, Link::Ethernet, &segments, false);
        let (entries, _, result) = decode_with(&whole[..whole.len() - 50], &[]);
        let error = result.unwrap_err();
        assert!(error.is_cut_short(), "{error}");
        assert!(error.to_string().contains("packet 10"), "{error}");
        let mut expected = gist_of_talk(7);
        expected.pop();
        assert_eq!(gist(&entries), expected, "{format:?}");
    }
}

#[test]
fn length_that_no_packet_has_is_an_error_that_says_where() {
    let mut session = session();
    let segments = [session.open(), session.say(&talk(7), 10_000)].concat();
    let mut file = pcap(&segments);
    let second = 24 + 16 + packets(Link::Ethernet, &segments)[0].data.len();
    file[second + 8..second + 12].copy_from_slice(&u32::MAX.to_le_bytes());
    let (_, _, result) = decode_with(&file, &[]);
    let error = result.unwrap_err();
    assert!(!error.is_cut_short());
    assert_eq!(error.offset(), second as u64);
    let text = error.to_string();
    assert!(text.contains("packet 2") && text.contains("4294967295") && text.contains("damaged"), "{text}");

    let mut file = file_of(FORMATS[5], Link::Ethernet, &segments, false);
    file[28 + 4] = 7;
    let error = decode_with(&file, &[]).2.unwrap_err().to_string();
    assert!(error.contains("byte 28") && error.contains("7 bytes"), "{error}");
}

#[test]
fn malformed_blocks_are_passed_over_and_counted() {
    let mut session = session();
    let segments = [session.open(), session.say(&talk(7), 10_000)].concat();
    let mut file = file_of(FORMATS[5], Link::Ethernet, &segments, false);
    // A packet that claims more bytes than its block has, and one of an interface that is not described.
    let bad = |interface: u32, captured: u32| {
        let fields = [6, 36, interface, 0, 0, captured, captured, 0, 36];
        fields.iter().flat_map(|field| field.to_le_bytes()).collect::<Vec<u8>>()
    };
    file.extend([bad(1, 4_000), bad(9, 4)].concat());
    let (entries, summary, result) = decode_with(&file, &[]);
    result.unwrap();
    assert_eq!(gist(&entries), gist_of_talk(7));
    assert_eq!(summary.malformed_blocks, 2);
}

#[test]
fn second_section_has_its_own_byte_order_and_interfaces() {
    let mut session = session();
    let segments = [session.open(), session.say(&talk(7), 700)].concat();
    let (first, second) = segments.split_at(6);
    let one = file_of(FORMATS[5], Link::Sll, first, false);
    let two = file_of(FORMATS[6], Link::Raw, second, false);
    assert_eq!(gist(&decode(&[one, two].concat())), gist_of_talk(7));
}
