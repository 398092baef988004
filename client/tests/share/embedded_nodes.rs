//! What a cluster in the test's own hands can do: leaders that move, nodes that die.

use std::time::{Duration, Instant};

use ackflow_client::admin::NewTopic;
use ackflow_protocol::wire::ErrorCode;

use crate::cluster::{Cluster, SECOND, Seen, within_a_minute};

// Mutation: protocol/src/machine/share_consumer/schedule.rs
// - let Some(leader) = self.metadata.leader(*partition) else { continue };
// + let Some(leader) = self.metadata.leader(*partition).map(|_| 1) else { continue };
#[tokio::test]
async fn row_03_records_of_a_leader_that_moved_fail_at_the_old_one_and_come_from_the_new_one() {
    within_a_minute(async {
        let cluster = Cluster::three_nodes().await;
        cluster.produce(0, 0..10).await;
        let mut consumer = cluster.owned(cluster.config());
        let held = consumer.poll(20 * SECOND).await.unwrap().unwrap();
        assert_eq!((held.first_offset(), held.last_offset(), held.max_delivery_count()), (0, 9, 1));
        cluster.broker().move_leader(&cluster.topic, 0, 3).await.unwrap();
        let moved = Instant::now();
        let again = consumer.poll(20 * SECOND).await.unwrap().unwrap();
        assert!(moved.elapsed() < SECOND, "{:?}", moved.elapsed());
        assert_eq!((again.first_offset(), again.last_offset(), again.max_delivery_count()), (0, 9, 1));
        let error = held.accept().await.unwrap_err();
        let lost = [ErrorCode::NOT_LEADER_OR_FOLLOWER, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION];
        assert!(error.code().is_some_and(|code| lost.contains(&code)), "{error}");
        again.accept().await.unwrap();
        consumer.close(10 * SECOND).await.unwrap();
        cluster.no_lag_is_left().await;
    })
    .await;
}

#[tokio::test]
async fn consumption_goes_on_when_the_leaders_die_one_after_the_other_and_come_back() {
    within_a_minute(async {
        let mut cluster = Cluster::three_nodes().await;
        cluster.use_new_topic(NewTopic::new("replicated", 3)).await;
        let mut consumer = cluster.owned(cluster.config());
        let mut seen = Seen::default();
        for (round, node) in [1, 2, 3].into_iter().enumerate() {
            let begin = 100 * u32::try_from(round).unwrap();
            for partition in 0..3 {
                cluster.produce(partition, begin..begin + 100).await;
            }
            while seen.len() < 300 * (round + 1) {
                let delivery = consumer.poll(20 * SECOND).await.unwrap().unwrap();
                let records: Vec<_> =
                    delivery.records().map(|record| record.unwrap()).map(|r| (r.partition, r.offset)).collect();
                if delivery.accept().await.is_ok() {
                    records.into_iter().for_each(|(partition, offset)| seen.add(partition, offset));
                }
            }
            cluster.broker().kill_node(node, Duration::from_millis(300)).await.unwrap();
            if let Some(before) = [None, Some(1), Some(2)][round] {
                cluster.broker().start_node(before).await.unwrap();
            }
        }
        consumer.close(10 * SECOND).await.unwrap();
        cluster.no_lag_is_left().await;
    })
    .await;
}
