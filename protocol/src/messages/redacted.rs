//! Secrets in debug output.

use std::fmt;

/// Shows how many bytes a secret has, and none of them.
pub(super) struct Redacted<'a>(pub(super) &'a [u8]);

impl fmt::Debug for Redacted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "<{} bytes>", self.0.len())
    }
}
