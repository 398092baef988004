//! However TCP cuts, repeats, reorders and loses: the same frames come out, and what is lost is told.

use ackflow_capture::{Capture, CaptureFormat};
use proptest::prelude::*;

use crate::packet::{Link, RST, SYN, Segment};
use crate::session::{Broker, Client, Session, Talk, Who, gist_of_talk, packets, pcap, produce, talk};
use crate::{decode, decode_with, file, gist, lines, timeless};

fn opened(port: u16) -> (Session, Vec<Segment>) {
    let mut session = Session::new(port, [1_000, 2_000]);
    let segments = session.open();
    (session, segments)
}

/// What a segmentation may do to a piece of a talk.
#[derive(Debug, Clone)]
struct Tcp {
    sequences: [u32; 2],
    sizes: Vec<usize>,
    /// For each segment: how far it goes back in the order, and whether it is sent again, a byte or more of it, later.
    moves: Vec<(usize, Option<usize>)>,
}

fn tcp() -> impl Strategy<Value = Tcp> {
    let sequence = || prop_oneof![any::<u32>(), (0u32..3_000).prop_map(|n| u32::MAX - n)];
    let moves = (0usize..6, prop::option::weighted(0.2, 0usize..50));
    ([sequence(), sequence()], prop::collection::vec(1usize..900, 1..20), prop::collection::vec(moves, 1..20))
        .prop_map(|(sequences, sizes, moves)| Tcp { sequences, sizes, moves })
}

impl Tcp {
    /// Segments of one side that follow each other, disturbed; what one side sends stays before what answers it.
    fn say(&self, session: &mut Session, talk: &Talk) -> Vec<Segment> {
        let mut all = Vec::new();
        let (mut size, mut step) = (self.sizes.iter().cycle(), self.moves.iter().cycle());
        let mut rest: &[(Who, Vec<u8>)] = talk;
        while let Some((who, _)) = rest.first() {
            let turn = rest.iter().take_while(|(other, _)| other == who).count();
            let data: Vec<u8> = rest[..turn].iter().flat_map(|(_, data)| data.clone()).collect();
            let mut segments: Vec<Segment> = Vec::new();
            let mut data = data.as_slice();
            while !data.is_empty() {
                let (part, left) = data.split_at((*size.next().unwrap()).min(data.len()));
                let segment = session.send(*who, 0, part);
                let (back, again) = *step.next().unwrap();
                segments.insert(segments.len().saturating_sub(back), segment.clone());
                if let Some(from) = again {
                    segments.push(again_from(&segment, from));
                }
                data = left;
            }
            all.extend(segments);
            rest = &rest[turn..];
        }
        all
    }
}

/// A retransmission of the bytes from `from` on.
fn again_from(segment: &Segment, from: usize) -> Segment {
    let from = from.min(segment.payload.len() - 1);
    let sequence = segment.sequence.wrapping_add(from as u32);
    Segment { sequence, payload: segment.payload[from..].to_vec(), ..segment.clone() }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn any_segmentation_gives_the_same_lines(tcp in tcp()) {
        let (mut plain, mut segments) = opened(50_000);
        segments.extend(plain.say(&talk(7), usize::MAX));
        segments.extend(plain.close());
        let expected = timeless(&decode(&pcap(&segments)));

        let mut session = Session::new(50_000, tcp.sequences);
        let mut segments = session.open();
        segments.extend(tcp.say(&mut session, &talk(7)));
        segments.extend(session.close());
        prop_assert_eq!(timeless(&decode(&pcap(&segments))), expected);
    }

    #[test]
    fn connections_do_not_touch_each_other(tcp in tcp(), order in prop::collection::vec(0usize..3, 1..200)) {
        let mut queues: Vec<Vec<Segment>> = (0..3u16)
            .map(|i| {
                let mut session = Session::new(50_000 + i, tcp.sequences);
                let mut segments = session.open();
                segments.extend(tcp.say(&mut session, &talk(100 * i32::from(i))));
                segments.reverse();
                segments
            })
            .collect();
        let mut segments = Vec::new();
        for i in order.into_iter().cycle() {
            segments.extend(queues[i].pop());
            if segments.len() % 7 == 0 {
                segments.extend(queues.iter_mut().find_map(Vec::pop));
            }
            if queues.iter().all(Vec::is_empty) {
                break;
            }
            let longest = queues.iter_mut().max_by_key(|queue| queue.len()).unwrap();
            segments.extend(longest.pop());
        }
        let entries = decode(&pcap(&segments));
        for i in 0..3u16 {
            let of_one: Vec<_> =
                entries.iter().filter(|e| e.peers.unwrap().client.port() == 50_000 + i).cloned().collect();
            prop_assert_eq!(gist(&of_one), gist_of_talk(100 * i32::from(i)));
        }
    }
}

