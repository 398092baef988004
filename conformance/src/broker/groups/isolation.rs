//! read_committed and read_uncommitted.

use ackflow_protocol::messages::share_fetch::ShareFetchRequest;
use ackflow_protocol::wire::ErrorCode;

use crate::broker::case::cases;
use crate::broker::lab::{ACCEPT, GAP, Lab, Outcome, Session, acquired, offsets, set};

cases! {
    Isolation;
    records_of_an_open_transaction_are_hidden_from_read_committed:
        "In a group that reads what is committed, records of a transaction that has not ended are not acquired.",
        "KIP-932, share.isolation.level";
    records_behind_an_open_transaction_are_held_back:
        "In a group that reads what is committed, records behind an open transaction are not acquired before it ends, of whatever producer they are.",
        "KIP-932, share.isolation.level; KIP-98, Last stable offset";
    records_that_are_committed_are_acquired:
        "In a group that reads what is committed, records are acquired once their transaction is committed.",
        "KIP-932, share.isolation.level";
    records_that_are_aborted_are_never_acquired:
        "In a group that reads what is committed, records whose transaction was aborted are not acquired.",
        "KIP-932, share.isolation.level",
        note "The records may be in the answer all the same; what was acquired decides. The offset of the marker may be acquired.";
    aborted_records_between_others_are_left_out:
        "In a group that reads what is committed, aborted records are left out where those of other producers stand before, between and behind them.",
        "KIP-932, share.isolation.level";
    a_transaction_over_several_batches_is_aborted_as_a_whole:
        "In a group that reads what is committed, no batch of a transaction that was aborted is acquired.",
        "KIP-932, share.isolation.level";
    a_fetch_waits_for_a_commit:
        "A fetch of a group that reads what is committed is answered when a transaction is committed that it waits for.",
        "KIP-932, share.isolation.level; ShareFetchRequest.json, MaxWaitMs";
    read_uncommitted_shows_open_transactions:
        "In a group whose share.isolation.level is read_uncommitted, records of an open transaction are acquired.",
        "KIP-932, share.isolation.level";
    read_uncommitted_shows_aborted_transactions:
        "In a group whose share.isolation.level is read_uncommitted, records of an aborted transaction are acquired.",
        "KIP-932, share.isolation.level";
    groups_read_uncommitted_by_default:
        "A group that has not set share.isolation.level acquires records of open transactions.",
        "KIP-932, share.isolation.level (default: read_uncommitted)";
    each_group_has_a_level_of_its_own:
        "Of two groups that read a topic, each sees what its own share.isolation.level lets it see.",
        "KIP-932, share.isolation.level";
    aborted_records_are_not_left_to_do:
        "In a group that reads what is committed, aborted records and markers do not keep the lag from reaching 0.",
        "KIP-932, share.isolation.level; KIP-1226, Lag";
    a_level_that_is_changed_counts_for_the_fetches_that_follow:
        "When a group's share.isolation.level is changed to read_uncommitted, records of an open transaction are acquired.",
        "KIP-932, share.isolation.level";
    a_level_that_does_not_exist_is_refused:
        "A share.isolation.level other than read_committed and read_uncommitted is refused with INVALID_CONFIG.",
        "KIP-932, share.isolation.level";
}

const LEVEL: &str = "share.isolation.level";
const COMMITTED: (&str, &str) = (LEVEL, "read_committed");
const UNCOMMITTED: (&str, &str) = (LEVEL, "read_uncommitted");

/// What a fetch acquires that waits a little.
async fn a_while(lab: &Lab, what: &str, session: &mut Session, wanted: &str) -> Outcome {
    let request = ShareFetchRequest { max_wait_ms: 400, min_bytes: 1, ..session.request() };
    lab.check_acquired(what, &acquired(&session.fetch_as(&request).await?)?, wanted)
}

async fn records_of_an_open_transaction_are_hidden_from_read_committed(lab: &Lab) -> Outcome {
    let mut stage = lab.stage(1, &[COMMITTED]).await?;
    let mut producer = lab.producer().await?;
    lab.produce(&stage.topic, 0, 2).await?;
    producer.write(&stage.topic, 0, 2).await?;
    let got = stage.session.acquire_through(1).await?;
    lab.check_acquired("what is acquired", &got, "0[0-1x1]")?;
    a_while(lab, "what is acquired behind it", &mut stage.session, "nothing").await?;
    producer.end(false).await
}

