//! Which versions of requests are offered and answered.

pub(crate) mod answered;
pub(crate) mod features;
pub(crate) mod framing;

use ackflow_protocol::messages::api_versions::{ApiVersionsRequest, ApiVersionsResponse};
use ackflow_protocol::wire::{ApiKey, ErrorCode, Request, decode_response};

use crate::broker::case::cases;
use crate::broker::lab::{Lab, Outcome, Stop, with_version};
use crate::broker::target::asking;

cases! {
    Versions;
    an_unknown_version_of_api_versions_is_answered_in_version_0:
        "ApiVersions in a version that the broker does not know is answered in version 0 with UNSUPPORTED_VERSION and the versions of ApiVersions that \
         it knows, and the connection goes on.",
        "KIP-511, ApiVersions Request/Response Handling";
    each_version_of_api_versions_tells_the_same:
        "ApiVersions is answered in each version that is advertised, with a header of version 0, and tells the same of all APIs in each.",
        "KIP-35; KIP-511; ApiVersionsResponse.json";
    the_share_apis_are_offered_together:
        "A broker that offers one of ShareGroupHeartbeat, ShareGroupDescribe, ShareFetch and ShareAcknowledge offers the others.",
        "KIP-932, Kafka protocol changes";
    the_offset_apis_of_share_groups_are_offered:
        "A broker that has share groups offers DescribeShareGroupOffsets, AlterShareGroupOffsets and DeleteShareGroupOffsets.",
        "KIP-932, Kafka protocol changes";
    early_access_versions_of_share_apis_are_not_offered:
        "Version 0 of ShareGroupHeartbeat, ShareGroupDescribe, ShareFetch and ShareAcknowledge, the early access of Kafka 4.0, is not offered.",
        "ShareGroupHeartbeatRequest.json, ShareFetchRequest.json and the others: validVersions";
    all_brokers_offer_the_same_share_apis:
        "All brokers of a cluster of one release offer the same versions of the share APIs, and tell the same finalized features.",
        "KIP-35; KIP-584";
    software_names_are_checked:
        "A client's software name or version that is empty, or has other characters than letters, digits, dashes and dots, or one of the latter two at an \
         end, is refused with INVALID_REQUEST.",
        "KIP-511, ApiVersions Request/Response Handling";
    a_client_that_means_another_cluster_is_told:
        "A client that names another cluster or another broker than the one it has reached is answered REBOOTSTRAP_REQUIRED.",
        "KIP-1242; ApiVersionsRequest.json, version 5";
}

/// The APIs of members of share groups.
const SHARE_APIS: [ApiKey; 4] =
    [ApiKey::SHARE_GROUP_HEARTBEAT, ApiKey::SHARE_GROUP_DESCRIBE, ApiKey::SHARE_FETCH, ApiKey::SHARE_ACKNOWLEDGE];

/// The versions of an API that are advertised.
fn advertised(lab: &Lab, api: ApiKey) -> Outcome<(i16, i16)> {
    let range = lab.target.info.apis.get(&api.0).copied();
    range.ok_or_else(|| Stop::NotOffered(format!("{api} is not advertised")))
}

/// The share APIs that are advertised, with their versions.
fn share_apis(response: &ApiVersionsResponse) -> Vec<(i16, i16, i16)> {
    let ours = response.api_keys.iter().filter(|api| SHARE_APIS.iter().any(|key| key.0 == api.api_key));
    let mut all: Vec<_> = ours.map(|api| (api.api_key, api.min_version, api.max_version)).collect();
    all.sort_unstable();
    all
}

/// Only where there are share groups.
fn needs_share_groups(lab: &Lab) -> Outcome {
    SHARE_APIS
        .iter()
        .map(|api| advertised(lab, *api))
        .find(Result::is_ok)
        .unwrap_or_else(|| Err(Stop::NotOffered("none of the share APIs is advertised".to_owned())))?;
    Ok(())
}

async fn an_unknown_version_of_api_versions_is_answered_in_version_0(lab: &Lab) -> Outcome {
    let range = advertised(lab, ApiKey::API_VERSIONS)?;
    let mut link = lab.link().await?;
    let frame = with_version(link.frame_of(3, &asking()), range.1 + 1);
    link.send_bytes(&format!("ApiVersions {}, one above the newest that is advertised", range.1 + 1), &frame).await?;
    let answer = link.next_frame().await?.ok_or_else(|| Stop::failed("an answer", "the connection was closed"))?;
    let (_, answer) = decode_response::<ApiVersionsResponse>(answer, 0)
        .map_err(|error| Stop::failed("an answer in version 0", error.to_string()))?;
    lab.check("the error", answer.error_code, ErrorCode::UNSUPPORTED_VERSION)?;
    let told = answer.api_keys.iter().find(|api| api.api_key == ApiKey::API_VERSIONS.0);
    let told = told.map(|api| (api.min_version, api.max_version));
    lab.check("the versions of ApiVersions that are told", told, Some(range))?;
    let next = link.call_in(range.1.min(ApiVersionsRequest::NEWEST_STABLE), &asking()).await?;
    lab.check("the error of a known version then", next.error_code, ErrorCode::NONE)
}

