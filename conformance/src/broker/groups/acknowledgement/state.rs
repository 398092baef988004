//! Records that cannot be acknowledged.

use ackflow_protocol::messages::share_acknowledge::{
    AcknowledgePartition, AcknowledgementBatch, ShareAcknowledgeRequest,
};
use ackflow_protocol::messages::share_fetch::ShareFetchRequest;
use ackflow_protocol::wire::ErrorCode;

use crate::broker::lab::{ACCEPT, Lab, Outcome, RELEASE, Ranges, offsets};

const REFUSED: ErrorCode = ErrorCode::INVALID_RECORD_STATE;

pub(super) async fn a_record_that_has_ended_is_not_acknowledged_again(lab: &Lab) -> Outcome {
    let mut stage = lab.stage_holding(5, &[]).await?;
    let code = stage.session.acknowledge(&stage.topic, 0, &[(3, 3, &[ACCEPT])]).await?;
    lab.granted("ShareAcknowledge", code, None)?;
    for kind in [ACCEPT, RELEASE] {
        let code = stage.session.acknowledge(&stage.topic, 0, &[(3, 3, &[kind])]).await?;
        lab.check(&format!("the error of acknowledging 3 again, by type {kind}"), code, REFUSED)?;
    }
    lab.check_acquired("what is acquired then", &stage.session.fetch().await?, "nothing")
}

pub(super) async fn what_lies_below_the_start_stays_as_it_is(lab: &Lab) -> Outcome {
    let mut stage = lab.stage_holding(5, &[]).await?;
    let code = stage.session.acknowledge(&stage.topic, 0, &[(0, 2, &[ACCEPT])]).await?;
    lab.granted("ShareAcknowledge", code, None)?;
    for kind in [ACCEPT, RELEASE] {
        let code = stage.session.acknowledge(&stage.topic, 0, &[(0, 2, &[kind])]).await?;
        let what = format!("the error of acknowledging 0 to 2 again, by type {kind}");
        let right = code.is_none() || code == REFUSED;
        lab.check_that(&what, right, "none, or INVALID_RECORD_STATE", &code)?;
    }
    stage.session.close().await?;
    let got = lab.session_again(&stage).await?.acquire_through(4).await?;
    lab.check_acquired("what the next session acquires", &got, "0[3-4x2]")
}

pub(super) async fn a_record_that_was_released_is_not_accepted(lab: &Lab) -> Outcome {
    let mut stage = lab.stage_holding(5, &[]).await?;
    let code = stage.session.acknowledge(&stage.topic, 0, &[(1, 2, &[RELEASE])]).await?;
    lab.granted("ShareAcknowledge", code, None)?;
    let code = stage.session.acknowledge(&stage.topic, 0, &[(1, 2, &[ACCEPT])]).await?;
    lab.check("the error of accepting what was released", code, REFUSED)?;
    lab.check_acquired("what is acquired then", &stage.session.acquire(2).await?, "0[1-2x2]")
}

pub(super) async fn records_of_another_member_are_not_acknowledged(lab: &Lab) -> Outcome {
    let mut stage = lab.stage_holding(5, &[]).await?;
    let (_member, mut other) = lab.beside(&stage).await?;
    other.fetch().await?;
    for (first, last) in [(0, 4), (2, 2)] {
        let code = other.acknowledge(&stage.topic, 0, &[(first, last, &[ACCEPT])]).await?;
        lab.check(&format!("the error of another member's accepting {first} to {last}"), code, REFUSED)?;
    }
    let code = stage.session.acknowledge(&stage.topic, 0, &[(0, 4, &[ACCEPT])]).await?;
    lab.check("the error of its holder's accepting all", code, ErrorCode::NONE)
}

pub(super) async fn records_whose_lock_ran_out_are_not_acknowledged(lab: &Lab) -> Outcome {
    let group = lab.group_of_short_locks(&[]).await?;
    let mut stage = lab.stage_of(group, 1).await?;
    let (_member, mut other) = lab.beside(&stage).await?;
    lab.produce(&stage.topic, 0, 4).await?;
    stage.session.acquire(4).await?;
    let got = other.acquire(4).await?;
    lab.check("what another member acquires once the locks ran out", offsets(&got), (0..4).collect())?;
    let code = stage.session.acknowledge(&stage.topic, 0, &[(0, 3, &[ACCEPT])]).await?;
    lab.check("the error of the first member's accepting", code, REFUSED)
}

