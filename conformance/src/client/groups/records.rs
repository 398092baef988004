//! Situations of records.

use std::time::Duration;

use ackflow_protocol::messages::share_fetch::ShareFetchRequest;
use ackflow_protocol::records::control::end_of_transaction;
use ackflow_protocol::records::{
    BatchBuilder, BatchError, BatchOptions, Batches, Compression, assign_offsets, retain_records,
};
use ackflow_protocol::wire::ApiKey;
use ackflow_testkit::EmbeddedBrokerBuilder;
use ackflow_testkit::core::{FaultAction, FaultRule, Spoil};
use bytes::Bytes;

use crate::client::situation::situations;
use crate::client::stage::{Client, GROUP, Mode, Stage, TOPIC, offsets};
use crate::stop::{Outcome, Stop};

situations! { Records;
    records_are_handed_out_once_and_in_order:
        "Records of a partition come in the order of their offsets, each once, with the delivery count 1.",
        "KIP-932, ShareFetchResponse: AcquiredRecords";
    only_acquired_offsets_are_handed_out:
        "Of a batch that is acquired in part, only the records of the acquired ranges are handed out, though the answer has the whole batch.",
        "KIP-932, ShareFetchResponse: Records may contain more than AcquiredRecords";
    offsets_without_a_record_are_acknowledged_as_gaps:
        "Acquired offsets of which the answer has no record, as compaction leaves them, are acknowledged with the type 0, so that the group gets on.",
        "KIP-932, AcknowledgeTypes: 0 Gap";
    control_records_are_acknowledged_as_gaps:
        "Markers of transactions are not handed out, and are acknowledged with the type 0.",
        "KIP-932, AcknowledgeTypes: 0 Gap; control batches";
    ranges_whose_records_are_missing_are_not_left_over:
        "Where an answer has acquired ranges and none of their records, the client does not wait for ever: it acknowledges them as gaps, or gives them back.",
        "KIP-932, AcknowledgeTypes: 0 Gap";
    a_corrupt_batch_is_told_and_does_not_stop_the_others:
        "A batch whose checksum is wrong is told to the application and not handed out; the records after it come.",
        "KIP-932; KafkaShareConsumer.poll: CorruptRecordException";
    delivery_counts_are_handed_through:
        "The delivery count of a record is the one of the answer, each time that it comes.",
        "KIP-932, ConsumerRecord.deliveryCount";
    a_poll_hands_out_no_more_than_max_poll_records_in_record_limit_mode:
        "With share.acquire.mode=record_limit, requests have ShareAcquireMode 1 and MaxRecords of at most max.poll.records, and no poll hands out more.",
        "KIP-1206; share.acquire.mode, max.poll.records";
    compressed_batches_are_read:
        "Batches of each codec, gzip, snappy, lz4 and zstd, are read.",
        "Kafka's record batches: compression codecs";
    null_values_are_records:
        "A record without a value is handed out as one with a null value.",
        "Kafka's record batches: a value length of -1";
}

fn batch(values: &[Option<&str>], options: BatchOptions) -> Outcome<Bytes> {
    let mut builder = BatchBuilder::new(BatchOptions { max_size: usize::MAX, ..options });
    let wrong = |error: String| Stop::failed("a batch of the situation", error);
    for value in values {
        let value = value.map(str::as_bytes);
        builder.try_append(0, None, value, []).map_err(|error| wrong(error.to_string()))?;
    }
    builder.build().map_err(|error| wrong(error.to_string()))
}

/// A batch that begins at an offset, for a log that has nothing there.
fn batch_at(offset: i64, values: &[Option<&str>]) -> Outcome<Vec<u8>> {
    let mut made = batch(values, BatchOptions::default())?.to_vec();
    assign_offsets(&mut made, offset, 0)
        .map_err(|error| Stop::failed("a batch of the situation", error.to_string()))?;
    Ok(made)
}

async fn records_are_handed_out_once_and_in_order(stage: &Stage) -> Outcome {
    stage.broker().await?;
    for batch in 0..10 {
        stage.produce(TOPIC, 0, batch * 100..(batch + 1) * 100).await?;
    }
    let mut client = stage.subscribed(Mode::Implicit, &[]).await?;
    client.reads(1000).await?;
    client.goes_on_until("a lag of 0", async || Ok(stage.lag().await? == Some(0))).await?;
    stage.expect_eq(offsets(&client.seen), (0..1000).collect::<Vec<_>>(), "the offsets")?;
    let right = client.seen.iter().all(|record| {
        record.delivery_count == 1 && record.value.as_deref() == Some(record.offset.to_string().as_str())
    });
    stage.expect(right, "each with its value and the delivery count 1", || format!("{:?}", client.seen))
}

