//! What holds for every message, and what the bytes of single ones show.

use bytes::Bytes;
use proptest::prelude::*;

use super::share_fetch::{self, PartitionData, ShareFetchResponse, ShareFetchableTopicResponse};
use super::share_group_heartbeat::{self, ShareGroupHeartbeatResponse};
use super::*;
use crate::for_each_api;
use crate::wire::{DecodeErrorKind, ErrorCode, Message, Request, Uuid};

/// Calls a generic function with every request and response.
macro_rules! with_every_message {
    ($function:ident, $args:tt; $($name:ident($request:ty, $response:ty)),* $(,)?) => {$(
        $function::<$request>$args;
        $function::<$response>$args;
    )*};
}

fn default_round_trips<M: Message>() {
    for version in M::VERSIONS {
        let bytes = M::default().to_bytes(version).unwrap();
        assert_eq!(M::default().size(version).unwrap(), bytes.len(), "{} v{version}", M::NAME);
        assert_eq!(M::from_bytes(bytes, version).unwrap(), M::default(), "{} v{version}", M::NAME);
    }
}

#[test]
fn defaults_round_trip_in_every_version() {
    for_each_api!(with_every_message, default_round_trips, ());
}

#[cfg(feature = "json")]
fn default_round_trips_as_json<M: Message>() {
    for version in M::VERSIONS {
        let json = crate::wire::JsonWriter::to_json(&M::default(), version).unwrap();
        let read: M = crate::wire::JsonReader::from_json(&json, version).unwrap();
        assert_eq!(read, M::default(), "{} v{version}", M::NAME);
    }
}

#[cfg(feature = "json")]
#[test]
fn defaults_round_trip_as_json_in_every_version() {
    for_each_api!(with_every_message, default_round_trips_as_json, ());
}

// Mutation: protocol/src/wire/decoder.rs
// - if self.version() >= version { field(self) } else { self.of_another_version(default, field) }
// + if self.version() >= version { field(self) } else { Ok(default) }
#[cfg(feature = "json")]
#[test]
fn json_that_says_what_its_version_cannot_is_refused_as_by_kafka() {
    let bytes = |name: &str, version: i16, json: serde_json::Value| {
        let codec = dynamic::Codec::find(name, dynamic::Kind::Request, version).unwrap();
        codec.json_to_bytes(&json).map_err(|error| error.to_string())
    };
    let election = |kind: i8| serde_json::json!({"electionType": kind, "topicPartitions": null, "timeoutMs": 5});
    let refused = bytes("ElectLeaders", 0, election(1)).unwrap_err();
    assert!(refused.contains("electionType is set, but this version does not have it"), "{refused}");
    // The default, and nothing at all, are the same.
    let nothing = bytes("ElectLeaders", 0, serde_json::json!({"topicPartitions": null, "timeoutMs": 5}));
    assert_eq!(bytes("ElectLeaders", 0, election(0)), nothing);
    assert_eq!(nothing.unwrap(), b"\xff\xff\xff\xff\0\0\0\x05"[..]);
    // Of a field that is there, the type has to be right.
    let wrong =
        bytes("ElectLeaders", 0, serde_json::json!({"electionType": "x", "topicPartitions": null, "timeoutMs": 5}));
    assert!(wrong.unwrap_err().contains("electionType"));
}

fn registry_holds<R: Request>(name: &str) {
    assert_eq!(R::KEY.name(), Some(name));
    assert_eq!((R::NAME, <R::Response as Message>::NAME), (&*format!("{name}Request"), &*format!("{name}Response")));
    assert_eq!((R::KEY, R::VERSIONS), (R::Response::KEY, R::Response::VERSIONS), "{name}");
    assert!(R::NEWEST_STABLE == -1 || R::VERSIONS.contains(&R::NEWEST_STABLE), "{name}");
    for version in R::VERSIONS {
        let flexible = (R::is_flexible(version), R::Response::is_flexible(version));
        let header = R::KEY.request_is_flexible(version);
        assert_eq!(flexible, (header, header), "{name} v{version}");
    }
}

#[test]
fn requests_responses_and_keys_agree() {
    macro_rules! check {
        ($($name:ident($request:ty, $response:ty)),* $(,)?) => {$(
            registry_holds::<$request>(stringify!($name));
            let _: Option<$response> = None::<<$request as Request>::Response>;
        )*};
    }
    for_each_api!(check);
}

