//! What Apache's schema says of a message.

use std::collections::BTreeMap;

use serde_json::Value;

use super::facts::{Facts, Kind, Listing, Shape, Versions, join};

/// The newest version of "N+".
const OPEN: i16 = i16::MAX;

/// Reads a schema: JSON with comments.
pub(crate) fn parse(text: &str) -> Value {
    let text: String = text.lines().map(|line| format!("{}\n", without_comment(line))).collect();
    serde_json::from_str(&text).expect("Kafka's schemas are JSON")
}

/// The line up to a `//` that is in no string.
fn without_comment(line: &str) -> &str {
    let (mut in_string, mut escaped, mut slash) = (false, false, false);
    for (at, c) in line.char_indices() {
        match c {
            '"' if !escaped => in_string = !in_string,
            '/' if slash => return &line[..at - 1],
            _ => {}
        }
        slash = c == '/' && !in_string;
        escaped = c == '\\' && !escaped;
    }
    line
}

/// The string of that name; empty where there is none.
pub(crate) fn text<'a>(node: &'a Value, name: &str) -> &'a str {
    node[name].as_str().unwrap_or_default()
}

/// `0-3`, `2+`, `1`, `none` or absent, as first and last.
pub(crate) fn range(text: &str) -> Option<(i16, i16)> {
    let number = |text: &str| text.trim().parse().expect("a version is a number");
    match text {
        "" | "none" => None,
        text => Some(match (text.strip_suffix('+'), text.split_once('-')) {
            (Some(first), _) => (number(first), OPEN),
            (None, Some((first, last))) => (number(first), number(last)),
            (None, None) => (number(text), number(text)),
        }),
    }
}

fn within(node: &Value, name: &str, versions: &Versions) -> Versions {
    let range = range(text(node, name));
    versions.iter().filter(|version| range.is_some_and(|(first, last)| (first..=last).contains(version))).collect()
}

/// Lists a schema.
pub(crate) fn listing(schema: &Value) -> Listing {
    let (first, last) = range(text(schema, "validVersions")).expect("a schema that is listed has valid versions");
    let versions: Versions = (first..=last).collect();
    let unstable = schema["latestVersionUnstable"].as_bool().unwrap_or_default();
    let mut listing = Listing {
        name: text(schema, "name").to_owned(),
        key: schema["apiKey"].as_i64().map_or(-1, |key| key.try_into().expect("an API key is an int16")),
        flexible: within(schema, "flexibleVersions", &versions),
        newest_stable: (text(schema, "type") == "request").then(|| newest_stable(first, last, unstable)),
        versions,
        ..Listing::default()
    };
    let reader = Reader { common: structs(schema) };
    let versions = listing.versions.clone();
    reader.fields(&schema["fields"], "", &versions, &mut listing);
    listing
}

fn newest_stable(first: i16, last: i16, unstable: bool) -> i16 {
    match last - i16::from(unstable) {
        newest if newest >= first => newest,
        _ => -1,
    }
}

fn structs(schema: &Value) -> BTreeMap<&str, &Value> {
    let common = schema["commonStructs"].as_array().map(Vec::as_slice).unwrap_or_default();
    common.iter().map(|node| (text(node, "name"), &node["fields"])).collect()
}

struct Reader<'a> {
    common: BTreeMap<&'a str, &'a Value>,
}

impl Reader<'_> {
    fn fields(&self, fields: &Value, parent: &str, versions: &Versions, listing: &mut Listing) {
        let fields = fields.as_array().map(Vec::as_slice).unwrap_or_default();
        for version in versions.iter() {
            let here = |field: &&Value| {
                let one = Versions::from_iter([version]);
                within(field, "versions", &one) == one && within(field, "taggedVersions", &one) != one
            };
            let names = fields.iter().filter(here).map(name).collect();
            listing.order.insert((version, parent.to_owned()), names);
        }
        for field in fields {
            self.field(field, parent, versions, listing);
        }
    }

    fn field(&self, field: &Value, parent: &str, versions: &Versions, listing: &mut Listing) {
        let path = join(parent, &name(field));
        let having = within(field, "versions", versions);
        if having.0.is_empty() {
            return;
        }
        let kind = kind(text(field, "type"));
        let nullable = within(field, "nullableVersions", &having);
        let tagged = within(field, "taggedVersions", &having);
        let tag = field["tag"].as_u64().map(|tag| tag.try_into().expect("a tag is a uint32"));
        let shape = |version| Shape {
            kind: kind.clone(),
            nullable: nullable.contains(version),
            classic: text(field, "flexibleVersions") == "none",
            tag: tag.filter(|_| tagged.contains(version)),
        };
        let lacking = having != *versions;
        let facts = Facts {
            shapes: having.iter().map(|version| (version, shape(version))).collect(),
            defaults: defaults(field, &kind, &nullable).into_iter().map(|value| (value, "in the schema")).collect(),
            ignorable: lacking.then(|| field["ignorable"].as_bool().unwrap_or_default()),
        };
        listing.fields.insert(path.clone(), facts);
        let element = text(field, "type").trim_start_matches("[]");
        match (field.get("fields"), self.common.get(element)) {
            (Some(inner), _) => self.fields(inner, &path, &having, listing),
            (None, Some(inner)) => self.fields(inner, &path, &having, listing),
            (None, None) => {}
        }
    }
}

/// The name as JSON has it.
pub(crate) fn name(field: &Value) -> String {
    let name = text(field, "name");
    let mut chars = name.chars();
    chars.next().map(|first| first.to_ascii_lowercase().to_string() + chars.as_str()).unwrap_or_default()
}

fn kind(name: &str) -> Kind {
    const PLAIN: [&str; 12] = [
        "bool", "int8", "int16", "uint16", "int32", "uint32", "int64", "float64", "uuid", "string", "bytes", "records",
    ];
    match (name.strip_prefix("[]"), PLAIN.iter().find(|plain| **plain == name)) {
        (Some(element), _) => Kind::Array(Some(Box::new(kind(element)))),
        (None, Some(plain)) => Kind::Plain(plain),
        (None, None) => Kind::Struct,
    }
}

/// The values that stand for "not set". Where a nullable field has no default in the schema, Kafka's classes take an
/// empty value; null is as good, and what we take.
fn defaults(field: &Value, kind: &Kind, nullable: &Versions) -> Vec<String> {
    let given = match &field["default"] {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    };
    let empty = match kind {
        Kind::Plain("bool") => "false",
        Kind::Plain("uuid") => "AAAAAAAAAAAAAAAAAAAAAA",
        Kind::Plain("float64") => "0.0",
        Kind::Plain("string") => "\"\"",
        Kind::Plain("bytes" | "records") => "[]",
        Kind::Plain(_) => "0",
        Kind::Struct => "{}",
        Kind::Array(_) => "[]",
    };
    match given.as_deref() {
        Some("null") => vec!["null".to_owned()],
        Some(text) if *kind == Kind::Plain("string") => vec![format!("{text:?}")],
        Some("") | None if nullable.0.is_empty() => vec![empty.to_owned()],
        Some("") | None => vec![empty.to_owned(), "null".to_owned()],
        Some(text) if text.starts_with("0x") => {
            vec![i64::from_str_radix(&text[2..], 16).expect("a default in hex is a number").to_string()]
        }
        Some(text) => vec![text.to_lowercase()],
    }
}
