//! How often a record is delivered.

use ackflow_protocol::messages::share_fetch::ShareFetchRequest;
use ackflow_protocol::wire::ErrorCode;

use crate::broker::case::cases;
use crate::broker::lab::{ACCEPT, Lab, Outcome, REJECT, RELEASE, Session, Stage, acquired, offsets, told};

cases! {
    DeliveryLimits;
    a_record_comes_first_with_count_one:
        "A record is acquired with delivery count 1 the first time.",
        "KIP-932, Delivery count; ShareFetchResponse.json, DeliveryCount";
    each_release_raises_the_count_of_its_records_alone:
        "The delivery count is that of each record: it rises with the records that are released and acquired again, and stays with their neighbours.",
        "KIP-932, Delivery count";
    a_lock_that_runs_out_costs_an_attempt:
        "A record whose lock ran out is acquired again with a delivery count one higher.",
        "KIP-932, Delivery count";
    a_session_that_is_closed_costs_an_attempt:
        "Records that a session held when it was closed are acquired again with a delivery count one higher.",
        "KIP-932, Share sessions; KIP-932, Delivery count",
        note "Until Kafka 4.1 it cost no attempt.";
    a_connection_that_is_lost_costs_an_attempt:
        "Records that a member held when its connection ended are available again at once, with a delivery count one higher.",
        "KIP-932, Share sessions; KIP-932, Delivery count",
        note "Until Kafka 4.1 it cost no attempt. Where the last connection of a group ends, Kafka forgets the attempts under way; here another one stays.";
    a_record_is_given_up_when_its_last_attempt_ends:
        "A record that is released at its last attempt, by share.delivery.count.limit, is not acquired again and is not left to do.",
        "KIP-932, Delivery count; share.delivery.count.limit (KIP-1240)";
    a_record_is_given_up_when_its_last_lock_runs_out:
        "A record whose lock runs out at its last attempt is not acquired again.",
        "KIP-932, Delivery count; share.delivery.count.limit (KIP-1240)";
    a_record_is_given_up_when_its_last_session_ends:
        "A record that a session holds at its last attempt is not acquired again when that session is closed.",
        "KIP-932, Delivery count; share.delivery.count.limit (KIP-1240)";
    the_last_attempt_may_succeed:
        "A record at its last attempt is held like any other, and can be accepted.",
        "KIP-932, Delivery count";
    records_are_given_up_one_by_one:
        "Where records of a range have come at their last attempt and are released, those that have attempts left come again.",
        "KIP-932, Delivery count";
    a_rejected_record_needs_no_further_attempt:
        "A record that is rejected at its first attempt is not acquired again, however many attempts it had left.",
        "KIP-932, Acknowledgement";
    a_last_attempt_is_delivered_alone:
        "A record that comes for the last time comes alone, where the limit is above 2, so that it takes no other down with it.",
        "Kafka 4.2 (KAFKA-17541)",
        note "No KIP asks for it. With a limit of 2 Kafka does not do so.";
    each_group_has_a_limit_of_its_own:
        "share.delivery.count.limit of a group counts for that group alone.",
        "KIP-1240, share.delivery.count.limit";
    a_limit_that_is_raised_in_time_counts:
        "A limit that is raised before the last attempt of a record ends gives it the attempts of the new one.",
        "KIP-1240, share.delivery.count.limit";
}

const LIMIT: &str = "share.delivery.count.limit";

/// Releases these offsets of the only partition.
async fn release(lab: &Lab, stage: &mut Stage, first: i64, last: i64) -> Outcome {
    let code = stage.session.acknowledge(&stage.topic, 0, &[(first, last, &[RELEASE])]).await?;
    lab.granted("ShareAcknowledge", code, None)
}

/// What the next fetch acquires that acquires anything.
async fn some(session: &mut Session) -> Outcome<String> {
    Ok(told(&acquired(&session.fetch_some(&session.request()).await?)?))
}

async fn a_record_comes_first_with_count_one(lab: &Lab) -> Outcome {
    let mut stage = lab.stage(1, &[]).await?;
    lab.produce(&stage.topic, 0, 3).await?;
    lab.check("what is acquired", some(&mut stage.session).await?.as_str(), "0[0-2x1]")
}

