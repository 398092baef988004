//! ConsumerGroupCommand and ShareGroupCommand: groups are listed and described, their offsets set and deleted, and they with them.

use std::process::Stdio;
use std::time::Duration;

use anyhow::{Result, ensure};

use super::consumers::PROTOCOLS;
use super::producers::VERIFIABLE;
use super::sharing::left;
use super::stage::Stage;
use crate::process::Process;
use crate::prove::support::wait;

const GROUPS: &str = "consumer.group.ConsumerGroupCommand";
const SHARE_GROUPS: &str = "consumer.group.ShareGroupCommand";

pub(super) fn consumer_groups(stage: &mut Stage) -> Result<()> {
    sorted(stage, GROUPS, &["--list", "--state"])?;
    for protocol in PROTOCOLS {
        let group = format!("verifiable-{protocol}");
        let of = ["--group", group.as_str()];
        let topic = ["--topic", VERIFIABLE];
        stage.asks(GROUPS, &[&["--describe"], &of[..]].concat())?;
        stage.asks(GROUPS, &[&["--describe", "--state"], &of[..]].concat())?;
        let reset = |stage: &mut Stage, to: &[&str]| {
            stage.asks(GROUPS, &[&["--reset-offsets"], &of[..], &topic, to].concat()).map(drop)
        };
        reset(stage, &["--to-offset", "700", "--execute"])?;
        reset(stage, &["--shift-by", "-50", "--execute"])?;
        reset(stage, &["--to-offset", "1000000", "--execute"])?;
        reset(stage, &["--to-datetime", "2000-01-01T00:00:00.000", "--execute"])?;
        reset(stage, &["--to-latest", "--export", "--dry-run"])?;
        stage.asks(GROUPS, &[&["--describe"], &of[..]].concat())?;

        // A member that lives keeps its offsets.
        let arguments = ["--topic", VERIFIABLE, "--group-id", &group, "--group-protocol", protocol];
        let mut member = stage.command("VerifiableConsumer", &arguments);
        let mut member = Process::start("VerifiableConsumer", member.stdout(Stdio::null()).stderr(Stdio::null()))?;
        until_members(stage, GROUPS, &group, 1)?;
        stage.tells(GROUPS, &[&["--reset-offsets"], &of[..], &topic, &["--to-earliest", "--execute"]].concat())?;
        stage.tells(GROUPS, &[&["--delete-offsets"], &of[..], &topic].concat())?;
        stage.tells(GROUPS, &[&["--delete"], &of[..]].concat())?;
        member.stop()?;
        until_members(stage, GROUPS, &group, 0)?;

        stage.asks(GROUPS, &[&["--delete-offsets"], &of[..], &topic].concat())?;
        stage.asks(GROUPS, &[&["--delete"], &of[..]].concat())?;
        stage.tells(GROUPS, &[&["--delete"], &of[..]].concat())?;
        stage.tells(GROUPS, &[&["--describe"], &of[..]].concat())?;
    }
    sorted(stage, GROUPS, &["--list"])
}

pub(super) fn share_groups(stage: &mut Stage) -> Result<()> {
    sorted(stage, SHARE_GROUPS, &["--list", "--state"])?;
    let group = "verifiable-sync";
    let of = ["--group", group];
    let topic = ["--topic", VERIFIABLE];
    stage.asks(SHARE_GROUPS, &[&["--describe", "--state"], &of[..]].concat())?;
    let reset = |stage: &mut Stage, to: &[&str]| {
        stage.asks(SHARE_GROUPS, &[&["--reset-offsets"], &of[..], &topic, to].concat()).map(drop)
    };
    reset(stage, &["--to-earliest", "--dry-run"])?;
    left(stage, group, 0)?;
    reset(stage, &["--to-earliest", "--execute"])?;
    left(stage, group, 2000)?;
    stage.asks(SHARE_GROUPS, &[&["--describe", "--offsets", "--verbose"], &of[..]].concat())?;
    reset(stage, &["--to-latest", "--execute"])?;
    left(stage, group, 0)?;
    reset(stage, &["--to-earliest", "--execute"])?;

    // Where offsets were set is where a member goes on.
    let arguments = ["--topic", VERIFIABLE, "--group", group, "--max-messages", "2000", "--timeout-ms", "60000"];
    let printed = stage.counts("consumer.ConsoleShareConsumer", &arguments)?;
    let read = printed.lines().filter(|line| line.starts_with("7.")).count() as u64;
    stage.is("records read again", read, 2000)?;
    left(stage, group, 0)?;

    let arguments = ["--topic", VERIFIABLE, "--group-id", group];
    let mut member = stage.command("VerifiableShareConsumer", &arguments);
    let mut member = Process::start("VerifiableShareConsumer", member.stdout(Stdio::null()).stderr(Stdio::null()))?;
    until_members(stage, SHARE_GROUPS, group, 1)?;
    stage.asks(SHARE_GROUPS, &[&["--describe", "--state"], &of[..]].concat())?;
    stage.tells(SHARE_GROUPS, &[&["--reset-offsets"], &of[..], &topic, &["--to-earliest", "--execute"]].concat())?;
    stage.tells(SHARE_GROUPS, &[&["--delete-offsets"], &of[..], &topic].concat())?;
    stage.tells(SHARE_GROUPS, &[&["--delete"], &of[..]].concat())?;
    member.stop()?;
    until_members(stage, SHARE_GROUPS, group, 0)?;

    stage.tells(SHARE_GROUPS, &[&["--delete-offsets"], &of[..], &["--topic", "topics"]].concat())?;
    stage.asks(SHARE_GROUPS, &[&["--delete-offsets"], &of[..], &topic].concat())?;
    stage.tells(SHARE_GROUPS, &[&["--describe"], &of[..]].concat())?;
    stage.tells(SHARE_GROUPS, &[&["--delete-offsets"], &of[..], &topic].concat())?;
    stage.tells(SHARE_GROUPS, &[&["--delete"], &of[..]].concat())?;
    stage.tells(SHARE_GROUPS, &[&["--delete"], &of[..]].concat())?;
    stage.tells(SHARE_GROUPS, &[&["--describe"], &of[..]].concat())?;
    sorted(stage, SHARE_GROUPS, &["--list"])?;
    sorted(stage, "GroupsCommand", &["--list"])
}

/// A list whose order is that of a hash.
fn sorted(stage: &mut Stage, class: &str, arguments: &[&str]) -> Result<()> {
    let printed = stage.quietly(class, arguments)?;
    stage.say(format!("$ {class} {}", arguments.join(" ")));
    let mut lines: Vec<String> =
        printed.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    ensure!(!lines.is_empty(), "{class} lists nothing");
    lines.sort();
    lines.into_iter().for_each(|line| stage.say(line));
    Ok(())
}

fn until_members(stage: &mut Stage, class: &str, group: &str, count: usize) -> Result<()> {
    wait::until(&format!("{group} has {count} members"), Duration::from_secs(60), || {
        let printed = stage.quietly(class, &["--describe", "--group", group, "--members"])?;
        let members = printed.lines().filter(|line| line.split_whitespace().next() == Some(group));
        // What is assigned comes last.
        Ok(members.filter(|line| !line.trim_end().ends_with(" 0")).count() == count)
    })
}
