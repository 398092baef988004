//! What becomes of records that cannot be read: malformed ones, and ones that a deserializer refuses.

use std::time::Duration;

use ackflow_protocol::machine::AckType;

use super::super::config::AcknowledgementMode::{self, Explicit, Implicit};
use super::super::consumer::ShareConsumer;
use super::super::delivery::Delivery;
use super::super::owned::OwnedShareConsumer;
use super::super::record::ReadError;
use super::{FakeDriver, Told, malformed};
use crate::deserialize::{ByteArrayDeserializer, Deserializer, FnDeserializer, deserialize_with};

const SOON: Duration = Duration::from_millis(5);
const ACCEPT: i8 = 1;
const RELEASE: i8 = 2;
const REJECT: i8 = 3;

/// Offsets as numbers, but for some that it refuses.
fn refusing(
    refused: &'static [i64],
) -> FnDeserializer<impl Fn(&[u8]) -> Result<i64, &'static str> + Send + Sync + 'static> {
    deserialize_with(move |data: &[u8]| {
        let offset = i64::from_be_bytes(data.try_into().map_err(|_| "not 8 bytes")?);
        if refused.contains(&offset) { Err("refused") } else { Ok(offset) }
    })
}

fn consumer<V: Deserializer>(
    mode: AcknowledgementMode,
    value: V,
) -> (ShareConsumer<ByteArrayDeserializer, V>, FakeDriver) {
    let (handle, driver) = FakeDriver::new();
    let mut consumer = ShareConsumer::with(handle, mode, ByteArrayDeserializer, value);
    consumer.subscribe(["orders"]).unwrap();
    (consumer, driver)
}

#[tokio::test]
async fn implicit_a_refused_record_is_named_and_released_and_the_others_are_accepted() {
    let (mut consumer, mut driver) = consumer(Implicit, refusing(&[3, 4, 7]));
    driver.acquire(0, 10);
    let records = consumer.poll(SOON).await.unwrap();
    let (good, bad): (Vec<_>, Vec<_>) = records.iter().partition(Result::is_ok);
    assert_eq!(good.into_iter().map(|record| record.unwrap().offset).collect::<Vec<_>>(), [0, 1, 2, 5, 6, 8, 9]);
    let bad: Vec<_> = bad.into_iter().map(|record| record.err().unwrap()).collect();
    assert_eq!(bad.iter().map(|error| (error.first, error.last)).collect::<Vec<_>>(), [(3, 3), (4, 4), (7, 7)]);
    let expected = "offsets 3 to 3 of orders-3 cannot be read: the value cannot be deserialized: refused";
    assert_eq!(bad[0].to_string(), expected);
    assert!(matches!(bad[0].error, ReadError::Value(_)));
    // Looking twice decides nothing twice.
    assert_eq!(records.iter().filter(Result::is_err).count(), 3);
    assert_eq!(records.raw_iter().filter(Result::is_err).count(), 0);
    consumer.poll(SOON).await.unwrap();
    let acknowledged = [(0, 2, ACCEPT), (3, 4, RELEASE), (5, 6, ACCEPT), (7, 7, RELEASE), (8, 9, ACCEPT)].to_vec();
    assert_eq!(driver.told(), [Told::Taken(10), Told::Acknowledged(acknowledged)]);
}

#[tokio::test]
async fn implicit_what_nobody_looked_at_is_accepted() {
    let (mut consumer, mut driver) = consumer(Implicit, refusing(&[3]));
    driver.acquire(0, 5);
    drop(consumer.poll(SOON).await.unwrap());
    drop(consumer.commit_async());
    assert_eq!(driver.told(), [Told::Taken(5), Told::Commit(vec![(0, 4, ACCEPT)])]);
}