#[test]
fn connection_from_its_middle_is_followed_from_the_next_request_on() {
    let (mut session, _) = opened(50_000);
    let first = session.say(&talk(7), 700);
    // From within the produce request on, whose answer-less bytes look like nothing.
    let cut = first.iter().position(|s| s.payload.len() == 700).unwrap() + 1;
    let entries = decode(&pcap(&[&first[cut..], &session.say(&talk(20), 700)].concat()));
    let gist = gist(&entries);
    assert_eq!(gist[0], format!("request skipped {} missing 0", produce(9, 0, 2_000).len() - 700), "{gist:?}");
    assert_eq!(gist[1], "request Metadata 10");
    // The answer to a request from before the capture is not guessed at.
    assert!(gist[2].starts_with("response skipped "), "{gist:?}");
    assert_eq!(gist[3], "response Metadata 10");
    assert_eq!(gist[4..], gist_of_talk(20));
    let reason = lines(&entries)[0]["reason"].as_str().unwrap().to_owned();
    assert!(reason.contains("middle"), "{reason}");
    assert_eq!(entries[1].peers.unwrap().broker, session.broker);
}

#[test]
fn connection_from_its_middle_that_begins_with_a_frame_skips_nothing() {
    let (mut session, _) = opened(50_000);
    assert_eq!(gist(&decode(&pcap(&session.say(&talk(7), 700)))), gist_of_talk(7));
}

#[test]
fn lost_segment_breaks_one_frame_and_no_more() {
    let (mut session, mut segments) = opened(50_000);
    let said = session.say(&talk(7), 700);
    let lost = said.iter().position(|s| s.payload.len() == 700).unwrap() + 1;
    let payload = said[lost].payload.len();
    segments.extend(said.iter().enumerate().filter(|(i, _)| *i != lost).map(|(_, s)| s.clone()));
    let (entries, summary, _) = decode_with(&pcap(&segments), &[]);
    let mut expected = gist_of_talk(7);
    expected[3] = "request Produce error".into();
    assert_eq!(gist(&entries), expected);
    let line = &lines(&entries)[3];
    assert_eq!(line["missing"], payload);
    assert_eq!((&line["correlationId"], &line["clientId"]), (&9.into(), &"client".into()));
    assert_eq!((summary.missing, summary.skipped, summary.faults), (payload as u64, 0, 1));
}

#[test]
fn lost_beginning_of_a_frame_leads_to_a_search_for_the_next() {
    let (mut session, mut segments) = opened(50_000);
    let said = session.say(&talk(7), 700);
    let lost = said.iter().position(|s| s.payload.len() == 700).unwrap();
    segments.extend(said.iter().enumerate().filter(|(i, _)| *i != lost).map(|(_, s)| s.clone()));
    let entries = decode(&pcap(&segments));
    let length = produce(9, 0, 2_000).len();
    let mut expected = gist_of_talk(7);
    expected[3] = format!("request skipped {} missing 700", length - 700);
    assert_eq!(gist(&entries), expected);
    assert!(lines(&entries)[3]["reason"].as_str().unwrap().contains("not in the capture"));
}

#[test]
fn lost_request_is_named_by_its_answer() {
    let (mut session, mut segments) = opened(50_000);
    let said = session.say(&talk(7), 10_000);
    segments.extend(said.iter().enumerate().filter(|(i, _)| *i != 2).map(|(_, s)| s.clone()));
    let entries = decode(&pcap(&segments));
    let gist = gist(&entries);
    assert!(gist[2].starts_with("request skipped 0 missing "), "{gist:?}");
    let error = lines(&entries).into_iter().find(|line| line["direction"] == "response" && line.get("error").is_some());
    let error = error.unwrap()["error"].as_str().unwrap().to_owned();
    assert!(error.contains("correlation id 8") && error.contains("not in the capture"), "{error}");
    assert!(gist.contains(&"response Metadata 10".to_owned()), "{gist:?}");
}

