//! Whom the calls ask, and what they do when it is the wrong one.

use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ackflow_protocol::messages::delete_groups::{DeletableGroupResult, DeleteGroupsRequest, DeleteGroupsResponse};
use ackflow_protocol::messages::describe_configs::{
    DescribeConfigsRequest, DescribeConfigsResource, DescribeConfigsResponse, DescribeConfigsResult,
};
use ackflow_protocol::messages::find_coordinator::{Coordinator, FindCoordinatorRequest, FindCoordinatorResponse};
use ackflow_protocol::messages::list_offsets::{
    ListOffsetsPartitionResponse, ListOffsetsRequest, ListOffsetsResponse, ListOffsetsTopicResponse,
};
use ackflow_protocol::messages::metadata::{
    MetadataRequest, MetadataResponse, MetadataResponseBroker, MetadataResponsePartition, MetadataResponseTopic,
};
use ackflow_protocol::messages::offset_commit::{
    OffsetCommitRequest, OffsetCommitResponse, OffsetCommitResponsePartition, OffsetCommitResponseTopic,
};
use ackflow_protocol::wire::{ApiKey, ErrorCode};

use super::*;
use crate::error::ErrorKind;
use crate::net::testing::{Peer, Received, Wire, all_versions};

/// A cluster of two brokers that are played, of which one leads, and coordinates, everything.
#[derive(Default)]
struct Cluster {
    ports: Mutex<Vec<u16>>,
    /// The index of the one that is said to, and of the one that does.
    said: AtomicU16,
    really: AtomicU16,
    /// The requests, with the index of the broker.
    asked: Mutex<Vec<(u16, ApiKey)>>,
    /// The offsets that were to be committed.
    committed: Mutex<Vec<i64>>,
}

impl Cluster {
    /// Starts it. Whenever metadata or a coordinator is asked for, what is said comes closer to the truth by the time after next.
    async fn start(really: u16) -> (Arc<Self>, Admin) {
        let cluster = Arc::new(Self::default());
        cluster.really.store(really, Ordering::Relaxed);
        for index in 0..2 {
            let peer = Peer::bind().await;
            cluster.ports.lock().unwrap().push(peer.port());
            let cluster = cluster.clone();
            tokio::spawn(async move {
                loop {
                    let mut wire = peer.accept_raw().await;
                    let cluster = cluster.clone();
                    tokio::spawn(async move {
                        wire.exchange_versions(&all_versions()).await;
                        while let Some(request) = wire.try_request().await {
                            cluster.answer(index, &mut wire, &request).await;
                        }
                    });
                }
            });
        }
        let first = cluster.ports.lock().unwrap()[0];
        let mut config = ClientConfig::new(&format!("127.0.0.1:{first}")).unwrap();
        config.retry_backoff = Duration::from_millis(1);
        config.default_api_timeout = Duration::from_secs(5);
        (cluster, Admin::new(config))
    }

    /// What is said now; the next one who asks is told the truth.
    fn says(&self) -> u16 {
        self.said.swap(self.really.load(Ordering::Relaxed), Ordering::Relaxed)
    }

    fn is_wrong(&self, index: u16) -> bool {
        index != self.really.load(Ordering::Relaxed)
    }

    fn asked(&self, api: ApiKey) -> Vec<u16> {
        self.asked.lock().unwrap().iter().filter(|(_, key)| *key == api).map(|(index, _)| *index).collect()
    }

