//! What a case has said and heard, for its report.

use std::collections::VecDeque;
use std::fmt::Write;
use std::sync::{Mutex, PoisonError};

/// A line is no longer than this: a report shows what was said, not all records of a fetch.
const LINE: usize = 1200;
/// Of a long conversation the report has so many requests of its beginning, and as many of its end.
const LINES: usize = 12;

/// What a case has said and heard.
#[derive(Debug, Default)]
pub(crate) struct Record(Mutex<Inner>);

#[derive(Debug, Default)]
struct Inner {
    requests: usize,
    sent: VecDeque<String>,
    got: VecDeque<String>,
    held: Vec<String>,
}

/// Names a request of the conversation: its answer has the same number.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Number(usize);

impl Record {
    fn inner(&self) -> std::sync::MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes a request.
    pub(crate) fn sent(&self, what: String) -> Number {
        let mut inner = self.inner();
        inner.requests += 1;
        let number = inner.requests;
        keep(&mut inner.sent, format!("{number}: {what}"));
        Number(number)
    }

    /// Notes an answer.
    pub(crate) fn got(&self, Number(number): Number, what: &str) {
        keep(&mut self.inner().got, format!("{number}: {what}"));
    }

    /// Notes that something was as expected.
    pub(crate) fn held(&self, what: String) {
        self.inner().held.push(clipped(what));
    }

    /// The requests, the answers, and what was as expected.
    pub(crate) fn take(&self) -> (String, String, String) {
        let inner = std::mem::take(&mut *self.inner());
        (lines(inner.sent), lines(inner.got), inner.held.join("; "))
    }
}

/// Keeps a line, and lets one of the middle go where there are too many.
fn keep(lines: &mut VecDeque<String>, line: String) {
    if lines.len() == 2 * LINES {
        lines.remove(LINES);
    }
    lines.push_back(clipped(line));
}

/// The numbers say what is missing.
fn lines(lines: VecDeque<String>) -> String {
    Vec::from(lines).join("\n")
}

fn clipped(mut line: String) -> String {
    if line.len() > LINE {
        let end = (0..=LINE).rev().find(|end| line.is_char_boundary(*end)).unwrap_or_default();
        let left = line.len() - end;
        line.truncate(end);
        let _ = write!(line, ".. ({left} more bytes)");
    }
    line
}
