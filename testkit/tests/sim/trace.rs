//! What happened in a run, to be read and to be compared.

use std::fmt::{self, Write};
use std::time::Duration;

/// Lines of a run, where anybody wants them, and their hash.
#[derive(Debug, Default)]
pub(crate) struct Trace {
    lines: Option<String>,
    print: bool,
    hash: u64,
}

impl Trace {
    /// Keeps lines and their hash; prints them as they come as well, if `print`.
    pub(crate) fn kept(print: bool) -> Self {
        Self { lines: Some(String::new()), print, hash: 0xcbf2_9ce4_8422_2325 }
    }

    pub(crate) fn is_on(&self) -> bool {
        self.lines.is_some()
    }

    pub(crate) fn line(&mut self, at: Duration, line: fmt::Arguments<'_>) {
        let Some(lines) = &mut self.lines else { return };
        let begin = lines.len();
        writeln!(lines, "{:>12.6} {line}", at.as_secs_f64()).expect("text can be written to a string");
        for byte in lines[begin..].bytes() {
            self.hash = (self.hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        if self.print {
            print!("{}", &lines[begin..]);
        }
    }

    pub(crate) fn hash(&self) -> u64 {
        self.hash
    }

    /// The last lines.
    pub(crate) fn tail(&self, lines: usize) -> String {
        let text = self.lines.as_deref().unwrap_or_default();
        let all: Vec<&str> = text.lines().collect();
        all[all.len().saturating_sub(lines)..].join("\n")
    }
}