    async fn answer(&self, index: u16, wire: &mut Wire, request: &Received) {
        let api = request.header.request_api_key;
        self.asked.lock().unwrap().push((index, api));
        let refused = |code| if self.is_wrong(index) { code } else { ErrorCode::NONE };
        match api {
            ApiKey::METADATA => wire.answer(request, &self.metadata(&request.decode())).await,
            ApiKey::FIND_COORDINATOR => {
                let (node, asked) = (self.says(), request.decode::<FindCoordinatorRequest>());
                let port = i32::from(self.ports.lock().unwrap()[usize::from(node)]);
                let coordinator = |key| Coordinator {
                    key,
                    node_id: i32::from(node),
                    host: "127.0.0.1".into(),
                    port,
                    ..Default::default()
                };
                let coordinators = asked.coordinator_keys.into_iter().map(coordinator).collect();
                wire.answer(request, &FindCoordinatorResponse { coordinators, ..Default::default() }).await;
            }
            ApiKey::DELETE_GROUPS => {
                let error_code = refused(ErrorCode::NOT_COORDINATOR);
                let result = |group_id| DeletableGroupResult { group_id, error_code, ..Default::default() };
                let asked = request.decode::<DeleteGroupsRequest>();
                let results = asked.groups_names.into_iter().filter(|group| group != "left-out").map(result).collect();
                wire.answer(request, &DeleteGroupsResponse { results, ..Default::default() }).await;
            }
            ApiKey::OFFSET_COMMIT => {
                let error_code = refused(ErrorCode::COORDINATOR_LOAD_IN_PROGRESS);
                let topics = request.decode::<OffsetCommitRequest>().topics.into_iter().map(|topic| {
                    let offsets = topic.partitions.iter().map(|p| p.committed_offset);
                    self.committed.lock().unwrap().extend(offsets);
                    let partition = |partition_index| OffsetCommitResponsePartition { partition_index, error_code };
                    let partitions = topic.partitions.iter().map(|p| partition(p.partition_index)).collect();
                    OffsetCommitResponseTopic { name: topic.name, partitions, ..Default::default() }
                });
                let response = OffsetCommitResponse { topics: topics.collect(), ..Default::default() };
                wire.answer(request, &response).await;
            }
            ApiKey::DESCRIBE_CONFIGS => {
                let result = |asked: DescribeConfigsResource| DescribeConfigsResult {
                    resource_type: asked.resource_type,
                    resource_name: asked.resource_name,
                    ..Default::default()
                };
                let results = request.decode::<DescribeConfigsRequest>().resources.into_iter().map(result).collect();
                wire.answer(request, &DescribeConfigsResponse { results, ..Default::default() }).await;
            }
            ApiKey::LIST_OFFSETS => {
                let error_code = refused(ErrorCode::NOT_LEADER_OR_FOLLOWER);
                let topics = request.decode::<ListOffsetsRequest>().topics.into_iter().map(|topic| {
                    let partition = |partition_index| ListOffsetsPartitionResponse {
                        partition_index,
                        error_code,
                        offset: 7,
                        ..Default::default()
                    };
                    let partitions = topic.partitions.iter().map(|p| partition(p.partition_index)).collect();
                    ListOffsetsTopicResponse { name: topic.name, partitions }
                });
                let response = ListOffsetsResponse { topics: topics.collect(), ..Default::default() };
                wire.answer(request, &response).await;
            }
            other => panic!("{other} was not expected"),
        }
    }

    fn metadata(&self, request: &MetadataRequest) -> MetadataResponse {
        let ports = self.ports.lock().unwrap().clone();
        let brokers = ports.iter().zip(0..).map(|(port, node_id)| MetadataResponseBroker {
            node_id,
            host: "127.0.0.1".into(),
            port: i32::from(*port),
            rack: None,
        });
        let leader_id = i32::from(self.says());
        let topic = |name: String| {
            let partition = MetadataResponsePartition { leader_id, ..Default::default() };
            let error_code = if name == "t" { ErrorCode::NONE } else { ErrorCode::UNKNOWN_TOPIC_OR_PARTITION };
            MetadataResponseTopic { name: Some(name), error_code, partitions: vec![partition], ..Default::default() }
        };
        let topics = request.topics.clone().unwrap_or_default().into_iter().filter_map(|topic| topic.name);
        MetadataResponse { brokers: brokers.collect(), topics: topics.map(topic).collect(), ..Default::default() }
    }
}

#[tokio::test]
async fn groups_are_asked_about_at_their_coordinator_in_one_request() {
    let (cluster, admin) = Cluster::start(0).await;
    let results = admin.delete_groups(["a", "b", "c"]).await;
    assert!(results.len() == 3 && results.values().all(Result::is_ok), "{results:?}");
    assert_eq!(cluster.asked(ApiKey::FIND_COORDINATOR), [0]);
    assert_eq!(cluster.asked(ApiKey::DELETE_GROUPS), [0]);
}

#[tokio::test]
async fn what_the_wrong_coordinator_refuses_is_asked_of_the_right_one() {
    let (cluster, admin) = Cluster::start(1).await;
    let results = admin.delete_groups(["a", "b"]).await;
    assert!(results.len() == 2 && results.values().all(Result::is_ok), "{results:?}");
    assert_eq!(cluster.asked(ApiKey::DELETE_GROUPS), [0, 1]);
}

#[tokio::test]
async fn offsets_that_the_coordinator_is_not_ready_for_are_set_once_it_is() {
    let (cluster, admin) = Cluster::start(1).await;
    let offsets = [(TopicPartition::new("t", 0), 5), (TopicPartition::new("t", 1), 6)];
    let results = admin.alter_consumer_group_offsets("g", offsets).await.unwrap();
    assert!(results.len() == 2 && results.values().all(Result::is_ok), "{results:?}");
    assert_eq!(cluster.asked(ApiKey::OFFSET_COMMIT), [0, 1]);
}

