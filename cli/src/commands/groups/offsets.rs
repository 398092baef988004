//! `ackflow groups offsets`: resets offsets, as `--reset-offsets` of kafka-share-groups.sh and kafka-consumer-groups.sh.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use ackflow_client::Admin;
use ackflow_client::admin::{IsolationLevel, OffsetSpec, TopicPartition};
use ackflow_client::config::read_text;
use anyhow::{Context, anyhow, bail};

use super::csv;
use super::kind::Kind;
use super::named::{One, not_there};
use super::state;
use crate::common::Common;
use crate::numbers::within;
use crate::report::Report;
use crate::scope::{self, TopicScope, topic_scope};
use crate::table::{Column, Table, column, json_only};
use crate::times::{before_now, datetime, duration};

const COLUMNS: &[Column] = &[
    column("GROUP", "group"),
    json_only("type"),
    column("TOPIC", "topic"),
    column("PARTITION", "partition"),
    column("CURRENT-OFFSET", "currentOffset"),
    column("NEW-OFFSET", "newOffset"),
];

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Nothing is changed without --execute. A group with members is refused: its members would not notice. What lies before the start of a \
    partition becomes its start, what lies behind its end its end; so does a time after the last record.\n\
    With --json: offsets is a list of objects, executed says whether they were set.\n\n\
    Examples:\n  \
    ackflow groups offsets orders --all-topics --to-earliest --bootstrap-server localhost:9092\n  \
    ackflow groups offsets orders --topic orders:0,1 --to-datetime 2026-11-30T12:00:00.000 --execute --bootstrap-server localhost:9092\n  \
    ackflow groups offsets orders --all-topics --to-current --export --bootstrap-server localhost:9092 > offsets.csv\n  \
    ackflow groups offsets orders --from-file offsets.csv --execute --bootstrap-server localhost:9092\n  \
    ackflow groups offsets new-group --type share --topic orders --to-offset 1000 --execute --bootstrap-server localhost:9092"
)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(super) common: Common,

    #[command(flatten)]
    group: One,

    /// Whether a group that does not exist yet, and is created so, is a share group or a consumer group
    #[arg(long = "type", value_name = "TYPE", value_enum, ignore_case = true)]
    kind: Option<Kind>,

    #[command(flatten)]
    scope: Scope,

    #[command(flatten)]
    target: Target,

    /// Print lines of TOPIC,PARTITION,OFFSET instead of a table, such as --from-file reads
    #[arg(long, conflicts_with = "json")]
    export: bool,

    /// Show what would be done, which is what happens without --execute
    #[arg(long, conflicts_with = "execute")]
    dry_run: bool,

    /// Set the offsets
    #[arg(long)]
    execute: bool,
}

#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
struct Scope {
    /// A topic, or partitions of it; may be repeated
    #[arg(long, value_name = "TOPIC[:0,1,..]", value_parser = topic_scope)]
    topic: Vec<TopicScope>,

    /// All partitions of which the group has an offset
    #[arg(long)]
    all_topics: bool,
}

#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
struct Target {
    /// To the first record of each partition
    #[arg(long)]
    to_earliest: bool,

    /// To the end of each partition
    #[arg(long)]
    to_latest: bool,

    /// To where the group is, such as for partitions whose first records are gone
    #[arg(long)]
    to_current: bool,

    /// To the first record of this time or a later one: YYYY-MM-DDThh:mm:ss.sss, UTC unless a zone follows
    #[arg(long, value_name = "TIME", value_parser = datetime, allow_negative_numbers = true)]
    to_datetime: Option<i64>,

    /// To the first record that is no older than this: PnDTnHnMnS
    #[arg(long, value_name = "DURATION", value_parser = duration, allow_hyphen_values = true)]
    by_duration: Option<Duration>,

    /// To this offset
    #[arg(long, value_name = "OFFSET", value_parser = within(0..=i64::MAX), allow_negative_numbers = true)]
    to_offset: Option<i64>,

    /// So many records forward, or back if negative; of consumer groups alone
    #[arg(long, value_name = "RECORDS", value_parser = within(i64::MIN..=i64::MAX), allow_negative_numbers = true)]
    shift_by: Option<i64>,

