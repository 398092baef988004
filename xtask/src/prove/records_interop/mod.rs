//! Records between ackflow and other clients, in both directions, through a real Kafka.
//!
//! Every client writes the same kinds of records from a script: each codec, plain and in transactions of which some are aborted, into
//! topics where the broker sets the time, at the codec's highest level, and into topics that the cleaner compacts. Then every client
//! reads everything, with and without aborted records. What each prints has to be what the scripts say, record by record.

mod batches;
mod compare;
mod content;
mod run;
mod shown;
mod table;
mod topics;

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};

use super::Proof;
use super::support::wait;
use super::verdict::Verdict;
use crate::kafka::{Cluster, DEFAULT_VERSION, Libs, Options};
use crate::peers::{self, Peer};
use crate::process::Process;
use crate::random::{self, Seeded};
use crate::workspace::{self, cargo};
use compare::{Expected, compare, damage};
use content::Content;
use run::{Reading, Stage};
use table::Table;
use topics::{CODECS, Kind, Topic};

pub(super) const PROOF: Proof = Proof {
    name: "records-interop",
    shows: "Java, librdkafka, franz-go and ackflow read each other's records alike: every codec, plain, transactional, compacted",
    run,
};

const ACKFLOW: &str = "ackflow";
/// The same client, as a member of a share group.
const SHARE: &str = "ackflow-share";
const ISOLATIONS: [&str; 2] = ["read_uncommitted", "read_committed"];
/// How often something of what is expected is changed, each time alone.
const DAMAGED: usize = 200;
/// Differences that are worth printing.
const SHOWN: usize = 20;

/// The levels that a client is tried at, by codec.
const LEVELS: [(&str, &[(&str, i32)]); 4] = [
    ("java", &[("gzip", 9), ("lz4", 17), ("zstd", 22)]),
    ("librdkafka", &[("gzip", 9), ("lz4", 12), ("zstd", 12)]),
    // franz-go counts its lz4 levels in powers of two; this is level 9. 4 is the best of its zstd.
    ("franz-go", &[("gzip", 9), ("lz4", 131_072), ("zstd", 4)]),
    (ACKFLOW, &[("gzip", 9), ("zstd", 22)]),
];

fn run() -> Result<Verdict> {
    let libs = Libs::fetch(DEFAULT_VERSION)?;
    let peers = [peers::java(&libs), peers::librdkafka()?, peers::franz_go()?, ackflow()?];
    let [.., ours] = &peers;
    let seed = random::u64();
    println!("seed {seed}");
    let (now, mut random) = (now_ms()?, Seeded::new(seed));
    let topics = topics(&peers, &mut random, now);

    let folder = tempfile::tempdir()?;
    let cluster = Cluster::start(&Options { fast: true, ..Options::default() })?;
    let stage = Stage { folder: folder.path().to_owned(), bootstrap: cluster.bootstrap() };
    stage.run(ours, "create", &stage.file("topics", topics.iter().map(Topic::to_json))?, &[])?;
    let written = write(&stage, &peers, &topics)?;
    wait_for_the_cleaner(&stage, ours, &topics)?;

    let plan = stage.plan("plan", &topics)?;
    let batches = batches::judge(&stage.run(ours, "batches", &plan, &[])?, &topics)?;
    let mut readings = Vec::new();
    for isolation in ISOLATIONS {
        for peer in &peers {
            readings.push((peer.name, isolation, stage.read(peer, "read", &plan, &[isolation])?));
        }
        let records = topics.iter().map(|topic| topic.log().expected(isolation == "read_committed").len());
        let records = records.sum::<usize>().to_string();
        readings.push((SHARE, isolation, stage.read(ours, "share", &plan, &[isolation, &records])?));
    }

    let mut judge =
        Judge { topics: &topics, expected: BTreeMap::new(), table: Table::default(), differences: batches.differences };
    judge.expect(&readings, written)?;
    judge.compare(&readings);
    let noticed = judge.notice_damage(&readings, &mut random);

    println!("{}", judge.table);
    for difference in judge.differences.iter().take(SHOWN) {
        println!("{difference}");
    }
    let mut verdict = Verdict::default();
    verdict.figure("seed", seed);
    verdict.figure("topics", topics.len());
    verdict.figure("batches", batches.batches);
    verdict.figure("control_batches", batches.control);
    verdict.figure("emptied_batches", batches.empty);
    verdict.figure("delete_horizons", batches.delete_horizon);
    verdict.figure("answers_cut_off", batches.cut_off);
    for (what, count) in [
        ("control batches", batches.control),
        ("batches without records", batches.empty),
        ("delete horizons", batches.delete_horizon),
        ("answers that end within a batch", batches.cut_off),
    ] {
        verdict.require(count > 0, format!("there are {what}"));
    }
    for peer in peers.iter().map(|peer| peer.name).filter(|name| *name != ACKFLOW) {
        for (writer, reader) in [(peer, ACKFLOW), (peer, SHARE), (ACKFLOW, peer)] {
            verdict.figure(&format!("{writer}_to_{reader}"), judge.table.row(writer, reader));
            verdict.require(judge.table.is_full(writer, reader), format!("{reader} reads each codec of {writer}"));
        }
    }
    verdict.figure("equal", judge.table.total());
    verdict.figure("differences", judge.differences.len());
    verdict.figure("damaged_and_noticed", format!("{noticed}/{DAMAGED}"));
    verdict.require(judge.differences.is_empty(), judge.differences.first().cloned().unwrap_or_default());
    verdict.require(noticed == DAMAGED, "each damage to what is expected is noticed");
    Ok(verdict)
}

