//! Handlers, many at a time.

use std::collections::{BTreeSet, HashMap};
use std::convert::Infallible;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use ackflow_client::share::{AutoRenew, ForEachError, HandlerFailure, HeldRecord, Outcome};
use tokio::sync::{Notify, Semaphore};
use tokio_stream::StreamExt;

use crate::cluster::{Cluster, SECOND, Seen};

type AnyError = Box<dyn std::error::Error + Send + Sync>;

/// What handlers were called for: by offset, each call with delivery count and attempt.
#[derive(Default)]
struct Calls(Mutex<HashMap<i64, Vec<(i16, u32)>>>);

impl Calls {
    fn note(&self, held: &HeldRecord) {
        let call = (held.delivery_count(), held.attempt());
        self.0.lock().unwrap().entry(held.offset()).or_default().push(call);
    }

    fn of(&self, offset: i64) -> Vec<(i16, u32)> {
        self.0.lock().unwrap().get(&offset).cloned().unwrap_or_default()
    }
}

pub(crate) async fn each_outcome_does_with_its_record_what_it_says(cluster: Cluster) {
    cluster.produce(0, 0..8).await;
    let mut consumer = cluster.owned(cluster.config());
    let (calls, dead, done) = (Calls::default(), Mutex::new(Vec::new()), Semaphore::new(0));
    let handle = async |held: HeldRecord| -> Result<Outcome, AnyError> {
        calls.note(&held);
        let again = held.delivery_count() > 1;
        let outcome = match held.offset() {
            1 if !again => return Ok(Outcome::Release),
            2 => Outcome::Reject,
            3 if held.attempt() < 3 => return Ok(Outcome::Retry { after: Duration::from_millis(100) }),
            // Both are written, one at the second try.
            4 | 5 => return Ok(Outcome::DeadLetter),
            6 if !again => return Err("no luck".into()),
            7 if !again => panic!("bad luck"),
            offset => {
                assert_eq!(held.read()?.value, Some(offset.to_string().as_bytes()));
                Outcome::Accept
            }
        };
        done.add_permits(1);
        Ok(outcome)
    };
    let write = async |held: HeldRecord| {
        if held.offset() == 5 && held.delivery_count() == 1 {
            return Err("the sink is not there");
        }
        dead.lock().unwrap().push(held.read().unwrap().value.unwrap().to_vec());
        done.add_permits(1);
        Ok(())
    };
    let handled = consumer.for_each_concurrent(4, handle).dead_letters(write);
    handled.until(done.acquire_many(8)).run().await.unwrap();
    consumer.close(10 * SECOND).await.unwrap();
    cluster.no_lag_is_left().await;

    for offset in [0, 2, 4] {
        assert_eq!(calls.of(offset), [(1, 1)], "offset {offset}");
    }
    for offset in [1, 5, 6, 7] {
        assert_eq!(calls.of(offset), [(1, 1), (2, 1)], "offset {offset}");
    }
    assert_eq!(calls.of(3), [(1, 1), (1, 2), (1, 3)]);
    dead.lock().unwrap().sort();
    assert_eq!(*dead.lock().unwrap(), [b"4", b"5"]);
}

pub(crate) async fn a_record_that_waits_to_be_tried_again_keeps_its_lock(cluster: Cluster) {
    let cluster = cluster.with_one_partition().await;
    cluster.set_group_config("share.record.lock.duration.ms", "1000").await;
    cluster.produce(0, 0..10).await;
    let mut consumer = cluster.owned(cluster.config());
    // Who is idle would get the record when its lock ends.
    let mut idle = cluster.owned(cluster.config());
    let (calls, tried, done) = (Calls::default(), Semaphore::new(0), Semaphore::new(0));
    let handling = consumer.for_each_concurrent(2, |held: HeldRecord| {
        calls.note(&held);
        let (tried, done) = (&tried, &done);
        async move {
            if held.offset() == 4 && held.attempt() == 1 {
                tried.add_permits(1);
                return Outcome::Retry { after: 5 * SECOND / 2 };
            }
            assert!(held.lock_deadline() > Instant::now());
            done.add_permits(1);
            Outcome::Accept
        }
    });
    let watching = async {
        tried.acquire().await.unwrap().forget();
        tokio::select! {
            stolen = idle.poll(20 * SECOND) => panic!("{stolen:?}"),
            all = done.acquire_many(10) => all.unwrap().forget(),
        }
    };
    handling.until(watching).run().await.unwrap();
    assert_eq!(calls.of(4), [(1, 1), (1, 2)]);
    cluster.no_lag_is_left().await;
    for consumer in [consumer, idle] {
        consumer.close(10 * SECOND).await.unwrap();
    }
}

