//! Rules of the field walk that no single message shows.

use bytes::Bytes;
use proptest::prelude::*;

use super::varint::{self, VarintError};
use super::*;
use crate::messages::consumer_protocol::ConsumerProtocolAssignment;
use crate::messages::embedded::Embedded;

/// One field of each kind, in two versions: 0 classic, 1 flexible.
#[derive(Debug, Clone, PartialEq, Default)]
struct Sample {
    number: i32,
    text: Option<String>,
    list: Vec<i64>,
    inner: Option<Inner>,
    rack: Option<String>,
    epoch: i32,
}

#[derive(Debug, Clone, PartialEq, Default)]
struct Inner {
    flag: bool,
}

impl Encode for Inner {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.bool("flag", self.flag);
    }
}

impl Decode for Inner {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self { flag: r.bool("flag")? })
    }
}

impl Encode for Sample {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.i32("number", self.number);
        w.nullable_since(1).nullable_string("text", self.text.as_deref());
        w.array("list", &self.list);
        w.required_since(1, "inner", self.inner.is_none(), |w| w.nullable_structure("inner", self.inner.as_ref()));
        w.tags(|w| {
            w.tag(0, self.rack.is_some(), |w| w.nullable_string("rack", self.rack.as_deref()));
            w.tag(3, self.epoch != -1, |w| w.i32("epoch", self.epoch));
        });
    }
}

impl Decode for Sample {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        let number = r.i32("number")?;
        let text = r.nullable_since(1).nullable_string("text")?;
        let list = r.array("list")?;
        let inner = r.since(1, None, |r| r.nullable_structure("inner"))?;
        let (mut rack, mut epoch) = (None, -1);
        r.tags(&[(0, "rack"), (3, "epoch")], |r, tag| {
            match tag {
                0 => rack = r.nullable_string("rack")?,
                _ => epoch = r.i32("epoch")?,
            }
            Ok(())
        })?;
        Ok(Self { number, text, list, inner, rack, epoch })
    }
}

impl Message for Sample {
    const NAME: &'static str = "Sample";
    const KEY: ApiKey = ApiKey(-1);
    const VERSIONS: std::ops::RangeInclusive<i16> = 0..=1;
    const FLEXIBLE_FROM: i16 = 1;
}

fn sample() -> Sample {
    Sample {
        number: 7,
        text: Some("é".into()),
        list: vec![1, -1],
        inner: Some(Inner { flag: true }),
        rack: Some("r".into()),
        epoch: 5,
    }
}

fn decode(bytes: &[u8], version: i16) -> Result<Sample, DecodeError> {
    Sample::from_bytes(Bytes::copy_from_slice(bytes), version)
}

#[test]
fn flexible_form_byte_for_byte() {
    let bytes = sample().to_bytes(1).unwrap();
    let by_hand = [
        &[0, 0, 0, 7][..],            // number
        &[3, 0xc3, 0xa9],             // compact string
        &[3, 0, 0, 0, 0, 0, 0, 0, 1], // compact array of two
        &[0xff; 8],
        &[1, 1, 0],                            // marker, flag, no tags of Inner
        &[2, 0, 2, 2, b'r', 3, 4, 0, 0, 0, 5], // two tags in rising order
    ];
    assert_eq!(&bytes[..], by_hand.concat());
    assert_eq!(decode(&bytes, 1).unwrap(), sample());
}

#[test]
fn version_without_a_required_field_refuses_to_drop_it() {
    assert_eq!(
        sample().to_bytes(0).unwrap_err().to_string(),
        "Sample v0: inner is set, but this version does not have it"
    );
    let text = Sample { text: None, ..Sample::default() }.to_bytes(0).unwrap_err();
    assert_eq!(text.to_string(), "Sample v0: text is null, which this version does not allow");
}

