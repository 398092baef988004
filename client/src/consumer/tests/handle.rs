//! Rebalances, seeks, pauses and errors as the application sees them; the driver is the test.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use ackflow_protocol::machine::consumer::{BadBatch, Fetched, Position, RebalanceId, Run, SeekTo, TopicPartition};
use ackflow_protocol::records::{BatchBuilder, BatchError, BatchOptions, Batches, assign_offsets};
use tokio::sync::mpsc;

use super::super::handle::{Handle, Reading, deadline};
use super::super::link::{Command, Link, Notice};
use super::super::{Consumer, ConsumerConfig, OffsetAndMetadata, Rebalance, RebalanceListener};
use crate::deserialize::ByteArrayDeserializer;
use crate::error::{ClientError, ErrorKind};
use crate::metrics::ConsumerMetrics;

struct Ends {
    consumer: Consumer,
    commands: mpsc::UnboundedReceiver<Command>,
    notices: mpsc::UnboundedSender<Notice>,
}

const SOON: Duration = Duration::from_millis(20);

fn name(partition: i32) -> TopicPartition {
    TopicPartition::new("t", partition)
}

fn fetched(partition: i32, run: Run, first: i64, last: i64) -> Fetched {
    let mut builder = BatchBuilder::new(BatchOptions::default());
    for offset in first..=last {
        builder.try_append(1, None, Some(offset.to_string().as_bytes()), []).unwrap();
    }
    let mut bytes = builder.build().unwrap().to_vec();
    assign_offsets(&mut bytes, first, 5).unwrap();
    let next = Position { offset: last + 1, leader_epoch: Some(5) };
    let batches = Batches::new(bytes.into()).map(Result::unwrap).collect();
    Fetched { partition: name(partition), run, first, batches, next, high_watermark: last + 11, error: None }
}

impl Ends {
    fn new(max_poll_records: u32) -> Self {
        let config = ConsumerConfig::builder("a:1").group_id("g").max_poll_records(max_poll_records).build().unwrap();
        let (link, commands) = Link::new();
        let (notices, receiver) = mpsc::unbounded_channel();
        let mut handle = Handle::new(&config, link, receiver, unwatched(&config), None);
        handle.subscribe(Reading::Topics(vec!["t".into()])).unwrap();
        let consumer = Consumer::with(handle, ByteArrayDeserializer, ByteArrayDeserializer);
        Self { consumer, commands, notices }
    }

    fn tell(&self, notice: Notice) {
        self.notices.send(notice).unwrap();
    }

    fn assign(&self, id: u64, run: Run, partitions: &[i32]) {
        let partitions = partitions.iter().map(|index| (name(*index), run)).collect();
        self.tell(Notice::Assigning(RebalanceId(id), partitions));
    }

    async fn poll(&mut self) -> Result<Vec<i64>, ClientError> {
        let records = self.consumer.poll(SOON).await?;
        Ok(records.iter().map(|record| record.unwrap().offset).collect())
    }

    fn commands(&mut self) -> Vec<Command> {
        std::iter::from_fn(|| self.commands.try_recv().ok()).collect()
    }
}

const RUN: Run = Run { assignment: 7, seeks: 0 };

#[derive(Default, Clone)]
struct Journal(Arc<Mutex<Vec<String>>>);

impl RebalanceListener for Journal {
    fn assigned(&mut self, partitions: &[TopicPartition], rebalance: &mut Rebalance<'_>) {
        self.0.lock().unwrap().push(format!("assigned {}", partitions.len()));
        if partitions.contains(&name(1)) {
            rebalance.seek(name(1), 40);
        }
    }

    fn revoked(&mut self, partitions: &[TopicPartition], rebalance: &mut Rebalance<'_>) {
        let at = partitions.first().and_then(|partition| rebalance.position(partition));
        self.0.lock().unwrap().push(format!("revoked {} at {at:?}", partitions.len()));
        rebalance.commit_all(partitions);
    }

    fn lost(&mut self, partitions: &[TopicPartition], _: &mut Rebalance<'_>) {
        self.0.lock().unwrap().push(format!("lost {}", partitions.len()));
    }
}

