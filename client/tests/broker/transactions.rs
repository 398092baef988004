//! Transactional producers.

use std::collections::BTreeMap;

use ackflow_protocol::messages::add_partitions_to_txn::{AddPartitionsToTxnRequest, AddPartitionsToTxnTopic};
use ackflow_protocol::messages::describe_transactions::DescribeTransactionsRequest;
use ackflow_protocol::messages::end_txn::{EndTxnRequest, EndTxnResponse};
use ackflow_protocol::messages::init_producer_id::{InitProducerIdRequest, InitProducerIdResponse};
use ackflow_protocol::messages::list_transactions::ListTransactionsRequest;
use ackflow_protocol::messages::produce::{PartitionProduceData, ProduceRequest, TopicProduceData};
use ackflow_protocol::records::{BatchBuilder, BatchOptions};
use ackflow_protocol::wire::{ErrorCode, Uuid};
use bytes::Bytes;

use super::support::{eventually, unique};
use super::{Broker, Log};

pub(super) fn init(id: &str) -> InitProducerIdRequest {
    InitProducerIdRequest {
        transactional_id: Some(id.to_owned()),
        transaction_timeout_ms: 60_000,
        ..Default::default()
    }
}

/// A transactional producer.
pub(super) struct Producer<'a> {
    pub(super) broker: &'a Broker,
    pub(super) id: String,
    pub(super) producer_id: i64,
    pub(super) epoch: i16,
    pub(super) topic: (String, Uuid),
    /// The next sequence number, by epoch.
    sequences: BTreeMap<i16, i32>,
}

impl<'a> Producer<'a> {
    pub(super) async fn start(broker: &'a Broker) -> Self {
        let (id, topic) = (unique("tx"), broker.topic(2).await);
        broker.coordinator(1, &id).await;
        let started = broker.call(&init(&id)).await;
        assert!(started.error_code.is_none(), "{started:?}");
        let (producer_id, epoch) = (started.producer_id, started.producer_epoch);
        Self { broker, id, producer_id, epoch, topic, sequences: BTreeMap::new() }
    }

    /// The next sequence number of the epoch.
    fn sequence(&mut self) -> i32 {
        let sequence = self.sequences.entry(self.epoch).or_default();
        *sequence += 1;
        *sequence - 1
    }

    /// Writes one record to partition 0.
    pub(super) async fn write(&mut self) -> ErrorCode {
        let sequence = self.sequence();
        self.write_as(13, self.producer_id, self.epoch, sequence).await
    }

    /// Writes one record to partition 0 outside any transaction, as somebody else.
    pub(super) async fn plain(&self) {
        let mut builder = BatchBuilder::new(BatchOptions::default());
        builder.try_append(now_ms(), None, Some(b"value"), []).unwrap();
        let request = ProduceRequest { transactional_id: None, ..self.request(builder.build().unwrap()) };
        assert_eq!(self.send(13, &request).await, ErrorCode::NONE);
    }

    async fn write_as(&self, version: i16, producer_id: i64, epoch: i16, sequence: i32) -> ErrorCode {
        let request = self.request(record(producer_id, epoch, sequence));
        self.send(version, &request).await
    }

    fn request(&self, records: Bytes) -> ProduceRequest {
        let partition_data = vec![PartitionProduceData { index: 0, records: Some(records) }];
        ProduceRequest {
            transactional_id: Some(self.id.clone()),
            acks: -1,
            timeout_ms: 10_000,
            topic_data: vec![TopicProduceData { name: self.topic.0.clone(), topic_id: self.topic.1, partition_data }],
        }
    }

    async fn send(&self, version: i16, request: &ProduceRequest) -> ErrorCode {
        self.broker.call_version(version, request).await.responses[0].partition_responses[0].error_code
    }

    fn ending(&self, committed: bool) -> EndTxnRequest {
        let (producer_id, producer_epoch) = (self.producer_id, self.epoch);
        EndTxnRequest { transactional_id: self.id.clone(), producer_id, producer_epoch, committed }
    }

    /// Ends the transaction, once the one before has ended.
    pub(super) async fn end(&mut self, committed: bool) -> ErrorCode {
        let response = self.try_end(5, &self.ending(committed)).await;
        if response.error_code.is_none() {
            (self.producer_id, self.epoch) = (response.producer_id, response.producer_epoch);
        }
        response.error_code
    }

