//! CPU time and memory of this process.

use std::fs;
use std::time::Duration;

use anyhow::{Context, Result};
use rustix::time::{ClockId, clock_gettime};

/// CPU time so far, all threads, user and system.
pub(crate) fn cpu() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// The most memory that was resident so far, in bytes.
///
/// # Errors
/// Where the system does not tell (Linux does).
pub(crate) fn peak_memory() -> Result<u64> {
    let status = fs::read_to_string("/proc/self/status").context("cannot read /proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).context("there is no VmHWM")?;
    let kilobytes: u64 = line.trim().strip_suffix("kB").context("VmHWM is in kB")?.trim().parse()?;
    Ok(kilobytes * 1024)
}
