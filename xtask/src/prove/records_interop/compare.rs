//! What was read against what was written, and whether a difference would be noticed.

use std::collections::BTreeMap;

use super::shown::{Place, Shown};
use crate::random::Seeded;

/// The records of one topic, as they should be read.
pub(super) type Expected = BTreeMap<Place, Shown>;

/// What one reader printed of one topic, in its order.
pub(super) type Read = Vec<(Place, Shown)>;

/// How many records are equal, and what is not as it should be.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    pub(super) equal: usize,
    pub(super) differences: Vec<String>,
}

/// Compares them by partition and offset; each record should be there once.
pub(super) fn compare(expected: &Expected, read: &Read) -> Outcome {
    let mut outcome = Outcome::default();
    let mut seen = BTreeMap::new();
    for (place, shown) in read {
        let at = format!("{}@{}", place.0, place.1);
        if seen.insert(*place, ()).is_some() {
            outcome.differences.push(format!("{at} comes twice"));
            continue;
        }
        match expected.get(place).map(|expected| expected.difference(shown)) {
            None => outcome.differences.push(format!("{at} should not be there")),
            Some(Some(difference)) => outcome.differences.push(format!("{at}: {difference}")),
            Some(None) => outcome.equal += 1,
        }
    }
    let missing = expected.keys().filter(|place| !seen.contains_key(place));
    outcome.differences.extend(missing.map(|place| format!("{}@{} is missing", place.0, place.1)));
    outcome
}

/// Changes one thing of what is expected, so that what was read should not pass.
pub(super) fn damage(expected: &mut Expected, random: &mut Seeded) {
    let Some(&place) = expected.keys().nth(random.below(expected.len().max(1))) else {
        return;
    };
    let Some(mut record) = expected.remove(&place) else { return };
    match random.below(9) {
        // It is not expected any more.
        0 => return,
        1 => {
            expected.insert((place.0, i64::MAX), record.clone());
        }
        2 => record.timestamp += 1,
        3 => record.timestamp_type.push('?'),
        4 => damage_bytes(&mut record.key),
        5 => damage_bytes(&mut record.value),
        6 => record.headers.push(("h".to_owned(), None)),
        7 => match record.headers.first_mut() {
            Some((_, value)) => damage_bytes(value),
            None => record.headers.push((String::new(), Some(String::new()))),
        },
        _ => match record.headers.iter().position(|header| *header != record.headers[0]) {
            Some(other) => record.headers.swap(0, other),
            None => record.timestamp -= 1,
        },
    }
    expected.insert(place, record);
}

/// Null becomes empty, empty becomes null, the first character of anything else another one.
fn damage_bytes(bytes: &mut Option<String>) {
    *bytes = match bytes.as_deref() {
        None => Some(String::new()),
        Some("") => None,
        Some(text) => {
            let other = if text.starts_with('A') { "B" } else { "A" };
            Some(format!("{other}{}", &text[1..]))
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn records() -> Expected {
        let line = |headers: &str, value: &str| {
            let line = format!(
                r#"{{"topic":"t","partition":0,"offset":0,"timestamp":5,"timestamp_type":"CreateTime","key":null,"value":{value},"headers":{headers}}}"#
            );
            Shown::parse(&line).unwrap().2
        };
        [
            ((0, 0), line("[]", "\"\"")),
            ((0, 3), line(r#"[["a",null],["b",""]]"#, "\"AA==\"")),
            ((1, 0), line(r#"[["a","AA=="],["a","AA=="]]"#, "null")),
        ]
        .into()
    }

    fn read(records: &Expected) -> Read {
        records.iter().map(|(place, shown)| (*place, shown.clone())).collect()
    }

    #[test]
    fn every_damage_is_noticed() {
        let good = records();
        let what_was_read = read(&good);
        assert_eq!(compare(&good, &what_was_read).equal, 3);
        assert!(compare(&good, &what_was_read).differences.is_empty());
        let mut random = Seeded::new(3);
        for i in 0..500 {
            let mut damaged = good.clone();
            damage(&mut damaged, &mut random);
            assert_ne!(compare(&damaged, &what_was_read).differences, Vec::<String>::new(), "{i}: {damaged:?}");
        }
    }

    #[test]
    fn differences_say_where_and_what() {
        let good = records();
        let mut bad = read(&good);
        bad[1].1.value = None;
        bad.push(bad[0].clone());
        bad.push(((0, 9), bad[0].1.clone()));
        bad.remove(2);
        let differences = compare(&good, &bad).differences;
        assert_eq!(
            differences,
            ["0@3: value is null, not \"AA==\"", "0@0 comes twice", "0@9 should not be there", "1@0 is missing"]
        );
    }
}
