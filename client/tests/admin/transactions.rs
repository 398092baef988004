//! Transactions.

use std::time::Duration;

use ackflow_client::admin::{Admin, HangingTransaction, IsolationLevel, OffsetSpec, TransactionFilter};
use ackflow_protocol::messages::end_txn::EndTxnRequest;
use ackflow_protocol::messages::init_producer_id::InitProducerIdRequest;
use ackflow_protocol::messages::produce::{PartitionProduceData, ProduceRequest, TopicProduceData};
use ackflow_protocol::records::{BatchBuilder, BatchOptions};
use ackflow_protocol::wire::ErrorCode;

use crate::members::coordinator;
use crate::{admin, eventually, partition, topic, unique};

const TIMEOUT: Duration = Duration::from_secs(30);

/// A transaction that has written one record to partition 0, as bare requests. Returns the producer's id and epoch.
async fn begin(admin: &Admin, id: &str, topic: &str) -> (i64, i16) {
    let coordinator = coordinator(id, 1).await;
    let request = InitProducerIdRequest {
        transactional_id: Some(id.to_owned()),
        transaction_timeout_ms: 60_000,
        ..Default::default()
    };
    let start = async || {
        let response = coordinator.call(&request, TIMEOUT).await.unwrap();
        response.error_code.is_none().then_some(response)
    };
    eventually("the producer's id", start).await;
    // The second time, for an epoch that is not the first.
    let started = eventually("the producer's epoch", start).await;
    let options = BatchOptions {
        transactional: true,
        producer_id: started.producer_id,
        producer_epoch: started.producer_epoch,
        ..Default::default()
    };
    let mut builder = BatchBuilder::new(options);
    builder
        .try_append(1000, None, Some(b"v"), std::iter::empty::<ackflow_protocol::records::Header<'_>>())
        .unwrap()
        .unwrap();
    builder.set_producer_state(started.producer_id, started.producer_epoch, 0);
    let records = Some(builder.build().unwrap());
    let topic_id = admin.describe_topics([topic]).await.unwrap().remove(topic).unwrap().unwrap().id;
    let partition_data = vec![PartitionProduceData { index: 0, records }];
    let produce = ProduceRequest {
        transactional_id: Some(id.to_owned()),
        acks: -1,
        timeout_ms: 30_000,
        topic_data: vec![TopicProduceData { topic_id, partition_data, ..Default::default() }],
    };
    // The test cluster has one broker, which leads and coordinates everything.
    eventually("the record", async || {
        let response = coordinator.call(&produce, TIMEOUT).await.unwrap();
        response.responses[0].partition_responses[0].error_code.is_none().then_some(())
    })
    .await;
    (started.producer_id, started.producer_epoch)
}

#[tokio::test]
#[ignore = "needs a broker: cargo xtask kafka"]
pub(crate) async fn real_kafka_transactions_are_listed_and_described() {
    let admin = admin();
    let name = topic(&admin, "transaction", 1).await;
    let id = unique("transaction");
    let (producer_id, producer_epoch) = begin(&admin, &id, &name).await;

    let list = async |filter: TransactionFilter| {
        let listed = admin.list_transactions(&filter).await.unwrap();
        listed.into_iter().find(|transaction| transaction.transactional_id == id)
    };
    let of_producer = TransactionFilter { producer_ids: vec![producer_id], ..Default::default() };
    let listed = list(of_producer.clone()).await.unwrap();
    assert_eq!((listed.producer_id, listed.state.as_str()), (producer_id, "Ongoing"));
    let ended = TransactionFilter { states: vec!["CompleteAbort".into()], ..of_producer.clone() };
    assert_eq!(list(ended.clone()).await, None);
    let long = TransactionFilter { open_for: Some(Duration::from_secs(3600)), ..of_producer.clone() };
    assert_eq!(list(long).await, None);
    let short = TransactionFilter { open_for: Some(Duration::from_millis(1)), ..of_producer.clone() };
    assert!(list(short).await.is_some());
    let named = TransactionFilter { id_pattern: Some("transaction-.*".into()), ..of_producer.clone() };
    assert!(list(named).await.is_some());
    let unknown = TransactionFilter { states: vec!["Sleeping".into()], ..Default::default() };
    let error = admin.list_transactions(&unknown).await.unwrap_err();
    assert!(error.to_string().contains("no state Sleeping") && error.to_string().contains("Ongoing"), "{error}");

    let nobody = unique("nobody");
    let mut described = admin.describe_transactions([&id, &nobody]).await;
    let transaction = described.remove(&id).unwrap().unwrap();
    assert_eq!((transaction.producer_id, transaction.producer_epoch), (producer_id, producer_epoch));
    assert_eq!((transaction.state.as_str(), transaction.timeout), ("Ongoing", Duration::from_secs(60)));
    assert!(transaction.started.is_some() && transaction.partitions == [partition(&name, 0)], "{transaction:?}");
    let error = described.remove(&nobody).unwrap().unwrap_err();
    assert_eq!(error.code(), Some(ErrorCode::TRANSACTIONAL_ID_NOT_FOUND));

    let end = EndTxnRequest { transactional_id: id.clone(), producer_id, producer_epoch, committed: false };
    let response = coordinator(&id, 1).await.call(&end, TIMEOUT).await.unwrap();
    assert_eq!(response.error_code, ErrorCode::NONE);
    eventually("its end", async || admin.list_transactions(&ended).await.unwrap().pop()).await;
}

#[tokio::test]
#[ignore = "needs a broker: cargo xtask kafka"]
pub(crate) async fn real_kafka_a_transaction_is_aborted_in_a_partition_without_its_coordinator() {
    let admin = admin();
    let name = topic(&admin, "hanging", 1).await;
    let id = unique("hanging");
    let (producer_id, producer_epoch) = begin(&admin, &id, &name).await;
    let key = partition(&name, 0);
    let last_stable = async || {
        let wanted = [(key.clone(), OffsetSpec::Latest)];
        admin.list_offsets(wanted, IsolationLevel::ReadCommitted).await[&key].as_ref().unwrap().offset
    };
    assert_eq!(last_stable().await, Some(0));
    let producers = admin.describe_producers([key.clone()]).await.remove(&key).unwrap().unwrap();
    assert_eq!((producers[0].producer_id, producers[0].transaction_start), (producer_id, Some(0)));

    let hanging = HangingTransaction {
        partition: key.clone(),
        producer_id,
        producer_epoch,
        coordinator_epoch: producers[0].coordinator_epoch.unwrap_or(0),
    };
    let stale = HangingTransaction { producer_epoch: producer_epoch - 1, ..hanging.clone() };
    let error = admin.abort_transaction(&stale).await.unwrap_err();
    assert_eq!(error.code(), Some(ErrorCode::INVALID_PRODUCER_EPOCH));
    assert!(error.to_string().contains("describe_producers tells"), "{error}");
    admin.abort_transaction(&hanging).await.unwrap();
    let producers = admin.describe_producers([key.clone()]).await.remove(&key).unwrap().unwrap();
    assert_eq!(producers[0].transaction_start, None);
    // The record and the marker.
    eventually("the end of the transaction", async || (last_stable().await == Some(2)).then_some(())).await;
}
