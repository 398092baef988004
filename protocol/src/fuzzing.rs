//! Bodies of fuzz targets, for a fuzzer to feed with bytes (feature `fuzzing`).
//!
//! Each function takes any bytes and promises the same, unless its own documentation says more:
//!
//! - It returns. It panics only where this crate is wrong, so that a fuzzer sees each broken promise as a crash.
//! - It holds at most [`MEMORY`] bytes beyond its input at a time. Bytes after the first [`LONGEST_INPUT`] are not
//!   looked at.
//! - It depends on nothing but its input, so each crash can be played again.
//!
//! `fuzz/` has them as targets of cargo-fuzz; `fuzz-replay/` plays seeds, mutations of seeds and past crashes.

mod acquisition;
mod broker;
mod consumer;
mod frames;
mod group;
mod messages;
mod metadata;
mod records;
mod session;
mod share_consumer;
mod text;

pub use crate::valid::Input;
use std::time::Duration;

use crate::machine::RequestFailure;

pub use acquisition::acquisition;
pub use consumer::consumer;
pub use frames::{frame_seed, frames};
pub use group::group;
pub use messages::{Form, Selected, message_seed, messages};
pub use metadata::metadata;
pub use records::{BatchForm, record_seed, records};
pub use session::session;
pub use share_consumer::share_consumer;
pub use text::text;

/// The bytes of an input that are looked at.
pub const LONGEST_INPUT: usize = 32 << 10;

/// What a target may hold beyond its input at a time, in bytes.
pub const MEMORY: usize = 16 << 20;

/// Operations of one input that are looked at.
pub const OPERATIONS: usize = 400;

/// More outputs than this without a wait, and a machine runs in circles.
pub const OUTPUTS: usize = 20_000;

/// The part of an input that is looked at.
fn bounded(data: &[u8]) -> &[u8] {
    &data[..data.len().min(LONGEST_INPUT)]
}

/// Why a request has no answer.
fn failure(input: &mut Input<'_>) -> RequestFailure {
    input.pick(&[
        RequestFailure::Disconnected,
        RequestFailure::TimedOut,
        RequestFailure::Unreachable,
        RequestFailure::UnsupportedVersion(Some(1)),
        RequestFailure::Malformed,
    ])
}

/// Some time, from no time to speak of to longer than any lock, session or age of metadata.
fn pause(input: &mut Input<'_>) -> Duration {
    Duration::from_millis(input.pick(&[1, 20, 100, 1_000, 10_000, 31_000, 400_000]))
}
