//! The cluster, our program, Kafka's tools, and what was asked of them.

use std::collections::BTreeSet;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use crate::kafka::{Cluster, Tools};
use crate::process::Process;
use crate::prove::support::bench::Bench;
use crate::prove::support::wait;

/// What brokers need to learn of a change.
const PATIENCE: Duration = Duration::from_secs(60);

/// The stage.
pub(super) struct Stage {
    bench: Bench,
    cluster: Cluster,
    tools: Tools,
    calls: BTreeSet<String>,
    used: BTreeSet<String>,
    comparisons: usize,
}

impl Stage {
    pub(super) fn new(bench: Bench, cluster: Cluster) -> Self {
        let tools = cluster.tools();
        Self { bench, cluster, tools, calls: BTreeSet::new(), used: BTreeSet::new(), comparisons: 0 }
    }

    /// The calls that were made.
    pub(super) fn calls(&self) -> &BTreeSet<String> {
        &self.calls
    }

    /// How many of Kafka's tools were used.
    pub(super) fn tools_used(&self) -> usize {
        self.used.len()
    }

    /// How often the two sides were compared.
    pub(super) fn comparisons(&self) -> usize {
        self.comparisons
    }

    pub(super) fn cluster(&mut self) -> &mut Cluster {
        &mut self.cluster
    }

    pub(super) fn tools(&self) -> &Tools {
        &self.tools
    }

    /// Makes a call, and gives what it says.
    pub(super) fn ours(&mut self, call: &str, arguments: &[&str]) -> Result<Value> {
        self.calls.insert(call.to_owned());
        let mut command = self.bench.command();
        command.arg(self.tools.bootstrap()).arg(call).args(arguments).stdin(Stdio::null());
        let (output, _) = Process::capture(call, &mut command, PATIENCE * 2)
            .with_context(|| format!("{call} {}", arguments.join(" ")))?;
        serde_json::from_str(&output).with_context(|| format!("`{call}` printed {output}"))
    }

    /// Makes a call that has to say that all went well.
    pub(super) fn done(&mut self, call: &str, arguments: &[&str]) -> Result<()> {
        let said = self.ours(call, arguments)?;
        let is_well = match &said {
            Value::Object(results) => !results.is_empty() && results.values().all(|value| value == true),
            other => other == true,
        };
        ensure!(is_well, "{call} {}: {said}", arguments.join(" "));
        Ok(())
    }

    /// Asks one of Kafka's tools.
    pub(super) fn tool(&mut self, class: &str, arguments: &[&str]) -> Result<String> {
        self.used.insert(class.to_owned());
        self.tools.run(class, arguments).with_context(|| format!("{class} {}", arguments.join(" ")))
    }

    /// Asks one that wants its subcommand first.
    pub(super) fn tool_first(&mut self, class: &str, arguments: &[&str]) -> Result<String> {
        self.used.insert(class.to_owned());
        self.tools.run_subcommand(class, arguments).with_context(|| format!("{class} {}", arguments.join(" ")))
    }

    /// Asks both sides until they say the same, which may take the brokers a moment.
    pub(super) fn same<T: PartialEq + std::fmt::Debug>(
        &mut self,
        what: &str,
        mut ours: impl FnMut(&mut Self) -> Result<T>,
        mut kafkas: impl FnMut(&mut Self) -> Result<T>,
    ) -> Result<T> {
        self.comparisons += 1;
        let mut last = None;
        let mut agreed = None;
        let outcome = wait::until(what, PATIENCE, || {
            let (our, kafka) = (ours(self)?, kafkas(self)?);
            let is_same = our == kafka;
            if is_same {
                agreed = Some(our);
            } else {
                last = Some(format!("ours says {our:?}, Kafka's {kafka:?}"));
            }
            Ok(is_same)
        });
        match (outcome, agreed) {
            (Ok(()), Some(agreed)) => Ok(agreed),
            (Err(error), _) => bail!("{error:#}: {}", last.unwrap_or_default()),
            (Ok(()), None) => bail!("{what}: neither side said anything"),
        }
    }

    /// Asks a tool until it shows all of `words`.
    pub(super) fn shows(&mut self, class: &str, arguments: &[&str], words: &[&str]) -> Result<()> {
        self.until_tool(class, arguments, &words.join(" and "), |text| words.iter().all(|word| text.contains(word)))
    }

    /// Asks a tool until it shows `word` no more.
    pub(super) fn hides(&mut self, class: &str, arguments: &[&str], word: &str) -> Result<()> {
        self.until_tool(class, arguments, &format!("no {word}"), |text| !text.contains(word))
    }

    fn until_tool(&mut self, class: &str, arguments: &[&str], what: &str, is_so: impl Fn(&str) -> bool) -> Result<()> {
        self.comparisons += 1;
        let mut last = String::new();
        let what = format!("{class} {} shows {what}", arguments.join(" "));
        let outcome = wait::until(&what, PATIENCE, || {
            last = self.tool(class, arguments)?;
            Ok(is_so(&last))
        });
        outcome.with_context(|| format!("it printed:\n{last}"))
    }

    /// Asks until a call says what is wanted. That it fails may pass: a group begins with its first member.
    pub(super) fn says(
        &mut self,
        call: &str,
        arguments: &[&str],
        what: &str,
        is_so: impl Fn(&Value) -> bool,
    ) -> Result<Value> {
        self.comparisons += 1;
        let mut last = Value::Null;
        let outcome = wait::until(&format!("{call} says {what}"), PATIENCE, || {
            last = self.ours(call, arguments).unwrap_or_else(|error| format!("{error:#}").into());
            Ok(is_so(&last))
        });
        outcome.with_context(|| format!("it said {last}"))?;
        Ok(last)
    }
}

/// A text in an answer of ours.
pub(super) fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