async fn records_behind_an_open_transaction_are_held_back(lab: &Lab) -> Outcome {
    let mut stage = lab.stage(1, &[COMMITTED]).await?;
    let mut producer = lab.producer().await?;
    lab.produce(&stage.topic, 0, 1).await?;
    producer.write(&stage.topic, 0, 1).await?;
    lab.produce(&stage.topic, 0, 2).await?;
    let got = stage.session.acquire_through(0).await?;
    lab.check_acquired("what is acquired", &got, "0[0-0x1]")?;
    a_while(lab, "what is acquired behind it", &mut stage.session, "nothing").await?;
    producer.end(true).await?;
    let got = stage.session.acquire_through(3).await?;
    let wanted = offsets(&got).is_superset(&(1..=3).collect());
    lab.check_that("what is acquired once it ended", wanted, "1 to 3", &got)
}

async fn records_that_are_committed_are_acquired(lab: &Lab) -> Outcome {
    let mut stage = lab.stage(1, &[COMMITTED]).await?;
    let mut producer = lab.producer().await?;
    producer.write(&stage.topic, 0, 3).await?;
    producer.end(true).await?;
    let got = stage.session.acquire_through(2).await?;
    let wanted = offsets(&got).is_superset(&(0..=2).collect());
    lab.check_that("what is acquired", wanted, "0 to 2", &got)
}

async fn records_that_are_aborted_are_never_acquired(lab: &Lab) -> Outcome {
    let mut stage = lab.stage(1, &[COMMITTED]).await?;
    let mut producer = lab.producer().await?;
    producer.write(&stage.topic, 0, 3).await?;
    producer.end(false).await?;
    let behind = lab.produce(&stage.topic, 0, 1).await?;
    let got = stage.session.acquire_through(behind).await?;
    let aborted: Vec<i64> = offsets(&got).into_iter().filter(|offset| *offset <= 2).collect();
    lab.check("what of 0 to 2, which were aborted, is acquired", aborted, Vec::new())
}

async fn aborted_records_between_others_are_left_out(lab: &Lab) -> Outcome {
    let mut stage = lab.stage(1, &[COMMITTED]).await?;
    let (mut aborts, mut commits) = (lab.producer().await?, lab.producer().await?);
    // 0 and 4 are of no transaction, 2 and 5 are aborted, 1 and 3 are committed.
    lab.produce(&stage.topic, 0, 1).await?;
    commits.write(&stage.topic, 0, 1).await?;
    aborts.write(&stage.topic, 0, 1).await?;
    commits.write(&stage.topic, 0, 1).await?;
    lab.produce(&stage.topic, 0, 1).await?;
    aborts.write(&stage.topic, 0, 1).await?;
    aborts.end(false).await?;
    commits.end(true).await?;
    let behind = lab.produce(&stage.topic, 0, 1).await?;
    let got = stage.session.acquire_through(behind).await?;
    let of_records: Vec<i64> = offsets(&got).into_iter().filter(|offset| *offset <= 5).collect();
    lab.check("what of 0 to 5 is acquired, 2 and 5 being aborted", of_records, vec![0, 1, 3, 4])
}

async fn a_transaction_over_several_batches_is_aborted_as_a_whole(lab: &Lab) -> Outcome {
    let mut stage = lab.stage(1, &[COMMITTED]).await?;
    let mut producer = lab.producer().await?;
    for _ in 0..3 {
        producer.write(&stage.topic, 0, 2).await?;
    }
    producer.end(false).await?;
    let second = producer.write(&stage.topic, 0, 2).await?;
    producer.end(true).await?;
    let got = stage.session.acquire_through(second + 1).await?;
    let of_records: Vec<i64> = offsets(&got).into_iter().filter(|offset| *offset <= 5).collect();
    lab.check("what of 0 to 5, which were aborted, is acquired", of_records, Vec::new())?;
    let committed = offsets(&got).is_superset(&(second..=second + 1).collect());
    lab.check_that("what of the next transaction is acquired", committed, "both records", &got)
}

async fn a_fetch_waits_for_a_commit(lab: &Lab) -> Outcome {
    let mut stage = lab.stage(1, &[COMMITTED]).await?;
    let mut producer = lab.producer().await?;
    lab.produce(&stage.topic, 0, 1).await?;
    stage.session.acquire_through(0).await?;
    producer.write(&stage.topic, 0, 2).await?;
    let request = ShareFetchRequest { max_wait_ms: 20_000, min_bytes: 1, ..stage.session.request() };
    let began = std::time::Instant::now();
    let sent = stage.session.link.send(&request).await?;
    producer.end(true).await?;
    let got = acquired(&stage.session.link.answer(sent).await?)?;
    let took = began.elapsed();
    let wanted = offsets(&got).is_superset(&(1..=2).collect());
    lab.check_that("what is acquired", wanted, "1 and 2", &got)?;
    lab.check_that("the time until the answer", took.as_secs() < 15, "far less than MaxWaitMs, 20 s", &took)
}

