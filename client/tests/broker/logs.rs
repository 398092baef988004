//! Reading logs: fetches and their sessions, offsets, deletion.

use std::fmt::Write;
use std::sync::LazyLock;
use std::time::{SystemTime, UNIX_EPOCH};

use ackflow_protocol::messages::delete_records::{DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic};
use ackflow_protocol::messages::fetch::{FetchPartition, FetchRequest, FetchResponse, FetchTopic, ForgottenTopic};
use ackflow_protocol::messages::list_offsets::{ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic};
use ackflow_protocol::messages::offset_for_leader_epoch::{
    OffsetForLeaderEpochRequest, OffsetForLeaderPartition, OffsetForLeaderTopic,
};
use ackflow_protocol::messages::produce::{PartitionProduceData, ProduceRequest, TopicProduceData};
use ackflow_protocol::messages::write_txn_markers::{
    WritableTxnMarker, WritableTxnMarkerTopic, WriteTxnMarkersRequest,
};
use ackflow_protocol::records::{BatchBuilder, BatchOptions, Batches};
use ackflow_protocol::wire::Uuid;

use super::transactions::Producer;
use super::{Broker, Log};

/// A batch of records of 100 bytes each, at these times in ms from [`BEGIN`] on.
pub(super) async fn produce(broker: &Broker, topic: Uuid, index: i32, times: &[i64]) {
    let mut builder = BatchBuilder::new(BatchOptions::default());
    for time in times {
        builder.try_append(*BEGIN + time, None, Some(&[0; 100]), []).unwrap();
    }
    let partition_data = vec![PartitionProduceData { index, records: Some(builder.build().unwrap()) }];
    let topic_data = vec![TopicProduceData { topic_id: topic, partition_data, ..Default::default() }];
    let request = ProduceRequest { transactional_id: None, acks: -1, timeout_ms: 10_000, topic_data };
    let response = broker.call(&request).await.responses.remove(0).partition_responses.remove(0);
    assert!(response.error_code.is_none(), "{response:?}");
}

/// A minute ago, in ms: records of very different times would be in different segments, in which no fetch reads at once.
static BEGIN: LazyLock<i64> = LazyLock::new(|| {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis();
    i64::try_from(now).unwrap() - 60_000
});

fn fetch(topic: Uuid, partitions: &[(i32, i64)]) -> FetchRequest {
    let partition = |&(partition, fetch_offset)| FetchPartition {
        partition,
        fetch_offset,
        partition_max_bytes: 1 << 20,
        ..Default::default()
    };
    FetchRequest {
        max_bytes: 1 << 20,
        topics: vec![FetchTopic {
            topic_id: topic,
            partitions: partitions.iter().map(partition).collect(),
            ..Default::default()
        }],
        ..Default::default()
    }
}

fn summary(response: &FetchResponse) -> String {
    let mut text = response.error_code.name().unwrap().to_owned();
    for partition in response.responses.iter().flat_map(|topic| &topic.partitions) {
        write!(text, " {}", partition.partition_index).unwrap();
        if !partition.error_code.is_none() {
            write!(text, "!{}", partition.error_code.name().unwrap()).unwrap();
        }
        let mut batches = Batches::new(partition.records.clone().unwrap_or_default());
        let whole =
            batches.by_ref().map(|batch| batch.map(|b| format!("{}-{}", b.base_offset(), b.last_offset())).unwrap());
        let mut whole: Vec<String> = whole.collect();
        if batches.remaining() > 0 {
            whole.push(format!("~{}", batches.remaining()));
        }
        let (end, stable, start) = (partition.high_watermark, partition.last_stable_offset, partition.log_start_offset);
        write!(text, "[{}]{end}/{stable}/{start}", whole.join(" ")).unwrap();
        if let Some(aborted) = &partition.aborted_transactions {
            let first: Vec<i64> = aborted.iter().map(|aborted| aborted.first_offset).collect();
            write!(text, "x{first:?}").unwrap();
        }
        if partition.diverging_epoch.epoch >= 0 {
            write!(text, "<{}@{}", partition.diverging_epoch.epoch, partition.diverging_epoch.end_offset).unwrap();
        }
    }
    text
}

