//! Rules that are broken one at a time in the embedded broker: the case that guards each of them fails, and no case of an unrelated group.

use std::collections::BTreeSet;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::suite::Run;
use crate::mutate::{Mutation, Tree};
use crate::prove::Proof;
use crate::prove::support::ackflow::Ackflow;
use crate::prove::support::embedded::Embedded;
use crate::prove::verdict::Verdict;

pub(super) const PROOF: Proof = Proof {
    name: "conformance-bites",
    shows: "each of 20 rules that are broken in the embedded broker makes the case that guards it fail, and no case of an unrelated group",
    run,
};

/// A rule, broken.
struct Broken {
    /// The case that guards it.
    case: &'static str,
    /// Further groups whose cases rest on the rule.
    related: &'static [&'static str],
    file: &'static str,
    /// What stands there once, in one line.
    line: &'static str,
    /// What takes its place.
    instead: &'static str,
}

/// Fewer prove little.
const RULES: usize = 20;

const BROKEN: &[Broken] = &[
    Broken {
        case: "a-start-offset-that-was-set-is-told",
        related: &["lag"],
        file: "testkit/src/core/handlers/alter_share_group_offsets.rs",
        line: "cluster.share_partitions.set_start(group, partition, asked.start_offset);",
        instead: "cluster.share_partitions.set_start(group, partition, 0 * asked.start_offset);",
    },
    Broken {
        case: "a-group-with-members-is-not-deleted",
        related: &[],
        file: "testkit/src/core/handlers/delete_groups.rs",
        line: "if !is_empty {",
        instead: "if !is_empty && group.is_empty() {",
    },
    Broken {
        case: "share-groups-are-listed-by-their-state",
        related: &[],
        file: "testkit/src/core/handlers/list_groups.rs",
        line: "wanted(&request.states_filter, state) &&",
        instead: "(wanted(&request.states_filter, state) || true) &&",
    },
    Broken {
        case: "a-setting-that-is-taken-back-has-its-default-again",
        related: &[],
        file: "testkit/src/core/handlers/incremental_alter_configs.rs",
        line: "values.remove(&config.name);",
        instead: "values.get(&config.name);",
    },
    Broken {
        case: "an-unknown-version-of-api-versions-is-answered-in-version-0",
        related: &[],
        file: "testkit/src/core/handlers/api_versions.rs",
        line: "match encode_response(&response, 0, cx.correlation_id) {",
        instead: "match encode_response(&response, 3, cx.correlation_id) {",
    },
    Broken {
        case: "a-first-heartbeat-names-topics",
        related: &[],
        file: "testkit/src/core/handlers/share_group_heartbeat.rs",
        line: ".is_none_or(Vec::is_empty)",
        instead: ".is_none()",
    },
    Broken {
        case: "the-epoch-before-is-taken",
        related: &[],
        file: "testkit/src/core/share/group/mod.rs",
        line: "received == member.epoch || received == member.previous_epoch {",
        instead: "received == member.epoch {",
    },
    Broken {
        case: "a-topic-that-is-deleted-is-assigned-no-more",
        related: &[],
        file: "testkit/src/core/share/group/mod.rs",
        line: "retain(|partition| topics.log(*partition).is_ok());",
        instead: "retain(|_| true);",
    },
    Broken {
        case: "an-epoch-that-is-not-the-next-is-refused",
        related: &[],
        file: "testkit/src/core/share/session.rs",
        line: "if session.epoch != epoch {",
        instead: "if session.epoch > epoch {",
    },
    Broken {
        case: "a-forgotten-partition-is-fetched-no-more",
        related: &[],
        file: "testkit/src/core/share/session.rs",
        line: "session.partitions.remove(&partition);",
        instead: "session.partitions.contains(&partition);",
    },
    Broken {
        case: "a-share-acknowledge-opens-no-session",
        related: &[],
        file: "testkit/src/core/handlers/share_acknowledge.rs",
        line: "INITIAL_EPOCH => return Err(ErrorCode::INVALID_SHARE_SESSION_EPOCH),",
        instead: "INITIAL_EPOCH => return Err(ErrorCode::SHARE_SESSION_NOT_FOUND),",
    },
    Broken {
        case: "an-answer-without-records-has-empty-records-not-null",
        related: &[],
        file: "testkit/src/core/handlers/share_fetch.rs",
        line: "records: Some(Bytes::new()),",
        instead: "records: None,",
    },
    Broken {
        case: "a-group-starts-at-the-end-by-default",
        related: &[],
        file: "testkit/src/core/share/fetch.rs",
        line: "OffsetReset::Latest => log.end_offset(),",
        instead: "OffsetReset::Latest => log.start_offset(),",
    },
    Broken {
        case: "records-of-another-member-are-not-acknowledged",
        related: &["renewal"],
        file: "testkit/src/core/share/partition/acknowledge.rs",
        line: "RecordState::Acquired { member: holder, .. } if &**holder == member => {}",
        instead: "RecordState::Acquired { member: holder, .. } if &**holder == member || !holder.is_empty() => {}",
    },
    Broken {
        case: "as-many-types-as-offsets-or-one",
        related: &[],
        file: "testkit/src/core/handlers/acknowledgements.rs",
        line: "&& (range.types.len() == 1 || i64::try_from(range.types.len()).ok() == offsets)",
        instead: "&& (range.types.len() == 1 || i64::try_from(range.types.len()).ok() >= offsets)",
    },
    Broken {
        case: "a-renewed-record-stays-with-its-member",
        related: &[],
        file: "testkit/src/core/share/partition/acknowledge.rs",
        line: "*deadline = now + limits.lock_duration;",
        instead: "*deadline = now.max(*deadline);",
    },
    Broken {
        case: "a-group-can-forbid-renewals",
        related: &[],
        file: "testkit/src/core/share/partition/acknowledge.rs",
        line: "if kind == RENEW && !limits.renew_enabled {",
        instead: "if kind > RENEW && !limits.renew_enabled {",
    },
    Broken {
        case: "record-limit-is-kept-within-a-batch",
        related: &[],
        file: "testkit/src/core/share/partition/acquire.rs",
        line: "if pass.request.mode == AcquireMode::RecordLimit && range.len() > pass.room {",
        instead: "if pass.request.mode == AcquireMode::BatchOptimized && range.len() > pass.room {",
    },
    Broken {
        case: "a-last-attempt-is-delivered-alone",
        related: &[],
        file: "testkit/src/core/share/partition/acquire.rs",
        line: "let last_attempt = limit > 2 && run.delivery_count == limit - 1;",
        instead: "let last_attempt = limit > 2 && run.delivery_count == limit;",
    },
    Broken {
        case: "records-of-an-open-transaction-are-hidden-from-read-committed",
        related: &[],
        file: "testkit/src/core/share/fetch.rs",
        line: "let readable = log.readable_end(isolation);",
        instead: "let readable = log.readable_end(Isolation::Uncommitted);",
    },
    Broken {
        case: "a-letter-has-no-copy-of-its-record-by-default",
        related: &[],
        file: "testkit/src/core/share/dead_letters.rs",
        line: "self.write(record.offset, if copies { (record.key, record.value) } else { (None, None) });",
        instead: "self.write(record.offset, if copies || !copies { (record.key, record.value) } else { (None, None) });",
    },
    Broken {
        case: "a-lag-that-nobody-knows-is-minus-one",
        related: &[],
        file: "testkit/src/core/handlers/describe_share_group_offsets.rs",
        line: "lag: lag.unwrap_or(UNKNOWN),",
        instead: "lag: lag.unwrap_or_default(),",
    },
    Broken {
        case: "each-of-the-last-five-batches-is-known-again",
        related: &[],
        file: "testkit/src/core/log/producers.rs",
        line: "const REMEMBERED: usize = 5;",
        instead: "const REMEMBERED: usize = 4;",
    },
    Broken {
        case: "nothing-is-not-committed",
        related: &[],
        file: "testkit/src/core/transactions/end.rs",
        line: "State::Empty if !commit => Ok(Decision::Prepare),",
        instead: "State::Empty => Ok(Decision::Prepare),",
    },
    Broken {
        case: "a-partition-that-is-not-there-keeps-all-others-from-being-added",
        related: &[],
        file: "testkit/src/core/handlers/add_partitions_to_txn.rs",
        line: "Some(_) => ErrorCode::OPERATION_NOT_ATTEMPTED,",
        instead: "Some(_) => ErrorCode::NONE,",
    },
    Broken {
        case: "a-time-out-outside-its-bounds-is-refused",
        related: &[],
        file: "testkit/src/core/handlers/init_producer_id.rs",
        line: "if !(1..=longest).contains(&request.transaction_timeout_ms) {",
        instead: "if !(1..).contains(&request.transaction_timeout_ms) && longest > 0 {",
    },
    Broken {
        case: "an-unknown-type-of-acknowledgement-is-refused",
        related: &[],
        file: "testkit/src/core/handlers/acknowledgements.rs",
        line: "range.types.iter().all(",
        instead: "range.types.iter().any(",
    },
    Broken {
        case: "a-size-beyond-all-bounds-closes-its-connection",
        related: &[],
        file: "testkit/src/server/reader.rs",
        line: "frame_size(*prefix, self.limit)",
        instead: "frame_size(*prefix, self.limit.max(usize::MAX))",
    },
    Broken {
        case: "the-duration-of-locks-has-bounds",
        related: &[],
        file: "testkit/src/core/configs/group.rs",
        line: "if value < least || value > most {",
        instead: "if value < least {",
    },
];

