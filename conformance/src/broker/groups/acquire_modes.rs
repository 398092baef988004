//! batch_optimized and record_limit (KIP-1206).

use ackflow_protocol::messages::share_fetch::ShareFetchRequest;
use ackflow_protocol::wire::ApiKey;

use crate::broker::case::cases;
use crate::broker::lab::{ACCEPT, Acquired, Lab, Outcome, RELEASE, Ranges, Session, Stage, acquired, offsets};

cases! {
    AcquireModes;
    record_limit_is_kept_within_a_batch:
        "In record_limit mode (ShareAcquireMode 1) a fetch acquires exactly MaxRecords records, though a batch of the log holds more.",
        "KIP-1206; ShareFetchRequest.json, ShareAcquireMode";
    the_rest_of_a_batch_comes_with_the_next_fetches:
        "In record_limit mode the next fetches acquire the rest of a batch of the log, each record at its first delivery.",
        "KIP-1206";
    record_limit_is_kept_over_several_batches:
        "In record_limit mode a fetch goes on with the next batches of the log until it has MaxRecords records.",
        "KIP-1206";
    record_limit_takes_what_there_is:
        "In record_limit mode a fetch acquires what there is where that is less than MaxRecords.",
        "KIP-1206";
    record_limit_counts_over_all_partitions:
        "In record_limit mode a fetch of several partitions acquires no more than MaxRecords records in all.",
        "KIP-1206";
    record_limit_counts_records_that_were_released:
        "In record_limit mode records that come again count as those that are new do.",
        "KIP-1206";
    record_limit_is_kept_when_a_whole_batch_was_released:
        "In record_limit mode a batch of the log that was released as a whole comes again in parts.",
        "KIP-1206";
    record_limit_of_zero_acquires_nothing:
        "In record_limit mode a fetch with MaxRecords 0 acquires nothing.",
        "KIP-1206; ShareFetchRequest.json, MaxRecords";
    members_share_a_batch_in_record_limit_mode:
        "In record_limit mode two members hold different records of one batch of the log.",
        "KIP-1206";
    batch_optimized_ends_with_the_batch:
        "In batch_optimized mode (ShareAcquireMode 0) MaxRecords is exceeded no further than to the end of the batch of the log in which it is reached.",
        "KIP-1206; ShareFetchRequest.json, ShareAcquireMode",
        note "Kafka goes on to the end of that batch; a broker that stops before it passes too.";
    batch_optimized_counts_over_all_partitions:
        "In batch_optimized mode partitions whose turn comes after MaxRecords is reached are left for the next fetch.",
        "KIP-1206; ShareFetchRequest.json, MaxRecords";
    the_mode_is_that_of_each_fetch:
        "A session may change its mode with each fetch: what record_limit has left of a batch is acquired in batch_optimized mode.",
        "KIP-1206; ShareFetchRequest.json, ShareAcquireMode";
    an_unknown_mode_is_refused:
        "A fetch whose ShareAcquireMode does not exist is refused with an error, and acquires nothing.",
        "KIP-1206; ShareFetchRequest.json, ShareAcquireMode",
        note "Kafka 4.4.0 answers UNKNOWN_SERVER_ERROR; which error is not judged.";
}

const BATCH_OPTIMIZED: i8 = 0;
const RECORD_LIMIT: i8 = 1;

/// A stage, where modes exist, with batches of these sizes in the partition.
async fn stage_with(lab: &Lab, batches: &[usize]) -> Outcome<Stage> {
    lab.target.offers(ApiKey::SHARE_FETCH, 2)?;
    let stage = lab.stage(1, &[]).await?;
    for count in batches {
        lab.produce(&stage.topic, 0, *count).await?;
    }
    Ok(stage)
}

/// What the next fetch acquires that acquires anything.
async fn some(session: &mut Session, share_acquire_mode: i8, max_records: i32) -> Outcome<Vec<Acquired>> {
    let request = ShareFetchRequest { share_acquire_mode, max_records, ..session.request() };
    acquired(&session.fetch_some(&request).await?)
}