async fn each_release_raises_the_count_of_its_records_alone(lab: &Lab) -> Outcome {
    let mut stage = lab.stage_holding(5, &[(LIMIT, "5")]).await?;
    release(lab, &mut stage, 3, 3).await?;
    lab.check("what is acquired once 3 was released", some(&mut stage.session).await?.as_str(), "0[3-3x2]")?;
    release(lab, &mut stage, 2, 3).await?;
    // A record that failed often may come apart from others.
    let mut all = stage.session.acquire_through(2).await?;
    if !offsets(&all).contains(&3) {
        all.extend(stage.session.acquire_through(3).await?);
    }
    lab.check_acquired("what is acquired once 2 and 3 were released", &all, "0[2-2x2 3-3x3]")
}

async fn a_lock_that_runs_out_costs_an_attempt(lab: &Lab) -> Outcome {
    let group = lab.group_of_short_locks(&[]).await?;
    let mut stage = lab.stage_of(group, 1).await?;
    lab.produce(&stage.topic, 0, 3).await?;
    stage.session.acquire(3).await?;
    lab.check_acquired("what is acquired once the locks ran out", &stage.session.acquire(3).await?, "0[0-2x2]")
}

async fn a_session_that_is_closed_costs_an_attempt(lab: &Lab) -> Outcome {
    let mut stage = lab.stage_holding(3, &[]).await?;
    let (_member, mut other) = lab.beside(&stage).await?;
    other.fetch().await?;
    let code = stage.session.close().await?;
    lab.granted("closing the session", code, None)?;
    lab.check_acquired("what another member acquires then", &other.acquire(3).await?, "0[0-2x2]")
}

async fn a_connection_that_is_lost_costs_an_attempt(lab: &Lab) -> Outcome {
    let stage = lab.stage_holding(3, &[]).await?;
    let (_member, mut other) = lab.beside(&stage).await?;
    other.fetch().await?;
    let Stage { session, member, .. } = stage;
    drop(session);
    lab.check_acquired("what another member acquires then", &other.acquire(3).await?, "0[0-2x2]")?;
    drop(member);
    Ok(())
}

async fn a_record_is_given_up_when_its_last_attempt_ends(lab: &Lab) -> Outcome {
    let mut stage = lab.stage_holding(3, &[(LIMIT, "2")]).await?;
    release(lab, &mut stage, 0, 2).await?;
    let got = stage.session.acquire(3).await?;
    lab.check_acquired("what is acquired at the last attempt", &got, "0[0-2x2]")?;
    release(lab, &mut stage, 0, 2).await?;
    lab.produce(&stage.topic, 0, 1).await?;
    let got = stage.session.acquire_through(3).await?;
    lab.check_acquired("what is acquired once that was released too", &got, "0[3-3x1]")
}

async fn a_record_is_given_up_when_its_last_lock_runs_out(lab: &Lab) -> Outcome {
    let group = lab.group_of_short_locks(&[(LIMIT, "2")]).await?;
    let mut stage = lab.stage_of(group, 1).await?;
    lab.produce(&stage.topic, 0, 3).await?;
    stage.session.acquire(3).await?;
    release(lab, &mut stage, 0, 2).await?;
    // The lock of a record that has an attempt left tells when the others' have run out.
    lab.produce(&stage.topic, 0, 1).await?;
    lab.check_acquired("what is acquired together", &stage.session.acquire(4).await?, "0[0-2x2 3-3x1]")?;
    let got = stage.session.acquire_through(3).await?;
    lab.check_acquired("what is acquired once the locks ran out", &got, "0[3-3x2]")?;
    lab.produce(&stage.topic, 0, 1).await?;
    lab.check_acquired("what is acquired then", &stage.session.acquire_through(4).await?, "0[4-4x1]")
}

async fn a_record_is_given_up_when_its_last_session_ends(lab: &Lab) -> Outcome {
    let mut stage = lab.stage_holding(3, &[(LIMIT, "2")]).await?;
    let (_member, mut other) = lab.beside(&stage).await?;
    other.fetch().await?;
    release(lab, &mut stage, 0, 2).await?;
    lab.check_acquired("what is acquired at the last attempt", &stage.session.acquire(3).await?, "0[0-2x2]")?;
    let code = stage.session.close().await?;
    lab.granted("closing the session", code, None)?;
    lab.produce(&stage.topic, 0, 1).await?;
    lab.check_acquired("what another member acquires then", &other.acquire_through(3).await?, "0[3-3x1]")
}

