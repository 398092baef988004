//! Acknowledgements that make no sense.

use ackflow_protocol::wire::ErrorCode;

use crate::broker::case::cases;
use crate::broker::lab::{ACCEPT, Lab, Outcome, RELEASE, Ranges};

cases! {
    Errors;
    an_unknown_type_of_acknowledgement_is_refused:
        "An acknowledgement of a type that there is not is refused with INVALID_REQUEST for its partition, and nothing is acknowledged.",
        "KIP-932, ShareAcknowledge API; ShareAcknowledgeRequest.json: AcknowledgeTypes";
    an_acknowledgement_without_a_type_is_refused:
        "A range of offsets without any type is refused with INVALID_REQUEST for its partition, and nothing is acknowledged.",
        "ShareAcknowledgeRequest.json: AcknowledgeTypes";
    as_many_types_as_offsets_or_one:
        "A range of offsets with several types that are not as many as its offsets is refused with INVALID_REQUEST for its partition, and nothing is \
         acknowledged.",
        "ShareAcknowledgeRequest.json: AcknowledgeTypes";
    a_range_that_ends_before_it_begins_is_refused:
        "A range whose last offset is below its first is refused with INVALID_REQUEST for its partition, and nothing is acknowledged.",
        "ShareAcknowledgeRequest.json: FirstOffset, LastOffset";
    ranges_that_overlap_are_refused:
        "Ranges of one partition that have offsets in common are refused with INVALID_REQUEST for the partition, and nothing is acknowledged.",
        "ShareAcknowledgeRequest.json: AcknowledgementBatches";
    ranges_that_do_not_ascend_are_refused:
        "Ranges of one partition that do not ascend are refused with INVALID_REQUEST for the partition, and nothing is acknowledged.",
        "ShareAcknowledgeRequest.json: AcknowledgementBatches";
    offsets_below_0_are_refused:
        "A range that begins below offset 0 is refused with INVALID_REQUEST or INVALID_RECORD_STATE for its partition, and nothing is acknowledged.",
        "ShareAcknowledgeRequest.json: FirstOffset";
    a_range_of_all_offsets_costs_nothing:
        "A range from 0 to the largest offset that there is is refused at once, for its partition, and nothing is acknowledged.",
        "KIP-932, ShareAcknowledge API";
    a_fetch_is_as_strict_with_acknowledgements:
        "Acknowledgements that a ShareFetch carries are checked as those of ShareAcknowledge: INVALID_REQUEST is the acknowledge error of the partition, \
         and the fetch itself has no error.",
        "KIP-932, ShareFetch API; ShareFetchResponse.json: AcknowledgeErrorCode";
}

/// Acknowledges ranges of ten records that a member holds, and checks that they are refused and that it still holds all ten.
async fn refused(lab: &Lab, what: &str, ranges: Ranges<'_>, with: &[ErrorCode]) -> Outcome {
    let topic = lab.topic(1).await?;
    let member = lab.member(&lab.group().await?, &[&topic]).await?;
    lab.produce(&topic, 0, 10).await?;
    let mut session = lab.session(&member, &[&topic]).await?;
    session.acquire(10).await?;
    let code = session.acknowledge(&topic, 0, ranges).await?;
    lab.check_that(&format!("the error of {what}"), with.contains(&code), &format!("{with:?}"), &code)?;
    let all = session.acknowledge(&topic, 0, &[(0, 9, &[ACCEPT])]).await?;
    lab.check("the error of an acknowledgement of all records then", all, ErrorCode::NONE)
}

const INVALID: &[ErrorCode] = &[ErrorCode::INVALID_REQUEST];

async fn an_unknown_type_of_acknowledgement_is_refused(lab: &Lab) -> Outcome {
    for kind in [-1, 5, i8::MAX, i8::MIN] {
        refused(lab, &format!("the type {kind}"), &[(0, 9, &[kind])], INVALID).await?;
    }
    refused(lab, "the type 5 among others", &[(0, 3, &[ACCEPT, ACCEPT, 5, RELEASE])], INVALID).await
}