async fn record_limit_is_kept_within_a_batch(lab: &Lab) -> Outcome {
    let mut stage = stage_with(lab, &[10]).await?;
    let got = some(&mut stage.session, RECORD_LIMIT, 3).await?;
    lab.check_acquired("what a fetch of 3 records out of a batch of 10 acquires", &got, "0[0-2x1]")
}

async fn the_rest_of_a_batch_comes_with_the_next_fetches(lab: &Lab) -> Outcome {
    let mut stage = stage_with(lab, &[10]).await?;
    for (count, wanted) in [(3, "0[0-2x1]"), (4, "0[3-6x1]"), (3, "0[7-9x1]")] {
        let got = some(&mut stage.session, RECORD_LIMIT, count).await?;
        lab.check_acquired(&format!("what the next fetch of {count} records acquires"), &got, wanted)?;
    }
    let code = stage.session.acknowledge(&stage.topic, 0, &[(0, 9, &[ACCEPT])]).await?;
    lab.granted("ShareAcknowledge", code, None)
}

async fn record_limit_is_kept_over_several_batches(lab: &Lab) -> Outcome {
    let mut stage = stage_with(lab, &[10, 10, 10]).await?;
    let got = some(&mut stage.session, RECORD_LIMIT, 15).await?;
    lab.check_acquired("what a fetch of 15 records out of batches of 10 acquires", &got, "0[0-14x1]")
}

async fn record_limit_takes_what_there_is(lab: &Lab) -> Outcome {
    let mut stage = stage_with(lab, &[4, 3]).await?;
    let got = some(&mut stage.session, RECORD_LIMIT, 100).await?;
    lab.check_acquired("what a fetch of 100 records acquires where there are 7", &got, "0[0-6x1]")
}

async fn record_limit_counts_over_all_partitions(lab: &Lab) -> Outcome {
    lab.target.offers(ApiKey::SHARE_FETCH, 2)?;
    let mut stage = lab.stage(3, &[]).await?;
    for partition in 0..3 {
        lab.produce(&stage.topic, partition, 5).await?;
    }
    let mut all = Vec::new();
    while all.iter().map(|range: &Acquired| range.last - range.first + 1).sum::<i64>() < 15 {
        let got = some(&mut stage.session, RECORD_LIMIT, 7).await?;
        let count: i64 = got.iter().map(|range| range.last - range.first + 1).sum();
        lab.check_that("the records that a fetch acquires", count <= 7, "at most 7", &count)?;
        all.extend(got);
    }
    lab.check_acquired("what all fetches acquire", &all, "0[0-4x1] 1[0-4x1] 2[0-4x1]")
}

async fn record_limit_counts_records_that_were_released(lab: &Lab) -> Outcome {
    let mut stage = stage_with(lab, &[10]).await?;
    stage.session.acquire(10).await?;
    lab.produce(&stage.topic, 0, 5).await?;
    let batches: Ranges<'_> = &[(1, 1, &[RELEASE]), (4, 5, &[RELEASE]), (8, 8, &[RELEASE])];
    let code = stage.session.acknowledge(&stage.topic, 0, batches).await?;
    lab.granted("ShareAcknowledge", code, None)?;
    let got = some(&mut stage.session, RECORD_LIMIT, 2).await?;
    lab.check_acquired("what a fetch of 2 records acquires", &got, "0[1-1x2 4-4x2]")?;
    let got = some(&mut stage.session, RECORD_LIMIT, 3).await?;
    lab.check_acquired("what the next fetch of 3 records acquires", &got, "0[5-5x2 8-8x2 10-10x1]")
}

async fn record_limit_is_kept_when_a_whole_batch_was_released(lab: &Lab) -> Outcome {
    let mut stage = stage_with(lab, &[10]).await?;
    stage.session.acquire(10).await?;
    let code = stage.session.acknowledge(&stage.topic, 0, &[(0, 9, &[RELEASE])]).await?;
    lab.granted("ShareAcknowledge", code, None)?;
    for (count, wanted) in [(4, "0[0-3x2]"), (6, "0[4-9x2]")] {
        let got = some(&mut stage.session, RECORD_LIMIT, count).await?;
        lab.check_acquired(&format!("what the next fetch of {count} records acquires"), &got, wanted)?;
    }
    Ok(())
}

