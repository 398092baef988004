//! Metrics that are pushed to the cluster (KIP-714), for operators who look after many clients from the side of their brokers.
//!
//! A broker with a metrics reporter that takes them says which metrics it wants and how often (`kafka-client-metrics.sh`). Nothing is asked, and no
//! connection made, before the client has reached a broker that offers it. `enable.metrics.push=false` turns it off. What is pushed is what
//! [`Metrics`](crate::metrics::Metrics) holds: numbers, the names of the group and the member, no record and no secret.

#[cfg(feature = "telemetry")]
mod collect;
#[cfg(feature = "telemetry")]
mod otlp;
#[cfg_attr(not(feature = "telemetry"), path = "off.rs")]
mod reporter;
#[cfg(test)]
#[cfg(feature = "telemetry")]
mod tests;

pub(crate) use reporter::{Offer, Reporter};
