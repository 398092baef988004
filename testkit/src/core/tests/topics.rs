//! Metadata, cluster, features, creation and deletion of topics.

use ackflow_protocol::messages::api_versions::{ApiVersionsRequest, ApiVersionsResponse};
use ackflow_protocol::messages::create_partitions::{
    CreatePartitionsAssignment, CreatePartitionsRequest, CreatePartitionsTopic,
};
use ackflow_protocol::messages::create_topics::{
    CreatableReplicaAssignment, CreatableTopic, CreatableTopicConfig, CreateTopicsRequest,
};
use ackflow_protocol::messages::delete_topics::{DeleteTopicState, DeleteTopicsRequest};
use ackflow_protocol::messages::describe_cluster::DescribeClusterRequest;
use ackflow_protocol::messages::find_coordinator::FindCoordinatorRequest;
use ackflow_protocol::messages::metadata::{MetadataRequest, MetadataRequestTopic};
use ackflow_protocol::wire::{ApiKey, ErrorCode, RequestHeader, Uuid, decode_response, frame::SIZE_LENGTH};
use bytes::Bytes;

use super::rig::{Rig, TOPIC};
use crate::core::Answer;
use crate::core::dispatch::served;

fn named(name: &str) -> MetadataRequestTopic {
    MetadataRequestTopic { name: Some(name.to_owned()), ..MetadataRequestTopic::default() }
}

fn by_id(topic_id: Uuid) -> MetadataRequestTopic {
    MetadataRequestTopic { name: None, topic_id }
}

#[test]
fn metadata_names_this_broker_and_its_topics() {
    let mut rig = Rig::new();
    let response = rig.call(1, &MetadataRequest { topics: None, ..MetadataRequest::default() });
    assert_eq!((response.brokers[0].node_id, response.brokers[0].port, response.controller_id), (1, 9092, 1));
    let topic = &response.topics[0];
    assert_eq!((topic.name.as_deref(), topic.topic_id), (Some(TOPIC), rig.topic_id(TOPIC)));
    assert_eq!(topic.partitions.len(), 3);
    assert!(topic.partitions.iter().all(|partition| partition.leader_id == 1 && partition.leader_epoch == 0));

    let some = |topics| MetadataRequest { topics: Some(topics), ..MetadataRequest::default() };
    let response = rig.call(1, &some(vec![by_id(rig.topic_id(TOPIC)), by_id(Uuid([9; 16])), named("bad name")]));
    let codes: Vec<ErrorCode> = response.topics.iter().map(|topic| topic.error_code).collect();
    assert_eq!(codes, [ErrorCode::NONE, ErrorCode::UNKNOWN_TOPIC_ID, ErrorCode::INVALID_TOPIC_EXCEPTION]);
    assert_eq!(rig.call(1, &some(vec![])).topics.len(), 0);
    assert_eq!(rig.call_version(1, 0, &some(vec![])).topics.len(), 1, "in version 0 none means all");
}

#[test]
fn a_topic_is_created_when_it_is_asked_for_and_both_sides_agree() {
    for (setting, asked, created) in [("true", true, true), ("true", false, false), ("false", true, false)] {
        let mut rig = Rig::with(&[("auto.create.topics.enable", setting), ("num.partitions", "4")], &[]);
        let request = MetadataRequest {
            topics: Some(vec![named("new")]),
            allow_auto_topic_creation: asked,
            ..MetadataRequest::default()
        };
        let topic = rig.call(1, &request).topics.remove(0);
        assert_eq!(topic.error_code == ErrorCode::NONE, created);
        assert_eq!(topic.partitions.len(), if created { 4 } else { 0 });
    }
}