async fn only_acquired_offsets_are_handed_out(stage: &Stage) -> Outcome {
    stage.broker().await?;
    stage.produce(TOPIC, 0, 0..10).await?;
    let mut client = stage.subscribed(Mode::Explicit, &[]).await?;
    client.first().await?;
    client.acknowledge_all("accept").await?;
    client.acknowledge("release", 3, 3).await?;
    client.acknowledge("release", 6, 7).await?;
    client.commits().await?;
    let mut again = Vec::new();
    while again.len() < 3 {
        again.extend(client.first().await?);
        client.acknowledge_all("accept").await?;
    }
    stage.expect_eq(offsets(&again), [3, 6, 7], "what comes again")?;
    client.commits().await?;
    stage.lag_comes_to(0).await
}

async fn offsets_without_a_record_are_acknowledged_as_gaps(stage: &Stage) -> Outcome {
    let broker = stage.broker().await?;
    stage.produce(TOPIC, 0, 0..3).await?;
    // As compaction leaves a log: one batch of the offsets 3 to 7, of whose records three are left; and a batch behind nothing at all.
    let some = batch_at(3, &[Some("3"), Some("4"), Some("5"), Some("6"), Some("7")])?;
    broker.append_raw(TOPIC, 0, thinned_out(some)?).await?;
    broker.append_raw(TOPIC, 0, Bytes::from(batch_at(12, &[Some("12")])?)).await?;
    let mut client = stage.subscribed(Mode::Implicit, &[]).await?;
    client.reads(7).await?;
    client.goes_on_until("a lag of 0", async || Ok(stage.lag().await? == Some(0))).await?;
    stage.expect_eq(offsets(&client.seen), [0, 1, 2, 3, 5, 7, 12], "the records that there are")?;
    let acknowledged = stage.requests().await?.acknowledged();
    let of =
        |kind: i8| acknowledged.iter().filter(|(_, of)| *of == kind).map(|(offset, _)| *offset).collect::<Vec<_>>();
    stage.expect_eq(of(1), [0, 1, 2, 3, 5, 7, 12], "what is accepted")?;
    stage.expect(of(0).starts_with(&[4, 6]), "gaps at 4 and 6", || format!("{:?}", of(0)))
}

/// A batch without every second of its records, as compaction leaves it.
fn thinned_out(whole: Vec<u8>) -> Outcome<Bytes> {
    let wrong = |error: BatchError| Stop::failed("a batch of the situation", error.to_string());
    let batch =
        Batches::new(Bytes::from(whole)).next().ok_or_else(|| Stop::failed("a batch", "none"))?.map_err(wrong)?;
    retain_records(&batch, None, |record| record.offset % 2 == 1).map_err(wrong)
}

async fn control_records_are_acknowledged_as_gaps(stage: &Stage) -> Outcome {
    let broker = stage.broker().await?;
    stage.produce(TOPIC, 0, 0..3).await?;
    let mut marker = end_of_transaction(true, 0, 4711, 0, 0).to_vec();
    assign_offsets(&mut marker, 3, 0).map_err(|error| Stop::failed("a marker", error.to_string()))?;
    broker.append_raw(TOPIC, 0, Bytes::from(marker)).await?;
    stage.produce(TOPIC, 0, 4..6).await?;
    let mut client = stage.subscribed(Mode::Implicit, &[]).await?;
    client.reads(5).await?;
    client.goes_on_until("a lag of 0", async || Ok(stage.lag().await? == Some(0))).await?;
    stage.expect_eq(offsets(&client.seen), [0, 1, 2, 4, 5], "the records")?;
    let wanted = [(0, 1), (1, 1), (2, 1), (3, 0), (4, 1), (5, 1)];
    stage.expect_eq(stage.requests().await?.acknowledged(), wanted, "acknowledgements")
}

async fn ranges_whose_records_are_missing_are_not_left_over(stage: &Stage) -> Outcome {
    stage.broker().await?;
    stage.produce(TOPIC, 0, 0..3).await?;
    let rule = FaultRule::new(FaultAction::Spoil(Spoil::RecordsMissing));
    stage.fault(rule.api(ApiKey::SHARE_FETCH).times(1)).await?;
    let mut client = stage.subscribed(Mode::Implicit, &[]).await?;
    stage.produce(TOPIC, 0, 3..6).await?;
    client.goes_on_until("a lag of 0", async || Ok(stage.lag().await? == Some(0))).await
}

