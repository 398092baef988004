//! How many records a second the embedded broker moves through a share group over TCP: a bare client fetches, and
//! accepts everything on the next fetch.
//! `cargo run --release -p ackflow-testkit --example throughput -- [RECORDS] [RECORDS_A_FETCH]`

use std::error::Error;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Instant;

use ackflow_protocol::messages::metadata::MetadataRequest;
use ackflow_protocol::messages::share_fetch::{AcknowledgementBatch, FetchPartition, FetchTopic, ShareFetchRequest};
use ackflow_protocol::records::{BatchBuilder, BatchOptions};
use ackflow_protocol::wire::{Request, Uuid, decode_response, encode_request};
use ackflow_testkit::EmbeddedBroker;
use bytes::Bytes;

const TOPIC: &str = "throughput";
const GROUP: &str = "g";
const PARTITIONS: i32 = 3;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let mut argument = |default| arguments.next().map_or(Ok(default), |text| text.parse::<i64>());
    let (records, records_a_fetch) = (argument(2_000_000)?, argument(500)?);
    let broker = EmbeddedBroker::builder()
        .topic(TOPIC, PARTITIONS)
        .group_config(GROUP, "share.auto.offset.reset", "earliest")
        .start()
        .await?;

    let batch = batch()?;
    let started = Instant::now();
    let mut produced = 0;
    let mut partitions = (0..PARTITIONS).cycle();
    while let (true, Some(partition)) = (produced < records, partitions.next()) {
        broker.produce_batch(TOPIC, partition, batch.clone()).await?;
        produced += RECORDS_A_BATCH;
    }
    report("appended", produced, started);

    let addr = broker.addr();
    let started = Instant::now();
    let records_a_fetch = i32::try_from(records_a_fetch)?;
    let consumed =
        tokio::task::spawn_blocking(move || consume(addr, produced, records_a_fetch).map_err(|e| e.to_string()));
    report("through the share group", consumed.await??, started);
    for partition in 0..PARTITIONS {
        println!("lag of partition {partition}: {:?}", broker.group_lag(GROUP, TOPIC, partition).await?);
    }
    broker.shutdown().await;
    Ok(())
}

/// Records of 100 bytes in a batch of about 16 KiB, as a producer makes them by default.
const RECORDS_A_BATCH: i64 = 150;

fn batch() -> Result<Bytes, Box<dyn Error>> {
    let mut builder = BatchBuilder::new(BatchOptions { max_size: usize::MAX, ..BatchOptions::default() });
    for _ in 0..RECORDS_A_BATCH {
        builder.try_append(1_700_000_000_000, None, Some(&[b'x'; 100]), [])?;
    }
    Ok(builder.build()?)
}

fn report(what: &str, records: i64, started: Instant) {
    let seconds = started.elapsed().as_secs_f64();
    println!("{what}: {records} records in {seconds:.3} s, {:.0} records/s", records as f64 / seconds);
}

/// Fetches until all records were acquired, then accepts the last ones; gives how many there were.
fn consume(addr: SocketAddr, records: i64, records_a_fetch: i32) -> Result<i64, Box<dyn Error>> {
    let mut stream = TcpStream::connect(addr)?;
    stream.set_nodelay(true)?;
    let metadata = call(&mut stream, &MetadataRequest { topics: None, ..MetadataRequest::default() })?;
    let topic_id = metadata.topics.first().ok_or("no topic")?.topic_id;
    let mut partitions = (0..PARTITIONS).map(|partition| added(partition, Vec::new())).collect();
    let (mut epoch, mut acquired) = (0, 0);
    loop {
        let request = request(topic_id, epoch, records_a_fetch, std::mem::take(&mut partitions));
        let response = call(&mut stream, &request)?;
        if !response.error_code.is_none() {
            return Err(response.error_code.into());
        }
        epoch += 1;
        for data in response.responses.iter().flat_map(|topic| &topic.partitions) {
            let accepted = data.acquired_records.iter().map(|range| AcknowledgementBatch {
                first_offset: range.first_offset,
                last_offset: range.last_offset,
                acknowledge_types: vec![1],
            });
            acquired +=
                data.acquired_records.iter().map(|range| range.last_offset - range.first_offset + 1).sum::<i64>();
            partitions.push(added(data.partition_index, accepted.collect()));
        }
        if acquired >= records && partitions.iter().all(|partition| partition.acknowledgement_batches.is_empty()) {
            return Ok(acquired);
        }
    }
}

fn added(partition_index: i32, acknowledgement_batches: Vec<AcknowledgementBatch>) -> FetchPartition {
    FetchPartition { partition_index, acknowledgement_batches }
}

fn request(topic_id: Uuid, epoch: i32, max_records: i32, partitions: Vec<FetchPartition>) -> ShareFetchRequest {
    ShareFetchRequest {
        group_id: Some(GROUP.to_owned()),
        member_id: Some("m1".to_owned()),
        share_session_epoch: epoch,
        max_wait_ms: 20,
        min_bytes: 1,
        max_bytes: 50 << 20,
        max_records,
        batch_size: max_records,
        topics: vec![FetchTopic { topic_id, partitions }],
        ..ShareFetchRequest::default()
    }
}

fn call<R: Request>(stream: &mut TcpStream, request: &R) -> Result<R::Response, Box<dyn Error>> {
    stream.write_all(&encode_request(request, R::NEWEST_STABLE, 1, None)?)?;
    let mut size = [0; 4];
    stream.read_exact(&mut size)?;
    let mut frame = vec![0; u32::from_be_bytes(size) as usize];
    stream.read_exact(&mut frame)?;
    Ok(decode_response(Bytes::from(frame), R::NEWEST_STABLE)?.1)
}