#[test]
fn api_versions_lists_what_is_served_and_the_features() {
    let mut rig = Rig::new();
    let request = ApiVersionsRequest {
        client_software_name: "ackflow".to_owned(),
        client_software_version: "0.1.0".to_owned(),
        ..ApiVersionsRequest::default()
    };
    for version in 0..=5 {
        let response = rig.call_version(1, version, &request);
        assert_eq!(response.api_keys.len(), served().count(), "version {version}");
    }
    // Features that begin at level 0 cannot be read before version 4.
    assert_eq!(rig.call_version(1, 3, &request).supported_features, []);
    assert_eq!(rig.call_version(1, 4, &request).supported_features.len(), 3);
    let response = rig.call(1, &request);
    let levels = |response: &ApiVersionsResponse| -> Vec<(String, i16)> {
        response.finalized_features.iter().map(|f| (f.name.clone(), f.max_version_level)).collect()
    };
    let level = |name: &str, level| (name.to_owned(), level);
    assert_eq!(
        levels(&response),
        [level("group.version", 1), level("share.version", 2), level("transaction.version", 2)]
    );
    let fetch = response.api_keys.iter().find(|api| api.api_key == ApiKey::SHARE_FETCH.0).unwrap();
    assert_eq!((fetch.min_version, fetch.max_version), (1, 2));
    let strange = ApiVersionsRequest { client_software_name: "-".to_owned(), ..request.clone() };
    assert_eq!(rig.call(1, &strange).error_code, ErrorCode::INVALID_REQUEST);
    let elsewhere = ApiVersionsRequest { cluster_id: Some("other".to_owned()), node_id: 1, ..request.clone() };
    assert_eq!(rig.call(1, &elsewhere).error_code, ErrorCode::REBOOTSTRAP_REQUIRED);
    rig.cluster.share_version = 0;
    let off = rig.call(1, &request);
    assert_eq!(
        (off.api_keys.len(), off.finalized_features.len()),
        (served().count(), 2),
        "the APIs are listed, the feature is off"
    );
}

#[test]
fn a_too_new_api_versions_request_is_answered_in_version_0() {
    let mut rig = Rig::new();
    let header = RequestHeader {
        request_api_key: ApiKey::API_VERSIONS,
        request_api_version: 99,
        correlation_id: 5,
        client_id: None,
    };
    let connection = rig.connect(1);
    let Answer::Reply(frame) = rig.cluster.handle(rig.now, connection, &header, Bytes::from_static(b"?")) else {
        panic!("not answered")
    };
    let (header, response) = decode_response::<ApiVersionsResponse>(frame.slice(SIZE_LENGTH..), 0).unwrap();
    assert_eq!((header.correlation_id, response.error_code), (5, ErrorCode::UNSUPPORTED_VERSION));
    assert_eq!((response.api_keys[0].min_version, response.api_keys[0].max_version), (0, 5));
}

#[test]
fn the_coordinator_of_groups_and_share_partitions_is_this_broker() {
    let mut rig = Rig::new();
    let request = |key_type, keys: &[String]| FindCoordinatorRequest {
        key_type,
        coordinator_keys: keys.to_vec(),
        ..FindCoordinatorRequest::default()
    };
    let share = format!("g:{}:0", rig.topic_id(TOPIC));
    for (key_type, key, code) in [
        (0, "g", ErrorCode::NONE),
        (2, share.as_str(), ErrorCode::NONE),
        (2, "g", ErrorCode::INVALID_REQUEST),
        (1, "t", ErrorCode::NONE),
        (9, "g", ErrorCode::INVALID_REQUEST),
    ] {
        let found = rig.call(1, &request(key_type, &[key.to_owned()])).coordinators.remove(0);
        assert_eq!((found.error_code, found.node_id), (code, if code.is_none() { 1 } else { -1 }), "{key_type} {key}");
    }
    let old = FindCoordinatorRequest { key: "g".to_owned(), ..FindCoordinatorRequest::default() };
    assert_eq!(rig.call_version(1, 2, &old).node_id, 1);
}

#[test]
fn the_cluster_is_one_broker() {
    let mut rig = Rig::new();
    let response =
        rig.call(1, &DescribeClusterRequest { include_cluster_authorized_operations: true, ..Default::default() });
    assert_eq!((response.brokers.len(), response.controller_id), (1, 1));
    assert_ne!(response.cluster_authorized_operations, i32::MIN);
    let controllers = DescribeClusterRequest { endpoint_type: 2, ..Default::default() };
    assert_eq!(rig.call(1, &controllers).error_code, ErrorCode::MISMATCHED_ENDPOINT_TYPE);
}