    /// To what a file says for each partition, in lines of TOPIC,PARTITION,OFFSET such as --export prints
    // It says which partitions are meant, too.
    #[arg(long, value_name = "FILE", group = "Scope")]
    from_file: Option<PathBuf>,
}

pub(crate) async fn run(args: Args) -> anyhow::Result<ExitCode> {
    let (admin, mut report) = args.common.open()?;
    let group = args.group.id();
    let kind = kind(&admin, group, args.kind).await?;
    if kind == Kind::Share && args.target.shift_by.is_some() {
        bail!(
            "--shift-by: group {group} is a share group, which settles records one by one and has no position to move; \
             use --to-offset, --to-datetime or --by-duration"
        );
    }
    refuse_members(&admin, group, kind).await?;
    let current = current(&admin, group, kind).await?;
    let from_file = args.target.from_file.as_deref().map(|path| read(path, group)).transpose()?.unwrap_or_default();
    let scopes = args.scope.topic.into_iter().chain(from_file.keys().map(TopicScope::of)).collect::<Vec<_>>();
    let partitions = match args.scope.all_topics {
        true => current.keys().cloned().collect(),
        false => scope::partitions(&admin, &scopes, &mut report).await?,
    };
    if partitions.is_empty() && !report.has_failed() {
        bail!("--all-topics: group {group} has no offsets; name topics by --topic");
    }
    let plan = plan(&admin, &args.target, &from_file, &partitions, &current, &mut report).await;
    let planned = !report.has_failed();
    let mut done = plan.clone();
    if args.execute && planned {
        done.clear();
        for (partition, result) in set(&admin, group, kind, &plan).await? {
            if let (Some(()), Some(offset)) = (report.take(result), plan.get(&partition)) {
                done.insert(partition, *offset);
            }
        }
    }
    let mut table = Table::new(COLUMNS);
    for (partition, new) in &done {
        let old = current.get(partition).copied().flatten();
        let topic = partition.topic.to_string();
        table.row([
            group.into(),
            kind.name().into(),
            topic.into(),
            partition.partition.into(),
            old.into(),
            (*new).into(),
        ]);
    }
    match args.export {
        true => report.text(&csv::write(&done)),
        false => report.table("offsets", &table),
    }
    report.fact("executed", args.execute && planned);
    match (args.execute, planned) {
        (_, false) => report.remark("nothing was changed"),
        (false, true) => report.remark("this is a dry run: nothing was changed; --execute sets these offsets"),
        (true, true) => {}
    }
    report.finish()
}

/// The longest file of offsets, in bytes: a million partitions with names of 50 letters.
const LONGEST_FILE: u64 = 64 << 20;

fn read(path: &Path, group: &str) -> anyhow::Result<BTreeMap<TopicPartition, i64>> {
    let text = read_text(path, LONGEST_FILE).with_context(|| format!("cannot read --from-file {}", path.display()))?;
    csv::read(&text, group).map_err(|reason| anyhow!("--from-file {}: {reason}", path.display()))
}

async fn kind(admin: &Admin, group: &str, asked: Option<Kind>) -> anyhow::Result<Kind> {
    match (Kind::find(admin, group).await?, asked) {
        (Some(is), Some(asked)) if is != asked => {
            bail!("--type {}: group {group} is a {} group; leave --type out", asked.name(), is.name())
        }
        (None, None) => bail!("{}; --type share or --type consumer creates it with these offsets", not_there(group)),
        (is, asked) => Ok(is.or(asked).expect("one of them is there, as the arm before says")),
    }
}

/// The broker refuses a group with members too, but in the end alone, and not a dry run.
async fn refuse_members(admin: &Admin, group: &str, kind: Kind) -> anyhow::Result<()> {
    // A group that is to be created cannot be described.
    let Some(Ok(described)) = state::describe(admin, &[(group.to_owned(), kind)]).await.remove(group) else {
        return Ok(());
    };
    let Some(member) = described.members.first() else { return Ok(()) };
    let (count, state) = (described.members.len(), &described.state);
    let (client, host) = (&member.client, &member.host);
    bail!(
        "{} group {group} has members ({count}, the first is client {client} on {host}) and is {state}: its offsets can be set once it is empty; \
         stop its members first",
        kind.name()
    )
}

