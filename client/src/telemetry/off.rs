//! The same without the feature `telemetry`: nothing is pushed.

use std::sync::Arc;

use ackflow_protocol::wire::Uuid;

use crate::config::ClientConfig;
use crate::metrics::Metrics;
use crate::net::Pool;

/// Watches for nothing.
#[derive(Debug)]
pub(crate) enum Offer {}

impl Offer {
    pub(crate) fn watch(_: &mut ClientConfig) -> Option<Arc<Self>> {
        None
    }
}

/// Pushes nothing.
#[derive(Debug)]
pub(crate) struct Reporter;

impl Reporter {
    pub(crate) fn start(_: Option<Arc<Offer>>, _: Pool, _: Metrics, _: Vec<(&'static str, String)>) -> Self {
        Self
    }

    pub(crate) fn watch(_: &mut ClientConfig, _: &Metrics, _: &[(&'static str, Option<&str>)]) -> Self {
        Self
    }

    pub(crate) fn client_instance_id(&self) -> Option<Uuid> {
        None
    }

    pub(crate) async fn close(&self) {}
}
