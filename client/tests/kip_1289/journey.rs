//! Deliveries in transactions.

use ackflow_client::share::OwnedShareConsumer;

use crate::*;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn deliveries_are_accepted_and_rejected_in_a_transaction() {
    within_a_minute(async {
        let broker = broker(10).await;
        let producer = producer(&broker).await;
        let mut consumer = OwnedShareConsumer::new(config(&broker).build().unwrap()).unwrap();
        consumer.subscribe([IN]).unwrap();
        let delivery = consumer.poll(20 * SECOND).await.unwrap().unwrap();
        assert_eq!(delivery.len(), 10);
        let (good, bad) = delivery.split_at(8);
        producer.begin_transaction().unwrap();
        for record in good.records() {
            let value = record.unwrap().value.unwrap().to_vec();
            drop(producer.send(ProducerRecord::new(OUT, value)).await.unwrap());
        }
        let mut acknowledgements = good.accept_in_transaction();
        acknowledgements.append(bad.reject_in_transaction());
        assert_eq!(acknowledgements.records(), 10);
        let member = consumer.share_group_metadata().unwrap();
        producer.send_share_acknowledgements_to_transaction(acknowledgements, &member).await.unwrap();
        assert_eq!(pending(&broker).await, 10);
        // Nothing of them is released with the consumer.
        consumer.close(10 * SECOND).await.unwrap();
        assert_eq!(pending(&broker).await, 10);
        producer.commit_transaction().await.unwrap();
        assert_eq!((lag(&broker).await, output(&broker).await), (0, numbers(8)));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_polls_go_into_one_transaction() {
    within_a_minute(async {
        let broker = broker(0).await;
        let (mut consumer, producer) = (consumer(&broker), producer(&broker).await);
        producer.begin_transaction().unwrap();
        for value in numbers(5) {
            broker.produce(IN, 0, std::slice::from_ref(&value)).await.unwrap();
            let records = consumer.poll(20 * SECOND).await.unwrap();
            assert_eq!(records.len(), 1);
            for record in &records {
                let record = record.unwrap();
                drop(producer.send(ProducerRecord::new(OUT, record.value.unwrap().to_vec())).await.unwrap());
                consumer.acknowledge(&record, ackflow_client::share::AckType::Accept).unwrap();
            }
            acknowledge(&mut consumer, &producer).await.unwrap();
        }
        assert_eq!((pending(&broker).await, lag(&broker).await), (5, 5));
        producer.commit_transaction().await.unwrap();
        assert_eq!((lag(&broker).await, output(&broker).await), (0, numbers(5)));
    })
    .await;
}
