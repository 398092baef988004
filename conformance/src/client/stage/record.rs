//! What was said between a situation and its shim, for the report.

use std::cell::RefCell;
use std::time::Instant;

use super::requests::Requests;

/// A line is no longer than this.
const LINE: usize = 800;
/// Of a long conversation the report has the last lines.
const LINES: usize = 40;

/// Steps and events, and what was as expected.
#[derive(Debug)]
pub(crate) struct Told {
    began: Instant,
    lines: RefCell<Vec<String>>,
    held: RefCell<Vec<String>>,
}

/// All of it in words.
#[derive(Debug)]
pub(crate) struct Written {
    pub(crate) sent: String,
    pub(crate) told: String,
    pub(crate) held: String,
}

impl Told {
    pub(super) fn since(began: Instant) -> Self {
        Self { began, lines: RefCell::default(), held: RefCell::default() }
    }

    /// Notes a step to a shim, an event of it, or what else it said.
    pub(super) fn line(&self, who: &str, what: &str) {
        let line = format!("{} ms, {who}: {}", self.began.elapsed().as_millis(), clipped(what));
        self.lines.borrow_mut().push(line);
    }

    /// Notes that something was as expected.
    pub(super) fn held(&self, what: &str) {
        self.held.borrow_mut().push(clipped(what));
    }

    pub(super) fn written(&self, requests: &Requests, began: Instant) -> Written {
        let lines = self.lines.borrow();
        let mut told = String::new();
        if lines.len() > LINES {
            told = format!(".. {} more ..\n", lines.len() - LINES);
        }
        told += &lines[lines.len().saturating_sub(LINES)..].join("\n");
        let sent: Vec<_> = requests.lines(began).iter().map(|line| clipped(line)).collect();
        Written { sent: sent.join("\n"), told, held: self.held.borrow().join("; ") }
    }
}

fn clipped(line: &str) -> String {
    match line.char_indices().nth(LINE) {
        Some((end, _)) => format!("{}.. ({} more bytes)", &line[..end], line.len() - end),
        None => line.to_owned(),
    }
}
