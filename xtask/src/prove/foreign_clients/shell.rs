//! A JVM that runs Kafka's short tools one after the other (testdata/interop/Tools.java).

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use crate::kafka::Tools;
use crate::workspace;

/// How long a tool may take: one that waits for a topic which is not there gives up after a minute.
const LIMIT: Duration = Duration::from_secs(90);

/// A running JVM. Dropped, it is killed.
pub(super) struct Shell {
    java: Child,
    asked: ChildStdin,
    answers: Receiver<(i32, String)>,
}

impl Shell {
    pub(super) fn start(tools: &Tools) -> Result<Self> {
        let mut command = tools.java();
        command.arg(workspace::root().join("testdata/interop/Tools.java"));
        let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        let mut java = piped.spawn().context("cannot run `java`: Java 17 is needed for Kafka's tools")?;
        let asked = java.stdin.take().context("its input is piped")?;
        let mut output = BufReader::new(java.stdout.take().context("its output is piped")?);
        let (send, answers) = channel();
        thread::spawn(move || {
            while let Some(answer) = answer(&mut output) {
                if send.send(answer).is_err() {
                    break;
                }
            }
        });
        Ok(Self { java, asked, answers })
    }

    /// Runs a tool, and gives what it printed and its exit code.
    pub(super) fn run(&mut self, class: &str, arguments: &[&str]) -> Result<(String, i32)> {
        let words = [&[class], arguments].concat();
        ensure!(words.iter().all(|word| !word.contains(['\t', '\n'])), "{words:?} cannot be said on one line");
        writeln!(self.asked, "{}", words.join("\t"))?;
        let answer = self.answers.recv_timeout(LIMIT);
        let (code, printed) = answer.with_context(|| format!("`{}` did not end within {LIMIT:?}", words.join(" ")))?;
        Ok((printed, code))
    }
}

/// The next answer: a line with exit code and length, and then so many bytes.
fn answer(output: &mut impl BufRead) -> Option<(i32, String)> {
    let mut line = String::new();
    output.read_line(&mut line).ok()?;
    let (code, length) = line.trim().split_once(' ')?;
    let mut printed = Vec::new();
    output.take(length.parse().ok()?).read_to_end(&mut printed).ok()?;
    Some((code.parse().ok()?, String::from_utf8_lossy(&printed).into_owned()))
}

impl Drop for Shell {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.java.kill();
        let _ = self.java.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_follow_each_other() {
        let mut output = &b"0 3\na\nb1 0\n"[..];
        assert_eq!(answer(&mut output), Some((0, "a\nb".to_owned())));
        assert_eq!(answer(&mut output), Some((1, String::new())));
        assert_eq!(answer(&mut output), None);
    }
}
