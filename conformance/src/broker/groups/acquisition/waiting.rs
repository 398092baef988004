//! Fetches that wait.

use std::time::{Duration, Instant};

use ackflow_protocol::messages::share_fetch::{ShareFetchRequest, ShareFetchResponse};
use ackflow_protocol::records::BatchOptions;

use crate::broker::lab::{ACCEPT, Acquired, Lab, Outcome, RELEASE, Stage, acquired, batch, values};

/// Longer than any case has to wait where a broker keeps the rule.
const LONG: i32 = 20_000;
/// Far less than that.
const EARLY: Duration = Duration::from_secs(15);

/// A stage whose session has fetched and accepted a record, so that the broker has read what it keeps of the partition.
async fn warm(lab: &Lab) -> Outcome<Stage> {
    let mut stage = lab.stage_holding(1, &[]).await?;
    let accepted = stage.session.acknowledge(&stage.topic, 0, &[(0, 0, &[ACCEPT])]).await?;
    lab.granted("ShareAcknowledge", accepted, None)?;
    Ok(stage)
}

/// A fetch of the stage's session that waits long.
fn patient(stage: &Stage) -> ShareFetchRequest {
    ShareFetchRequest { max_wait_ms: LONG, min_bytes: 1, ..stage.session.request() }
}

/// What a parked fetch has acquired. Kafka may answer it too early, without records, where it looks at the partition at the moment of the write; the next
/// fetch has them then, and a broker that is not woken at all has used up its time.
async fn or_next(stage: &mut Stage, response: ShareFetchResponse, began: Instant) -> Outcome<Vec<Acquired>> {
    stage.session.epoch += 1;
    let mut got = acquired(&response)?;
    while got.is_empty() && began.elapsed() < EARLY {
        got = acquired(&stage.session.fetch_as(&patient(stage)).await?)?;
    }
    Ok(got)
}

pub(super) async fn a_fetch_waits_for_a_record_that_is_written(lab: &Lab) -> Outcome {
    let mut stage = warm(lab).await?;
    let request = patient(&stage);
    let began = Instant::now();
    let sent = stage.session.link.send(&request).await?;
    lab.produce(&stage.topic, 0, 1).await?;
    let response = stage.session.link.answer(sent).await?;
    let got = or_next(&mut stage, response, began).await?;
    let took = began.elapsed();
    lab.check_acquired("what is acquired", &got, "0[1-1x1]")?;
    let early = took < EARLY;
    lab.check_that("the time until the answer", early, "far less than MaxWaitMs, 20 s", &took)
}

pub(super) async fn a_fetch_that_finds_nothing_is_answered_when_its_wait_is_over(lab: &Lab) -> Outcome {
    let mut stage = warm(lab).await?;
    let request = ShareFetchRequest { max_wait_ms: 600, ..patient(&stage) };
    let began = Instant::now();
    let response = stage.session.fetch_as(&request).await?;
    let took = began.elapsed();
    lab.check_acquired("what is acquired", &acquired(&response)?, "nothing")?;
    // Clocks of brokers are allowed to be a little coarse.
    let held = took >= Duration::from_millis(500);
    lab.check_that("the time until the answer", held, "MaxWaitMs, 600 ms", &took)
}

pub(super) async fn a_fetch_waits_for_min_bytes(lab: &Lab) -> Outcome {
    let mut stage = warm(lab).await?;
    let size = i32::try_from(batch(values(10), BatchOptions::default()).len()).unwrap_or_default();
    let request = ShareFetchRequest { min_bytes: 2 * size, ..patient(&stage) };
    let sent = stage.session.link.send(&request).await?;
    lab.produce(&stage.topic, 0, 10).await?;
    let silent = stage.session.link.is_silent_for(Duration::from_millis(400)).await;
    lab.check("no answer while half of MinBytes are there", silent, true)?;
    lab.produce(&stage.topic, 0, 10).await?;
    let began = Instant::now();
    let response = stage.session.link.answer(sent).await?;
    let got = or_next(&mut stage, response, began).await?;
    lab.check_acquired("what is acquired then", &got, "0[1-20x1]")
}

pub(super) async fn a_fetch_that_waits_gets_what_is_released_meanwhile(lab: &Lab) -> Outcome {
    let mut stage = lab.stage_holding(3, &[]).await?;
    let (_member, mut other) = lab.beside(&stage).await?;
    other.fetch().await?;
    let request = ShareFetchRequest { max_wait_ms: 1_500, min_bytes: 1, ..other.request() };
    let sent = other.link.send(&request).await?;
    let released = stage.session.acknowledge(&stage.topic, 0, &[(1, 1, &[RELEASE])]).await?;
    lab.granted("ShareAcknowledge", released, None)?;
    let response = other.link.answer(sent).await?;
    lab.check_acquired("what the other acquires", &acquired(&response)?, "0[1-1x2]")
}