fn topic(name: &str, num_partitions: i32, replication_factor: i16) -> CreatableTopic {
    CreatableTopic { name: name.to_owned(), num_partitions, replication_factor, ..CreatableTopic::default() }
}

fn create(rig: &mut Rig, topics: Vec<CreatableTopic>) -> Vec<ErrorCode> {
    let response = rig.call(1, &CreateTopicsRequest { topics, ..CreateTopicsRequest::default() });
    response.topics.iter().map(|topic| topic.error_code).collect()
}

#[test]
fn topics_that_cannot_be_are_refused_one_by_one() {
    let mut rig = Rig::new();
    let long = "x".repeat(250);
    for (name, partitions, replicas, code) in [
        ("good", 2, 1, ErrorCode::NONE),
        ("defaults", -1, -1, ErrorCode::NONE),
        ("good", 2, 1, ErrorCode::TOPIC_ALREADY_EXISTS),
        ("none", 0, 1, ErrorCode::INVALID_PARTITIONS),
        ("many", 20_000, 1, ErrorCode::POLICY_VIOLATION),
        ("copies", 1, 2, ErrorCode::INVALID_REPLICATION_FACTOR),
        ("no-copies", 1, 0, ErrorCode::INVALID_REPLICATION_FACTOR),
        ("bad name", 1, 1, ErrorCode::INVALID_TOPIC_EXCEPTION),
        ("", 1, 1, ErrorCode::INVALID_TOPIC_EXCEPTION),
        ("..", 1, 1, ErrorCode::INVALID_TOPIC_EXCEPTION),
        (long.as_str(), 1, 1, ErrorCode::INVALID_TOPIC_EXCEPTION),
        ("a.b", 1, 1, ErrorCode::NONE),
        ("a_b", 1, 1, ErrorCode::INVALID_TOPIC_EXCEPTION),
    ] {
        assert_eq!(create(&mut rig, vec![topic(name, partitions, replicas)]), [code], "{name}");
    }
    let together = vec![topic("half", 6000, 1), topic("other-half", 6000, 1)];
    assert_eq!(create(&mut rig, together), [ErrorCode::NONE, ErrorCode::POLICY_VIOLATION]);
    let twice = vec![topic("twice", 1, 1), topic("once", 1, 1), topic("twice", 1, 1)];
    assert_eq!(create(&mut rig, twice), [ErrorCode::INVALID_REQUEST, ErrorCode::NONE]);
    let config = CreatableTopicConfig { name: "no.such".to_owned(), value: Some("1".to_owned()) };
    let unknown = CreatableTopic { configs: vec![config], ..topic("configured", 1, 1) };
    assert_eq!(create(&mut rig, vec![unknown]), [ErrorCode::INVALID_CONFIG]);
}

#[test]
fn replicas_can_be_placed_on_this_broker_only() {
    let mut rig = Rig::new();
    let placed = |name: &str, nodes: &[(i32, i32)]| CreatableTopic {
        assignments: nodes
            .iter()
            .map(|&(partition_index, node)| CreatableReplicaAssignment { partition_index, broker_ids: vec![node] })
            .collect(),
        ..topic(name, -1, -1)
    };
    assert_eq!(create(&mut rig, vec![placed("ok", &[(0, 1), (1, 1)])]), [ErrorCode::NONE]);
    assert_eq!(create(&mut rig, vec![placed("far", &[(0, 9)])]), [ErrorCode::INVALID_REPLICA_ASSIGNMENT]);
    assert_eq!(create(&mut rig, vec![placed("hole", &[(1, 1)])]), [ErrorCode::INVALID_REPLICA_ASSIGNMENT]);
}

#[test]
fn validation_creates_nothing() {
    let mut rig = Rig::new();
    let request = CreateTopicsRequest {
        topics: vec![topic("later", 2, 1)],
        validate_only: true,
        ..CreateTopicsRequest::default()
    };
    let validated = rig.call(1, &request).topics.remove(0);
    assert_eq!((validated.error_code, validated.num_partitions), (ErrorCode::NONE, 2));
    assert!(rig.cluster.topics.by_name("later").is_none());
}

