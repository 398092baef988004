//! The worker against the embedded broker.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod file_sink;
mod outcomes;
mod refusals;
mod stopping;
mod support;
