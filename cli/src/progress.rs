//! Progress of long work: one line on a terminal, rewritten in place; nothing in a pipe or a log.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

const EVERY: Duration = Duration::from_millis(200);

/// `1 record`, `2 records`.
pub(crate) fn counted(count: u64, what: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {what}{plural}")
}

/// A line on stderr that says how far the work is.
pub(crate) struct Progress {
    what: &'static str,
    total: u64,
    terminal: bool,
    shown: Option<Instant>,
}

impl Progress {
    /// `total` 0 means unknown.
    pub(crate) fn new(what: &'static str, total: u64) -> Self {
        Self { what, total, terminal: std::io::stderr().is_terminal(), shown: None }
    }

    /// Shows `done`, at most five times a second.
    pub(crate) fn at(&mut self, done: u64) {
        let now = Instant::now();
        if !self.terminal || self.shown.is_some_and(|shown| now - shown < EVERY) {
            return;
        }
        self.shown = Some(now);
        let mut stderr = std::io::stderr().lock();
        // A terminal that is gone is no reason to fail.
        let _ = match self.total {
            0 => write!(stderr, "\r\x1b[K{}: {done}", self.what),
            total => write!(stderr, "\r\x1b[K{}: {done} of {total} ({} %)", self.what, done * 100 / total),
        };
        let _ = stderr.flush();
    }

    /// Takes the line away, so that something else can be written there.
    pub(crate) fn clear(&mut self) {
        if self.shown.take().is_some() {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.clear();
    }
}
