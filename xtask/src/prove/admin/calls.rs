//! Which calls there are: read from the source, so that none is forgotten here.

use std::collections::BTreeSet;
use std::fs;

use anyhow::{Context, Result};

use crate::workspace;

const FOLDER: &str = "client/src/admin/";

/// The names of the public calls of the admin client.
pub(super) fn public() -> Result<BTreeSet<String>> {
    let mut calls = BTreeSet::new();
    for file in workspace::files()?.iter().filter(|file| file.starts_with(FOLDER)) {
        let text = fs::read_to_string(workspace::root().join(file)).with_context(|| format!("cannot read {file}"))?;
        calls.extend(of(&text).map(str::to_owned));
    }
    Ok(calls)
}

fn of(text: &str) -> impl Iterator<Item = &str> {
    let declared = text.lines().filter_map(|line| line.trim_start().strip_prefix("pub async fn "));
    declared.filter_map(|rest| rest.split(['(', '<']).next())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_found_with_and_without_type_parameters() {
        let text = "    pub async fn features(&self)\n    pub async fn delete_groups<S: Into<String>>(&self\n    async fn own()";
        assert_eq!(of(text).collect::<Vec<_>>(), ["features", "delete_groups"]);
        assert!(public().unwrap().contains("describe_cluster"));
    }
}
