//! What deliveries tell their driver.

use std::time::Duration;

use ackflow_protocol::machine::{AckType, AcquiredRange};
use ackflow_protocol::wire::ErrorCode;

use super::super::acks::AckError;
use super::super::delivery::Delivery;
use super::super::lent::LentRecords;
use super::super::owned::OwnedShareConsumer;
use super::super::record::{RecordError, ShareRecord};
use super::{FakeDriver, LOCK, Told};
use crate::deserialize::ByteArrayDeserializer;

const SOON: Duration = Duration::from_millis(5);

async fn consumer() -> (OwnedShareConsumer, FakeDriver) {
    let (handle, driver) = FakeDriver::new();
    let mut consumer = OwnedShareConsumer::with(handle, ByteArrayDeserializer, ByteArrayDeserializer);
    consumer.subscribe(["orders"]).unwrap();
    (consumer, driver)
}

/// A delivery of the offsets 0 to 9.
async fn delivery() -> (Delivery, OwnedShareConsumer, FakeDriver) {
    let (mut consumer, mut driver) = consumer().await;
    driver.acquire(0, 10);
    let delivery = consumer.poll(SOON).await.unwrap().unwrap();
    driver.told();
    (delivery, consumer, driver)
}

fn acknowledged(ranges: &[(i64, i64)], ack: AckType) -> Told {
    Told::Acknowledged(ranges.iter().map(|&(first, last)| (first, last, ack as i8)).collect())
}

#[tokio::test]
async fn deliveries_settle_in_any_order_after_later_polls() {
    let (mut consumer, mut driver) = consumer().await;
    driver.acquire(0, 25);
    let first = consumer.poll(SOON).await.unwrap().unwrap();
    let second = consumer.try_poll().unwrap();
    let third = consumer.poll(SOON).await.unwrap().unwrap();
    assert!(consumer.try_poll().is_none());
    assert_eq!((first.len(), second.len(), third.len()), (10, 10, 5));
    driver.told();
    let settled = std::thread::spawn(move || third.accept()).join().unwrap();
    drop(first.reject());
    drop(second);
    assert_eq!(
        driver.told(),
        [
            acknowledged(&[(20, 24)], AckType::Accept),
            acknowledged(&[(0, 9)], AckType::Reject),
            acknowledged(&[(10, 19)], AckType::Release),
        ]
    );
    driver.waiting.truncate(1);
    driver.answer(Ok(()));
    settled.await.unwrap();
}

#[tokio::test]
async fn offsets_are_decided_once_and_the_rest_is_released() {
    let (mut delivery, _consumer, mut driver) = delivery().await;
    drop(delivery.acknowledge(7..=7, AckType::Reject));
    drop(delivery.acknowledge(0..=3, AckType::Accept));
    assert_eq!((delivery.len(), delivery.first_offset(), delivery.last_offset()), (5, 0, 9));
    let left: Vec<_> = delivery.records().map(|record| record.unwrap().offset).collect();
    assert_eq!(left, [4, 5, 6, 8, 9]);
    let again = delivery.acknowledge(0..=3, AckType::Release).await.unwrap_err();
    assert!(matches!(again, AckError::NotHeld { first: 0, last: 3, .. }), "{again}");
    drop(delivery);
    assert_eq!(
        driver.told(),
        [
            acknowledged(&[(7, 7)], AckType::Reject),
            acknowledged(&[(0, 3)], AckType::Accept),
            acknowledged(&[(4, 6), (8, 9)], AckType::Release),
        ]
    );
}

