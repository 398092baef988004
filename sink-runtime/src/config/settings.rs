//! Settings that are passed on to another part, which reads them.

use std::{collections::BTreeMap, fmt};

use ackflow_client::{ClientConfig, ClientError, share::ShareConsumerConfig};

use super::problem::{HIDDEN, is_secret};

/// The client's own key for how records are acknowledged; the worker decides it.
const ACKNOWLEDGEMENT_MODE: &str = "share.acknowledgement.mode";

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

    /// The same for the cluster at `bootstrap_servers`, unless they name another.
    pub(crate) fn at(mut self, bootstrap_servers: &str) -> Self {
        self.0.entry("bootstrap.servers".to_owned()).or_insert_with(|| bootstrap_servers.to_owned());
        self
    }

    /// Of a member of `group`.
    pub(crate) fn share_consumer(mut self, group: &str) -> Result<ShareConsumerConfig, ClientError> {
        if let Some(mode) = self.0.get(ACKNOWLEDGEMENT_MODE) {
            let reason = "how records are acknowledged is for the worker to decide, not for its consumer";
            let remedy = format!("remove it; a connector's own {ACKNOWLEDGEMENT_MODE} says what is wanted");
            return Err(ClientError::config(ACKNOWLEDGEMENT_MODE, mode, reason, remedy));
        }
        self.0.insert("group.id".to_owned(), group.to_owned());
        ShareConsumerConfig::from_properties(&self.0)
    }

    /// Of an admin client.
    pub(crate) fn client(&self) -> Result<ClientConfig, ClientError> {
        ClientConfig::from_properties(&self.0)
    }
}

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |(key, value)| (key, if is_secret(key) { HIDDEN } else { value });
        f.debug_map().entries(self.0.iter().map(|(key, value)| shown((key.as_str(), value.as_str())))).finish()
    }
}
