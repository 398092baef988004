//! One writer for the tasks of a connector: they hand it whole blocks, it writes each in one go and makes all that are waiting durable
//! together. Each task learns when its own block is.

use std::{io, sync::Arc, thread};

use tokio::sync::{mpsc, oneshot};

use super::lines::Format;
use crate::contract::{DynSinkTask, PutOutcome, SinkError, SinkRecords, SinkTask, SinkTaskContext, TaskFactory};

/// Where blocks go. It is used by one thread.
pub(super) trait Output: Send + 'static {
    /// Writes a block. After an error the output is as it was before, if it can be.
    fn write(&mut self, block: &[u8]) -> io::Result<()>;

    /// Returns when everything that was written is durable. After an error nothing is known of what was written since the last time, so
    /// the appender ends.
    fn commit(&mut self) -> io::Result<()>;

    /// What errors call it.
    fn name(&self) -> &str;
}

/// A handle on the writer. The output is closed when the last one is gone.
#[derive(Debug, Clone)]
pub(super) struct Appender {
    blocks: mpsc::Sender<Block>,
    name: Arc<str>,
}

struct Block {
    bytes: Vec<u8>,
    /// Gets the buffer back.
    done: oneshot::Sender<Result<Vec<u8>, SinkError>>,
}

/// How many blocks may wait. A connector has one a task at most.
const WAITING: usize = 64;

impl Appender {
    /// Starts the writer's thread.
    pub(super) fn start(output: impl Output) -> io::Result<Self> {
        let name = Arc::from(output.name());
        let (blocks, receiver) = mpsc::channel(WAITING);
        thread::Builder::new().name("ackflow-appender".to_owned()).spawn(move || run(output, receiver))?;
        Ok(Self { blocks, name })
    }

    /// Appends a block, and gives its buffer back when the block is durable.
    ///
    /// Not cancel-safe: when the future is dropped, the block may be written or not.
    pub(super) async fn append(&self, bytes: Vec<u8>) -> Result<Vec<u8>, SinkError> {
        let (done, result) = oneshot::channel();
        let gone =
            || SinkError::fatal(format!("{} cannot be written any more, because of an earlier error", self.name));
        self.blocks.send(Block { bytes, done }).await.map_err(|_| gone())?;
        result.await.map_err(|_| gone())?
    }
}

fn run(mut output: impl Output, mut blocks: mpsc::Receiver<Block>) {
    let mut written = Vec::new();
    while let Some(first) = blocks.blocking_recv() {
        let waiting = std::iter::from_fn(|| blocks.try_recv().ok());
        for block in std::iter::once(first).chain(waiting).take(WAITING) {
            match output.write(&block.bytes) {
                Ok(()) => written.push(block),
                Err(error) => drop(block.done.send(Err(write_error(output.name(), error)))),
            }
        }
        let committed = if written.is_empty() { Ok(()) } else { output.commit() };
        for block in written.drain(..) {
            // A task that is gone does not wait for the answer.
            let _ = block.done.send(match &committed {
                Ok(()) => Ok(block.bytes),
                Err(error) => Err(SinkError::fatal(format!("{}: cannot be made durable: {error}", output.name()))),
            });
        }
        if committed.is_err() {
            return;
        }
    }
}

/// Room may come back; anything else stays wrong.
fn write_error(name: &str, error: io::Error) -> SinkError {
    let text = format!("{name}: cannot be written: {error}");
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::TimedOut => {
            SinkError::retriable(text)
        }
        _ => SinkError::fatal(text),
    }
}

/// A connector that stands on an appender.
pub(super) struct AppendTasks {
    pub(super) appender: Appender,
    pub(super) format: Format,
}

impl TaskFactory for AppendTasks {
    fn task(&self, _number: u32) -> Box<dyn DynSinkTask> {
        Box::new(AppendTask { appender: self.appender.clone(), format: self.format, buffer: Vec::new() })
    }
}

struct AppendTask {
    appender: Appender,
    format: Format,
    /// Used again for each put.
    buffer: Vec<u8>,
}

/// A buffer that grew beyond this for one large put is not kept.
const KEPT_BUFFER: usize = 8 << 20;

impl SinkTask for AppendTask {
    async fn start(&mut self, _context: &SinkTaskContext) -> Result<(), SinkError> {
        Ok(())
    }

    async fn put(&mut self, records: &SinkRecords) -> Result<PutOutcome, SinkError> {
        if records.is_empty() {
            return Ok(PutOutcome::ok());
        }
        let mut buffer = std::mem::take(&mut self.buffer);
        self.format.write(records, &mut buffer);
        self.buffer = self.appender.append(buffer).await?;
        self.buffer.clear();
        self.buffer.shrink_to(KEPT_BUFFER);
        Ok(PutOutcome::ok())
    }
}

#[cfg(test)]
mod tests;