#[tokio::test]
async fn polls_hand_out_what_waits_up_to_their_limit_and_the_driver_hears_how_far() {
    let mut ends = Ends::new(4);
    ends.assign(1, RUN, &[0, 1]);
    ends.tell(Notice::Fetched(Box::new(fetched(0, RUN, 0, 5))));
    // Nothing is read of a partition before the application has it, and all after.
    assert_eq!(ends.poll().await.unwrap(), [0i64; 0]);
    ends.tell(Notice::Fetched(Box::new(fetched(0, RUN, 0, 5))));
    ends.tell(Notice::Fetched(Box::new(fetched(1, RUN, 10, 11))));
    assert_eq!(ends.poll().await.unwrap(), [0, 1, 2, 3]);
    assert_eq!(ends.consumer.position(&name(0)).await.unwrap(), 4);
    assert_eq!(ends.consumer.current_lag(&name(0)), Some(12));
    assert_eq!(ends.consumer.metrics().value("records-lag-max"), Some(12.0));
    ends.commands();
    assert_eq!(ends.poll().await.unwrap(), [4, 5, 10, 11]);
    let told = ends.commands();
    let taken = told.iter().find_map(|command| match command {
        Command::Taken(taken) => Some(taken.clone()),
        _ => None,
    });
    let taken: Vec<_> =
        taken.unwrap().into_iter().map(|(name, _, position)| (name.partition, position.offset)).collect();
    assert_eq!(taken, [(0, 6), (1, 12)]);
}

#[tokio::test]
async fn the_listener_hears_of_partitions_in_polls_and_what_it_says_goes_to_the_driver() {
    let mut ends = Ends::new(100);
    let journal = Journal::default();
    ends.consumer.set_rebalance_listener(journal.clone());
    ends.assign(1, RUN, &[0, 1]);
    ends.poll().await.unwrap();
    let seeks = ends.commands().into_iter().find_map(|command| match command {
        Command::Assigned(RebalanceId(1), seeks) => Some(seeks),
        _ => None,
    });
    let to = SeekTo::Position(Position { offset: 40, leader_epoch: None });
    assert_eq!(seeks.unwrap(), [(name(1), RUN.after_seek(), to)]);
    ends.tell(Notice::Fetched(Box::new(fetched(0, RUN, 0, 5))));
    assert_eq!(ends.poll().await.unwrap().len(), 6);
    ends.tell(Notice::Fetched(Box::new(fetched(0, RUN, 6, 7))));
    ends.tell(Notice::Revoking(RebalanceId(2), vec![name(0)]));
    assert_eq!(ends.poll().await.unwrap(), [0i64; 0], "nothing of what goes");
    let commands = ends.commands();
    let revoked = commands.iter().position(|command| {
        matches!(command, Command::Revoked(RebalanceId(2), offsets)
        if offsets[&name(0)] == OffsetAndMetadata { offset: 6, leader_epoch: Some(5), metadata: String::new() })
    });
    assert!(revoked.is_some(), "{commands:?}");
    ends.tell(Notice::Lost(vec![name(0), name(1)]));
    ends.poll().await.unwrap();
    assert_eq!(*journal.0.lock().unwrap(), ["assigned 2", "revoked 1 at Some(6)", "lost 1"]);
    assert!(ends.consumer.assignment().is_empty());
}

#[tokio::test]
async fn what_was_fetched_before_a_seek_is_not_handed_out() {
    let mut ends = Ends::new(100);
    ends.assign(1, RUN, &[0]);
    ends.poll().await.unwrap();
    ends.tell(Notice::Fetched(Box::new(fetched(0, RUN, 0, 5))));
    ends.consumer.handle().absorb();
    ends.consumer.seek(&name(0), 50).unwrap();
    ends.tell(Notice::Fetched(Box::new(fetched(0, RUN, 6, 9))));
    ends.tell(Notice::Fetched(Box::new(fetched(0, RUN.after_seek(), 50, 51))));
    assert_eq!(ends.poll().await.unwrap(), [50, 51]);
    let error = ends.consumer.seek(&name(3), 0).unwrap_err();
    assert!(error.kind() == ErrorKind::Invalid && error.to_string().contains("t-3"), "{error}");
    assert!(ends.consumer.seek(&name(0), -1).is_err());
}

