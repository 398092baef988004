//! What becomes of records by what the sink says about them.

use std::time::{Duration, Instant};

use ackflow_sink_runtime::{PutOutcome, SinkError, TaskState};

use super::support::*;

fn offsets(got: &[Got]) -> Vec<i64> {
    let mut offsets: Vec<_> = got.iter().map(|got| got.offset).collect();
    offsets.sort_unstable();
    offsets
}

#[tokio::test]
async fn every_record_is_put_once_and_accepted() {
    let cluster = Cluster::new(2).await;
    cluster.produce(0, 0..1_000).await;
    cluster.produce(1, 0..1_000).await;
    let sink = ScriptedSink::ok();
    let worker = cluster.start(&sink, &[("tasks.max", "2")]).await.unwrap();
    cluster.until_lag(0, 0).await;
    cluster.until_lag(1, 0).await;
    let status = worker.stop().await;
    assert!(status.iter().all(|status| status.state == TaskState::Stopped && status.has_ended), "{status:?}");
    let got = sink.got();
    assert_eq!(got.len(), 2_000);
    assert!(got.iter().all(|got| got.delivery_count == 1));
}

#[tokio::test]
async fn calls_come_in_the_order_of_the_contract() {
    let cluster = Cluster::new(2).await;
    cluster.produce(0, 0..10).await;
    let sink = ScriptedSink::ok().buffering();
    let worker = cluster.start(&sink, &[]).await.unwrap();
    sink.until_got(10).await;
    cluster.until_lag(0, 0).await;
    worker.stop().await;
    let calls: Vec<_> =
        sink.calls().into_iter().map(|call| if let Call::Put(_) = call { Call::Put(vec![]) } else { call }).collect();
    assert_eq!(calls, [Call::Start, Call::Open(2), Call::Put(vec![]), Call::Flush, Call::Close(2), Call::Stop]);
}

// Mutation: sink-runtime/src/worker/machine/held.rs
// - if !self.items.values().any(|item| !item.renewing && item.renew_at() <= now) {
// + if true {
#[tokio::test]
async fn row_69_a_retry_longer_than_the_lock_costs_no_delivery() {
    let cluster = Cluster::new(1).await;
    cluster.produce(0, 0..2_000).await;
    let since = Instant::now();
    let sink = ScriptedSink::new(move |_, _| async move {
        if since.elapsed() < Duration::from_secs(4) {
            return Err(SinkError::retry_after("the server is down", Duration::from_millis(200)));
        }
        Ok(PutOutcome::ok())
    });
    let worker = cluster.start(&sink, &[]).await.unwrap();
    let status = until_status(&worker, |status| status.state == TaskState::Retrying).await;
    assert_eq!(status.trace.as_deref(), Some("the server is down"));
    cluster.until_lag(0, 0).await;
    let counters = worker.counters()[0];
    worker.stop().await;
    let got = sink.got();
    assert!(got.iter().all(|got| got.delivery_count == 1), "{:?}", got.iter().map(|got| got.delivery_count).max());
    assert_eq!((counters.read, counters.ack_failed, counters.released), (2_000, 0, 0));
    assert!(counters.failures > 10 && counters.put > 2_000);
}