/// Where the group is now, in the partitions of which it has an offset. A new share group may have partitions without one.
async fn current(admin: &Admin, group: &str, kind: Kind) -> anyhow::Result<BTreeMap<TopicPartition, Option<i64>>> {
    Ok(match kind {
        Kind::Share => {
            let offsets = admin.share_group_offsets(group).await?.into_iter();
            offsets.map(|at| (TopicPartition::new(at.topic, at.partition), at.start_offset)).collect()
        }
        Kind::Consumer => {
            let offsets = admin.list_consumer_group_offsets(group).await?.into_iter();
            offsets.map(|(partition, at)| (partition, Some(at.offset))).collect()
        }
    })
}

/// The new offset of each partition, within what the partition has. One that cannot be found is a failure in the report.
async fn plan(
    admin: &Admin,
    target: &Target,
    from_file: &BTreeMap<TopicPartition, i64>,
    partitions: &BTreeSet<TopicPartition>,
    current: &BTreeMap<TopicPartition, Option<i64>>,
    report: &mut Report,
) -> BTreeMap<TopicPartition, i64> {
    let time = target.to_datetime.or_else(|| target.by_duration.map(before_now)).map(OffsetSpec::Timestamp);
    let mut earliest = found(admin, partitions, OffsetSpec::Earliest, report).await;
    let mut latest = found(admin, partitions, OffsetSpec::Latest, &mut *report).await;
    let mut at_time = match time {
        Some(time) => found(admin, partitions, time, report).await,
        None => BTreeMap::new(),
    };
    let mut plan = BTreeMap::new();
    for partition in partitions {
        let ends = earliest.remove(partition).flatten().zip(latest.remove(partition).flatten());
        let Some((first, end)) = ends else { continue };
        let now = current.get(partition).copied().flatten();
        let wanted = match target {
            Target { to_earliest: true, .. } => first,
            Target { to_latest: true, .. } => end,
            Target { to_offset: Some(offset), .. } => *offset,
            // Where no record is of this time or later, the group waits for the next one.
            Target { to_datetime: Some(_), .. } | Target { by_duration: Some(_), .. } => {
                at_time.remove(partition).flatten().unwrap_or(end)
            }
            Target { from_file: Some(_), .. } => from_file.get(partition).copied().unwrap_or(end),
            Target { to_current: true, .. } => now.unwrap_or(end),
            Target { shift_by, .. } => match now {
                Some(now) => now.saturating_add(shift_by.unwrap_or_default()),
                None => {
                    report.failed(format!(
                        "--shift-by: the group has no offset in {partition} to count from; use --to-offset"
                    ));
                    continue;
                }
            },
        };
        let within = wanted.clamp(first, end);
        if within != wanted {
            report.remark(format!(
                "{partition} has offsets {first} to {end}: {within} is taken, which is the nearest to {wanted}"
            ));
        }
        plan.insert(partition.clone(), within);
    }
    plan
}

async fn found(
    admin: &Admin,
    partitions: &BTreeSet<TopicPartition>,
    what: OffsetSpec,
    report: &mut Report,
) -> BTreeMap<TopicPartition, Option<i64>> {
    let wanted = partitions.iter().map(|partition| (partition.clone(), what));
    let offsets = admin.list_offsets(wanted, IsolationLevel::ReadUncommitted).await;
    offsets.into_iter().filter_map(|(partition, at)| Some((partition, report.take(at)?.offset))).collect()
}

async fn set(
    admin: &Admin,
    group: &str,
    kind: Kind,
    plan: &BTreeMap<TopicPartition, i64>,
) -> anyhow::Result<ackflow_client::admin::Results<TopicPartition, ()>> {
    let plan = plan.iter().map(|(partition, offset)| (partition.clone(), *offset));
    Ok(match kind {
        Kind::Share => admin.alter_share_group_offsets(group, plan).await?,
        Kind::Consumer => admin.alter_consumer_group_offsets(group, plan).await?,
    })
}