async fn read(broker: &Broker, log: &mut Log, what: &str, request: &FetchRequest) -> i32 {
    let response = broker.call(request).await;
    log.say(what, summary(&response));
    response.session_id
}

pub(super) async fn fetches_are_bounded(broker: &Broker) {
    let mut log = Log::default();
    let (name, topic) = broker.topic(2).await;
    produce(broker, topic, 0, &[0, 1]).await;
    produce(broker, topic, 0, &[2, 3]).await;
    produce(broker, topic, 1, &[4]).await;
    let change = |change: fn(&mut FetchRequest)| {
        let mut request = fetch(topic, &[(0, 0), (1, 0)]);
        change(&mut request);
        request
    };
    for (what, request) in [
        ("all", change(|_| {})),
        ("from within", change(|r| r.topics[0].partitions[0].fetch_offset = 1)),
        ("from the end", change(|r| r.topics[0].partitions[0].fetch_offset = 4)),
        ("behind the end", change(|r| r.topics[0].partitions[0].fetch_offset = 5)),
        ("before the start", change(|r| r.topics[0].partitions[0].fetch_offset = -1)),
        ("one byte", change(|r| r.max_bytes = 1)),
        ("one byte of a partition", change(|r| r.topics[0].partitions[0].partition_max_bytes = 1)),
        ("a batch and a bit", change(|r| r.topics[0].partitions[0].partition_max_bytes = 300)),
        ("no bytes", change(|r| (r.max_bytes, r.topics[0].partitions[0].partition_max_bytes) = (0, 0))),
        ("an old epoch of the leader", change(|r| r.topics[0].partitions[0].current_leader_epoch = 0)),
        ("a new epoch of the leader", change(|r| r.topics[0].partitions[0].current_leader_epoch = 9)),
        ("a right last epoch", change(|r| r.topics[0].partitions[0].last_fetched_epoch = 0)),
        ("a new last epoch", change(|r| r.topics[0].partitions[0].last_fetched_epoch = 9)),
        ("unknown partition", change(|r| r.topics[0].partitions[0].partition = 7)),
        ("unknown topic", change(|r| r.topics[0].topic_id = Uuid([3; 16]))),
        ("committed", change(|r| r.isolation_level = 1)),
    ] {
        read(broker, &mut log, what, &request).await;
    }
    let mut by_name = fetch(topic, &[(0, 0)]);
    by_name.topics[0].topic = name;
    log.say("by name", summary(&broker.call_version(12, &by_name).await));
    by_name.topics[0].topic = "nothing".to_owned();
    log.say("by an unknown name", summary(&broker.call_version(12, &by_name).await));
    assert_eq!(
        log.0,
        "all: NONE 0[0-1 2-3]4/4/0 1[0-0]1/1/0
from within: NONE 0[0-1 2-3]4/4/0 1[0-0]1/1/0
from the end: NONE 0[]4/4/0 1[0-0]1/1/0
behind the end: NONE 0!OFFSET_OUT_OF_RANGE[]-1/-1/-1 1[0-0]1/1/0
before the start: NONE 0!OFFSET_OUT_OF_RANGE[]-1/-1/-1 1[0-0]1/1/0
one byte: NONE 0[0-1]4/4/0 1[]1/1/0
one byte of a partition: NONE 0[0-1]4/4/0 1[0-0]1/1/0
a batch and a bit: NONE 0[0-1 ~21]4/4/0 1[0-0]1/1/0
no bytes: NONE 0[0-1]4/4/0 1[]1/1/0
an old epoch of the leader: NONE 0[0-1 2-3]4/4/0 1[0-0]1/1/0
a new epoch of the leader: NONE 0!UNKNOWN_LEADER_EPOCH[]-1/-1/-1 1[0-0]1/1/0
a right last epoch: NONE 0[0-1 2-3]4/4/0 1[0-0]1/1/0
a new last epoch: NONE 0!OFFSET_OUT_OF_RANGE[]-1/-1/-1 1[0-0]1/1/0
unknown partition: NONE 1[0-0]1/1/0 7!UNKNOWN_TOPIC_OR_PARTITION[]-1/-1/-1x[]
unknown topic: NONE 0!UNKNOWN_TOPIC_ID[]-1/-1/-1x[] 1!UNKNOWN_TOPIC_ID[]-1/-1/-1x[]
committed: NONE 0[0-1 2-3]4/4/0x[] 1[0-0]1/1/0x[]
by name: NONE 0[0-1 2-3]4/4/0
by an unknown name: NONE 0!UNKNOWN_TOPIC_OR_PARTITION[]-1/-1/-1x[]
"
    );
}

