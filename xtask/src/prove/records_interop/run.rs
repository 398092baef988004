//! Peers at work: files for them, and what they print.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::compare::Read;
use super::shown::Shown;
use super::topics::Topic;
use crate::peers::Peer;
use crate::process::Process;

/// Each takes seconds; a build of nothing is part of none.
const LIMIT: Duration = Duration::from_secs(300);

/// What one reader printed, by topic.
pub(super) type Reading = BTreeMap<String, Read>;

/// Where the files are, and the broker.
pub(super) struct Stage {
    pub(super) folder: PathBuf,
    pub(super) bootstrap: String,
}

impl Stage {
    /// Runs one command of a peer that takes a file; `more` are the arguments after it. Returns what it printed.
    pub(super) fn run(&self, peer: &Peer, command: &str, file: &Path, more: &[&str]) -> Result<String> {
        let mut line = peer.command();
        line.arg(command).arg(&self.bootstrap).arg(file).args(more);
        let what = format!("{} {command} {}", peer.name, more.join(" "));
        let start = Instant::now();
        let (text, _) = Process::capture(&what, &mut line, LIMIT)?;
        println!("{:>6.1} s  {what}", start.elapsed().as_secs_f64());
        Ok(text)
    }

    /// Runs a reading command, and parses what it printed.
    pub(super) fn read(&self, peer: &Peer, command: &str, plan: &Path, more: &[&str]) -> Result<Reading> {
        let mut reading = Reading::new();
        for line in self.run(peer, command, plan, more)?.lines() {
            let (topic, place, shown) =
                Shown::parse(line).with_context(|| format!("{} {command} printed", peer.name))?;
            reading.entry(topic).or_default().push((place, shown));
        }
        Ok(reading)
    }

    /// A file of JSON lines.
    pub(super) fn file(&self, name: &str, lines: impl IntoIterator<Item = Value>) -> Result<PathBuf> {
        let path = self.folder.join(name);
        let text: String = lines.into_iter().map(|line| format!("{line}\n")).collect();
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
        Ok(path)
    }

    /// A plan that names all partitions of some topics.
    pub(super) fn plan<'t>(&self, name: &str, topics: impl IntoIterator<Item = &'t Topic>) -> Result<PathBuf> {
        let partitions = |topic: &Topic| {
            let ends = topic.log().ends.into_iter().enumerate();
            let line = |(partition, end)| json!({"topic": topic.name, "partition": partition, "end": end});
            ends.map(line).collect::<Vec<_>>()
        };
        self.file(name, topics.into_iter().flat_map(partitions))
    }
}