// Mutation: client/src/admin/offsets.rs
// - if below >= 0 {
// + if below >= -1 {
#[tokio::test]
async fn an_offset_below_zero_is_refused_before_anything_is_sent_and_keeps_no_other_back() {
    let (cluster, admin) = Cluster::start(0).await;
    let at = |index, offset: i64| (TopicPartition::new("t", index), offset);
    let results = admin.alter_consumer_group_offsets("g", [at(0, -1), at(1, 6), at(2, -7)]).await.unwrap();
    assert!(results.len() == 3 && results[&at(1, 0).0].is_ok(), "{results:?}");
    let error = results[&at(2, 0).0].as_ref().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    for said in ["t-2", "-7 is below 0", "delete_consumer_group_offsets"] {
        assert!(error.to_string().contains(said), "{error}");
    }
    assert_eq!(cluster.committed.lock().unwrap()[..], [6]);

    let results = admin.alter_consumer_group_offsets("g", [at(0, -1)]).await.unwrap();
    assert_eq!(results[&at(0, 0).0].as_ref().unwrap_err().kind(), ErrorKind::Invalid);
    // The cluster would panic at a request about share groups.
    let results = admin.alter_share_group_offsets("g", [at(0, -1)]).await.unwrap();
    let error = results[&at(0, 0).0].as_ref().unwrap_err();
    assert!(error.kind() == ErrorKind::Invalid && error.to_string().contains("delete_share_group_offsets"), "{error}");
    assert_eq!(cluster.asked(ApiKey::OFFSET_COMMIT), [0]);
}

#[tokio::test]
async fn what_the_answer_leaves_out_is_an_error_and_the_rest_is_not() {
    let (_cluster, admin) = Cluster::start(0).await;
    let results = admin.delete_groups(["a", "left-out"]).await;
    assert!(results["a"].is_ok());
    let error = results["left-out"].as_ref().unwrap_err().to_string();
    assert!(error.contains("asking about left-out") && error.contains("leaves it out"), "{error}");
}

#[tokio::test]
async fn partitions_are_asked_about_at_the_leader_that_metadata_names_in_the_end() {
    let (cluster, admin) = Cluster::start(1).await;
    let earliest = [(TopicPartition::new("t", 0), OffsetSpec::Earliest)];
    let results = admin.list_offsets(earliest, IsolationLevel::default()).await;
    assert_eq!(results[&TopicPartition::new("t", 0)].as_ref().unwrap().offset, Some(7));
    assert_eq!(cluster.asked(ApiKey::LIST_OFFSETS), [0, 1]);
}

#[tokio::test]
async fn a_topic_that_stays_unknown_is_an_error_soon_and_keeps_no_other_back() {
    let (_cluster, admin) = Cluster::start(0).await;
    let known = TopicPartition::new("t", 0);
    let unknown = TopicPartition::new("u", 0);
    let both = [(known.clone(), OffsetSpec::Latest), (unknown.clone(), OffsetSpec::Latest)];
    let results = admin.list_offsets(both, IsolationLevel::default()).await;
    assert!(results[&known].is_ok());
    let error = results[&unknown].as_ref().unwrap_err();
    assert_eq!(error.code(), Some(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION));
    assert!(
        error.to_string().contains("the leader of u-0") && error.to_string().contains("check the topic"),
        "{error}"
    );
}

#[tokio::test]
async fn a_leader_that_never_comes_is_the_error_when_time_is_over() {
    let (cluster, mut admin) = Cluster::start(1).await;
    let mut config = admin.pool.config().clone();
    config.default_api_timeout = Duration::from_millis(100);
    admin.pool = Pool::new(config);
    cluster.really.store(9, Ordering::Relaxed);
    cluster.said.store(0, Ordering::Relaxed);
    let partition = TopicPartition::new("t", 0);
    let results = admin.list_offsets([(partition.clone(), OffsetSpec::Latest)], IsolationLevel::default()).await;
    let error = results[&partition].as_ref().unwrap_err();
    assert!(error.to_string().contains("no broker has id 9"), "{error}");
}

// Mutation: client/src/admin/mod.rs
// - if !ids.contains(&node) && since.elapsed() >= ABSENT_PATIENCE {
// + if !ids.contains(&node) && since.elapsed() >= ABSENT_PATIENCE * 100 {
#[tokio::test]
async fn a_broker_that_there_is_not_is_waited_for_shortly_and_keeps_no_other_back() {
    let (_cluster, mut admin) = Cluster::start(0).await;
    let mut config = admin.pool.config().clone();
    config.default_api_timeout = Duration::from_secs(60);
    admin.pool = Pool::new(config);
    let began = Instant::now();
    let (there, absent) = (ConfigResource::broker(1), ConfigResource::broker(77));
    let (versions, both) =
        tokio::join!(admin.api_versions(99), admin.describe_configs([there.clone(), absent.clone()]));
    let took = began.elapsed();
    assert!((ABSENT_PATIENCE..ABSENT_PATIENCE * 3).contains(&took), "{took:?}");
    let error = versions.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error.to_string().contains("the cluster has no broker 99, it has 0, 1"), "{error}");
    let both = both.unwrap();
    assert!(both[&there].is_ok(), "{both:?}");
    assert_eq!(both[&absent].as_ref().unwrap_err().kind(), ErrorKind::Invalid);
}