#[test]
fn packets_that_were_cut_still_name_each_request() {
    let (mut session, mut segments) = opened(50_000);
    segments.extend(session.say(&talk(7), 10_000));
    let mut packets = packets(Link::Ethernet, &segments);
    for packet in &mut packets {
        packet.original = Some(packet.data.len());
        packet.data.truncate(96);
    }
    let (entries, summary, result) = decode_with(&file::write(file::PCAP, 1, &packets), &[]);
    result.unwrap();
    assert_eq!((summary.cut, summary.frames, summary.faults), (3, 7, 3), "{summary:?}");
    let produced = lines(&entries).into_iter().find(|line| line["api"] == "Produce").unwrap();
    assert_eq!(produced["missing"], produce(9, 0, 2_000).len() - (96 - 66));
}

#[test]
fn reset_ends_a_connection_and_the_same_ports_may_be_used_again() {
    let (mut session, mut segments) = opened(50_000);
    let said = session.say(&talk(7), 10_000);
    // The last answer is under way when the client resets; nothing of it is in the capture but its first half.
    segments.extend_from_slice(&said[..said.len() - 1]);
    let last = said.last().unwrap();
    segments.push(Segment { payload: last.payload[..20].to_vec(), ..last.clone() });
    segments.extend(session.reset());
    // A repetition after the end is no news.
    segments.push(said[2].clone());
    let mut again = Session::new(50_000, [90_000, 80_000]);
    segments.extend(again.open());
    segments.extend(again.say(&talk(20), 10_000));
    let entries = decode(&pcap(&segments));
    let mut expected = gist_of_talk(7);
    expected[6] = "response Metadata error".into();
    expected.extend(gist_of_talk(20));
    assert_eq!(gist(&entries), expected);
    assert_eq!(lines(&entries)[6]["missing"], last.payload.len() - 20);
}

#[test]
fn repeated_syn_opens_nothing_new() {
    let (mut session, mut segments) = opened(50_000);
    segments.insert(1, segments[0].clone());
    segments.push(segments[2].clone());
    let said = session.say(&talk(7), 10_000);
    segments.push(said[0].clone());
    segments.push(segments[0].clone());
    segments.extend_from_slice(&said[1..]);
    let (entries, summary, _) = decode_with(&pcap(&segments), &[]);
    assert_eq!(gist(&entries), gist_of_talk(7));
    assert_eq!(summary.connections, 1);
}

#[test]
fn answer_to_the_syn_alone_tells_who_listens() {
    let (mut session, segments) = opened(50_000);
    let said = session.say(&talk(7), 10_000);
    let entries = decode(&pcap(&[&segments[1..], &said[..]].concat()));
    assert_eq!(gist(&entries), gist_of_talk(7));
    assert_eq!(entries[0].peers.unwrap().broker, session.broker);
}

#[test]
fn other_ports_are_passed_over() {
    let (mut session, mut segments) = opened(50_000);
    segments.extend(session.say(&talk(7), 10_000));
    let (entries, summary, _) = decode_with(&pcap(&segments), &[9093]);
    assert!(entries.is_empty());
    assert_eq!(summary.other_ports, segments.len() as u64);
    assert_eq!(gist(&decode_with(&pcap(&segments), &[9093, 9092]).0), gist_of_talk(7));
}

