//! The share consumer on brokers older than the one that it is made for.

use anyhow::Result;

use super::Proof;
use super::adversarial::play;
use super::verdict::Verdict;
use crate::kafka::Options;

pub(super) const PROOF: Proof = Proof {
    name: "versions",
    shows: "the share consumer is exact in the first half of the hostile situations on Kafka 4.1, 4.2 and 4.3 as well",
    run,
};

/// The newest patch of each. Kafka 4.1 has share groups as a preview, which knows neither record_limit nor renewed locks: there both have to be
/// refused by name.
const VERSIONS: [&str; 3] = ["4.1.2", "4.2.2", "4.3.1"];

/// How many scenarios the first half has.
const HALF: usize = 7;

fn run() -> Result<Verdict> {
    let mut verdict = Verdict::default();
    for version in VERSIONS {
        // The limit of a group that the scenarios set; brokers that have no such setting of a group take it from here.
        let config = vec![("group.share.delivery.count.limit".to_owned(), "10".to_owned())];
        let options =
            Options { version: version.to_owned(), fast: true, heap: "700m".to_owned(), config, ..Options::default() };
        let played = play(&options, &["--first-half"], |name| format!("{version}/{name}"), &mut verdict)?;
        verdict
            .require(played.len() == HALF, format!("{HALF} scenarios were played on {version}, not {}", played.len()));
        let refused = played.iter().filter(|(_, report)| report["notes"]["refused"].is_array()).count();
        let expected = usize::from(version.starts_with("4.1."));
        verdict.require(refused == expected, format!("on {version} {expected} scenario(s) are refused, not {refused}"));
    }
    Ok(verdict)
}
