//! What nobody may see.

use std::fmt;
use std::sync::Arc;

/// A password, a key or a token. It has no `Display`, and `Debug` shows nothing of it.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Arc<str>);

impl Secret {
    /// Keeps `text` from being shown.
    pub fn new(text: impl Into<Arc<str>>) -> Self {
        Self(text.into())
    }

    /// The secret itself, for where it has to go.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl<T: Into<Arc<str>>> From<T> for Secret {
    fn from(text: T) -> Self {
        Self::new(text)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[hidden]")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_not_shown() {
        assert_eq!(format!("{:?}", Some(Secret::new("hunter2"))), "Some([hidden])");
    }
}
