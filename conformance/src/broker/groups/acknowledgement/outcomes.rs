//! What acknowledgements do.

use ackflow_protocol::messages::share_acknowledge::{
    AcknowledgePartition, AcknowledgeTopic, AcknowledgementBatch, ShareAcknowledgeRequest,
};
use ackflow_protocol::messages::share_fetch::ShareFetchRequest;
use ackflow_protocol::wire::ErrorCode;

use crate::broker::lab::{ACCEPT, GAP, Lab, Outcome, REJECT, RELEASE, Ranges, acquired};

/// Of ten records, whether those of this type come again when the session ends, behind which all that are left do.
async fn ends_with(lab: &Lab, kind: i8) -> Outcome {
    let mut stage = lab.stage_holding(10, &[]).await?;
    let code = stage.session.acknowledge(&stage.topic, 0, &[(2, 6, &[kind])]).await?;
    lab.check("the error of the acknowledgement", code, ErrorCode::NONE)?;
    lab.check_acquired("what is acquired right then", &stage.session.fetch().await?, "nothing")?;
    let closed = stage.session.close().await?;
    lab.granted("closing the session", closed, None)?;
    let got = lab.session_again(&stage).await?.acquire_through(9).await?;
    lab.check_acquired("what the next session acquires", &got, "0[0-1x2 7-9x2]")
}

pub(super) async fn accepted_records_do_not_come_again(lab: &Lab) -> Outcome {
    ends_with(lab, ACCEPT).await
}

pub(super) async fn rejected_records_do_not_come_again(lab: &Lab) -> Outcome {
    ends_with(lab, REJECT).await
}

pub(super) async fn gaps_do_not_come_again(lab: &Lab) -> Outcome {
    ends_with(lab, GAP).await
}

pub(super) async fn released_records_come_again(lab: &Lab) -> Outcome {
    let mut stage = lab.stage_holding(10, &[]).await?;
    let code = stage.session.acknowledge(&stage.topic, 0, &[(2, 6, &[RELEASE])]).await?;
    lab.check("the error of the acknowledgement", code, ErrorCode::NONE)?;
    let (_member, mut other) = lab.beside(&stage).await?;
    lab.check_acquired("what another member acquires", &other.acquire(5).await?, "0[2-6x2]")
}

pub(super) async fn one_type_counts_for_a_whole_range(lab: &Lab) -> Outcome {
    let mut stage = lab.stage_holding(10, &[]).await?;
    let code = stage.session.acknowledge(&stage.topic, 0, &[(3, 7, &[RELEASE])]).await?;
    lab.check("the error of the acknowledgement", code, ErrorCode::NONE)?;
    let got = acquired(&stage.session.fetch_some(&stage.session.request()).await?)?;
    lab.check_acquired("what is acquired then", &got, "0[3-7x2]")
}

pub(super) async fn one_type_an_offset_is_applied_offset_by_offset(lab: &Lab) -> Outcome {
    let mut stage = lab.stage_holding(5, &[]).await?;
    let types = [ACCEPT, RELEASE, REJECT, RELEASE, GAP];
    let code = stage.session.acknowledge(&stage.topic, 0, &[(0, 4, &types)]).await?;
    lab.check("the error of the acknowledgement", code, ErrorCode::NONE)?;
    let got = stage.session.acquire(2).await?;
    lab.check_acquired("what is acquired then", &got, "0[1-1x2 3-3x2]")
}

pub(super) async fn batches_of_a_partition_are_applied_each(lab: &Lab) -> Outcome {
    let mut stage = lab.stage_holding(10, &[]).await?;
    let batches: Ranges<'_> = &[(0, 1, &[ACCEPT]), (3, 4, &[RELEASE]), (7, 7, &[RELEASE])];
    let code = stage.session.acknowledge(&stage.topic, 0, batches).await?;
    lab.check("the error of the acknowledgements", code, ErrorCode::NONE)?;
    lab.check_acquired("what is acquired then", &stage.session.acquire(3).await?, "0[3-4x2 7-7x2]")?;
    let code = stage.session.acknowledge(&stage.topic, 0, &[(2, 2, &[ACCEPT]), (8, 9, &[ACCEPT])]).await?;
    lab.check("the error of accepting what is still held", code, ErrorCode::NONE)
}

pub(super) async fn records_are_acknowledged_in_pieces_and_in_any_order(lab: &Lab) -> Outcome {
    let mut stage = lab.stage_holding(10, &[]).await?;
    for (first, last) in [(8, 9), (0, 2), (5, 7), (3, 4)] {
        let code = stage.session.acknowledge(&stage.topic, 0, &[(first, last, &[ACCEPT])]).await?;
        lab.check(&format!("the error of accepting {first} to {last}"), code, ErrorCode::NONE)?;
    }
    stage.session.close().await?;
    lab.produce(&stage.topic, 0, 1).await?;
    let got = lab.session_again(&stage).await?.acquire_through(10).await?;
    lab.check_acquired("what the next session acquires", &got, "0[10-10x1]")
}

pub(super) async fn records_of_several_fetches_are_acknowledged_by_one_batch(lab: &Lab) -> Outcome {
    let mut stage = lab.stage(1, &[]).await?;
    lab.produce_one_by_one(&stage.topic, 0, 6).await?;
    for _ in 0..3 {
        let request = ShareFetchRequest { max_records: 2, ..stage.session.request() };
        stage.session.fetch_some(&request).await?;
    }
    let code = stage.session.acknowledge(&stage.topic, 0, &[(1, 4, &[ACCEPT])]).await?;
    lab.check("the error of accepting 1 to 4", code, ErrorCode::NONE)?;
    stage.session.close().await?;
    let got = lab.session_again(&stage).await?.acquire_through(5).await?;
    lab.check_acquired("what the next session acquires", &got, "0[0-0x2 5-5x2]")
}

pub(super) async fn several_partitions_are_acknowledged_by_one_request(lab: &Lab) -> Outcome {
    let mut stage = lab.stage(2, &[]).await?;
    for partition in 0..2 {
        lab.produce(&stage.topic, partition, 3).await?;
    }
    stage.session.acquire(6).await?;
    let partition = |partition_index, first_offset, kind| AcknowledgePartition {
        partition_index,
        acknowledgement_batches: vec![AcknowledgementBatch {
            first_offset,
            last_offset: first_offset,
            acknowledge_types: vec![kind],
        }],
    };
    let partitions = vec![partition(0, 1, RELEASE), partition(1, 2, RELEASE)];
    let topics = vec![AcknowledgeTopic { topic_id: stage.topic.id, partitions }];
    let request = ShareAcknowledgeRequest { topics, ..stage.session.acknowledgement(&stage.topic, 0, &[]) };
    let response = stage.session.acknowledge_as(&request).await?;
    lab.check("the error of the request", response.error_code, ErrorCode::NONE)?;
    let answered = response.responses.iter().flat_map(|topic| &topic.partitions);
    let mut answered: Vec<_> = answered.map(|partition| (partition.partition_index, partition.error_code)).collect();
    answered.sort_by_key(|(index, _)| *index);
    let wanted = vec![(0, ErrorCode::NONE), (1, ErrorCode::NONE)];
    lab.check("partitions and their errors", answered, wanted)?;
    lab.check_acquired("what is acquired then", &stage.session.acquire(2).await?, "0[1-1x2] 1[2-2x2]")
}
