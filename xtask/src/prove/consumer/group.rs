//! A group that reads a steady flow of records while members come, go, die and sleep, and brokers restart and swap partitions.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use rustix::process::Signal;
use serde_json::json;

use super::journal::Journals;
use crate::interrupt;
use crate::kafka::{Cluster, Options, Tools};
use crate::process::Process;
use crate::prove::support::program::Program;
use crate::prove::support::wait;
use crate::prove::verdict::Verdict;

const TOPIC: &str = "flow";
const GROUP: &str = "travellers";
const PARTITIONS: u32 = 6;
const RECORDS: u64 = 40_000;
const PER_SECOND: u64 = 500;
/// What a member takes in one poll at most, as the program says.
const POLL: u32 = 100;
const PATIENCE: Duration = Duration::from_secs(120);
/// `group.consumer.session.timeout.ms` of these brokers.
const SESSION: Duration = Duration::from_secs(6);

/// One member's process and journal.
struct Member {
    process: Process,
    journal: PathBuf,
}

struct Stage<'a> {
    program: &'a Program,
    bootstrap: String,
    folder: &'a Path,
    journals: Vec<PathBuf>,
}

impl Stage<'_> {
    fn member(&mut self, name: &str) -> Result<Member> {
        let journal = self.folder.join(name);
        let path = journal.to_str().context("the path is not UTF-8")?;
        let mut command = self.program.command(&["member", &self.bootstrap, TOPIC, GROUP, name, path]);
        self.journals.push(journal.clone());
        Ok(Member { process: Process::start(name, &mut command)?, journal })
    }
}

impl Member {
    /// Waits until it was given records, counted from now on.
    fn reads(&self, name: &str) -> Result<()> {
        let count = || fs::read_to_string(&self.journal).unwrap_or_default().matches("record ").count();
        let before = count();
        wait::until(&format!("{name} is given records"), PATIENCE, || Ok(count() > before))
    }

    fn leaves(mut self) -> Result<()> {
        let exit = self.process.stop()?;
        ensure!(exit.status.success(), "a member that was asked to leave ended with {}", exit.status);
        Ok(())
    }
}

pub(super) fn prove(program: &Program, verdict: &mut Verdict) -> Result<()> {
    let session = SESSION.as_millis().to_string();
    let config = [
        ("group.consumer.heartbeat.interval.ms", "1000"),
        ("group.consumer.min.heartbeat.interval.ms", "1000"),
        ("group.consumer.session.timeout.ms", &session),
        ("group.consumer.min.session.timeout.ms", &session),
    ];
    let config = config.map(|(key, value)| (key.to_owned(), value.to_owned())).to_vec();
    let options = Options { brokers: 3, fast: true, heap: "600m".to_owned(), config, ..Options::default() };
    let mut cluster = Cluster::start(&options)?;
    let tools = cluster.tools();
    tools.create_topic(TOPIC, PARTITIONS)?;
    let folder = tempfile::tempdir()?;
    let mut stage = Stage { program, bootstrap: cluster.bootstrap(), folder: folder.path(), journals: Vec::new() };
    let (partitions, records, pace) = (PARTITIONS.to_string(), RECORDS.to_string(), PER_SECOND.to_string());
    let mut trickle = program.command(&["trickle", tools.bootstrap(), TOPIC, &partitions, &records, &pace]);
    let mut producing = Process::start("the flow of records", &mut trickle)?;

    let seen = live(&mut stage, &mut cluster, &tools, folder.path())?;
    producing.success(PATIENCE + Duration::from_secs(RECORDS / PER_SECOND))?;
    let last = stage.member("last")?;
    wait::until("the group has read everything", PATIENCE, || Ok(lag(&tools)? == Some(0)))?;
    last.leaves()?;

    let mut journals = Journals::default();
    stage.journals.iter().try_for_each(|journal| journals.read(journal))?;
    println!("what members were told: {:#?}", journals.errors);
    verdict.figure("records", journals.came.len());
    verdict.figure("missing", journals.missing(RECORDS));
    verdict.figure("repeated", journals.repeated());
    verdict.figure("out_of_place", journals.wrong.len());
    verdict.figure("seen_by_kafkas_tools", &seen);
    verdict.require(journals.missing(RECORDS) == 0, "every record came");
    verdict.require(
        journals.wrong.is_empty(),
        format!("no record twice or out of place in an assignment: {:?}", journals.wrong.first()),
    );
    // One poll of whoever was killed or put to sleep, and of each member whenever a broker took its coordinator away.
    let allowed = POLL * 12;
    verdict.require(journals.repeated() <= allowed, format!("at most {allowed} records came again"));
    verdict.require(seen.starts_with("3/3"), "Kafka's tools see the group as it is");
    Ok(())
}

