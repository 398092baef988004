//! Renewing locks (KIP-1222).

use std::time::{Duration, Instant};

use ackflow_protocol::messages::share_acknowledge::ShareAcknowledgeRequest;
use ackflow_protocol::messages::share_fetch::ShareFetchRequest;
use ackflow_protocol::wire::{ApiKey, ErrorCode};

use crate::broker::case::cases;
use crate::broker::lab::{ACCEPT, Lab, Outcome, REJECT, RELEASE, RENEW, Stage, Stop, acquired, partitions, told};

cases! {
    Renewal;
    a_renewed_record_stays_with_its_member:
        "A record whose lock its member renews in time (type 4) is not available to others, however long that goes on.",
        "KIP-1222";
    a_renewal_holds_what_it_names_alone:
        "A renewal restarts the locks of the records that it names; those of others run out as they would have.",
        "KIP-1222";
    a_renewed_lock_runs_out_when_it_is_not_renewed_again:
        "A renewed lock lasts a lock's duration from the renewal on, and the record is available behind it.",
        "KIP-1222";
    a_renewal_counts_no_delivery:
        "Renewing leaves the delivery count as it is: a record that was renewed, then released, comes again with the next higher one.",
        "KIP-1222";
    a_renewed_record_has_still_to_be_acknowledged:
        "A record that was renewed can be accepted, released or rejected as before.",
        "KIP-1222";
    renewals_and_other_types_go_together:
        "A batch may renew some offsets and acknowledge others.",
        "KIP-1222; ShareAcknowledgeRequest.json, AcknowledgeTypes";
    a_renewal_that_is_not_announced_is_refused:
        "A ShareAcknowledge request with renewals that does not set IsRenewAck is answered INVALID_REQUEST for the partition, and nothing is done.",
        "KIP-1222; ShareAcknowledgeRequest.json, IsRenewAck";
    a_renewal_that_a_fetch_does_not_announce_is_refused:
        "A ShareFetch request with renewals that does not set IsRenewAck is answered INVALID_REQUEST for the partition's acknowledgements.",
        "KIP-1222; ShareFetchRequest.json, IsRenewAck";
    a_fetch_that_renews_acquires_nothing:
        "A ShareFetch with IsRenewAck, MaxWaitMs, MinBytes, MaxBytes and MaxRecords 0 renews, and acquires nothing though there are records.",
        "KIP-1222; ShareFetchRequest.json, IsRenewAck";
    a_fetch_that_renews_must_not_ask_for_records:
        "A ShareFetch with IsRenewAck in which one of MaxWaitMs, MinBytes, MaxBytes and MaxRecords is not 0 is refused with INVALID_REQUEST.",
        "KIP-1222; ShareFetchRequest.json, IsRenewAck";
    records_of_another_member_are_not_renewed:
        "Renewing a record that another member holds is answered INVALID_RECORD_STATE.",
        "KIP-1222";
    a_record_that_is_not_held_is_not_renewed:
        "Renewing a record that was released or accepted is answered INVALID_RECORD_STATE.",
        "KIP-1222";
    a_lock_that_has_run_out_is_not_renewed:
        "A renewal that comes too late is answered INVALID_RECORD_STATE.",
        "KIP-1222";
    a_group_can_forbid_renewals:
        "In a group whose share.renew.acknowledge.enable is false, a renewal is answered INVALID_RECORD_STATE and the record stays held.",
        "KIP-1222, share.renew.acknowledge.enable";
    renewals_do_not_exist_before_version_2:
        "Acknowledge type 4 is answered INVALID_REQUEST in ShareAcknowledge 1.",
        "KIP-1222; ShareAcknowledgeRequest.json, AcknowledgeTypes (versions)";
}

/// Only where renewals exist.
fn needs_renewals(lab: &Lab) -> Outcome {
    lab.target.offers(ApiKey::SHARE_FETCH, 2)?;
    lab.target.offers(ApiKey::SHARE_ACKNOWLEDGE, 2)
}

/// How long locks last where a case lets them run out. Shorter ones could run out between two steps on a busy machine.
fn lock(lab: &Lab) -> Duration {
    lab.target.waits.lock.max(Duration::from_secs(5))
}

/// A stage whose member holds records that are locked so long.
async fn holding(lab: &Lab, count: i64) -> Outcome<Stage> {
    let lock = lock(lab).as_millis().to_string();
    lab.stage_holding(count, &[("share.record.lock.duration.ms", &lock)]).await
}

