//! What a broker supports.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use ackflow_protocol::for_each_api;
use ackflow_protocol::wire::{ApiKey, Message, Request};

use super::Admin;
use super::features::checked;
use crate::error::ClientError;
use crate::net::versions_request;

/// How a broker and this client fit together in an API.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiSupport {
    /// The versions that the broker offers.
    pub offered: RangeInclusive<i16>,
    /// The versions that this client speaks; `None` for an API that it does not know.
    pub known: Option<RangeInclusive<i16>>,
    /// The version that it uses with this broker: the newest that both speak. `None` where there is none in common.
    pub used: Option<i16>,
}

impl Admin {
    /// What the broker with this id supports, by API (ApiVersions).
    ///
    /// Cancel-safe, as all calls of the module are.
    ///
    /// # Errors
    /// [`ClientError`] where the broker does not answer, or the cluster has none of this id.
    pub async fn api_versions(&self, node: i32) -> Result<BTreeMap<ApiKey, ApiSupport>, ClientError> {
        let (response, connection) = self.ask_node(node, &versions_request(None)).await?;
        checked(&response, &connection)?;
        let known = known();
        let support = response.api_keys.into_iter().map(|api| {
            let key = ApiKey(api.api_key);
            let known = known.get(&key).cloned();
            (key, ApiSupport { offered: api.min_version..=api.max_version, known, used: connection.version(key) })
        });
        Ok(support.collect())
    }
}

/// What this client speaks, where it has a stable version.
fn known() -> BTreeMap<ApiKey, RangeInclusive<i16>> {
    let mut known = BTreeMap::new();
    macro_rules! add {
        ($($name:ident($request:ty, $response:ty)),* $(,)?) => {
            $(known.insert(<$request>::KEY, *<$request>::VERSIONS.start()..=<$request>::NEWEST_STABLE);)*
        };
    }
    for_each_api!(add);
    known.retain(|_, versions| versions.start() <= versions.end());
    known
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_this_client_speaks_is_what_kafka_calls_stable() {
        let known = known();
        assert_eq!(known[&ApiKey::SHARE_FETCH], 1..=2);
        assert_eq!(known[&ApiKey::WRITE_TXN_MARKERS], 1..=2);
    }
}
