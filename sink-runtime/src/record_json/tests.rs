use ackflow_client::share::{AcquiredRange, LentRecords};
use ackflow_protocol::records::{BatchBuilder, BatchOptions, Batches, Header};
use proptest::prelude::*;

use super::*;

/// A record as it comes from a topic, with these headers.
fn lent(key: Option<&[u8]>, value: Option<&[u8]>, headers: &[(&str, Option<&[u8]>)]) -> LentRecords {
    let mut builder = BatchBuilder::new(BatchOptions::default());
    let headers = headers.iter().map(|&(key, value)| Header::new(key, value));
    builder.try_append(1_000, key, value, headers.collect::<Vec<_>>()).unwrap();
    let batches = Batches::new(builder.build().unwrap()).map(Result::unwrap).collect();
    LentRecords::from_batches("orders", 3, batches, vec![AcquiredRange { first: 0, last: 0, delivery_count: 2 }])
}

fn raw(lent: &LentRecords) -> String {
    let mut out = Vec::new();
    RecordJson::raw(&lent.records().next().unwrap().unwrap()).write_to(&mut out);
    String::from_utf8(out).unwrap()
}

#[test]
fn a_record_is_one_line_with_its_fields_in_order() {
    let record =
        lent(Some(b"k"), Some("grün \"x\"\n".as_bytes()), &[("a", Some(b"1")), ("a", None), ("b", Some(&[0xff]))]);
    assert_eq!(
        raw(&record),
        r#"{"topic":"orders","partition":3,"offset":0,"timestamp":1000,"deliveryCount":2,"key":"k","value":"grün \"x\"\n","headers":[["a","1"],["a",null],["b",{"base64":"/w=="}]]}"#
    );
}

// Mutation: sink-runtime/src/record_json.rs
// - None => Value::Null,
// + None => Value::String("".into()),
#[test]
fn row_71_null_empty_and_binary_are_kept_apart() {
    for (value, written) in [
        (None, "\"value\":null"),
        (Some(&b""[..]), "\"value\":\"\""),
        (Some(&[0xff, 0x00][..]), r#""value":{"base64":"/wA="}"#),
    ] {
        let line = raw(&lent(None, value, &[]));
        assert!(line.contains(written), "{line}");
        assert!(line.contains("\"key\":null") && line.ends_with("\"headers\":[]}"), "{line}");
    }
}

#[test]
fn a_value_is_written_as_its_converter_made_it() {
    for (value, written) in [
        (Value::Null, "null"),
        (Value::Bytes(b""), r#"{"base64":""}"#),
        (Value::Bytes(b"abcd"), r#"{"base64":"YWJjZA=="}"#),
        (Value::String("1".into()), "\"1\""),
        (Value::Json("{\"a\":1}".into()), "{\"a\":1}"),
    ] {
        let mut out = Vec::new();
        write_value(&mut out, &value);
        assert_eq!(String::from_utf8(out).unwrap(), written);
    }
}

proptest! {
    #[test]
    fn any_text_is_read_back_as_it_was(text in any::<String>()) {
        let mut out = Vec::new();
        write_string(&mut out, &text);
        prop_assert_eq!(serde_json::from_slice::<String>(&out).unwrap(), text);
        prop_assert!(!out.contains(&b'\n'));
    }

    #[test]
    fn any_bytes_are_read_back_as_they_were(bytes in any::<Vec<u8>>()) {
        let mut out = Vec::new();
        write_value(&mut out, &Value::Bytes(&bytes));
        let json: serde_json::Value = serde_json::from_slice(&out).unwrap();
        prop_assert_eq!(BASE64_STANDARD.decode(json["base64"].as_str().unwrap()).unwrap(), bytes);
    }
}