    async fn try_end(&self, version: i16, request: &EndTxnRequest) -> EndTxnResponse {
        eventually("the end of the transaction before", async || {
            let response = self.broker.call_version(version, request).await;
            (response.error_code != ErrorCode::CONCURRENT_TRANSACTIONS).then_some(response)
        })
        .await
    }

    /// Waits until all markers of a transaction that is decided are written.
    pub(super) async fn settle(&self) {
        let request = DescribeTransactionsRequest { transactional_ids: vec![self.id.clone()] };
        eventually("the markers", async || {
            let found = self.broker.call(&request).await.transaction_states.remove(0);
            found.transaction_state.starts_with("Complete").then_some(())
        })
        .await;
    }

    async fn init(&self, request: &InitProducerIdRequest) -> InitProducerIdResponse {
        eventually("the end of the transaction before", async || {
            let response = self.broker.call(request).await;
            (response.error_code != ErrorCode::CONCURRENT_TRANSACTIONS).then_some(response)
        })
        .await
    }

    async fn add(&self, version: i16, partitions: &[i32]) -> Vec<ErrorCode> {
        let topic = AddPartitionsToTxnTopic { name: self.topic.0.clone(), partitions: partitions.to_vec() };
        let request = AddPartitionsToTxnRequest {
            v3_and_below_transactional_id: self.id.clone(),
            v3_and_below_producer_id: self.producer_id,
            v3_and_below_producer_epoch: self.epoch,
            v3_and_below_topics: vec![topic],
            ..Default::default()
        };
        let codes = eventually("the end of the transaction before", async || {
            let mut response =
                self.broker.call_version(version, &request).await.results_by_topic_v3_and_below.remove(0);
            response.results_by_partition.sort_by_key(|result| result.partition_index);
            let results = response.results_by_partition.iter();
            let codes: Vec<ErrorCode> = results.map(|result| result.partition_error_code).collect();
            (codes[0] != ErrorCode::CONCURRENT_TRANSACTIONS).then_some(codes)
        });
        codes.await
    }
}

fn now_ms() -> i64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    i64::try_from(now.as_millis()).unwrap()
}

fn record(producer_id: i64, producer_epoch: i16, base_sequence: i32) -> Bytes {
    let options =
        BatchOptions { transactional: true, producer_id, producer_epoch, base_sequence, ..Default::default() };
    let mut builder = BatchBuilder::new(options);
    builder.try_append(now_ms(), None, Some(b"value"), []).unwrap();
    builder.build().unwrap()
}

pub(super) async fn a_producer_that_comes_back_gets_another_epoch(broker: &Broker) {
    let mut log = Log::default();
    let producer = Producer::start(broker).await;
    let id = producer.producer_id;
    let expecting =
        |producer_id, producer_epoch| InitProducerIdRequest { producer_id, producer_epoch, ..init(&producer.id) };
    for (what, request) in [
        ("again", init(&producer.id)),
        ("goes on", expecting(id, 1)),
        ("goes on once more, since the answer was lost", expecting(id, 1)),
        ("an epoch of before", expecting(id, 0)),
        ("a later epoch", expecting(id, 9)),
        ("another producer", expecting(id + 100_000, 2)),
        ("half a producer", expecting(id, -1)),
        ("the other half", expecting(-1, 2)),
        ("no name", InitProducerIdRequest { transactional_id: Some(String::new()), ..init("") }),
        ("no time", InitProducerIdRequest { transaction_timeout_ms: 0, ..init(&producer.id) }),
        ("too much time", InitProducerIdRequest { transaction_timeout_ms: 900_001, ..init(&producer.id) }),
    ] {
        let response = broker.call(&request).await;
        let same = if response.producer_id == id { "same" } else { "other" };
        log.say(what, format!("{} {same} {}", response.error_code.name().unwrap(), response.producer_epoch));
    }
    let older = broker.call_version(3, &expecting(id, 0)).await;
    log.code("an epoch of before, in older words", older.error_code);
    assert_eq!(
        log.0,
        "again: NONE same 1
goes on: NONE same 2
goes on once more, since the answer was lost: NONE same 2
an epoch of before: PRODUCER_FENCED other -1
a later epoch: PRODUCER_FENCED other -1
another producer: PRODUCER_FENCED other -1
half a producer: INVALID_REQUEST other -1
the other half: INVALID_REQUEST other -1
no name: INVALID_REQUEST other -1
no time: INVALID_TRANSACTION_TIMEOUT other -1
too much time: INVALID_TRANSACTION_TIMEOUT other -1
an epoch of before, in older words: INVALID_PRODUCER_EPOCH
"
    );
}

