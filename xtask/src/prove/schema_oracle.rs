//! The codec against Apache's schemas, and that a mistake would be named.

use anyhow::Result;

use super::Proof;
use super::verdict::Verdict;
use crate::kafka::DEFAULT_VERSION;
use crate::process::Process;
use crate::schemas;

pub(super) const PROOF: Proof = Proof {
    name: "schema-oracle",
    shows: "every field of every message is as Apache's schemas have it, and planted mistakes are named",
    run,
};

fn run() -> Result<Verdict> {
    let (text, _) = Process::capture("schema oracle", &mut schemas::tests(DEFAULT_VERSION)?, schemas::TIME_LIMIT)?;
    let mut verdict = Verdict::default();
    for (name, what) in [("messages", " messages"), ("fields", " fields"), ("planted_and_named", " planted mistakes")] {
        let figure = figure(&text, what);
        verdict.figure(name, figure.unwrap_or_default());
        verdict.require(figure.is_some_and(|count| count >= 10), format!("the tests say how many{what} there are"));
    }
    Ok(verdict)
}

/// The number before `what` in a line of the oracle.
fn figure(output: &str, what: &str) -> Option<usize> {
    let mut lines = output.lines().filter_map(|line| line.split_once("schema oracle: "));
    lines.find_map(|(_, line)| line.split_once(what)?.0.rsplit(' ').next()?.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_stand_before_what_they_count() {
        let output = "x\n.schema oracle: 132 messages, 1113 fields\nschema oracle: 8331 planted mistakes, each named\n";
        let figures = [" messages", " fields", " planted mistakes"].map(|what| figure(output, what));
        assert_eq!(figures, [Some(132), Some(1113), Some(8331)]);
        assert_eq!(figure("132 messages", " messages"), None);
    }
}
