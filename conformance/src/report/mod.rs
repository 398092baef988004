//! What came of the cases of a broker, or of the situations of a client.

mod json;
mod junit;
mod text;

use std::time::Duration;

use crate::broker::BrokerInfo;

/// Who was asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    /// A broker.
    Broker(BrokerInfo),
    /// A client.
    Client {
        /// The command that starts its shim.
        command: String,
    },
}

/// What came of all cases.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// Who was asked.
    pub subject: Subject,
    /// The cases or situations, in the order of their groups.
    pub cases: Vec<CaseReport>,
    /// Where the broker has gone before the end: the cases that were under way, one of which may have ended it. The others were not played.
    pub gone: Option<Vec<String>>,
    /// How long all of it took.
    pub took: Duration,
}

/// What came of one case or situation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CaseReport {
    /// The case.
    pub name: String,
    /// The name of what it is about.
    pub group: &'static str,
    /// How it ended.
    pub verdict: Verdict,
    /// What a broker or client has to do.
    pub rule: &'static str,
    /// Where that is written.
    pub source: &'static str,
    /// Where Kafka itself departs from that, or what else has to be known.
    pub note: Option<&'static str>,
    /// The requests, numbered, a line each: API, version, and Kafka's JSON of it. What made topics, groups, members and records beforehand is not there.
    /// Of a client under test they are what it sent, each with its time and broker.
    pub sent: String,
    /// What of the answers had to be as it was; of a case that failed, what was not.
    pub expected: String,
    /// The answers by the numbers of their requests, or what a client told; of a case that failed, what was wrong before them; of one that is not offered,
    /// what is missing.
    pub got: String,
    /// How long it took.
    pub took: Duration,
}

/// How a case ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verdict {
    /// The broker or client keeps the rule.
    Passed,
    /// It does not.
    Failed,
    /// It does not claim what the rule is about.
    NotOffered,
}

impl Verdict {
    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::NotOffered => "not-offered",
        }
    }
}

/// How a report is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// For people: what failed, in full, and the numbers.
    Text,
    /// One document of JSON.
    Json,
    /// XML as JUnit writes it, which most services for builds read.
    Junit,
}

impl Report {
    /// The report as a document.
    pub fn to_text(&self, format: Format) -> String {
        match format {
            Format::Text => text::report(self),
            Format::Json => json::report(self),
            Format::Junit => junit::report(self),
        }
    }

    /// How many cases ended so.
    pub fn count(&self, verdict: Verdict) -> usize {
        self.cases.iter().filter(|case| case.verdict == verdict).count()
    }
}

impl CaseReport {
    /// One line for people, to be shown as soon as it is known; of a case that failed all that the author of a broker or client needs.
    pub fn to_line(&self) -> String {
        text::case(self)
    }
}
