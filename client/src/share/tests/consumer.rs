//! What the implicit and the explicit consumer tell their driver.

use std::task::Poll;
use std::time::Duration;

use ackflow_protocol::machine::AckType;
use ackflow_protocol::wire::ErrorCode;

use super::super::config::AcknowledgementMode::{self, Explicit, Implicit};
use super::super::consumer::ShareConsumer;
use super::super::records::ShareRecords;
use super::{FakeDriver, Told};
use crate::deserialize::ByteArrayDeserializer;
use crate::error::ErrorKind;

const SOON: Duration = Duration::from_millis(5);
const ACCEPT: i8 = 1;
const RELEASE: i8 = 2;
const REJECT: i8 = 3;
const RENEW: i8 = 4;

fn consumer(mode: AcknowledgementMode) -> (ShareConsumer, FakeDriver) {
    let (handle, driver) = FakeDriver::new();
    let mut consumer = ShareConsumer::with(handle, mode, ByteArrayDeserializer, ByteArrayDeserializer);
    consumer.subscribe(["orders"]).unwrap();
    (consumer, driver)
}

fn offsets(records: &ShareRecords) -> Vec<i64> {
    records.iter().map(|record| record.unwrap().offset).collect()
}

#[tokio::test]
async fn implicit_the_next_poll_accepts_what_was_handed_out_and_dropping_decides_nothing() {
    let (mut consumer, mut driver) = consumer(Implicit);
    driver.acquire(0, 3);
    drop(consumer.poll(SOON).await.unwrap());
    assert_eq!(driver.told(), [Told::Taken(3)]);
    assert!(consumer.poll(SOON).await.unwrap().is_empty());
    assert_eq!(driver.told(), [Told::Acknowledged(vec![(0, 2, ACCEPT)])]);
}

#[tokio::test]
async fn implicit_a_commit_accepts_and_closing_does_not() {
    let (mut consumer, mut driver) = consumer(Implicit);
    driver.acquire(0, 3);
    consumer.poll(SOON).await.unwrap();
    drop(consumer.commit_async());
    assert_eq!(driver.told(), [Told::Taken(3), Told::Commit(vec![(0, 2, ACCEPT)])]);
    driver.acquire(3, 3);
    consumer.poll(SOON).await.unwrap();
    consumer.close(SOON).await.unwrap();
    assert_eq!(driver.told(), [Told::Taken(3)]);
}

#[tokio::test]
async fn implicit_no_record_is_acknowledged_by_hand() {
    let (mut consumer, driver) = consumer(Implicit);
    driver.acquire(0, 3);
    let records = consumer.poll(SOON).await.unwrap();
    let first = records.iter().next().unwrap().unwrap();
    let error = consumer.acknowledge(&first, AckType::Accept).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error.to_string().contains("share.acknowledgement.mode=explicit"), "{error}");
    assert!(consumer.acknowledge_all(AckType::Accept).is_err());
}

#[tokio::test]
async fn a_poll_hands_out_no_more_than_its_maximum_over_all_acquisitions() {
    let (mut consumer, mut driver) = consumer(Implicit);
    for (first, count) in [(0, 4), (4, 13), (17, 3)] {
        driver.acquire(first, count);
    }
    assert_eq!(offsets(&consumer.poll(SOON).await.unwrap()), (0..10).collect::<Vec<_>>());
    assert_eq!(offsets(&consumer.poll(SOON).await.unwrap()), (10..20).collect::<Vec<_>>());
    let accepted = Told::Acknowledged(vec![(0, 3, ACCEPT)]);
    assert!(driver.told().contains(&accepted));
}

#[tokio::test]
async fn explicit_poll_is_refused_while_a_record_is_undecided() {
    let (mut consumer, mut driver) = consumer(Explicit);
    driver.acquire(0, 3);
    let records = consumer.poll(SOON).await.unwrap();
    driver.told();
    for (record, ack) in records.iter().zip([AckType::Accept, AckType::Release]) {
        consumer.acknowledge(&record.unwrap(), ack).unwrap();
    }
    let error = consumer.poll(SOON).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error.to_string().contains("1 records of the last poll"), "{error}");
    assert_eq!(driver.told(), [], "a refused poll sends nothing");

    consumer.acknowledge_offset("orders", 3, 2, AckType::Reject).unwrap();
    consumer.poll(SOON).await.unwrap();
    assert_eq!(driver.told(), [Told::Acknowledged(vec![(0, 0, ACCEPT), (1, 1, RELEASE), (2, 2, REJECT)])]);
}

#[tokio::test]
async fn explicit_the_last_verdict_before_sending_counts_and_a_commit_leaves_the_undecided() {
    let (mut consumer, mut driver) = consumer(Explicit);
    driver.acquire(0, 10);
    consumer.poll(SOON).await.unwrap();
    driver.told();
    consumer.acknowledge_range("orders", 3, 2..=7, AckType::Release).unwrap();
    consumer.acknowledge_range("orders", 3, 4..=5, AckType::Accept).unwrap();
    drop(consumer.commit_async());
    assert_eq!(driver.told(), [Told::Commit(vec![(2, 3, RELEASE), (4, 5, ACCEPT), (6, 7, RELEASE)])]);

    assert!(consumer.acknowledge_offset("orders", 3, 4, AckType::Accept).is_err(), "it is sent");
    assert!(consumer.poll(SOON).await.is_err());
    consumer.acknowledge_all(AckType::Accept).unwrap();
    consumer.poll(SOON).await.unwrap();
    assert_eq!(driver.told(), [Told::Acknowledged(vec![(0, 1, ACCEPT), (8, 9, ACCEPT)])]);
}