#[tokio::test]
async fn what_is_paused_waits_and_others_go_on() {
    let mut ends = Ends::new(100);
    ends.assign(1, RUN, &[0, 1]);
    ends.poll().await.unwrap();
    ends.consumer.pause(&[name(0)]).unwrap();
    ends.tell(Notice::Fetched(Box::new(fetched(0, RUN, 0, 1))));
    ends.tell(Notice::Fetched(Box::new(fetched(1, RUN, 10, 11))));
    assert_eq!(ends.poll().await.unwrap(), [10, 11]);
    assert_eq!(ends.poll().await.unwrap(), [0i64; 0]);
    assert_eq!(ends.consumer.paused(), [name(0)]);
    ends.consumer.resume(&[name(0)]).unwrap();
    assert_eq!(ends.poll().await.unwrap(), [0, 1]);
    assert!(ends.consumer.pause(&[name(0), name(5)]).is_err());
    assert!(ends.consumer.paused().is_empty());
}

#[tokio::test]
async fn a_batch_that_cannot_be_read_is_an_error_after_what_lies_before_it_until_a_seek() {
    let mut ends = Ends::new(100);
    ends.assign(1, RUN, &[0, 1]);
    ends.poll().await.unwrap();
    let error = BatchError::Crc { base_offset: 3, stored: 1, computed: 2 };
    let bad = BadBatch { first: 3, last: 8, error };
    ends.tell(Notice::Fetched(Box::new(Fetched { error: Some(bad), ..fetched(0, RUN, 0, 2) })));
    assert_eq!(ends.poll().await.unwrap(), [0, 1, 2]);
    for _ in 0..2 {
        let error = ends.poll().await.unwrap_err();
        let records = error.records().unwrap();
        assert_eq!((&*records.topic, records.partition, records.first, records.last), ("t", 0, 3, 8));
        assert!(error.to_string().contains("seek t-0 to offset 9"), "{error}");
    }
    ends.tell(Notice::Fetched(Box::new(fetched(1, RUN, 0, 0))));
    assert_eq!(ends.poll().await.unwrap(), [0], "others go on");
    ends.consumer.seek(&name(0), 9).unwrap();
    assert_eq!(ends.poll().await.unwrap(), [0i64; 0]);
}

#[tokio::test]
async fn a_poll_that_is_dropped_has_taken_nothing() {
    let mut ends = Ends::new(100);
    ends.assign(1, RUN, &[0]);
    let dropped = tokio::time::timeout(SOON, ends.consumer.poll(Duration::from_secs(60))).await;
    assert!(dropped.is_err());
    ends.tell(Notice::Fetched(Box::new(fetched(0, RUN, 0, 1))));
    assert_eq!(ends.poll().await.unwrap(), [0, 1]);
}

#[tokio::test]
async fn errors_are_told_once_and_the_fatal_one_for_ever() {
    let mut ends = Ends::new(100);
    let error = |text: &'static str| ClientError::new(ErrorKind::Invalid, "x", text);
    ends.tell(Notice::Failed { error: error("passing"), fatal: false });
    ends.tell(Notice::Failed { error: error("fatal"), fatal: true });
    assert!(ends.poll().await.unwrap_err().to_string().contains("passing"));
    for _ in 0..2 {
        assert!(ends.poll().await.unwrap_err().to_string().contains("fatal"));
    }
    assert!(ends.consumer.subscribe(["t"]).is_err());
    assert!(ends.consumer.commit().await.is_err());
    assert!(ends.consumer.failure().is_some());
}

#[tokio::test]
async fn without_anything_to_read_or_a_group_the_error_says_what_to_call() {
    let config = ConsumerConfig::builder("a:1").build().unwrap();
    let (link, _commands) = Link::new();
    let (_notices, receiver) = mpsc::unbounded_channel();
    let mut consumer = Consumer::with(
        Handle::new(&config, link, receiver, unwatched(&config), None),
        ByteArrayDeserializer,
        ByteArrayDeserializer,
    );
    let error = consumer.poll(SOON).await.unwrap_err();
    assert!(error.to_string().contains("call subscribe or assign first"), "{error}");
    let error = consumer.subscribe(["t"]).unwrap_err();
    assert!(error.to_string().contains("set group.id"), "{error}");
    assert!(consumer.subscribe_pattern("").is_err());
    assert!(consumer.assign([TopicPartition::new("no/name", 0)]).is_err());
    consumer.assign([name(0)]).unwrap();
    assert_eq!(consumer.assignment(), [name(0)]);
    assert!(Instant::now() < deadline(Duration::MAX));
}

/// Metrics that nobody reads.
fn unwatched(config: &ConsumerConfig) -> Arc<ConsumerMetrics> {
    Arc::new(ConsumerMetrics::watch(&mut config.client.clone()))
}
