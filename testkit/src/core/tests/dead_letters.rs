//! The dead letter queue. That letters are Kafka's to the byte is seen with a client on both brokers (client/tests/share).

use std::time::Duration;

use ackflow_protocol::records::{BatchBuilder, BatchOptions, Batches};

use super::rig::{Member, Rig, STARTED_MS, TOPIC};
use crate::core::configs::Values;
use crate::core::handlers;

const REJECT: i8 = 3;
pub(super) const QUEUE: (&str, &str) = ("errors.deadletterqueue.topic.name", "dlq.orders");
const COPIES: (&str, &str) = ("errors.deadletterqueue.copy.record.enable", "true");
pub(super) const TAKES: (&str, &str) = ("errors.deadletterqueue.group.enable", "true");

pub(super) fn create_queue(rig: &mut Rig, configs: &[(&str, &str)]) {
    let values = configs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect::<Values>();
    handlers::create_topics::create(&mut rig.cluster, QUEUE.1, 1, None, values, false).unwrap();
}

/// The letters in the queue: offset, count and value of each.
pub(super) fn letters(rig: &Rig) -> Vec<String> {
    let Some(queue) = rig.cluster.topics.by_name(QUEUE.1) else { return Vec::new() };
    let stored = queue.partitions[0].log.read(0, u64::MAX, true);
    let batches = stored.iter().map(|stored| Batches::new(stored.bytes.clone()).next().unwrap().unwrap());
    let mut letters = Vec::new();
    for batch in batches {
        for record in batch.records().map(Result::unwrap) {
            let text = |bytes: Option<&[u8]>| String::from_utf8_lossy(bytes.unwrap_or(b"-")).into_owned();
            let header = |name: &str| {
                let found = record.headers().map(Result::unwrap).find(|header| header.key_str() == name).unwrap();
                text(found.value)
            };
            let (offset, count) = (header("__dlq.errors.offset"), header("__dlq.errors.delivery.count"));
            letters.push(format!("{offset}x{count} {}", text(record.value)));
        }
    }
    letters
}

/// Four records, of which the group rejects the middle two.
fn reject_two(rig: &mut Rig) {
    rig.produce(0, 4);
    let mut member = Member::new(rig, "m1", 1, &[0]);
    member.fetch(rig, 100);
    assert!(member.ack(rig, 1, 2, REJECT).is_none());
}

// Mutation: testkit/src/core/configs/topic.rs
// - text(values, broker, TAKES_DEAD_LETTERS).eq_ignore_ascii_case("true")
// + !text(values, broker, TAKES_DEAD_LETTERS).is_empty()
#[test]
fn only_a_topic_that_takes_letters_under_a_name_with_the_prefix_gets_them() {
    for (level, configs, queue, takes, expected) in [
        (2, &[][..], QUEUE, true, &["1x1 -", "2x1 -"][..]),
        (1, &[], QUEUE, true, &[]),
        (2, &[], QUEUE, false, &[]),
        (2, &[("errors.deadletterqueue.topic.name.prefix", "dead.")], QUEUE, true, &[]),
        (2, &[], ("share.heartbeat.interval.ms", "5000"), true, &[]),
    ] {
        let mut rig = Rig::with(configs, &[queue]);
        rig.cluster.share_version = level;
        create_queue(&mut rig, if takes { &[TAKES] } else { &[] });
        reject_two(&mut rig);
        assert_eq!(letters(&rig), expected, "share.version {level}, {configs:?}, {queue:?}, takes letters: {takes}");
        assert_eq!(rig.lag(0), Some(2), "they are archived all the same");
        assert!(rig.cluster.share_partitions.take_given_up("billing").is_empty(), "nothing piles up");
    }
}

#[test]
fn the_queue_is_created_where_that_is_wanted() {
    let mut rig = Rig::with(&[], &[QUEUE]);
    reject_two(&mut rig);
    assert!(rig.cluster.topics.by_name(QUEUE.1).is_none());
    let mut rig = Rig::with(&[("errors.deadletterqueue.auto.create.topics.enable", "true")], &[QUEUE]);
    reject_two(&mut rig);
    assert_eq!(letters(&rig), ["1x1 -", "2x1 -"]);
}

// Mutation: testkit/src/core/share/dead_letters.rs
// - RecordEvent::Failed { archived: true, .. } => Some("Offset delivery count exceeded the threshold."),
// + RecordEvent::Failed { archived: true, .. } => None,
#[test]
fn what_was_delivered_too_often_is_copied_there_however_its_last_attempt_ended() {
    let mut rig = Rig::with(&[], &[QUEUE, COPIES, ("share.delivery.count.limit", "2")]);
    create_queue(&mut rig, &[TAKES]);
    rig.produce(0, 2);
    let mut member = Member::new(&rig, "m1", 1, &[0]);
    member.fetch(&mut rig, 100);
    member.close(&mut rig);
    assert_eq!(letters(&rig), [""; 0]);
    // The second attempt ends with the lock of one, and with the session of the other.
    let mut member = Member::new(&rig, "m2", 2, &[0]);
    member.fetch(&mut rig, 100);
    assert!(member.ack(&mut rig, 1, 1, 4).is_none(), "renewed");
    rig.advance(Duration::from_secs(15));
    assert!(member.ack(&mut rig, 1, 1, 4).is_none(), "renewed");
    rig.advance(Duration::from_secs(15));
    while rig.cluster.poll(rig.now).is_some() {}
    assert_eq!(letters(&rig), ["0x2 value 0"]);
    rig.disconnect(2);
    assert_eq!(letters(&rig), ["0x2 value 0", "1x2 value 1"]);
    assert_eq!(rig.lag(0), Some(0));
}

// Mutation: testkit/src/core/share/dead_letters.rs
// - return self.write(at, (None, None));
// + return;
#[test]
fn a_letter_too_large_for_the_queue_loses_its_content_and_the_others_are_written() {
    let mut rig = Rig::with(&[], &[QUEUE, COPIES]);
    create_queue(&mut rig, &[TAKES, ("max.message.bytes", "2000")]);
    let mut source = BatchBuilder::new(BatchOptions { max_size: usize::MAX, ..BatchOptions::default() });
    for value in ["before", &"x".repeat(5000), "behind"] {
        source.try_append(STARTED_MS, None, Some(value.as_bytes()), []).unwrap();
    }
    rig.cluster.produce(rig.now, TOPIC, 0, &source.build().unwrap()).unwrap();
    rig.produce(0, 1);
    let mut member = Member::new(&rig, "m1", 1, &[0]);
    member.fetch(&mut rig, 100);
    assert!(member.ack(&mut rig, 0, 3, REJECT).is_none());
    assert_eq!(letters(&rig), ["0x1 before", "1x1 -", "2x1 behind", "3x1 value 0"]);
}

#[test]
fn a_queue_that_takes_no_letter_at_all_keeps_nobody_from_going_on() {
    let mut rig = Rig::with(&[], &[QUEUE, COPIES]);
    create_queue(&mut rig, &[TAKES, ("max.message.bytes", "100")]);
    reject_two(&mut rig);
    assert_eq!(letters(&rig), [""; 0]);
    assert_eq!(rig.lag(0), Some(2));
}