async fn a_renewed_record_stays_with_its_member(lab: &Lab) -> Outcome {
    needs_renewals(lab)?;
    let mut stage = lab.stage(1, &[("share.record.lock.duration.ms", &lock(lab).as_millis().to_string())]).await?;
    let (_member, mut other) = lab.beside(&stage).await?;
    other.fetch().await?;
    lab.produce(&stage.topic, 0, 3).await?;
    stage.session.acquire(3).await?;
    let began = Instant::now();
    while began.elapsed() < lock(lab) * 3 / 2 {
        let code = stage.session.acknowledge(&stage.topic, 0, &[(0, 2, &[RENEW])]).await?;
        lab.check("the error of each renewal", code, ErrorCode::NONE)?;
        let wait = i32::try_from(lock(lab).as_millis() / 4).unwrap_or_default();
        let request = ShareFetchRequest { max_wait_ms: wait, min_bytes: 1, ..other.request() };
        let got = acquired(&other.fetch_as(&request).await?)?;
        lab.check_acquired("what another member acquires meanwhile", &got, "nothing")?;
    }
    let code = stage.session.acknowledge(&stage.topic, 0, &[(0, 2, &[ACCEPT])]).await?;
    lab.check("the error of accepting behind the time of one lock", code, ErrorCode::NONE)
}

async fn a_renewal_holds_what_it_names_alone(lab: &Lab) -> Outcome {
    needs_renewals(lab)?;
    let mut stage = lab.stage(1, &[("share.record.lock.duration.ms", &lock(lab).as_millis().to_string())]).await?;
    let (_member, mut other) = lab.beside(&stage).await?;
    lab.produce(&stage.topic, 0, 6).await?;
    stage.session.acquire(6).await?;
    tokio::time::sleep(lock(lab) / 2).await;
    let code = stage.session.acknowledge(&stage.topic, 0, &[(2, 3, &[RENEW])]).await?;
    lab.check("the error of renewing 2 and 3", code, ErrorCode::NONE)?;
    let got = other.acquire(4).await?;
    lab.check_acquired("what another member acquires when the first locks run out", &got, "0[0-1x2 4-5x2]")
}

async fn a_renewed_lock_runs_out_when_it_is_not_renewed_again(lab: &Lab) -> Outcome {
    needs_renewals(lab)?;
    let mut stage = holding(lab, 2).await?;
    let renewed = Instant::now();
    let code = stage.session.acknowledge(&stage.topic, 0, &[(0, 1, &[RENEW])]).await?;
    lab.check("the error of renewing", code, ErrorCode::NONE)?;
    let (_member, mut other) = lab.beside(&stage).await?;
    let got = other.acquire(2).await?;
    let took = renewed.elapsed();
    lab.check_acquired("what another member acquires", &got, "0[0-1x2]")?;
    // Clocks of brokers are allowed to be a little coarse.
    let held = took >= lock(lab) - Duration::from_millis(100);
    lab.check_that("the time from the renewal on", held, &format!("{:?}, the lock's duration", lock(lab)), &took)
}

async fn a_renewal_counts_no_delivery(lab: &Lab) -> Outcome {
    needs_renewals(lab)?;
    let mut stage = lab.stage_holding(3, &[]).await?;
    for _ in 0..3 {
        let code = stage.session.acknowledge(&stage.topic, 0, &[(0, 2, &[RENEW])]).await?;
        lab.check("the error of each of three renewals", code, ErrorCode::NONE)?;
    }
    let code = stage.session.acknowledge(&stage.topic, 0, &[(0, 2, &[RELEASE])]).await?;
    lab.granted("ShareAcknowledge", code, None)?;
    lab.check_acquired("what is acquired then", &stage.session.acquire(3).await?, "0[0-2x2]")
}

async fn a_renewed_record_has_still_to_be_acknowledged(lab: &Lab) -> Outcome {
    needs_renewals(lab)?;
    let mut stage = lab.stage_holding(4, &[]).await?;
    let code = stage.session.acknowledge(&stage.topic, 0, &[(0, 2, &[RENEW])]).await?;
    lab.check("the error of renewing", code, ErrorCode::NONE)?;
    let code = stage.session.acknowledge(&stage.topic, 0, &[(0, 2, &[ACCEPT, RELEASE, REJECT])]).await?;
    lab.check("the error of accepting, releasing and rejecting then", code, ErrorCode::NONE)?;
    stage.session.close().await?;
    let got = lab.session_again(&stage).await?.acquire_through(3).await?;
    lab.check_acquired("what the next session acquires", &got, "0[1-1x2 3-3x2]")
}

