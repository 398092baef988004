//! Sequences of what an application, a network and brokers of any kind do to the machine of a consumer of partitions.

mod answers;
mod calls;
mod world;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use self::world::{Reading, World};
use super::{Input, OPERATIONS, bounded, failure, pause};
use crate::machine::consumer::{
    ConsumerOptions, IsolationLevel, OffsetAndMetadata, OffsetReset, Offsets, Position, SeekTo, TopicPartition,
};

/// Target `consumer`: each byte chooses an operation, and the bytes after it what it does. Brokers answer well, or badly, or
/// with what makes no sense, or with any message at all; the application keeps to the contract of
/// [`ConsumerMachine`](crate::machine::consumer::ConsumerMachine). `start` is any instant; time passes only as the input says.
///
/// # Panics
/// Where the machine never waits, or waits for a time that has passed; sends a second request where one is to be out at a
/// time; hands out records again or leaves some out within one run of a partition, unless a broker has said to go on
/// elsewhere; hands out what the application does not have or gives up; commits what was neither handed out nor said by the
/// application nor where a broker had the partition begin; answers a question more than once, or not at all when the
/// consumer is closed; or does not close when brokers answer well.
pub fn consumer(start: Instant, data: &[u8]) {
    let mut input = Input::new(bounded(data));
    let mut world = World::new(start, options(&mut input), u64::from(input.byte()));
    if !input.once_in(4) {
        subscribe(&mut world, Reading::Topics(vec!["topic".to_owned()]));
    } else {
        assign(&mut world, &mut input);
    }
    world.machine.polled(world.now);
    world.drain();
    for _ in 0..OPERATIONS {
        if input.is_empty() {
            break;
        }
        operate(&mut world, &mut input);
        world.drain();
    }
    world.finish();
}

fn options(input: &mut Input<'_>) -> ConsumerOptions {
    let group = if input.once_in(16) { None } else { Some("group") };
    let mut options = ConsumerOptions::new(group, "member");
    options.offset_reset = input.pick(&[
        OffsetReset::Earliest,
        OffsetReset::Latest,
        OffsetReset::None,
        OffsetReset::ByDuration(Duration::from_secs(5)),
    ]);
    options.isolation = input.pick(&[IsolationLevel::ReadUncommitted, IsolationLevel::ReadCommitted]);
    options.auto_commit = input.pick(&[Some(Duration::from_secs(5)), None, Some(Duration::ZERO)]);
    options.instance_id = input.once_in(8).then(|| "instance".to_owned());
    options.partition_fetch_bytes = input.pick(&[1 << 20, 1, 200]);
    options.fetch_max_bytes = input.pick(&[1 << 20, 1, 300]);
    options.decompression_limit = 1 << 20;
    options
}

fn operate(world: &mut World, input: &mut Input<'_>) {
    match input.below(16) {
        0..=5 => answer(world, input),
        6 => {
            if let Some(sent) = world.take_sent(input) {
                world.machine.handle_response(world.now, sent.id, Err(failure(input)));
            }
        }
        7 => world.machine.polled(world.now),
        8 | 9 => world.take(input),
        10 => confirm(world, input),
        11 => world.ask_commit(None),
        12 => world.sleep(pause(input)),
        13 => seek(world, input),
        14 => ask(world, input),
        _ => do_rare_things(world, input),
    }
}

fn do_rare_things(world: &mut World, input: &mut Input<'_>) {
    match input.below(8) {
        0 => subscribe(world, Reading::Topics(vec!["topic".to_owned(), "other".to_owned()])),
        1 => subscribe(world, Reading::Pattern("t.*".to_owned())),
        2 => assign(world, input),
        3 => {
            let offsets = offsets(input);
            world.unsubscribe(offsets);
        }
        4 => {
            let (offsets, commits) = (offsets(input), !input.once_in(2));
            world.close(offsets, commits);
        }
        5 => {
            let partitions = partitions(input);
            world.machine.pause(world.now, &partitions, !input.once_in(2));
        }
        // A second answer to a request, or one to none.
        6 => {
            if let Some(sent) = world.answered.pop() {
                world.machine.handle_response(world.now, sent.id, answers::response(&sent.request, input));
            }
        }
        _ => subscribe(world, Reading::Topics(vec!["topic".to_owned()])),
    }
}

/// A broker answers one of the requests.
fn answer(world: &mut World, input: &mut Input<'_>) {
    let Some(sent) = world.take_sent(input) else { return };
    let response = match input.once_in(16) {
        true => answers::any(&sent.request, input),
        false => answers::response(&sent.request, input),
    };
    world.respond(sent, response);
}

fn subscribe(world: &mut World, reading: Reading) {
    if !world.has_group() {
        return;
    }
    if world.reading == Reading::Partitions {
        world.unsubscribe(Offsets::new());
    }
    match &reading {
        Reading::Topics(topics) => world.machine.subscribe(world.now, topics.clone()),
        Reading::Pattern(pattern) => world.machine.subscribe_pattern(world.now, pattern.clone()),
        Reading::Nothing | Reading::Partitions => {}
    }
    world.reading = reading;
}

fn assign(world: &mut World, input: &mut Input<'_>) {
    if matches!(world.reading, Reading::Topics(_) | Reading::Pattern(_)) {
        let offsets = offsets(input);
        world.unsubscribe(offsets);
    }
    let partitions = partitions(input);
    world.assign(&partitions);
}

/// The application confirms a step of a rebalance.
fn confirm(world: &mut World, input: &mut Input<'_>) {
    let offsets = offsets(input);
    let seeks = if input.once_in(4) { Some(to(input)) } else { None };
    world.confirm(offsets, seeks);
}

fn seek(world: &mut World, input: &mut Input<'_>) {
    let (name, to) = (name(input), to(input));
    world.seek(&name, to);
}

fn ask(world: &mut World, input: &mut Input<'_>) {
    match input.below(4) {
        0 => world.ask_position(name(input)),
        1 => world.ask_kept(partitions(input)),
        2 => {
            let times = partitions(input).into_iter().map(|name| (name, input.number()));
            let times: BTreeMap<_, _> = times.collect();
            world.ask_times(times);
        }
        _ => {
            let offsets = offsets(input);
            world.ask_commit(Some(offsets));
        }
    }
}

fn to(input: &mut Input<'_>) -> SeekTo {
    match input.below(4) {
        2 => SeekTo::Beginning,
        3 => SeekTo::End,
        with_epoch => {
            let leader_epoch = (with_epoch == 1).then(|| input.below(8) as i32);
            let offset = if input.once_in(16) { i64::MAX } else { i64::from(input.byte()) };
            SeekTo::Position(Position { offset, leader_epoch })
        }
    }
}

fn name(input: &mut Input<'_>) -> TopicPartition {
    let topic: Arc<str> = input.pick(&["topic", "topic", "topic", "topic", "other", "nowhere"]).into();
    TopicPartition::new(topic, input.below(4) as i32)
}

fn partitions(input: &mut Input<'_>) -> Vec<TopicPartition> {
    (0..input.pick(&[1, 2, 4, 0])).map(|_| name(input)).collect()
}

/// Offsets that the application commits, none most of the time.
fn offsets(input: &mut Input<'_>) -> Offsets {
    let count = input.pick(&[0, 0, 0, 1, 2]);
    (0..count).map(|_| (name(input), OffsetAndMetadata::new(input.byte().into()))).collect()
}