async fn an_acknowledgement_without_a_type_is_refused(lab: &Lab) -> Outcome {
    refused(lab, "a range without a type", &[(0, 9, &[])], INVALID).await
}

async fn as_many_types_as_offsets_or_one(lab: &Lab) -> Outcome {
    refused(lab, "two types for ten offsets", &[(0, 9, &[ACCEPT; 2])], INVALID).await?;
    refused(lab, "eleven types for ten offsets", &[(0, 9, &[ACCEPT; 11])], INVALID).await?;
    refused(lab, "two types for one offset", &[(0, 0, &[ACCEPT; 2])], INVALID).await
}

async fn a_range_that_ends_before_it_begins_is_refused(lab: &Lab) -> Outcome {
    refused(lab, "a range from 5 to 4", &[(5, 4, &[ACCEPT])], INVALID).await?;
    refused(lab, "a range from 9 to 0", &[(9, 0, &[ACCEPT])], INVALID).await
}

async fn ranges_that_overlap_are_refused(lab: &Lab) -> Outcome {
    refused(lab, "the ranges 0 to 5 and 4 to 9", &[(0, 5, &[ACCEPT]), (4, 9, &[ACCEPT])], INVALID).await?;
    refused(lab, "the ranges 0 to 9 and 3 to 4", &[(0, 9, &[ACCEPT]), (3, 4, &[RELEASE])], INVALID).await
}

async fn ranges_that_do_not_ascend_are_refused(lab: &Lab) -> Outcome {
    refused(lab, "the ranges 5 to 9 and 0 to 4", &[(5, 9, &[ACCEPT]), (0, 4, &[ACCEPT])], INVALID).await
}

async fn offsets_below_0_are_refused(lab: &Lab) -> Outcome {
    let known = [ErrorCode::INVALID_REQUEST, ErrorCode::INVALID_RECORD_STATE];
    refused(lab, "a range from -5 to -3", &[(-5, -3, &[ACCEPT])], &known).await
}

async fn a_range_of_all_offsets_costs_nothing(lab: &Lab) -> Outcome {
    let known = [ErrorCode::INVALID_REQUEST, ErrorCode::INVALID_RECORD_STATE];
    refused(lab, "a range of all offsets", &[(0, i64::MAX, &[ACCEPT])], &known).await
}

async fn a_fetch_is_as_strict_with_acknowledgements(lab: &Lab) -> Outcome {
    let topic = lab.topic(1).await?;
    let member = lab.member(&lab.group().await?, &[&topic]).await?;
    lab.produce(&topic, 0, 10).await?;
    let mut session = lab.session(&member, &[&topic]).await?;
    session.acquire(10).await?;
    let spoiled: [(&str, Ranges<'_>); 5] = [
        ("the type 5", &[(0, 9, &[5])]),
        ("no type", &[(0, 9, &[])]),
        ("two types for ten offsets", &[(0, 9, &[ACCEPT; 2])]),
        ("a range from 5 to 4", &[(5, 4, &[ACCEPT])]),
        ("ranges that do not ascend", &[(5, 9, &[ACCEPT]), (0, 4, &[ACCEPT])]),
    ];
    for (what, ranges) in spoiled {
        let response = session.fetch_as(&session.piggyback(&topic, 0, ranges)).await?;
        lab.check("the error of the request", response.error_code, ErrorCode::NONE)?;
        let answered = response.responses.iter().flat_map(|topic| &topic.partitions);
        let codes: Vec<_> = answered.map(|p| (p.error_code, p.acknowledge_error_code)).collect();
        let wanted = vec![(ErrorCode::NONE, ErrorCode::INVALID_REQUEST)];
        lab.check(&format!("the errors of the partition, with {what}"), codes, wanted)?;
    }
    let all = session.acknowledge(&topic, 0, &[(0, 9, &[ACCEPT])]).await?;
    lab.check("the error of an acknowledgement of all records then", all, ErrorCode::NONE)
}
