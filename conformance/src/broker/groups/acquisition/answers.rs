//! What an answer to a fetch says besides.

use ackflow_protocol::messages::share_fetch::{FetchPartition, FetchTopic, ShareFetchRequest};
use ackflow_protocol::records::Batches;
use ackflow_protocol::wire::ErrorCode;

use crate::broker::lab::{ACCEPT, Lab, Outcome, RELEASE, Stop, acquired, offsets, partitions};

pub(super) async fn the_records_of_an_answer_hold_what_was_acquired(lab: &Lab) -> Outcome {
    let mut stage = lab.stage(1, &[]).await?;
    for _ in 0..3 {
        lab.produce(&stage.topic, 0, 4).await?;
    }
    stage.session.acquire(12).await?;
    let released = stage.session.acknowledge(&stage.topic, 0, &[(2, 5, &[RELEASE]), (9, 9, &[RELEASE])]).await?;
    lab.granted("ShareAcknowledge", released, None)?;
    let response = stage.session.fetch_some(&stage.session.request()).await?;
    let mut held = std::collections::BTreeSet::new();
    for records in partitions(&response).filter_map(|partition| partition.records.clone()) {
        for batch in Batches::new(records) {
            let batch = batch.map_err(|error| Stop::failed("a batch that can be read", error.to_string()))?;
            held.extend(batch.base_offset()..=batch.last_offset());
        }
    }
    let wanted = offsets(&acquired(&response)?);
    lab.check_that("offsets of the records", held.is_superset(&wanted), &format!("{wanted:?} among them"), &held)
}

pub(super) async fn an_answer_without_records_has_empty_records_not_null(lab: &Lab) -> Outcome {
    let mut stage = lab.stage(2, &[]).await?;
    let opened = stage.session.fetch_as(&stage.session.request()).await?;
    // A partition whose acknowledgement is answered is in the answer, though nothing of it is fetched.
    lab.produce(&stage.topic, 0, 1).await?;
    stage.session.acquire(1).await?;
    let request = stage.session.piggyback(&stage.topic, 0, &[(0, 0, &[ACCEPT])]);
    let acknowledged = stage.session.fetch_as(&request).await?;
    for (what, response) in [("opened a session", &opened), ("had an acknowledgement", &acknowledged)] {
        lab.granted("ShareFetch", response.error_code, None)?;
        let nulls: Vec<i32> = partitions(response)
            .filter(|partition| partition.error_code.is_none() && partition.records.is_none())
            .map(|partition| partition.partition_index)
            .collect();
        let what = format!("partitions with null records in the answer to the fetch that {what}");
        lab.check(&what, nulls, Vec::new())?;
    }
    let answered = partitions(&acknowledged).any(|partition| partition.partition_index == 0);
    lab.check("whether the second answer tells of the partition", answered, true)
}

pub(super) async fn the_answer_tells_how_long_locks_last(lab: &Lab) -> Outcome {
    let lock = i32::try_from(lab.target.waits.lock.as_millis()).unwrap_or_default() + 4321;
    let mut stage = lab.stage(1, &[("share.record.lock.duration.ms", &lock.to_string())]).await?;
    lab.produce(&stage.topic, 0, 1).await?;
    let response = stage.session.fetch_some(&stage.session.request()).await?;
    lab.check("AcquisitionLockTimeoutMs", response.acquisition_lock_timeout_ms, lock)
}

pub(super) async fn a_broker_that_does_not_lead_names_who_does(lab: &Lab) -> Outcome {
    lab.needs_brokers(2)?;
    let stage = lab.stage(1, &[]).await?;
    let leader = stage.topic.leader(0);
    let other = lab.target.info.nodes.iter().copied().find(|node| *node != leader).unwrap_or(leader);
    let mut session = lab.session_with(other, &stage.group, &stage.member.id, &[]).await?;
    let topics = vec![FetchTopic { topic_id: stage.topic.id, partitions: vec![FetchPartition::default()] }];
    let response = session.fetch_as(&ShareFetchRequest { topics, ..session.request() }).await?;
    lab.granted("ShareFetch", response.error_code, None)?;
    let answered = partitions(&response).next();
    let answered = answered.ok_or_else(|| Stop::failed("ShareFetch answers for the partition", "it does not"))?;
    lab.check("the error of the partition", answered.error_code, ErrorCode::NOT_LEADER_OR_FOLLOWER)?;
    lab.check("the leader that it names", answered.current_leader.leader_id, leader)?;
    let named: Vec<i32> = response.node_endpoints.iter().map(|node| node.node_id).collect();
    lab.check_that("brokers whose addresses it tells", named.contains(&leader), &format!("{leader} among them"), &named)
}
