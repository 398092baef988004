//! Records and offsets of partitions.

use ackflow_client::admin::{IsolationLevel, OffsetSpec, RecordsToDelete};
use ackflow_protocol::wire::ErrorCode;

use crate::{admin, partition, produce, topic};

#[tokio::test]
#[ignore = "needs a broker: cargo xtask kafka"]
pub(crate) async fn real_kafka_offsets_are_found_by_end_and_by_time() {
    let admin = admin();
    let name = topic(&admin, "listed", 2).await;
    produce(&name, 5).await;
    let find = async |spec| {
        let wanted = [(partition(&name, 0), spec), (partition(&name, 1), spec)];
        let mut results = admin.list_offsets(wanted, IsolationLevel::ReadUncommitted).await;
        let mut take = |index| results.remove(&partition(&name, index)).unwrap().unwrap();
        let (full, empty) = (take(0), take(1));
        ((full.offset, full.timestamp), empty.offset)
    };
    assert_eq!(find(OffsetSpec::Earliest).await, ((Some(0), None), Some(0)));
    assert_eq!(find(OffsetSpec::Latest).await, ((Some(5), None), Some(0)));
    assert_eq!(find(OffsetSpec::MaxTimestamp).await, ((Some(4), Some(5000)), None));
    assert_eq!(find(OffsetSpec::Timestamp(2500)).await, ((Some(2), Some(3000)), None));
    assert_eq!(find(OffsetSpec::Timestamp(5001)).await, ((None, None), None));
    assert_eq!(find(OffsetSpec::EarliestLocal).await.0.0, Some(0));
    assert_eq!(find(OffsetSpec::LatestTiered).await.0.0, None);
}

#[tokio::test]
#[ignore = "needs a broker: cargo xtask kafka"]
pub(crate) async fn real_kafka_partitions_that_do_not_exist_have_no_offsets() {
    let admin = admin();
    let name = topic(&admin, "no-partition", 1).await;
    let unknown = partition(&name, 9);
    let results = admin.list_offsets([(unknown.clone(), OffsetSpec::Latest)], IsolationLevel::ReadCommitted).await;
    let error = results[&unknown].as_ref().unwrap_err();
    assert_eq!(error.code(), Some(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION));
    assert!(error.to_string().contains(&unknown.to_string()), "{error}");
}

#[tokio::test]
#[ignore = "needs a broker: cargo xtask kafka"]
pub(crate) async fn real_kafka_records_are_deleted_up_to_an_offset_and_all() {
    let admin = admin();
    let name = topic(&admin, "deleted-records", 1).await;
    produce(&name, 5).await;
    let delete = async |records| {
        let mut results = admin.delete_records([(partition(&name, 0), records)]).await;
        results.remove(&partition(&name, 0)).unwrap()
    };
    assert_eq!(delete(RecordsToDelete::Before(3)).await.unwrap(), 3);
    let earliest = [(partition(&name, 0), OffsetSpec::Earliest)];
    let found = admin.list_offsets(earliest, IsolationLevel::ReadUncommitted).await;
    assert_eq!(found[&partition(&name, 0)].as_ref().unwrap().offset, Some(3));
    let error = delete(RecordsToDelete::Before(6)).await.unwrap_err();
    assert_eq!(error.code(), Some(ErrorCode::OFFSET_OUT_OF_RANGE));
    assert!(error.to_string().contains("list_offsets tells"), "{error}");
    assert_eq!(delete(RecordsToDelete::All).await.unwrap(), 5);
}

#[tokio::test]
#[ignore = "needs a broker: cargo xtask kafka"]
pub(crate) async fn real_kafka_producers_of_a_partition_are_described() {
    let admin = admin();
    let name = topic(&admin, "producers", 2).await;
    produce(&name, 5).await;
    let mut results = admin.describe_producers([partition(&name, 0), partition(&name, 1)]).await;
    let written = results.remove(&partition(&name, 0)).unwrap().unwrap();
    let [producer] = &written[..] else { panic!("{written:?}") };
    assert!(producer.producer_id >= 0 && producer.transaction_start.is_none(), "{producer:?}");
    assert_eq!((producer.last_sequence, producer.coordinator_epoch), (Some(4), None));
    assert_eq!(results.remove(&partition(&name, 1)).unwrap().unwrap(), []);
}
