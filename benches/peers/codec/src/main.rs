//! ackflow-protocol beside kafka-protocol and krabka-protocol: the same bodies decoded to the last key and value, the
//! same bodies encoded from records in memory, in one process and in turns.
//!
//! Prints a table, then one line of JSON: for each case the time of each codec in ns, and how many times ours the
//! faster of the others takes for the same work (`ratio`), or for what is left when records are in structs of the crate
//! before the time begins (`ratio_to_made`). `cargo run --release [-- WORD]` measures the cases with that word in their names.

mod ackflow;
#[path = "../../../../protocol/tests/support/counting.rs"]
mod counting;
mod kafka_protocol;
mod krabka;
mod measure;
mod shapes;

use std::rc::Rc;

use ackflow_protocol::records::Compression;
use bytes::{Bytes, BytesMut};
use measure::{Side, measure};
use serde_json::{Map, Value, json};

/// Sides that have less to do: their records are in the crate's own structs before the time begins.
const KAFKA_PROTOCOL_MADE: &str = "kafka-protocol, records made before";
const KRABKA_MADE: &str = "krabka-protocol, records made before";

struct Case {
    name: String,
    sides: Vec<Side>,
}

fn main() {
    let wanted = std::env::args().nth(1).unwrap_or_default();
    let mut result = Map::new();
    println!("{:<26}{:<38}{:>12}{:>10}{:>14}", "case", "codec", "ns", "ratio", "allocations");
    for case in cases().iter().filter(|case| case.name.contains(&wanted)) {
        let taken = measure(&case.sides);
        let ours = taken[0].ns;
        let fastest = |is_it: fn(&str) -> bool| {
            let times = taken[1..].iter().filter(|taken| is_it(taken.name)).map(|taken| taken.ns);
            times.min_by(f64::total_cmp)
        };
        let (same, less) = (fastest(|name| !is_made(name)), fastest(is_made));
        let mut line = Map::new();
        for taken in &taken {
            let (name, ns, allocations) = (taken.name, taken.ns, taken.allocations);
            println!("{:<26}{name:<38}{ns:>12.0}{:>10.2}{allocations:>14}", case.name, ns / ours);
            line.insert(name.to_owned(), json!({ "ns": ns.round(), "allocations": allocations }));
        }
        line.insert("ratio".to_owned(), json!(same.map(|ns| ns / ours)));
        if let Some(less) = less {
            line.insert("ratio_to_made".to_owned(), json!(less / ours));
        }
        result.insert(case.name.clone(), Value::Object(line));
    }
    println!("{}", Value::Object(result));
}

fn is_made(name: &str) -> bool {
    name == KAFKA_PROTOCOL_MADE || name == KRABKA_MADE
}

