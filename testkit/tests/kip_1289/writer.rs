//! The producer's batches: one a partition at a time, with their sequence numbers.

use std::collections::BTreeMap;

use ackflow_protocol::machine::consumer::TopicPartition;
use ackflow_protocol::messages::produce::{PartitionProduceData, ProduceRequest, ProduceResponse, TopicProduceData};
use ackflow_protocol::records::{BatchBuilder, BatchOptions};
use ackflow_protocol::wire::ErrorCode;
use bytes::Bytes;

use crate::trace;
use crate::worker::{Step, Worker};
use crate::world::{OUT, What, World};

/// After so many attempts a batch is given up.
const ATTEMPTS: u32 = 100;

#[derive(Debug, Default)]
pub(crate) struct Writer {
    /// What waits, by partition.
    queued: BTreeMap<i32, Vec<u64>>,
    under_way: BTreeMap<i32, Batch>,
    /// The next sequence number of each partition, in this epoch of the producer.
    sequences: BTreeMap<i32, i32>,
}

#[derive(Debug)]
struct Batch {
    bytes: Bytes,
    records: i32,
    attempts: u32,
    is_out: bool,
    was_sent: bool,
}

impl Writer {
    pub(crate) fn put(&mut self, partition: i32, value: u64) {
        self.queued.entry(partition).or_default().push(value);
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.queued.is_empty() && self.under_way.is_empty()
    }

    /// Each transaction has another epoch of the producer (KIP-890), in which its numbers begin anew.
    pub(crate) fn next_transaction(&mut self) {
        self.sequences.clear();
    }

    /// The pause after a failure is over.
    pub(crate) fn again(&mut self, partition: i32) {
        self.under_way.entry(partition).and_modify(|batch| batch.is_out = false);
    }

    pub(crate) fn was_sent(&mut self, partition: i32) {
        self.under_way.entry(partition).and_modify(|batch| batch.was_sent = true);
    }
}

impl Worker {
    /// Sends what may be sent.
    pub(crate) fn write(&mut self, world: &mut World) {
        if self.producer.failure().is_some() {
            self.writer.queued.clear();
            self.writer.under_way.retain(|_, batch| batch.is_out);
            return;
        }
        let partitions: Vec<i32> = self.writer.queued.keys().copied().collect();
        for partition in partitions {
            if self.writer.under_way.contains_key(&partition)
                || !self.producer.may_send(&TopicPartition::new(OUT, partition))
            {
                continue;
            }
            let values = self.writer.queued.remove(&partition).unwrap_or_default();
            let producer = self.producer.producer().expect("it is initialized");
            let sequence = self.writer.sequences.entry(partition).or_default();
            let options = BatchOptions {
                transactional: true,
                producer_id: producer.id,
                producer_epoch: producer.epoch,
                base_sequence: *sequence,
                ..BatchOptions::default()
            };
            let mut builder = BatchBuilder::new(options);
            for value in &values {
                builder.try_append(1_700_000_000_000, None, Some(&value.to_be_bytes()), []).expect("the record fits");
            }
            let bytes = builder.build().expect("there are records");
            *sequence += values.len() as i32;
            let batch = Batch { bytes, records: values.len() as i32, attempts: 0, is_out: false, was_sent: false };
            self.writer.under_way.insert(partition, batch);
        }
        let ready: Vec<i32> =
            self.writer.under_way.iter().filter(|(_, batch)| !batch.is_out).map(|(partition, _)| *partition).collect();
        for partition in ready {
            self.send_batch(world, partition);
        }
    }

    fn send_batch(&mut self, world: &mut World, partition: i32) {
        let Some(batch) = self.writer.under_way.get_mut(&partition) else { return };
        if batch.attempts >= ATTEMPTS {
            let was_sent = batch.was_sent;
            self.writer.under_way.remove(&partition);
            return self.producer.record_failed(None, "it was tried for too long".to_owned(), was_sent);
        }
        (batch.attempts, batch.is_out) = (batch.attempts + 1, true);
        let data = PartitionProduceData { index: partition, records: Some(batch.bytes.clone()) };
        let request = ProduceRequest {
            transactional_id: Some(format!("tx-{}", self.index)),
            acks: -1,
            timeout_ms: 1_000,
            topic_data: vec![TopicProduceData {
                topic_id: world.cluster.topic_id(OUT).expect("it is there"),
                partition_data: vec![data],
                ..Default::default()
            }],
        };
        let leader = world.cluster.leader(OUT, partition).expect("it is there");
        self.produce(world, leader, partition, &request);
    }

    /// A produce request was answered, or was not.
    pub(crate) fn produced(&mut self, world: &mut World, partition: i32, response: Option<ProduceResponse>) {
        let Some(batch) = self.writer.under_way.get_mut(&partition) else { return };
        let code = response.map(|response| response.responses[0].partition_responses[0].error_code);
        trace!(world, "w{} writes {} records to {partition}: {code:?}", self.index, batch.records);
        match code {
            Some(ErrorCode::NONE) => _ = self.writer.under_way.remove(&partition),
            Some(code) if !code.is_retriable() => {
                self.writer.under_way.remove(&partition);
                self.producer.record_failed(Some(code), format!("refused: {code}"), true);
            }
            _ => {
                // It stays out until the pause is over.
                let pause = world.random.millis(10, 100);
                let step = Step::Write(partition);
                world.after(pause, What::Worker { worker: self.index, life: self.life, step });
            }
        }
    }
}