#[test]
fn null_is_an_error_before_the_version_that_allows_it() {
    let error = decode(&[0, 0, 0, 7, 0xff, 0xff, 0, 0, 0, 0], 0).unwrap_err();
    assert_eq!((error.path().as_str(), error.kind()), ("text", &DecodeErrorKind::Null));
}

// Mutation: protocol/src/wire/reader.rs
// - previous.filter(|p| *p >= tag)
// + previous.filter(|p| *p > tag)
#[test]
fn row_50_unknown_tags_are_skipped_and_order_is_kept() {
    let mut bytes = vec![0, 0, 0, 7, 2, b'x', 1, 0xff, 3, 0, 2, 2, b'r', 7];
    bytes.extend([0xac, 0x02]); // tag 7 of 300 bytes
    bytes.extend([9; 300]);
    bytes.extend([200, 1, 0]); // tag 200, empty
    let sample = decode(&bytes, 1).unwrap();
    assert_eq!(sample.rack.as_deref(), Some("r"));
    let twice = decode(&[0, 0, 0, 7, 2, b'x', 1, 0xff, 2, 0, 2, 2, b'r', 0, 2, 2, b'r'], 1).unwrap_err();
    assert_eq!(twice.kind(), &DecodeErrorKind::TagOrder { tag: 0, previous: 0 });
    let falling = decode(&[0, 0, 0, 7, 2, b'x', 1, 0xff, 2, 9, 0, 8, 0], 1).unwrap_err();
    assert_eq!(falling.kind(), &DecodeErrorKind::TagOrder { tag: 8, previous: 9 });
}

// Mutation: protocol/src/wire/frame.rs
// - Ok(length) if (1..=limit).contains(&length) => Ok(length),
// + Ok(length) => Ok(length),
#[test]
fn row_46_counts_and_sizes_are_bounded_by_the_bytes_left() {
    // A compact array length of 2^32 - 2 elements.
    let error = decode(&[0, 0, 0, 7, 1, 0xff, 0xff, 0xff, 0xff, 0x0f], 1).unwrap_err();
    assert_eq!(error.kind(), &DecodeErrorKind::Length { length: 0xffff_fffe, left: 0 });
    // A null array where null is illegal.
    assert_eq!(decode(&[0, 0, 0, 7, 1, 0], 1).unwrap_err().kind(), &DecodeErrorKind::Null);
    // The classic form: null, less than null, and more than there is.
    let classic = |count: [u8; 4]| decode(&[&[0, 0, 0, 7, 0, 0][..], &count].concat(), 0).unwrap_err();
    assert_eq!(classic([0xff; 4]).kind(), &DecodeErrorKind::Null);
    assert_eq!(classic([0xff, 0xff, 0xff, 0xfe]).kind(), &DecodeErrorKind::Length { length: -2, left: 0 });
    assert_eq!(classic([0x7f, 0xff, 0xff, 0xff]).kind(), &DecodeErrorKind::Length { length: 0x7fff_ffff, left: 0 });
    for (size, hinted) in [([0x7f, 0xff, 0xff, 0xff], false), ([0xff; 4], false), (*b"HTTP", true), ([0; 4], false)] {
        let error = frame::frame_size(size, 1 << 20).unwrap_err().to_string();
        assert_eq!(error.contains("HTTP"), hinted, "{error}");
    }
    assert!(frame::frame_size([0x16, 3, 3, 0], 1 << 20).unwrap_err().to_string().contains("TLS"));
    assert_eq!(frame::frame_size([0, 0, 1, 0], 256).unwrap(), 256);
}

#[test]
fn strings_are_bounded_on_reading_as_on_writing() {
    let longest = Sample { text: Some("x".repeat(32_767)), ..Sample::default() };
    assert_eq!(decode(&longest.to_bytes(1).unwrap(), 1).unwrap(), longest);
    let longer = Sample { text: Some("x".repeat(32_768)), ..Sample::default() };
    assert_eq!(longer.to_bytes(1).unwrap_err().field(), "text");
    let bytes = [&[0, 0, 0, 7, 0x81, 0x80, 2][..], &[b'x'; 32_768], &[1, 0xff, 0]].concat();
    assert_eq!(decode(&bytes, 1).unwrap_err().kind(), &DecodeErrorKind::LongString(32_768));
}