#[tokio::test]
async fn both_halves_of_a_split_settle_by_themselves() {
    let (delivery, _consumer, mut driver) = delivery().await;
    let (head, tail) = delivery.split_at(4);
    assert_eq!((head.first_offset(), head.last_offset(), head.len()), (0, 3, 4));
    assert_eq!((tail.first_offset(), tail.last_offset(), tail.len()), (4, 9, 6));
    let read: Vec<_> = tail.records().map(|record| record.unwrap().offset).collect();
    assert_eq!(read, [4, 5, 6, 7, 8, 9]);
    let (tail, nothing) = tail.split_at(100);
    assert!(nothing.is_empty());
    nothing.accept().await.unwrap();
    drop(tail.accept());
    drop(head);
    assert_eq!(driver.told(), [acknowledged(&[(4, 9)], AckType::Accept), acknowledged(&[(0, 3)], AckType::Release)]);
}

#[tokio::test]
async fn a_renewal_moves_the_deadline_of_its_part_when_the_broker_agrees() {
    let (delivery, _consumer, mut driver) = delivery().await;
    let (mut head, tail) = delivery.split_at(5);
    let before = head.lock_deadline();
    let renewed = head.renew();
    assert_eq!(driver.told(), [acknowledged(&[(0, 4)], AckType::Renew)]);
    driver.answer(Ok(()));
    renewed.await.unwrap();
    assert!(head.lock_deadline() > before + LOCK / 2);
    assert_eq!(tail.lock_deadline(), before);
    assert_eq!(head.len(), 5, "renewed records are still undecided");

    let refused = head.renew();
    driver.told();
    let deadline = head.lock_deadline();
    driver.answer(Err(ErrorCode::INVALID_RECORD_STATE));
    assert_eq!(refused.await.unwrap_err().code(), Some(ErrorCode::INVALID_RECORD_STATE));
    assert_eq!(head.lock_deadline(), deadline);
}

#[tokio::test]
async fn renewing_a_part_keeps_it_and_the_deadline_of_all() {
    let (mut delivery, _consumer, mut driver) = delivery().await;
    let before = delivery.lock_deadline();
    let renewed = delivery.acknowledge(3..=5, AckType::Renew);
    assert_eq!(driver.told(), [acknowledged(&[(3, 5)], AckType::Renew)]);
    driver.answer(Ok(()));
    renewed.await.unwrap();
    assert_eq!((delivery.lock_deadline(), delivery.len(), delivery.ranges().len()), (before, 10, 1));
}

#[tokio::test]
async fn settling_fails_and_dropping_does_nothing_once_the_driver_is_gone() {
    let (delivery, consumer, driver) = delivery().await;
    let (head, tail) = delivery.split_at(5);
    drop((driver, consumer));
    let error = head.accept().await.unwrap_err();
    assert!(matches!(error, AckError::Closed { .. }), "{error}");
    drop(tail);
}

fn offsets<'a>(records: impl IntoIterator<Item = Result<ShareRecord<'a>, RecordError>>) -> Vec<i64> {
    records.into_iter().map(|record| record.unwrap().offset).collect()
}

#[tokio::test]
async fn lent_records_are_read_while_and_after_the_delivery_is_settled() {
    let (mut delivery, _consumer, _driver) = delivery().await;
    drop(delivery.acknowledge(2..=3, AckType::Accept));
    let mut lent = delivery.lend();
    drop(delivery.accept());
    assert_eq!(offsets(lent.records()), [0, 1, 4, 5, 6, 7, 8, 9]);
    lent.retain(&[range(0, 4), range(8, 20)]);
    assert_eq!(offsets(lent.clone().records()), [0, 1, 4, 8, 9]);
    assert_eq!(lent.remove(1..=8), [range(1, 1), range(4, 4), range(8, 8)]);
    assert_eq!(offsets(lent.records()), [0, 9]);
}

fn range(first: i64, last: i64) -> AcquiredRange {
    AcquiredRange { first, last, delivery_count: 1 }
}

#[test]
fn lent_records_can_be_made_of_batches_that_came_from_elsewhere() {
    let lent = LentRecords::from_batches("orders", 7, super::batches(super::batch(0, 10)), vec![range(3, 4)]);
    assert_eq!(offsets(lent.records()), [3, 4]);
    assert_eq!((lent.topic().as_ref(), lent.partition()), ("orders", 7));
}
