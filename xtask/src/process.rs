//! Child processes that end with the task that started them, by their own ids.

use std::fs;
use std::io;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};

use crate::interrupt;

/// The step in which CPU time is known.
pub const TICK: Duration = Duration::from_millis(10);
/// How often a wait looks.
const POLL: Duration = Duration::from_millis(10);
/// How long a process may take to end after SIGTERM before SIGKILL.
const GRACE: Duration = Duration::from_secs(20);

/// A running child. Dropping it ends it: SIGTERM, and SIGKILL when that does not help.
#[derive(Debug)]
pub struct Process {
    name: String,
    child: Child,
    exit: Option<Exit>,
    /// The most memory that it was seen to have, in bytes.
    peak: u64,
}

/// How a child ended.
#[derive(Clone, Copy, Debug)]
pub struct Exit {
    /// Exit code or signal.
    pub status: ExitStatus,
    /// CPU time of all its threads, user and system, in steps of the kernel's clock tick (10 ms).
    pub cpu: Duration,
    /// The most memory that it had resident, in bytes, as far as it was waited for: seen every 10 ms, the last time before its end.
    pub peak_memory: u64,
}

impl Process {
    /// Starts a command; `name` stands for it in errors.
    ///
    /// # Errors
    /// When the program cannot be run.
    pub fn start(name: impl Into<String>, command: &mut Command) -> Result<Self> {
        let name = name.into();
        interrupt::check()?;
        let child = command.spawn().with_context(|| {
            format!("cannot start {name}: cannot run `{}`", command.get_program().to_string_lossy())
        })?;
        Ok(Self { name, child, exit: None, peak: 0 })
    }

    /// The process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// How it ended, or `None` while it runs.
    ///
    /// # Errors
    /// When the operating system cannot say.
    pub fn poll(&mut self) -> Result<Option<Exit>> {
        if self.exit.is_none() {
            let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
            if waitid(WaitId::Pid(self.pid()), options).with_context(|| self.name.clone())?.is_some() {
                // The process is a zombie until it is waited for, and its times can still be read.
                let cpu = cpu_time(self.id())?;
                self.exit = Some(Exit { status: self.child.wait()?, cpu, peak_memory: self.peak });
            } else if let Some(peak) = peak_memory(self.id()) {
                self.peak = peak;
            }
        }
        Ok(self.exit)
    }

    /// Waits for its end.
    ///
    /// # Errors
    /// When it takes longer than `within`, or when a signal asks the task to end.
    pub fn wait(&mut self, within: Duration) -> Result<Exit> {
        let deadline = Instant::now() + within;
        loop {
            if let Some(exit) = self.poll()? {
                return Ok(exit);
            }
            interrupt::check()?;
            ensure!(Instant::now() < deadline, "{} did not end within {within:?}", self.name);
            thread::sleep(POLL);
        }
    }

    /// Waits for its end and wants exit code 0.
    ///
    /// # Errors
    /// As [`Process::wait`], and when it ended in any other way.
    pub fn success(&mut self, within: Duration) -> Result<Exit> {
        let exit = self.wait(within)?;
        ensure!(exit.status.success(), "{} failed ({})", self.name, exit.status);
        Ok(exit)
    }

    /// Runs a command to its end and returns what it printed, which must be UTF-8, and how it ended.
    ///
    /// # Errors
    /// As [`Process::success`].
    pub fn capture(name: impl Into<String>, command: &mut Command, within: Duration) -> Result<(String, Exit)> {
        let name = name.into();
        let (text, exit) = Self::finish(&name, command, within)?;
        ensure!(exit.status.success(), "{name} failed ({})", exit.status);
        Ok((text, exit))
    }

    /// Runs a command to its end, whatever that is, and returns what it printed, which must be UTF-8, and how it ended.
    ///
    /// # Errors
    /// As [`Process::wait`].
    pub fn finish(name: impl Into<String>, command: &mut Command, within: Duration) -> Result<(String, Exit)> {
        let mut process = Self::start(name, command.stdout(Stdio::piped()))?;
        let output = process.child.stdout.take().context("the output is a pipe")?;
        // On a thread: a process that prints nothing and does not end must meet its limit.
        let reader = thread::spawn(move || io::read_to_string(output));
        let exit = process.wait(within)?;
        let text = reader.join().expect("reading does not panic");
        Ok((text.with_context(|| process.name.clone())?, exit))
    }

    /// Sends a signal.
    ///
    /// # Errors
    /// When it has ended already.
    pub fn signal(&mut self, signal: Signal) -> Result<()> {
        if let Some(exit) = self.poll()? {
            bail!("{} has ended already ({})", self.name, exit.status);
        }
        kill_process(self.pid(), signal).with_context(|| format!("cannot signal {}", self.name))
    }