async fn a_corrupt_batch_is_told_and_does_not_stop_the_others(stage: &Stage) -> Outcome {
    // What a client loses with the batch comes again after its lock.
    let lock = |builder: EmbeddedBrokerBuilder| {
        builder.topic(TOPIC, 1).group_config(GROUP, "share.record.lock.duration.ms", "2000")
    };
    let broker = stage.broker_with(lock).await?;
    stage.produce(TOPIC, 0, 0..3).await?;
    let mut damaged = batch_at(3, &[Some("3"), Some("4")])?;
    if let Some(last) = damaged.last_mut() {
        *last ^= 1;
    }
    broker.append_raw(TOPIC, 0, Bytes::from(damaged)).await?;
    stage.produce(TOPIC, 0, 5..8).await?;
    let mut client = stage.subscribed(Mode::Implicit, &[]).await?;
    client.goes_on_until("a lag of 0", async || Ok(stage.lag().await? == Some(0))).await?;
    let mut seen = offsets(&client.seen);
    seen.sort_unstable();
    seen.dedup();
    stage.expect_eq(seen, [0, 1, 2, 5, 6, 7], "the records that can be read")?;
    stage.expect(!client.errors.is_empty(), "a poll that tells of the corrupt batch", || "no error".to_owned())
}

async fn delivery_counts_are_handed_through(stage: &Stage) -> Outcome {
    stage.broker().await?;
    stage.produce(TOPIC, 0, 0..1).await?;
    let mut client = stage.subscribed(Mode::Explicit, &[]).await?;
    for delivery in 1..=4 {
        let records = client.first().await?;
        stage.expect_eq(records[0].delivery_count, delivery, "the delivery count")?;
        client.acknowledge_all("release").await?;
        client.commits().await?;
    }
    Ok(())
}

async fn a_poll_hands_out_no_more_than_max_poll_records_in_record_limit_mode(stage: &Stage) -> Outcome {
    stage.broker().await?;
    stage.produce(TOPIC, 0, 0..50).await?;
    let settings = [("share.acquire.mode", "record_limit"), ("max.poll.records", "7")];
    let mut client = stage.subscribed(Mode::Implicit, &settings).await?;
    let mut most = 0;
    while client.seen.len() < 50 {
        most = most.max(client.first().await?.len());
    }
    stage.expect(most <= 7, "at most 7 records a poll", || most.to_string())?;
    stage.expect_eq(offsets(&client.seen), (0..50).collect::<Vec<_>>(), "the offsets")?;
    let sent = stage.requests().await?.of::<ShareFetchRequest>();
    let right =
        |sent: &ShareFetchRequest| sent.max_records <= 7 && (sent.share_acquire_mode == 1 || sent.max_records == 0);
    let wrong: Vec<_> = sent.iter().map(|sent| &sent.body).filter(|sent| !right(sent)).collect();
    stage.expect(wrong.is_empty(), "ShareAcquireMode 1 and MaxRecords of at most 7", || format!("{wrong:?}"))
}

async fn compressed_batches_are_read(stage: &Stage) -> Outcome {
    let broker = stage.broker().await?;
    let codecs = [Compression::Gzip, Compression::Snappy, Compression::Lz4, Compression::Zstd];
    for compression in codecs {
        let text = format!("value of {compression:?} {}", "0123456789".repeat(50));
        let values = [Some(text.as_str()); 5];
        broker
            .produce_batch(TOPIC, 0, batch(&values, BatchOptions { compression, ..BatchOptions::default() })?)
            .await?;
    }
    let mut client = stage.subscribed(Mode::Implicit, &[]).await?;
    client.reads(20).await?;
    let values: Vec<_> = client.seen.iter().filter_map(|record| record.value.as_deref()).collect();
    let right = codecs.iter().zip(values.chunks(5)).all(|(codec, values)| {
        values.iter().all(|value| value.starts_with(&format!("value of {codec:?}")) && value.ends_with("0123456789"))
    });
    stage.expect(right && client.errors.is_empty(), "the values", || format!("{values:?} {:?}", client.errors))
}

async fn null_values_are_records(stage: &Stage) -> Outcome {
    let broker = stage.broker().await?;
    broker.produce_batch(TOPIC, 0, batch(&[Some("a"), None, Some("")], BatchOptions::default())?).await?;
    let mut client = stage.subscribed(Mode::Implicit, &[]).await?;
    client.reads(3).await?;
    let values: Vec<_> = client.seen.iter().map(|record| record.value.clone()).collect();
    stage.expect_eq(values, [Some("a".to_owned()), None, Some(String::new())], "the values")?;
    left_nothing(stage, &mut client).await
}

/// Everything that was handed out is accepted at last.
async fn left_nothing(stage: &Stage, client: &mut Client<'_>) -> Outcome {
    client.goes_on_until("a lag of 0", async || Ok(stage.lag().await? == Some(0))).await?;
    client.goes_on_for(Duration::from_millis(100)).await
}
