//! What consuming costs in allocations: some for each acquisition, none for a record.

#![expect(clippy::unwrap_used, reason = "helpers of tests may panic like tests")]

#[path = "../../protocol/tests/support/counting.rs"]
mod counting;

use std::cell::Cell;
use std::time::Duration;

use ackflow_client::deserialize::{ByteArrayDeserializer, StringDeserializer};
use ackflow_client::share::{AcquiredRange, HeldRecord, LentRecords, OwnedShareConsumer, ShareConsumerConfig};
use ackflow_protocol::records::{BatchBuilder, BatchOptions, Batches};
use ackflow_testkit::EmbeddedBroker;
use counting::allocations;
use tokio::sync::Notify;

const WAIT: Duration = Duration::from_secs(20);

#[test]
fn reading_records_allocates_nothing() {
    let mut batch = BatchBuilder::new(BatchOptions { max_size: usize::MAX, ..BatchOptions::default() });
    for _ in 0..10_000 {
        batch.try_append(0, Some(b"key"), Some(b"value"), []).unwrap();
    }
    let batches = Batches::new(batch.build().unwrap()).map(Result::unwrap).collect();
    let ranges = vec![
        AcquiredRange { first: 5, last: 4_000, delivery_count: 1 },
        AcquiredRange { first: 4_100, last: 9_999, delivery_count: 2 },
    ];
    let records = LentRecords::from_batches("orders", 0, batches, ranges);
    let (allocations, bytes) = allocations(|| {
        let sizes = records
            .records()
            .map(|record| record.unwrap())
            .map(|record| record.key.unwrap().len() + record.value.unwrap().len());
        sizes.sum::<usize>()
    });
    assert_eq!((allocations, bytes), (0, 8 * (3_996 + 5_900)));
}

/// The consumer, its driver and its connections run on this thread, the broker on another.
#[test]
fn consuming_allocates_by_acquisition_and_not_by_record() {
    let broker = on_another_thread(20, 1_000);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let config = ShareConsumerConfig::builder(&broker, "g").build().unwrap();
    let (records, deliveries, counted) = runtime.block_on(async {
        let mut consumer =
            OwnedShareConsumer::with_deserializers(config, ByteArrayDeserializer, StringDeserializer).unwrap();
        consumer.subscribe(["orders"]).unwrap();
        // Up to here the member has joined, connected, and grown its buffers.
        consumer.poll(WAIT).await.unwrap().unwrap().accept().await.unwrap();
        let (mut records, mut deliveries) = (500, 0);
        let before = counting::allocated();
        while records < 20_000 {
            let delivery = consumer.poll(WAIT).await.unwrap().unwrap();
            records += delivery.records().map(|record| record.unwrap().value.map_or(0, |_| 1)).sum::<usize>();
            deliveries += 1;
            drop(delivery.accept());
        }
        let counted = counting::allocated() - before;
        consumer.close(WAIT).await.unwrap();
        (records, deliveries, counted)
    });
    assert_eq!(records, 20_000);
    println!("{counted} allocations for {deliveries} deliveries of {records} records");
    assert!(counted < 100 * deliveries, "{counted} allocations for {deliveries} deliveries of {records} records");
}

/// Handlers that need no memory of their own.
#[test]
fn handling_allocates_by_delivery_and_not_by_record() {
    let broker = on_another_thread(20, 1_000);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let config = ShareConsumerConfig::builder(&broker, "g").build().unwrap();
    let (records, counted) = runtime.block_on(async {
        let mut consumer = OwnedShareConsumer::new(config).unwrap();
        consumer.subscribe(["orders"]).unwrap();
        let (handled, end) = (Cell::new(0), Notify::new());
        let mut counted = 0;
        for last in [2_000, 20_000] {
            let before = counting::allocated();
            let handle = |held: HeldRecord| {
                handled.set(handled.get() + 1);
                if handled.get() == last {
                    end.notify_one();
                }
                async move {
                    tokio::task::yield_now().await;
                    held.read().map(|record| assert!(record.value.is_some()))
                }
            };
            consumer.for_each_concurrent(16, handle).until(end.notified()).run().await.unwrap();
            counted = counting::allocated() - before;
        }
        consumer.close(WAIT).await.unwrap();
        (handled.get(), counted)
    });
    assert!(records >= 20_000);
    println!("{counted} allocations for 18000 records in about 36 deliveries");
    assert!(counted < 100 * 36, "{counted} allocations for 18000 records in about 36 deliveries");
}

/// The address of an embedded broker with so many batches of so many records in one partition.
fn on_another_thread(batches: usize, records: usize) -> String {
    let (sender, address) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
            let broker = EmbeddedBroker::builder()
                .fast()
                .topic("orders", 1)
                .group_config("g", "share.auto.offset.reset", "earliest")
                .start()
                .await
                .unwrap();
            for _ in 0..batches {
                broker.produce("orders", 0, vec!["value"; records]).await.unwrap();
            }
            sender.send(broker.bootstrap_servers()).unwrap();
            std::future::pending::<()>().await;
        });
    });
    address.recv().unwrap()
}
