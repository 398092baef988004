//! Client settings that a connector sets over the worker's, and the worker's policy about them.

use std::collections::BTreeMap;

use super::{ConfigProblem, values::ConfigValues};

/// `connector.client.config.override.policy`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum OverridePolicy {
    All,
    None,
    Principal,
    Allowlist(Vec<String>),
}

impl OverridePolicy {
    pub(super) fn from_values(values: &ConfigValues) -> Self {
        match values.string("connector.client.config.override.policy").unwrap_or_default().to_ascii_lowercase().as_str()
        {
            "none" => Self::None,
            "principal" => Self::Principal,
            "allowlist" => Self::Allowlist(values.list("connector.client.config.override.allowlist").to_vec()),
            _ => Self::All,
        }
    }

    fn allows(&self, key: &str) -> bool {
        match self {
            Self::All => true,
            Self::None => false,
            Self::Principal => matches!(key, "sasl.jaas.config" | "sasl.mechanism" | "security.protocol"),
            Self::Allowlist(keys) => keys.iter().any(|allowed| allowed == key),
        }
    }

    /// What a connector's overrides below `prefix` are refused for.
    pub(super) fn check(&self, prefix: &str, overrides: &BTreeMap<String, String>) -> Vec<ConfigProblem> {
        let refused = overrides.iter().filter(|(key, _)| !self.allows(key));
        let problem = |(key, value): (&String, &String)| {
            ConfigProblem::new(
                &format!("{prefix}{key}"),
                Some(value),
                "the worker does not let a connector set this",
                "remove it, or change connector.client.config.override.policy in the worker's file",
            )
        };
        refused.map(problem).collect()
    }
}
