//! What is to be known of a message, whoever says it: Apache's schema or our own code.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// A set of versions, shown as `0-3, 5`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Versions(pub(crate) BTreeSet<i16>);

impl Versions {
    pub(crate) fn contains(&self, version: i16) -> bool {
        self.0.contains(&version)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = i16> + '_ {
        self.0.iter().copied()
    }

    pub(crate) fn both(&self, other: &Self) -> Self {
        self.0.intersection(&other.0).copied().collect()
    }
}

impl FromIterator<i16> for Versions {
    fn from_iter<I: IntoIterator<Item = i16>>(versions: I) -> Self {
        Self(versions.into_iter().collect())
    }
}

impl fmt::Display for Versions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut ranges: Vec<(i16, i16)> = Vec::new();
        for version in self.iter() {
            match ranges.last_mut() {
                Some((_, last)) if *last + 1 == version => *last = version,
                _ => ranges.push((version, version)),
            }
        }
        let range = |(first, last): &(i16, i16)| {
            if first == last { first.to_string() } else { format!("{first}-{last}") }
        };
        match &ranges[..] {
            [] => f.write_str("none"),
            ranges => f.write_str(&ranges.iter().map(range).collect::<Vec<_>>().join(", ")),
        }
    }
}

/// The type of a field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A type without parts, by the schema's name for it.
    Plain(&'static str),
    /// A struct; its fields stand in [`Facts`] of their own.
    Struct,
    /// An array; `None` where it was seen empty only.
    Array(Option<Box<Kind>>),
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plain(name) => f.write_str(name),
            Self::Struct => f.write_str("struct"),
            Self::Array(Some(element)) => write!(f, "[]{element}"),
            Self::Array(None) => f.write_str("[]"),
        }
    }
}

/// How a field looks in one version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Shape {
    pub(crate) kind: Kind,
    pub(crate) nullable: bool,
    /// Whether the form stays classic where the message is flexible.
    pub(crate) classic: bool,
    pub(crate) tag: Option<u32>,
}

/// What is to be known of one field.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Facts {
    /// How it looks in each version that has it.
    pub(crate) shapes: BTreeMap<i16, Shape>,
    /// Each value that it has when nobody sets it, and how that was seen.
    pub(crate) defaults: BTreeSet<(String, &'static str)>,
    /// Whether a value that is not the default can be dropped in a version without the field; `None` where every
    /// version of its struct has it.
    pub(crate) ignorable: Option<bool>,
}

impl Facts {
    pub(crate) fn versions(&self) -> Versions {
        self.shapes.keys().copied().collect()
    }
}

/// What is to be known of one message.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Listing {
    pub(crate) name: String,
    pub(crate) key: i16,
    pub(crate) versions: Versions,
    pub(crate) flexible: Versions,
    /// The newest version that is stable, -1 for none; `None` for what is not negotiated.
    pub(crate) newest_stable: Option<i16>,
    /// The fields by path, such as `topics.partitions.records`.
    pub(crate) fields: BTreeMap<String, Facts>,
    /// The order of the fields without tags, by version and by path of their struct.
    pub(crate) order: BTreeMap<(i16, String), Vec<String>>,
    /// Where a side contradicts itself.
    pub(crate) faults: BTreeSet<String>,
}

/// The path of a field.
pub(crate) fn join(parent: &str, name: &str) -> String {
    if parent.is_empty() { name.to_owned() } else { format!("{parent}.{name}") }
}
