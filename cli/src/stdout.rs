//! Results on stdout. One that cannot be written is an error of the command: whoever asked did not get it.

use std::fmt::Arguments;
use std::io::{self, ErrorKind, Write};

use anyhow::Context;

/// Writes lines to stdout, in one piece; when this is over they are out.
pub(crate) fn write(lines: &[u8]) -> anyhow::Result<()> {
    try_write(lines).context("cannot write to stdout")
}

/// The same, for output that somebody looks at: a reader that has gone has what it wanted.
pub(crate) fn write_to_reader(lines: &[u8]) -> anyhow::Result<()> {
    match try_write(lines) {
        Err(error) if reader_is_gone(&error) => Ok(()),
        result => result.context("cannot write to stdout"),
    }
}

fn try_write(lines: &[u8]) -> io::Result<()> {
    // `println!` panics where stdout is closed or full.
    let mut out = io::stdout().lock();
    out.write_all(lines).and_then(|()| out.flush())
}

/// Whether the reader of our output has gone, as `head` does once it has enough.
pub(crate) fn reader_is_gone(error: &io::Error) -> bool {
    error.kind() == ErrorKind::BrokenPipe
}

/// Writes a line to stdout.
pub(crate) fn write_line(line: Arguments<'_>) -> anyhow::Result<()> {
    write(format!("{line}\n").as_bytes())
}

/// `println!` that gives an error instead of a panic.
macro_rules! say {
    ($($line:tt)*) => { $crate::stdout::write_line(format_args!($($line)*)) };
}
pub(crate) use say;
