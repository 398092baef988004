//! Dead letter queues (KIP-1191).

use std::collections::BTreeSet;

use ackflow_protocol::records::{BatchBuilder, BatchOptions};
use ackflow_protocol::wire::ErrorCode;

use crate::broker::case::cases;
use crate::broker::lab::{ACCEPT, GAP, Lab, Outcome, REJECT, RELEASE, Stage, Stop, Stored, Topic, now_ms, set};

cases! {
    Dlq;
    a_rejected_record_is_in_the_queue:
        "A record that a group with a dead letter queue rejects is written to that topic.",
        "KIP-1191";
    a_record_that_failed_too_often_is_in_the_queue:
        "A record that is given up at share.delivery.count.limit is written to the group's dead letter queue.",
        "KIP-1191";
    a_letter_says_where_its_record_is:
        "The headers of a letter name topic, partition and offset of the record, the group, and the delivery count.",
        "KIP-1191, headers __dlq.errors.*";
    a_letter_of_a_record_that_failed_too_often_has_its_count:
        "The header __dlq.errors.delivery.count of a record that was given up at the limit is the limit.",
        "KIP-1191, headers __dlq.errors.*";
    a_letter_has_no_copy_of_its_record_by_default:
        "Where the group has not set errors.deadletterqueue.copy.record.enable, letters have neither key nor value.",
        "KIP-1191, errors.deadletterqueue.copy.record.enable (default: false)";
    a_letter_has_a_copy_of_its_record_where_that_is_wanted:
        "Where errors.deadletterqueue.copy.record.enable of the group is true, letters have key and value of their records.",
        "KIP-1191, errors.deadletterqueue.copy.record.enable";
    what_is_accepted_released_or_a_gap_gets_no_letter:
        "Records that are accepted or released, and offsets that are acknowledged as gaps, are not written to the dead letter queue.",
        "KIP-1191",
        note "Of gaps the KIP says nothing: there is no record to write.";
    each_record_gets_one_letter:
        "A range that is rejected makes one letter a record, each once.",
        "KIP-1191";
    letters_of_all_partitions_are_in_the_queue:
        "A dead letter queue with fewer partitions than the topic takes the letters of all of them.",
        "KIP-1191",
        note "Kafka writes those of partition p to partition p modulo the queue's number of partitions; that is not judged.";
    a_topic_that_takes_no_letters_gets_none:
        "A topic that has not set errors.deadletterqueue.group.enable gets no letters; what is rejected does not come again all the same.",
        "KIP-1191, errors.deadletterqueue.group.enable (default: false)";
    a_topic_without_the_prefix_gets_no_letters:
        "A topic whose name does not begin with the broker's errors.deadletterqueue.topic.name.prefix gets no letters.",
        "KIP-1191, errors.deadletterqueue.topic.name.prefix";
    a_rejected_record_does_not_come_again_where_the_queue_is_missing:
        "Where the topic of the dead letter queue does not exist, what is rejected does not come again all the same.",
        "KIP-1191",
        note "Kafka 4.4.0 tries to write for a while and gives up then; the record is archived in any case.";
    nothing_is_left_to_do_behind_a_letter:
        "A record that is in the dead letter queue is not left to do for the group.",
        "KIP-1191; KIP-1226, Lag";
    a_queue_of_an_internal_name_is_refused:
        "An errors.deadletterqueue.topic.name that begins with two underscores is refused with INVALID_CONFIG.",
        "KIP-1191, errors.deadletterqueue.topic.name";
}

const QUEUE: &str = "errors.deadletterqueue.topic.name";
const COPIES: (&str, &str) = ("errors.deadletterqueue.copy.record.enable", "true");
const TAKES: (&str, &str) = ("errors.deadletterqueue.group.enable", "true");

/// The prefix that names of queues have on this broker.
fn prefix(lab: &Lab) -> &str {
    lab.target.settings.get("errors.deadletterqueue.topic.name.prefix").map_or("dlq.", String::as_str)
}

/// A queue that takes letters.
async fn queue(lab: &Lab) -> Outcome<Topic> {
    lab.needs_feature("share.version", 2)?;
    lab.topic_named(&format!("{}{}", prefix(lab), lab.unique("queue")), 1, &[TAKES]).await
}

/// A stage whose member holds the first records, and the queue of its group.
async fn stage_with_queue(lab: &Lab, count: i64, configs: &[(&str, &str)]) -> Outcome<(Stage, Topic)> {
    let queue = queue(lab).await?;
    let mut all = vec![(QUEUE, queue.name.as_str())];
    all.extend(configs);
    let stage = lab.stage_holding(count, &all).await?;
    Ok((stage, queue))
}

/// Rejects offsets of the only partition.
async fn reject(lab: &Lab, stage: &mut Stage, first: i64, last: i64) -> Outcome {
    let code = stage.session.acknowledge(&stage.topic, 0, &[(first, last, &[REJECT])]).await?;
    lab.granted("rejecting", code, None)
}

