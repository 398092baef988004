//! Kafka's own Java tools, librdkafka and franz-go against the embedded broker, unchanged. Each does the same on a real Kafka first: what they do is
//! counted on both, and what the tools print has to be the same, but for addresses, ids and times.

mod configs;
mod consumers;
mod others;
mod producers;
mod resets;
mod sharing;
mod shell;
mod stage;
mod topics;
mod transactions;

use std::thread;
use std::time::Instant;

use anyhow::Result;

use super::Proof;
use super::support::ackflow::Ackflow;
use super::support::embedded::Embedded;
use super::verdict::Verdict;
use crate::kafka::{Cluster, DEFAULT_VERSION, Libs, Options, Tools};
use stage::Stage;

pub(super) const PROOF: Proof = Proof {
    name: "foreign-clients",
    shows: "Kafka's Java tools, librdkafka and franz-go do on the embedded broker what they do on a real Kafka, and print the same",
    run,
};

/// What the real broker of `cargo xtask kafka --fast` is set to as well.
const FAST: [&str; 7] = [
    "group.initial.rebalance.delay.ms=0",
    "group.share.min.heartbeat.interval.ms=100",
    "group.share.heartbeat.interval.ms=200",
    "group.share.min.session.timeout.ms=1000",
    "group.share.session.timeout.ms=3000",
    "group.share.assignment.interval.ms=0",
    "group.share.min.record.lock.duration.ms=1000",
];

/// What one client, or a kind of tool, has to do.
type Step = fn(&mut Stage) -> Result<()>;

/// In this order: later ones list what earlier ones have left.
const STEPS: [(&str, Step); 14] = [
    ("TopicCommand", topics::topics),
    ("ConfigCommand", configs::configs),
    ("VerifiableProducer", producers::verifiable),
    ("ProducerPerformance", producers::performance),
    ("TransactionsCommand", transactions::transactions),
    ("ConsoleConsumer", consumers::console),
    ("ConsumerPerformance", consumers::performance),
    ("VerifiableConsumer", consumers::verifiable),
    ("ConsumerGroupCommand", resets::consumer_groups),
    ("ConsoleShareConsumer", sharing::console),
    ("VerifiableShareConsumer", sharing::verifiable),
    ("ShareConsumerPerformance", sharing::performance),
    ("ShareGroupCommand", resets::share_groups),
    ("librdkafka+franz-go", others::others),
];

fn run() -> Result<Verdict> {
    let ackflow = Ackflow::build()?;
    let libs = Libs::fetch(DEFAULT_VERSION)?;
    others::build()?;
    let cluster = Cluster::start(&Options { fast: true, ..Options::default() })?;
    let configs: Vec<&str> = FAST.iter().flat_map(|config| ["--config", config]).collect();
    let broker = Embedded::start(&ackflow, &configs)?;
    let mut verdict = compare(&cluster.tools(), &Tools::new(libs, broker.address()))?;
    verdict.require(broker.stop()?, "the broker ends in good order");
    Ok(verdict)
}

/// Does every step on both brokers at the same time, and compares what was said.
fn compare(real: &Tools, embedded: &Tools) -> Result<Verdict> {
    let (real, embedded) = thread::scope(|scope| {
        let real = scope.spawn(|| play("Kafka", real));
        let embedded = play("the embedded broker", embedded);
        (real.join().expect("a step does not panic"), embedded)
    });
    let (real, embedded) = (real?, embedded?);
    let mut verdict = Verdict::default();
    let mut lines = 0;
    for ((name, _), (real, embedded)) in STEPS.iter().zip(real.iter().zip(&embedded)) {
        for played in [real, embedded] {
            if let Some(failure) = &played.failure {
                verdict.require(false, failure);
            }
        }
        let differs = difference(&real.said, &embedded.said);
        verdict.figure(name, if differs.is_none() { "same" } else { "differs" });
        verdict.require(differs.is_none(), format!("{name}: {}", differs.unwrap_or_default()));
        lines += embedded.said.len();
    }
    let is_asked = |line: &&String| line.starts_with("$ ");
    verdict.figure("tools-run", embedded.iter().flat_map(|played| &played.said).filter(is_asked).count());
    verdict.figure("lines-compared", lines);
    Ok(verdict)
}

/// A step that was done on one broker.
struct Played {
    said: Vec<String>,
    failure: Option<String>,
}

/// Does every step on one broker. A step that fails ends there.
fn play(broker: &str, tools: &Tools) -> Result<Vec<Played>> {
    let mut stage = Stage::new(tools.clone())?;
    let mut played = Vec::new();
    for (name, step) in STEPS {
        crate::interrupt::check()?;
        let began = Instant::now();
        let failure = step(&mut stage).err().map(|error| format!("{name} on {broker}: {error:#}"));
        let how = failure.as_deref().unwrap_or("done");
        eprintln!("{name} on {broker}, {} s: {how}", began.elapsed().as_secs());
        played.push(Played { said: stage.take_said(), failure });
    }
    Ok(played)
}

/// Where two transcripts differ first.
fn difference(real: &[String], embedded: &[String]) -> Option<String> {
    let line = |said: &[String], at| said.get(at).map_or("nothing".to_owned(), |line| format!("`{line}`"));
    let at = (0..real.len().max(embedded.len())).find(|&at| real.get(at) != embedded.get(at))?;
    let asked = real[..at.min(real.len())].iter().rfind(|line| line.starts_with("$ ")).map_or("", String::as_str);
    Some(format!("after `{asked}` Kafka says {}, the embedded broker {}", line(real, at), line(embedded, at)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_difference_is_told_with_what_was_asked() {
        let lines = |lines: &[&str]| lines.iter().map(|line| (*line).to_owned()).collect::<Vec<_>>();
        let real = lines(&["$ A --list", "t", "$ B", "x"]);
        assert_eq!(difference(&real, &real), None);
        assert_eq!(
            difference(&real, &lines(&["$ A --list", "t", "$ B", "y"])).unwrap(),
            "after `$ B` Kafka says `x`, the embedded broker `y`"
        );
        assert_eq!(
            difference(&real, &lines(&["$ A --list"])).unwrap(),
            "after `$ A --list` Kafka says `t`, the embedded broker nothing"
        );
    }
}