pub(super) async fn sessions_of_fetches(broker: &Broker) {
    let mut log = Log::default();
    let (_, topic) = broker.topic(3).await;
    produce(broker, topic, 0, &[0, 1]).await;
    let session = |session_id, session_epoch, partitions: &[(i32, i64)]| {
        let mut request = FetchRequest { session_id, session_epoch, ..fetch(topic, partitions) };
        if partitions.is_empty() {
            request.topics.clear();
        }
        request
    };
    let id = read(broker, &mut log, "opens", &session(0, 0, &[(0, 2), (1, 0), (2, 0)])).await;
    read(broker, &mut log, "nothing is new", &session(id, 1, &[])).await;
    produce(broker, topic, 1, &[0]).await;
    read(broker, &mut log, "one is new", &session(id, 2, &[])).await;
    read(broker, &mut log, "and read", &session(id, 3, &[(1, 1)])).await;
    for partition in 0..3 {
        produce(broker, topic, partition, &[0]).await;
    }
    read(broker, &mut log, "all are new", &session(id, 4, &[])).await;
    read(broker, &mut log, "an epoch of before", &session(id, 4, &[])).await;
    read(broker, &mut log, "a later epoch", &session(id, 9, &[])).await;
    let forgotten = vec![ForgottenTopic { topic_id: topic, partitions: vec![0, 1], ..Default::default() }];
    let forgets = FetchRequest { forgotten_topics_data: forgotten, ..session(id, 5, &[]) };
    read(broker, &mut log, "two are forgotten", &forgets).await;
    read(broker, &mut log, "an error", &session(id, 6, &[(2, 7)])).await;
    read(broker, &mut log, "an error again", &session(id, 7, &[])).await;
    read(broker, &mut log, "and no more", &session(id, 8, &[(2, 1)])).await;
    let by_name = broker.call_version(12, &session(id, 9, &[])).await;
    log.say("by name", summary(&by_name));
    let forgotten = vec![ForgottenTopic { topic_id: topic, partitions: vec![2], ..Default::default() }];
    let forgets = FetchRequest { forgotten_topics_data: forgotten, ..session(id, 9, &[]) };
    let ended = read(broker, &mut log, "all are forgotten", &forgets).await;
    log.say("there is none any more", ended);
    read(broker, &mut log, "it is gone", &session(id, 10, &[])).await;
    let id = read(broker, &mut log, "another", &session(0, 0, &[(0, 3)])).await;
    let none = read(broker, &mut log, "is left behind", &session(id, -1, &[(0, 3)])).await;
    log.say("without a session", none);
    read(broker, &mut log, "it is gone", &session(id, 1, &[])).await;
    assert_eq!(
        log.0,
        "opens: NONE 0[]2/2/0 1[]0/0/0 2[]0/0/0
nothing is new: NONE
one is new: NONE 1[0-0]1/1/0
and read: NONE
all are new: NONE 0[2-2]3/3/0 2[0-0]1/1/0 1[1-1]2/2/0
an epoch of before: INVALID_FETCH_SESSION_EPOCH
a later epoch: INVALID_FETCH_SESSION_EPOCH
two are forgotten: NONE 2[0-0]1/1/0
an error: NONE 2!OFFSET_OUT_OF_RANGE[]-1/-1/-1
an error again: NONE 2!OFFSET_OUT_OF_RANGE[]-1/-1/-1
and no more: NONE 2[]1/1/0
by name: FETCH_SESSION_TOPIC_ID_ERROR
all are forgotten: NONE
there is none any more: 0
it is gone: FETCH_SESSION_ID_NOT_FOUND
another: NONE 0[]3/3/0
is left behind: NONE 0[]3/3/0
without a session: 0
it is gone: FETCH_SESSION_ID_NOT_FOUND
"
    );
}