async fn renewals_and_other_types_go_together(lab: &Lab) -> Outcome {
    needs_renewals(lab)?;
    let mut stage = lab.stage_holding(5, &[]).await?;
    let types = [RENEW, ACCEPT, RENEW, RELEASE, RENEW];
    let code = stage.session.acknowledge(&stage.topic, 0, &[(0, 4, &types)]).await?;
    lab.check("the error of the batch", code, ErrorCode::NONE)?;
    lab.check_acquired("what is acquired then", &stage.session.acquire(1).await?, "0[3-3x2]")?;
    for offset in [0, 2, 4] {
        let code = stage.session.acknowledge(&stage.topic, 0, &[(offset, offset, &[ACCEPT])]).await?;
        lab.check(&format!("the error of accepting {offset}, which was renewed"), code, ErrorCode::NONE)?;
    }
    let code = stage.session.acknowledge(&stage.topic, 0, &[(3, 3, &[ACCEPT])]).await?;
    lab.check("the error of accepting 3, which was acquired again", code, ErrorCode::NONE)
}

async fn a_renewal_that_is_not_announced_is_refused(lab: &Lab) -> Outcome {
    needs_renewals(lab)?;
    let mut stage = lab.stage_holding(3, &[]).await?;
    let request = stage.session.acknowledgement(&stage.topic, 0, &[(0, 2, &[RENEW])]);
    let response = stage.session.acknowledge_as(&ShareAcknowledgeRequest { is_renew_ack: false, ..request }).await?;
    lab.check("the error of the request", response.error_code, ErrorCode::NONE)?;
    let codes = response.responses.iter().flat_map(|topic| &topic.partitions).map(|partition| partition.error_code);
    lab.check("the error of the renewal", codes.collect(), vec![ErrorCode::INVALID_REQUEST])?;
    let code = stage.session.acknowledge(&stage.topic, 0, &[(0, 2, &[ACCEPT])]).await?;
    lab.check("the error of accepting then", code, ErrorCode::NONE)
}

async fn a_renewal_that_a_fetch_does_not_announce_is_refused(lab: &Lab) -> Outcome {
    needs_renewals(lab)?;
    let mut stage = lab.stage_holding(3, &[]).await?;
    let request = stage.session.piggyback(&stage.topic, 0, &[(0, 2, &[RENEW])]);
    let response = stage.session.fetch_as(&ShareFetchRequest { is_renew_ack: false, ..request }).await?;
    lab.check("the error of the request", response.error_code, ErrorCode::NONE)?;
    let codes = partitions(&response).map(|partition| partition.acknowledge_error_code);
    lab.check("the error of the renewal", codes.collect(), vec![ErrorCode::INVALID_REQUEST])
}

/// A fetch with a renewal that asks for nothing.
fn renewing(stage: &Stage) -> ShareFetchRequest {
    ShareFetchRequest {
        max_wait_ms: 0,
        min_bytes: 0,
        max_bytes: 0,
        max_records: 0,
        batch_size: 0,
        ..stage.session.piggyback(&stage.topic, 0, &[(0, 2, &[RENEW])])
    }
}

async fn a_fetch_that_renews_acquires_nothing(lab: &Lab) -> Outcome {
    needs_renewals(lab)?;
    let mut stage = lab.stage_holding(3, &[]).await?;
    lab.produce(&stage.topic, 0, 2).await?;
    let response = stage.session.fetch_as(&renewing(&stage)).await?;
    lab.check("the error of the request", response.error_code, ErrorCode::NONE)?;
    let codes = partitions(&response).map(|partition| partition.acknowledge_error_code);
    lab.check("the error of the renewal", codes.collect(), vec![ErrorCode::NONE])?;
    lab.check("what is acquired", told(&acquired(&response)?).as_str(), "nothing")?;
    lab.check_acquired("what the next fetch acquires", &stage.session.acquire(2).await?, "0[3-4x1]")
}

