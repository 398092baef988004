//! The process of a client under test.

use std::io;
use std::process::Stdio;
use std::rc::Rc;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::task::{JoinHandle, spawn_local};
use tokio::time::timeout;

use super::client::Mode;
use super::event::{Event, Settled};
use super::record::Told;
use super::{GROUP, PATIENCE, TOPIC};
use crate::stop::{Outcome, Stop};

/// How long a shim may take until it is ready.
const START: Duration = Duration::from_secs(120);
/// How much longer a shim may take for a step than it was told.
const ANSWER: Duration = Duration::from_secs(30);

/// A running shim.
#[derive(Debug)]
pub(super) struct Shim {
    /// Ends the process with it.
    child: Child,
    steps: Option<ChildStdin>,
    events: BufReader<ChildStdout>,
    told: Rc<Told>,
    /// Notes what it says on stderr.
    listener: JoinHandle<()>,
}

impl Shim {
    /// Starts one and waits until it is ready.
    pub(super) async fn start(
        command: &str,
        bootstrap: &str,
        mode: Mode,
        settings: &[(&str, &str)],
        told: Rc<Told>,
    ) -> Outcome<Self> {
        let config: Vec<_> = settings.iter().map(|(key, value)| format!("{key}={value}")).collect();
        let child = Command::new("sh")
            .args(["-c", command])
            .env("ACKFLOW_SHIM_BOOTSTRAP", bootstrap)
            .env("ACKFLOW_SHIM_TOPIC", TOPIC)
            .env("ACKFLOW_SHIM_GROUP", GROUP)
            .env("ACKFLOW_SHIM_MODE", mode.name())
            .env("ACKFLOW_SHIM_CONFIG", config.join("\n"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // What the shell starts ends with it.
            .process_group(0)
            .kill_on_drop(true)
            .spawn();
        let not_started = |error: String| Stop::failed(format!("a shim that starts: sh -c {command:?}"), error);
        let mut child = child.map_err(|error| not_started(error.to_string()))?;
        let (Some(steps), Some(events), Some(errors)) = (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(not_started("it has no stdin, stdout or stderr".to_owned()));
        };
        let listener = spawn_local({
            let told = Rc::clone(&told);
            async move {
                let mut errors = BufReader::new(errors);
                while let Ok(Some(line)) = line_of(&mut errors).await {
                    told.line("stderr", &line);
                }
            }
        });
        let events = BufReader::new(events);
        let mut shim = Self { child, steps: Some(steps), events, told, listener };
        match shim.next(START).await? {
            Event::Ready => Ok(shim),
            Event::Unsupported(what) => Err(Stop::NotOffered(format!("the client does not know the settings: {what}"))),
            other => Err(shim.unexpected("ready", &other)),
        }
    }

    /// Says a step and waits for its answer, for so long and a little longer; what is told of acknowledgements before goes to `settled`.
    pub(super) async fn step(&mut self, step: &str, takes: Duration, settled: &mut Vec<Settled>) -> Outcome<Event> {
        self.told.line("step", step);
        let written = match &mut self.steps {
            Some(steps) => steps.write_all(format!("{step}\n").as_bytes()).await,
            None => Ok(()),
        };
        if let Err(error) = written {
            return Err(Stop::failed(format!("a shim that takes the step {step:?}"), error.to_string()));
        }
        loop {
            match self.next(takes + ANSWER).await? {
                Event::Settled(one) => settled.push(one),
                Event::Unsupported(what) => {
                    return Err(Stop::NotOffered(format!("the client has no {step:?}: {what}")));
                }
                event => return Ok(event),
            }
        }
    }

    async fn next(&mut self, within: Duration) -> Outcome<Event> {
        let line = match timeout(within, line_of(&mut self.events)).await {
            Err(_) => {
                let got = format!("nothing within {} s: the client hangs", within.as_secs());
                return Err(Stop::failed("an event of the shim", got));
            }
            Ok(Err(error)) => return Err(Stop::failed("an event of the shim", error.to_string())),
            Ok(Ok(None)) => {
                let status = timeout(ANSWER, self.child.wait()).await;
                // What it said last comes a moment later.
                let _ = timeout(PATIENCE, &mut self.listener).await;
                let status = match status {
                    Ok(Ok(status)) => status.to_string(),
                    Ok(Err(error)) => error.to_string(),
                    Err(_) => "still running".to_owned(),
                };
                return Err(Stop::failed("an event of the shim", format!("its stdout ended; the process: {status}")));
            }
            Ok(Ok(Some(line))) => line,
        };
        self.told.line("event", &line);
        Event::read(&line).map_err(|error| Stop::failed("an event of the shim", error))
    }

    pub(super) fn unexpected(&self, wanted: &str, got: &Event) -> Stop {
        Stop::failed(format!("the event {wanted:?}"), format!("{got:?}"))
    }

    /// Ends its stdin and waits for its end. A shim that does not end is killed.
    pub(super) async fn end(&mut self) -> Outcome {
        self.steps = None;
        match timeout(ANSWER, self.child.wait()).await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(error)) => Err(Stop::failed("a shim that ends", error.to_string())),
            Err(_) => Err(Stop::failed("a shim that ends when it is closed", "it still runs")),
        }
    }
}

impl Drop for Shim {
    fn drop(&mut self) {
        self.listener.abort();
        // A process that has ended and been waited for has no id any more.
        let id = self.child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        if let Some(group) = id {
            // Its processes may have ended by themselves.
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

/// A line is no longer than this: the rest of one that is counts as the next.
const LINE: u64 = 1 << 20;

/// The next line, whatever its bytes are; `None` at the end.
async fn line_of(source: &mut (impl AsyncBufRead + Unpin)) -> io::Result<Option<String>> {
    let mut line = Vec::new();
    if source.take(LINE).read_until(b'\n', &mut line).await? == 0 {
        return Ok(None);
    }
    Ok(Some(String::from_utf8_lossy(&line).trim_end_matches(['\n', '\r']).to_owned()))
}
