//! Payloads, checked against their schema and written anew.

use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::{Number, Value as Json};

use super::schema::{Kind, Schema};

/// Makes of a payload what its schema says: null becomes the default if there is one, the fields of a struct come in the schema's order, those
/// that the schema does not know are dropped, as in Connect.
///
/// The error names the place, as `.field[index]`.
pub(super) fn conform(schema: &Schema, payload: Json, replace_null: bool) -> Result<Json, String> {
    let payload = match (payload, &schema.default) {
        (Json::Null, Some(default)) if replace_null => default.clone(),
        (payload, _) => payload,
    };
    if payload.is_null() {
        return if schema.optional || schema.default.is_some() {
            Ok(Json::Null)
        } else {
            Err(" is null and not optional".to_owned())
        };
    }
    let within = |place: String| move |error: String| format!("{place}{error}");
    match (&schema.kind, payload) {
        (Kind::Int8, Json::Number(number)) => integer(number, i8::MIN.into(), i8::MAX.into()),
        (Kind::Int16, Json::Number(number)) => integer(number, i16::MIN.into(), i16::MAX.into()),
        (Kind::Int32, Json::Number(number)) => integer(number, i32::MIN.into(), i32::MAX.into()),
        (Kind::Int64, Json::Number(number)) => integer(number, i64::MIN, i64::MAX),
        (Kind::Float | Kind::Bytes, number @ Json::Number(_)) => Ok(number),
        (Kind::Boolean, value @ Json::Bool(_)) | (Kind::String, value @ Json::String(_)) => Ok(value),
        (Kind::Bytes, Json::String(text)) => match BASE64_STANDARD.decode(&text) {
            Ok(_) => Ok(Json::String(text)),
            Err(error) => Err(format!(" is no base64: {error}")),
        },
        (Kind::Array(items), Json::Array(values)) => {
            let item = |(index, value)| conform(items, value, replace_null).map_err(within(format!("[{index}]")));
            Ok(Json::Array(values.into_iter().enumerate().map(item).collect::<Result<_, _>>()?))
        }
        (Kind::Object(values), Json::Object(object)) => {
            let entry = |(key, value)| match conform(values, value, replace_null) {
                Ok(value) => Ok((key, value)),
                Err(error) => Err(format!(".{key}{error}")),
            };
            Ok(Json::Object(object.into_iter().map(entry).collect::<Result<_, _>>()?))
        }
        (Kind::Pairs(keys, values), Json::Array(pairs)) => {
            let pair = |(index, pair)| match pair {
                Json::Array(pair) if pair.len() == 2 => {
                    let halves = [&**keys, &**values].into_iter().zip(pair);
                    let half = |(schema, value)| conform(schema, value, replace_null);
                    Ok(Json::Array(halves.map(half).collect::<Result<_, _>>().map_err(within(format!("[{index}]")))?))
                }
                _ => Err(format!("[{index}] is no pair")),
            };
            Ok(Json::Array(pairs.into_iter().enumerate().map(pair).collect::<Result<_, String>>()?))
        }
        (Kind::Struct(fields), Json::Object(mut object)) => {
            let field = |(name, schema): &(String, Schema)| {
                let value = object.remove(name).unwrap_or(Json::Null);
                match conform(schema, value, replace_null) {
                    Ok(value) => Ok((name.clone(), value)),
                    Err(error) => Err(format!(".{name}{error}")),
                }
            };
            Ok(Json::Object(fields.iter().map(field).collect::<Result<_, _>>()?))
        }
        (kind, _) => Err(format!(" is no {}", name(kind))),
    }
}

fn integer(number: Number, least: i64, most: i64) -> Result<Json, String> {
    match number.as_i64() {
        Some(value) if (least..=most).contains(&value) => Ok(Json::Number(number)),
        _ => Err(format!(" is no whole number from {least} to {most}")),
    }
}

fn name(kind: &Kind) -> &'static str {
    match kind {
        Kind::Int8 => "int8",
        Kind::Int16 => "int16",
        Kind::Int32 => "int32",
        Kind::Int64 => "int64",
        Kind::Float => "float or double",
        Kind::Boolean => "boolean",
        Kind::String => "string",
        Kind::Bytes => "bytes in base64",
        Kind::Array(_) => "array",
        Kind::Object(_) => "map with string keys",
        Kind::Pairs(..) => "map as an array of pairs",
        Kind::Struct(_) => "struct",
    }
}
