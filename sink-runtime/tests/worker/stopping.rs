//! How a worker stops.

use std::time::{Duration, Instant};

use ackflow_sink_runtime::{PutOutcome, SinkError, TaskState};

use super::support::*;

#[tokio::test]
async fn a_put_that_runs_is_waited_for_and_accepted() {
    let cluster = Cluster::new(1).await;
    cluster.produce(0, 0..10).await;
    let sink = ScriptedSink::new(|_, _| async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        Ok(PutOutcome::ok())
    });
    let worker = cluster.start(&sink, &[]).await.unwrap();
    sink.until_got(10).await;
    let status = worker.stop().await;
    assert_eq!((status[0].state, status[0].has_ended), (TaskState::Stopped, true));
    assert_eq!(cluster.lag(0).await, Some(0));
    assert!(matches!(sink.calls()[..], [.., Call::Close(1), Call::Stop]));
}

#[tokio::test]
async fn a_put_that_takes_too_long_is_let_go_of_and_its_records_come_again() {
    let cluster = Cluster::new(1).await;
    cluster.produce(0, 0..10).await;
    let stuck = ScriptedSink::new(|_, _| std::future::pending());
    let worker = cluster.start(&stuck, &[]).await.unwrap();
    stuck.until_got(10).await;
    let since = Instant::now();
    let status = worker.stop().await;
    assert!(since.elapsed() < Duration::from_millis(3_500), "{:?}", since.elapsed());
    assert!(status[0].has_ended);

    let got = cluster.drain().await;
    assert!(got.iter().all(|got| got.delivery_count == 2));
}

#[tokio::test]
async fn what_a_task_buffers_is_flushed_and_accepted() {
    let cluster = Cluster::new(1).await;
    cluster.produce(0, 0..10).await;
    let sink = ScriptedSink::ok().buffering();
    let worker = cluster.start(&sink, &[("share.acquisition.lock.timeout.ms", "30000")]).await;
    assert!(worker.is_err(), "the group has a lock of its own");
    let worker = cluster.start(&sink, &[]).await.unwrap();
    sink.until_got(10).await;
    worker.stop().await;
    assert!(sink.calls().contains(&Call::Flush));
    assert_eq!(cluster.lag(0).await, Some(0));
}

// Mutation: sink-runtime/src/worker/machine/held.rs
// - item.todo = not_written;
// + item.written.extend(not_written);
#[tokio::test]
async fn row_68_a_stop_does_not_accept_a_put_that_failed() {
    let cluster = Cluster::new(1).await;
    cluster.produce(0, 0..10).await;
    let sink = ScriptedSink::new(|_, _| async { Err(SinkError::retriable("the server is down")) }).buffering();
    let worker = cluster.start(&sink, &[]).await.unwrap();
    until_status(&worker, |status| status.state == TaskState::Retrying).await;
    worker.stop().await;
    assert_eq!(cluster.lag(0).await, Some(10));
}

#[tokio::test]
async fn a_task_that_cannot_start_costs_no_delivery() {
    let cluster = Cluster::new(1).await;
    cluster.produce(0, 0..10).await;
    let broken = ScriptedSink::ok().starting(|| Err(SinkError::config("url = x: is no URL; write http://host:port")));
    let worker = cluster.start(&broken, &[]).await.unwrap();
    let status = until_status(&worker, |status| status.has_ended).await;
    assert_eq!(status.trace.as_deref(), Some("url = x: is no URL; write http://host:port"));
    assert_eq!(broken.calls(), [Call::Start, Call::Stop]);

    let got = cluster.drain().await;
    assert!(got.iter().all(|got| got.delivery_count == 1));
}