fn reads_or_fails<M: Message>(bytes: &Bytes) {
    for version in M::VERSIONS {
        if let Ok(message) = M::from_bytes(bytes.clone(), version) {
            let again = message.to_bytes(version).unwrap();
            assert_eq!(M::from_bytes(again, version).unwrap(), message, "{} v{version}", M::NAME);
        }
    }
}

proptest! {
    // Mutation: protocol/src/wire/reader.rs
    // - Ok(length) if length <= self.left() => Ok(Some(length)),
    // + Ok(length) => Ok(Some(length)),
    #[test]
    fn row_46_any_bytes_give_a_message_or_an_error(
        // Small bytes are lengths that fit, so that reading goes deep.
        bytes in prop::collection::vec(prop_oneof![4 => 0..4_u8, 1 => any::<u8>()], 0..160)
    ) {
        let bytes = Bytes::from(bytes);
        for_each_api!(with_every_message, reads_or_fails, (&bytes));
    }
}

// Mutation: protocol/src/wire/reader.rs
// - Err(_) if length == -1 && null_allowed => Ok(None),
// + Err(_) if length == -1 && null_allowed => Ok(Some(0)),
#[test]
fn row_46_a_null_array_is_null_where_that_is_legal() {
    let topics = |bytes: &[u8], version| {
        let all = [bytes, &[1, 0, 0]].concat();
        let all = if version < 9 { all } else { [&all[..], &[0]].concat() };
        metadata::MetadataRequest::from_bytes(Bytes::from(all), version).map(|request| request.topics)
    };
    assert_eq!(topics(&[0xff; 4], 8).unwrap(), None);
    assert_eq!(topics(&[0; 4], 8).unwrap(), Some(vec![]));
    assert_eq!(topics(&[0], 9).unwrap(), None);
    assert_eq!(topics(&[1], 9).unwrap(), Some(vec![]));
    // Before version 1 null is illegal, and nothing else follows.
    let error = metadata::MetadataRequest::from_bytes(Bytes::from_static(&[0xff; 4]), 0).unwrap_err();
    assert_eq!(error.kind(), &DecodeErrorKind::Null);
}

/// ShareFetchResponse v2 by hand: one partition with records of length 0, one with null.
fn share_fetch_by_hand() -> Bytes {
    let leader = [1, 2, 3, 4, 0, 0, 0, 7, 0];
    let no_errors = [0, 0, 0, 0, 0, 0];
    Bytes::from(
        [
            &[0, 0, 0, 0, 0, 0, 0, 0, 0, 0x75, 0x30][..], // throttle, error, message, lock of 30 s
            &[2],                                         // one topic
            &[9; 16],
            &[3], // two partitions
            &[0, 0, 0, 5],
            &no_errors,
            &leader,
            &[1, 1, 0], // records of length 0, nothing acquired, no tags
            &[0, 0, 0, 6],
            &no_errors,
            &leader,
            &[0, 2], // records null, one range
            &[0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 3, 0],
            &[0],
            &[0, 1, 0], // the topic's tags, no endpoints, the message's tags
        ]
        .concat(),
    )
}

// Mutation: protocol/src/messages/share_fetch.rs
// - r.structure("currentLeader")?
// + r.nullable_structure("currentLeader")?.unwrap_or_default()
#[test]
fn row_22_share_fetch_leader_has_no_marker_and_both_forms_of_no_records_are_read() {
    let response = ShareFetchResponse::from_bytes(share_fetch_by_hand(), 2).unwrap();
    let current_leader = share_fetch::LeaderIdAndEpoch { leader_id: 0x0102_0304, leader_epoch: 7 };
    let empty = PartitionData {
        partition_index: 5,
        current_leader: current_leader.clone(),
        records: Some(Bytes::new()),
        ..PartitionData::default()
    };
    let null = PartitionData {
        partition_index: 6,
        current_leader,
        records: None,
        acquired_records: vec![share_fetch::AcquiredRecords { first_offset: 1, last_offset: 2, delivery_count: 3 }],
        ..PartitionData::default()
    };
    assert_eq!(
        response,
        ShareFetchResponse {
            acquisition_lock_timeout_ms: 30_000,
            responses: vec![ShareFetchableTopicResponse { topic_id: Uuid([9; 16]), partitions: vec![empty, null] }],
            ..ShareFetchResponse::default()
        }
    );
    assert_eq!(response.to_bytes(2).unwrap(), share_fetch_by_hand());
}

