//! What handlers lead to, without a broker; and the stream of deliveries.

use std::cell::RefCell;
use std::future::{pending, poll_fn};
use std::task::Poll;
use std::time::Duration;

use ackflow_protocol::machine::AckType;
use tokio::sync::Semaphore;
use tokio_stream::StreamExt;

use super::super::for_each::{HeldRecord, Outcome};
use super::super::link::Notice;
use super::super::owned::OwnedShareConsumer;
use super::{FakeDriver, Told};
use crate::deserialize::{ByteArrayDeserializer, LongDeserializer};
use crate::error::{ClientError, ErrorKind};

fn consumer() -> (OwnedShareConsumer<ByteArrayDeserializer, LongDeserializer>, FakeDriver) {
    let (handle, driver) = FakeDriver::new();
    let mut consumer = OwnedShareConsumer::with(handle, ByteArrayDeserializer, LongDeserializer);
    consumer.subscribe(["orders"]).unwrap();
    (consumer, driver)
}

type Held = HeldRecord<ByteArrayDeserializer, LongDeserializer>;

/// Runs the handler until nothing happens any more.
async fn handle<F: Future<Output = Outcome>>(
    consumer: &mut OwnedShareConsumer<ByteArrayDeserializer, LongDeserializer>,
    limit: usize,
    handler: impl FnMut(Held) -> F,
) {
    let handling = consumer.for_each_concurrent(limit, handler).run();
    assert!(tokio::time::timeout(Duration::from_millis(50), handling).await.is_err());
}

fn verdicts(told: Vec<Told>) -> Vec<Vec<(i64, i64, i8)>> {
    let verdicts = told.into_iter().filter_map(|told| match told {
        Told::Acknowledged(ranges) => Some(ranges),
        _ => None,
    });
    verdicts.collect()
}

const ACCEPT: i8 = AckType::Accept as i8;
const RELEASE: i8 = AckType::Release as i8;
const REJECT: i8 = AckType::Reject as i8;

#[tokio::test]
async fn verdicts_go_out_as_ranges() {
    let (mut consumer, mut driver) = consumer();
    driver.acquire(0, 10);
    let order = RefCell::new(Vec::new());
    handle(&mut consumer, 3, |held| {
        order.borrow_mut().push(held.read().unwrap().value.unwrap());
        async move {
            // They end in another order than they began.
            for _ in 0..4 - held.offset() % 4 {
                tokio::task::yield_now().await;
            }
            if held.offset() == 6 { Outcome::Reject } else { Outcome::Accept }
        }
    })
    .await;
    assert_eq!(order.into_inner(), (0..10).collect::<Vec<_>>());
    assert_eq!(verdicts(driver.told()), [[(0, 5, ACCEPT), (6, 6, REJECT), (7, 9, ACCEPT)]]);
}

#[tokio::test]
async fn nothing_is_acknowledged_before_its_handler_is_done_nor_kept_back_after() {
    let (mut consumer, mut driver) = consumer();
    driver.acquire(0, 10);
    let open = Semaphore::new(0);
    let handling = consumer.for_each_concurrent(10, |held: Held| {
        let open = &open;
        async move {
            open.acquire().await.unwrap().forget();
            if held.offset() == 4 {
                pending::<()>().await;
            }
        }
    });
    let mut handling = Box::pin(handling.run());
    let mut wait = async || assert!(tokio::time::timeout(Duration::from_millis(20), &mut handling).await.is_err());
    wait().await;
    assert_eq!(verdicts(driver.told()), [[(0, 0, 0); 0]; 0]);
    open.add_permits(10);
    wait().await;
    assert_eq!(verdicts(driver.told()), [[(0, 3, ACCEPT), (5, 9, ACCEPT)]]);
    wait().await;
    assert_eq!(verdicts(driver.told()), [[(0, 0, 0); 0]; 0]);
    drop(handling);
    assert_eq!(verdicts(driver.told()), [[(4, 4, RELEASE)]]);
}

#[tokio::test]
async fn records_of_a_malformed_batch_reach_no_handler_and_are_rejected() {
    let (mut consumer, mut driver) = consumer();
    driver.acquire_bytes(0, 10, super::malformed(0, 10));
    driver.acquire(10, 2);
    handle(&mut consumer, 1, |held| async move {
        assert!(held.offset() < 8 || held.offset() >= 10);
        Outcome::Accept
    })
    .await;
    assert_eq!(verdicts(driver.told()), [vec![(0, 7, ACCEPT), (8, 9, REJECT)], vec![(10, 11, ACCEPT)]]);
}

#[tokio::test]
async fn a_handler_that_wakes_itself_again_and_again_leaves_the_others_their_turn() {
    let (mut consumer, driver) = consumer();
    driver.acquire(0, 10);
    let others = RefCell::new(0);
    let handling = consumer.for_each_concurrent(2, |held: Held| {
        let others = &others;
        let mut spin = held.offset() == 0;
        poll_fn(move |cx| {
            spin &= *others.borrow() < 9;
            cx.waker().wake_by_ref();
            match spin {
                true => Poll::Pending,
                false => {
                    *others.borrow_mut() += 1;
                    Poll::Ready(())
                }
            }
        })
    });
    let enough = async {
        while *others.borrow() < 10 {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        ended = handling.run() => panic!("{ended:?}"),
        () = enough => {}
    }
    assert_eq!(others.into_inner(), 10);
}

#[tokio::test]
async fn a_stream_ends_after_the_error_that_ends_its_consumer_and_after_the_last_subscription() {
    let (mut consumer, mut driver) = consumer();
    let fail = |fatal| {
        let error = ClientError::new(ErrorKind::Unreachable, "consuming", "for some reason");
        driver.notices.send(Notice::Failed { error, fatal }).unwrap();
    };
    fail(false);
    driver.acquire(0, 1);
    assert_eq!(consumer.next().await.unwrap().unwrap_err().kind(), ErrorKind::Unreachable);
    assert_eq!(consumer.next().await.unwrap().unwrap().len(), 1);
    consumer.subscribe::<String>([]).unwrap();
    assert_eq!(consumer.next().await.unwrap().unwrap_err().kind(), ErrorKind::Invalid);
    assert!(consumer.next().await.is_none());
    consumer.subscribe(["orders"]).unwrap();
    driver.acquire(1, 1);
    assert_eq!(consumer.next().await.unwrap().unwrap().first_offset(), 1);
    fail(true);
    assert!(consumer.next().await.unwrap().is_err());
    assert!(consumer.next().await.is_none());
    driver.told();
}