pub(super) async fn an_open_transaction_is_aborted_by_who_comes_next(broker: &Broker) {
    let mut log = Log::default();
    let mut producer = Producer::start(broker).await;
    log.code("writes", producer.write().await);
    log.code("another comes", broker.call(&init(&producer.id)).await.error_code);
    let next = producer.init(&init(&producer.id)).await;
    log.say("and comes again", format!("{} {}", next.error_code.name().unwrap(), next.producer_epoch));
    log.code("writes", producer.write().await);
    log.code("commits", producer.end(true).await);
    let partitions = producer.add(3, &[0]).await;
    log.code("adds", partitions[0]);
    let partitions = producer.add(1, &[0]).await;
    log.code("adds, in older words", partitions[0]);
    (producer.epoch, producer.producer_id) = (next.producer_epoch, next.producer_id);
    log.code("the new one writes", producer.write().await);
    log.code("and commits", producer.end(true).await);
    assert_eq!(
        log.0,
        "writes: NONE
another comes: CONCURRENT_TRANSACTIONS
and comes again: NONE 2
writes: INVALID_PRODUCER_EPOCH
commits: PRODUCER_FENCED
adds: PRODUCER_FENCED
adds, in older words: INVALID_PRODUCER_EPOCH
the new one writes: NONE
and commits: NONE
"
    );
}

pub(super) async fn each_end_begins_another_epoch(broker: &Broker) {
    let mut log = Log::default();
    let mut producer = Producer::start(broker).await;
    let (id, of) = (producer.producer_id, producer.epoch);
    let end = async |log: &mut Log, producer: &Producer<'_>, what: &str, epoch: i16, committed: bool| {
        let request = EndTxnRequest { producer_epoch: epoch, ..producer.ending(committed) };
        let response = producer.try_end(5, &request).await;
        let same = if response.producer_id == id { "same" } else { "other" };
        log.say(what, format!("{} {same} {}", response.error_code.name().unwrap(), response.producer_epoch));
    };
    end(&mut log, &producer, "commits nothing", of, true).await;
    end(&mut log, &producer, "aborts nothing", of, false).await;
    end(&mut log, &producer, "aborts it again", of, false).await;
    producer.epoch = 1;
    log.code("writes", producer.write().await);
    end(&mut log, &producer, "of before", 0, true).await;
    end(&mut log, &producer, "later", 2, true).await;
    end(&mut log, &producer, "commits", 1, true).await;
    end(&mut log, &producer, "commits it again", 1, true).await;
    end(&mut log, &producer, "aborts it", 1, false).await;
    end(&mut log, &producer, "commits with the new epoch", 2, true).await;
    end(&mut log, &producer, "aborts with the new epoch", 2, false).await;
    end(&mut log, &producer, "commits what was aborted", 2, true).await;
    let nobody = EndTxnRequest { producer_id: id + 100_000, producer_epoch: 3, ..producer.ending(true) };
    log.code("another producer", broker.call(&nobody).await.error_code);
    let nobody = EndTxnRequest { transactional_id: unique("nobody"), ..producer.ending(true) };
    broker.coordinator(1, &nobody.transactional_id).await;
    log.code("no such transaction", broker.call(&nobody).await.error_code);
    let nobody = EndTxnRequest { transactional_id: String::new(), ..producer.ending(true) };
    log.code("no name", broker.call(&nobody).await.error_code);
    assert_eq!(
        log.0,
        "commits nothing: INVALID_TXN_STATE other -1
aborts nothing: NONE same 1
aborts it again: NONE same 1
writes: NONE
of before: PRODUCER_FENCED other -1
later: PRODUCER_FENCED other -1
commits: NONE same 2
commits it again: NONE same 2
aborts it: INVALID_TXN_STATE other -1
commits with the new epoch: INVALID_TXN_STATE other -1
aborts with the new epoch: NONE same 3
commits what was aborted: INVALID_TXN_STATE other -1
another producer: INVALID_PRODUCER_ID_MAPPING
no such transaction: INVALID_PRODUCER_ID_MAPPING
no name: INVALID_REQUEST
"
    );
}

