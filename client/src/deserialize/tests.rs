//! What Kafka's deserializers make of bytes, and which ones they refuse.

use std::borrow::Cow;
use std::fmt::Debug;

use ackflow_protocol::records::{BatchBuilder, BatchOptions, Batches};

use super::*;

/// What `deserializer` makes of `data`, given as the value of a record.
fn read<D, T>(deserializer: D, data: &[u8], check: impl FnOnce(Result<D::Output<'_>, DeserializeError>) -> T) -> T
where
    D: Deserializer,
{
    let mut builder = BatchBuilder::new(BatchOptions::default());
    builder.try_append(0, None, Some(data), []).unwrap();
    let batch = Batches::new(builder.build().unwrap()).next().unwrap().unwrap();
    let record = batch.records().next().unwrap().unwrap();
    check(deserializer.deserialize("topic", record.headers(), record.value.unwrap()))
}

fn gives<D>(deserializer: D, data: &[u8], expected: D::Output<'static>)
where
    D: Deserializer,
    for<'a> D::Output<'a>: PartialEq<D::Output<'static>> + Debug,
{
    read(deserializer, data, |read| assert_eq!(read.unwrap(), expected));
}

fn refuses<D: Deserializer>(deserializer: D, data: &[u8], reason: &str) {
    read(deserializer, data, |read| {
        let error = read.err().expect("it is refused").to_string();
        assert!(error.contains(reason), "{error}");
    });
}

#[test]
fn numbers_are_big_endian_and_take_exactly_their_bytes() {
    gives(ShortDeserializer, &[0xff, 0xfe], -2);
    gives(IntegerDeserializer, &[0, 0, 1, 2], 258);
    gives(LongDeserializer, &[0x80, 0, 0, 0, 0, 0, 0, 1], i64::MIN + 1);
    gives(FloatDeserializer, &1.5f32.to_be_bytes(), 1.5);
    gives(DoubleDeserializer, &(-0.25f64).to_be_bytes(), -0.25);
    refuses(ShortDeserializer, &[0], "received by ShortDeserializer is 1, not 2");
    refuses(IntegerDeserializer, &[0; 5], "received by IntegerDeserializer is 5, not 4");
    refuses(LongDeserializer, &[], "received by LongDeserializer is 0, not 8");
    refuses(FloatDeserializer, &[0; 8], "received by FloatDeserializer is 8, not 4");
    refuses(DoubleDeserializer, &[0; 4], "received by DoubleDeserializer is 4, not 8");
}

#[test]
fn a_boolean_is_one_byte_that_is_zero_or_one() {
    gives(BooleanDeserializer, &[1], true);
    gives(BooleanDeserializer, &[0], false);
    refuses(BooleanDeserializer, &[2], "unexpected byte 2");
    refuses(BooleanDeserializer, &[0, 1], "is 2, not 1");
}

#[test]
fn bytes_and_texts_are_lent_and_malformed_text_is_an_error_or_replaced() {
    gives(ByteArrayDeserializer, &[0xff, 0], &[0xff, 0]);
    gives(StringDeserializer, "grün".as_bytes(), "grün");
    refuses(StringDeserializer, &[b'a', 0xff], "not UTF-8 from byte 1 on");
    gives(StringLossyDeserializer, &[b'a', 0xff], Cow::Borrowed("a\u{fffd}"));
    read(StringLossyDeserializer, b"abc", |read| assert!(matches!(read.unwrap(), Cow::Borrowed("abc"))));
}

#[test]
fn a_uuid_is_read_from_its_text() {
    let uuid = 0x0123_4567_89ab_cdef_0011_2233_4455_66ff;
    gives(UuidDeserializer, b"01234567-89ab-CDEF-0011-2233445566ff", uuid);
    for malformed in [
        &b"0123456789abcdef00112233445566ff"[..],
        b"01234567-89ab-CDEF-0011-2233445566fg",
        b"01234567_89ab-CDEF-0011-2233445566ff",
        b"+1234567-89ab-CDEF-0011-2233445566ff",
    ] {
        refuses(UuidDeserializer, malformed, "not the text of a UUID");
    }
}

#[test]
fn void_is_null_alone() {
    refuses(VoidDeserializer, b"x", "not null");
}

#[test]
fn a_function_is_a_deserializer_and_its_error_the_reason() {
    let numbers = deserialize_with(|data: &[u8]| {
        std::str::from_utf8(data).map_err(|error| error.to_string())?.parse::<u8>().map_err(|error| error.to_string())
    });
    gives(numbers, b"17", 17);
    refuses(numbers, b"300", "number too large");
}