#[tokio::test]
async fn explicit_records_that_nobody_holds_are_refused() {
    let (mut consumer, driver) = consumer(Explicit);
    driver.acquire(0, 3);
    consumer.poll(SOON).await.unwrap();
    for (topic, partition, offset, ack) in [
        ("orders", 3, 3, AckType::Accept),
        ("orders", 4, 0, AckType::Accept),
        ("other", 3, 0, AckType::Accept),
        ("orders", 3, 0, AckType::Gap),
    ] {
        let error = consumer.acknowledge_offset(topic, partition, offset, ack).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
    }
}

#[tokio::test]
async fn explicit_renewed_records_come_again_once_the_broker_agrees_and_nothing_else_before() {
    let (mut consumer, mut driver) = consumer(Explicit);
    driver.acquire(0, 4);
    consumer.poll(SOON).await.unwrap();
    consumer.acknowledge_range("orders", 3, 1..=2, AckType::Renew).unwrap();
    consumer.acknowledge_all(AckType::Accept).unwrap();
    driver.acquire(4, 1);
    assert!(consumer.poll(SOON).await.unwrap().is_empty(), "the renewal is not answered yet");
    let told = driver.told();
    assert!(told.contains(&Told::Acknowledged(vec![(1, 2, RENEW)])), "{told:?}");
    assert!(told.contains(&Told::Acknowledged(vec![(0, 0, ACCEPT), (3, 3, ACCEPT)])), "{told:?}");

    driver.answer(Ok(()));
    assert_eq!(offsets(&consumer.poll(SOON).await.unwrap()), [1, 2]);
    assert!(consumer.poll(SOON).await.is_err(), "renewed records want a verdict like any other");
    consumer.acknowledge_all(AckType::Accept).unwrap();
    assert_eq!(offsets(&consumer.poll(SOON).await.unwrap()), [4]);
}

#[tokio::test]
async fn explicit_records_whose_renewal_fails_are_gone() {
    let (mut consumer, mut driver) = consumer(Explicit);
    driver.acquire(0, 2);
    consumer.poll(SOON).await.unwrap();
    consumer.acknowledge_all(AckType::Renew).unwrap();
    drop(consumer.commit_async());
    driver.told();
    driver.answer(Err(ErrorCode::INVALID_RECORD_STATE));
    driver.acquire(2, 1);
    assert_eq!(offsets(&consumer.poll(SOON).await.unwrap()), [2]);
}

#[tokio::test]
async fn explicit_closing_sends_what_is_decided_and_no_renewal() {
    let (mut consumer, mut driver) = consumer(Explicit);
    driver.acquire(0, 4);
    consumer.poll(SOON).await.unwrap();
    driver.told();
    consumer.acknowledge_range("orders", 3, 0..=1, AckType::Accept).unwrap();
    consumer.acknowledge_range("orders", 3, 2..=2, AckType::Renew).unwrap();
    consumer.close(SOON).await.unwrap();
    assert_eq!(driver.told(), [Told::Acknowledged(vec![(0, 1, ACCEPT)])]);
}

// Mutation: client/src/share/handle.rs
// - Ok(part) => part.map(Some),
// + Ok(part) => { tokio::task::yield_now().await; part.map(Some) }
#[tokio::test]
async fn row_62_a_poll_that_is_dropped_has_taken_nothing() {
    let (mut consumer, mut driver) = consumer(Implicit);
    let mut all = Vec::new();
    for first in 0..100 {
        let mut poll = Box::pin(consumer.poll(Duration::from_secs(60)));
        assert!(poll_once(poll.as_mut()).is_pending());
        driver.acquire(first, 1);
        // Dropped before it has heard of the record, or as soon as it may have.
        let heard = (first % 2 == 1).then(|| poll_once(poll.as_mut()));
        drop(poll);
        let records = match heard {
            Some(Poll::Ready(records)) => records,
            _ => consumer.poll(SOON).await,
        };
        all.extend(offsets(&records.unwrap()));
    }
    assert_eq!(all, (0..100).collect::<Vec<_>>());
    let taken: u32 = driver.told().iter().map(|told| if let Told::Taken(n) = told { *n } else { 0 }).sum();
    assert_eq!(taken, 100);
}

fn poll_once<F: Future>(future: std::pin::Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut std::task::Context::from_waker(std::task::Waker::noop()))
}

#[tokio::test]
async fn polling_without_a_subscription_says_so() {
    let (mut consumer, _driver) = consumer(Implicit);
    consumer.unsubscribe().unwrap();
    let error = consumer.poll(SOON).await.unwrap_err();
    assert!(error.to_string().contains("call subscribe first"), "{error}");
    assert!(consumer.subscribe([""]).is_err());
}

#[tokio::test]
async fn outside_a_runtime_a_consumer_says_what_it_lacks() {
    let make = || {
        let config = super::ShareConsumerConfig::builder("localhost:9092", "g").build().unwrap();
        ShareConsumer::new(config).unwrap_err().to_string()
    };
    let error = std::thread::spawn(make).join().unwrap();
    assert!(error.contains("tokio runtime"), "{error}");
}
