//! `ackflow broker` as a process of its own.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use rustix::process::{Pid, Signal, kill_process};

use super::ackflow::Ackflow;

/// An embedded broker that has told its address. Dropped, it is killed.
pub(in crate::prove) struct Embedded {
    broker: Child,
    address: String,
    ready_after: Duration,
}

impl Embedded {
    /// Starts one on a free port, with these further arguments, and waits for its first line.
    ///
    /// # Errors
    /// When it ends before it prints an address.
    pub(in crate::prove) fn start(ackflow: &Ackflow, arguments: &[&str]) -> Result<Self> {
        Self::start_program(ackflow.command(&[&["broker", "--listen", "127.0.0.1:0"], arguments].concat()))
    }

    /// The same, with the short waits of `cargo xtask kafka --fast`.
    ///
    /// # Errors
    /// As [`start`](Self::start).
    pub(in crate::prove) fn start_fast(ackflow: &Ackflow, arguments: &[&str]) -> Result<Self> {
        Self::start(ackflow, &[&["--fast"], arguments].concat())
    }

    /// Starts a program that is a broker, and waits for its first line, which has to be its address.
    ///
    /// # Errors
    /// When it ends before it prints an address.
    pub(in crate::prove) fn start_program(mut command: Command) -> Result<Self> {
        let began = Instant::now();
        let mut broker = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().context("starting the broker")?;
        let mut address = String::new();
        let output = broker.stdout.as_mut().context("its output is piped")?;
        BufReader::new(output).read_line(&mut address)?;
        let ready_after = began.elapsed();
        let address = address.trim().to_owned();
        let embedded = Self { broker, address, ready_after };
        ensure!(!embedded.address.is_empty(), "the embedded broker has ended before it said where it listens");
        Ok(embedded)
    }

    /// Where it listens.
    pub(in crate::prove) fn address(&self) -> &str {
        &self.address
    }

    /// From the start of its process until it could be connected to.
    pub(in crate::prove) fn ready_after(&self) -> Duration {
        self.ready_after
    }

    /// Asks it to end, and gives whether it did so in good order.
    pub(in crate::prove) fn stop(mut self) -> Result<bool> {
        let id = i32::try_from(self.broker.id()).ok().and_then(Pid::from_raw).context("a process has an id")?;
        kill_process(id, Signal::TERM)?;
        Ok(self.broker.wait()?.success())
    }
}

impl Drop for Embedded {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.broker.kill();
        let _ = self.broker.wait();
    }
}