pub(super) async fn records_of_a_session_that_ended_are_not_acknowledged(lab: &Lab) -> Outcome {
    let mut stage = lab.stage_holding(5, &[]).await?;
    stage.session.close().await?;
    let mut again = lab.session_again(&stage).await?;
    // Without a partition it acquires nothing.
    let nothing = ShareFetchRequest { topics: Vec::new(), ..again.request() };
    let opened = again.fetch_as(&nothing).await?;
    lab.granted("ShareFetch", opened.error_code, None)?;
    let code = again.acknowledge(&stage.topic, 0, &[(0, 4, &[ACCEPT])]).await?;
    lab.check("the error of accepting", code, REFUSED)
}

pub(super) async fn offsets_that_were_never_acquired_are_not_acknowledged(lab: &Lab) -> Outcome {
    let mut stage = lab.stage_holding(5, &[]).await?;
    for (first, last) in [(3, 7), (5, 5), (90, 99)] {
        let code = stage.session.acknowledge(&stage.topic, 0, &[(first, last, &[ACCEPT])]).await?;
        let right = [ErrorCode::INVALID_REQUEST, REFUSED].contains(&code);
        let what = format!("the error of accepting {first} to {last} of 0 to 4");
        lab.check_that(&what, right, "INVALID_REQUEST or INVALID_RECORD_STATE", &code)?;
    }
    let code = stage.session.acknowledge(&stage.topic, 0, &[(0, 4, &[ACCEPT])]).await?;
    lab.check("the error of accepting 0 to 4", code, ErrorCode::NONE)
}

pub(super) async fn one_bad_batch_takes_those_of_its_partition_down(lab: &Lab) -> Outcome {
    let mut stage = lab.stage_holding(6, &[]).await?;
    let code = stage.session.acknowledge(&stage.topic, 0, &[(4, 4, &[ACCEPT])]).await?;
    lab.granted("ShareAcknowledge", code, None)?;
    let batches: Ranges<'_> = &[(1, 2, &[RELEASE]), (4, 4, &[ACCEPT]), (5, 5, &[RELEASE])];
    let code = stage.session.acknowledge(&stage.topic, 0, batches).await?;
    lab.check("the error where one of three batches is of a record that has ended", code, REFUSED)?;
    lab.check_acquired("what of the others' is released", &stage.session.fetch().await?, "nothing")?;
    let code = stage.session.acknowledge(&stage.topic, 0, &[(1, 2, &[ACCEPT]), (5, 5, &[ACCEPT])]).await?;
    lab.check("the error of accepting the others'", code, ErrorCode::NONE)
}

pub(super) async fn one_bad_partition_takes_no_other_down(lab: &Lab) -> Outcome {
    let mut stage = lab.stage(2, &[]).await?;
    for partition in 0..2 {
        lab.produce(&stage.topic, partition, 3).await?;
    }
    stage.session.acquire(6).await?;
    let code = stage.session.acknowledge(&stage.topic, 0, &[(1, 1, &[ACCEPT])]).await?;
    lab.granted("ShareAcknowledge", code, None)?;
    let batch = AcknowledgementBatch { first_offset: 0, last_offset: 2, acknowledge_types: vec![RELEASE] };
    let good = AcknowledgePartition { partition_index: 1, acknowledgement_batches: vec![batch] };
    let mut request: ShareAcknowledgeRequest = stage.session.acknowledgement(&stage.topic, 0, &[(1, 1, &[ACCEPT])]);
    request.topics.iter_mut().for_each(|topic| topic.partitions.push(good.clone()));
    let response = stage.session.acknowledge_as(&request).await?;
    lab.check("the error of the request", response.error_code, ErrorCode::NONE)?;
    let answered = response.responses.iter().flat_map(|topic| &topic.partitions);
    let mut answered: Vec<_> = answered.map(|partition| (partition.partition_index, partition.error_code)).collect();
    answered.sort_by_key(|(index, _)| *index);
    lab.check("partitions and their errors", answered, vec![(0, REFUSED), (1, ErrorCode::NONE)])?;
    lab.check_acquired("what is acquired then", &stage.session.acquire(3).await?, "1[0-2x2]")
}
