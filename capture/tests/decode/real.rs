//! The capture of a real session; testdata/captures/README.md says how it was made.

use std::collections::BTreeMap;
use std::path::PathBuf;

use ackflow_capture::{Encoded, Style, encode, line};

use crate::{decode_with, lines};

fn session() -> Vec<u8> {
    let path: PathBuf = [env!("CARGO_MANIFEST_DIR"), "../testdata/captures/share-group.pcap"].iter().collect();
    std::fs::read(path).unwrap()
}

/// The bytes that each end of each connection sent, from a walk over the packets that knows no more than this capture
/// needs: Ethernet, IPv4 without options, nothing out of order.
fn payload_bytes(file: &[u8]) -> BTreeMap<(u16, u16), usize> {
    let mut sent = BTreeMap::new();
    let mut rest = &file[24..];
    while let Some((header, packet)) = rest.split_first_chunk::<16>() {
        let length = u32::from_le_bytes(header[8..12].try_into().unwrap()) as usize;
        let short = |at: usize| u16::from_be_bytes(packet[at..at + 2].try_into().unwrap());
        let tcp_header = usize::from(packet[14 + 20 + 12] >> 4) * 4;
        *sent.entry((short(34), short(36))).or_default() += usize::from(short(16)) - 20 - tcp_header;
        rest = &packet[length..];
    }
    sent
}

#[test]
fn session_of_kafkas_tools_is_decoded_whole() {
    let file = session();
    let (entries, summary, result) = decode_with(&file, &[]);
    result.unwrap();
    assert_eq!((summary.packets, summary.connections, summary.frames), (259, 11, 114));
    assert_eq!((summary.faults, summary.skipped, summary.missing, summary.other_connections), (0, 0, 0, 0));
    assert_eq!(summary.listeners.len(), 1);
    let mut apis: BTreeMap<String, [u32; 2]> = BTreeMap::new();
    let mut sent: BTreeMap<(u16, u16), usize> = BTreeMap::new();
    for (entry, line) in entries.iter().zip(lines(&entries)) {
        assert!(line.get("body").is_some() && line.get("note").is_none(), "{line}");
        let is_response = line["direction"] == "response";
        apis.entry(line["api"].as_str().unwrap().to_owned()).or_default()[usize::from(is_response)] += 1;
        let Ok(Encoded::Frame(bytes)) = encode(&line.to_string()) else { panic!("{line}") };
        let peers = entry.peers.unwrap();
        let (from, to) = (peers.client.port(), peers.broker.port());
        *sent.entry(if is_response { (to, from) } else { (from, to) }).or_default() += bytes.len();
    }
    assert_eq!(apis.len(), 16);
    assert!(apis.values().all(|[requests, responses]| requests == responses), "{apis:?}");
    assert_eq!(apis["ShareGroupHeartbeat"], [23, 23]);
    // What is encoded again is all that was sent.
    let on_the_wire: BTreeMap<_, _> = payload_bytes(&file).into_iter().filter(|(_, bytes)| *bytes > 0).collect();
    assert_eq!(sent, on_the_wire);
}

/// The file's header, and its packets.
fn packets(file: &[u8]) -> (&[u8], Vec<&[u8]>) {
    let (header, mut rest) = file.split_at(24);
    let mut packets = Vec::new();
    while let Some(start) = rest.first_chunk::<16>() {
        let length = u32::from_le_bytes(start[8..12].try_into().unwrap()) as usize;
        let (packet, behind) = rest.split_at(16 + length);
        packets.push(packet);
        rest = behind;
    }
    (header, packets)
}

#[test]
fn any_two_neighbours_of_the_session_may_change_places() {
    let file = session();
    let (header, packets) = packets(&file);
    for at in 0..packets.len() - 1 {
        let mut packets = packets.clone();
        packets.swap(at, at + 1);
        let (_, summary, _) = decode_with(&[&[header], &packets[..]].concat().concat(), &[]);
        assert_eq!((summary.frames, summary.faults, summary.skipped, summary.missing), (114, 0, 0, 0), "packet {at}");
    }
}

#[test]
fn packet_that_is_lost_costs_no_more_than_the_frames_in_it() {
    let file = session();
    let (header, packets) = packets(&file);
    for at in 0..packets.len() {
        let mut packets = packets.clone();
        packets.remove(at);
        let (_, summary, _) = decode_with(&[&[header], &packets[..]].concat().concat(), &[]);
        // A request that is lost costs its response too, and nothing is invented.
        let read = summary.frames - summary.faults;
        assert!(read >= 112 && summary.frames <= 114, "packet {at}: {summary:?}");
    }
}

#[test]
fn records_of_the_session_are_readable_where_they_are_produced_and_fetched() {
    let entries = decode_with(&session(), &[]).0;
    let shown = entries.into_iter().map(|entry| line(entry, Style { records: true, secrets: false }));
    let with_batches: Vec<_> = shown.filter(|line| line.to_string().contains("recordBatches")).collect();
    let about: Vec<_> = with_batches.iter().map(|line| (&line["api"], &line["direction"])).collect();
    assert_eq!(about, [(&"Produce".into(), &"request".into()), (&"ShareFetch".into(), &"response".into())]);
    let produced = &with_batches[0]["body"]["topicData"][0]["partitionData"][0]["recordBatches"][0];
    let fetched = &with_batches[1]["body"]["responses"][0]["partitions"][0]["recordBatches"][0];
    assert_eq!(produced["compression"], "lz4");
    assert_eq!(produced["records"], fetched["records"]);
    let values: Vec<_> = produced["records"].as_array().unwrap().iter().map(|record| record["value"].clone()).collect();
    assert_eq!(values, (1..=20).map(|i| format!("order-{i}").into()).collect::<Vec<serde_json::Value>>());
}
