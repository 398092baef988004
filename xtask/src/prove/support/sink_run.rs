//! `ackflow run` with one file-sink connector.

use std::fs::{self, File};
use std::io::{ErrorKind, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::json;

use super::ackflow::Ackflow;
use super::wait;
use crate::process::{Exit, Process};

/// A worker with a file sink, which may be started, killed and started again.
pub(in crate::prove) struct SinkRun {
    ackflow: Ackflow,
    folder: PathBuf,
    process: Option<Process>,
    counted: Counted,
}

/// How much of the output has been counted, up to the end of its last whole line.
#[derive(Default)]
struct Counted {
    bytes: u64,
    lines: u64,
}

impl SinkRun {
    /// Writes the configuration of connector `name` into `folder`; its share group is `connect-<name>`.
    ///
    /// # Errors
    /// When the folder cannot be written.
    pub(in crate::prove) fn new(
        ackflow: &Ackflow,
        folder: PathBuf,
        bootstrap: &str,
        name: &str,
        topic: &str,
        tasks: u32,
    ) -> Result<Self> {
        fs::create_dir_all(&folder)?;
        fs::write(
            folder.join("worker.properties"),
            format!(
                "bootstrap.servers={bootstrap}\n\
                 key.converter=org.apache.kafka.connect.storage.StringConverter\n\
                 value.converter=org.apache.kafka.connect.storage.StringConverter\n\
                 listeners=http://127.0.0.1:0\n"
            ),
        )?;
        let connector = json!({
            "name": name,
            "config": {
                "connector.class": "file",
                "topics": topic,
                "tasks.max": tasks.to_string(),
                "file": folder.join("out.jsonl"),
                "consumer.override.group.protocol": "share",
            },
        });
        fs::write(folder.join("connector.json"), connector.to_string())?;
        Ok(Self { ackflow: ackflow.clone(), folder, process: None, counted: Counted::default() })
    }

    /// Starts the worker.
    ///
    /// # Errors
    /// When it cannot be run.
    pub(in crate::prove) fn start(&mut self) -> Result<()> {
        let log = File::options().create(true).append(true).open(self.log())?;
        let mut run = self.ackflow.command(&["run", "worker.properties", "connector.json"]);
        run.current_dir(&self.folder).stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        self.process = Some(Process::start("ackflow run", &mut run)?);
        Ok(())
    }

    /// The sink's file.
    pub(in crate::prove) fn output(&self) -> PathBuf {
        self.folder.join("out.jsonl")
    }

    /// Whole lines in the file when it was last looked at.
    pub(in crate::prove) fn counted(&self) -> u64 {
        self.counted.lines
    }

    /// Whole lines in the file now.
    ///
    /// # Errors
    /// When the worker has ended, or the file cannot be read.
    pub(in crate::prove) fn lines(&mut self) -> Result<u64> {
        if let Some(exit) = self.running()?.poll()? {
            bail!("ackflow run ended ({}):\n{}", exit.status, self.log_tail());
        }
        let output = self.output();
        self.counted.update(&output)?;
        Ok(self.counted.lines)
    }

    /// Waits until the file has at least so many lines.
    ///
    /// # Errors
    /// When it does not come to that, with the worker's last words.
    pub(in crate::prove) fn wait_for_lines(&mut self, lines: u64, within: Duration) -> Result<()> {
        let what = format!("{lines} lines in {}", self.output().display());
        let waited = wait::until(&what, within, || Ok(self.lines()? >= lines));
        waited.with_context(|| format!("{} lines so far; the worker said:\n{}", self.counted.lines, self.log_tail()))
    }

    /// Ends the worker in good order and wants exit code 0.
    ///
    /// # Errors
    /// When it ends in another way.
    pub(in crate::prove) fn stop(&mut self) -> Result<Exit> {
        let exit = self.running()?.stop()?;
        if !exit.status.success() {
            bail!("ackflow run ended ({}) after SIGTERM:\n{}", exit.status, self.log_tail());
        }
        Ok(exit)
    }

    /// Ends the worker at once (SIGKILL).
    ///
    /// # Errors
    /// When it has ended before.
    pub(in crate::prove) fn kill(&mut self) -> Result<()> {
        self.running()?.kill()?;
        let output = self.output();
        self.counted.update(&output)
    }

    fn running(&mut self) -> Result<&mut Process> {
        self.process.as_mut().context("the worker was not started")
    }

    fn log(&self) -> PathBuf {
        self.folder.join("worker.log")
    }

    fn log_tail(&self) -> String {
        let log = fs::read_to_string(self.log()).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(20)..].join("\n")
    }
}

impl Counted {
    /// Counts what came since the last time.
    fn update(&mut self, path: &Path) -> Result<()> {
        let mut file = match File::open(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            file => file.with_context(|| format!("cannot read {}", path.display()))?,
        };
        let mut buffer = vec![0; 1 << 20];
        loop {
            file.seek(SeekFrom::Start(self.bytes))?;
            let read = file.read(&mut buffer)?;
            // Whole lines only: after a SIGKILL the next start cuts a torn last one off.
            let Some(last) = buffer[..read].iter().rposition(|byte| *byte == b'\n') else { return Ok(()) };
            self.bytes += last as u64 + 1;
            self.lines += buffer[..=last].iter().filter(|byte| **byte == b'\n').count() as u64;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn torn_line_counts_when_it_is_whole() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("out");
        let mut counted = Counted::default();
        counted.update(&file).unwrap();
        for (text, lines) in [("a\nb\nto", 2), ("a\nb\n", 2), ("a\nb\nc\nd\n", 4)] {
            fs::write(&file, text).unwrap();
            counted.update(&file).unwrap();
            assert_eq!(counted.lines, lines);
        }
    }
}
