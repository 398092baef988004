//! What is fetched or built once and kept.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::workspace;

/// The folder `name` of the cache. If it is not there, `make` gets an empty folder to work in and says which folder in it becomes the
/// cached one. Several processes may ask at once: one makes it, the others wait. What fails leaves nothing behind that looks complete.
///
/// # Errors
/// Those of `make`, and when the cache cannot be written.
pub fn folder(name: &str, make: impl FnOnce(&Path) -> Result<PathBuf>) -> Result<PathBuf> {
    let cache = workspace::cache();
    let folder = cache.join(name);
    if folder.is_dir() {
        return Ok(folder);
    }
    fs::create_dir_all(&cache).with_context(|| format!("cannot create the cache {}", cache.display()))?;
    let lock_path = cache.join(format!("{name}.lock"));
    let lock = File::create(&lock_path).with_context(|| format!("cannot create {}", lock_path.display()))?;
    lock.lock().with_context(|| format!("cannot lock {}", lock_path.display()))?;
    if !folder.is_dir() {
        let partial = tempfile::Builder::new().prefix("making-").tempdir_in(&cache)?;
        let made = make(partial.path())?;
        fs::rename(&made, &folder)
            .with_context(|| format!("cannot move {} to {}", made.display(), folder.display()))?;
    }
    Ok(folder)
}
