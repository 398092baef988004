//! One broker, what the tools are asked on it, and what they said.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::shell::Shell;
use crate::kafka::Tools;
use crate::process::Process;

/// How long a tool may take that consumes or produces.
const LIMIT: Duration = Duration::from_secs(90);

/// One broker, and the transcript of what was said there.
pub(super) struct Stage {
    tools: Tools,
    shell: Shell,
    folder: tempfile::TempDir,
    said: Vec<String>,
}

impl Stage {
    pub(super) fn new(tools: Tools) -> Result<Self> {
        Ok(Self { shell: Shell::start(&tools)?, tools, folder: tempfile::tempdir()?, said: Vec::new() })
    }

    pub(super) fn tools(&self) -> &Tools {
        &self.tools
    }

    /// A file of this name with these lines.
    pub(super) fn file(&self, name: &str, lines: &[String]) -> Result<PathBuf> {
        let path = self.folder.path().join(name);
        fs::write(&path, lines.iter().map(|line| format!("{line}\n")).collect::<String>())?;
        Ok(path)
    }

    /// What was said since this was asked for last, line by line: `$ ` before what was asked.
    pub(super) fn take_said(&mut self) -> Vec<String> {
        std::mem::take(&mut self.said)
    }

    /// Puts a line into the transcript.
    pub(super) fn say(&mut self, line: impl Into<String>) {
        self.said.push(line.into());
    }

    /// Runs a tool to its end, which has to be exit code 0, and puts all that it printed into the transcript.
    pub(super) fn asks(&mut self, class: &str, arguments: &[&str]) -> Result<String> {
        self.told(class, arguments, Some(true))
    }

    /// The same of a tool that has to end with an error.
    pub(super) fn refused(&mut self, class: &str, arguments: &[&str]) -> Result<String> {
        self.told(class, arguments, Some(false))
    }

    /// The same of a tool that says what is wrong, with whatever exit code.
    pub(super) fn tells(&mut self, class: &str, arguments: &[&str]) -> Result<String> {
        self.told(class, arguments, None)
    }

    fn told(&mut self, class: &str, arguments: &[&str], succeeds: Option<bool>) -> Result<String> {
        let (printed, code) = self.short(class, arguments)?;
        self.say(format!("$ {class} {}", arguments.join(" ")));
        let lines = plain(&printed, self.tools.bootstrap());
        self.said.extend(lines);
        self.say(format!("exit code {code}"));
        ensure!(
            succeeds.is_none_or(|succeeds| (code == 0) == succeeds),
            "{class} {} ended with {code}:\n{printed}",
            arguments.join(" ")
        );
        Ok(printed)
    }

    /// Runs a tool to its end, which has to be exit code 0, and puts nothing into the transcript.
    pub(super) fn quietly(&mut self, class: &str, arguments: &[&str]) -> Result<String> {
        let (printed, code) = self.short(class, arguments)?;
        ensure!(code == 0, "{class} {} ended with {code}:\n{printed}", arguments.join(" "));
        Ok(printed)
    }

    fn short(&mut self, class: &str, arguments: &[&str]) -> Result<(String, i32)> {
        let address = self.tools.bootstrap().to_owned();
        self.shell.run(class, &[&["--bootstrap-server", &address], arguments].concat())
    }

    /// Lets a share group begin at the start of its topics; must come before its first member.
    pub(super) fn read_from_the_start(&mut self, group: &str) -> Result<()> {
        let group = ["--entity-type", "groups", "--entity-name", group];
        let add = ["--alter", "--add-config", "share.auto.offset.reset=earliest"];
        self.quietly("ConfigCommand", &[&add[..], &group].concat()).map(drop)
    }

    /// Runs a tool that counts: it has to end with exit code 0, and what it printed is the caller's to judge.
    pub(super) fn counts(&mut self, class: &str, arguments: &[&str]) -> Result<String> {
        self.counts_with(&mut self.command(class, arguments), class, arguments)
    }