#[test]
fn trailing_bytes_name_message_and_offset() {
    let mut bytes = sample().to_bytes(1).unwrap().to_vec();
    bytes.push(0);
    let error = decode(&bytes, 1).unwrap_err().to_string();
    assert_eq!(
        error,
        format!("Sample v1: the message is followed by 1 bytes that belong to no field (byte {})", bytes.len() - 1)
    );
}

// Mutation: protocol/src/wire/varint.rs
// - if i == 4 && byte > 0x0f {
// + if i == 4 && byte > 0x7f {
#[test]
fn row_47_varints_have_a_limit() {
    assert_eq!(varint::read_u32(&[0xff; 6]), Err(VarintError::Overflow));
    assert_eq!(varint::read_u64(&[0xff; 11]), Err(VarintError::Overflow));
    assert_eq!(varint::read_u32(&[0x80]), Err(VarintError::Truncated));
    assert_eq!(varint::read_u64(&[]), Err(VarintError::Truncated));
    assert_eq!(varint::read_u32(&[0xff, 0xff, 0xff, 0xff, 0x1f]), Err(VarintError::Overflow));
    assert_eq!(varint::read_u32(&[0xff, 0xff, 0xff, 0xff, 0x0f]), Ok((u32::MAX, 5)));
}

#[test]
fn version_that_a_message_does_not_have_is_refused_wherever_one_is_named() {
    for version in [-1, 2, i16::MAX] {
        let says = format!("Sets has no version {version}; it has 0 to 1");
        let kind = EncodeErrorKind::UnknownVersion { version, first: 0, last: 1 };
        let message = Sets::default();
        let refusals = [
            message.size(version).map(drop),
            message.to_bytes(version).map(drop),
            message.to_pieces(version).map(drop),
            encode_request(&message, version, 9, None).map(drop),
            encode_request_in_pieces(&message, version, 9, None).map(drop),
            encode_response(&message, version, 9).map(drop),
        ];
        for refusal in refusals {
            let error = refusal.unwrap_err();
            assert_eq!((error.to_string(), error.kind()), (says.clone(), &kind));
        }
        let bytes = Bytes::from_static(&[0, 0, 0, 9, 0, 1, 0]);
        let kind = DecodeErrorKind::UnknownVersion { version, first: 0, last: 1 };
        for read in [Sets::from_bytes(bytes.clone(), version), decode_response(bytes, version).map(|(_, sets)| sets)] {
            let error = read.unwrap_err();
            assert_eq!((error.to_string(), error.kind(), error.offset()), (says.clone(), &kind, None));
        }
        #[cfg(feature = "json")]
        {
            assert_eq!(JsonWriter::to_json(&message, version).unwrap_err().to_string(), says);
            let json = serde_json::json!({"sets": []});
            assert_eq!(JsonReader::from_json::<Sets>(&json, version).unwrap_err().to_string(), says);
        }
    }
    let refused = ConsumerProtocolAssignment::default().to_versioned_bytes(4).unwrap_err();
    assert_eq!(refused.to_string(), "ConsumerProtocolAssignment has no version 4; it has 0 to 3");
}

#[test]
fn tagged_field_shorter_than_its_size_is_an_error() {
    // Tag 3, the epoch, of 4 bytes with 5 declared, and with 3.
    let tagged = |size: u8| decode(&[&[0, 0, 0, 7, 0, 1, 0xff, 1, 3, size][..], &[0; 5]].concat(), 1).unwrap_err();
    for (declared, error) in [(5, tagged(5)), (3, tagged(3))] {
        assert_eq!(error.kind(), &DecodeErrorKind::TagSize { declared, actual: 4 });
        assert_eq!(error.path(), "epoch");
    }
}

