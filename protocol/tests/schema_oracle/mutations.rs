//! Each field of each of Kafka's schemas, changed in each way: the oracle has to name the field.
//!
//! A mistake in our code and the opposite change of the schema look the same to the oracle, so this plants mistakes
//! into every message that we have.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::compare::{Difference, differences};
use super::facts::{Listing, join};
use super::{jar, ours, schema};

/// A way to change a field; false where it does not apply.
type Change = fn(&mut Value) -> bool;

const CHANGES: [(&str, Change); 9] = [
    ("version range one later", |field| later(field, "versions")),
    ("version range ends one earlier", |field| earlier(field, "versions")),
    ("other default", other_default),
    ("null allowed or not", toggle_null),
    ("null allowed one version later", |field| later(field, "nullableVersions")),
    ("other type", other_type),
    ("ignorable or not", |field| toggle(field, "ignorable")),
    ("other tag", |field| {
        let tag = field["tag"].as_u64();
        tag.is_some_and(|tag| set(field, "tag", json!(tag + 7)))
    }),
    ("other name", |field| {
        let name = format!("{}X", schema::text(field, "name"));
        set(field, "name", name.into())
    }),
];

fn set(field: &mut Value, part: &str, value: Value) -> bool {
    field[part] = value;
    true
}

fn toggle(field: &mut Value, part: &str) -> bool {
    let value = field[part].as_bool().unwrap_or_default();
    set(field, part, (!value).into())
}

/// The range without its first version.
fn later(field: &mut Value, part: &str) -> bool {
    let Some((first, last)) = schema::range(schema::text(field, part)) else { return false };
    first < last && set(field, part, shown(first + 1, last))
}

/// The range without its last version; an open one ends with the message's, which the caller has put in its place.
fn earlier(field: &mut Value, part: &str) -> bool {
    let Some((first, last)) = schema::range(schema::text(field, part)) else { return false };
    first < last && set(field, part, shown(first, last - 1))
}

fn shown(first: i16, last: i16) -> Value {
    if last == i16::MAX { format!("{first}+") } else { format!("{first}-{last}") }.into()
}

fn other_default(field: &mut Value) -> bool {
    let default = match schema::text(field, "type") {
        "bool" if field["default"].as_str().is_some_and(|text| text.eq_ignore_ascii_case("true")) => "false",
        "bool" => "true",
        "string" => "other",
        "int8" | "int16" | "int32" | "int64" => "99",
        _ => return false,
    };
    set(field, "default", default.into())
}

fn toggle_null(field: &mut Value) -> bool {
    let nullable = match schema::text(field, "type") {
        "bool" | "int8" | "int16" | "uint16" | "int32" | "uint32" | "int64" | "float64" | "uuid" => return false,
        _ => schema::range(schema::text(field, "nullableVersions")).is_some(),
    };
    // What null is the default of has to be able to be null.
    field["default"] = Value::Null;
    let versions = if nullable { json!("none") } else { field["versions"].clone() };
    set(field, "nullableVersions", versions)
}

fn other_type(field: &mut Value) -> bool {
    let other = match schema::text(field, "type") {
        "int8" => "int16",
        "int16" => "uint16",
        "int32" => "int64",
        "int64" => "float64",
        "bool" => "int8",
        "uuid" => "string",
        "string" => "bytes",
        "bytes" => "records",
        "records" => "bytes",
        "[]int32" => "[]int64",
        "[]string" => "[]uuid",
        _ => return false,
    };
    set(field, "type", other.into())
}

/// Calls `visit` with each array of fields in the schema and the paths that its struct has in the message.
fn each_struct(schema: &Value, visit: &mut impl FnMut(&str, &[String])) {
    fn inner(node: &Value, pointer: &str, paths: &[String], visit: &mut impl FnMut(&str, &[String])) {
        visit(pointer, paths);
        for (i, field) in node.as_array().map(Vec::as_slice).unwrap_or_default().iter().enumerate() {
            if field.get("fields").is_some() {
                let paths: Vec<String> = paths.iter().map(|path| join(path, &schema::name(field))).collect();
                inner(&field["fields"], &format!("{pointer}/{i}/fields"), &paths, visit);
            }
        }
    }
    inner(&schema["fields"], "/fields", &[String::new()], visit);
    let common = schema["commonStructs"].as_array().map(Vec::as_slice).unwrap_or_default();
    for (i, node) in common.iter().enumerate() {
        // A common struct is used in several places; where a field stands is told by its name alone.
        inner(&node["fields"], &format!("/commonStructs/{i}/fields"), &[], visit);
    }
}

/// Open ranges end with the message's versions, so that their end can be moved.
fn close_ranges(node: &mut Value, last: i16) {
    match node {
        Value::Array(elements) => elements.iter_mut().for_each(|element| close_ranges(element, last)),
        Value::Object(parts) => {
            for (name, part) in parts {
                let open = part.as_str().and_then(|text| text.strip_suffix('+')).and_then(|first| first.parse().ok());
                match open {
                    Some(first) if name.to_lowercase().ends_with("versions") => *part = shown(first, last.max(first)),
                    _ => close_ranges(part, last),
                }
            }
        }
        _ => {}
    }
}

