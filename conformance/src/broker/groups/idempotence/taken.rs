//! Which batches Produce takes.

use std::time::{Duration, SystemTime};

use ackflow_protocol::messages::api_versions::ApiVersionsRequest;
use ackflow_protocol::messages::produce::{PartitionProduceData, ProduceRequest};
use ackflow_protocol::records::{BatchBuilder, BatchOptions};
use ackflow_protocol::wire::ErrorCode;
use bytes::Bytes;

use crate::broker::case::cases;
use crate::broker::lab::produce::{self, answered, batch, write};
use crate::broker::lab::{Lab, Outcome, Stop, Topic, random_uuid, values};
use crate::broker::target::asking;

cases! {
    Idempotence;
    a_batch_with_a_wrong_checksum_is_refused:
        "A batch whose CRC is not that of its bytes is refused with CORRUPT_MESSAGE, and nothing of it is written.",
        "Kafka documentation, Record batch: crc";
    a_batch_of_an_older_format_is_refused:
        "Since version 3, Produce takes batches of format 2 alone.",
        "Kafka documentation, Record batch: magic; Produce schema",
        note "Kafka answers INVALID_RECORD; UNSUPPORTED_FOR_MESSAGE_FORMAT and CORRUPT_MESSAGE are taken here too.";
    a_partition_takes_one_batch_a_request:
        "Since version 3, the records of a partition are one batch: two, or none, are refused with INVALID_RECORD and nothing is written.",
        "KIP-98, Produce API; Produce schema";
    clients_write_no_markers:
        "A control batch that comes by Produce is refused with INVALID_RECORD: only brokers write markers.",
        "KIP-98, Control messages";
    partitions_of_a_request_are_judged_each_for_itself:
        "A batch that is refused does not keep those of the request's other partitions from being written.",
        "Produce schema: ErrorCode of each partition";
    acks_zero_has_no_answer:
        "A request with acks 0 is carried out without an answer: the next answer on the connection is that of the next request.",
        "Kafka documentation, Produce API: acks";
    acks_that_nobody_knows_are_refused:
        "Acks other than -1, 0 and 1 are refused with INVALID_REQUIRED_ACKS, and nothing is written.",
        "Kafka documentation, Produce API: acks";
    a_batch_that_is_too_large_is_refused:
        "A batch larger than the topic's max.message.bytes is refused with MESSAGE_TOO_LARGE; one that is not is taken.",
        "Kafka documentation, max.message.bytes";
    a_compacted_topic_takes_no_record_without_a_key:
        "With cleanup.policy=compact a batch with a record that has no key is refused with INVALID_RECORD.",
        "Kafka documentation, Log compaction";
    a_time_that_is_far_ahead_is_refused:
        "A record whose timestamp is further ahead than message.timestamp.after.max.ms is refused with INVALID_TIMESTAMP.",
        "KIP-937, message.timestamp.after.max.ms";
    topics_and_partitions_that_are_not_there_are_told:
        "Since version 13 a topic id that is nobody's is UNKNOWN_TOPIC_ID; a partition that its topic does not have is UNKNOWN_TOPIC_OR_PARTITION.",
        "KIP-516, Produce";
}

/// What is answered for a batch: its error, and its offset where there is none.
async fn sent(lab: &Lab, topic: &Topic, batch: Bytes) -> Outcome<Result<i64, ErrorCode>> {
    let mut link = lab.leader(topic, 0).await?;
    let written = write(&mut link, topic, 0, None, batch).await?;
    Ok(written.error_code.ok().map(|()| written.base_offset))
}

fn plain(count: usize) -> Bytes {
    batch(values(count), BatchOptions::default())
}

/// Where the fields of a batch stand.
const MAGIC_AT: usize = 16;
const CRC_AT: usize = 17;
const ATTRIBUTES_AT: usize = 21;
const CONTROL: u8 = 1 << 5;

/// A batch with one byte changed, and a right checksum unless the byte is outside what it covers.
fn changed(batch: &Bytes, at: usize, change: impl Fn(u8) -> u8) -> Bytes {
    let mut bytes = batch.to_vec();
    bytes[at] = change(bytes[at]);
    let crc = ackflow_protocol::records::crc32c(&bytes[ATTRIBUTES_AT..]);
    bytes[CRC_AT..ATTRIBUTES_AT].copy_from_slice(&crc.to_be_bytes());
    bytes.into()
}

