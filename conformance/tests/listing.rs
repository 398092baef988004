//! docs/conformance.md lists all cases and situations. `ACKFLOW_WRITE_DOCS=1 cargo test -p ackflow-conformance --features unstable-kip-1289 --test listing` brings it up to
//! date.

// Without the draft there are fewer.
#![cfg(feature = "unstable-kip-1289")]

use std::fmt::Write;
use std::fs;
use std::path::Path;

use ackflow_conformance::broker::{self, Case, Group};
use ackflow_conformance::client::{self, Situation};

const BEGIN: &str = "<!-- generated: what follows is written by conformance/tests/listing.rs -->\n";
const END: &str = "<!-- generated: end -->\n";

/// Name, rule, source and note of a case or situation.
type Rule = (String, &'static str, &'static str, Option<&'static str>);

fn of_broker(case: &Case) -> (&'static str, Rule) {
    (case.group.name(), (case.name(), case.rule, case.source, case.note))
}

fn of_client(situation: &Situation) -> (&'static str, Rule) {
    (situation.group.name(), (situation.name(), situation.rule, situation.source, situation.note))
}

fn listing() -> String {
    let mut text = String::from("\n## Cases for brokers\n");
    list(&mut text, Group::ALL.map(Group::name), &broker::all().map(of_broker).collect::<Vec<_>>());
    text.push_str("\n## Situations for clients\n");
    list(&mut text, client::Group::ALL.map(client::Group::name), &client::all().map(of_client).collect::<Vec<_>>());
    text + "\n"
}

fn list(text: &mut String, groups: impl IntoIterator<Item = &'static str>, rules: &[(&str, Rule)]) {
    for group in groups {
        let rules: Vec<_> = rules.iter().filter(|(of, _)| *of == group).map(|(_, rule)| rule).collect();
        writeln!(text, "\n### {group} ({})\n", rules.len()).expect("a String takes everything");
        for (name, rule, source, note) in rules {
            writeln!(text, "- **{name}**: {rule} *{source}*").expect("a String takes everything");
            if let Some(note) = note {
                writeln!(text, "  Note: {note}").expect("a String takes everything");
            }
        }
    }
}

#[test]
fn every_case_is_in_the_documentation() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/conformance.md");
    let text = fs::read_to_string(&path).expect("docs/conformance.md");
    let (before, rest) = text.split_once(BEGIN).expect("a place where the listing begins");
    let (_, after) = rest.split_once(END).expect("a place where it ends");
    let wanted = format!("{before}{BEGIN}{}{END}{after}", listing());
    if std::env::var_os("ACKFLOW_WRITE_DOCS").is_some() {
        fs::write(&path, wanted).expect("docs/conformance.md can be written");
    } else {
        assert!(text == wanted, "docs/conformance.md is out of date; this file says how to write it anew");
    }
}

#[test]
fn no_two_cases_have_one_name() {
    for mut names in [broker::all().map(Case::name).collect::<Vec<_>>(), client::all().map(Situation::name).collect()] {
        let all = names.len();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), all);
    }
}
