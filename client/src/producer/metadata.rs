//! Keeps the producer's view of topics and leaders fresh.

use std::sync::Arc;
use std::time::Duration;

use ackflow_protocol::messages::metadata::{MetadataRequest, MetadataRequestTopic};
use tokio::time::{Instant, sleep_until};

use super::Shared;
use crate::net::random;

/// Asks for metadata when someone wants it and when it has become old, until the producer is closed.
pub(super) async fn run(shared: Arc<Shared>) {
    let closed = shared.closed.clone();
    closed.run_until_cancelled(refresh_for_ever(&shared)).await;
}

async fn refresh_for_ever(shared: &Shared) {
    let config = &shared.config.client;
    let backoff = config.retry_backoff();
    let mut last = Instant::now();
    // How many questions came one soon after the other: they get slower.
    let mut in_a_row = 0;
    loop {
        tokio::select! {
            () = shared.topics.wanted.notified() => {}
            () = sleep_until(last + config.metadata_max_age) => {}
        }
        if in_a_row > 0 {
            sleep_until(last + backoff.pause(in_a_row, random())).await;
        }
        refresh(shared).await;
        let calm = (config.retry_backoff_max * 2).max(Duration::from_millis(100));
        in_a_row = if last.elapsed() > calm { 1 } else { in_a_row + 1 };
        last = Instant::now();
    }
}

async fn refresh(shared: &Shared) {
    let by_name = |name: Arc<str>| MetadataRequestTopic { name: Some(name.to_string()), ..Default::default() };
    let topics = shared.topics.names().into_iter().map(by_name).collect();
    let request = MetadataRequest { topics: Some(topics), allow_auto_topic_creation: true, ..Default::default() };
    match shared.pool.metadata(&request).await {
        Ok(metadata) => shared.topics.update(metadata.topics),
        Err(error) => {
            tracing::debug!(%error, "no metadata");
            shared.topics.update_failed(&error);
        }
    }
    shared.wake.notify_one();
}
