//! What can happen to a transaction that passes records on.

use std::time::Duration;

use ackflow_client::share::AcquireMode;
use ackflow_client::{ErrorKind, Producer};
use ackflow_protocol::wire::{ApiKey, ErrorCode};
use ackflow_testkit::core::{FaultAction, FaultRule};

use crate::support::eventually;
use crate::*;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_makes_input_and_output_count_together() {
    within_a_minute(async {
        let broker = broker(10).await;
        let (mut consumer, producer) = (consumer(&broker), producer(&broker).await);
        assert_eq!(pass_on(&mut consumer, &producer).await.unwrap(), numbers(10));
        assert_eq!((pending(&broker).await, lag(&broker).await), (10, 10));
        assert_eq!(output(&broker).await, numbers(0));
        producer.commit_transaction().await.unwrap();
        assert_eq!((pending(&broker).await, lag(&broker).await), (0, 0));
        assert_eq!(output(&broker).await, numbers(10));
        // The transaction had them, the consumer did not.
        assert!(consumer.commit_sync(10 * SECOND).await.unwrap().is_empty());
        consumer.close(10 * SECOND).await.unwrap();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_abort_gives_the_records_to_another_attempt() {
    within_a_minute(async {
        let broker = broker(10).await;
        let (mut consumer, producer) = (consumer(&broker), producer(&broker).await);
        pass_on(&mut consumer, &producer).await.unwrap();
        producer.abort_transaction().await.unwrap();
        assert_eq!(pass_on(&mut consumer, &producer).await.unwrap(), numbers(10));
        producer.commit_transaction().await.unwrap();
        assert_eq!((lag(&broker).await, output(&broker).await), (0, numbers(10)));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_a_crash_before_the_end_the_next_producer_aborts_and_passes_on() {
    within_a_minute(async {
        let broker = broker(10).await;
        let (mut first, crashed) = (consumer(&broker), producer(&broker).await);
        pass_on(&mut first, &crashed).await.unwrap();
        crashed.flush().await.unwrap();
        // It closes in the background, and says nothing of its transaction.
        drop((first, crashed));
        assert_eq!(pending(&broker).await, 10);
        let producer = producer(&broker).await;
        assert_eq!(pending(&broker).await, 0);
        let mut second = consumer(&broker);
        assert_eq!(pass_on(&mut second, &producer).await.unwrap(), numbers(10));
        producer.commit_transaction().await.unwrap();
        assert_eq!((lag(&broker).await, output(&broker).await), (0, numbers(10)));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_a_crash_behind_the_end_everything_counts_once() {
    within_a_minute(async {
        let broker = broker(10).await;
        let (mut first, crashed) = (consumer(&broker), producer(&broker).await);
        pass_on(&mut first, &crashed).await.unwrap();
        // The answer never comes.
        broker.add_fault(FaultRule::new(FaultAction::CutAfter).api(ApiKey::END_TXN)).await.unwrap();
        let committing = {
            let producer: Producer = crashed.clone();
            tokio::spawn(async move { producer.commit_transaction().await })
        };
        eventually("the end", async || (lag(&broker).await == 0).then_some(())).await;
        committing.abort();
        let _ = committing.await;
        drop((first, crashed));
        broker.clear_faults().await.unwrap();
        let producer = producer(&broker).await;
        assert_eq!((lag(&broker).await, output(&broker).await), (0, numbers(10)));
        let mut second = consumer(&broker);
        assert!(second.poll(Duration::from_millis(500)).await.unwrap().is_empty());
        producer.close().await.unwrap();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_transaction_survives_the_restart_of_the_broker_that_holds_its_records() {
    within_a_minute(async {
        for commits in [true, false] {
            // Each of the two nodes leads one topic; the one of the input dies.
            let broker = builder().nodes(2).start().await.unwrap();
            let coordinator = coordinator_of_transactions(&broker).await;
            let source = if coordinator == 1 { 2 } else { 1 };
            broker.move_leader(IN, 0, source).await.unwrap();
            broker.move_leader(OUT, 0, coordinator).await.unwrap();
            broker.move_coordinator(GROUP, coordinator).await.unwrap();
            broker.produce(IN, 0, &numbers(10)).await.unwrap();
            let (mut consumer, producer) = (consumer(&broker), producer(&broker).await);
            pass_on(&mut consumer, &producer).await.unwrap();
            broker.kill_node(source, Duration::ZERO).await.unwrap();
            assert_eq!(pending(&broker).await, 10);
            // It may hear of its lost session first.
            if let Ok(records) = consumer.poll(Duration::from_millis(300)).await {
                assert!(records.is_empty());
            }
            broker.start_node(source).await.unwrap();
            broker.move_leader(IN, 0, source).await.unwrap();
            assert_eq!(pending(&broker).await, 10);
            if commits {
                producer.commit_transaction().await.unwrap();
            } else {
                producer.abort_transaction().await.unwrap();
                assert_eq!(pass_on_at_last(&mut consumer, &producer).await, numbers(10));
                producer.commit_transaction().await.unwrap();
            }
            assert_eq!((lag(&broker).await, output(&broker).await), (0, numbers(10)));
            broker.shutdown().await;
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lock_that_ends_before_staging_makes_the_transaction_abortable() {
    within_a_minute(async {
        let broker = broker(10).await;
        let producer = producer(&broker).await;
        // Nothing is fetched ahead, or the member could acquire them once more before it stages them.
        let config = config(&broker).acquire_mode(AcquireMode::RecordLimit).max_poll_records(10).build().unwrap();
        let mut consumer = ShareConsumer::new(config).unwrap();
        consumer.subscribe([IN]).unwrap();
        write(&mut consumer, &producer).await;
        broker.expire_locks(GROUP).await.unwrap();
        let error = acknowledge(&mut consumer, &producer).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Abortable, "{error}");
        assert!(error.to_string().contains("INVALID_RECORD_STATE"), "{error}");
        let error = producer.commit_transaction().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Abortable, "{error}");
        producer.abort_transaction().await.unwrap();
        assert_eq!(pass_on(&mut consumer, &producer).await.unwrap(), numbers(10));
        producer.commit_transaction().await.unwrap();
        assert_eq!((lag(&broker).await, output(&broker).await), (0, numbers(10)));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_members_in_turn_pass_everything_on_once() {
    within_a_minute(async {
        let broker = builder().start().await.unwrap();
        let producer = producer(&broker).await;
        let mut members = [consumer(&broker), consumer(&broker)];
        let mut expected = Vec::new();
        for turn in 0..6 {
            let batch: Vec<String> = (0..5).map(|record| format!("{turn}-{record}")).collect();
            broker.produce(IN, 0, &batch).await.unwrap();
            expected.extend(batch);
            // Whoever gets them passes them on. The first attempt of every second turn fails, and whoever comes next has another.
            let (mut done, mut fails) = (0, turn % 2 == 0);
            while done < 5 {
                for member in &mut members {
                    let records = member.poll(Duration::from_millis(50)).await.unwrap();
                    if records.is_empty() {
                        continue;
                    }
                    producer.begin_transaction().unwrap();
                    for record in &records {
                        let record = record.unwrap();
                        let value = record.value.unwrap().to_vec();
                        drop(producer.send(ProducerRecord::new(OUT, value)).await.unwrap());
                        member.acknowledge(&record, ackflow_client::share::AckType::Accept).unwrap();
                    }
                    acknowledge(member, &producer).await.unwrap();
                    if std::mem::take(&mut fails) {
                        producer.abort_transaction().await.unwrap();
                    } else {
                        producer.commit_transaction().await.unwrap();
                        done += records.len();
                    }
                }
            }
        }
        assert_eq!(lag(&broker).await, 0);
        let mut output = output(&broker).await;
        output.sort();
        assert_eq!(output, expected);
    })
    .await;
}

/// As [`pass_on`], once the consumer has heard of all that was lost.
async fn pass_on_at_last(consumer: &mut ShareConsumer, producer: &Producer) -> Vec<String> {
    let records = eventually("the records", async || {
        let records = consumer.poll(SECOND).await.ok()?;
        (!records.is_empty()).then_some(records)
    })
    .await;
    producer.begin_transaction().unwrap();
    let mut values = Vec::new();
    for record in &records {
        let record = record.unwrap();
        values.push(String::from_utf8(record.value.unwrap().to_vec()).unwrap());
        drop(producer.send(ProducerRecord::new(OUT, record.value.unwrap().to_vec())).await.unwrap());
        consumer.acknowledge(&record, ackflow_client::share::AckType::Accept).unwrap();
    }
    acknowledge(consumer, producer).await.unwrap();
    values
}

async fn coordinator_of_transactions(broker: &EmbeddedBroker) -> i32 {
    use ackflow_protocol::messages::find_coordinator::FindCoordinatorRequest;
    let addr = broker.addr();
    let connection =
        ackflow_client::Connection::connect(&addr.ip().to_string(), addr.port(), &Default::default()).await.unwrap();
    let request = FindCoordinatorRequest { key_type: 1, coordinator_keys: vec![ID.to_owned()], ..Default::default() };
    let found = connection.call(&request, 10 * SECOND).await.unwrap();
    assert_eq!(found.coordinators[0].error_code, ErrorCode::NONE);
    found.coordinators[0].node_id
}
