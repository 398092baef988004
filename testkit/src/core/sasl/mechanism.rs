//! The mechanisms.

use super::scram::Hash;

/// How a client proves who it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mechanism {
    /// By its password, as it is (RFC 4616).
    Plain,
    /// By a proof that it knows its password (RFC 5802).
    Scram(Hash),
}

impl Mechanism {
    /// All that are served.
    pub(crate) const ALL: [Self; 3] = [Self::Plain, Self::Scram(Hash::Sha256), Self::Scram(Hash::Sha512)];

    /// The names of all.
    pub(crate) const NAMES: &[&str; 3] = &["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"];

    /// The name in `sasl.enabled.mechanisms`.
    pub(crate) fn name(self) -> &'static str {
        let [plain, sha_256, sha_512] = Self::NAMES;
        match self {
            Self::Plain => plain,
            Self::Scram(Hash::Sha256) => sha_256,
            Self::Scram(Hash::Sha512) => sha_512,
        }
    }

    /// The mechanisms of such a list.
    pub(crate) fn listed(names: &str) -> Vec<Self> {
        let named = names.split(',').map(str::trim);
        named.filter_map(|name| Self::ALL.into_iter().find(|mechanism| mechanism.name() == name)).collect()
    }
}
