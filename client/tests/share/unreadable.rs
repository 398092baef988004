//! Records and batches that cannot be read.

use ackflow_client::deserialize::{StringDeserializer, VoidDeserializer, deserialize_with};
use ackflow_client::share::{AckType, AcknowledgementMode, RecordError, ShareConsumer};
use ackflow_client::{ClientError, ErrorKind};
use ackflow_protocol::records::{BatchBuilder, BatchOptions, assign_offsets, assign_sequence};
use bytes::Bytes;

use crate::cluster::{Cluster, SECOND, within_a_minute};

pub(crate) async fn typed_keys_and_values_are_lent(cluster: Cluster) {
    cluster.produce(0, 0..100).await;
    let config = cluster.config().build().unwrap();
    let mut consumer = ShareConsumer::with_deserializers(config, VoidDeserializer, StringDeserializer).unwrap();
    consumer.subscribe([&cluster.topic]).unwrap();
    let mut next = 0;
    while next < 100 {
        for record in &consumer.poll(20 * SECOND).await.unwrap() {
            let record = record.unwrap();
            assert_eq!((record.key, record.value), (None, Some(next.to_string().as_str())));
            next += 1;
        }
    }
    assert_eq!(consumer.commit_sync(10 * SECOND).await.unwrap().first_error(), None);
    consumer.close(10 * SECOND).await.unwrap();
    cluster.no_lag_is_left().await;
}

// Mutation: client/src/share/unread.rs
// - self.lock().set(first, last, ack);
// +
pub(crate) async fn row_15_a_record_that_is_refused_comes_again_up_to_the_limit_and_no_other_does(cluster: Cluster) {
    cluster.set_group_config("share.delivery.count.limit", "2").await;
    cluster.produce(0, 0..10).await;
    let not_three = deserialize_with(|data: &[u8]| if data == b"3" { Err("three") } else { Ok(data.len()) });
    let mut consumer =
        ShareConsumer::with_deserializers(cluster.config().build().unwrap(), VoidDeserializer, not_three).unwrap();
    consumer.subscribe([&cluster.topic]).unwrap();
    let (mut good, mut bad) = (Vec::new(), 0);
    while good.len() < 9 || bad < 2 {
        for record in &consumer.poll(20 * SECOND).await.unwrap() {
            match record {
                Ok(record) => good.push((record.offset, record.delivery_count)),
                Err(RecordError { first: 3, last: 3, partition: 0, .. }) => bad += 1,
                Err(error) => panic!("{error}"),
            }
        }
    }
    good.sort();
    assert_eq!(good, (0..10).filter(|offset| *offset != 3).map(|offset| (offset, 1)).collect::<Vec<_>>());
    assert_eq!(consumer.commit_sync(10 * SECOND).await.unwrap().first_error(), None);
    cluster.no_lag_is_left().await;
    assert!(consumer.poll(SECOND).await.unwrap().is_empty(), "it is archived");
    assert_eq!(bad, 2);
    consumer.close(10 * SECOND).await.unwrap();
}

/// Consumes in explicit mode until nothing is left, and decides about each record, but sends nothing by itself. Gives the records that came,
/// with how often each was delivered, and the errors.
async fn consume(cluster: &Cluster) -> (Vec<(i64, i16)>, Vec<ClientError>) {
    let mut consumer = cluster.consumer(cluster.config().acknowledgement_mode(AcknowledgementMode::Explicit));
    let (mut came, mut told) = (Vec::new(), Vec::new());
    while cluster.lag().await != Some(0) {
        match consumer.poll(SECOND / 5).await {
            Ok(records) => came.extend(records.iter().map(|r| r.unwrap()).map(|r| (r.offset, r.delivery_count))),
            Err(error) => told.push(error),
        }
        consumer.acknowledge_all(AckType::Accept).unwrap();
    }
    assert_eq!(consumer.commit_sync(10 * SECOND).await.unwrap().first_error(), None);
    consumer.close(10 * SECOND).await.unwrap();
    (came, told)
}

