//! The tables that Kafka's tools print.

use std::collections::BTreeMap;

/// The rows under the header that begins with `first`, by the names of columns. No cell holds a blank.
pub(super) fn rows<'a>(text: &'a str, first: &str) -> Vec<BTreeMap<&'a str, &'a str>> {
    let mut lines = text.lines();
    let Some(header) = lines.find(|line| line.split_whitespace().next() == Some(first)) else { return Vec::new() };
    let names: Vec<_> = header.split_whitespace().collect();
    let row = |line: &'a str| names.iter().copied().zip(line.split_whitespace()).collect();
    // A table of the next group has a header of its own.
    let is_row = |line: &&str| !line.trim().is_empty() && line.split_whitespace().next() != Some(first);
    lines.filter(is_row).map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_found_by_the_names_of_columns() {
        let text = "\nGroup 'g' has no members.\n\nGROUP  TOPIC  LAG\ng      t      3\n\ng      u      -\n";
        let rows = rows(text, "GROUP");
        assert_eq!((rows.len(), rows[0]["LAG"], rows[1]["TOPIC"]), (2, "3", "u"));
        assert!(super::rows("Error: no such group", "GROUP").is_empty());
    }
}