async fn each_version_of_api_versions_tells_the_same(lab: &Lab) -> Outcome {
    let (from, to) = advertised(lab, ApiKey::API_VERSIONS)?;
    let mut first = None;
    for version in from..=to.min(ApiVersionsRequest::NEWEST_STABLE) {
        let response = lab.link().await?.call_in(version, &asking()).await?;
        lab.check(&format!("the error of version {version}"), response.error_code, ErrorCode::NONE)?;
        let mut all: Vec<_> =
            response.api_keys.iter().map(|api| (api.api_key, api.min_version, api.max_version)).collect();
        all.sort_unstable();
        let wanted = first.get_or_insert_with(|| all.clone()).clone();
        lab.check_that(&format!("the APIs that version {version} tells"), all == wanted, "those of the others", &all)?;
    }
    Ok(())
}

async fn the_share_apis_are_offered_together(lab: &Lab) -> Outcome {
    needs_share_groups(lab)?;
    let response = lab.link().await?.call_in(3, &asking()).await?;
    let offered: Vec<i16> = share_apis(&response).into_iter().map(|(key, ..)| key).collect();
    lab.check("the share APIs that are offered", offered, SHARE_APIS.iter().map(|api| api.0).collect())
}

async fn the_offset_apis_of_share_groups_are_offered(lab: &Lab) -> Outcome {
    needs_share_groups(lab)?;
    let response = lab.link().await?.call_in(3, &asking()).await?;
    for api in
        [ApiKey::DESCRIBE_SHARE_GROUP_OFFSETS, ApiKey::ALTER_SHARE_GROUP_OFFSETS, ApiKey::DELETE_SHARE_GROUP_OFFSETS]
    {
        let offered = response.api_keys.iter().any(|offered| offered.api_key == api.0);
        lab.check(&format!("whether {api} is offered"), offered, true)?;
    }
    Ok(())
}

async fn early_access_versions_of_share_apis_are_not_offered(lab: &Lab) -> Outcome {
    needs_share_groups(lab)?;
    let response = lab.link().await?.call_in(3, &asking()).await?;
    for (key, oldest, _) in share_apis(&response) {
        lab.check_that(&format!("the oldest version of {}", ApiKey(key)), oldest >= 1, "1 or newer", &oldest)?;
    }
    Ok(())
}

async fn all_brokers_offer_the_same_share_apis(lab: &Lab) -> Outcome {
    needs_share_groups(lab)?;
    lab.needs_brokers(2)?;
    let mut first = None;
    for node in lab.target.nodes.keys() {
        let response = lab.link_to(*node).await?.call_in(3, &asking()).await?;
        let mut features: Vec<_> =
            response.finalized_features.iter().map(|f| (f.name.clone(), f.max_version_level)).collect();
        features.sort_unstable();
        let told = (share_apis(&response), features);
        let wanted = first.get_or_insert_with(|| told.clone()).clone();
        lab.check(&format!("the share APIs and finalized features of broker {node}"), told, wanted)?;
    }
    Ok(())
}

async fn software_names_are_checked(lab: &Lab) -> Outcome {
    for text in ["", "-client", "client-", ".1", "1.", "two words", "cli\u{eb}nt", "client/1"] {
        let name = ApiVersionsRequest { client_software_name: text.to_owned(), ..asking() };
        let refused = lab.link().await?.call_in(3, &name).await?.error_code;
        lab.check(&format!("the error of the name {text:?}"), refused, ErrorCode::INVALID_REQUEST)?;
        let version = ApiVersionsRequest { client_software_version: text.to_owned(), ..asking() };
        let refused = lab.link().await?.call_in(3, &version).await?.error_code;
        lab.check(&format!("the error of the version {text:?}"), refused, ErrorCode::INVALID_REQUEST)?;
    }
    let fine = ApiVersionsRequest {
        client_software_name: "A.client-2".to_owned(),
        client_software_version: "1.0.0-rc1".to_owned(),
        ..asking()
    };
    let taken = lab.link().await?.call_in(3, &fine).await?.error_code;
    lab.check("the error of names that are fine", taken, ErrorCode::NONE)
}

async fn a_client_that_means_another_cluster_is_told(lab: &Lab) -> Outcome {
    lab.target.offers(ApiKey::API_VERSIONS, 5)?;
    let node = lab.target.info.nodes[0];
    let ours = lab.target.info.cluster_id.clone();
    let ours = ours.ok_or_else(|| Stop::NotOffered("Metadata names no cluster id".to_owned()))?;
    let asked =
        |cluster: &str, node_id| ApiVersionsRequest { cluster_id: Some(cluster.to_owned()), node_id, ..asking() };
    let right = lab.link_to(node).await?.call_in(5, &asked(&ours, node)).await?;
    lab.check("the error where both are right", right.error_code, ErrorCode::NONE)?;
    let other = lab.link_to(node).await?.call_in(5, &asked("another-cluster", node)).await?;
    lab.check("the error of another cluster", other.error_code, ErrorCode::REBOOTSTRAP_REQUIRED)?;
    let other = lab.link_to(node).await?.call_in(5, &asked(&ours, node + 1000)).await?;
    lab.check("the error of another broker", other.error_code, ErrorCode::REBOOTSTRAP_REQUIRED)
}