    /// The same of a command that was changed.
    pub(super) fn counts_with(&mut self, command: &mut Command, class: &str, arguments: &[&str]) -> Result<String> {
        let (printed, code) = self.run(command, class)?;
        self.say(format!("$ {class} {}", arguments.join(" ")));
        ensure!(code == 0, "{class} {} ended with {code}:\n{printed}", arguments.join(" "));
        Ok(printed)
    }

    /// A tool that is not run to its end, or not as it stands.
    pub(super) fn command(&self, class: &str, arguments: &[&str]) -> Command {
        self.tools.tool(class, arguments)
    }

    /// What was printed, on standard error last, and the exit code.
    fn run(&self, command: &mut Command, name: &str) -> Result<(String, i32)> {
        let errors = self.folder.path().join("stderr");
        let (printed, exit) = Process::finish(name, command.stderr(File::create(&errors)?), LIMIT)?;
        let code = exit.status.code().with_context(|| format!("{name} ended by a signal"))?;
        Ok((printed + &read(&errors)?, code))
    }

    /// The records and markers that a topic holds by its offsets, all partitions together, as GetOffsetShell tells.
    pub(super) fn held(&mut self, topic: &str) -> Result<u64> {
        let printed = self.quietly("GetOffsetShell", &["--topic", topic])?;
        let ends = printed.lines().filter(|line| line.starts_with(topic)).map(|line| {
            let end = line.rsplit(':').next().unwrap_or_default();
            end.parse::<u64>().with_context(|| format!("GetOffsetShell printed `{line}`"))
        });
        ends.sum()
    }

    /// A number that has to be this one, on both brokers.
    pub(super) fn is(&mut self, what: &str, found: u64, expected: u64) -> Result<()> {
        self.say(format!("{what}: {found}"));
        ensure!(found == expected, "{what}: {found} instead of {expected}");
        Ok(())
    }
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}

/// What a tool printed without what differs from run to run: addresses, ids of topics, times, frames of Java's stack. Kafka sets
/// `min.insync.replicas` for the whole cluster where leaders are elected by KIP-966, which the embedded broker has no use for.
fn plain(printed: &str, address: &str) -> Vec<String> {
    let lines = printed.lines().filter(|line| !line.starts_with("\tat ") && !line.trim().is_empty());
    let lines = lines.filter(|line| !line.trim_start().starts_with("min.insync.replicas="));
    lines.map(|line| plain_line(line, address)).collect()
}

fn plain_line(line: &str, address: &str) -> String {
    let line =
        line.replace(address, "BROKER").replace("min.insync.replicas=1,", "").replace("min.insync.replicas=1", "");
    // A line of log4j begins with the time.
    let line = line.split_once(" main ERROR ").map_or(line.as_str(), |(_, said)| said);
    let word = |word: &str| match word {
        _ if is_topic_id(word) => "ID".to_owned(),
        _ if is_time(word) => "TIME".to_owned(),
        _ => word.to_owned(),
    };
    line.split_whitespace().map(word).collect::<Vec<_>>().join(" ")
}

/// 16 bytes in base64.
fn is_topic_id(word: &str) -> bool {
    let is_base64 = word.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'));
    word.len() == 22 && is_base64 && word.bytes().any(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase())
}

/// Milliseconds of this age.
fn is_time(word: &str) -> bool {
    word.len() == 13 && word.starts_with('1') && word.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_from_run_to_run_is_left_out() {
        let printed = "Topic: t\tTopicId: rI-Y7GGoQ82pO-H19Kr7jg\tConfigs: min.insync.replicas=1,a=b\n\
                       2026-12-01T06:26:00.8Z main ERROR java.lang.X\n\tat java.base/Y\n\n\
                       g  127.0.0.1:9092  (1)  1796106467210\n";
        let expected = ["Topic: t TopicId: ID Configs: a=b", "java.lang.X", "g BROKER (1) TIME"];
        assert_eq!(plain(printed, "127.0.0.1:9092"), expected);
    }
}
