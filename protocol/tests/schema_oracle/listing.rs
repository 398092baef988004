//! What our own code says of a message.
//!
//! A [`Sampler`] makes up values, a [`Lister`] writes them. What a version has is seen by writing what was made up in the
//! same version. What stands in for a field that is missing is seen by writing in a version that has it what was made
//! up in one that lacks it, and the other way round whether its value can be dropped.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use ackflow_protocol::wire::{Decode, Encode};

use super::facts::{Listing, Shape, Versions, join};
use super::lister::Lister;
use super::recorder::Seen;
use super::sampler::{Sample, Sampler};

/// Structs are not nested deeper than this.
const DEEPEST: usize = 8;
/// Everything made up, with each value of booleans.
const WHOLE: [Sample; 2] =
    [Sample { bools: true, tags: true, default_at: None }, Sample { bools: false, tags: true, default_at: None }];

/// Lists a message. Its key and the newest stable version are for the caller to add.
pub(crate) fn listing<T: Encode + Decode>(name: &str, versions: RangeInclusive<i16>, flexible_from: i16) -> Listing {
    let mut listing = Listing {
        name: name.to_owned(),
        key: -1,
        flexible: versions.clone().filter(|version| *version >= flexible_from).collect(),
        versions: versions.collect(),
        ..Listing::default()
    };
    list_shapes::<T>(&mut listing);
    list_defaults::<T>(&mut listing);
    list_dropped::<T>(&mut listing);
    listing
}

/// Calls `visit` with each field's path and how many structs it lies in below the message.
fn walk(fields: &[Seen], parent: &str, depth: usize, visit: &mut impl FnMut(&str, &Seen, usize)) {
    for seen in fields {
        let path = join(parent, seen.name);
        visit(&path, seen, depth);
        walk(&seen.fields, &path, depth + 1, visit);
    }
}

fn shapes(fields: &[Seen]) -> Vec<(String, Shape)> {
    let mut shapes = Vec::new();
    walk(fields, "", 0, &mut |path, seen, _| shapes.push((path.to_owned(), seen.shape.clone())));
    shapes
}

/// The fields of each version, their order, and that reading and writing agree.
fn list_shapes<T: Encode + Decode>(listing: &mut Listing) {
    for version in listing.versions.clone().iter() {
        let mut written = BTreeMap::new();
        for sample in WHOLE {
            let (value, read) = Sampler::sample::<T>(version, sample);
            let (fields, refused) = Lister::list(&value, version);
            for path in refused {
                listing.faults.insert(format!("{path}: version {version} refuses what it has itself"));
            }
            if let Some(fault) = first_difference(&shapes(&read), &shapes(&fields)) {
                listing.faults.insert(format!("{fault} in version {version}"));
            }
            walk(&fields, "", 0, &mut |path, seen, _| {
                listing.fields.entry(path.to_owned()).or_default().shapes.insert(version, seen.shape.clone());
                if seen.shape.tag.is_some() {
                    *written.entry(path.to_owned()).or_insert(false) |= seen.written;
                }
            });
            list_order(&fields, "", version, &mut listing.order);
        }
        for (path, _) in written.into_iter().filter(|(_, written)| !written) {
            listing.faults.insert(format!("{path}: version {version} does not write its value"));
        }
    }
}

fn list_order(fields: &[Seen], parent: &str, version: i16, order: &mut BTreeMap<(i16, String), Vec<String>>) {
    let untagged = fields.iter().filter(|seen| seen.shape.tag.is_none());
    order.insert((version, parent.to_owned()), untagged.map(|seen| seen.name.to_owned()).collect());
    for seen in fields.iter().filter(|seen| !seen.fields.is_empty()) {
        list_order(&seen.fields, &join(parent, seen.name), version, order);
    }
}