/// The letters of the queue, once there are so many.
async fn letters(lab: &Lab, queue: &Topic, count: usize) -> Outcome<Vec<Stored>> {
    lab.eventually(&format!("{count} letters in the queue"), async || {
        let letters = lab.stored(queue, 0).await?;
        Ok((letters.len() >= count).then_some(letters))
    })
    .await
}

/// The offsets that letters are about, in their order.
fn about(letters: &[Stored]) -> Vec<&str> {
    letters.iter().map(|letter| letter.header("__dlq.errors.offset").unwrap_or("no offset")).collect()
}

async fn a_rejected_record_is_in_the_queue(lab: &Lab) -> Outcome {
    let (mut stage, queue) = stage_with_queue(lab, 3, &[]).await?;
    reject(lab, &mut stage, 1, 1).await?;
    let letters = letters(lab, &queue, 1).await?;
    lab.check("the offsets of the letters", about(&letters), vec!["1"])
}

async fn a_record_that_failed_too_often_is_in_the_queue(lab: &Lab) -> Outcome {
    let (mut stage, queue) = stage_with_queue(lab, 3, &[("share.delivery.count.limit", "2")]).await?;
    fail_twice(lab, &mut stage).await?;
    let letters = letters(lab, &queue, 1).await?;
    lab.check("the offsets of the letters", about(&letters), vec!["1"])
}

/// Releases offset 1 at its second and last attempt.
async fn fail_twice(lab: &Lab, stage: &mut Stage) -> Outcome {
    for attempt in 1..=2 {
        let code = stage.session.acknowledge(&stage.topic, 0, &[(1, 1, &[RELEASE])]).await?;
        lab.granted("releasing", code, None)?;
        if attempt == 1 {
            stage.session.acquire(1).await?;
        }
    }
    Ok(())
}

async fn a_letter_says_where_its_record_is(lab: &Lab) -> Outcome {
    let (mut stage, queue) = stage_with_queue(lab, 3, &[]).await?;
    reject(lab, &mut stage, 2, 2).await?;
    let letters = letters(lab, &queue, 1).await?;
    let names = ["topic", "partition", "offset", "group", "delivery.count"];
    let wanted = [stage.topic.name.as_str(), "0", "2", &stage.group, "1"];
    for (name, wanted) in names.into_iter().zip(wanted) {
        let name = format!("__dlq.errors.{name}");
        lab.check(&format!("the header {name}"), letters[0].header(&name), Some(wanted))?;
    }
    Ok(())
}

async fn a_letter_of_a_record_that_failed_too_often_has_its_count(lab: &Lab) -> Outcome {
    let (mut stage, queue) = stage_with_queue(lab, 3, &[("share.delivery.count.limit", "2")]).await?;
    fail_twice(lab, &mut stage).await?;
    let letters = letters(lab, &queue, 1).await?;
    let name = "__dlq.errors.delivery.count";
    lab.check(&format!("the header {name}"), letters[0].header(name), Some("2"))
}

async fn a_letter_has_no_copy_of_its_record_by_default(lab: &Lab) -> Outcome {
    let (mut stage, queue) = stage_with_queue(lab, 3, &[]).await?;
    reject(lab, &mut stage, 0, 0).await?;
    let letters = letters(lab, &queue, 1).await?;
    lab.check("key and value of the letter", (&letters[0].key, &letters[0].value), (&None, &None))
}

async fn a_letter_has_a_copy_of_its_record_where_that_is_wanted(lab: &Lab) -> Outcome {
    let queue = queue(lab).await?;
    let mut stage = lab.stage(1, &[(QUEUE, &queue.name), COPIES]).await?;
    let mut builder = BatchBuilder::new(BatchOptions::default());
    let appended = builder.try_append(now_ms(), Some(b"the key"), Some(b"the value"), []);
    let built = appended.and_then(|_| builder.build());
    let batch = built.map_err(|error| Stop::failed("a batch can be built", error.to_string()))?;
    lab.produce_batch(&stage.topic, 0, batch).await?;
    stage.session.acquire(1).await?;
    reject(lab, &mut stage, 0, 0).await?;
    let letters = letters(lab, &queue, 1).await?;
    let content = (letters[0].key.as_deref(), letters[0].value.as_deref());
    lab.check("key and value of the letter", content, (Some("the key"), Some("the value")))
}

async fn what_is_accepted_released_or_a_gap_gets_no_letter(lab: &Lab) -> Outcome {
    let (mut stage, queue) = stage_with_queue(lab, 5, &[]).await?;
    let code = stage.session.acknowledge(&stage.topic, 0, &[(0, 2, &[ACCEPT, RELEASE, GAP])]).await?;
    lab.granted("ShareAcknowledge", code, None)?;
    // Its letter comes behind those that there must not be.
    reject(lab, &mut stage, 4, 4).await?;
    let letters = letters(lab, &queue, 1).await?;
    lab.check("the offsets of the letters, 4 being rejected", about(&letters), vec!["4"])
}