async fn read_uncommitted_shows_open_transactions(lab: &Lab) -> Outcome {
    let mut stage = lab.stage(1, &[UNCOMMITTED]).await?;
    let mut producer = lab.producer().await?;
    producer.write(&stage.topic, 0, 2).await?;
    let got = stage.session.acquire(2).await?;
    lab.check_acquired("what is acquired while the transaction is open", &got, "0[0-1x1]")?;
    producer.end(false).await
}

async fn read_uncommitted_shows_aborted_transactions(lab: &Lab) -> Outcome {
    let mut stage = lab.stage(1, &[UNCOMMITTED]).await?;
    let mut producer = lab.producer().await?;
    producer.write(&stage.topic, 0, 2).await?;
    producer.end(false).await?;
    let behind = lab.produce(&stage.topic, 0, 1).await?;
    let got = stage.session.acquire_through(behind).await?;
    let aborted: Vec<i64> = offsets(&got).into_iter().filter(|offset| *offset <= 1).collect();
    lab.check("what of 0 and 1, which were aborted, is acquired", aborted, vec![0, 1])
}

async fn groups_read_uncommitted_by_default(lab: &Lab) -> Outcome {
    let mut stage = lab.stage(1, &[]).await?;
    let mut producer = lab.producer().await?;
    producer.write(&stage.topic, 0, 2).await?;
    let got = stage.session.acquire(2).await?;
    lab.check_acquired("what is acquired while the transaction is open", &got, "0[0-1x1]")?;
    producer.end(false).await
}

async fn each_group_has_a_level_of_its_own(lab: &Lab) -> Outcome {
    let uncommitted = lab.group_with(&[UNCOMMITTED]).await?;
    let mut stage = lab.stage(1, &[COMMITTED]).await?;
    let mut producer = lab.producer().await?;
    lab.produce(&stage.topic, 0, 1).await?;
    producer.write(&stage.topic, 0, 1).await?;
    let member = lab.member(&uncommitted, &[&stage.topic]).await?;
    let got = lab.session(&member, &[&stage.topic]).await?.acquire_through(1).await?;
    lab.check_acquired("what read_uncommitted acquires", &got, "0[0-1x1]")?;
    let got = stage.session.acquire_through(0).await?;
    lab.check_acquired("what read_committed acquires", &got, "0[0-0x1]")?;
    producer.end(false).await
}

async fn aborted_records_are_not_left_to_do(lab: &Lab) -> Outcome {
    let mut stage = lab.stage(1, &[COMMITTED]).await?;
    let mut producer = lab.producer().await?;
    producer.write(&stage.topic, 0, 3).await?;
    producer.end(false).await?;
    let behind = lab.produce(&stage.topic, 0, 2).await?;
    let got = stage.session.acquire_through(behind + 1).await?;
    for range in got {
        // What is no record is a marker.
        for offset in range.first..=range.last {
            let kind = if offset >= behind { ACCEPT } else { GAP };
            let code = stage.session.acknowledge(&stage.topic, 0, &[(offset, offset, &[kind])]).await?;
            lab.check(&format!("the error of acknowledging {offset}"), code, ErrorCode::NONE)?;
        }
    }
    lab.check_lag("the lag", &stage.group, &stage.topic, 0).await
}

async fn a_level_that_is_changed_counts_for_the_fetches_that_follow(lab: &Lab) -> Outcome {
    let mut stage = lab.stage(1, &[COMMITTED]).await?;
    let mut producer = lab.producer().await?;
    lab.produce(&stage.topic, 0, 1).await?;
    producer.write(&stage.topic, 0, 2).await?;
    let got = stage.session.acquire_through(0).await?;
    lab.check_acquired("what is acquired at first", &got, "0[0-0x1]")?;
    lab.configure(&stage.group, &[UNCOMMITTED]).await?;
    let got = stage.session.acquire_through(2).await?;
    lab.check_acquired("what is acquired once the level was changed", &got, "0[1-2x1]")?;
    producer.end(false).await
}

async fn a_level_that_does_not_exist_is_refused(lab: &Lab) -> Outcome {
    let group = lab.group_at_latest();
    let mut link = lab.link().await?;
    for level in ["committed", "serializable", ""] {
        let answer = set(&mut link, &group, &[(LEVEL, level)]).await?;
        let codes = answer.responses.iter().map(|done| done.error_code);
        lab.check(&format!("the error of {LEVEL}={level}"), codes.collect(), vec![ErrorCode::INVALID_CONFIG])?;
    }
    Ok(())
}
