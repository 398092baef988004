//! Bodies of fuzz targets, for a fuzzer to feed with bytes (feature `fuzzing`).
//!
//! Each function takes any bytes and promises the same, unless its own documentation says more:
//!
//! - It returns. It panics only where this crate is wrong, so that a fuzzer sees each broken promise as a crash.
//! - It holds at most [`MEMORY`] bytes beyond its input at a time. Bytes after the first [`LONGEST_INPUT`] are not
//!   looked at.
//! - It depends on nothing but its input, so each crash can be played again.
//!
//! `fuzz/` has them as targets of cargo-fuzz; `tests/fuzz_replay` plays seeds, mutations of seeds and past crashes.

mod frames;
mod messages;
mod records;
mod share_consumer;
mod text;

pub use crate::valid::Input;
pub use frames::{frame_seed, frames};
pub use messages::{Form, Selected, message_seed, messages};
pub use records::{BatchForm, record_seed, records};
pub use share_consumer::share_consumer;
pub use text::text;

/// The bytes of an input that are looked at.
pub const LONGEST_INPUT: usize = 32 << 10;

/// What a target may hold beyond its input at a time, in bytes.
pub const MEMORY: usize = 16 << 20;

/// The part of an input that is looked at.
fn bounded(data: &[u8]) -> &[u8] {
    &data[..data.len().min(LONGEST_INPUT)]
}
