//! The broker under test: what it says of itself.

use std::collections::BTreeMap;
use std::time::Duration;

use ackflow_client::net::{Address, NetConfig, RawConnection};
use ackflow_client::{ClientConfig, ClientError};
use ackflow_protocol::messages::api_versions::{ApiVersionsRequest, ApiVersionsResponse};
use ackflow_protocol::messages::describe_configs::{DescribeConfigsRequest, DescribeConfigsResource};
use ackflow_protocol::messages::metadata::MetadataRequest;
use ackflow_protocol::wire::{ApiKey, Request};

use super::lab::{Link, Outcome, Stop};

/// What the report says of the broker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrokerInfo {
    /// Where it was found.
    pub bootstrap_servers: String,
    /// The cluster's id.
    pub cluster_id: Option<String>,
    /// The ids of its brokers.
    pub nodes: Vec<i32>,
    /// Finalized features, such as `share.version`.
    pub features: BTreeMap<String, i16>,
    /// By the key of an API, the versions that are advertised.
    pub apis: BTreeMap<i16, (i16, i16)>,
}

/// What a case has to wait for, by the broker's settings; Kafka's defaults where they cannot be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Waits {
    /// The shortest time that a lock may last (`group.share.min.record.lock.duration.ms`).
    pub(crate) lock: Duration,
    /// The shortest time after which a silent member is put out (`group.share.min.session.timeout.ms`).
    pub(crate) session: Duration,
    /// The shortest interval of heartbeats (`group.share.min.heartbeat.interval.ms`).
    pub(crate) heartbeat: Duration,
}

/// The broker under test.
#[derive(Debug)]
pub(crate) struct Target {
    pub(crate) info: BrokerInfo,
    pub(crate) net: NetConfig,
    pub(crate) nodes: BTreeMap<i32, Address>,
    pub(crate) waits: Waits,
    /// Settings of the broker, as it tells them.
    pub(crate) settings: BTreeMap<String, String>,
}

impl Target {
    /// Asks a broker of the cluster for all that cases have to know.
    ///
    /// # Errors
    /// Where none of `bootstrap.servers` can be reached, or does not say what it is.
    pub(crate) async fn find(config: &ClientConfig) -> Result<Self, ClientError> {
        let addresses = config.bootstrap_servers.addresses();
        let mut last = None;
        for address in addresses {
            match RawConnection::connect(&address.host, address.port, &config.net).await {
                Ok(raw) => {
                    return Self::ask(config, address, Link::bare(raw)).await.map_err(|stop| stop.into_error(address));
                }
                Err(error) => last = Some(error),
            }
        }
        Err(last.unwrap_or_else(|| {
            ClientError::new(ackflow_client::ErrorKind::Invalid, "looking for a broker", "bootstrap.servers is empty")
        }))
    }

    async fn ask(config: &ClientConfig, at: &Address, mut link: Link) -> Outcome<Self> {
        let versions: ApiVersionsResponse = link.call_in(3, &asking()).await?;
        let apis: BTreeMap<_, _> =
            versions.api_keys.iter().map(|api| (api.api_key, (api.min_version, api.max_version))).collect();
        let features: BTreeMap<_, _> =
            versions.finalized_features.into_iter().map(|feature| (feature.name, feature.max_version_level)).collect();
        let info = BrokerInfo {
            bootstrap_servers: config.bootstrap_servers.to_string(),
            cluster_id: None,
            nodes: Vec::new(),
            features,
            apis,
        };
        let waits = Waits {
            lock: Duration::from_secs(15),
            session: Duration::from_secs(45),
            heartbeat: Duration::from_secs(5),
        };
        let mut target =
            Self { info, net: config.net.clone(), nodes: BTreeMap::new(), waits, settings: BTreeMap::new() };
        let request = MetadataRequest { topics: Some(Vec::new()), ..Default::default() };
        let metadata = link.call_in(target.version::<MetadataRequest>()?, &request).await?;
        target.info.cluster_id = metadata.cluster_id;
        let address = |host: String, port: i32| Address { host, port: u16::try_from(port).unwrap_or_default() };
        target.nodes = metadata.brokers.into_iter().map(|node| (node.node_id, address(node.host, node.port))).collect();
        if target.nodes.is_empty() {
            return Err(Stop::failed("Metadata names the brokers of the cluster", format!("none, at {at}")));
        }
        target.info.nodes = target.nodes.keys().copied().collect();
        target.ask_settings(&mut link).await?;
        Ok(target)
    }