fn cases() -> Vec<Case> {
    let ours = Rc::new(ackflow::Ackflow::new());
    let kafka_protocol = Rc::new(kafka_protocol::KafkaProtocol::new());
    let krabka = Rc::new(krabka::Krabka::new());

    let mut cases = vec![
        encoding(
            "share_fetch_encode",
            [
                writes("ackflow", &ours, |ours| ours.encode_share_fetch()),
                writes("kafka-protocol", &kafka_protocol, |it| it.encode_share_fetch()),
                writes("krabka-protocol", &krabka, |it| it.encode_share_fetch()),
                writes(KAFKA_PROTOCOL_MADE, &kafka_protocol, |it| it.encode_share_fetch_of_made()),
                writes(KRABKA_MADE, &krabka, |it| it.encode_share_fetch_of_made()),
            ],
        ),
        decoding(
            "share_fetch_decode",
            &joined(ours.encode_share_fetch()),
            [ackflow::decode_share_fetch, kafka_protocol::decode_share_fetch, krabka::decode_share_fetch],
        ),
        encoding(
            "produce_encode",
            [
                writes("ackflow", &ours, |ours| ours.encode_produce()),
                writes("kafka-protocol", &kafka_protocol, |it| it.encode_produce()),
                writes("krabka-protocol", &krabka, |it| it.encode_produce()),
                writes(KAFKA_PROTOCOL_MADE, &kafka_protocol, |it| it.encode_produce_of_made()),
                writes(KRABKA_MADE, &krabka, |it| it.encode_produce_of_made()),
            ],
        ),
        decoding(
            "produce_decode",
            &joined(ours.encode_produce()),
            [ackflow::decode_produce, kafka_protocol::decode_produce, krabka::decode_produce],
        ),
        encoding(
            "share_acknowledge_encode",
            [
                writes("ackflow", &ours, |ours| ours.encode_share_acknowledge()),
                writes("kafka-protocol", &kafka_protocol, |it| it.encode_share_acknowledge()),
                writes("krabka-protocol", &krabka, |it| it.encode_share_acknowledge()),
            ],
        ),
        decoding(
            "share_acknowledge_decode",
            &joined(ours.encode_share_acknowledge()),
            [
                ackflow::decode_share_acknowledge,
                kafka_protocol::decode_share_acknowledge,
                krabka::decode_share_acknowledge,
            ],
        ),
        encoding(
            "metadata_encode",
            [
                writes("ackflow", &ours, |ours| ours.encode_metadata()),
                writes("kafka-protocol", &kafka_protocol, |it| it.encode_metadata()),
                writes("krabka-protocol", &krabka, |it| it.encode_metadata()),
            ],
        ),
        decoding(
            "metadata_decode",
            &joined(ours.encode_metadata()),
            [ackflow::decode_metadata, kafka_protocol::decode_metadata, krabka::decode_metadata],
        ),
    ];
    for compression in Compression::ALL {
        cases.push(decoding(
            &format!("records_{compression}"),
            &ours.batch(0, compression),
            [
                |field| ackflow::decode_records(field.clone()),
                |field| kafka_protocol::decode_records(field.clone()),
                |field| krabka::decode_records(field),
            ],
        ));
    }
    cases
}

/// All sides read the same bytes, and have to find the same in them.
fn decoding(name: &str, body: &Bytes, decode: [fn(&Bytes) -> u64; 3]) -> Case {
    let [ours, others @ ..] = decode.map(|decode| decode(body));
    assert!(others.iter().all(|found| *found == ours), "{name}: {ours} and {others:?} were found");
    let side = |(name, decode): (&'static str, fn(&Bytes) -> u64)| {
        let body = body.clone();
        Side { name, work: Box::new(move || decode(&body)) }
    };
    let sides = ["ackflow", "kafka-protocol", "krabka-protocol"].into_iter().zip(decode).map(side).collect();
    Case { name: name.to_owned(), sides }
}

/// A side of an encoding: what is measured, and the bytes that it writes.
struct Writes {
    side: Side,
    bytes: Bytes,
}

fn writes<C: 'static, B: Body + 'static>(name: &'static str, codec: &Rc<C>, encode: fn(&C) -> B) -> Writes {
    let bytes = joined(encode(codec));
    let codec = Rc::clone(codec);
    Writes { side: Side { name, work: Box::new(move || encode(&codec).look()) }, bytes }
}

/// All sides write the same bytes.
fn encoding<const N: usize>(name: &str, sides: [Writes; N]) -> Case {
    let ours = sides[0].bytes.clone();
    for Writes { side, bytes } in &sides {
        assert_eq!(ours.len(), bytes.len(), "{name}: {}", side.name);
        assert!(ours == *bytes, "{name}: {} writes other bytes", side.name);
    }
    Case { name: name.to_owned(), sides: sides.into_iter().map(|writes| writes.side).collect() }
}

/// An encoded body, in one piece or several.
trait Body {
    fn pieces(&self) -> impl Iterator<Item = &[u8]>;

    /// Its size, and what stands at its end.
    fn look(&self) -> u64 {
        self.pieces().map(shapes::touch).sum()
    }
}

impl Body for Vec<Bytes> {
    fn pieces(&self) -> impl Iterator<Item = &[u8]> {
        self.iter().map(|piece| &piece[..])
    }
}

impl Body for BytesMut {
    fn pieces(&self) -> impl Iterator<Item = &[u8]> {
        std::iter::once(&self[..])
    }
}

fn joined(body: impl Body) -> Bytes {
    body.pieces().collect::<Vec<_>>().concat().into()
}