#[test]
fn a_topic_of_the_same_name_has_another_id() {
    let mut rig = Rig::new();
    let before = rig.topic_id(TOPIC);
    let delete = |state| DeleteTopicsRequest { topics: vec![state], ..DeleteTopicsRequest::default() };
    let by_name = DeleteTopicState { name: Some(TOPIC.to_owned()), topic_id: Uuid::ZERO };
    assert_eq!(rig.call(1, &delete(by_name.clone())).responses[0].topic_id, before);
    assert_eq!(rig.call(1, &delete(by_name)).responses[0].error_code, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
    let by_id = DeleteTopicState { name: None, topic_id: before };
    assert_eq!(rig.call(1, &delete(by_id)).responses[0].error_code, ErrorCode::UNKNOWN_TOPIC_ID);
    let neither = DeleteTopicState { name: None, topic_id: Uuid::ZERO };
    assert_eq!(rig.call(1, &delete(neither)).responses[0].error_code, ErrorCode::INVALID_REQUEST);
    create(&mut rig, vec![topic(TOPIC, 1, 1)]);
    assert_ne!(rig.topic_id(TOPIC), before);
    let old = DeleteTopicsRequest { topic_names: vec![TOPIC.to_owned()], ..DeleteTopicsRequest::default() };
    assert_eq!(rig.call_version(1, 5, &old).responses[0].error_code, ErrorCode::NONE);
}

#[test]
fn a_topic_gets_more_partitions_and_never_fewer() {
    let mut rig = Rig::with_nodes(2, &[], &[]);
    let topic = |count, assignments: Option<Vec<Vec<i32>>>| CreatePartitionsTopic {
        name: TOPIC.to_owned(),
        count,
        assignments: assignments.map(|assignments| {
            assignments.into_iter().map(|broker_ids| CreatePartitionsAssignment { broker_ids }).collect()
        }),
    };
    let mut create = |topics, validate_only| {
        let request = CreatePartitionsRequest { topics, timeout_ms: 1_000, validate_only };
        let results = rig.call(1, &request).results;
        (results[0].error_code, rig.cluster.topics.by_name(TOPIC).unwrap().partitions.len(), results.len())
    };
    assert_eq!(create(vec![topic(3, None)], false), (ErrorCode::INVALID_PARTITIONS, 3, 1));
    assert_eq!(create(vec![topic(2, None)], false), (ErrorCode::INVALID_PARTITIONS, 3, 1));
    assert_eq!(create(vec![topic(1_000_000_000, None)], false), (ErrorCode::POLICY_VIOLATION, 3, 1));
    assert_eq!(create(vec![topic(4, None), topic(5, None)], false), (ErrorCode::INVALID_REQUEST, 3, 1));
    assert_eq!(create(vec![topic(5, None)], true), (ErrorCode::NONE, 3, 1));
    assert_eq!(create(vec![topic(5, Some(vec![vec![1]]))], false), (ErrorCode::INVALID_REPLICA_ASSIGNMENT, 3, 1));
    assert_eq!(create(vec![topic(4, Some(vec![vec![7]]))], false), (ErrorCode::INVALID_REPLICA_ASSIGNMENT, 3, 1));
    assert_eq!(create(vec![topic(5, None)], false), (ErrorCode::NONE, 5, 1));
    assert_eq!(create(vec![topic(6, Some(vec![vec![2]]))], false), (ErrorCode::NONE, 6, 1));
    let other = CreatePartitionsTopic { name: "other".to_owned(), ..topic(2, None) };
    assert_eq!(create(vec![other], false).0, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
    let leaders: Vec<_> = (0..6).map(|partition| rig.cluster.leader(TOPIC, partition).unwrap()).collect();
    assert_eq!(leaders, [Some(1), Some(2), Some(1), Some(2), Some(1), Some(2)]);
}