/// What the group lives through. Gives how many of three looks by Kafka's own tools agreed.
fn live(stage: &mut Stage<'_>, cluster: &mut Cluster, tools: &Tools, folder: &Path) -> Result<String> {
    let mut seen = 0;
    let one = stage.member("one")?;
    one.reads("the first member")?;
    let two = stage.member("two")?;
    two.reads("a second member")?;
    seen += u32::from(sees(tools, &["one", "two"])?);

    println!("a third member joins, and the second leaves");
    let three = stage.member("three")?;
    three.reads("a third member")?;
    two.leaves()?;
    seen += u32::from(sees(tools, &["one", "three"])?);

    println!("one member is killed, and another sleeps until it is fenced");
    let mut three = three;
    three.process.kill()?;
    let four = stage.member("four")?;
    four.reads("a fourth member")?;
    let mut one = one;
    one.process.signal(Signal::STOP)?;
    pause(SESSION + Duration::from_secs(3))?;
    seen += u32::from(sees(tools, &["four"])?);
    one.process.signal(Signal::CONT)?;
    one.reads("the member that was fenced")?;

    println!("partitions move to other brokers");
    reassign(tools, folder)?;
    four.reads("a member after the partitions moved")?;

    for node in 1..=3 {
        println!("broker {node} restarts");
        cluster.restart(node)?;
        one.reads("a member after a restart")?;
    }
    one.leaves()?;
    four.leaves()?;
    Ok(format!("{seen}/3"))
}

/// Whether Kafka's tool comes to list these members, by their client ids, and each with partitions.
fn sees(tools: &Tools, members: &[&str]) -> Result<bool> {
    let mut last = String::new();
    let looked = wait::until("Kafka's tool lists the members", Duration::from_secs(30), || {
        let arguments = ["--describe", "--group", GROUP, "--members"];
        last = tools.run("consumer.group.ConsumerGroupCommand", &arguments)?;
        let mut found: Vec<_> = last.lines().filter_map(client_and_partitions).collect();
        found.sort_unstable();
        let mut expected: Vec<_> = members.to_vec();
        expected.sort_unstable();
        Ok(found.iter().map(|(client, _)| *client).eq(expected) && found.iter().all(|(_, partitions)| *partitions > 0))
    });
    if let Err(error) = &looked {
        println!("{error:#}: {members:?}, but it printed:\n{last}");
    }
    Ok(looked.is_ok())
}

/// Of a line of the table of members: GROUP CONSUMER-ID HOST CLIENT-ID #PARTITIONS.
fn client_and_partitions(line: &str) -> Option<(&str, u32)> {
    let words: Vec<_> = line.split_whitespace().collect();
    match words[..] {
        [GROUP, _, _, client, partitions, ..] => Some((client, partitions.parse().ok()?)),
        _ => None,
    }
}

/// What the group still has to read, as Kafka's tool says; `None` while it does not know.
fn lag(tools: &Tools) -> Result<Option<u64>> {
    let text = tools.run("consumer.group.ConsumerGroupCommand", &["--describe", "--group", GROUP])?;
    let lags = text.lines().filter_map(|line| {
        let words: Vec<_> = line.split_whitespace().collect();
        // GROUP TOPIC PARTITION CURRENT-OFFSET LOG-END-OFFSET LAG
        (words.len() > 5 && words[0] == GROUP && words[1] == TOPIC).then(|| words[5].parse::<u64>().ok())
    });
    let lags: Vec<_> = lags.collect();
    Ok(lags
        .into_iter()
        .try_fold((0, 0), |(count, sum), lag| Some((count + 1, sum + lag?)))
        .and_then(|(count, sum)| (count == PARTITIONS).then_some(sum)))
}

/// Gives each partition to other brokers, with another leader.
fn reassign(tools: &Tools, folder: &Path) -> Result<()> {
    let replicas = [[1, 2, 3], [2, 3, 1], [3, 1, 2]];
    let moved = (0..PARTITIONS).map(
        |partition| json!({"topic": TOPIC, "partition": partition, "replicas": replicas[(partition as usize + 1) % 3]}),
    );
    let plan = folder.join("plan.json");
    fs::write(&plan, json!({"version": 1, "partitions": moved.collect::<Vec<_>>()}).to_string())?;
    let plan = plan.to_str().context("the path is not UTF-8")?;
    tools.run("reassign.ReassignPartitionsCommand", &["--reassignment-json-file", plan, "--execute"])?;
    tools.run("LeaderElectionCommand", &["--election-type", "preferred", "--all-topic-partitions"]).map(drop)
}

fn pause(time: Duration) -> Result<()> {
    thread::sleep(time);
    interrupt::check()
}
