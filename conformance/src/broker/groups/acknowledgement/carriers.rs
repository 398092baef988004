//! The requests that acknowledge, and their sessions.

use ackflow_protocol::messages::share_acknowledge::ShareAcknowledgeRequest;
use ackflow_protocol::messages::share_fetch::{ForgottenTopic, ShareFetchRequest, ShareFetchResponse};
use ackflow_protocol::wire::ErrorCode;

use crate::broker::lab::{ACCEPT, Acquired, Lab, Outcome, RELEASE, Stop, acquired, partitions};

/// The error of the acknowledgements that a fetch had for the only partition.
fn acknowledge_error(response: &ShareFetchResponse) -> Outcome<ErrorCode> {
    let answered = partitions(response).next().map(|partition| partition.acknowledge_error_code);
    answered.ok_or_else(|| Stop::failed("ShareFetch answers for a partition with acknowledgements", "it does not"))
}

pub(super) async fn acknowledgements_ride_on_a_fetch(lab: &Lab) -> Outcome {
    let mut stage = lab.stage_holding(5, &[]).await?;
    let request = stage.session.piggyback(&stage.topic, 0, &[(0, 3, &[ACCEPT])]);
    let response = stage.session.fetch_as(&request).await?;
    lab.check("the error of the request", response.error_code, ErrorCode::NONE)?;
    lab.check("the error of the acknowledgement", acknowledge_error(&response)?, ErrorCode::NONE)?;
    stage.session.close().await?;
    let got = lab.session_again(&stage).await?.acquire_through(4).await?;
    lab.check_acquired("what the next session acquires", &got, "0[4-4x2]")
}

pub(super) async fn acknowledgements_of_a_fetch_are_done_before_it_fetches(lab: &Lab) -> Outcome {
    let mut stage = lab.stage_holding(5, &[]).await?;
    let request = stage.session.piggyback(&stage.topic, 0, &[(1, 2, &[RELEASE])]);
    let request = ShareFetchRequest { max_wait_ms: 5_000, min_bytes: 1, ..request };
    let response = stage.session.fetch_as(&request).await?;
    lab.check_acquired("what the same fetch acquires", &acquired(&response)?, "0[1-2x2]")
}

pub(super) async fn a_refused_acknowledgement_does_not_keep_a_fetch_from_its_records(lab: &Lab) -> Outcome {
    let mut stage = lab.stage_holding(5, &[]).await?;
    let accepted = stage.session.acknowledge(&stage.topic, 0, &[(3, 3, &[ACCEPT])]).await?;
    lab.granted("ShareAcknowledge", accepted, None)?;
    lab.produce(&stage.topic, 0, 2).await?;
    let request = stage.session.piggyback(&stage.topic, 0, &[(3, 3, &[ACCEPT])]);
    let request = ShareFetchRequest { max_wait_ms: 5_000, min_bytes: 1, ..request };
    let response = stage.session.fetch_as(&request).await?;
    lab.check("the error of the acknowledgement", acknowledge_error(&response)?, ErrorCode::INVALID_RECORD_STATE)?;
    let codes: Vec<_> = partitions(&response).map(|partition| partition.error_code).collect();
    lab.check_that("the error of fetching", codes.iter().all(|code| code.is_none()), "none", &codes)?;
    let got: Vec<_> = partitions(&response).flat_map(|partition| &partition.acquired_records).collect();
    let told: Vec<_> = got.iter().map(|range| (range.first_offset, range.last_offset)).collect();
    lab.check("what is acquired", told, vec![(5, 6)])
}

pub(super) async fn the_last_fetch_of_a_session_may_acknowledge(lab: &Lab) -> Outcome {
    let mut stage = lab.stage_holding(5, &[]).await?;
    let request = stage.session.piggyback(&stage.topic, 0, &[(0, 2, &[ACCEPT])]);
    let request = ShareFetchRequest { share_session_epoch: -1, ..request };
    let response = stage.session.link.call(&request).await?;
    lab.check("the error of the request", response.error_code, ErrorCode::NONE)?;
    lab.check("the error of the acknowledgement", acknowledge_error(&response)?, ErrorCode::NONE)?;
    let got = lab.session_again(&stage).await?.acquire_through(4).await?;
    lab.check_acquired("what the next session acquires", &got, "0[3-4x2]")
}

pub(super) async fn the_last_acknowledgement_of_a_session_is_done(lab: &Lab) -> Outcome {
    let mut stage = lab.stage_holding(5, &[]).await?;
    let request = stage.session.acknowledgement(&stage.topic, 0, &[(0, 2, &[ACCEPT])]);
    let request = ShareAcknowledgeRequest { share_session_epoch: -1, ..request };
    let response = stage.session.link.call(&request).await?;
    lab.check("the error of the request", response.error_code, ErrorCode::NONE)?;
    let codes = response.responses.iter().flat_map(|topic| &topic.partitions).map(|partition| partition.error_code);
    lab.check("the error of the acknowledgement", codes.collect(), vec![ErrorCode::NONE])?;
    let got = lab.session_again(&stage).await?.acquire_through(4).await?;
    lab.check_acquired("what the next session acquires", &got, "0[3-4x2]")
}

pub(super) async fn a_partition_that_left_the_session_can_be_acknowledged(lab: &Lab) -> Outcome {
    let mut stage = lab.stage(2, &[]).await?;
    lab.produce(&stage.topic, 0, 3).await?;
    stage.session.acquire(3).await?;
    let forgotten = vec![ForgottenTopic { topic_id: stage.topic.id, partitions: vec![0] }];
    let request = ShareFetchRequest { forgotten_topics_data: forgotten, ..stage.session.request() };
    let response = stage.session.fetch_as(&request).await?;
    lab.granted("ShareFetch", response.error_code, None)?;
    let code = stage.session.acknowledge(&stage.topic, 0, &[(0, 2, &[ACCEPT])]).await?;
    lab.check("the error of the acknowledgement", code, ErrorCode::NONE)
}

pub(super) async fn an_acknowledgement_counts_in_the_session_of_fetches(lab: &Lab) -> Outcome {
    let mut stage = lab.stage_holding(3, &[]).await?;
    let epoch = stage.session.epoch;
    let code = stage.session.acknowledge(&stage.topic, 0, &[(0, 0, &[ACCEPT])]).await?;
    lab.granted("ShareAcknowledge", code, None)?;
    let stale = ShareFetchRequest { share_session_epoch: epoch, ..stage.session.request() };
    let refused = stage.session.link.call(&stale).await?.error_code;
    let what = "the error of a fetch with the epoch of the acknowledgement";
    lab.check(what, refused, ErrorCode::INVALID_SHARE_SESSION_EPOCH)?;
    let next = ShareFetchRequest { share_session_epoch: epoch + 1, ..stage.session.request() };
    let next = stage.session.link.call(&next).await?;
    lab.check("the error of a fetch with the next epoch", next.error_code, ErrorCode::NONE)?;
    let none: Vec<Acquired> = acquired(&next)?;
    lab.check_acquired("what it acquires", &none, "nothing")
}