async fn record_limit_of_zero_acquires_nothing(lab: &Lab) -> Outcome {
    let mut stage = stage_with(lab, &[10]).await?;
    some(&mut stage.session, RECORD_LIMIT, 1).await?;
    let request = ShareFetchRequest { share_acquire_mode: RECORD_LIMIT, max_records: 0, ..stage.session.request() };
    let got = acquired(&stage.session.fetch_as(&request).await?)?;
    lab.check_acquired("what a fetch of 0 records acquires", &got, "nothing")?;
    let got = some(&mut stage.session, RECORD_LIMIT, 1).await?;
    lab.check_acquired("what the next fetch of 1 record acquires", &got, "0[1-1x1]")
}

async fn members_share_a_batch_in_record_limit_mode(lab: &Lab) -> Outcome {
    let mut stage = stage_with(lab, &[10]).await?;
    let (_member, mut other) = lab.beside(&stage).await?;
    let first = some(&mut stage.session, RECORD_LIMIT, 4).await?;
    let second = some(&mut other, RECORD_LIMIT, 4).await?;
    lab.check_acquired("what the first acquires", &first, "0[0-3x1]")?;
    lab.check_acquired("what the second acquires", &second, "0[4-7x1]")?;
    let code = other.acknowledge(&stage.topic, 0, &[(4, 7, &[ACCEPT])]).await?;
    lab.granted("ShareAcknowledge", code, None)
}

async fn batch_optimized_ends_with_the_batch(lab: &Lab) -> Outcome {
    let mut stage = stage_with(lab, &[10, 10, 10]).await?;
    let got = some(&mut stage.session, BATCH_OPTIMIZED, 13).await?;
    let all = offsets(&got);
    let right = all.first() == Some(&0) && all.last().is_some_and(|last| (12..20).contains(last));
    let wanted = "offset 0 to at least 12 and at most 19";
    lab.check_that("what a fetch of 13 records out of batches of 10 acquires", right, wanted, &all)
}

async fn batch_optimized_counts_over_all_partitions(lab: &Lab) -> Outcome {
    lab.target.offers(ApiKey::SHARE_FETCH, 2)?;
    let mut stage = lab.stage(3, &[]).await?;
    for partition in 0..3 {
        lab.produce(&stage.topic, partition, 5).await?;
    }
    let mut all = Vec::new();
    for _ in 0..3 {
        let got = some(&mut stage.session, BATCH_OPTIMIZED, 5).await?;
        let count: i64 = got.iter().map(|range| range.last - range.first + 1).sum();
        lab.check("the records that each of three fetches of 5 acquires", count, 5)?;
        all.extend(got);
    }
    lab.check_acquired("what they acquire in all", &all, "0[0-4x1] 1[0-4x1] 2[0-4x1]")
}

async fn the_mode_is_that_of_each_fetch(lab: &Lab) -> Outcome {
    let mut stage = stage_with(lab, &[10]).await?;
    let got = some(&mut stage.session, RECORD_LIMIT, 4).await?;
    lab.check_acquired("what a fetch of 4 records in record_limit mode acquires", &got, "0[0-3x1]")?;
    let got = some(&mut stage.session, BATCH_OPTIMIZED, 100).await?;
    lab.check_acquired("what a fetch in batch_optimized mode acquires then", &got, "0[4-9x1]")
}

async fn an_unknown_mode_is_refused(lab: &Lab) -> Outcome {
    let mut stage = stage_with(lab, &[10]).await?;
    some(&mut stage.session, RECORD_LIMIT, 1).await?;
    for mode in [2, -1] {
        let request = ShareFetchRequest { share_acquire_mode: mode, ..stage.session.request() };
        let code = stage.session.fetch_as(&request).await?.error_code;
        lab.check_that(&format!("the error of mode {mode}"), !code.is_none(), "one", &code)?;
    }
    let got = lab.session_again(&stage).await?.acquire_through(9).await?;
    // Who opens a session again may find 0 still locked, or get it once more.
    let new: Vec<Acquired> = got.into_iter().filter(|range| range.delivery_count == 1).collect();
    lab.check("offsets that come for the first time then", offsets(&new), (1..=9).collect())
}
