//! What a connection is made with.

use std::sync::Arc;
use std::time::Duration;

use ackflow_protocol::wire::frame::DEFAULT_MAX_FRAME;

use super::hooks::HookList;
use super::sasl::Sasl;
#[cfg(feature = "tls")]
use super::tls::Tls;

/// The settings of one connection. Each field names the property that sets it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct NetConfig {
    /// `client.id`: what the broker calls this client in its logs, metrics and quotas.
    pub client_id: Arc<str>,
    /// `request.timeout.ms`: how long an answer may take.
    pub request_timeout: Duration,
    /// `socket.connection.setup.timeout.ms`: how long one address may take to connect and to say its versions.
    pub connect_timeout: Duration,
    /// `socket.connection.setup.timeout.max.ms`: what the former grows to over attempts that fail in a row.
    pub connect_timeout_max: Duration,
    /// `connections.max.idle.ms`: a connection that has had nothing to do for so long is closed.
    pub max_idle: Duration,
    /// `receive.message.max.bytes`: the largest response that is taken. It has to exceed `fetch.max.bytes` by the
    /// largest record batch of the topics.
    pub max_frame: usize,
    /// `reconnect.backoff.ms`: the pause after a failed attempt to connect.
    pub reconnect_backoff: Duration,
    /// `reconnect.backoff.max.ms`: what the former grows to.
    pub reconnect_backoff_max: Duration,
    /// `security.protocol`, `ssl.*` and `sasl.*`: how connections are secured.
    pub security: Security,
    /// Who watches the connections. No property sets it.
    pub hooks: HookList,
}

/// How connections are secured: not at all by default (`security.protocol=PLAINTEXT`).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Security {
    /// TLS, of SSL and SASL_SSL.
    #[cfg(feature = "tls")]
    pub tls: Option<Tls>,
    /// SASL, of SASL_PLAINTEXT and SASL_SSL.
    pub sasl: Option<Sasl>,
}

impl Security {
    /// Whether brokers, clients or both have to show who they are.
    pub(super) fn authenticates(&self) -> bool {
        #[cfg(feature = "tls")]
        if self.tls.is_some() {
            return true;
        }
        self.sasl.is_some()
    }
}

impl Default for NetConfig {
    fn default() -> Self {
        Self {
            client_id: Arc::from("ackflow"),
            request_timeout: Duration::from_secs(30),
            connect_timeout: Duration::from_secs(10),
            connect_timeout_max: Duration::from_secs(30),
            max_idle: Duration::from_secs(9 * 60),
            max_frame: DEFAULT_MAX_FRAME,
            reconnect_backoff: Duration::from_millis(50),
            reconnect_backoff_max: Duration::from_secs(1),
            security: Security::default(),
            hooks: HookList::default(),
        }
    }
}