async fn each_record_gets_one_letter(lab: &Lab) -> Outcome {
    let (mut stage, queue) = stage_with_queue(lab, 6, &[]).await?;
    reject(lab, &mut stage, 1, 4).await?;
    let first = letters(lab, &queue, 4).await?;
    reject(lab, &mut stage, 5, 5).await?;
    let all = letters(lab, &queue, first.len() + 1).await?;
    let mut told = about(&all);
    told.sort_unstable();
    lab.check("the offsets of the letters", told, vec!["1", "2", "3", "4", "5"])
}

async fn letters_of_all_partitions_are_in_the_queue(lab: &Lab) -> Outcome {
    let queue = queue(lab).await?;
    let mut stage = lab.stage(2, &[(QUEUE, &queue.name)]).await?;
    for partition in 0..2 {
        lab.produce(&stage.topic, partition, 1).await?;
    }
    stage.session.acquire(2).await?;
    for partition in 0..2 {
        let code = stage.session.acknowledge(&stage.topic, partition, &[(0, 0, &[REJECT])]).await?;
        lab.granted("rejecting", code, None)?;
    }
    let letters = letters(lab, &queue, 2).await?;
    let partitions: BTreeSet<_> = letters.iter().map(|letter| letter.header("__dlq.errors.partition")).collect();
    lab.check("the partitions of the letters", partitions, BTreeSet::from([Some("0"), Some("1")]))
}

/// That a topic gets no letter of a group whose queue it is, and that what is rejected does not come again; the letter of a group with a queue that
/// takes letters tells when the broker has written what it writes.
async fn gets_none(lab: &Lab, topic: &Topic) -> Outcome {
    let mut stage = lab.stage_holding(2, &[(QUEUE, &topic.name)]).await?;
    let code = stage.session.acknowledge(&stage.topic, 0, &[(0, 0, &[REJECT])]).await?;
    lab.check("the error of rejecting", code, ErrorCode::NONE)?;
    stage.session.close().await?;
    let got = lab.session_again(&stage).await?.acquire_through(1).await?;
    lab.check_acquired("what the next session acquires", &got, "0[1-1x2]")?;
    let (mut other, queue) = stage_with_queue(lab, 1, &[]).await?;
    reject(lab, &mut other, 0, 0).await?;
    letters(lab, &queue, 1).await?;
    lab.check("letters in the topic", lab.stored(topic, 0).await?, Vec::new())
}

async fn a_topic_that_takes_no_letters_gets_none(lab: &Lab) -> Outcome {
    lab.needs_feature("share.version", 2)?;
    let name = format!("{}{}", prefix(lab), lab.unique("topic"));
    gets_none(lab, &lab.topic_named(&name, 1, &[]).await?).await
}

async fn a_topic_without_the_prefix_gets_no_letters(lab: &Lab) -> Outcome {
    lab.needs_feature("share.version", 2)?;
    if prefix(lab).is_empty() {
        return Err(Stop::NotOffered("errors.deadletterqueue.topic.name.prefix is empty".to_owned()));
    }
    gets_none(lab, &lab.topic_with(1, &[TAKES]).await?).await
}

async fn a_rejected_record_does_not_come_again_where_the_queue_is_missing(lab: &Lab) -> Outcome {
    lab.needs_feature("share.version", 2)?;
    let missing = format!("{}{}", prefix(lab), lab.unique("missing"));
    // It may be made by the broker.
    lab.made_topic(&missing);
    let mut stage = lab.stage_holding(2, &[(QUEUE, &missing)]).await?;
    let code = stage.session.acknowledge(&stage.topic, 0, &[(0, 0, &[REJECT])]).await?;
    lab.check("the error of rejecting", code, ErrorCode::NONE)?;
    stage.session.close().await?;
    let got = lab.session_again(&stage).await?.acquire_through(1).await?;
    lab.check_acquired("what the next session acquires", &got, "0[1-1x2]")
}

async fn nothing_is_left_to_do_behind_a_letter(lab: &Lab) -> Outcome {
    let (mut stage, queue) = stage_with_queue(lab, 3, &[]).await?;
    reject(lab, &mut stage, 0, 2).await?;
    letters(lab, &queue, 3).await?;
    lab.check_lag("the lag once all three have a letter", &stage.group, &stage.topic, 0).await
}

async fn a_queue_of_an_internal_name_is_refused(lab: &Lab) -> Outcome {
    lab.needs_feature("share.version", 2)?;
    let group = lab.group_at_latest();
    let mut link = lab.link().await?;
    let answer = set(&mut link, &group, &[(QUEUE, "__queue")]).await?;
    let codes = answer.responses.iter().map(|done| done.error_code);
    lab.check(&format!("the error of {QUEUE}=__queue"), codes.collect(), vec![ErrorCode::INVALID_CONFIG])
}