    async fn ask_settings(&mut self, link: &mut Link) -> Outcome {
        let Ok(version) = self.version::<DescribeConfigsRequest>() else { return Ok(()) };
        let node = self.info.nodes[0].to_string();
        let broker = DescribeConfigsResource { resource_type: 4, resource_name: node, configuration_keys: None };
        let request = DescribeConfigsRequest { resources: vec![broker], ..Default::default() };
        let response = link.call_in(version, &request).await?;
        let configs = response.results.into_iter().flat_map(|result| result.configs);
        self.settings = configs.filter_map(|config| Some((config.name, config.value?))).collect();
        let millis = |name: &str, default: Duration| {
            let set = self.settings.get(name).and_then(|value| value.parse().ok());
            set.map_or(default, Duration::from_millis)
        };
        self.waits = Waits {
            lock: millis("group.share.min.record.lock.duration.ms", self.waits.lock),
            session: millis("group.share.min.session.timeout.ms", self.waits.session),
            heartbeat: millis("group.share.min.heartbeat.interval.ms", self.waits.heartbeat),
        };
        Ok(())
    }

    /// The newest version of `R` that both sides know.
    ///
    /// # Errors
    /// [`Stop::NotOffered`] where there is none.
    pub(crate) fn version<R: Request>(&self) -> Outcome<i16> {
        let ours = R::VERSIONS;
        // An API that has no stable version is asked for as it is, where it is offered at all.
        let newest = if R::NEWEST_STABLE < *ours.start() { *ours.end() } else { R::NEWEST_STABLE };
        match self.info.apis.get(&R::KEY.0) {
            None => Err(Stop::NotOffered(format!("{} is not advertised", R::KEY))),
            Some((from, to)) => match newest.min(*to) {
                version if version >= *from && version >= *ours.start() => Ok(version),
                _ => Err(Stop::NotOffered(format!(
                    "{} {from} to {to} is advertised, {} to {newest} is known here",
                    R::KEY,
                    ours.start()
                ))),
            },
        }
    }

    /// Whether no broker of the cluster can be connected to any more, for some seconds.
    pub(crate) async fn is_gone(&self) -> bool {
        for attempt in 0..4 {
            if attempt > 0 {
                tokio::time::sleep(Duration::from_millis(500)).await;
            }
            for address in self.nodes.values() {
                if RawConnection::connect(&address.host, address.port, &self.net).await.is_ok() {
                    return false;
                }
            }
        }
        true
    }

    /// Whether this version of an API is advertised.
    ///
    /// # Errors
    /// [`Stop::NotOffered`] where it is not.
    pub(crate) fn offers(&self, api: ApiKey, version: i16) -> Outcome {
        match self.info.apis.get(&api.0) {
            Some((from, to)) if (*from..=*to).contains(&version) => Ok(()),
            Some((from, to)) => Err(Stop::NotOffered(format!("{api} {from} to {to} is advertised, not {version}"))),
            None => Err(Stop::NotOffered(format!("{api} is not advertised"))),
        }
    }

    /// The level of a finalized feature; 0 where it is not there.
    pub(crate) fn feature(&self, name: &str) -> i16 {
        self.info.features.get(name).copied().unwrap_or_default()
    }
}

/// ApiVersions as a client asks.
pub(crate) fn asking() -> ApiVersionsRequest {
    ApiVersionsRequest {
        client_software_name: "ackflow-conformance".into(),
        client_software_version: env!("CARGO_PKG_VERSION").into(),
        ..Default::default()
    }
}