#[tokio::test]
async fn implicit_the_rest_of_a_malformed_batch_is_rejected() {
    let (mut consumer, mut driver) = consumer(Implicit, ByteArrayDeserializer);
    driver.acquire_bytes(0, 5, malformed(0, 5));
    let records = consumer.poll(SOON).await.unwrap();
    let errors: Vec<_> = records.iter().filter_map(Result::err).map(|error| (error.first, error.last)).collect();
    assert_eq!(errors, [(3, 4)]);
    consumer.poll(SOON).await.unwrap();
    assert_eq!(driver.told()[1], Told::Acknowledged(vec![(0, 2, ACCEPT), (3, 4, REJECT)]));
}

// Mutation: client/src/share/unread.rs
// - self.lock().set(first, last, ack);
// +
#[tokio::test]
async fn row_15_explicit_a_refused_record_is_decided_by_itself_and_can_be_decided_by_offset() {
    let (mut consumer, mut driver) = consumer(Explicit, refusing(&[1, 2]));
    driver.acquire(0, 4);
    let records = consumer.poll(SOON).await.unwrap();
    for record in records.iter().flatten() {
        consumer.acknowledge(&record, AckType::Accept).unwrap();
    }
    consumer.acknowledge_offset("orders", 3, 2, AckType::Reject).unwrap();
    // Nothing stands in the way of the next poll.
    consumer.poll(SOON).await.unwrap();
    let acknowledged = vec![(0, 0, ACCEPT), (1, 1, RELEASE), (2, 2, REJECT), (3, 3, ACCEPT)];
    assert_eq!(driver.told(), [Told::Taken(4), Told::Acknowledged(acknowledged)]);
}

#[tokio::test]
async fn explicit_accepting_all_leaves_out_what_could_not_be_read_and_rejecting_all_does_not() {
    for (ack, expected) in [
        (AckType::Accept, vec![(0, 0, ACCEPT), (1, 1, RELEASE), (2, 3, ACCEPT)]),
        (AckType::Reject, vec![(0, 3, REJECT)]),
    ] {
        let (mut consumer, mut driver) = consumer(Explicit, refusing(&[1]));
        driver.acquire(0, 4);
        assert_eq!(consumer.poll(SOON).await.unwrap().iter().filter(Result::is_err).count(), 1);
        consumer.acknowledge_all(ack).unwrap();
        drop(consumer.commit_async());
        assert_eq!(driver.told()[1], Told::Commit(expected));
    }
}

async fn delivery(refused: &'static [i64]) -> (Delivery<ByteArrayDeserializer, impl Deserializer>, FakeDriver) {
    let (handle, driver) = FakeDriver::new();
    let mut consumer = OwnedShareConsumer::with(handle, ByteArrayDeserializer, refusing(refused));
    consumer.subscribe(["orders"]).unwrap();
    driver.acquire(0, 6);
    let delivery = consumer.poll(SOON).await.unwrap().unwrap();
    (delivery, driver)
}

#[tokio::test]
async fn a_delivery_accepts_what_it_could_read_and_no_more() {
    let (delivery, mut driver) = delivery(&[0, 4]).await;
    assert_eq!(delivery.records().filter(Result::is_err).count(), 2);
    let (mut head, tail) = delivery.split_at(2);
    drop(head.acknowledge(0..=0, AckType::Reject));
    drop((head.accept(), tail.accept()));
    assert_eq!(
        driver.told()[1..],
        [
            Told::Acknowledged(vec![(0, 0, REJECT)]),
            Told::Acknowledged(vec![(1, 1, ACCEPT)]),
            Told::Acknowledged(vec![(2, 3, ACCEPT), (4, 4, RELEASE), (5, 5, ACCEPT)]),
        ]
    );
}

#[tokio::test]
async fn who_only_borrows_records_decides_nothing() {
    let (delivery, mut driver) = delivery(&[0, 4]).await;
    let lent = delivery.lend();
    assert_eq!(lent.records().filter(Result::is_ok).count(), 6, "as bytes");
    drop(delivery.accept());
    assert_eq!(driver.told()[1..], [Told::Acknowledged(vec![(0, 5, ACCEPT)])]);
}