fn run() -> Result<Verdict> {
    let ackflow = Ackflow::build()?;
    let tree = Tree::copy()?;
    let mut verdict = Verdict::default();
    let whole = play(&ackflow, &tree)?;
    whole.tell_failures("nothing broken");
    ensure!(whole.names_of_failed().is_empty(), "cases fail while nothing is broken");
    let mut bitten = 0;
    for broken in BROKEN {
        let run = tree.with(&broken.mutation(), || play(&ackflow, &tree))?;
        let failed = run.names_of_failed();
        let guarded = failed.contains(broken.case);
        verdict.require(guarded, format!("{} fails without its rule", broken.case));
        let own = run.failed().find(|case| case.name == broken.case).map(|case| case.group.as_str());
        let others: BTreeSet<&str> = run
            .failed()
            .filter(|case| Some(case.group.as_str()) != own && !broken.related.contains(&case.group.as_str()))
            .map(|case| case.name.as_str())
            .collect();
        verdict.require(others.is_empty(), format!("nothing unrelated fails with {}: {others:?}", broken.case));
        bitten += usize::from(guarded && others.is_empty());
        println!(
            "{:<12} {} ({} failed: {failed:?})",
            if guarded { "bitten" } else { "NOT BITTEN" },
            broken.case,
            failed.len()
        );
    }
    verdict.figure("rules", format!("{bitten}/{}", BROKEN.len()));
    verdict.require(BROKEN.len() >= RULES, format!("there are at least {RULES} rules"));
    Ok(verdict)
}

/// Plays all cases to the broker of the tree, as it is at the moment.
fn play(ackflow: &Ackflow, tree: &Tree) -> Result<Run> {
    let broker = Embedded::start_program(Command::new(tree.example("testkit", "broker")?))?;
    Run::play(ackflow, broker.address())
}

/// Sees that each rule can still be broken in its place.
///
/// # Errors
/// With the first that cannot.
pub(crate) fn check() -> Result<()> {
    BROKEN.iter().try_for_each(|broken| broken.mutation().check().with_context(|| broken.case))
}

impl Broken {
    fn mutation(&self) -> Mutation {
        Mutation { file: self.file.to_owned(), search: self.line.to_owned(), replace: self.instead.to_owned() }
    }
}