async fn a_fetch_that_renews_must_not_ask_for_records(lab: &Lab) -> Outcome {
    needs_renewals(lab)?;
    let mut stage = lab.stage_holding(3, &[]).await?;
    let asks = [
        ("MaxWaitMs", ShareFetchRequest { max_wait_ms: 1, ..renewing(&stage) }),
        ("MinBytes", ShareFetchRequest { min_bytes: 1, ..renewing(&stage) }),
        ("MaxBytes", ShareFetchRequest { max_bytes: 1, ..renewing(&stage) }),
        ("MaxRecords", ShareFetchRequest { max_records: 1, ..renewing(&stage) }),
    ];
    for (field, request) in asks {
        let request = ShareFetchRequest { share_session_epoch: stage.session.epoch, ..request };
        let code = stage.session.fetch_as(&request).await?.error_code;
        lab.check(&format!("the error where {field} is 1"), code, ErrorCode::INVALID_REQUEST)?;
    }
    Ok(())
}

async fn records_of_another_member_are_not_renewed(lab: &Lab) -> Outcome {
    needs_renewals(lab)?;
    let stage = lab.stage_holding(3, &[]).await?;
    let (_member, mut other) = lab.beside(&stage).await?;
    other.fetch().await?;
    let code = other.acknowledge(&stage.topic, 0, &[(0, 2, &[RENEW])]).await?;
    lab.check("the error of another member's renewing", code, ErrorCode::INVALID_RECORD_STATE)
}

async fn a_record_that_is_not_held_is_not_renewed(lab: &Lab) -> Outcome {
    needs_renewals(lab)?;
    let mut stage = lab.stage_holding(5, &[]).await?;
    let code = stage.session.acknowledge(&stage.topic, 0, &[(2, 3, &[ACCEPT, RELEASE])]).await?;
    lab.granted("ShareAcknowledge", code, None)?;
    for (offset, what) in [(2, "accepted"), (3, "released")] {
        let code = stage.session.acknowledge(&stage.topic, 0, &[(offset, offset, &[RENEW])]).await?;
        lab.check(&format!("the error of renewing what was {what}"), code, ErrorCode::INVALID_RECORD_STATE)?;
    }
    Ok(())
}

async fn a_lock_that_has_run_out_is_not_renewed(lab: &Lab) -> Outcome {
    needs_renewals(lab)?;
    let mut stage = holding(lab, 3).await?;
    let (_member, mut other) = lab.beside(&stage).await?;
    lab.check_acquired("what another member acquires once the locks ran out", &other.acquire(3).await?, "0[0-2x2]")?;
    let code = stage.session.acknowledge(&stage.topic, 0, &[(0, 2, &[RENEW])]).await?;
    lab.check("the error of the first member's renewing", code, ErrorCode::INVALID_RECORD_STATE)
}

async fn a_group_can_forbid_renewals(lab: &Lab) -> Outcome {
    needs_renewals(lab)?;
    let mut stage = lab.stage_holding(3, &[("share.renew.acknowledge.enable", "false")]).await?;
    let code = stage.session.acknowledge(&stage.topic, 0, &[(0, 2, &[RENEW])]).await?;
    lab.check("the error of renewing", code, ErrorCode::INVALID_RECORD_STATE)?;
    let code = stage.session.acknowledge(&stage.topic, 0, &[(0, 2, &[ACCEPT])]).await?;
    lab.check("the error of accepting then", code, ErrorCode::NONE)
}

async fn renewals_do_not_exist_before_version_2(lab: &Lab) -> Outcome {
    lab.target.offers(ApiKey::SHARE_ACKNOWLEDGE, 1)?;
    let mut stage = lab.stage_holding(3, &[]).await?;
    let request = stage.session.acknowledgement(&stage.topic, 0, &[(0, 2, &[RENEW])]);
    let request = ShareAcknowledgeRequest { is_renew_ack: false, ..request };
    let response = stage.session.link.call_in(1, &request).await?;
    let codes = response.responses.iter().flat_map(|topic| &topic.partitions).map(|partition| partition.error_code);
    let codes: Vec<ErrorCode> = codes.collect();
    match codes.is_empty() {
        true => Err(Stop::failed("an answer for the partition", format!("{:?}", response.error_code))),
        false => lab.check("the error of type 4", codes, vec![ErrorCode::INVALID_REQUEST]),
    }
}