pub(crate) async fn a_record_whose_lock_is_renewed_no_more_is_released_and_comes_again(cluster: Cluster) {
    let cluster = cluster.with_one_partition().await;
    cluster.set_group_config("share.record.lock.duration.ms", "1000").await;
    cluster.produce(0, 0..1).await;
    let mut consumer = cluster.owned(cluster.config());
    let (calls, done) = (Calls::default(), Notify::new());
    let handling = consumer.for_each_concurrent(1, |held: HeldRecord| {
        calls.note(&held);
        let done = &done;
        async move {
            if held.delivery_count() == 1 {
                return Outcome::Retry { after: 60 * SECOND };
            }
            done.notify_one();
            Outcome::Accept
        }
    });
    let begun = Instant::now();
    let once = AutoRenew { max_renewals: 1, ..AutoRenew::default() };
    handling.renew(once).until(done.notified()).run().await.unwrap();
    assert!(begun.elapsed() > SECOND, "renewed once");
    assert_eq!(calls.of(0), [(1, 1), (2, 1)]);
    consumer.close(10 * SECOND).await.unwrap();
    cluster.no_lag_is_left().await;
}

pub(crate) async fn no_more_handlers_run_than_allowed(cluster: Cluster) {
    for partition in 0..3 {
        cluster.produce(partition, 0..200).await;
    }
    let mut consumer = cluster.owned(cluster.config().max_poll_records(50));
    let (running, most, done) = (AtomicUsize::new(0), AtomicUsize::new(0), Semaphore::new(0));
    let seen = Mutex::new(Seen::default());
    let handling = consumer.for_each_concurrent(7, |held: HeldRecord| {
        seen.lock().unwrap().add(held.partition(), held.offset());
        most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        let (running, done) = (&running, &done);
        async move {
            for _ in 0..held.offset() % 5 {
                tokio::task::yield_now().await;
            }
            running.fetch_sub(1, Ordering::SeqCst);
            done.add_permits(1);
        }
    });
    handling.until(done.acquire_many(600)).run().await.unwrap();
    assert_eq!(most.into_inner(), 7);
    assert_eq!(seen.into_inner().unwrap().len(), 600);
    consumer.close(10 * SECOND).await.unwrap();
    cluster.no_lag_is_left().await;
}

pub(crate) async fn a_slow_record_holds_back_no_other(cluster: Cluster) {
    let cluster = cluster.with_one_partition().await;
    cluster.produce(0, 0..300).await;
    let mut consumer = cluster.owned(cluster.config().max_poll_records(50));
    let (others, done) = (Semaphore::new(0), Notify::new());
    let handling = consumer.for_each_concurrent(2, |held: HeldRecord| {
        let (others, done) = (&others, &done);
        async move {
            if held.offset() == 0 {
                others.acquire_many(299).await.unwrap().forget();
                done.notify_one();
            } else {
                others.add_permits(1);
            }
        }
    });
    handling.until(done.notified()).run().await.unwrap();
    consumer.close(10 * SECOND).await.unwrap();
    cluster.no_lag_is_left().await;
}

pub(crate) async fn handlers_that_work_longer_than_a_poll_may_stay_away_are_no_absence(cluster: Cluster) {
    let cluster = cluster.with_one_partition().await;
    cluster.produce(0, 0..2).await;
    let mut consumer = cluster.owned(cluster.config().max_poll_interval(SECOND / 2));
    let (calls, done) = (Calls::default(), Semaphore::new(0));
    let handling = consumer.for_each_concurrent(1, |held: HeldRecord| {
        calls.note(&held);
        let done = &done;
        async move {
            tokio::time::sleep(3 * SECOND / 2).await;
            done.add_permits(1);
        }
    });
    handling.until(done.acquire_many(2)).run().await.unwrap();
    assert_eq!((calls.of(0), calls.of(1)), (vec![(1, 1)], vec![(1, 1)]));
    assert!(!consumer.assignment().is_empty());
    consumer.close(10 * SECOND).await.unwrap();
    cluster.no_lag_is_left().await;
}

/// Accepts everything that comes until all of it was seen once.
async fn take_the_rest(cluster: &Cluster, finished: BTreeSet<i64>, all: usize) {
    let mut consumer = cluster.owned(cluster.config());
    let mut seen = finished;
    while seen.len() < all {
        let delivery = consumer.poll(20 * SECOND).await.unwrap().unwrap();
        for record in delivery.records() {
            let offset = record.unwrap().offset;
            assert!(seen.insert(offset), "{offset} was accepted before");
        }
        delivery.accept().await.unwrap();
    }
    consumer.close(10 * SECOND).await.unwrap();
    cluster.no_lag_is_left().await;
}

