//! Settings that are passed on to another part, which reads them.

use std::{collections::BTreeMap, fmt};

use super::problem::{HIDDEN, is_secret};

/// Keys and values for a client. `Debug` hides secrets.
#[derive(Clone, Default, PartialEq, Eq)]
pub(crate) struct Settings(pub(crate) BTreeMap<String, String>);

impl Settings {
    /// These, and `over` where both have a key.
    pub(crate) fn overridden_by(&self, over: &Self) -> Self {
        let mut settings = self.0.clone();
        settings.extend(over.0.clone());
        Self(settings)
    }
}

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |(key, value)| (key, if is_secret(key) { HIDDEN } else { value });
        f.debug_map().entries(self.0.iter().map(|(key, value)| shown((key.as_str(), value.as_str())))).finish()
    }
}