#[test]
fn what_is_not_kafka_gives_no_lines_unless_its_port_is_asked_for() {
    let (mut session, mut segments) = opened(50_000);
    let http: Talk = vec![
        (Client, b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n".to_vec()),
        (Broker, b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n".to_vec()),
    ];
    segments.extend(session.say(&http, 20));
    let mut kafka = Session::new(50_001, [5, 6]);
    kafka.broker.set_port(19_092);
    segments.extend(kafka.open());
    segments.extend(kafka.say(&talk(7), 10_000));
    segments.extend(session.close());
    let (entries, summary, _) = decode_with(&pcap(&segments), &[]);
    assert_eq!(gist(&entries), gist_of_talk(7));
    assert_eq!((summary.connections, summary.other_connections), (2, 1));
    assert_eq!(summary.listeners, [(kafka.broker, 7)].into());

    let entries = decode_with(&pcap(&segments), &[9092]).0;
    assert_eq!(gist(&entries), ["request skipped 35 missing 0", "response skipped 38 missing 0"]);
    assert!(lines(&entries)[0]["reason"].as_str().unwrap().contains("HTTP"), "{:?}", lines(&entries));
}

#[test]
fn broker_is_known_again_where_the_opening_is_not_in_the_capture() {
    let (mut session, mut segments) = opened(50_000);
    segments.extend(session.say(&talk(7), 10_000));
    // Another connection, of which an answer comes first.
    let mut other = Session::new(50_001, [5, 6]);
    let said = other.say(&talk(20), 10_000);
    segments.extend_from_slice(&said[1..]);
    let entries = decode(&pcap(&segments));
    let gist = gist(&entries);
    assert_eq!(gist[..7], gist_of_talk(7));
    assert_eq!(gist[7], "request Metadata 21");
    assert!(gist[9..].contains(&"response Metadata 21".to_owned()), "{gist:?}");
}

#[test]
fn capture_without_acknowledgements_of_data_gives_up_holes_at_its_end() {
    let (mut session, mut segments) = opened(50_000);
    let only_requests: Talk = (0..5).map(|i| (Client, produce(i, 0, 300).into())).collect();
    let said = session.say(&only_requests, 10_000);
    segments.extend(said.iter().enumerate().filter(|(i, _)| *i != 2).map(|(_, s)| s.clone()));
    let length = said[2].payload.len();
    let gist = gist(&decode(&pcap(&segments)));
    assert_eq!(gist[2], format!("request skipped 0 missing {length}"));
    assert_eq!([&gist[..2], &gist[3..]].concat().len(), 4);
}

/// What comes out before the capture ends.
fn gist_while_it_lasts(segments: &[Segment]) -> Vec<String> {
    let file = pcap(segments);
    let mut capture = Capture::open(&file[..], CaptureFormat::Pcap, []).unwrap();
    let mut entries = Vec::new();
    while capture.next_packet(&mut |entry| entries.push(entry)).unwrap() {}
    gist(&entries)
}

#[test]
fn hole_is_given_up_once_the_other_side_has_the_end_behind_it() {
    let (mut session, mut segments) = opened(50_000);
    let only_requests: Talk = (0..3).map(|i| (Client, produce(i, 0, 300).into())).collect();
    let said = session.say(&only_requests, 10_000);
    segments.extend(said.iter().enumerate().filter(|(i, _)| *i != 1).map(|(_, s)| s.clone()));
    assert_eq!(gist_while_it_lasts(&segments), ["request Produce 0"]);
    // The broker's FIN, and the acknowledgement of it, carry no data.
    segments.extend(session.close());
    let missing = format!("request skipped 0 missing {}", said[1].payload.len());
    assert_eq!(gist_while_it_lasts(&segments), ["request Produce 0", &missing, "request Produce 2"]);
}

#[test]
fn hole_right_before_the_end_is_given_up_too() {
    let (mut session, mut segments) = opened(50_000);
    let said = session.say(&talk(7), 10_000);
    let (lost, others) = said.split_last().unwrap();
    segments.extend_from_slice(others);
    let [end, answer, last] = &session.close()[..] else { unreachable!("three segments") };
    segments.extend([end.clone(), answer.clone()]);
    assert_eq!(gist_while_it_lasts(&segments), gist_of_talk(7)[..6]);
    segments.push(last.clone());
    let mut expected = gist_of_talk(7);
    expected[6] = format!("response skipped 0 missing {}", lost.payload.len());
    assert_eq!(gist_while_it_lasts(&segments), expected);
}

#[test]
fn flags_alone_make_no_connection() {
    let (mut session, _) = opened(50_000);
    let segments = [session.reset(), session.close()].concat();
    let (entries, summary, _) = decode_with(&pcap(&segments), &[]);
    assert!(entries.is_empty());
    assert_eq!(summary.connections, 0);
    assert!(segments.iter().any(|s| s.flags == RST) && segments.iter().all(|s| s.flags != SYN));
}

#[test]
fn size_and_four_zeros_are_no_proof_of_a_long_response() {
    let (mut session, mut segments) = opened(50_000);
    let talk = talk(0);
    segments.extend(session.say(&talk[..1].to_vec(), 10_000));
    // Behind a hole there is what looks like the size of 2 MiB and the id of the request that waits.
    session.next[1] += 10;
    let noise = [&[0, 0x20, 0, 0, 0, 0, 0, 0][..], &[0x55; 8_192]].concat();
    segments.push(session.send(Broker, 0, &noise));
    segments.extend(session.say(&talk[1..].to_vec(), 10_000));
    let mut expected = gist_of_talk(0);
    expected.insert(1, format!("response skipped {} missing 10", noise.len()));
    let mut said = gist(&decode(&pcap(&segments)));
    expected.sort();
    said.sort();
    assert_eq!(said, expected);
}