pub(super) async fn open_and_aborted_transactions_are_told(broker: &Broker) {
    let mut log = Log::default();
    let mut producer = Producer::start(broker).await;
    let topic = producer.topic.1;
    let committed = |offset| FetchRequest { isolation_level: 1, ..fetch(topic, &[(0, offset)]) };
    produce(broker, topic, 0, &[0]).await;
    producer.write().await;
    produce(broker, topic, 0, &[0]).await;
    read(broker, &mut log, "open", &committed(0)).await;
    read(broker, &mut log, "uncommitted", &fetch(topic, &[(0, 1)])).await;
    read(broker, &mut log, "behind what is stable", &committed(2)).await;
    producer.end(false).await;
    producer.settle().await;
    read(broker, &mut log, "aborted", &committed(0)).await;
    read(broker, &mut log, "behind it", &committed(3)).await;
    producer.write().await;
    producer.end(true).await;
    producer.settle().await;
    read(broker, &mut log, "committed", &committed(4)).await;
    assert_eq!(
        log.0,
        "open: NONE 0[0-0]3/1/0x[]
uncommitted: NONE 0[1-1 2-2]3/1/0
behind what is stable: NONE 0[]3/1/0x[]
aborted: NONE 0[0-0 1-1 2-2 3-3]4/4/0x[1]
behind it: NONE 0[3-3]4/4/0x[1]
committed: NONE 0[4-4 5-5]6/6/0x[]
"
    );
}

pub(super) async fn offsets_are_found_and_records_deleted(broker: &Broker) {
    let mut log = Log::default();
    let (name, topic) = broker.topic(1).await;
    let list = async |log: &mut Log, what: &str, timestamp: i64, epoch: i32| {
        let asked = ListOffsetsPartition { partition_index: 0, current_leader_epoch: epoch, timestamp };
        let topics = vec![ListOffsetsTopic { name: name.clone(), partitions: vec![asked] }];
        let request = ListOffsetsRequest { replica_id: -1, topics, timeout_ms: 1000, ..Default::default() };
        let found = broker.call(&request).await.topics.remove(0).partitions.remove(0);
        let time = if found.timestamp < 0 { found.timestamp } else { found.timestamp - *BEGIN };
        log.say(what, format!("{} {time} {} {}", found.error_code.name().unwrap(), found.offset, found.leader_epoch));
    };
    list(&mut log, "the largest time of nothing", -3, -1).await;
    produce(broker, topic, 0, &[10, 30, 20]).await;
    produce(broker, topic, 0, &[30, 25]).await;
    for (what, time) in [
        ("the end", -1),
        ("the start", -2),
        ("the largest time", -3),
        ("the local start", -4),
        ("the tiered end", -5),
        ("the start of what is to be uploaded", -6),
        ("some time", -7),
        ("the first time", *BEGIN),
        ("a time", *BEGIN + 11),
        ("a late time", *BEGIN + 31),
    ] {
        list(&mut log, what, time, -1).await;
    }
    list(&mut log, "a later epoch", -1, 9).await;
    let end = async |log: &mut Log, what: &str, leader_epoch: i32, current_leader_epoch: i32| {
        let asked = OffsetForLeaderPartition { partition: 0, current_leader_epoch, leader_epoch };
        let topics = vec![OffsetForLeaderTopic { topic: name.clone(), partitions: vec![asked] }];
        let found = broker.call(&OffsetForLeaderEpochRequest { replica_id: -1, topics }).await;
        let found = &found.topics[0].partitions[0];
        log.say(what, format!("{} {} {}", found.error_code.name().unwrap(), found.leader_epoch, found.end_offset));
    };
    end(&mut log, "this epoch", 0, -1).await;
    end(&mut log, "an epoch to come", 5, -1).await;
    end(&mut log, "no epoch", -1, -1).await;
    end(&mut log, "of a leader to come", 0, 5).await;
    let delete = async |log: &mut Log, what: &str, offset: i64| {
        let partitions = vec![DeleteRecordsPartition { partition_index: 0, offset }];
        let topics = vec![DeleteRecordsTopic { name: name.clone(), partitions }];
        let deleted = broker.call(&DeleteRecordsRequest { topics, timeout_ms: 10_000 }).await;
        let deleted = &deleted.topics[0].partitions[0];
        log.say(what, format!("{} {}", deleted.error_code.name().unwrap(), deleted.low_watermark));
    };
    delete(&mut log, "deletes behind the end", 6).await;
    delete(&mut log, "deletes oddly", -2).await;
    delete(&mut log, "deletes", 4).await;
    delete(&mut log, "deletes again", 2).await;
    list(&mut log, "the start", -2, -1).await;
    list(&mut log, "the first time", *BEGIN, -1).await;
    read(broker, &mut log, "what is gone", &fetch(topic, &[(0, 3)])).await;
    read(broker, &mut log, "what is left", &fetch(topic, &[(0, 4)])).await;
    delete(&mut log, "deletes all", -1).await;
    read(broker, &mut log, "nothing is left", &fetch(topic, &[(0, 5)])).await;
    assert_eq!(
        log.0,
        "the largest time of nothing: NONE -1 -1 -1
the end: NONE -1 5 0
the start: NONE -1 0 0
the largest time: NONE 30 1 0
the local start: NONE -1 0 0
the tiered end: NONE -1 -1 -1
the start of what is to be uploaded: NONE -1 -1 -1
some time: UNSUPPORTED_VERSION -1 -1 -1
the first time: NONE 10 0 0
a time: NONE 30 1 0
a late time: NONE -1 -1 -1
a later epoch: UNKNOWN_LEADER_EPOCH -1 -1 -1
this epoch: NONE 0 5
an epoch to come: NONE -1 -1
no epoch: NONE -1 -1
of a leader to come: UNKNOWN_LEADER_EPOCH -1 -1
deletes behind the end: OFFSET_OUT_OF_RANGE -1
deletes oddly: OFFSET_OUT_OF_RANGE -1
deletes: NONE 4
deletes again: NONE 4
the start: NONE -1 4 0
the first time: NONE 25 4 0
what is gone: NONE 0!OFFSET_OUT_OF_RANGE[]-1/-1/-1
what is left: NONE 0[3-4]5/5/4
deletes all: NONE 5
nothing is left: NONE 0[]5/5/5
"
    );
}

