//! Responses that the capture has before their requests.

use ackflow_capture::{Capture, CaptureFormat};

use crate::file::{self, Captured};
use crate::packet::{Link, Segment};
use crate::session::{Session, gist_of_talk, packets, pcap, talk};
use crate::{decode, decode_with, gist, lines};

/// All frames of [`talk`], in any order, and nothing else.
fn assert_whole(segments: &[Segment], ports: &[u16], what: &str) {
    let (entries, _, result) = decode_with(&pcap(segments), ports);
    result.unwrap();
    let (mut said, mut expected) = (gist(&entries), gist_of_talk(7));
    said.sort();
    expected.sort();
    assert_eq!(said, expected, "{what}");
}

#[test]
fn two_neighbours_may_change_places() {
    for size in [300, 10_000] {
        for opened in [true, false] {
            let mut session = Session::new(50_000, [1_000, 2_000]);
            let mut segments = session.open();
            segments.extend(session.say(&talk(7), size));
            // The handshake stays as it is.
            let first = segments.drain(..if opened { 0 } else { 3 }).len();
            for i in 3 - first..segments.len() - 1 {
                let mut segments = segments.clone();
                segments.swap(i, i + 1);
                for ports in [&[][..], &[9092]] {
                    assert_whole(&segments, ports, &format!("{size} {opened} {i} {ports:?}"));
                }
            }
        }
    }
}

#[test]
fn response_comes_right_behind_its_request() {
    let mut session = Session::new(50_000, [1_000, 2_000]);
    let mut segments = session.open();
    segments.extend(session.say(&talk(7), 10_000));
    segments.swap(3, 4);
    assert_eq!(gist(&decode(&pcap(&segments))), gist_of_talk(7));
}

/// What comes out before the capture ends.
fn gist_while_it_lasts(packets: &[Captured]) -> Vec<String> {
    let file = file::write(file::PCAP, 1, packets);
    let mut capture = Capture::open(&file[..], CaptureFormat::Pcap, []).unwrap();
    let mut entries = Vec::new();
    while capture.next_packet(&mut |entry| entries.push(entry)).unwrap() {}
    gist(&entries)
}

#[test]
fn response_without_its_request_is_told_after_a_while() {
    let mut session = Session::new(50_000, [1_000, 2_000]);
    let mut segments = session.open();
    let mut said = session.say(&talk(7), 10_000);
    // A request that the capture does not have, and the last thing said is its answer.
    said.remove(4);
    segments.extend(said);
    let error = "response ? error".to_owned();
    let so_far = packets(Link::Ethernet, &segments);
    assert!(!gist_while_it_lasts(&so_far).contains(&error));

    // Segments without data go by.
    let mut later = segments.clone();
    later.extend((0..17).map(|_| session.send(crate::session::Client, 0, b"")));
    assert!(gist_while_it_lasts(&packets(Link::Ethernet, &later)).contains(&error));

    // One segment, much later.
    segments.push(session.send(crate::session::Client, 0, b""));
    let mut late = packets(Link::Ethernet, &segments);
    assert!(!gist_while_it_lasts(&late).contains(&error));
    late.last_mut().unwrap().time += 11_000_000_000;
    assert!(gist_while_it_lasts(&late).contains(&error));

    let entries = decode_with(&file::write(file::PCAP, 1, &late), &[]).0;
    let told = lines(&entries).into_iter().find(|line| line.get("error").is_some()).unwrap();
    assert!(told["error"].as_str().unwrap().contains("correlation id 10"), "{told}");
}