// Mutation: protocol/src/messages/share_acknowledge.rs
// - r.structure("currentLeader")?
// + r.nullable_structure("currentLeader")?.unwrap_or_default()
#[test]
fn row_22_share_acknowledge_leader_has_no_marker() {
    let by_hand = [
        &[0, 0, 0, 0, 0, 0, 0][..],
        &[2],
        &[9; 16],
        &[2],
        &[0, 0, 0, 5, 0, 6, 0],
        &[1, 2, 3, 4, 0, 0, 0, 7, 0],
        &[0, 0, 1, 0],
    ]
    .concat();
    let response = share_acknowledge::ShareAcknowledgeResponse::from_bytes(Bytes::from(by_hand.clone()), 1).unwrap();
    let partition = &response.responses[0].partitions[0];
    assert_eq!((partition.partition_index, partition.error_code), (5, ErrorCode::NOT_LEADER_OR_FOLLOWER));
    assert_eq!((partition.current_leader.leader_id, partition.current_leader.leader_epoch), (0x0102_0304, 7));
    assert_eq!(response.to_bytes(1).unwrap(), by_hand);
}

// Mutation: protocol/src/messages/share_group_heartbeat.rs
// - r.nullable_structure("assignment")?
// + Some(r.structure("assignment")?)
#[test]
fn row_22_heartbeat_assignment_has_a_marker() {
    let body = |assignment: &[u8]| {
        let bytes = [&[0, 0, 0, 0, 0, 0, 0, 2, b'm', 0, 0, 0, 1, 0, 0, 0, 5], assignment, &[0]].concat();
        ShareGroupHeartbeatResponse::from_bytes(Bytes::from(bytes), 1)
    };
    assert_eq!(body(&[0xff]).unwrap().assignment, None);
    assert_eq!(body(&[1, 1, 0]).unwrap().assignment, Some(share_group_heartbeat::Assignment::default()));
    let error = body(&[0, 1, 0]).unwrap_err();
    assert_eq!((error.path().as_str(), error.kind()), ("assignment", &DecodeErrorKind::Marker(0)));
}

// Mutation: protocol/src/messages/metadata.rs
// - name: r.nullable_since(12).nullable_string("name")?,
// + name: Some(r.string("name")?),
#[test]
fn row_26_a_topic_that_was_asked_for_by_id_may_have_no_name() {
    let topic = |name: Option<&str>| metadata::MetadataResponse {
        topics: vec![metadata::MetadataResponseTopic {
            error_code: ErrorCode::UNKNOWN_TOPIC_ID,
            name: name.map(str::to_owned),
            topic_id: Uuid([9; 16]),
            ..Default::default()
        }],
        ..Default::default()
    };
    let bytes = topic(None).to_bytes(12).unwrap();
    assert_eq!(metadata::MetadataResponse::from_bytes(bytes.clone(), 12).unwrap(), topic(None));
    assert_eq!(topic(None).to_bytes(11).unwrap_err().field(), "name");
    // The same bytes in a version that knows no such topic.
    assert_eq!(metadata::MetadataResponse::from_bytes(bytes, 11).unwrap_err().path(), "topics[0].name");
}

// Mutation: protocol/src/messages/share_group_describe.rs
// - w.string("topicName", &self.topic_name);
// +
#[test]
fn row_50_structs_of_one_name_are_scoped_by_message() {
    let heartbeat = ShareGroupHeartbeatResponse {
        assignment: Some(share_group_heartbeat::Assignment {
            topic_partitions: vec![share_group_heartbeat::TopicPartitions {
                topic_id: Uuid([9; 16]),
                partitions: vec![1],
            }],
        }),
        ..Default::default()
    };
    let member = share_group_describe::Member {
        assignment: share_group_describe::Assignment {
            topic_partitions: vec![share_group_describe::TopicPartitions {
                topic_id: Uuid([9; 16]),
                topic_name: "t".into(),
                partitions: vec![1],
            }],
        },
        ..Default::default()
    };
    let described = share_group_describe::ShareGroupDescribeResponse {
        groups: vec![share_group_describe::DescribedGroup { members: vec![member], ..Default::default() }],
        ..Default::default()
    };
    let contains = |bytes: Bytes, part: &[u8]| bytes.windows(part.len()).any(|window| window == part);
    let id_alone = [&[1, 2][..], &[9; 16], &[2, 0, 0, 0, 1, 0, 0]].concat();
    let id_and_name = [&[2][..], &[9; 16], &[2, b't', 2, 0, 0, 0, 1, 0, 0]].concat();
    assert!(contains(heartbeat.to_bytes(1).unwrap(), &id_alone));
    assert!(contains(described.to_bytes(1).unwrap(), &id_and_name));
}

