//! The brokers that a consumer can ask: those of `bootstrap.servers`, and those that metadata has named since.

use std::sync::Arc;
use std::time::Instant;

use ackflow_protocol::messages::metadata::MetadataResponse;

use crate::config::ClientConfig;
use crate::error::{ClientError, ErrorKind};
use crate::net::{Address, Identity, NO_RECOVERY, address};

/// What is known of the cluster's brokers.
#[derive(Debug, Default)]
pub(crate) struct Brokers {
    /// Brokers that metadata named last, by id.
    named: Vec<(i32, Address)>,
    /// The cluster's id, as its metadata says.
    cluster_id: Option<Arc<str>>,
    /// Where the next attempt to reach any broker begins.
    next: usize,
    /// Since when metadata is asked for in vain.
    in_vain_since: Option<Instant>,
}

/// A broker to try, and whom to take it for.
pub(crate) type Candidate = (Address, Option<Identity>);

impl Brokers {
    /// Metadata is asked for. Gives whether it was asked for in vain for so long that the brokers are to be forgotten.
    pub(crate) fn asked(&mut self, now: Instant, config: &ClientConfig) -> bool {
        let is_over = self.in_vain_since.is_some_and(|since| since + config.rebootstrap_trigger <= now);
        self.in_vain_since = self.in_vain_since.filter(|_| !is_over).or(Some(now));
        is_over && config.rebootstraps() && !self.named.is_empty()
    }

    /// Takes over what metadata says. A list without brokers is what a broker says that is just starting.
    pub(crate) fn learn(&mut self, metadata: &MetadataResponse) {
        let brokers = metadata.brokers.iter();
        let named = brokers.filter_map(|broker| Some((broker.node_id, address(&broker.host, broker.port)?)));
        let named: Vec<_> = named.collect();
        if !named.is_empty() {
            self.named = named;
            self.cluster_id = metadata.cluster_id.as_deref().map(Arc::from);
            self.in_vain_since = None;
        }
    }

    /// Forgets what metadata has said.
    pub(crate) fn forget(&mut self) {
        self.named.clear();
        self.cluster_id = None;
    }

    /// Whom a connection to this node is meant for, where that is to be said.
    pub(crate) fn identity(&self, config: &ClientConfig, node: i32) -> Option<Identity> {
        let cluster_id = self.cluster_id.clone().filter(|_| config.checks_cluster())?;
        Some(Identity { cluster_id, node })
    }

    /// Every broker that metadata named, beginning with another one each time, and then what was configured: names may have come to mean other
    /// brokers since. Without recovery, only the first as soon as there are any.
    pub(crate) fn candidates(&mut self, config: &ClientConfig) -> Vec<Candidate> {
        let identified = |(node, address): &(i32, Address)| (address.clone(), self.identity(config, *node));
        let mut candidates: Vec<Candidate> = self.named.iter().map(identified).collect();
        if !candidates.is_empty() {
            let begin = self.next % candidates.len();
            candidates.rotate_left(begin);
        }
        self.next = self.next.wrapping_add(1);
        if candidates.is_empty() || config.rebootstraps() {
            candidates.extend(config.bootstrap_servers.addresses().iter().map(|address| (address.clone(), None)));
        }
        candidates
    }

    /// The error where none of the candidates could be reached.
    pub(crate) fn unreachable(&self, config: &ClientConfig) -> impl FnOnce(&ClientError) -> ClientError + Send + use<> {
        let (what, remedy) = match self.named.is_empty() || config.rebootstraps() {
            // The last error says what to check.
            true => (format!("no broker of bootstrap.servers={}", config.bootstrap_servers), None),
            false => {
                let named: Vec<_> = self.named.iter().map(|(_, address)| address.to_string()).collect();
                (format!("none of the known brokers {}", named.join(",")), Some(NO_RECOVERY))
            }
        };
        move |error| {
            let reason = format!("{what} can be reached, lastly: {error}");
            let unreachable = ClientError::new(ErrorKind::Unreachable, CONNECTING, reason);
            match remedy {
                Some(remedy) => unreachable.remedy(remedy),
                None => unreachable,
            }
        }
    }
}

pub(crate) const CONNECTING: &str = "connecting to the cluster";
