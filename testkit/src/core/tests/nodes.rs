//! Several nodes: leaders, coordinators, nodes that die.

use std::time::Duration;

use ackflow_protocol::messages::describe_cluster::DescribeClusterRequest;
use ackflow_protocol::messages::find_coordinator::FindCoordinatorRequest;
use ackflow_protocol::messages::list_groups::ListGroupsRequest;
use ackflow_protocol::messages::metadata::{MetadataRequest, MetadataResponsePartition};
use ackflow_protocol::messages::produce::{PartitionProduceData, ProduceRequest, TopicProduceData};
use ackflow_protocol::messages::share_fetch::ShareFetchRequest;
use ackflow_protocol::messages::share_group_heartbeat::ShareGroupHeartbeatRequest;
use ackflow_protocol::wire::ErrorCode;

use super::rig::{GROUP, Member, Rig, STARTED_MS, TOPIC, batch};
use crate::core::{Answer, ConnectionId, Output};

const NOTICED: Duration = Duration::from_secs(3);

fn cluster() -> Rig {
    Rig::with_nodes(3, &[], &[])
}

/// The partitions of [`TOPIC`] as a node describes them.
fn partitions(rig: &mut Rig, connection: u64) -> Vec<MetadataResponsePartition> {
    let response = rig.call(connection, &MetadataRequest { topics: None, ..MetadataRequest::default() });
    let topic = response.topics.into_iter().find(|topic| topic.name.as_deref() == Some(TOPIC));
    topic.unwrap().partitions
}

fn leaders(rig: &mut Rig, connection: u64) -> Vec<(i32, i32)> {
    partitions(rig, connection).iter().map(|partition| (partition.leader_id, partition.leader_epoch)).collect()
}

fn coordinator(rig: &mut Rig, connection: u64) -> (ErrorCode, i32) {
    let request = FindCoordinatorRequest { coordinator_keys: vec![GROUP.to_owned()], ..Default::default() };
    let found = rig.call(connection, &request).coordinators.remove(0);
    (found.error_code, found.node_id)
}

fn heartbeat(rig: &mut Rig, connection: u64, member: &str, epoch: i32) -> ErrorCode {
    let request = ShareGroupHeartbeatRequest {
        group_id: GROUP.to_owned(),
        member_id: member.to_owned(),
        member_epoch: epoch,
        subscribed_topic_names: (epoch == 0).then(|| vec![TOPIC.to_owned()]),
        ..ShareGroupHeartbeatRequest::default()
    };
    rig.call(connection, &request).error_code
}

#[test]
fn every_node_describes_the_cluster_alike_and_leads_a_part_of_it() {
    let mut rig = cluster();
    for connection in [101, 201, 301] {
        let response = rig.call(connection, &DescribeClusterRequest { endpoint_type: 1, ..Default::default() });
        let brokers: Vec<(i32, i32)> = response.brokers.iter().map(|node| (node.broker_id, node.port)).collect();
        assert_eq!(brokers, [(1, 9092), (2, 9093), (3, 9094)]);
        assert_eq!(leaders(&mut rig, connection), [(1, 0), (2, 0), (3, 0)]);
    }
    let described = partitions(&mut rig, 101).remove(1);
    assert_eq!((described.replica_nodes, described.isr_nodes), (vec![2, 3, 1], vec![2, 3, 1]));
}

