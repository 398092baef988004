//! What a producer knows of its transactions, line by line: it outlives the process.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result};

pub(crate) struct Journal(File);

impl Journal {
    fn open(path: &Path) -> Result<Self> {
        let file = OpenOptions::new().create(true).append(true).open(path);
        Ok(Self(file.with_context(|| format!("opening {}", path.display()))?))
    }

    /// Does this with a journal, which has the error too, if it fails.
    pub(crate) async fn keep(path: &Path, work: impl AsyncFnOnce(&mut Self) -> Result<()>) -> Result<()> {
        let mut journal = Self::open(path)?;
        let result = work(&mut journal).await;
        if let Err(error) = &result {
            journal.note(&format!("error {error:#}"))?;
        }
        result
    }

    /// One write a line, so that a kill tears none.
    pub(crate) fn note(&mut self, line: &str) -> Result<()> {
        Ok(self.0.write_all(format!("{line}\n").as_bytes())?)
    }
}