// Mutation: protocol/src/wire/reader.rs
// - self.at = end;
// +
#[test]
fn row_50_unknown_tags_are_skipped_at_every_level() {
    let seven = [&[7, 0xac, 0x02][..], &[0xee; 300]].concat(); // tag 7 of 300 bytes
    let two_hundred = [200, 1, 0]; // tag 200, empty
    let unknown = [&[2][..], &seven, &two_hundred].concat();
    let feature = [&[2, 2, b'f', 0, 1, 0, 2][..], &unknown].concat(); // an array of one feature
    let size = [(feature.len() % 128) as u8 | 0x80, (feature.len() / 128) as u8];
    let body = [
        &[0, 0, 2, 0, 78, 0, 1, 0, 2][..], // no error, one API
        &unknown,
        &[0, 0, 0, 0, 3, 0], // throttle, three tags, the first is 0
        &size,
        &feature,
        &seven,
        &two_hundred,
    ]
    .concat();
    let response = api_versions::ApiVersionsResponse::from_bytes(Bytes::from(body), 3).unwrap();
    let api = api_versions::ApiVersion { api_key: 78, min_version: 1, max_version: 2 };
    let feature = api_versions::SupportedFeatureKey { name: "f".into(), min_version: 1, max_version: 2 };
    assert_eq!(
        response,
        api_versions::ApiVersionsResponse {
            api_keys: vec![api],
            supported_features: vec![feature],
            ..Default::default()
        }
    );
}

// Mutation: protocol/src/messages/api_versions.rs
// - w.tag(1, self.finalized_features_epoch != -1, |w| {
// + w.tag(4, self.finalized_features_epoch != -1, |w| {
#[test]
fn row_50_tags_are_written_in_rising_order() {
    let response = api_versions::ApiVersionsResponse {
        finalized_features_epoch: 5,
        zk_migration_ready: true,
        ..Default::default()
    };
    let tags = [2, 1, 8, 0, 0, 0, 0, 0, 0, 0, 5, 3, 1, 1];
    assert_eq!(response.to_bytes(3).unwrap()[7..], tags);
    assert_eq!(api_versions::ApiVersionsResponse::from_bytes(response.to_bytes(3).unwrap(), 3).unwrap(), response);
}

#[test]
fn tagged_field_of_a_later_version_is_unknown_to_an_earlier_one() {
    let partition = produce::PartitionProduceResponse {
        current_leader: produce::LeaderIdAndEpoch { leader_id: 3, leader_epoch: 4 },
        ..Default::default()
    };
    let topic = produce::TopicProduceResponse { partition_responses: vec![partition], ..Default::default() };
    let response = produce::ProduceResponse { responses: vec![topic], ..Default::default() };
    let bytes = response.to_bytes(10).unwrap();
    // Versions 9 and 10 differ in nothing but the tags.
    let as_nine = produce::ProduceResponse::from_bytes(bytes, 9).unwrap();
    assert_eq!(as_nine.responses[0].partition_responses[0].current_leader.leader_id, -1);
    for version in [3, 9] {
        let refused = response.to_bytes(version).unwrap_err().to_string();
        assert_eq!(
            refused,
            format!("ProduceResponse v{version}: currentLeader is set, but this version does not have it")
        );
    }
}

#[test]
fn versions_refuse_what_they_would_have_to_drop() {
    let refused = |result: Result<Bytes, crate::wire::EncodeError>| result.unwrap_err().field();
    let renewal = share_fetch::ShareFetchRequest { is_renew_ack: true, share_acquire_mode: 1, ..Default::default() };
    assert_eq!(refused(renewal.to_bytes(1)), "isRenewAck");
    let by_mode = share_fetch::ShareFetchRequest { share_acquire_mode: 1, ..Default::default() };
    assert!(by_mode.to_bytes(1).is_ok(), "the schema lets the mode be dropped");

    let all = metadata::MetadataRequest { topics: None, ..Default::default() };
    assert_eq!(refused(all.to_bytes(0)), "topics");
    let cluster = metadata::MetadataRequest { include_cluster_authorized_operations: true, ..Default::default() };
    assert_eq!(refused(cluster.to_bytes(7)), "includeClusterAuthorizedOperations");
    assert!((8..=10).all(|version| cluster.to_bytes(version).is_ok()));
    assert_eq!(refused(cluster.to_bytes(11)), "includeClusterAuthorizedOperations");

    let one = find_coordinator::FindCoordinatorRequest { key: "g".into(), ..Default::default() };
    assert_eq!(refused(one.to_bytes(4)), "key");
    let many = find_coordinator::FindCoordinatorRequest { coordinator_keys: vec!["g".into()], ..Default::default() };
    assert_eq!(refused(many.to_bytes(3)), "coordinatorKeys");
}

