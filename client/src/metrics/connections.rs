//! The metrics that every client has: of its connections and of the requests on them.

use std::sync::Arc;
use std::time::Duration;

use ackflow_protocol::wire::ApiKey;

use super::Metrics;
use super::named::{counted, measured, summed};
use super::registry::Builder;
use super::sensor::{Sensor, Stat};
use crate::config::ClientConfig;
use crate::error::ErrorKind;
use crate::net::{Connected, Disconnected, Hooks, Reauthenticated, Requested};

/// Counts what the connections of a client do. Sensors of single APIs can be added.
pub(super) struct ConnectionMetrics {
    created: Arc<Sensor>,
    closed: Arc<Sensor>,
    authenticated: Arc<Sensor>,
    refused: Arc<Sensor>,
    reauthenticated: Arc<Sensor>,
    refused_again: Arc<Sensor>,
    requests: Arc<Sensor>,
    responses: Arc<Sensor>,
    latencies: Vec<(ApiKey, Arc<Sensor>)>,
}

impl ConnectionMetrics {
    /// Metrics in a group such as `consumer-metrics`.
    pub(super) fn new(builder: &mut Builder<'_>, group: &'static str) -> Self {
        let created = builder.sensor(group, &counted!("connection-creation", "Connections established"));
        let closed = builder.sensor(group, &counted!("connection-close", "Connections closed"));
        let (opened, ended) = (created.clone(), closed.clone());
        builder.gauge(group, "connection-count", "Connections that are open.", move |now| {
            // The second is read first, or one that ends between the two would count twice.
            let ended = ended.read(now, Stat::Count);
            opened.read(now, Stat::Count) - ended
        });
        let refused =
            builder.sensor(group, &counted!("failed-authentication", "Connections that failed authentication"));
        let authenticated =
            builder.sensor(group, &counted!("successful-authentication", "Connections of TLS or SASL established"));
        let renewals = [
            counted!("successful-reauthentication", "Sessions renewed on their connection"),
            measured!("reauthentication-latency", "the time of a renewal, in ms"),
        ];
        let reauthenticated = builder.sensor(group, renewals.as_flattened());
        let refused_again =
            builder.sensor(group, &counted!("failed-reauthentication", "Sessions whose renewal was refused"));
        let requests = [
            counted!("request", "Requests answered"),
            measured!("request-size", "bytes of a request"),
            summed!("outgoing-byte", "Bytes of requests"),
        ];
        let responses = [counted!("response", "Responses received"), summed!("incoming-byte", "Bytes of responses")];
        let (requests, responses) =
            (builder.sensor(group, requests.as_flattened()), builder.sensor(group, responses.as_flattened()));
        let latencies = Vec::new();
        Self { created, closed, authenticated, refused, reauthenticated, refused_again, requests, responses, latencies }
    }

    /// A sensor takes how many milliseconds each answer to an API takes.
    pub(super) fn time(&mut self, api: ApiKey, sensor: &Arc<Sensor>) {
        self.latencies.push((api, sensor.clone()));
    }

    fn answered(&self, api: ApiKey, took: Duration) {
        self.latencies.iter().filter(|(timed, _)| *timed == api).for_each(|(_, sensor)| sensor.record_millis(took));
    }
}

/// The metrics of an admin client with this configuration, whose connections they watch from now on.
pub(crate) fn watch_admin(config: &mut ClientConfig) -> Metrics {
    let measured = config.metrics.clone();
    let mut builder = Builder::new(&config.net.client_id, &measured);
    config.net.hooks.push(Arc::new(ConnectionMetrics::new(&mut builder, "admin-client-metrics")));
    builder.build()
}

impl Hooks for ConnectionMetrics {
    fn connected(&self, event: &Connected<'_>) {
        match event.result {
            Ok(()) => {
                self.created.record(1.0);
                // As Kafka's selector: of PLAINTEXT there is nothing to authenticate.
                if event.authenticates {
                    self.authenticated.record(1.0);
                }
            }
            Err(error) if error.kind() == ErrorKind::Authentication => self.refused.record(1.0),
            Err(_) => {}
        }
    }

    fn reauthenticated(&self, event: &Reauthenticated<'_>) {
        match event.result {
            Ok(()) => self.reauthenticated.record_millis(event.took),
            Err(error) if error.kind() == ErrorKind::Authentication => self.refused_again.record(1.0),
            Err(_) => {}
        }
    }

    fn disconnected(&self, _: &Disconnected<'_>) {
        self.closed.record(1.0);
    }

    fn requested(&self, event: &Requested<'_>) {
        if let Ok(bytes) = event.result {
            self.requests.record(event.request_bytes as f64);
            self.responses.record(bytes as f64);
            self.answered(event.api, event.took);
        }
    }
}