#[test]
fn a_node_that_does_not_lead_names_the_leader_and_knows_no_records() {
    let mut rig = cluster();
    rig.produce(1, 4);
    let mut member = Member::new(&rig, "m1", 101, &[0, 1]);
    let request = member.request(10);
    let response = rig.call(101, &request);
    let refused = &response.responses[0].partitions[1];
    assert_eq!(
        (refused.error_code, refused.acknowledge_error_code),
        (ErrorCode::NOT_LEADER_OR_FOLLOWER, ErrorCode::NONE)
    );
    assert_eq!((refused.current_leader.leader_id, refused.current_leader.leader_epoch), (2, 0));
    let endpoints: Vec<(i32, i32)> = response.node_endpoints.iter().map(|node| (node.node_id, node.port)).collect();
    assert_eq!(endpoints, [(2, 9093)]);

    let request = member.acknowledgement(1, &[(0, 3, &[1])]);
    let response = rig.call(101, &request);
    assert_eq!(response.responses[0].partitions[0].error_code, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
    assert!(response.node_endpoints.is_empty());
}

#[test]
fn a_producer_is_sent_to_the_leader() {
    let mut rig = cluster();
    let topic_id = rig.topic_id(TOPIC);
    let data = PartitionProduceData { index: 2, records: Some(batch(1, STARTED_MS)) };
    let request = ProduceRequest {
        acks: -1,
        topic_data: vec![TopicProduceData { topic_id, partition_data: vec![data], ..Default::default() }],
        ..ProduceRequest::default()
    };
    let response = rig.call(101, &request);
    let refused = &response.responses[0].partition_responses[0];
    assert_eq!((refused.error_code, refused.current_leader.leader_id), (ErrorCode::NOT_LEADER_OR_FOLLOWER, 3));
    assert_eq!(response.node_endpoints[0].node_id, 3);
    let response = rig.call(301, &request);
    assert_eq!(response.responses[0].partition_responses[0].error_code, ErrorCode::NONE);
    assert!(response.node_endpoints.is_empty());
}

#[test]
fn a_leader_change_forgets_who_holds_what_and_counts_no_attempt() {
    let mut rig = cluster();
    rig.produce(0, 4);
    let mut old = Member::new(&rig, "m1", 101, &[0]);
    assert_eq!(old.fetch(&mut rig, 10), "0[0-3x1]");
    assert_eq!(old.ack_all(&mut rig, &[(0, 0, &[1]), (1, 1, &[2])]), ErrorCode::NONE);
    assert_eq!(old.fetch(&mut rig, 10), "0[1-1x2]");

    rig.cluster.move_leader(rig.now, TOPIC, 0, 2).unwrap();
    assert_eq!(leaders(&mut rig, 301)[0], (2, 1));
    assert_eq!(old.ack(&mut rig, 2, 3, 1), ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
    assert_eq!(old.fetch(&mut rig, 10), "0[]!NOT_LEADER_OR_FOLLOWER");
    let mut new = Member::new(&rig, "m1", 201, &[0]);
    assert_eq!(new.fetch(&mut rig, 10), "0[1-1x2 2-3x1]", "what was released counts, what was held does not");
    assert_eq!(new.ack(&mut rig, 1, 3, 1), ErrorCode::NONE);
    assert_eq!(rig.lag(0), Some(0));
}

#[test]
fn a_fetch_that_waits_at_the_old_leader_is_answered_when_the_leader_moves() {
    let mut rig = cluster();
    let mut member = Member::new(&rig, "m1", 101, &[0]);
    assert_eq!(member.fetch_waiting(&mut rig, Duration::from_secs(5)), None);
    rig.cluster.move_leader(rig.now, TOPIC, 0, 3).unwrap();
    assert_eq!(rig.ready(), Some((101, "0[]!NOT_LEADER_OR_FOLLOWER".to_owned())));
}

#[test]
fn the_end_of_a_session_gives_back_nothing_that_another_node_has_acquired_for_the_member() {
    let mut rig = cluster();
    rig.produce(0, 2);
    let mut old = Member::new(&rig, "m1", 101, &[0]);
    assert_eq!(old.fetch(&mut rig, 10), "0[0-1x1]");
    rig.cluster.move_leader(rig.now, TOPIC, 0, 2).unwrap();
    let mut new = Member::new(&rig, "m1", 201, &[0]);
    assert_eq!(new.fetch(&mut rig, 10), "0[0-1x1]");
    rig.disconnect(101);
    assert_eq!(new.ack(&mut rig, 0, 1, 1), ErrorCode::NONE, "it is still held");
}

#[test]
fn a_killed_node_is_missed_only_after_a_while() {
    let mut rig = cluster();
    rig.produce(0, 3);
    let mut member = Member::new(&rig, "m1", 101, &[0]);
    assert_eq!(member.fetch(&mut rig, 10), "0[0-2x1]");
    rig.cluster.kill_node(rig.now, 1, NOTICED).unwrap();
    assert!(matches!(rig.cluster.poll(rig.now), Some(Output::Close(ConnectionId(101), _))));
    assert_eq!(rig.cluster.poll(rig.now), None);
    assert!(!rig.cluster.connected(ConnectionId(102), 1, std::net::Ipv4Addr::LOCALHOST.into()));
    assert_eq!(leaders(&mut rig, 201), [(1, 0), (2, 0), (3, 0)], "nobody has noticed");

    assert_eq!(rig.next(), NOTICED);
    assert_eq!(rig.cluster.poll(rig.now), None);
    assert_eq!(leaders(&mut rig, 201), [(2, 1), (2, 0), (3, 0)]);
    let described = partitions(&mut rig, 201).remove(0);
    assert_eq!((described.isr_nodes, described.offline_replicas), (vec![2, 3], vec![1]));
    let mut other = Member::new(&rig, "m1", 201, &[0]);
    assert_eq!(other.fetch(&mut rig, 10), "0[0-2x1]", "with the count that they had");

    rig.cluster.start_node(rig.now, 1).unwrap();
    assert_eq!(leaders(&mut rig, 103), [(2, 1), (2, 0), (3, 0)], "leaders stay where they are");
    rig.cluster.elect_preferred_leaders(rig.now);
    assert_eq!(leaders(&mut rig, 103), [(1, 2), (2, 0), (3, 0)]);
}

#[test]
fn a_node_that_comes_back_before_it_is_missed_has_lost_its_place() {
    let mut rig = cluster();
    rig.cluster.kill_node(rig.now, 1, NOTICED).unwrap();
    rig.cluster.start_node(rig.now, 1).unwrap();
    assert_eq!(leaders(&mut rig, 201)[0], (2, 1));
    rig.next();
    assert_eq!(rig.cluster.poll(rig.now), None);
    assert!(rig.cluster.is_running(1), "what was noticed late is about the process before");
    assert_eq!(partitions(&mut rig, 101)[0].isr_nodes, [1, 2, 3]);
}

#[test]
fn a_partition_without_replicas_elsewhere_waits_for_its_node() {
    let mut rig = Rig::with_nodes(2, &[("default.replication.factor", "1")], &[]);
    rig.produce(0, 3);
    let mut member = Member::new(&rig, "m1", 101, &[0]);
    assert_eq!(member.fetch(&mut rig, 10), "0[0-2x1]");
    rig.cluster.kill_node(rig.now, 1, Duration::ZERO).unwrap();
    let described = partitions(&mut rig, 201).remove(0);
    assert_eq!((described.error_code, described.leader_id), (ErrorCode::LEADER_NOT_AVAILABLE, -1));
    let mut elsewhere = Member::new(&rig, "m1", 201, &[0]);
    assert_eq!(elsewhere.fetch(&mut rig, 10), "0[]!NOT_LEADER_OR_FOLLOWER");

    rig.cluster.start_node(rig.now, 1).unwrap();
    rig.cluster.poll(rig.now);
    let mut again = Member::new(&rig, "m1", 102, &[0]);
    assert_eq!(again.fetch(&mut rig, 10), "0[0-2x1]");
}

#[test]
fn a_group_is_coordinated_by_one_node_at_a_time() {
    let mut rig = cluster();
    let (code, first) = coordinator(&mut rig, 101);
    assert_eq!(code, ErrorCode::NONE);
    let (here, elsewhere) = (u64::try_from(first).unwrap() * 100, u64::try_from(first % 3 + 1).unwrap() * 100);
    assert_eq!(heartbeat(&mut rig, elsewhere, "m1", 0), ErrorCode::NOT_COORDINATOR);
    assert_eq!(heartbeat(&mut rig, here, "m1", 0), ErrorCode::NONE);
    let listed = |rig: &mut Rig, at| rig.call(at, &ListGroupsRequest::default()).groups.len();
    assert_eq!((listed(&mut rig, here), listed(&mut rig, elsewhere)), (1, 0));

    let second = first % 3 + 1;
    rig.advance(Duration::from_secs(30));
    rig.cluster.move_coordinator(rig.now, GROUP, second).unwrap();
    assert_eq!(coordinator(&mut rig, here), (ErrorCode::NONE, second));
    assert_eq!(heartbeat(&mut rig, here, "m1", 1), ErrorCode::NOT_COORDINATOR);
    rig.advance(Duration::from_secs(44));
    rig.cluster.poll(rig.now);
    assert_ne!(heartbeat(&mut rig, elsewhere, "m1", 0), ErrorCode::NOT_COORDINATOR);
    assert_eq!(rig.cluster.groups.get(GROUP).unwrap().members.len(), 1, "its session began anew with the coordinator");

    rig.cluster.kill_node(rig.now, second, NOTICED).unwrap();
    rig.cluster.poll(rig.now);
    assert_eq!(coordinator(&mut rig, here), (ErrorCode::NONE, second), "nobody has noticed");
    rig.next();
    rig.cluster.poll(rig.now);
    assert_ne!(coordinator(&mut rig, here).1, second);
}

#[test]
fn a_session_on_one_node_is_none_on_another() {
    let mut rig = cluster();
    let mut member = Member::new(&rig, "m1", 101, &[0]);
    assert_eq!(member.fetch(&mut rig, 10), "0[]");
    let request = ShareFetchRequest { share_session_epoch: 1, ..member.request(10) };
    member.connection = 201;
    assert_eq!(member.send(&mut rig, &request), "SHARE_SESSION_NOT_FOUND");
}

#[test]
fn a_connection_that_was_cut_gets_no_answers_any_more() {
    let mut rig = cluster();
    let mut member = Member::new(&rig, "m1", 201, &[1]);
    assert_eq!(member.fetch_waiting(&mut rig, Duration::from_secs(1)), None);
    rig.cluster.kill_node(rig.now, 2, Duration::ZERO).unwrap();
    assert!(matches!(rig.cluster.poll(rig.now), Some(Output::Close(ConnectionId(201), _))));
    rig.advance(Duration::from_secs(2));
    assert_eq!(rig.cluster.poll(rig.now), None);
    let request = member.request(1);
    assert!(matches!(rig.send_on(ConnectionId(201), 2, &request), Answer::Close(_)));
}

#[test]
fn locks_end_also_after_a_timer_has_gone_off_while_the_partition_had_no_leader_in_memory() {
    let mut rig = cluster();
    rig.produce(0, 2);
    let mut member = Member::new(&rig, "m1", 101, &[0]);
    assert_eq!(member.fetch(&mut rig, 10), "0[0-1x1]");
    rig.cluster.move_leader(rig.now, TOPIC, 0, 2).unwrap();
    rig.next();
    assert_eq!(rig.cluster.poll(rig.now), None, "the lock that was forgotten");
    let mut member = Member::new(&rig, "m1", 201, &[0]);
    assert_eq!(member.fetch(&mut rig, 10), "0[0-1x1]");
    assert_eq!(rig.next(), Duration::from_secs(30));
    rig.cluster.poll(rig.now);
    assert_eq!(member.fetch(&mut rig, 10), "0[0-1x2]");
}