async fn a_batch_with_a_wrong_checksum_is_refused(lab: &Lab) -> Outcome {
    let topic = lab.topic(1).await?;
    let good = plain(3);
    for (what, at) in [("a bit of a value", good.len() - 3), ("a bit of the checksum", CRC_AT)] {
        let mut bytes = good.to_vec();
        bytes[at] ^= 1;
        let refused = sent(lab, &topic, bytes.into()).await?;
        lab.check(&format!("a batch with {what} changed"), refused, Err(ErrorCode::CORRUPT_MESSAGE))?;
    }
    lab.check("the offset of the batch as it was", sent(lab, &topic, good).await?, Ok(0))
}

async fn a_batch_of_an_older_format_is_refused(lab: &Lab) -> Outcome {
    let topic = lab.topic(1).await?;
    let right = [ErrorCode::INVALID_RECORD, ErrorCode::UNSUPPORTED_FOR_MESSAGE_FORMAT, ErrorCode::CORRUPT_MESSAGE];
    for magic in [0, 1] {
        let refused = sent(lab, &topic, changed(&plain(1), MAGIC_AT, |_| magic)).await?;
        let holds = refused.is_err_and(|code| right.contains(&code));
        lab.check_that(&format!("a batch of format {magic}"), holds, "refused", &refused)?;
    }
    lab.check("the end of the partition", lab.end_offset(&topic, 0).await?, 0)
}

async fn a_partition_takes_one_batch_a_request(lab: &Lab) -> Outcome {
    let topic = lab.topic(1).await?;
    let two = Bytes::from([&plain(1)[..], &plain(2)[..]].concat());
    lab.check("two batches", sent(lab, &topic, two).await?, Err(ErrorCode::INVALID_RECORD))?;
    lab.check("none", sent(lab, &topic, Bytes::new()).await?, Err(ErrorCode::INVALID_RECORD))?;
    lab.check("the end of the partition", lab.end_offset(&topic, 0).await?, 0)
}

async fn clients_write_no_markers(lab: &Lab) -> Outcome {
    let topic = lab.topic(1).await?;
    // The attributes are a number of two bytes; the flag is in the second.
    let control = changed(&plain(1), ATTRIBUTES_AT + 1, |attributes| attributes | CONTROL);
    lab.check("a control batch", sent(lab, &topic, control).await?, Err(ErrorCode::INVALID_RECORD))?;
    lab.check("the end of the partition", lab.end_offset(&topic, 0).await?, 0)
}

async fn partitions_of_a_request_are_judged_each_for_itself(lab: &Lab) -> Outcome {
    let topic = lab.topic(3).await?;
    let leader = topic.leader(0);
    let led: Vec<i32> = (0..3).filter(|partition| topic.leader(*partition) == leader).collect();
    let mut request = produce::request(&topic, 0, None, plain(1));
    let mut damaged = plain(2).to_vec();
    damaged[CRC_AT] ^= 1;
    for partition in led.iter().skip(1) {
        let data = PartitionProduceData { index: *partition, records: Some(damaged.clone().into()) };
        request.topic_data[0].partition_data.push(data);
    }
    // A partition that is not there serves as well where the broker leads one alone.
    request.topic_data[0].partition_data.push(PartitionProduceData { index: 9, records: Some(plain(1)) });
    let response = lab.leader(&topic, 0).await?.call(&request).await?;
    let partitions = response.responses.into_iter().flat_map(|topic| topic.partition_responses);
    let mut codes: Vec<_> = partitions.map(|partition| (partition.index, partition.error_code)).collect();
    codes.sort_unstable_by_key(|(index, _)| *index);
    let mut wanted = vec![(0, ErrorCode::NONE)];
    wanted.extend(led.iter().skip(1).map(|partition| (*partition, ErrorCode::CORRUPT_MESSAGE)));
    wanted.push((9, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION));
    lab.check("the error of each partition", codes, wanted)?;
    lab.check("the end of partition 0", lab.end_offset(&topic, 0).await?, 1)
}

