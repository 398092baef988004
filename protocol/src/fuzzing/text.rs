//! Texts: names, ids and test vectors.

use super::bounded;
use crate::messages::dynamic::Kind;
use crate::records::Compression;
use crate::vectors::check_line;
use crate::wire::Uuid;

/// Target `text`: the input as a topic id, as a name of a compression or a kind, and as a line of test vectors.
///
/// # Panics
/// Where a text that was read is written as one that reads as something else.
pub fn text(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(bounded(data)) else { return };
    if let Ok(uuid) = text.parse::<Uuid>() {
        assert_eq!(uuid.to_string().parse(), Ok(uuid));
    }
    if let Ok(compression) = text.parse::<Compression>() {
        assert_eq!(compression.name(), text);
    }
    if let Ok(kind) = text.parse::<Kind>() {
        assert_eq!(kind.as_str(), text);
    }
    let _ = check_line(text);
}
