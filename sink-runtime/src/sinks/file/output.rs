//! The file: opened, locked, mended and appended to.

use std::{
    fs::{File, OpenOptions, TryLockError},
    io::{self, Read, Seek, SeekFrom, Write},
    path::Path,
    thread,
    time::Duration,
};

use crate::{
    config::ConfigProblem,
    contract::SinkError,
    sinks::{appender::Output, lines::Format},
};

/// A locked file whose last line is whole.
#[derive(Debug)]
pub(super) struct FileOutput {
    pub(super) file: File,
    path: String,
    /// Where the last whole block ends.
    len: u64,
    /// Whether part of a block may lie behind `len`.
    pub(super) torn: bool,
}

impl FileOutput {
    /// Opens or makes the file, locks it, and sees to it that its last line is whole. A record that was begun as JSON is cut off, and comes
    /// again, since it was not accepted. In plain lines nothing tells a part of a record from what somebody else has written: there the line
    /// is ended and kept. Errors name the key `file`.
    pub(super) fn open(path: &Path, format: Format) -> Result<Self, SinkError> {
        let name = path.display().to_string();
        let problem = |problem: String, remedy: &str| {
            SinkError::config(ConfigProblem::new("file", Some(&name), problem, remedy).to_string())
        };
        let io_problem = |error: io::Error| {
            let remedy = "give the path of a file in a directory that exists and that this user may write to";
            problem(format!("cannot be written: {error}"), remedy)
        };
        let file = OpenOptions::new().read(true).append(true).create(true).open(path).map_err(io_problem)?;
        if !file.metadata().map_err(io_problem)?.is_file() {
            let remedy = "give the path of a regular file; for the terminal use connector.class=stdout";
            return Err(problem("is no regular file".to_owned(), remedy));
        }
        lock(&file).map_err(|error| match error {
            TryLockError::WouldBlock => {
                problem("is in use by another writer".to_owned(), "stop that one, or give each its own file")
            }
            TryLockError::Error(error) => io_problem(error),
        })?;
        let Tail { whole, end, torn } = Tail::of(&file).map_err(io_problem)?;
        let len = match format {
            _ if torn.is_empty() => end,
            Format::Plain => {
                tracing::warn!(file = name, bytes = end - whole, "ending the last line, which was not finished");
                (&file).write_all(b"\n").map_err(io_problem)?;
                end + 1
            }
            Format::Json if is_ours(&torn) => {
                tracing::warn!(file = name, bytes = end - whole, "cutting off the last line, which was not finished");
                file.set_len(whole).map_err(io_problem)?;
                whole
            }
            Format::Json => {
                let problem_text = "does not end in a record that was begun here".to_owned();
                return Err(problem(problem_text, "end its last line with a line break, or give another path"));
            }
        };
        file.sync_all().map_err(io_problem)?;
        sync_directory(path).map_err(io_problem)?;
        Ok(Self { file, path: name, len, torn: false })
    }
}

/// Locks the file, with some patience: a writer that was just killed may still be on its way out.
fn lock(file: &File) -> Result<(), TryLockError> {
    const TRIES: u32 = 20;
    for _ in 1..TRIES {
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => thread::sleep(Duration::from_millis(25)),
            decided => return decided,
        }
    }
    file.try_lock()
}

/// The end of a file: where its last whole line ends, and the start of what follows.
struct Tail {
    whole: u64,
    end: u64,
    torn: Vec<u8>,
}

impl Tail {
    fn of(mut file: &File) -> io::Result<Self> {
        const BLOCK: u64 = 64 << 10;
        let end = file.seek(SeekFrom::End(0))?;
        let mut block = Vec::new();
        let mut from = end;
        let whole = loop {
            if from == 0 {
                break 0;
            }
            let to = from;
            from = to.saturating_sub(BLOCK);
            block.clear();
            file.seek(SeekFrom::Start(from))?;
            file.take(to - from).read_to_end(&mut block)?;
            if let Some(at) = block.iter().rposition(|&byte| byte == b'\n') {
                break from + at as u64 + 1;
            }
        };
        file.seek(SeekFrom::Start(whole))?;
        block.clear();
        file.take((end - whole).min(BLOCK)).read_to_end(&mut block)?;
        Ok(Self { whole, end, torn: block })
    }
}

/// Whether `torn` is the start of a record as one line of JSON.
fn is_ours(torn: &[u8]) -> bool {
    const START: &[u8] = b"{\"topic\":";
    torn.iter().zip(START).all(|(found, expected)| found == expected)
}

/// Makes the file's name durable; its bytes are another matter.
fn sync_directory(path: &Path) -> io::Result<()> {
    if !cfg!(unix) {
        return Ok(());
    }
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(directory)?.sync_all()
}

impl Output for FileOutput {
    fn write(&mut self, block: &[u8]) -> io::Result<()> {
        if self.torn {
            self.file.set_len(self.len)?;
            self.torn = false;
        }
        if let Err(error) = self.file.write_all(block) {
            // Where this fails, the next write tries again before it writes.
            self.torn = self.file.set_len(self.len).is_err();
            return Err(error);
        }
        self.len += block.len() as u64;
        Ok(())
    }

    fn commit(&mut self) -> io::Result<()> {
        self.file.sync_data()
    }

    fn name(&self) -> &str {
        &self.path
    }
}
