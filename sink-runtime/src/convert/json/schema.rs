//! Schemas as `JsonConverter` writes them.

use serde::Deserialize;
use serde_json::Value as Json;

/// What a payload must be.
#[derive(Debug)]
pub(super) struct Schema {
    pub(super) kind: Kind,
    pub(super) optional: bool,
    pub(super) default: Option<Json>,
}

#[derive(Debug)]
pub(super) enum Kind {
    Int8,
    Int16,
    Int32,
    Int64,
    /// Float and double.
    Float,
    Boolean,
    String,
    /// In base64; of a `Decimal` also a number.
    Bytes,
    Array(Box<Schema>),
    /// With keys of type string: an object.
    Object(Box<Schema>),
    /// With other keys: an array of pairs.
    Pairs(Box<Schema>, Box<Schema>),
    Struct(Vec<(String, Schema)>),
}

/// The schema's own JSON.
#[derive(Deserialize)]
struct Raw {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    optional: bool,
    #[serde(default)]
    default: Option<Json>,
    items: Option<Box<Raw>>,
    keys: Option<Box<Raw>>,
    values: Option<Box<Raw>>,
    fields: Option<Vec<RawField>>,
}

#[derive(Deserialize)]
struct RawField {
    field: String,
    #[serde(flatten)]
    schema: Raw,
}

impl Schema {
    /// Reads a schema; the error says what is wrong with it.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let raw: Raw = serde_json::from_str(text).map_err(|error| error.to_string())?;
        Self::try_from(raw)
    }
}

impl TryFrom<Raw> for Schema {
    type Error = String;

    fn try_from(raw: Raw) -> Result<Self, String> {
        fn inner(kind: &str, name: &str, raw: Option<Box<Raw>>) -> Result<Schema, String> {
            Schema::try_from(*raw.ok_or_else(|| format!("type {kind} has no {name}"))?)
        }
        let kind = match raw.kind.as_str() {
            "int8" => Kind::Int8,
            "int16" => Kind::Int16,
            "int32" => Kind::Int32,
            "int64" => Kind::Int64,
            "float" | "double" => Kind::Float,
            "boolean" => Kind::Boolean,
            "string" => Kind::String,
            "bytes" => Kind::Bytes,
            "array" => Kind::Array(Box::new(inner("array", "items", raw.items)?)),
            "map" => {
                let (keys, values) = (inner("map", "keys", raw.keys)?, inner("map", "values", raw.values)?);
                match keys.kind {
                    Kind::String => Kind::Object(Box::new(values)),
                    _ => Kind::Pairs(Box::new(keys), Box::new(values)),
                }
            }
            "struct" => {
                let fields = raw.fields.ok_or("type struct has no fields")?;
                let field = |field: RawField| Ok((field.field, Self::try_from(field.schema)?));
                Kind::Struct(fields.into_iter().map(field).collect::<Result<_, String>>()?)
            }
            other => return Err(format!("type {other} is not known")),
        };
        Ok(Self { kind, optional: raw.optional, default: raw.default })
    }
}
