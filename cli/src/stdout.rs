//! Results on stdout. One that cannot be written is an error of the command: whoever asked did not get it.

use std::fmt::Arguments;
use std::io::Write;

use anyhow::Context;

/// Writes lines to stdout, in one piece; when this is over they are out.
pub(crate) fn write(lines: &[u8]) -> anyhow::Result<()> {
    // `println!` panics where stdout is closed or full.
    let mut out = std::io::stdout().lock();
    out.write_all(lines).and_then(|()| out.flush()).context("cannot write to stdout")
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