/// A build of our own program.
fn ackflow() -> Result<Peer> {
    let build = ["build", "-q", "-p", "ackflow-benches", "--bin", "interop"];
    Process::start("the build", cargo().args(build))?.success(Duration::from_secs(1800))?;
    let metadata = workspace::metadata()?;
    let target = metadata["target_directory"].as_str().context("cargo metadata names no target directory")?;
    Ok(Peer::new(ACKFLOW, [PathBuf::from(target).join("debug/interop")]))
}

fn topics(peers: &[Peer], random: &mut Seeded, now: i64) -> Vec<Topic> {
    // A month ago: what is much later for a topic is still in the past.
    let around = now - 30 * 86_400_000;
    let mut content = Content::new(Seeded::new(random.u64()), around);
    let mut topics = Vec::new();
    for peer in peers {
        for codec in CODECS {
            let mut kinds = vec![Kind::Plain, Kind::Transactional, Kind::AppendTime];
            // The broker writes them anew with its own codecs, whoever wrote them first.
            if peer.name == ACKFLOW || peer.name == "java" {
                kinds.extend([Kind::Compacted, Kind::CompactedTransactional]);
            }
            let levels = LEVELS.iter().find(|(name, _)| *name == peer.name).map_or(&[][..], |(_, levels)| levels);
            kinds.extend(levels.iter().filter(|(of, _)| *of == codec).map(|(_, level)| Kind::Level(*level)));
            topics.extend(kinds.into_iter().map(|kind| Topic::new(peer.name, codec, kind, &mut content, around)));
        }
    }
    topics
}

/// Lets everybody write, and says in which time (ms since 1970).
fn write(stage: &Stage, peers: &[Peer], topics: &[Topic]) -> Result<RangeInclusive<i64>> {
    let start = now_ms()?;
    let scripts: [fn(&Topic) -> Vec<_>; 2] = [Topic::script, Topic::later];
    for script in scripts {
        for peer in peers {
            let lines: Vec<_> = topics.iter().filter(|topic| topic.writer == peer.name).flat_map(script).collect();
            if !lines.is_empty() {
                stage.run(peer, "write", &stage.file("script", lines)?, &[])?;
            }
        }
    }
    Ok(start..=now_ms()?)
}

/// Waits until the compacted topics hold what the cleaner leaves in the end.
fn wait_for_the_cleaner(stage: &Stage, ours: &Peer, topics: &[Topic]) -> Result<()> {
    let compacted: Vec<&Topic> = topics.iter().filter(|topic| topic.is_compacted()).collect();
    let plan = stage.plan("compacted", compacted.iter().copied())?;
    wait::until("the cleaner leaves one record a key", Duration::from_secs(90), || {
        let reading = stage.read(ours, "read", &plan, &["read_uncommitted"])?;
        let left = |topic: &&Topic| reading.get(&topic.name).map_or(0, Vec::len);
        Ok(compacted.iter().all(|topic| left(topic) <= topic.log().expected(false).len()))
    })
}

/// Compares readings with what is expected.
struct Judge<'t> {
    topics: &'t [Topic],
    /// By topic and isolation.
    expected: BTreeMap<(&'t str, &'static str), Expected>,
    table: Table,
    differences: Vec<String>,
}

impl<'t> Judge<'t> {
    /// What the scripts say. Where the broker sets the time, it is what Java reads, if that is when everybody wrote.
    fn expect(&mut self, readings: &[(&str, &'static str, Reading)], written: RangeInclusive<i64>) -> Result<()> {
        let (.., java) = readings.first().context("Java reads first")?;
        for topic in self.topics {
            let log = topic.log();
            for isolation in ISOLATIONS {
                let mut expected = log.expected(isolation == "read_committed");
                if topic.kind == Kind::AppendTime {
                    for (place, read) in java.get(&topic.name).into_iter().flatten() {
                        if let Some(record) = expected.get_mut(place).filter(|_| written.contains(&read.timestamp)) {
                            record.timestamp = read.timestamp;
                            record.timestamp_type = "LogAppendTime".to_owned();
                        }
                    }
                }
                self.expected.insert((&topic.name, isolation), expected);
            }
        }
        Ok(())
    }

    fn compare(&mut self, readings: &[(&'static str, &'static str, Reading)]) {
        for (reader, isolation, reading) in readings {
            for topic in self.topics {
                let read = reading.get(&topic.name).cloned().unwrap_or_default();
                let outcome = compare(&self.expected[&(topic.name.as_str(), *isolation)], &read);
                self.table.add(topic.writer, reader, topic.codec, outcome.equal);
                let name = |difference| format!("{reader}, {isolation}: {}-{difference}", topic.name);
                self.differences.extend(outcome.differences.into_iter().map(name));
            }
        }
    }

    /// How many of the damages are noticed, each in what one reader read of one topic.
    fn notice_damage(&self, readings: &[(&str, &'static str, Reading)], random: &mut Seeded) -> usize {
        let mut noticed = 0;
        for _ in 0..DAMAGED {
            let (_, isolation, reading) = &readings[random.below(readings.len())];
            let topic = &self.topics[random.below(self.topics.len())];
            let mut expected = self.expected[&(topic.name.as_str(), *isolation)].clone();
            damage(&mut expected, random);
            let read = reading.get(&topic.name).cloned().unwrap_or_default();
            let good = compare(&self.expected[&(topic.name.as_str(), *isolation)], &read).differences;
            noticed += usize::from(compare(&expected, &read).differences != good);
        }
        noticed
    }
}

fn now_ms() -> Result<i64> {
    Ok(i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH)?.as_millis())?)
}