#[test]
fn every_byte_but_zero_is_true() {
    for byte in 0..=u8::MAX {
        let sample = decode(&[0, 0, 0, 7, 0, 1, 1, byte, 0, 0], 1).unwrap();
        assert_eq!(sample.inner, Some(Inner { flag: byte != 0 }));
    }
}

/// Fields that may not be null in version 0, each with one behind it that may.
#[derive(Debug, Clone, PartialEq, Default)]
struct Nullables {
    text: Option<String>,
    text_or_null: Option<String>,
    list: Option<Vec<i64>>,
    list_or_null: Option<Vec<i64>>,
    inner: Option<Inner>,
    inner_or_null: Option<Inner>,
    bytes: Option<Bytes>,
    bytes_or_null: Option<Bytes>,
}

impl Encode for Nullables {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.nullable_since(1).nullable_string("text", self.text.as_deref());
        w.nullable_string("textOrNull", self.text_or_null.as_deref());
        w.nullable_since(1).nullable_array("list", self.list.as_deref());
        w.nullable_array("listOrNull", self.list_or_null.as_deref());
        w.nullable_since(1).nullable_structure("inner", self.inner.as_ref());
        w.nullable_structure("innerOrNull", self.inner_or_null.as_ref());
        w.nullable_since(1).nullable_bytes("bytes", self.bytes.as_deref());
        w.nullable_bytes("bytesOrNull", self.bytes_or_null.as_deref());
    }
}

impl Decode for Nullables {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self {
            text: r.nullable_since(1).nullable_string("text")?,
            text_or_null: r.nullable_string("textOrNull")?,
            list: r.nullable_since(1).nullable_array("list")?,
            list_or_null: r.nullable_array("listOrNull")?,
            inner: r.nullable_since(1).nullable_structure("inner")?,
            inner_or_null: r.nullable_structure("innerOrNull")?,
            bytes: r.nullable_since(1).nullable_bytes("bytes")?,
            bytes_or_null: r.nullable_bytes("bytesOrNull")?,
        })
    }
}

impl Message for Nullables {
    const NAME: &'static str = "Nullables";
    const KEY: ApiKey = ApiKey(-1);
    const VERSIONS: std::ops::RangeInclusive<i16> = 0..=1;
    const FLEXIBLE_FROM: i16 = 1;
}

#[test]
fn null_that_is_not_allowed_in_one_field_is_allowed_in_the_next() {
    let full = Nullables {
        text: Some("t".into()),
        list: Some(vec![1]),
        inner: Some(Inner { flag: true }),
        bytes: Some(Bytes::from_static(b"b")),
        ..Nullables::default()
    };
    let bytes = full.to_bytes(0).unwrap();
    assert_eq!(Nullables::from_bytes(bytes.clone(), 0).unwrap(), full);
    #[cfg(feature = "json")]
    {
        let json = JsonWriter::to_json(&full, 0).unwrap();
        assert_eq!(JsonReader::from_json::<Nullables>(&json, 0).unwrap(), full);
    }
    // The other way round each is refused.
    type Change = fn(&mut Nullables);
    let changes: [(&str, Change); 4] = [
        ("text", |all| all.text = None),
        ("list", |all| all.list = None),
        ("inner", |all| all.inner = None),
        ("bytes", |all| all.bytes = None),
    ];
    for (field, change) in changes {
        let mut lacking = full.clone();
        change(&mut lacking);
        assert_eq!((lacking.to_bytes(0).unwrap_err().field(), lacking.to_bytes(1).is_ok()), (field, true));
    }
}

/// A message with record sets: plain, of each size around that from which they are left where they are, and in a tag.
#[derive(Debug, Clone, PartialEq, Default)]
struct Sets {
    sets: Vec<Set>,
    tagged: Option<Bytes>,
}

