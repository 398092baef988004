use super::*;

fn converter(settings: &[(&str, &str)]) -> Arc<dyn Converter> {
    from_settings(settings.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()).unwrap()
}

fn schemaless(text: &str) -> Result<Value<'_>, DataError> {
    JsonConverter::schemaless().convert("t", Some(text.as_bytes()))
}

/// The payload that comes out as JSON text, or the error.
fn payload(text: &str) -> Result<String, String> {
    match converter(&[]).convert("t", Some(text.as_bytes())) {
        Ok(Value::Null) => Ok("null".to_owned()),
        Ok(Value::Json(text)) => Ok(text.into_owned()),
        Ok(other) => panic!("{other:?}"),
        Err(error) => Err(error.to_string()),
    }
}

fn with_schema(schema: &str, value: &str) -> Result<String, String> {
    payload(&format!(r#"{{"schema":{schema},"payload":{value}}}"#))
}

#[test]
fn plain_json_is_lent_as_it_is() {
    let text = r#"{"a":[1,2.50,"x\ny"],"big":12345678901234567890}"#;
    assert_eq!(schemaless(text), Ok(Value::Json(Cow::Borrowed(text))));
    assert!(matches!(schemaless(text), Ok(Value::Json(Cow::Borrowed(_)))), "no copy");
    assert_eq!(schemaless("  5 "), Ok(Value::Json("5".into())));
}

#[test]
fn line_breaks_between_tokens_go() {
    assert_eq!(schemaless("{\r\n  \"a\": [\n1,\n2]\n}"), Ok(Value::Json(r#"{  "a": [1,2]}"#.into())));
}

// Mutation: sink-runtime/src/convert/json/mod.rs
// - (_, None) | (None, Some([])) => Ok(Value::Null),
// + (_, None) => Ok(Value::Null),
#[test]
fn row_71_null_stays_null_and_empty_is_null_without_schemas() {
    for settings in [&[][..], &[("schemas.enable", "false")]] {
        assert_eq!(converter(settings).convert("t", None), Ok(Value::Null));
    }
    assert_eq!(schemaless(""), Ok(Value::Null));
    assert_eq!(schemaless("null"), Ok(Value::Null));
    assert!(converter(&[]).convert("t", Some(b"")).is_err(), "an empty text is no envelope");
}

#[test]
fn what_is_not_exactly_one_json_text_is_an_error() {
    for text in ["{", "nul", "1 2", "{\"a\":1}{\"b\":2}", "'a'", "\u{1}", "\"a\nb\""] {
        assert!(schemaless(text).is_err(), "{text:?}");
    }
    assert!(JsonConverter::schemaless().convert("t", Some(b"\"\xff\"")).is_err(), "invalid UTF-8");
}

#[test]
fn deep_nesting_is_no_stack_overflow() {
    let deep = "[".repeat(1_000_000);
    assert!(schemaless(&deep).is_err());
    let deep = format!(r#"{{"schema":{{"type":"string"}},"payload":{}{}}}"#, "[".repeat(100_000), "]".repeat(100_000));
    assert!(payload(&deep).is_err());
}

#[test]
fn with_schemas_only_an_envelope_is_accepted() {
    for text in [r#"{"a":1}"#, "5", r#"{"schema":null}"#, r#"{"schema":null,"payload":1,"more":2}"#] {
        let error = payload(text).unwrap_err();
        assert!(error.contains("schemas.enable=false"), "{text}: {error}");
    }
    assert_eq!(payload(r#"{"schema":null,"payload":{"a":1}}"#).unwrap(), r#"{"a":1}"#);
    assert_eq!(payload(r#"{"payload":null,"schema":null}"#).unwrap(), "null");
}

#[test]
fn numbers_are_in_the_range_of_their_type() {
    let int8 = r#"{"type":"int8"}"#;
    assert_eq!(with_schema(int8, "-128").unwrap(), "-128");
    assert_eq!(with_schema(int8, "128").unwrap_err(), "payload is no whole number from -128 to 127");
    assert!(with_schema(int8, "1.5").is_err());
    assert!(with_schema(r#"{"type":"int32"}"#, "\"5\"").is_err(), "a text is no number");
    assert!(with_schema(r#"{"type":"int64"}"#, "12345678901234567890").is_err(), "no wrap-around");
    assert_eq!(with_schema(r#"{"type":"double"}"#, "1").unwrap(), "1");
    assert!(with_schema(r#"{"type":"float"}"#, "1e400").is_err(), "no infinity");
}

#[test]
fn structs_arrays_and_maps_are_checked_inside() {
    let schema = r#"{"type":"struct","name":"p","fields":[
        {"field":"id","type":"int32"},
        {"field":"tags","type":"array","items":{"type":"string"},"optional":true},
        {"field":"by","type":"map","keys":{"type":"string"},"values":{"type":"boolean"},"optional":true},
        {"field":"pairs","type":"map","keys":{"type":"int8"},"values":{"type":"string"},"optional":true}]}"#;
    assert_eq!(
        with_schema(schema, r#"{"extra":1,"tags":["a"],"id":7,"by":{"x":true},"pairs":[[1,"a"]]}"#).unwrap(),
        r#"{"id":7,"tags":["a"],"by":{"x":true},"pairs":[[1,"a"]]}"#
    );
    assert_eq!(with_schema(schema, r#"{"id":7}"#).unwrap(), r#"{"id":7,"tags":null,"by":null,"pairs":null}"#);
    for (value, error) in [
        ("{}", "payload.id is null and not optional"),
        (r#"{"id":1,"tags":["a",2]}"#, "payload.tags[1] is no string"),
        (r#"{"id":1,"by":{"x":1}}"#, "payload.by.x is no boolean"),
        (r#"{"id":1,"pairs":[[1]]}"#, "payload.pairs[0] is no pair"),
        ("[]", "payload is no struct"),
    ] {
        assert_eq!(with_schema(schema, value).unwrap_err(), error);
    }
}

#[test]
fn bytes_are_base64() {
    assert_eq!(with_schema(r#"{"type":"bytes"}"#, r#""AQI=""#).unwrap(), r#""AQI=""#);
    assert!(with_schema(r#"{"type":"bytes"}"#, r#""%""#).is_err());
}

#[test]
fn null_becomes_the_default_unless_told_not_to() {
    let text = br#"{"schema":{"type":"string","optional":true,"default":"d"},"payload":null}"#;
    assert_eq!(converter(&[]).convert("t", Some(text)), Ok(Value::Json("\"d\"".into())));
    assert_eq!(converter(&[("replace.null.with.default", "false")]).convert("t", Some(text)), Ok(Value::Null));
}

#[test]
fn a_bad_schema_is_named() {
    assert_eq!(with_schema(r#"{"type":"int33"}"#, "1").unwrap_err(), "schema: type int33 is not known");
    assert_eq!(with_schema(r#"{"type":"array"}"#, "[]").unwrap_err(), "schema: type array has no items");
}

#[test]
fn the_schema_cache_stays_within_its_size() {
    let schemas = Schemas::new(2, true);
    for name in 0..10 {
        let text = format!(r#"{{"schema":{{"type":"string","name":"{name}"}},"payload":"x"}}"#);
        assert!(schemas.payload(text.as_bytes()).is_ok());
        assert!(schemas.cache().len() <= 2);
    }
}
