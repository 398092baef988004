//! What is refused, and in which words.

use ackflow_client::ErrorKind;
use ackflow_client::share::{AckType, AcknowledgementMode, ShareConsumer};
use ackflow_protocol::wire::{ApiKey, ErrorCode};
use ackflow_testkit::core::{FaultAction, FaultRule};

use crate::*;

/// Sends acknowledgements to a transaction of a broker that cannot take them, and gives the error.
async fn refusal(broker: EmbeddedBroker) -> String {
    broker.produce(IN, 0, &numbers(3)).await.unwrap();
    let (mut consumer, producer) = (consumer(&broker), producer(&broker).await);
    let error = pass_on(&mut consumer, &producer).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Abortable, "{error}");
    assert!(error.to_string().contains(&broker.bootstrap_servers()), "it names the broker: {error}");
    producer.abort_transaction().await.unwrap();
    assert_eq!(output(&broker).await, numbers(0));
    error.to_string()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_broker_that_lacks_something_is_named_with_what_it_lacks() {
    within_a_minute(async {
        // As every Kafka there is.
        let error = refusal(builder().share_version(1).start().await.unwrap()).await;
        assert!(error.contains("does not offer TxnShareAcknowledge"), "{error}");
        let hidden = builder().limit_version(ApiKey::TXN_SHARE_ACKNOWLEDGE, -1).start().await.unwrap();
        let error = refusal(hidden).await;
        assert!(error.contains("does not offer TxnShareAcknowledge"), "{error}");
        let error = refusal(builder().transaction_version(1).start().await.unwrap()).await;
        assert!(error.contains("transaction.version 2"), "{error}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn released_and_renewed_records_are_refused_and_nothing_is_taken() {
    within_a_minute(async {
        let broker = broker(10).await;
        let (mut consumer, producer) = (consumer(&broker), producer(&broker).await);
        assert_eq!(consumer.poll(20 * SECOND).await.unwrap().len(), 10);
        consumer.acknowledge_range(IN, 0, 0..=9, AckType::Accept).unwrap();
        for ack in [AckType::Release, AckType::Renew] {
            consumer.acknowledge_range(IN, 0, 4..=5, ack).unwrap();
            let error = consumer.acknowledgements_for_transaction().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Invalid);
            assert!(error.to_string().contains("offsets 4 to 5 of in-0"), "{error}");
        }
        // They are still the consumer's to decide about.
        consumer.acknowledge_range(IN, 0, 4..=5, AckType::Reject).unwrap();
        let acknowledgements = consumer.acknowledgements_for_transaction().unwrap();
        assert_eq!(acknowledgements.records(), 10);
        assert!(consumer.acknowledgements_for_transaction().unwrap().is_empty(), "they are taken once");
        let member = consumer.share_group_metadata().unwrap();
        assert_eq!((member.group_id.as_str(), member.member_id.as_str()), (GROUP, consumer.member_id()));
        producer.begin_transaction().unwrap();
        producer.send_share_acknowledgements_to_transaction(acknowledgements, &member).await.unwrap();
        producer.commit_transaction().await.unwrap();
        assert_eq!(lag(&broker).await, 0);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_undecided_stays_with_the_consumer() {
    within_a_minute(async {
        let broker = broker(10).await;
        let (mut consumer, producer) = (consumer(&broker), producer(&broker).await);
        assert_eq!(consumer.poll(20 * SECOND).await.unwrap().len(), 10);
        consumer.acknowledge_range(IN, 0, 2..=3, AckType::Accept).unwrap();
        let acknowledgements = consumer.acknowledgements_for_transaction().unwrap();
        assert_eq!(acknowledgements.records(), 2);
        assert_eq!(consumer.poll(SECOND).await.unwrap_err().kind(), ErrorKind::Invalid);
        assert!(consumer.acknowledge_offset(IN, 0, 2, AckType::Release).is_err(), "it is the transaction's");
        consumer.acknowledge_all(AckType::Accept).unwrap();
        assert!(consumer.commit_sync(10 * SECOND).await.unwrap().first_error().is_none());
        assert_eq!(lag(&broker).await, 2);
        producer.begin_transaction().unwrap();
        let member = consumer.share_group_metadata().unwrap();
        producer.send_share_acknowledgements_to_transaction(acknowledgements, &member).await.unwrap();
        producer.commit_transaction().await.unwrap();
        assert_eq!(lag(&broker).await, 0);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_implicit_consumer_and_one_outside_the_group_have_none() {
    within_a_minute(async {
        let broker = broker(1).await;
        let config = config(&broker).acknowledgement_mode(AcknowledgementMode::Implicit).build().unwrap();
        let mut implicit = ShareConsumer::new(config).unwrap();
        assert_eq!(implicit.share_group_metadata().unwrap_err().kind(), ErrorKind::Invalid);
        implicit.subscribe([IN]).unwrap();
        assert_eq!(implicit.poll(20 * SECOND).await.unwrap().len(), 1);
        let error = implicit.acknowledgements_for_transaction().unwrap_err();
        assert!(error.to_string().contains("share.acknowledgement.mode=explicit"), "{error}");
        assert!(implicit.share_group_metadata().unwrap().member_epoch > 0);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wrong_epoch_of_the_member_makes_the_transaction_abortable() {
    within_a_minute(async {
        let broker = broker(1).await;
        let (mut consumer, producer) = (consumer(&broker), producer(&broker).await);
        write(&mut consumer, &producer).await;
        let mut member = consumer.share_group_metadata().unwrap();
        member.member_epoch += 1;
        let acknowledgements = consumer.acknowledgements_for_transaction().unwrap();
        let sent = producer.send_share_acknowledgements_to_transaction(acknowledgements, &member).await;
        let error = sent.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Abortable);
        assert!(error.to_string().contains("FENCED_MEMBER_EPOCH"), "{error}");
        producer.abort_transaction().await.unwrap();
        assert_eq!(lag(&broker).await, 1);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_broker_that_does_not_answer_leaves_nothing_but_to_abort() {
    within_a_minute(async {
        let broker = broker(5).await;
        let (mut consumer, producer) = (consumer(&broker), producer(&broker).await);
        let rule = FaultRule::new(FaultAction::CutAfter).api(ApiKey::TXN_SHARE_ACKNOWLEDGE).times(1);
        broker.add_fault(rule).await.unwrap();
        let error = pass_on(&mut consumer, &producer).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Abortable, "{error}");
        assert!(error.to_string().contains("did not answer"), "{error}");
        // It has taken them all the same, and gives them back.
        assert_eq!(pending(&broker).await, 5);
        producer.abort_transaction().await.unwrap();
        let rule = FaultRule::new(FaultAction::Refuse(ErrorCode::CONCURRENT_TRANSACTIONS));
        broker.add_fault(rule.api(ApiKey::TXN_SHARE_ACKNOWLEDGE).times(2)).await.unwrap();
        assert_eq!(pass_on(&mut consumer, &producer).await.unwrap(), numbers(5), "that passes");
        producer.commit_transaction().await.unwrap();
        assert_eq!((lag(&broker).await, output(&broker).await), (0, numbers(5)));
    })
    .await;
}