#[tokio::test]
async fn a_put_longer_than_the_lock_costs_no_delivery_either() {
    let cluster = Cluster::new(1).await;
    cluster.produce(0, 0..1_000).await;
    cluster.produce(0, 1_000..2_000).await;
    let sink = ScriptedSink::new(|put, _| async move {
        if put == 0 {
            tokio::time::sleep(Duration::from_secs(4)).await;
        }
        Ok(PutOutcome::ok())
    });
    let worker = cluster.start(&sink, &[]).await.unwrap();
    cluster.until_lag(0, 0).await;
    let counters = worker.counters()[0];
    worker.stop().await;
    assert_eq!((sink.got().len(), counters.ack_failed), (2_000, 0));
    assert!(sink.got().iter().all(|got| got.delivery_count == 1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_put_that_blocks_its_thread_keeps_its_locks() {
    let cluster = Cluster::new(1).await;
    cluster.produce(0, 0..10).await;
    let sink = ScriptedSink::new(|_, _| async move {
        std::thread::sleep(Duration::from_secs(3));
        Ok(PutOutcome::ok())
    });
    let worker = cluster.start(&sink, &[]).await.unwrap();
    cluster.until_lag(0, 0).await;
    worker.stop().await;
    assert_eq!(sink.got().len(), 10);
}

#[tokio::test]
async fn a_fatal_error_releases_the_records_and_fails_the_task() {
    let cluster = Cluster::new(1).await;
    cluster.produce(0, 0..10).await;
    let failing = ScriptedSink::new(|_, _| async { Err(SinkError::fatal("the table is gone")) });
    let worker = cluster.start(&failing, &[]).await.unwrap();
    let status = until_status(&worker, |status| status.has_ended).await;
    assert_eq!((status.state, status.trace.as_deref()), (TaskState::Failed, Some("the table is gone")));
    worker.finished().await;
    assert_eq!(failing.calls().last(), Some(&Call::Stop));

    let got = cluster.drain().await;
    assert!(got.iter().all(|got| got.delivery_count == 2));
    assert_eq!(offsets(&got), (0..10).collect::<Vec<_>>());
}

// Mutation: sink-runtime/src/worker/caller.rs
// - Ok(panic) => format!("the task panicked: {}", message(panic.as_ref())),
// + Ok(panic) => std::panic::resume_unwind(panic),
#[tokio::test]
async fn row_19_a_crash_in_put_fails_the_task_and_loses_nothing() {
    let cluster = Cluster::new(1).await;
    cluster.produce(0, 0..10).await;
    let failing = ScriptedSink::new(|_, _| async { panic!("index out of bounds") });
    let worker = cluster.start(&failing, &[]).await.unwrap();
    let status = until_status(&worker, |status| status.has_ended).await;
    assert_eq!(status.trace.as_deref(), Some("the task panicked: index out of bounds"));
    let got = cluster.drain().await;
    assert_eq!(got.len(), 10);
}

#[tokio::test]
async fn a_record_on_its_last_delivery_is_held_until_the_limit_is_raised() {
    let cluster = Cluster::new(1).await;
    cluster.produce(0, 0..10).await;
    let failing = || ScriptedSink::new(|_, _| async { Err(SinkError::fatal("the table is gone")) });
    let limit = [("share.max.delivery.count", "2")];
    let worker = cluster.start(&failing(), &limit).await.unwrap();
    until_status(&worker, |status| status.has_ended).await;

    // The second time is the last.
    let holding = cluster.start(&failing(), &limit).await.unwrap();
    let status = until_status(&holding, |status| status.held == 10 && status.state == TaskState::Failed).await;
    assert!(!status.has_ended);
    let waited = tokio::time::timeout(Duration::from_secs(4), holding.finished()).await;
    assert!(waited.is_err(), "it lets go of nothing, however many locks go by");
    assert_eq!(cluster.lag(0).await, Some(10));

    cluster.set_group_config("share.delivery.count.limit", "5").await;
    tokio::time::timeout(PATIENCE, holding.finished()).await.unwrap();
    let got = cluster.drain().await;
    assert_eq!(offsets(&got), (0..10).collect::<Vec<_>>());
    assert!(got.iter().all(|got| got.delivery_count == 3));
}

// Mutation: sink-runtime/src/worker/machine/answers.rs
// - .end_put(|id, range| held::within(range, failures.iter().filter(|failure| failure.delivery == id)));
// + .end_put(|_, range| if failures.is_empty() { Vec::new() } else { vec![*range] });
#[tokio::test]
async fn row_70_of_a_put_with_one_bad_record_only_that_one_comes_again() {
    let cluster = Cluster::new(1).await;
    cluster.produce(0, 0..10).await;
    let picky = ScriptedSink::new(|_, records| async move {
        let mut outcome = PutOutcome::ok();
        for record in records.iter().filter(|record| record.offset == 7) {
            outcome.fail(&record, SinkError::data("too large"));
        }
        Ok(outcome)
    });
    let worker = cluster.start(&picky, &[]).await.unwrap();
    let status = until_status(&worker, |status| status.has_ended).await;
    assert_eq!(status.trace, Some(format!("{}-0 offset 7: too large", cluster.topic)));

    let got = cluster.drain().await;
    assert_eq!(got, [Got { partition: 0, offset: 7, delivery_count: 2 }]);
}

/// Has every third record fail in the first put; gives what all puts got.
async fn every_third_fails_at_first(buffering: bool) -> Vec<Got> {
    let cluster = Cluster::new(1).await;
    cluster.produce(0, 0..10).await;
    let sink = ScriptedSink::new(|put, records| async move {
        let mut outcome = PutOutcome::ok();
        for record in records.iter().filter(|record| put == 0 && record.offset % 3 == 0) {
            outcome.fail(&record, SinkError::retriable("busy"));
        }
        Ok(outcome)
    });
    let sink = if buffering { sink.buffering() } else { sink };
    let worker = cluster.start(&sink, &[]).await.unwrap();
    cluster.until_lag(0, 0).await;
    worker.stop().await;
    sink.got()
}

// Mutation: sink-runtime/src/worker/machine/answers.rs
// - .end_put(|id, range| held::within(range, failures.iter().filter(|failure| failure.delivery == id)));
// + .end_put(|_, range| if failures.is_empty() { Vec::new() } else { vec![*range] });
#[tokio::test]
async fn row_70_only_failed_records_are_put_again() {
    let got = every_third_fails_at_first(false).await;
    assert_eq!(offsets(&got), [0, 0, 1, 2, 3, 3, 4, 5, 6, 6, 7, 8, 9, 9]);
    assert!(got.iter().all(|got| got.delivery_count == 1));
}

// Mutation: sink-runtime/src/worker/machine/answers.rs
// - .end_put(|id, range| held::within(range, failures.iter().filter(|failure| failure.delivery == id)));
// + .end_put(|_, range| if failures.is_empty() { Vec::new() } else { vec![*range] });
#[tokio::test]
async fn row_70_what_a_task_has_buffered_is_not_put_again_with_what_failed() {
    let got = every_third_fails_at_first(true).await;
    assert_eq!(offsets(&got), [0, 0, 1, 2, 3, 3, 4, 5, 6, 6, 7, 8, 9, 9]);
}

const JSON: [(&str, &str); 2] =
    [("value.converter", "org.apache.kafka.connect.json.JsonConverter"), ("value.converter.schemas.enable", "false")];

#[tokio::test]
async fn a_record_that_its_converter_refuses_fails_the_task_and_names_its_place() {
    let cluster = Cluster::new(1).await;
    cluster.produce_values(0, ["{}", "{\"a\":", "[1]"]).await;
    let sink = ScriptedSink::ok();
    let worker = cluster.start(&sink, &JSON).await.unwrap();
    let status = until_status(&worker, |status| status.has_ended).await;
    let trace = status.trace.unwrap();
    assert!(trace.starts_with(&format!("{}-0 offset 1: value: is no JSON", cluster.topic)), "{trace}");
    assert_eq!(offsets(&sink.got()), [0, 2], "the others are written");
    assert_eq!(worker.counters()[0].accepted, 2);
    cluster.until_lag(0, 1).await;
}

#[tokio::test]
async fn a_tolerated_record_is_passed_over() {
    let cluster = Cluster::new(1).await;
    cluster.produce_values(0, ["{}", "{\"a\":", "[1]"]).await;
    let sink = ScriptedSink::ok();
    let tolerant = [&JSON[..], &[("errors.tolerance", "all"), ("errors.log.enable", "true")]].concat();
    let worker = cluster.start(&sink, &tolerant).await.unwrap();
    cluster.until_lag(0, 0).await;
    assert_eq!(worker.counters()[0].skipped, 1);
    worker.stop().await;
    assert_eq!(offsets(&sink.got()), [0, 2]);
}

#[tokio::test]
async fn two_workers_share_the_work() {
    let cluster = Cluster::new(1).await;
    let (left, right) = (ScriptedSink::ok(), ScriptedSink::ok());
    let workers = [cluster.start(&left, &[]).await.unwrap(), cluster.start(&right, &[]).await.unwrap()];
    let opened = |calls: &[Call]| calls.iter().any(|call| matches!(call, Call::Open(_)));
    left.until(opened).await;
    right.until(opened).await;
    for number in 0..200 {
        cluster.produce(0, number..number + 1).await;
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    cluster.until_lag(0, 0).await;
    for worker in workers {
        worker.stop().await;
    }
    assert!(!left.got().is_empty() && !right.got().is_empty());
    let mut all = [left.got(), right.got()].concat();
    all.sort_unstable();
    assert_eq!(offsets(&all), (0..200).collect::<Vec<_>>());
}

#[tokio::test]
async fn records_of_an_aborted_task_come_to_another() {
    let cluster = Cluster::new(1).await;
    cluster.produce(0, 0..10).await;
    let stuck = ScriptedSink::new(|_, _| std::future::pending());
    let worker = cluster.start(&stuck, &[]).await.unwrap();
    stuck.until_got(10).await;
    assert!(worker.abort_task("c", 0));
    let status = until_status(&worker, |status| status.has_ended).await;
    assert_eq!(status.state, TaskState::Failed);
    let got = cluster.drain().await;
    assert_eq!(got.len(), 10);
}

#[tokio::test]
async fn records_whose_session_is_lost_during_a_put_come_again_and_are_not_counted_as_accepted() {
    let cluster = Cluster::new(1).await;
    // Only the embedded broker cuts connections at a word.
    let Some(broker) = &cluster.embedded else { return };
    cluster.produce(0, 0..10).await;
    let sink = ScriptedSink::new(|put, _| async move {
        if put == 0 {
            tokio::time::sleep(Duration::from_millis(700)).await;
        }
        Ok(PutOutcome::ok())
    });
    let worker = cluster.start(&sink, &[]).await.unwrap();
    sink.until_got(10).await;
    broker.disconnect_all().await.unwrap();
    cluster.until_lag(0, 0).await;
    eventually("the answer", async || (worker.counters()[0].accepted == 10).then_some(())).await;
    let counters = worker.counters()[0];
    let status = worker.stop().await;
    assert_eq!(status[0].state, TaskState::Stopped);
    assert_eq!((sink.got().len(), counters.read, counters.accepted), (20, 20, 10));
}
