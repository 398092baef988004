//! Why there is no token.

use std::borrow::Cow;
use std::error::Error;
use std::fmt;

/// Where the token should have come from, what went wrong, and what to do. It holds no secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) reason: String,
    pub(crate) remedy: Cow<'static, str>,
    /// Whether it may pass without anyone changing anything.
    pub(crate) passes: bool,
}

impl Failure {
    pub(super) fn lasting(reason: impl Into<String>, remedy: impl Into<Cow<'static, str>>) -> Self {
        Self { reason: reason.into(), remedy: remedy.into(), passes: false }
    }

    pub(super) fn passing(reason: impl Into<String>, remedy: impl Into<Cow<'static, str>>) -> Self {
        Self { passes: true, ..Self::lasting(reason, remedy) }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.reason, self.remedy)
    }
}

impl Error for Failure {}