#[derive(Debug, Clone, PartialEq, Default)]
struct Set {
    before: i32,
    records: Option<Bytes>,
}

impl Encode for Set {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.i32("before", self.before);
        w.records("records", self.records.as_ref());
    }
}

impl Decode for Set {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self { before: r.i32("before")?, records: r.records("records")? })
    }
}

impl Encode for Sets {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.array("sets", &self.sets);
        w.tags(|w| w.tag(0, self.tagged.is_some(), |w| w.records("tagged", self.tagged.as_ref())));
    }
}

impl Decode for Sets {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        let (sets, mut tagged) = (r.array("sets")?, None);
        r.tags(&[(0, "tagged")], |r, _| {
            tagged = r.records("tagged")?;
            Ok(())
        })?;
        Ok(Self { sets, tagged })
    }
}

impl Message for Sets {
    const NAME: &'static str = "Sets";
    const KEY: ApiKey = ApiKey(-1);
    const VERSIONS: std::ops::RangeInclusive<i16> = 0..=1;
    const FLEXIBLE_FROM: i16 = 1;
}

impl Response for Sets {}

impl Request for Sets {
    type Response = Sets;
    const NEWEST_STABLE: i16 = 1;
}

#[test]
fn a_message_in_pieces_has_the_bytes_of_one_in_one_and_shares_its_large_record_sets() {
    let set = |size: usize| Set { before: size as i32, records: Some(vec![size as u8; size].into()) };
    let sizes = [0, 1, 1023, 1024, 5000, 1024];
    let mut message = Sets { sets: sizes.map(set).to_vec(), tagged: Some(vec![7; 2000].into()) };
    message.sets.push(Set::default());
    for version in 0..=1 {
        let pieces = message.to_pieces(version).unwrap();
        assert_eq!(pieces.concat(), message.to_bytes(version).unwrap());
        assert_eq!(Sets::from_bytes(pieces.concat().into(), version).unwrap().sets, message.sets);
        let large = message.sets.iter().filter_map(|set| set.records.as_ref()).filter(|set| set.len() >= 1024);
        let shared = large.filter(|set| pieces.iter().any(|piece| std::ptr::eq(piece.as_ptr(), set.as_ptr())));
        assert_eq!((shared.count(), pieces.len()), (3, 7));

        let frame = encode_request_in_pieces(&message, version, 9, Some("me")).unwrap();
        assert_eq!(frame.concat(), encode_request(&message, version, 9, Some("me")).unwrap());
    }
    assert_eq!(Sets::default().to_pieces(1).unwrap(), [Sets::default().to_bytes(1).unwrap()]);
}

#[test]
fn uuids_read_and_show_as_kafka_does() {
    let id: Uuid = "AAAAAAAAAAAAAAAAAAAAAQ".parse().unwrap();
    assert_eq!(id.0[15], 1);
    assert_eq!(id.to_string(), "AAAAAAAAAAAAAAAAAAAAAQ");
    assert!("short".parse::<Uuid>().is_err());
}

proptest! {
    #[test]
    fn varints_round_trip(value: u64) {
        let mut out = Vec::new();
        varint::write_u64(&mut out, value);
        prop_assert_eq!(out.len(), varint::size_u64(value));
        prop_assert_eq!(varint::read_u64(&out), Ok((value, out.len())));
        prop_assert_eq!(varint::zigzag_encode_64(varint::zigzag_decode_64(value)), value);
    }

    #[test]
    fn uuids_round_trip(bytes: [u8; 16]) {
        let id = Uuid(bytes);
        prop_assert_eq!(id.to_string().parse::<Uuid>().unwrap(), id);
    }

    #[test]
    fn any_bytes_give_a_message_or_an_error(bytes: Vec<u8>, version in 0..=1i16) {
        if let Ok(sample) = decode(&bytes, version) {
            prop_assert_eq!(decode(&sample.to_bytes(version).unwrap(), version).unwrap(), sample);
        }
    }
}
