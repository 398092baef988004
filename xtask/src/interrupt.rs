//! SIGINT and SIGTERM end a task as an error would: every wait looks here, and the guards of what was started clean up.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};

use anyhow::{Result, ensure};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

static REQUESTED: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);

/// Takes the signals from now on.
///
/// # Errors
/// When the operating system refuses the handler.
pub fn listen() -> Result<()> {
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register(signal, Arc::clone(&REQUESTED))?;
    }
    Ok(())
}

/// True once a signal has come.
pub fn requested() -> bool {
    REQUESTED.load(Ordering::Relaxed)
}

/// Fails once a signal has come.
///
/// # Errors
/// Only that one.
pub fn check() -> Result<()> {
    ensure!(!requested(), "interrupted");
    Ok(())
}