async fn the_last_attempt_may_succeed(lab: &Lab) -> Outcome {
    let mut stage = lab.stage_holding(3, &[(LIMIT, "2")]).await?;
    release(lab, &mut stage, 0, 2).await?;
    lab.check_acquired("what is acquired at the last attempt", &stage.session.acquire(3).await?, "0[0-2x2]")?;
    let code = stage.session.acknowledge(&stage.topic, 0, &[(0, 2, &[ACCEPT])]).await?;
    lab.check("the error of accepting it", code, ErrorCode::NONE)
}

async fn records_are_given_up_one_by_one(lab: &Lab) -> Outcome {
    let mut stage = lab.stage_holding(4, &[(LIMIT, "2")]).await?;
    release(lab, &mut stage, 1, 2).await?;
    lab.check_acquired("what is acquired once 1 and 2 were released", &stage.session.acquire(2).await?, "0[1-2x2]")?;
    release(lab, &mut stage, 0, 3).await?;
    let got = stage.session.acquire_through(3).await?;
    lab.check_acquired("what is acquired once all were released", &got, "0[0-0x2 3-3x2]")
}

async fn a_rejected_record_needs_no_further_attempt(lab: &Lab) -> Outcome {
    let mut stage = lab.stage_holding(2, &[(LIMIT, "5")]).await?;
    let code = stage.session.acknowledge(&stage.topic, 0, &[(0, 0, &[REJECT])]).await?;
    lab.check("the error of rejecting", code, ErrorCode::NONE)?;
    release(lab, &mut stage, 1, 1).await?;
    lab.check("what is acquired then", some(&mut stage.session).await?.as_str(), "0[1-1x2]")
}

async fn a_last_attempt_is_delivered_alone(lab: &Lab) -> Outcome {
    let mut stage = lab.stage_holding(8, &[(LIMIT, "3")]).await?;
    release(lab, &mut stage, 0, 7).await?;
    lab.check_acquired("what is acquired at the second attempt", &stage.session.acquire(8).await?, "0[0-7x2]")?;
    release(lab, &mut stage, 0, 7).await?;
    for wanted in ["0[0-0x3]", "0[1-1x3]", "0[2-2x3]"] {
        lab.check("what the next fetch acquires", some(&mut stage.session).await?.as_str(), wanted)?;
    }
    Ok(())
}

async fn each_group_has_a_limit_of_its_own(lab: &Lab) -> Outcome {
    let groups = [lab.group_with(&[(LIMIT, "2")]).await?, lab.group_with(&[(LIMIT, "3")]).await?];
    let topic = lab.topic(1).await?;
    lab.produce(&topic, 0, 1).await?;
    for (group, wanted) in groups.iter().zip(["0[0-0x1] 0[0-0x2]", "0[0-0x1] 0[0-0x2] 0[0-0x3]"]) {
        let member = lab.member(group, &[&topic]).await?;
        let mut session = lab.session(&member, &[&topic]).await?;
        let mut attempts = vec![told(&session.acquire(1).await?)];
        loop {
            let code = session.acknowledge(&topic, 0, &[(0, 0, &[RELEASE])]).await?;
            lab.granted("releasing", code, None)?;
            let request = ShareFetchRequest { max_wait_ms: 300, min_bytes: 1, ..session.request() };
            let got = acquired(&session.fetch_as(&request).await?)?;
            if got.is_empty() {
                break;
            }
            attempts.push(told(&got));
        }
        lab.check("the attempts of a group", attempts.join(" ").as_str(), wanted)?;
    }
    Ok(())
}

async fn a_limit_that_is_raised_in_time_counts(lab: &Lab) -> Outcome {
    let mut stage = lab.stage_holding(1, &[(LIMIT, "2")]).await?;
    release(lab, &mut stage, 0, 0).await?;
    lab.check_acquired("what is acquired at the last attempt", &stage.session.acquire(1).await?, "0[0-0x2]")?;
    let lock = i32::try_from(lab.target.waits.lock.as_millis()).unwrap_or_default() + 4321;
    let configs = [(LIMIT, "3"), ("share.record.lock.duration.ms", &lock.to_string())];
    lab.configure(&stage.group, &configs).await?;
    // That the broker has taken the settings over is seen by the one that it tells.
    lab.eventually("the settings are in force", async || {
        let request = ShareFetchRequest { max_records: 0, ..stage.session.request() };
        let response = stage.session.fetch_as(&request).await?;
        Ok((response.acquisition_lock_timeout_ms == lock).then_some(()))
    })
    .await?;
    release(lab, &mut stage, 0, 0).await?;
    lab.check_acquired("what is acquired under the new limit", &stage.session.acquire(1).await?, "0[0-0x3]")
}
