//! Which records, and in which order.

use std::time::{Duration, Instant};

use ackflow_protocol::messages::share_fetch::ShareFetchRequest;
use ackflow_protocol::wire::ErrorCode;

use crate::broker::lab::{ACCEPT, GAP, Lab, Outcome, RELEASE, acquired, offsets};

pub(super) async fn what_one_member_holds_no_other_gets(lab: &Lab) -> Outcome {
    let stage = lab.stage_holding(10, &[]).await?;
    let (_member, mut other) = lab.beside(&stage).await?;
    lab.check_acquired("what the second acquires", &other.fetch().await?, "nothing")
}

pub(super) async fn two_members_get_different_records_of_a_partition(lab: &Lab) -> Outcome {
    let mut stage = lab.stage(1, &[]).await?;
    lab.produce_one_by_one(&stage.topic, 0, 12).await?;
    let (_member, mut other) = lab.beside(&stage).await?;
    let mut all = Vec::new();
    for _ in 0..2 {
        for session in [&mut stage.session, &mut other] {
            let request = ShareFetchRequest { max_records: 3, ..session.request() };
            all.extend(acquired(&session.fetch_some(&request).await?)?);
        }
    }
    lab.check_acquired("what both acquire in two fetches each of 3 records", &all, "0[0-11x1]")
}

pub(super) async fn records_are_acquired_in_the_order_of_their_offsets(lab: &Lab) -> Outcome {
    let mut stage = lab.stage(1, &[]).await?;
    lab.produce_one_by_one(&stage.topic, 0, 9).await?;
    for wanted in ["0[0-2x1]", "0[3-5x1]", "0[6-8x1]"] {
        let request = ShareFetchRequest { max_records: 3, ..stage.session.request() };
        let got = acquired(&stage.session.fetch_some(&request).await?)?;
        lab.check_acquired("what the next fetch of 3 records acquires", &got, wanted)?;
    }
    Ok(())
}

pub(super) async fn a_released_record_is_acquired_before_newer_ones(lab: &Lab) -> Outcome {
    let mut stage = lab.stage_holding(6, &[]).await?;
    lab.produce_one_by_one(&stage.topic, 0, 3).await?;
    let released = stage.session.acknowledge(&stage.topic, 0, &[(3, 4, &[RELEASE])]).await?;
    lab.granted("ShareAcknowledge", released, None)?;
    let request = ShareFetchRequest { max_records: 2, ..stage.session.request() };
    let got = acquired(&stage.session.fetch_some(&request).await?)?;
    lab.check_acquired("what a fetch of 2 records acquires", &got, "0[3-4x2]")
}

pub(super) async fn a_lock_that_runs_out_gives_the_record_to_another_member(lab: &Lab) -> Outcome {
    let group = lab.group_of_short_locks(&[]).await?;
    let mut stage = lab.stage_of(group, 1).await?;
    let (_member, mut other) = lab.beside(&stage).await?;
    lab.produce(&stage.topic, 0, 4).await?;
    stage.session.acquire(4).await?;
    let got = other.acquire(4).await?;
    lab.check_acquired("what another member acquires", &got, "0[0-3x2]")
}

pub(super) async fn max_records_counts_over_all_partitions(lab: &Lab) -> Outcome {
    let mut stage = lab.stage(3, &[]).await?;
    for partition in 0..3 {
        lab.produce_one_by_one(&stage.topic, partition, 4).await?;
    }
    let mut all = Vec::new();
    while all.len() < 12 {
        let request = ShareFetchRequest { max_records: 5, ..stage.session.request() };
        let got = acquired(&stage.session.fetch_some(&request).await?)?;
        let each = got.iter().flat_map(|range| (range.first..=range.last).map(|offset| (range.partition, offset)));
        let each: Vec<_> = each.collect();
        lab.check_that("the records that a fetch acquires", each.len() <= 5, "at most 5", &each)?;
        all.extend(each);
    }
    all.sort_unstable();
    let wanted = (0..3).flat_map(|partition| (0..4).map(move |offset| (partition, offset)));
    lab.check("partitions and offsets that all fetches acquire", all, wanted.collect())
}

pub(super) async fn a_fetch_for_no_records_acquires_none(lab: &Lab) -> Outcome {
    acquires_nothing_at_once(lab, |request| request.max_records = 0).await
}

pub(super) async fn a_fetch_for_no_bytes_acquires_nothing(lab: &Lab) -> Outcome {
    acquires_nothing_at_once(lab, |request| request.max_bytes = 0).await
}

/// Checks that a fetch that asks for nothing, though it may wait long, is answered at once and leaves what there is to the next one.
async fn acquires_nothing_at_once(lab: &Lab, ask: impl FnOnce(&mut ShareFetchRequest)) -> Outcome {
    let mut stage = lab.stage_holding(1, &[]).await?;
    let released = stage.session.acknowledge(&stage.topic, 0, &[(0, 0, &[RELEASE])]).await?;
    lab.granted("ShareAcknowledge", released, None)?;
    let mut request = ShareFetchRequest { max_wait_ms: 20_000, min_bytes: 1, ..stage.session.request() };
    ask(&mut request);
    let began = Instant::now();
    let response = stage.session.fetch_as(&request).await?;
    let took = began.elapsed();
    lab.check_acquired("what is acquired", &acquired(&response)?, "nothing")?;
    let at_once = took < Duration::from_secs(15);
    lab.check_that("the time until the answer", at_once, "far less than MaxWaitMs, 20 s", &took)?;
    let next = acquired(&stage.session.fetch_some(&stage.session.request()).await?)?;
    lab.check_acquired("what the next fetch acquires", &next, "0[0-0x2]")
}

pub(super) async fn a_small_batch_size_cuts_what_is_acquired_where_batches_begin(lab: &Lab) -> Outcome {
    let mut stage = lab.stage(1, &[]).await?;
    for _ in 0..3 {
        lab.produce(&stage.topic, 0, 4).await?;
    }
    let request = ShareFetchRequest { batch_size: 4, ..stage.session.request() };
    let got = acquired(&stage.session.fetch_some(&request).await?)?;
    lab.check_acquired("what is acquired", &got, "0[0-11x1]")?;
    let begin: Vec<i64> = got.iter().map(|range| range.first).collect();
    lab.check("where its ranges begin", begin, vec![0, 4, 8])
}

pub(super) async fn markers_of_transactions_can_be_acknowledged_as_gaps(lab: &Lab) -> Outcome {
    let mut stage = lab.stage(1, &[]).await?;
    let mut producer = lab.producer().await?;
    let first = producer.write(&stage.topic, 0, 2).await?;
    producer.end(true).await?;
    lab.eventually("the marker is in the log", async || {
        Ok((lab.end_offset(&stage.topic, 0).await? == first + 3).then_some(()))
    })
    .await?;
    let behind = lab.produce(&stage.topic, 0, 1).await?;
    let got = stage.session.acquire_through(behind).await?;
    let marker = first + 2;
    for offset in offsets(&got) {
        let kind = if offset == marker { GAP } else { ACCEPT };
        let code = stage.session.acknowledge(&stage.topic, 0, &[(offset, offset, &[kind])]).await?;
        let what = if offset == marker { "the error of the marker's gap" } else { "the error of accepting a record" };
        lab.check(what, code, ErrorCode::NONE)?;
    }
    lab.check_acquired("what another fetch acquires", &stage.session.fetch().await?, "nothing")?;
    lab.check_lag("the lag", &stage.group, &stage.topic, 0).await
}