pub(super) async fn older_ends_keep_the_epoch(broker: &Broker) {
    let mut log = Log::default();
    let producer = Producer::start(broker).await;
    let (id, epoch) = (producer.producer_id, producer.epoch);
    let end = async |committed: bool| producer.try_end(4, &producer.ending(committed)).await.error_code;
    log.code("commits nothing", end(true).await);
    log.code("aborts nothing", end(false).await);
    log.code("writes what was not added", producer.write_as(11, id, epoch, 0).await);
    log.code("in older words", producer.write_as(10, id, epoch, 0).await);
    let codes = producer.add(3, &[0, 7]).await;
    log.say(
        "adds what is not there",
        format!("{:?}", codes.iter().map(|code| code.name().unwrap()).collect::<Vec<_>>()),
    );
    log.code("adds", producer.add(3, &[0]).await[0]);
    log.code("adds again", producer.add(3, &[0, 1]).await[0]);
    log.code("writes", producer.write_as(11, id, epoch, 0).await);
    log.code("writes it again", producer.write_as(11, id, epoch, 0).await);
    log.code("commits", end(true).await);
    log.code("commits again", end(true).await);
    log.code("aborts", end(false).await);
    log.code("writes what is not added any more", producer.write_as(11, id, epoch, 1).await);
    log.code("adds", producer.add(3, &[0]).await[0]);
    log.code("writes", producer.write_as(11, id, epoch, 1).await);
    log.code("aborts", end(false).await);
    let fenced = EndTxnRequest { producer_epoch: epoch + 1, ..producer.ending(true) };
    log.code("a later epoch", producer.try_end(4, &fenced).await.error_code);
    log.code("in older words", producer.try_end(1, &fenced).await.error_code);
    assert_eq!(
        log.0,
        "commits nothing: INVALID_TXN_STATE
aborts nothing: INVALID_TXN_STATE
writes what was not added: TRANSACTION_ABORTABLE
in older words: INVALID_TXN_STATE
adds what is not there: [\"OPERATION_NOT_ATTEMPTED\", \"UNKNOWN_TOPIC_OR_PARTITION\"]
adds: NONE
adds again: NONE
writes: NONE
writes it again: NONE
commits: NONE
commits again: NONE
aborts: INVALID_TXN_STATE
writes what is not added any more: TRANSACTION_ABORTABLE
adds: NONE
writes: NONE
aborts: NONE
a later epoch: PRODUCER_FENCED
in older words: INVALID_PRODUCER_EPOCH
"
    );
}

pub(super) async fn records_that_are_refused(broker: &Broker) {
    let mut log = Log::default();
    let mut producer = Producer::start(broker).await;
    let (id, epoch) = (producer.producer_id, producer.epoch);
    log.code("another producer", producer.write_as(13, id + 100_000, epoch, 0).await);
    log.code("a later epoch", producer.write_as(13, id, epoch + 1, 0).await);
    log.code("not from the start", producer.write_as(13, id, epoch, 5).await);
    let mut request = producer.request(record(id, epoch, 0));
    request.transactional_id = None;
    log.code("without a name", producer.send(13, &request).await);
    request.transactional_id = Some(unique("nobody"));
    broker.coordinator(1, request.transactional_id.as_ref().unwrap()).await;
    log.code("another name", producer.send(13, &request).await);
    let mut two = producer.request(record(id, epoch, 0));
    let other = PartitionProduceData { index: 1, records: Some(record(id + 1, epoch, 0)) };
    two.topic_data[0].partition_data.push(other);
    log.code("two producers", producer.send(13, &two).await);
    log.code("right", producer.write().await);
    log.code("a gap", producer.write_as(13, id, epoch, 7).await);
    let options = BatchOptions { producer_id: id, producer_epoch: epoch, base_sequence: 1, ..Default::default() };
    let mut plain = BatchBuilder::new(options);
    plain.try_append(0, None, Some(b"value"), []).unwrap();
    let request = producer.request(plain.build().unwrap());
    log.code("outside the transaction", producer.send(13, &request).await);
    log.code("commits", producer.end(true).await);
    producer.settle().await;
    log.code("the epoch of before", producer.write_as(13, id, epoch, 1).await);
    assert_eq!(
        log.0,
        "another producer: INVALID_PRODUCER_ID_MAPPING
a later epoch: INVALID_PRODUCER_EPOCH
not from the start: OUT_OF_ORDER_SEQUENCE_NUMBER
without a name: TRANSACTIONAL_ID_AUTHORIZATION_FAILED
another name: INVALID_PRODUCER_ID_MAPPING
two producers: INVALID_PRODUCER_ID_MAPPING
right: NONE
a gap: OUT_OF_ORDER_SEQUENCE_NUMBER
outside the transaction: INVALID_TXN_STATE
commits: NONE
the epoch of before: INVALID_PRODUCER_EPOCH
"
    );
}

pub(super) async fn transactions_are_described(broker: &Broker) {
    let mut log = Log::default();
    let mut producer = Producer::start(broker).await;
    let (id, name) = (producer.producer_id, producer.id.clone());
    let describe = async |log: &mut Log, what: &str, name: &str| {
        let request = DescribeTransactionsRequest { transactional_ids: vec![name.to_owned()] };
        let found = eventually("the end", async || {
            let found = broker.call(&request).await.transaction_states.remove(0);
            (!found.transaction_state.starts_with("Prepare")).then_some(found)
        })
        .await;
        let topics: Vec<&[i32]> = found.topics.iter().map(|topic| &topic.partitions[..]).collect();
        let started = found.transaction_start_time_ms > 0;
        let (code, state) = (found.error_code.name().unwrap(), found.transaction_state);
        let ours = found.error_code.is_none() && found.producer_id == id;
        let (timeout, epoch) = (found.transaction_timeout_ms, found.producer_epoch);
        log.say(what, format!("{code} {state:?} {timeout} {started} {ours} {epoch} {topics:?}"));
    };
    let list = async |log: &mut Log, what: &str, request: ListTransactionsRequest| {
        let found = broker.call(&request).await;
        let ours = found.transaction_states.iter().find(|state| state.transactional_id == name);
        let ours = ours.map_or("-", |state| state.transaction_state.as_str());
        log.say(what, format!("{} {ours} {:?}", found.error_code.name().unwrap(), found.unknown_state_filters));
    };
    let all = ListTransactionsRequest::default;
    describe(&mut log, "nobody", &unique("nobody")).await;
    describe(&mut log, "no name", "").await;
    describe(&mut log, "new", &name).await;
    list(&mut log, "listed", all()).await;
    log.code("writes", producer.write().await);
    describe(&mut log, "open", &name).await;
    let states = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    list(&mut log, "by state", ListTransactionsRequest { state_filters: states(&["Ongoing", "Odd"]), ..all() }).await;
    list(&mut log, "by another", ListTransactionsRequest { state_filters: states(&["Empty"]), ..all() }).await;
    list(&mut log, "by none", ListTransactionsRequest { state_filters: states(&["Odd"]), ..all() }).await;
    list(&mut log, "by producer", ListTransactionsRequest { producer_id_filters: vec![id], ..all() }).await;
    list(&mut log, "by another", ListTransactionsRequest { producer_id_filters: vec![id + 100_000], ..all() }).await;
    list(&mut log, "by age", ListTransactionsRequest { duration_filter: 600_000, ..all() }).await;
    let pattern =
        |pattern: &str| ListTransactionsRequest { transactional_id_pattern: Some(pattern.to_owned()), ..all() };
    list(&mut log, "by pattern", pattern(&format!("{}.", &name[..name.len() - 1]))).await;
    list(&mut log, "by half a name", pattern(&name[..name.len() - 1])).await;
    list(&mut log, "by no pattern", pattern("(")).await;
    log.code("commits", producer.end(true).await);
    describe(&mut log, "committed", &name).await;
    log.code("writes", producer.write().await);
    log.code("aborts", producer.end(false).await);
    describe(&mut log, "aborted", &name).await;
    assert_eq!(
        log.0,
        "nobody: TRANSACTIONAL_ID_NOT_FOUND \"\" 0 false false 0 []
no name: INVALID_REQUEST \"\" 0 false false 0 []
new: NONE \"Empty\" 60000 false true 0 []
listed: NONE Empty []
writes: NONE
open: NONE \"Ongoing\" 60000 true true 0 [[0]]
by state: NONE Ongoing [\"Odd\"]
by another: NONE - []
by none: NONE - [\"Odd\"]
by producer: NONE Ongoing []
by another: NONE - []
by age: NONE - []
by pattern: NONE Ongoing []
by half a name: NONE - []
by no pattern: INVALID_REGULAR_EXPRESSION - []
commits: NONE
committed: NONE \"CompleteCommit\" 60000 true true 1 []
writes: NONE
aborts: NONE
aborted: NONE \"CompleteAbort\" 60000 true true 2 []
"
    );
}
