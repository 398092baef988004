//! Acknowledgements that mean nothing.

use ackflow_protocol::messages::share_acknowledge::ShareAcknowledgeRequest;
use ackflow_protocol::wire::ErrorCode;

use crate::broker::lab::{ACCEPT, Lab, Outcome, Stop, Topic, random_uuid};

pub(super) async fn acknowledgements_for_an_unknown_topic_are_refused(lab: &Lab) -> Outcome {
    let mut stage = lab.stage_holding(3, &[]).await?;
    let unknown = Topic { id: random_uuid(), ..stage.topic.clone() };
    let code = stage.session.acknowledge(&unknown, 0, &[(0, 2, &[ACCEPT])]).await?;
    lab.check_that("the error for a topic id that does not exist", !code.is_none(), "one", &code)?;
    let (_member, mut other) = lab.beside(&stage).await?;
    lab.check_acquired("what another member acquires of the topic", &other.fetch().await?, "nothing")
}

pub(super) async fn an_unknown_partition_is_named_by_its_own_error(lab: &Lab) -> Outcome {
    let mut stage = lab.stage_holding(3, &[]).await?;
    let code = stage.session.acknowledge(&stage.topic, 7, &[(0, 2, &[ACCEPT])]).await?;
    lab.check("the error of partition 7 of 1", code, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION)
}

pub(super) async fn the_answer_to_an_acknowledgement_tells_how_long_locks_last(lab: &Lab) -> Outcome {
    let lock = i32::try_from(lab.target.waits.lock.as_millis()).unwrap_or_default() + 4321;
    let mut stage = lab.stage_holding(1, &[("share.record.lock.duration.ms", &lock.to_string())]).await?;
    let request = stage.session.acknowledgement(&stage.topic, 0, &[(0, 0, &[ACCEPT])]);
    if stage.session.link.newest::<ShareAcknowledgeRequest>()? < 2 {
        return Err(Stop::NotOffered("ShareAcknowledge 2 is not advertised".to_owned()));
    }
    let response = stage.session.acknowledge_as(&request).await?;
    lab.check("AcquisitionLockTimeoutMs", response.acquisition_lock_timeout_ms, lock)
}