#[test]
fn versions_without_a_tagged_field_refuse_it_flexible_or_not() {
    let replica_state = fetch::ReplicaState { replica_id: 3, replica_epoch: 4 };
    let of_follower = fetch::FetchRequest { replica_state, cluster_id: Some("c".into()), ..Default::default() };
    for version in fetch::FetchRequest::VERSIONS {
        match of_follower.to_bytes(version) {
            Ok(bytes) => assert_eq!(fetch::FetchRequest::from_bytes(bytes, version).unwrap(), of_follower),
            Err(e) => assert_eq!(e.field(), "replicaState", "v{version}"),
        }
        assert_eq!(of_follower.to_bytes(version).is_ok(), version >= 15, "v{version}");
        assert_eq!(of_follower.size(version).is_ok(), version >= 15, "v{version}");
    }
    // The schema lets the cluster id be dropped.
    let of_consumer = fetch::FetchRequest { cluster_id: Some("c".into()), ..Default::default() };
    let read = |version| fetch::FetchRequest::from_bytes(of_consumer.to_bytes(version).unwrap(), version).unwrap();
    assert_eq!((read(11).cluster_id, read(12).cluster_id.as_deref()), (None, Some("c")));
}

#[test]
fn secrets_are_not_shown() {
    let secret = Bytes::from_static(b"secret-of-the-test");
    let login = sasl_authenticate::SaslAuthenticateRequest { auth_bytes: secret.clone() };
    assert_eq!(format!("{login:?}"), "SaslAuthenticateRequest { auth_bytes: <18 bytes> }");
    let answer = sasl_authenticate::SaslAuthenticateResponse { auth_bytes: secret.clone(), ..Default::default() };
    let credential = alter_user_scram_credentials::ScramCredentialUpsertion {
        name: "alice".into(),
        salt: secret.clone(),
        salted_password: secret.clone(),
        ..Default::default()
    };
    let credentials = alter_user_scram_credentials::AlterUserScramCredentialsRequest {
        upsertions: vec![credential],
        ..Default::default()
    };
    let value = Some("secret-of-the-test".to_owned());
    let config = alter_configs::AlterableConfig { name: "ssl.key.password".into(), value: value.clone() };
    let resource = alter_configs::AlterConfigsResource { configs: vec![config], ..Default::default() };
    let configs = alter_configs::AlterConfigsRequest { resources: vec![resource], ..Default::default() };
    let change = incremental_alter_configs::AlterableConfig {
        name: "ssl.key.password".into(),
        value: value.clone(),
        ..Default::default()
    };
    let resource = incremental_alter_configs::AlterConfigsResource { configs: vec![change], ..Default::default() };
    let changes =
        incremental_alter_configs::IncrementalAlterConfigsRequest { resources: vec![resource], ..Default::default() };
    for (shown, secrets) in [
        (format!("{answer:?}"), 1),
        (format!("{credentials:?}"), 2),
        (format!("{configs:?}"), 1),
        (format!("{changes:?}"), 1),
    ] {
        assert_eq!(shown.matches("<18 bytes>").count(), secrets, "{shown}");
        assert!(!shown.contains("secret-of-the-test"), "{shown}");
    }
}

#[test]
fn records_are_slices_of_the_response() {
    let records = Bytes::from(vec![0xab; 1000]);
    let partition = PartitionData { records: Some(records.clone()), ..PartitionData::default() };
    let topic = ShareFetchableTopicResponse { partitions: vec![partition], ..Default::default() };
    let frame = ShareFetchResponse { responses: vec![topic], ..Default::default() }.to_bytes(2).unwrap();
    let response = ShareFetchResponse::from_bytes(frame.clone(), 2).unwrap();
    let read = response.responses[0].partitions[0].records.clone().unwrap();
    assert_eq!(read, records);
    assert!(frame.as_ptr_range().contains(&read.as_ptr()), "the records were copied");
}
