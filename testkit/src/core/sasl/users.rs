//! Users and their passwords.

use std::collections::BTreeMap;
use std::fmt;

/// Who may come in by SASL: passwords by user. `Debug` shows the users alone.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Users(BTreeMap<String, String>);

impl Users {
    /// Adds a user, or gives one another password.
    pub fn add(&mut self, user: impl Into<String>, password: impl Into<String>) {
        self.0.insert(user.into(), password.into());
    }

    /// Whether this is the user's password.
    pub(super) fn has(&self, user: &str, password: &str) -> bool {
        self.password(user).is_some_and(|known| known == password)
    }

    /// The password of a user.
    pub(super) fn password(&self, user: &str) -> Option<&str> {
        self.0.get(user).map(String::as_str)
    }
}

impl fmt::Debug for Users {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}
