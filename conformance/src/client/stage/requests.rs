//! What clients have sent.

use std::time::Instant;

use ackflow_protocol::messages::dynamic::{Codec, Kind};
use ackflow_protocol::messages::share_acknowledge::ShareAcknowledgeRequest;
use ackflow_protocol::messages::share_fetch::ShareFetchRequest;
use ackflow_protocol::wire::{ApiKey, Request, Uuid};
use ackflow_testkit::core::{ConnectionId, ReceivedRequest};

/// Requests in the order in which they came.
#[derive(Debug, Clone, Default)]
pub(crate) struct Requests(Vec<ReceivedRequest>);

/// A request that could be read.
#[derive(Debug, Clone)]
pub(crate) struct Received<R> {
    /// When its turn came.
    pub(crate) at: Instant,
    pub(crate) node: i32,
    pub(crate) connection: ConnectionId,
    pub(crate) version: i16,
    pub(crate) body: R,
}

/// Offsets that were acknowledged, by ShareFetch or ShareAcknowledge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Acknowledgement {
    pub(crate) node: i32,
    pub(crate) topic_id: Uuid,
    pub(crate) partition: i32,
    pub(crate) first: i64,
    pub(crate) last: i64,
    /// One for all of them, or one for each.
    pub(crate) types: Vec<i8>,
}

impl Requests {
    pub(super) fn extend(&mut self, more: Vec<ReceivedRequest>) {
        self.0.extend(more);
    }

    /// Those that came from this instant on.
    pub(crate) fn since(&self, then: Instant) -> Self {
        Self(self.0.iter().filter(|request| request.at >= then).cloned().collect())
    }

    /// Those to one broker.
    pub(crate) fn to_node(&self, node: i32) -> Self {
        Self(self.0.iter().filter(|request| request.node == node).cloned().collect())
    }

    pub(crate) fn count(&self, api: ApiKey) -> usize {
        self.0.iter().filter(|request| request.header.request_api_key == api).count()
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// The requests of one API. One that cannot be read has closed its connection already.
    pub(crate) fn of<R: Request>(&self) -> Vec<Received<R>> {
        let ours = self.0.iter().filter(|request| request.header.request_api_key == R::KEY);
        ours.filter_map(|request| {
            let version = request.header.request_api_version;
            let body = R::from_bytes(request.body.clone(), version).ok()?;
            Some(Received { at: request.at, node: request.node, connection: request.connection, version, body })
        })
        .collect()
    }

    /// What was acknowledged, in order; which acknowledgements of one request come first does not matter.
    pub(crate) fn acknowledgements(&self) -> Vec<Acknowledgement> {
        let mut all = Vec::new();
        for request in self.of::<ShareFetchRequest>() {
            for topic in &request.body.topics {
                for asked in &topic.partitions {
                    all.extend(asked.acknowledgement_batches.iter().map(|batch| Acknowledgement {
                        node: request.node,
                        topic_id: topic.topic_id,
                        partition: asked.partition_index,
                        first: batch.first_offset,
                        last: batch.last_offset,
                        types: batch.acknowledge_types.clone(),
                    }));
                }
            }
        }
        for request in self.of::<ShareAcknowledgeRequest>() {
            for topic in &request.body.topics {
                for asked in &topic.partitions {
                    all.extend(asked.acknowledgement_batches.iter().map(|batch| Acknowledgement {
                        node: request.node,
                        topic_id: topic.topic_id,
                        partition: asked.partition_index,
                        first: batch.first_offset,
                        last: batch.last_offset,
                        types: batch.acknowledge_types.clone(),
                    }));
                }
            }
        }
        all
    }

    /// The type that each offset of a partition was acknowledged with, once for each time.
    pub(crate) fn acknowledged(&self) -> Vec<(i64, i8)> {
        let mut all: Vec<(i64, i8)> = self.acknowledgements().iter().flat_map(Acknowledgement::offsets).collect();
        all.sort_unstable();
        all
    }

    /// For a report: a line each, of many the first and the last.
    pub(super) fn lines(&self, began: Instant) -> Vec<String> {
        const FIRST: usize = 15;
        const LAST: usize = 45;
        let line = |request: &ReceivedRequest| {
            let (key, version) = (request.header.request_api_key, request.header.request_api_version);
            let codec = key.name().and_then(|name| Codec::find(name, Kind::Request, version).ok());
            let body = codec.and_then(|codec| codec.bytes_to_json(request.body.clone()).ok());
            format!(
                "{} ms, broker {}, connection {}: {key} {version} {}",
                (request.at - began).as_millis(),
                request.node,
                request.connection.0,
                body.map_or_else(|| "(cannot be read)".to_owned(), |body| body.to_string()),
            )
        };
        if self.len() <= FIRST + LAST {
            return self.0.iter().map(line).collect();
        }
        let between = format!(".. {} more ..", self.len() - FIRST - LAST);
        let first = self.0[..FIRST].iter().map(line);
        first.chain([between]).chain(self.0[self.len() - LAST..].iter().map(line)).collect()
    }
}

impl Acknowledgement {
    /// Each offset with its type.
    pub(crate) fn offsets(&self) -> Vec<(i64, i8)> {
        let one_for_all = self.types.len() == 1;
        let kind = |index: usize| self.types.get(if one_for_all { 0 } else { index }).copied().unwrap_or(i8::MIN);
        (self.first..=self.last).enumerate().map(|(index, offset)| (offset, kind(index))).collect()
    }
}
