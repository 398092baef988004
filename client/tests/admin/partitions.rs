//! Partitions: more of them, their leaders, their places.

use ackflow_client::admin::{ElectionType, NewPartitions, NewTopic};
use ackflow_protocol::wire::ErrorCode;

use crate::{admin, eventually, partition, topic, unique};

#[tokio::test]
#[ignore = "needs a broker: cargo xtask kafka"]
pub(crate) async fn real_kafka_partitions_are_added_and_never_taken_away() {
    let admin = admin();
    let name = topic(&admin, "more-partitions", 1).await;
    let count = async || admin.describe_topics([&name]).await.unwrap()[&name].as_ref().unwrap().partitions.len();
    let more = |total| [(name.clone(), NewPartitions::increase_to(total))];

    assert!(admin.validate_partitions(more(3)).await.unwrap()[&name].is_ok());
    assert_eq!(count().await, 1);
    assert!(admin.create_partitions(more(3)).await.unwrap()[&name].is_ok());
    eventually("3 partitions", async || (count().await == 3).then_some(())).await;
    let placed = NewPartitions { total: 4, assignments: vec![vec![1]] };
    assert!(admin.create_partitions([(name.clone(), placed)]).await.unwrap()[&name].is_ok());

    let error = admin.create_partitions(more(2)).await.unwrap().remove(&name).unwrap().unwrap_err();
    assert_eq!(error.code(), Some(ErrorCode::INVALID_PARTITIONS));
    assert!(error.to_string().contains(&name), "{error}");
}

#[tokio::test]
#[ignore = "needs a broker: cargo xtask kafka"]
pub(crate) async fn real_kafka_topics_are_validated_without_being_created() {
    let admin = admin();
    let name = unique("validated");
    let validated = admin.validate_topics([NewTopic::new(&name, 2)]).await.unwrap().remove(&name).unwrap().unwrap();
    assert_eq!(validated.partitions, 2);
    let wrong = NewTopic::new(&name, 2).config("retention.ms", "soon");
    let error = admin.validate_topics([wrong]).await.unwrap().remove(&name).unwrap().unwrap_err();
    assert_eq!(error.code(), Some(ErrorCode::INVALID_CONFIG));
    assert!(admin.list_topics().await.unwrap().iter().all(|topic| topic.name != name));
}

#[tokio::test]
#[ignore = "needs a broker: cargo xtask kafka"]
async fn real_kafka_a_leader_that_is_the_right_one_needs_no_election() {
    let admin = admin();
    let name = topic(&admin, "elected", 1).await;
    let partitions = [partition(&name, 0), partition(&name, 7)];
    for election in [ElectionType::Preferred, ElectionType::Unclean] {
        let results = admin.elect_leaders(election, Some(&partitions)).await.unwrap();
        assert_eq!(results[&partitions[0]].as_ref().unwrap_err().code(), Some(ErrorCode::ELECTION_NOT_NEEDED));
        let unknown = results[&partitions[1]].as_ref().unwrap_err();
        assert_eq!(unknown.code(), Some(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION));
    }
    assert!(admin.elect_leaders(ElectionType::Preferred, None).await.unwrap().values().all(Result::is_ok));
}

#[tokio::test]
#[ignore = "needs a broker: cargo xtask kafka"]
async fn real_kafka_partitions_are_moved_where_there_are_brokers() {
    let admin = admin();
    let name = topic(&admin, "moved", 2).await;
    let [first, second] = [partition(&name, 0), partition(&name, 1)];
    let node = admin.describe_cluster().await.unwrap().brokers[0].id;
    let moves = [(first.clone(), Some(vec![node])), (second.clone(), Some(vec![4711]))];
    let results = admin.alter_partition_reassignments(moves).await.unwrap();
    assert!(results[&first].is_ok(), "{results:?}");
    assert_eq!(results[&second].as_ref().unwrap_err().code(), Some(ErrorCode::INVALID_REPLICA_ASSIGNMENT));

    let stopped = admin.alter_partition_reassignments([(first.clone(), None)]).await.unwrap();
    assert_eq!(stopped[&first].as_ref().unwrap_err().code(), Some(ErrorCode::NO_REASSIGNMENT_IN_PROGRESS));
    assert!(admin.list_partition_reassignments(Some(&[first, second])).await.unwrap().is_empty());
    assert!(admin.list_partition_reassignments(None).await.unwrap().keys().all(|moving| *moving.topic != *name));
}
