//! A topic of which compaction has left gaps.

use ackflow_client::admin::{ConfigChange, ConfigResource};
use ackflow_client::share::{AckType, AcknowledgementMode};
use ackflow_protocol::records::{BatchBuilder, BatchOptions, Compression};
use bytes::Bytes;

use crate::cluster::{Cluster, SECOND, within_a_minute};

/// A record of each of the keys, which are letters.
fn keyed(keys: &str, compression: Compression) -> Bytes {
    let mut batch = BatchBuilder::new(BatchOptions { compression, ..BatchOptions::default() });
    for key in keys.split("").filter(|key| !key.is_empty()) {
        batch.try_append(1_700_000_000_000, Some(key.as_bytes()), Some(b"value"), []).unwrap().unwrap();
    }
    batch.build().unwrap()
}

#[tokio::test]
async fn a_compacted_topic_is_read_to_its_end_and_offsets_without_a_record_are_acknowledged_as_gaps() {
    within_a_minute(async {
        let cluster = Cluster::embedded().await;
        let broker = cluster.broker();
        let topic = ConfigResource::topic(&cluster.topic);
        let change = vec![ConfigChange::set("cleanup.policy", "compact")];
        cluster.admin.alter_configs([(topic.clone(), change)]).await.unwrap().remove(&topic).unwrap().unwrap();
        // Of 0 to 11 stay: a at 2, e and d at 5 and 6, c and b at 10 and 11. The last batch is not looked at.
        for (keys, codec) in [
            ("bca", Compression::Lz4),
            ("bcedb", Compression::Gzip),
            ("bb", Compression::None),
            ("cb", Compression::Zstd),
            ("bbb", Compression::None),
        ] {
            broker.produce_batch(&cluster.topic, 0, keyed(keys, codec)).await.unwrap();
        }
        broker.clean_logs().await.unwrap();

        let config = cluster.config().acknowledgement_mode(AcknowledgementMode::Explicit).max_poll_records(2);
        let mut consumer = cluster.consumer(config);
        let mut came = Vec::new();
        while broker.group_lag(&cluster.group, &cluster.topic, 0).await.unwrap() != Some(0) {
            let records = consumer.poll(SECOND / 5).await.unwrap();
            let key = |key: &[u8]| String::from_utf8_lossy(key).into_owned();
            came.extend(records.iter().map(|r| r.unwrap()).map(|r| (r.offset, key(r.key.unwrap()))));
            consumer.acknowledge_all(AckType::Accept).unwrap();
        }
        assert_eq!(consumer.commit_sync(10 * SECOND).await.unwrap().first_error(), None);
        consumer.close(10 * SECOND).await.unwrap();
        let expected = [(2, "a"), (5, "e"), (6, "d"), (10, "c"), (11, "b"), (12, "b"), (13, "b"), (14, "b")];
        assert_eq!(came, expected.map(|(offset, key)| (offset, key.to_owned())));
    })
    .await;
}