/// Whether one of the differences is about the field.
fn named(found: &[Difference], paths: &[String], name: &str) -> bool {
    found.iter().any(|difference| match paths {
        [] => difference.path == name || difference.path.ends_with(&format!(".{name}")),
        paths => paths.iter().any(|path| join(path, name) == difference.path),
    })
}

struct Planter<'a> {
    ours: &'a Listing,
    /// The listing of the schema as it is.
    kafkas: Listing,
    planted: BTreeMap<&'static str, usize>,
    missed: Vec<String>,
}

impl Planter<'_> {
    /// Counts a change, unless it changes nothing that can be seen in a valid version.
    fn plant(&mut self, change: &'static str, schema: &Value, paths: &[String], name: &str) {
        let changed = schema::listing(schema);
        if changed == self.kafkas {
            return;
        }
        *self.planted.entry(change).or_default() += 1;
        let before = differences(self.ours, &self.kafkas);
        let mut found = differences(self.ours, &changed);
        found.retain(|difference| !before.contains(difference));
        if !named(&found, paths, name) {
            let found: Vec<String> = found.iter().map(ToString::to_string).collect();
            self.missed.push(format!("{change}: {} {}.{name} {found:?}", self.ours.name, paths.join("|")));
        }
    }

    fn plant_all(&mut self, schema: &Value) {
        let mut structs: Vec<(String, Vec<String>)> = Vec::new();
        each_struct(schema, &mut |pointer, paths| structs.push((pointer.to_owned(), paths.to_vec())));
        for (pointer, paths) in structs {
            let fields = schema.pointer(&pointer).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
            for (i, field) in fields.iter().enumerate() {
                let name = schema::name(field);
                let with = |change: &dyn Fn(&mut Vec<Value>) -> bool| {
                    let mut schema = schema.clone();
                    let fields = schema.pointer_mut(&pointer).and_then(Value::as_array_mut)?;
                    change(fields).then_some(schema)
                };
                for (what, change) in CHANGES {
                    if let Some(changed) = with(&|fields| change(&mut fields[i])) {
                        self.plant(what, &changed, &paths, &name);
                    }
                }
                if let Some(changed) = with(&|fields| fields.remove(i).is_object()) {
                    self.plant("field missing", &changed, &paths, &name);
                }
                let surplus = json!({"name": "Surplus", "type": "int8", "versions": field["versions"]});
                let add = |fields: &mut Vec<Value>| {
                    fields.insert(i, surplus.clone());
                    true
                };
                if let Some(changed) = with(&add) {
                    self.plant("field added", &changed, &paths, "surplus");
                }
                let swap = |fields: &mut Vec<Value>| {
                    fields.swap(i, i + 1);
                    true
                };
                if let Some(changed) = fields.get(i + 1).and_then(|_| with(&swap)) {
                    // The first field of the two in a version is named, whichever of them that is.
                    self.plant_swap(&changed, &paths);
                }
            }
        }
        self.plant_constants(schema);
    }

    fn plant_swap(&mut self, schema: &Value, paths: &[String]) {
        let changed = schema::listing(schema);
        if changed != self.kafkas {
            *self.planted.entry("fields swapped").or_default() += 1;
            let found = differences(self.ours, &changed);
            if !found.iter().any(|difference| difference.what.starts_with("stands here where Kafka has")) {
                self.missed.push(format!("fields swapped: {} {}", self.ours.name, paths.join("|")));
            }
        }
    }

    fn plant_constants(&mut self, schema: &Value) {
        let changes: [(&'static str, Change); 4] = [
            ("other key", |schema| {
                let key = schema["apiKey"].as_i64();
                key.is_some_and(|key| set(schema, "apiKey", (key + 1).into()))
            }),
            ("first version gone", |schema| later(schema, "validVersions")),
            ("flexible one version later", |schema| later(schema, "flexibleVersions")),
            ("newest version stable or not", |schema| toggle(schema, "latestVersionUnstable")),
        ];
        for (what, change) in changes {
            let mut changed = schema.clone();
            if change(&mut changed) {
                self.plant(what, &changed, &[String::new()], "");
            }
        }
    }
}

#[test]
#[ignore = "needs Kafka's jars: run `cargo xtask schemas`"]
fn kafka_schemas_with_a_mistake_are_told_from_the_codec() {
    let schemas = jar::schemas();
    let mut planted: BTreeMap<&str, usize> = BTreeMap::new();
    let mut missed = Vec::new();
    for ours in ours() {
        let mut schema = schemas[&ours.name].clone();
        let (_, last) = schema::range(schema::text(&schema, "validVersions")).unwrap();
        close_ranges(&mut schema, last);
        let mut planter =
            Planter { ours: &ours, kafkas: schema::listing(&schema), planted: BTreeMap::new(), missed: Vec::new() };
        planter.plant_all(&schema);
        planter.planted.into_iter().for_each(|(what, count)| *planted.entry(what).or_default() += count);
        missed.extend(planter.missed);
    }
    assert!(missed.is_empty(), "{} mistakes are not named: {missed:#?}", missed.len());
    assert!(planted.len() >= 10, "{planted:?}");
    println!("schema oracle: {} planted mistakes, each named: {planted:?}", planted.values().sum::<usize>());
}