    /// Ends it at once (SIGKILL).
    ///
    /// # Errors
    /// When it has ended already.
    pub fn kill(&mut self) -> Result<Exit> {
        self.signal(Signal::KILL)?;
        self.wait(GRACE)
    }

    /// Sends SIGTERM without waiting; one that has ended is left alone.
    pub fn ask_to_end(&mut self) {
        // The one error is that it has ended.
        let _ = self.signal(Signal::TERM);
    }

    /// Ends it in good order: SIGTERM, and SIGKILL if it is still there after twenty seconds. Does nothing to a
    /// process that has ended.
    ///
    /// # Errors
    /// When the operating system refuses.
    pub fn stop(&mut self) -> Result<Exit> {
        self.ask_to_end();
        // Not `wait`: an interrupt is what most often brings us here.
        let deadline = Instant::now() + GRACE;
        while Instant::now() < deadline {
            if let Some(exit) = self.poll()? {
                return Ok(exit);
            }
            thread::sleep(POLL);
        }
        eprintln!("{} does not end on SIGTERM; killing it", self.name);
        self.child.kill()?;
        let status = self.child.wait()?;
        Ok(*self.exit.insert(Exit { status, cpu: Duration::ZERO, peak_memory: self.peak }))
    }

    fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if let Err(error) = self.stop() {
            eprintln!("cannot stop {}: {error:#}", self.name);
        }
    }
}

/// Runs a short command to its end and returns what it printed.
///
/// # Errors
/// When it cannot be run or fails, with what it said on standard error.
pub fn output(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| format!("cannot run `{}`", line(command)))?;
    ensure!(
        output.status.success(),
        "`{}` failed ({}):\n{}",
        line(command),
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).with_context(|| format!("`{}` printed no UTF-8", line(command)))
}

/// The command as one would type it, for messages.
pub fn line(command: &Command) -> String {
    let words = [command.get_program()].into_iter().chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

/// User and system time of a process so far, all threads, dead ones too (proc(5), fields 14 and 15 of stat).
///
/// # Errors
/// When there is no such process.
pub fn cpu_time(id: u32) -> Result<Duration> {
    let path = format!("/proc/{id}/stat");
    let stat = fs::read_to_string(&path).with_context(|| format!("cannot read {path}"))?;
    // The second field is the command's name in parentheses and may hold spaces.
    let ticks = stat
        .rsplit_once(')')
        .and_then(|(_, rest)| {
            let mut fields = rest.split_ascii_whitespace().skip(11);
            Some(fields.next()?.parse::<u64>().ok()? + fields.next()?.parse::<u64>().ok()?)
        })
        .with_context(|| format!("{path} has an unknown form"))?;
    Ok(Duration::from_secs(ticks) / u32::try_from(rustix::param::clock_ticks_per_second())?)
}

/// The most memory that a process had resident so far, in bytes (VmHWM of proc(5)); `None` when it has ended.
fn peak_memory(id: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{id}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Process {
        Process::start("sh", Command::new("sh").args(["-c", script])).unwrap()
    }

    #[test]
    fn dropped_process_is_gone() {
        let process = shell("exec sleep 600");
        let id = process.id();
        drop(process);
        assert!(cpu_time(id).is_err());
    }

    #[test]
    fn cpu_time_of_a_child_is_known_after_its_end() {
        let exit = shell("i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done").success(Duration::from_secs(60)).unwrap();
        assert!(exit.cpu >= Duration::from_millis(20), "{exit:?}");
    }

    #[test]
    fn most_memory_of_a_child_is_known_after_its_end() {
        // Some hundred kB for the shell, and 20 MB for what it reads; then it waits for what is never more than a moment.
        let exit = shell("x=$(head -c 20000000 /dev/zero | tr '\\0' x); sleep 0.2; : \"$x\"");
        let exit = { exit }.success(Duration::from_secs(60)).unwrap();
        assert!((20_000_000..200_000_000).contains(&exit.peak_memory), "{exit:?}");
    }

    #[test]
    fn overdue_process_is_an_error() {
        let error = shell("exec sleep 600").wait(Duration::from_millis(20)).unwrap_err();
        assert!(error.to_string().contains("did not end within"), "{error}");
    }

    #[test]
    fn failing_process_is_an_error_with_its_code() {
        let error = shell("exit 3").success(Duration::from_secs(60)).unwrap_err();
        assert!(error.to_string().contains("exit status: 3"), "{error}");
    }
}
