//! Waiting for something outside to come true.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

use crate::interrupt;

/// Asks until the answer is yes.
///
/// # Errors
/// When the question fails, when it takes longer than `within`, or when a signal asks to end.
pub(in crate::prove) fn until(what: &str, within: Duration, mut ask: impl FnMut() -> Result<bool>) -> Result<()> {
    let deadline = Instant::now() + within;
    while !ask()? {
        interrupt::check()?;
        ensure!(Instant::now() < deadline, "not within {within:?}: {what}");
        thread::sleep(Duration::from_millis(10));
    }
    Ok(())
}
