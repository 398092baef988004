//! Results on stdout. One that cannot be written is an error of the command: whoever asked did not get it.

use std::fmt::Arguments;
use std::io::Write;

use anyhow::Context;

/// Writes a line to stdout, in one piece.
pub(crate) fn write_line(line: Arguments<'_>) -> anyhow::Result<()> {
    // `println!` panics where stdout is closed or full.
    std::io::stdout().write_all(format!("{line}\n").as_bytes()).context("cannot write to stdout")
}

/// `println!` that gives an error instead of a panic.
macro_rules! say {
    ($($line:tt)*) => { $crate::stdout::write_line(format_args!($($line)*)) };
}
pub(crate) use say;