async fn acks_zero_has_no_answer(lab: &Lab) -> Outcome {
    let topic = lab.topic(1).await?;
    let mut link = lab.leader(&topic, 0).await?;
    let silent = ProduceRequest { acks: 0, ..produce::request(&topic, 0, None, plain(3)) };
    let _unanswered = link.send(&silent).await?;
    let next = link.send_in::<ApiVersionsRequest>(3, &asking()).await?;
    // An answer of another request has another correlation id, which ends the case.
    lab.check("the error of what was asked next", link.answer(next).await?.error_code, ErrorCode::NONE)?;
    lab.eventually("the records are written", async || Ok((lab.end_offset(&topic, 0).await? == 3).then_some(()))).await
}

async fn acks_that_nobody_knows_are_refused(lab: &Lab) -> Outcome {
    let topic = lab.topic(1).await?;
    let mut link = lab.leader(&topic, 0).await?;
    for acks in [2, -2, i16::MAX] {
        let request = ProduceRequest { acks, ..produce::request(&topic, 0, None, plain(1)) };
        let refused = answered(link.call(&request).await?)?.error_code;
        lab.check(&format!("acks {acks}"), refused, ErrorCode::INVALID_REQUIRED_ACKS)?;
    }
    lab.check("the end of the partition", lab.end_offset(&topic, 0).await?, 0)
}

async fn a_batch_that_is_too_large_is_refused(lab: &Lab) -> Outcome {
    let topic = lab.topic_with(1, &[("max.message.bytes", "1000")]).await?;
    let of_bytes = |size: usize| batch(std::iter::once("v".repeat(size)), BatchOptions::default());
    let refused = sent(lab, &topic, of_bytes(1000)).await?;
    lab.check("a batch around a value of 1000 bytes", refused, Err(ErrorCode::MESSAGE_TOO_LARGE))?;
    lab.check("one around a value of 800 bytes", sent(lab, &topic, of_bytes(800)).await?, Ok(0))
}

/// A batch of one record with this key and time.
fn one(key: Option<&[u8]>, timestamp: i64) -> Bytes {
    let mut builder = BatchBuilder::new(BatchOptions::default());
    builder.try_append(timestamp, key, Some(b"value"), []).expect("a small record fits");
    builder.build().expect("a batch of a small record can be built")
}

fn now_ms() -> i64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    now.as_millis() as i64
}

async fn a_compacted_topic_takes_no_record_without_a_key(lab: &Lab) -> Outcome {
    let topic = lab.topic_with(1, &[("cleanup.policy", "compact")]).await?;
    let refused = sent(lab, &topic, one(None, now_ms())).await?;
    lab.check("a record without a key", refused, Err(ErrorCode::INVALID_RECORD))?;
    lab.check("one with a key", sent(lab, &topic, one(Some(b"key"), now_ms())).await?, Ok(0))?;
    lab.check("one with an empty key", sent(lab, &topic, one(Some(b""), now_ms())).await?, Ok(1))
}

async fn a_time_that_is_far_ahead_is_refused(lab: &Lab) -> Outcome {
    const HOUR: Duration = Duration::from_secs(3600);
    let hour = HOUR.as_millis() as i64;
    let topic = lab.topic_with(1, &[("message.timestamp.after.max.ms", &hour.to_string())]).await?;
    let refused = sent(lab, &topic, one(None, now_ms() + 2 * hour)).await?;
    lab.check("a record of in two hours", refused, Err(ErrorCode::INVALID_TIMESTAMP))?;
    lab.check("one of in half an hour", sent(lab, &topic, one(None, now_ms() + hour / 2)).await?, Ok(0))
}

async fn topics_and_partitions_that_are_not_there_are_told(lab: &Lab) -> Outcome {
    let topic = lab.topic(1).await?;
    let mut link = lab.leader(&topic, 0).await?;
    let partition = write(&mut link, &topic, 7, None, plain(1)).await?.error_code;
    lab.check("a partition that is not there", partition, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION)?;
    if link.newest::<ProduceRequest>()? < 13 {
        return Err(Stop::NotOffered("Produce 13 is not advertised".into()));
    }
    let nobody = Topic { id: random_uuid(), ..topic };
    let unknown = write(&mut link, &nobody, 0, None, plain(1)).await?.error_code;
    lab.check("a topic id that is nobody's", unknown, ErrorCode::UNKNOWN_TOPIC_ID)
}