fn first_difference(read: &[(String, Shape)], written: &[(String, Shape)]) -> Option<String> {
    let i = (0..read.len().max(written.len())).find(|i| read.get(*i) != written.get(*i))?;
    let shown = |field: Option<&(String, Shape)>| {
        field.map_or_else(|| "nothing".to_owned(), |(path, shape)| format!("`{path}` ({})", shape.kind))
    };
    let path = read.get(i).or(written.get(i)).map(|(path, _)| path.clone()).unwrap_or_default();
    Some(format!("{path}: {} is read where {} is written", shown(read.get(i)), shown(written.get(i))))
}

/// What a field holds when nobody sets it.
fn list_defaults<T: Encode + Decode>(listing: &mut Listing) {
    for version in listing.versions.clone().iter() {
        for depth in 0..DEEPEST {
            let sample = Sample { default_at: Some(depth), ..WHOLE[0] };
            let (fields, _) = Lister::list(&Sampler::sample::<T>(version, sample).0, version);
            walk(&fields, "", 0, &mut |path, seen, at| {
                if at == depth {
                    add_default(listing, path, seen, "by Default");
                }
            });
        }
        let (fields, _) = Lister::list(&Sampler::sample::<T>(version, Sample { tags: false, ..WHOLE[0] }).0, version);
        walk(&fields, "", 0, &mut |path, seen, _| {
            if seen.shape.tag.is_some() {
                add_default(listing, path, seen, "where its tag is missing");
                if seen.written {
                    listing.faults.insert(format!("{path}: version {version} writes its default"));
                }
            }
        });
        for other in listing.versions.clone().iter() {
            let (fields, _) = Lister::list(&Sampler::sample::<T>(version, WHOLE[0]).0, other);
            walk(&fields, "", 0, &mut |path, seen, _| {
                if !listing.fields.get(path).is_some_and(|facts| facts.shapes.contains_key(&version)) {
                    add_default(listing, path, seen, "read from a version without it");
                }
            });
        }
    }
}

fn add_default(listing: &mut Listing, path: &str, seen: &Seen, how: &'static str) {
    if let Some(facts) = listing.fields.get_mut(path) {
        facts.defaults.insert((seen.value.clone(), how));
    }
}

/// Whether a value can be dropped in a version without its field.
fn list_dropped<T: Encode + Decode>(listing: &mut Listing) {
    let mut refusals: BTreeSet<(String, i16, i16)> = BTreeSet::new();
    for from in listing.versions.iter() {
        for to in listing.versions.iter() {
            for sample in WHOLE {
                let (_, refused) = Lister::list(&Sampler::sample::<T>(from, sample).0, to);
                refusals.extend(refused.into_iter().map(|path| (path, from, to)));
            }
        }
    }
    let everywhere = listing.versions.clone();
    let present: BTreeMap<String, Versions> =
        listing.fields.iter().map(|(path, facts)| (path.clone(), facts.versions())).collect();
    for (path, facts) in &mut listing.fields {
        let having = &present[path];
        let parent = path.rsplit_once('.').map_or(&everywhere, |(parent, _)| &present[parent]);
        let lacking: Versions = parent.iter().filter(|version| !having.contains(*version)).collect();
        let pairs = |from: &Versions| -> Vec<(i16, i16)> {
            from.iter().flat_map(|from| lacking.iter().map(move |to| (from, to))).collect()
        };
        let refused = |(from, to): &(i16, i16)| refusals.contains(&(path.clone(), *from, *to));
        let set = pairs(having);
        facts.ignorable = set.first().map(|first| !refused(first));
        if set.iter().any(|pair| Some(!refused(pair)) != facts.ignorable) {
            listing.faults.insert(format!("{path}: some versions without it refuse its value, some drop it"));
        }
        if pairs(&lacking).iter().any(refused) {
            listing.faults.insert(format!("{path}: a version without it refuses its default"));
        }
    }
    for (path, ..) in refusals.iter().filter(|(path, ..)| !listing.fields.contains_key(path)) {
        listing.faults.insert(format!("{path}: is refused, and there is no such field"));
    }
}