pub(crate) async fn an_end_lets_handlers_finish_and_gives_everything_else_back(cluster: Cluster) {
    let cluster = cluster.with_one_partition().await;
    cluster.produce(0, 0..200).await;
    let mut consumer = cluster.owned(cluster.config());
    let (begun, finished) = (Mutex::new(BTreeSet::new()), Mutex::new(BTreeSet::new()));
    let (end, ended) = (Notify::new(), Notify::new());
    let handling = consumer.for_each_concurrent(5, |held: HeldRecord| {
        begun.lock().unwrap().insert(held.offset());
        let (finished, end, ended) = (&finished, &end, &ended);
        async move {
            match held.offset() {
                3 => return Outcome::Retry { after: 60 * SECOND },
                // It finishes only after the end has come.
                100 => {
                    end.notify_one();
                    ended.notified().await;
                    tokio::time::sleep(SECOND / 5).await;
                }
                _ => tokio::task::yield_now().await,
            }
            finished.lock().unwrap().insert(held.offset());
            Outcome::Accept
        }
    });
    let until = async {
        end.notified().await;
        ended.notify_one();
    };
    handling.until(until).run().await.unwrap();
    let (mut begun, finished) = (begun.into_inner().unwrap(), finished.into_inner().unwrap());
    assert!(begun.remove(&3) && begun.len() < 199);
    assert_eq!(begun, finished);
    // The consumer goes on, or another one does.
    consumer.close(10 * SECOND).await.unwrap();
    take_the_rest(&cluster, finished, 200).await;
}

pub(crate) async fn handling_that_is_dropped_settles_what_is_done_and_gives_everything_else_back(cluster: Cluster) {
    let cluster = cluster.with_one_partition().await;
    cluster.produce(0, 0..200).await;
    let mut consumer = cluster.owned(cluster.config());
    let (finished, end) = (Mutex::new(BTreeSet::new()), Notify::new());
    let handling = consumer.for_each_concurrent(5, |held: HeldRecord| {
        let (finished, end) = (&finished, &end);
        async move {
            if held.offset() % 50 == 30 {
                end.notify_one();
                std::future::pending::<()>().await;
            }
            finished.lock().unwrap().insert(held.offset());
        }
    });
    tokio::select! {
        ended = handling.run() => panic!("{ended:?}"),
        () = end.notified() => {}
    }
    assert_eq!(consumer.commit_sync(10 * SECOND).await.unwrap().first_error(), None);
    consumer.close(10 * SECOND).await.unwrap();
    let finished = finished.into_inner().unwrap();
    assert!((29..196).contains(&finished.len()), "{}", finished.len());
    take_the_rest(&cluster, finished, 200).await;
}

pub(crate) async fn handling_ends_at_the_first_error_where_that_is_asked_for(cluster: Cluster) {
    let cluster = cluster.with_one_partition().await;
    cluster.produce(0, 0..20).await;
    let mut consumer = cluster.owned(cluster.config());
    let handling = consumer.for_each_concurrent(1, |held: HeldRecord| async move {
        match held.offset() {
            7 => Err("no luck"),
            _ => Ok(()),
        }
    });
    let error = handling.stop_on_error().run().await.unwrap_err();
    let ForEachError::Handler(error) = error else { panic!("{error}") };
    assert_eq!((&*error.partition.topic, error.offset, error.delivery_count), (&*cluster.topic, 7, 1));
    assert!(matches!(&error.failure, HandlerFailure::Failed(error) if error.to_string() == "no luck"), "{error}");
    consumer.close(10 * SECOND).await.unwrap();
    take_the_rest(&cluster, (0..7).collect(), 20).await;
}

pub(crate) async fn deliveries_come_as_a_stream(cluster: Cluster) {
    for partition in 0..3 {
        cluster.produce(partition, 0..100).await;
    }
    let mut consumer = cluster.owned(cluster.config().max_poll_records(40));
    let mut seen = Seen::default();
    while seen.len() < 300 {
        let delivery = consumer.next().await.unwrap().unwrap();
        delivery.records().map(|record| record.unwrap()).for_each(|record| seen.add(record.partition, record.offset));
        drop(delivery.accept());
    }
    // A wait that is given up has taken nothing.
    assert!(tokio::time::timeout(SECOND / 10, consumer.next()).await.is_err());
    cluster.produce(0, 100..110).await;
    let delivery = consumer.next().await.unwrap().unwrap();
    assert_eq!((delivery.first_offset(), delivery.len()), (100, 10));
    delivery.accept().await.unwrap();
    consumer.close(10 * SECOND).await.unwrap();
    cluster.no_lag_is_left().await;
}

/// The whole of it can run in a task of its own.
pub(crate) async fn handling_can_be_spawned(cluster: Cluster) {
    cluster.produce(0, 0..10).await;
    let mut consumer = cluster.owned(cluster.config());
    let (done, mut all) = tokio::sync::mpsc::unbounded_channel();
    let (end, ended) = tokio::sync::oneshot::channel::<()>();
    let handling = tokio::spawn(async move {
        let handle = |held: HeldRecord| {
            let done = done.clone();
            async move {
                done.send(held.offset()).unwrap();
                Ok::<_, Infallible>(Outcome::Accept)
            }
        };
        consumer.for_each_concurrent(4, handle).until(ended).run().await.unwrap();
        consumer
    });
    for _ in 0..10 {
        all.recv().await.unwrap();
    }
    end.send(()).unwrap();
    handling.await.unwrap().close(10 * SECOND).await.unwrap();
    cluster.no_lag_is_left().await;
}
