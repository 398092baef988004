//! Files that are read whole, within bounds: one that is named by mistake may be a disk, a device or a log.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::Path;

/// The longest file of settings that is read, in bytes. Those with certificates in them have some hundred thousand.
pub const LONGEST_SETTINGS: u64 = 16 << 20;

/// Reads a file of UTF-8. A byte order mark before it, which editors of Windows write, is left out.
///
/// # Errors
/// Where it cannot be read, is longer than `limit` bytes, or holds something else than text.
pub fn read_text(path: &Path, limit: u64) -> io::Result<String> {
    let invalid = |what| io::Error::new(ErrorKind::InvalidData, what);
    let text = String::from_utf8(read_bytes(path, limit)?).map_err(|_| invalid("it is not UTF-8; save it as UTF-8"))?;
    Ok(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text))
}

/// Reads a file.
///
/// # Errors
/// Where it cannot be read, or is longer than `limit` bytes.
pub(crate) fn read_bytes(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > limit {
        true => Err(io::Error::new(
            ErrorKind::FileTooLarge,
            format!("it is longer than {limit} bytes; name the right file"),
        )),
        false => Ok(bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Mutation: client/src/config/file.rs
    // - match bytes.len() as u64 > limit {
    // + match false {
    #[test]
    fn a_file_is_read_up_to_its_limit_and_refused_beyond_it() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "\u{feff}abc").unwrap();
        assert_eq!(read_text(file.path(), 6).unwrap(), "abc");
        assert_eq!(read_bytes(file.path(), 6).unwrap(), "\u{feff}abc".as_bytes());
        assert!(read_text(file.path(), 5).unwrap_err().to_string().contains("longer than 5 bytes"));
        std::fs::write(file.path(), b"\xff\xfea\0").unwrap();
        assert!(read_text(file.path(), 6).unwrap_err().to_string().contains("save it as UTF-8"));
        #[cfg(target_os = "linux")]
        assert!(read_bytes(Path::new("/dev/zero"), 1 << 20).unwrap_err().to_string().contains("1048576 bytes"));
    }
}
