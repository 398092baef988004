//! The loop that README.md shows: records are consumed, and what is made of them is produced, exactly once.

use std::convert::Infallible;

use ackflow_client::admin::{ConfigChange, ConfigResource};
use ackflow_client::consumer::{ConsumerRecord, IsolationLevel, RecordError};
use ackflow_client::{ClientError, ErrorKind};

use crate::*;

/// As README.md has it, but for the names of group, topics and server, and what is made of a record.
async fn pass_on_for_ever(
    group: &str,
    from: &str,
    id: &str,
    made_of: &mut impl FnMut(&ConsumerRecord<'_>) -> ProducerRecord,
) -> Result<Infallible, Box<dyn std::error::Error>> {
    let config = ConsumerConfig::builder(&servers())
        .group_id(group)
        .auto_offset_reset(OffsetReset::Earliest)
        .isolation_level(IsolationLevel::ReadCommitted)
        .enable_auto_commit(false)
        .build()?;
    let mut consumer = Consumer::new(config)?;
    consumer.subscribe([from])?;
    let mut config = ProducerConfig::new(&servers())?;
    config.transactional_id = Some(id.into());
    let producer = Producer::new(config)?;
    producer.init_transactions().await?;
    loop {
        let records = consumer.poll(Duration::from_secs(1)).await?;
        let made = records.iter().map(|record| Ok(made_of(&record?))).collect::<Result<Vec<_>, RecordError>>()?;
        match pass_on(&producer, &consumer, made).await {
            Err(error) if error.kind() == ErrorKind::Abortable => {
                producer.abort_transaction().await?;
                for (partition, committed) in consumer.committed(consumer.assignment()).await? {
                    match committed {
                        Some(offset) => consumer.seek_to(&partition, offset)?,
                        None => consumer.seek_to_beginning(&[partition])?,
                    }
                }
            }
            done => done?,
        }
    }
}

async fn pass_on(producer: &Producer, consumer: &Consumer, made: Vec<ProducerRecord>) -> Result<(), ClientError> {
    if made.is_empty() {
        return Ok(());
    }
    producer.begin_transaction()?;
    for record in made {
        drop(producer.send(record).await?);
    }
    producer.send_offsets_to_transaction(consumer.positions(), &consumer.group_metadata()?).await?;
    producer.commit_transaction().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs a broker: cargo xtask kafka"]
pub(crate) async fn real_kafka_the_loop_of_the_readme_passes_on_each_record_once_though_a_transaction_is_aborted() {
    let (from, to) = (topic("from", 2).await, topic("to", 1).await);
    let of = ConfigResource::topic(&to);
    let limit = vec![ConfigChange::set("max.message.bytes", "1000")];
    admin().alter_configs([(of.clone(), limit)]).await.unwrap().remove(&of).unwrap().unwrap();
    admin().await_configs(&of, &[("max.message.bytes", "1000")]).await.unwrap();
    produce(&from, 0, 0, 10).await;
    produce(&from, 1, 10, 10).await;
    // In its first attempt and in a later one, a record is too large for the topic.
    let mut seen = 0;
    let mut made_of = |record: &ConsumerRecord<'_>| {
        seen += 1;
        let value = if seen == 3 || seen == 40 { vec![b'x'; 2_000] } else { record.value.unwrap().to_vec() };
        ProducerRecord::new(to.as_str(), value).partition(0)
    };
    let (group, id) = (unique("group"), unique("producer"));
    let config = config(&unique("reader")).isolation_level(IsolationLevel::ReadCommitted).build().unwrap();
    let mut reader = Consumer::new(config).unwrap();
    reader.assign([partition(&to, 0)]).unwrap();
    let read = async {
        let mut taken = take(&mut reader, 20).await;
        produce(&from, 0, 20, 30).await;
        taken.extend(take(&mut reader, 30).await);
        take_nothing(&mut reader).await;
        taken
    };
    let taken = tokio::select! {
        ended = pass_on_for_ever(&group, &from, &id, &mut made_of) => panic!("{ended:?}"),
        taken = read => taken,
    };
    assert!(seen > 52, "something was aborted");
    let mut values: Vec<i64> = taken.into_iter().map(|(_, _, value)| value.parse().unwrap()).collect();
    values.sort_unstable();
    assert_eq!(values, (0..50).collect::<Vec<_>>());
}