pub(super) async fn markers_that_brokers_write(broker: &Broker) {
    let mut log = Log::default();
    let mut producer = Producer::start(broker).await;
    let (id, name) = (producer.producer_id, producer.topic.0.clone());
    producer.write().await;
    let mark = async |log: &mut Log, what: &str, producer_id: i64, producer_epoch: i16, topic: &str, version: i8| {
        let topics = vec![WritableTxnMarkerTopic { name: topic.to_owned(), partition_indexes: vec![0] }];
        let marker = WritableTxnMarker {
            producer_id,
            producer_epoch,
            topics,
            transaction_version: version,
            ..Default::default()
        };
        let response = broker.call(&WriteTxnMarkersRequest { markers: vec![marker] }).await;
        log.code(what, response.markers[0].topics[0].partitions[0].error_code);
    };
    mark(&mut log, "no producer", -1, 0, &name, 0).await;
    mark(&mut log, "no epoch", id, -1, &name, 0).await;
    mark(&mut log, "no topic", id, 0, "nothing", 0).await;
    mark(&mut log, "the epoch of now, in version 2", id, 0, &name, 2).await;
    mark(&mut log, "the epoch of now", id, 0, &name, 0).await;
    mark(&mut log, "again", id, 0, &name, 0).await;
    mark(&mut log, "a new epoch", id, 5, &name, 2).await;
    mark(&mut log, "an epoch of before", id, 4, &name, 0).await;
    mark(&mut log, "somebody else", id + 100_000, 4, &name, 2).await;
    read(broker, &mut log, "all", &FetchRequest { isolation_level: 1, ..fetch(producer.topic.1, &[(0, 0)]) }).await;
    assert_eq!(
        log.0,
        "no producer: UNKNOWN_SERVER_ERROR
no epoch: UNKNOWN_SERVER_ERROR
no topic: UNKNOWN_TOPIC_OR_PARTITION
the epoch of now, in version 2: INVALID_PRODUCER_EPOCH
the epoch of now: NONE
again: NONE
a new epoch: NONE
an epoch of before: INVALID_PRODUCER_EPOCH
somebody else: NONE
all: NONE 0[0-0 1-1 2-2 3-3 4-4]5/5/0x[0]
"
    );
}
