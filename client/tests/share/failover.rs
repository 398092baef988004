//! A broker that dies while its records are consumed: `cargo xtask kafka --fast --brokers 3 -- cargo test -p ackflow-client --test share --
//! --ignored three_brokers_`, with nothing else beside it.

use std::collections::HashSet;
use std::process::Command;

use ackflow_client::admin::NewTopic;
use ackflow_client::share::AckError;

use crate::cluster::{Cluster, SECOND, within_a_minute};
use crate::support::eventually;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs three brokers of a real Kafka, and kills one"]
async fn three_brokers_a_leader_that_dies_takes_no_record_with_it() {
    within_a_minute(async {
        let mut cluster = Cluster::real().await;
        let replicated = NewTopic { replication_factor: Some(3), ..NewTopic::new(format!("{}-3", cluster.topic), 6) };
        cluster.use_new_topic(replicated).await;
        for partition in 0..6 {
            for batch in 0..10 {
                cluster.produce(partition, batch * 500..batch * 500 + 500).await;
            }
        }
        let mut consumer = cluster.owned(cluster.config());
        let (mut seen, mut again, mut lost, mut killed) = (HashSet::new(), 0, 0, false);
        while seen.len() < 30_000 {
            let Ok(Some(delivery)) = consumer.poll(SECOND).await else { continue };
            let offsets: Vec<_> = delivery.records().map(|record| record.unwrap().offset).collect();
            let partition = delivery.partition();
            if !killed && seen.len() > 10_000 {
                killed = true;
                kill(&cluster, partition).await;
            }
            tokio::time::sleep(SECOND / 100).await;
            match delivery.accept().await {
                // What could not be acknowledged is delivered again.
                Err(AckError::Failed { .. }) => lost += offsets.len(),
                settled => {
                    settled.unwrap();
                    let new = offsets.iter().filter(|offset| seen.insert((partition, **offset))).count();
                    again += offsets.len() - new;
                }
            }
        }
        println!("acknowledged twice: {again}, not acknowledged and delivered again: {lost}");
        cluster.no_lag_is_left().await;
        consumer.close(10 * SECOND).await.unwrap();
    })
    .await;
}

/// Kills the leader of a partition.
async fn kill(cluster: &Cluster, partition: i32) {
    let pids = std::env::var("ACKFLOW_KAFKA_PIDS").expect("ACKFLOW_KAFKA_PIDS has to name three brokers");
    let pids: Vec<_> = pids.split(',').collect();
    assert_eq!(pids.len(), 3);
    let leader = eventually("the leader", async || {
        let described = cluster.admin.describe_topics([&cluster.topic]).await.ok()?.remove(&cluster.topic)?.ok()?;
        described.partitions.iter().find(|found| found.partition == partition)?.leader
    })
    .await;
    let status = Command::new("kill").args(["-9", pids[leader as usize - 1]]).status().unwrap();
    assert!(status.success());
}
