//! Names each difference between what our code and what Apache's schema says.

use std::collections::BTreeSet;
use std::fmt;

use super::facts::{Facts, Listing, Shape, Versions};

/// One difference.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Difference {
    pub(crate) message: String,
    /// The field, empty for the message itself.
    pub(crate) path: String,
    pub(crate) what: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dot = if self.path.is_empty() { "" } else { "." };
        write!(f, "{}{dot}{}: {}", self.message, self.path, self.what)
    }
}

/// All differences.
pub(crate) fn differences(ours: &Listing, kafkas: &Listing) -> Vec<Difference> {
    let mut found = Found { message: ours.name.clone(), differences: Vec::new() };
    found.unequal("", "the key", ours.key, kafkas.key);
    found.unequal("", "the set of versions", &ours.versions, &kafkas.versions);
    found.unequal("", "the set of flexible versions", &ours.flexible, &kafkas.flexible);
    if let Some((ours, kafkas)) = ours.newest_stable.zip(kafkas.newest_stable) {
        found.unequal("", "the newest stable version", ours, kafkas);
    }
    let paths: BTreeSet<&String> = ours.fields.keys().chain(kafkas.fields.keys()).collect();
    let mut one_sided: Vec<&str> = Vec::new();
    for path in paths {
        // What a missing struct lacks needs no naming.
        if one_sided.iter().any(|parent| path.strip_prefix(parent).is_some_and(|rest| rest.starts_with('.'))) {
            continue;
        }
        match (ours.fields.get(path), kafkas.fields.get(path)) {
            (Some(ours), Some(kafkas)) => found.field(path, ours, kafkas),
            (Some(ours), None) => {
                one_sided.push(path);
                found.add(path, format!("is here in versions {}, and Kafka has no such field", ours.versions()));
            }
            (None, Some(kafkas)) => {
                one_sided.push(path);
                found.add(path, format!("is missing here, and Kafka has it in versions {}", kafkas.versions()));
            }
            (None, None) => {}
        }
    }
    found.order(ours, kafkas);
    for fault in &ours.faults {
        let (path, what) = fault.split_once(": ").unwrap_or(("", fault));
        found.add(path, what.to_owned());
    }
    found.differences
}

struct Found {
    message: String,
    differences: Vec<Difference>,
}

impl Found {
    fn add(&mut self, path: &str, what: String) {
        self.differences.push(Difference { message: self.message.clone(), path: path.to_owned(), what });
    }

    fn unequal<T: PartialEq + fmt::Display>(&mut self, path: &str, what: &str, ours: T, kafkas: T) {
        if ours != kafkas {
            self.add(path, format!("{what} is {ours} here and {kafkas} in Kafka"));
        }
    }

    fn field(&mut self, path: &str, ours: &Facts, kafkas: &Facts) {
        self.unequal(path, "the set of versions", ours.versions(), kafkas.versions());
        self.shape(path, "the type", ours, kafkas, |shape| shape.kind.to_string());
        self.shape(path, "the tag", ours, kafkas, |shape| shape.tag.map_or("none".into(), |tag| tag.to_string()));
        self.shape(path, "the form", ours, kafkas, |s| if s.classic { "classic" } else { "the message's" }.to_owned());
        let nullable = |facts: &Facts| -> Versions {
            let both = ours.versions().both(&kafkas.versions());
            both.iter().filter(|version| facts.shapes[version].nullable).collect()
        };
        self.unequal(path, "the set of versions in which it may be null", nullable(ours), nullable(kafkas));
        for (value, how) in &ours.defaults {
            if !kafkas.defaults.iter().any(|(default, _)| default == value) {
                let default =
                    kafkas.defaults.iter().map(|(default, _)| default.as_str()).collect::<Vec<_>>().join(" or ");
                self.add(path, format!("the default is {value} here, {how}, and {default} in Kafka"));
            }
        }
        if let Some((ours, kafkas)) = ours.ignorable.zip(kafkas.ignorable) {
            let shown = |ignorable| if ignorable { "dropped" } else { "refused" };
            self.unequal(path, "what becomes of its value in a version without it", shown(ours), shown(kafkas));
        }
    }

    fn shape(&mut self, path: &str, what: &str, ours: &Facts, kafkas: &Facts, part: impl Fn(&Shape) -> String) {
        for (version, shape) in &ours.shapes {
            if let Some(other) = kafkas.shapes.get(version)
                && part(shape) != part(other)
            {
                return self.add(
                    path,
                    format!("{what} is {} here and {} in Kafka, in version {version}", part(shape), part(other)),
                );
            }
        }
    }

    /// Names the first field of a struct that stands at another place, where both have the same fields.
    fn order(&mut self, ours: &Listing, kafkas: &Listing) {
        let mut named: BTreeSet<String> = BTreeSet::new();
        for ((version, parent), names) in &ours.order {
            let Some(other) = kafkas.order.get(&(*version, parent.clone())) else { continue };
            let sorted = |names: &[String]| -> BTreeSet<String> { names.iter().cloned().collect() };
            let misplaced = names.iter().zip(other).find(|(ours, kafkas)| ours != kafkas);
            if let Some((first, instead)) = misplaced
                && sorted(names) == sorted(other)
                && named.insert(parent.clone())
            {
                let path = super::facts::join(parent, first);
                self.add(&path, format!("stands here where Kafka has `{instead}`, in version {version}"));
            }
        }
    }
}
