//! Messages on stderr. One that cannot be written is lost: it changes neither what a command does nor its exit code.

use std::fmt::Arguments;
use std::io::Write;

/// Writes a line to stderr, in one piece.
pub(crate) fn write_line(line: Arguments<'_>) {
    // `eprintln!` panics where stderr is closed or full, and nobody is left to hear of either.
    let _ = std::io::stderr().write_all(format!("{line}\n").as_bytes());
}

/// `eprintln!` that never panics.
macro_rules! tell {
    ($($line:tt)*) => { $crate::stderr::write_line(format_args!($($line)*)) };
}
pub(crate) use tell;