/// The records, each delivered once.
fn once(offsets: impl IntoIterator<Item = i64>) -> Vec<(i64, i16)> {
    offsets.into_iter().map(|offset| (offset, 1)).collect()
}

/// Five records that say they are compressed with lz4 and are not, under the right checksum.
fn undecodable(base_offset: i64) -> Bytes {
    let mut batch = BatchBuilder::new(BatchOptions::default());
    for _ in 0..5 {
        batch.try_append(0, None, Some(b"value"), []).unwrap();
    }
    let mut batch = batch.build().unwrap().to_vec();
    const ATTRIBUTES_LOW: usize = 22;
    batch[ATTRIBUTES_LOW] |= 3;
    assign_offsets(&mut batch, base_offset, 0).unwrap();
    // It was no idempotent producer; this computes the checksum.
    assign_sequence(&mut batch, -1, -1, -1).unwrap();
    batch.into()
}

// Mutation: protocol/src/machine/acquisition/mod.rs
// - Err(error) => self.bad(last, AckType::Release, error),
// + Err(error) => self.bad(last, AckType::Reject, error),
#[tokio::test]
async fn row_16_a_batch_that_cannot_be_decompressed_is_released_and_costs_no_other_record_anything() {
    within_a_minute(async {
        let cluster = Cluster::embedded().await;
        cluster.set_group_config("share.delivery.count.limit", "3").await;
        cluster.produce(0, 0..10).await;
        cluster.broker().append_raw(&cluster.topic, 0, undecodable(10)).await.unwrap();
        cluster.produce(0, 15..20).await;
        let (came, errors) = consume(&cluster).await;
        assert_eq!(came, once((0..10).chain(15..20)));
        assert!(errors.len() >= 3, "once a delivery");
        for error in errors {
            assert_eq!(error.kind(), ErrorKind::Malformed);
            let bad = error.records().unwrap();
            assert_eq!((bad.topic.as_ref(), bad.partition), (cluster.topic.as_str(), 0));
            assert!(10 <= bad.first && bad.last <= 14);
            assert!(error.to_string().contains("(released, for a member that can read it)"), "{error}");
        }
    })
    .await;
}

/// Java's own consumer loses what was decided and not sent when it meets a corrupt batch, and those records come again.
#[tokio::test]
#[ignore = "needs a broker: cargo xtask kafka"]
async fn real_kafka_row_16_a_batch_that_is_damaged_on_disk_is_rejected_and_costs_no_other_record_anything() {
    within_a_minute(async {
        let cluster = Cluster::real().await.with_one_partition().await;
        let batches = [0..10, 10..20, 20..30];
        for batch in &batches {
            cluster.produce(0, batch.clone()).await;
        }
        let folders = std::env::var("ACKFLOW_KAFKA_LOG_DIRS").expect("ACKFLOW_KAFKA_LOG_DIRS names Kafka's data");
        let log = format!("{folders}/{}-0/00000000000000000000.log", cluster.topic);
        let bytes = std::fs::read(&log).unwrap();
        let at = bytes.windows(2).position(|window| window == b"15").unwrap();
        let file = std::fs::OpenOptions::new().write(true).open(&log).unwrap();
        std::os::unix::fs::FileExt::write_all_at(&file, b"X", at as u64).unwrap();
        let (came, errors) = consume(&cluster).await;
        assert_eq!(came, once((0..10).chain(20..30)));
        let [error] = <[ClientError; 1]>::try_from(errors).unwrap();
        let bad = error.records().unwrap();
        assert_eq!((bad.topic.as_ref(), bad.partition, bad.first, bad.last), (cluster.topic.as_str(), 0, 10, 19));
        assert!(error.to_string().ends_with("(rejected)"), "{error}");
    })
    .await;
}
