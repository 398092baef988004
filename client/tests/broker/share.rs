//! Share groups that read what is committed.

use ackflow_protocol::messages::incremental_alter_configs::{
    AlterConfigsResource, AlterableConfig, IncrementalAlterConfigsRequest,
};
use ackflow_protocol::messages::share_fetch::{FetchPartition, FetchTopic, ShareFetchRequest};
use ackflow_protocol::messages::share_group_heartbeat::ShareGroupHeartbeatRequest;
use ackflow_protocol::wire::{ErrorCode, Uuid, decode_response, encode_request};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::support::{eventually, unique};
use super::transactions::Producer;
use super::{Broker, Log};

/// A share session on a connection of its own.
pub(super) struct Session {
    stream: TcpStream,
    group: String,
    epoch: i32,
}

impl Session {
    pub(super) async fn open(broker: &Broker, group: &str) -> Self {
        let stream = TcpStream::connect(&broker.servers).await.unwrap();
        Self { stream, group: group.to_owned(), epoch: 0 }
    }

    /// Fetches from partition 0 and says what was acquired; waits a little for it.
    async fn fetch(&mut self, topic: Uuid) -> String {
        let partitions = vec![FetchPartition::default()];
        let request = ShareFetchRequest {
            group_id: Some(self.group.clone()),
            member_id: Some("m".to_owned()),
            share_session_epoch: self.epoch,
            max_wait_ms: 200,
            min_bytes: 1,
            max_bytes: 1 << 20,
            max_records: 100,
            batch_size: 100,
            topics: if self.epoch == 0 { vec![FetchTopic { topic_id: topic, partitions }] } else { Vec::new() },
            ..Default::default()
        };
        self.epoch += 1;
        self.stream.write_all(&encode_request(&request, 2, 7, None).unwrap()).await.unwrap();
        let size = self.stream.read_u32().await.unwrap();
        let mut frame = vec![0; usize::try_from(size).unwrap()];
        self.stream.read_exact(&mut frame).await.unwrap();
        type Response = <ShareFetchRequest as ackflow_protocol::wire::Request>::Response;
        let response = decode_response::<Response>(frame.into(), 2).unwrap().1;
        assert_eq!(response.error_code, ErrorCode::NONE);
        let ranges = response.responses.iter().flat_map(|topic| &topic.partitions).flat_map(|p| &p.acquired_records);
        let ranges: Vec<String> = ranges.map(|range| format!("{}-{}", range.first_offset, range.last_offset)).collect();
        format!("{ranges:?}")
    }

    /// Fetches until there is something.
    pub(super) async fn some(&mut self, topic: Uuid) -> String {
        for _ in 0..50 {
            let acquired = self.fetch(topic).await;
            if acquired != "[]" {
                return acquired;
            }
        }
        "nothing".to_owned()
    }
}

pub(super) async fn share_groups_read_what_is_committed(broker: &Broker) {
    let mut log = Log::default();
    let group = unique("share");
    broker.coordinator(0, &group).await;
    let setting = |name: &str, value: &str| AlterableConfig {
        name: name.to_owned(),
        config_operation: 0,
        value: Some(value.to_owned()),
    };
    let configs =
        vec![setting("share.isolation.level", "read_committed"), setting("share.auto.offset.reset", "earliest")];
    let resource = AlterConfigsResource { resource_type: 32, resource_name: group.clone(), configs };
    let request = IncrementalAlterConfigsRequest { resources: vec![resource], validate_only: false };
    assert!(broker.call(&request).await.responses[0].error_code.is_none());
    let mut producer = Producer::start(broker).await;
    let (name, topic) = producer.topic.clone();
    producer.plain().await;
    producer.write().await;
    producer.write().await;
    let mut request = ShareGroupHeartbeatRequest {
        group_id: group.clone(),
        member_id: "m".to_owned(),
        subscribed_topic_names: Some(vec![name]),
        ..Default::default()
    };
    eventually("the assignment", async || {
        let response = broker.call(&request).await;
        assert!(response.error_code.is_none(), "{response:?}");
        (request.member_epoch, request.subscribed_topic_names) = (response.member_epoch, None);
        response.assignment.filter(|assignment| !assignment.topic_partitions.is_empty())
    })
    .await;
    let mut session = Session::open(broker, &group).await;
    log.say("before the open transaction", session.some(topic).await);
    log.say("and no more", session.fetch(topic).await);
    producer.end(false).await;
    producer.settle().await;
    log.say("aborted", session.some(topic).await);
    log.say("and no more", session.fetch(topic).await);
    producer.write().await;
    producer.write().await;
    log.say("open", session.fetch(topic).await);
    producer.end(true).await;
    producer.settle().await;
    log.say("committed", session.some(topic).await);
    producer.write().await;
    producer.end(false).await;
    producer.settle().await;
    producer.plain().await;
    log.say("aborted and plain", format!("{} {}", session.some(topic).await, session.fetch(topic).await));
    assert_eq!(
        log.0,
        "before the open transaction: [\"0-0\"]
and no more: []
aborted: [\"3-3\"]
and no more: []
open: []
committed: [\"4-6\"]
aborted and plain: [\"8-9\"] []
"
    );
}
