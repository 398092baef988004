//! The schema oracle: our messages against Apache's schemas, field by field, with each difference named.
//!
//! Both sides are brought into one form, a [`Listing`]: ours by running `encode` and `decode` with nothing behind them
//! ([`listing`]), Apache's by reading the JSON in the kafka-clients jar ([`schema`]). [`compare`] names what differs.
//! Tests that need the jar are ignored; `cargo xtask schemas` fetches it and runs them.

mod compare;
mod facts;
mod jar;
mod lister;
mod listing;
mod mutations;
mod planted;
mod recorder;
mod sampler;
mod schema;

use std::collections::BTreeSet;

use ackflow_protocol::messages::embedded::Embedded;
use ackflow_protocol::wire::{Message, Request, RequestHeader, ResponseHeader};
use ackflow_protocol::{for_each_api, for_each_embedded};

use compare::{Difference, differences};
use facts::Listing;
use listing::listing;

/// The APIs of Kafka 4.4.0 that the codec leaves out: between brokers and controllers, of quotas, delegation tokens, log
/// directories and streams groups.
const LEFT_OUT: &[&str] = &[
    "AddRaftVoter",
    "AllocateProducerIds",
    "AlterClientQuotas",
    "AlterPartition",
    "AlterReplicaLogDirs",
    "AssignReplicasToDirs",
    "BeginQuorumEpoch",
    "BrokerHeartbeat",
    "BrokerRegistration",
    "ControllerRegistration",
    "CreateDelegationToken",
    "DescribeClientQuotas",
    "DescribeDelegationToken",
    "DescribeLogDirs",
    "DescribeQuorum",
    "EndQuorumEpoch",
    "Envelope",
    "ExpireDelegationToken",
    "FetchSnapshot",
    "RemoveRaftVoter",
    "RenewDelegationToken",
    "StreamsGroupDescribe",
    "StreamsGroupHeartbeat",
    "StreamsGroupTopologyDescriptionUpdate",
    "UnregisterBroker",
    "UnregisterController",
    "UpdateRaftVoter",
    "Vote",
];

/// Differences that are meant: a leader that is not known is -1 and not broker 0, and no records may be null, which
/// brokers other than Apache's write.
const MEANT: [&str; 6] = [
    "MetadataResponse.topics.partitions.leaderId: the default is -1 here, by Default, and 0 in Kafka",
    "ShareAcknowledgeResponse.responses.partitions.currentLeader.leaderEpoch: the default is -1 here, by Default, and 0 in Kafka",
    "ShareAcknowledgeResponse.responses.partitions.currentLeader.leaderId: the default is -1 here, by Default, and 0 in Kafka",
    "ShareFetchResponse.responses.partitions.currentLeader.leaderEpoch: the default is -1 here, by Default, and 0 in Kafka",
    "ShareFetchResponse.responses.partitions.currentLeader.leaderId: the default is -1 here, by Default, and 0 in Kafka",
    "ShareFetchResponse.responses.partitions.records: the set of versions in which it may be null is 1-2 here and none in Kafka",
];

fn of_request<R: Request>() -> Listing {
    Listing { newest_stable: Some(R::NEWEST_STABLE), ..of_message::<R>() }
}

fn of_message<M: Message>() -> Listing {
    Listing { key: M::KEY.0, ..listing::<M>(M::NAME, M::VERSIONS, M::FLEXIBLE_FROM) }
}

fn of_embedded<T: Embedded>() -> Listing {
    listing::<T>(T::NAME, T::VERSIONS, i16::MAX)
}

/// All that the codec has, but for drafts that Kafka does not know.
fn ours() -> Vec<Listing> {
    let mut listings = vec![
        listing::<RequestHeader>("RequestHeader", 1..=2, 2),
        listing::<ResponseHeader>("ResponseHeader", 0..=1, 1),
    ];
    macro_rules! add {
        ($($name:ident($request:ty, $response:ty)),* $(,)?) => {$(
            listings.push(of_request::<$request>());
            listings.push(of_message::<$response>());
        )*};
    }
    for_each_api!(add);
    macro_rules! add_embedded {
        ($($name:ident($type:ty)),* $(,)?) => { $(listings.push(of_embedded::<$type>());)* };
    }
    for_each_embedded!(add_embedded);
    listings.retain(|listing| !listing.name.starts_with("TxnShareAcknowledge"));
    listings
}

#[test]
fn no_api_that_is_here_is_in_the_list_of_what_is_left_out() {
    let names: Vec<String> = ours().into_iter().map(|listing| listing.name).collect();
    let both: Vec<_> = LEFT_OUT.iter().filter(|api| names.contains(&format!("{api}Request"))).collect();
    assert!(both.is_empty(), "take out of LEFT_OUT: {both:?}");
}

#[test]
#[ignore = "needs Kafka's jars: run `cargo xtask schemas`"]
fn kafka_schemas_say_what_the_codec_does() {
    let schemas = jar::schemas();
    let mut found: Vec<String> = Vec::new();
    let (mut messages, mut fields) = (0, 0);
    for ours in ours() {
        let Some(schema) = schemas.get(&ours.name) else {
            found.push(format!("{}: Kafka has no such message", ours.name));
            continue;
        };
        messages += 1;
        fields += ours.fields.len();
        found.extend(differences(&ours, &schema::listing(schema)).iter().map(Difference::to_string));
    }
    let unmeant: Vec<&String> = found.iter().filter(|difference| !MEANT.contains(&difference.as_str())).collect();
    assert!(unmeant.is_empty(), "{} differences: {unmeant:#?}", unmeant.len());
    let gone: Vec<_> = MEANT.iter().filter(|meant| !found.iter().any(|difference| difference == *meant)).collect();
    assert!(gone.is_empty(), "not found, though it is meant: {gone:#?}");
    println!("schema oracle: {messages} messages, {fields} fields, {} differences, all meant", MEANT.len());
}

#[test]
#[ignore = "needs Kafka's jars: run `cargo xtask schemas`"]
fn kafka_has_no_api_that_is_neither_here_nor_left_out() {
    let here: BTreeSet<String> = ours().into_iter().map(|listing| listing.name).collect();
    let mut left_out: BTreeSet<&str> = LEFT_OUT.iter().copied().collect();
    let mut problems = Vec::new();
    for (name, schema) in jar::schemas() {
        let Some(api) = name.strip_suffix("Request").filter(|_| schema::text(&schema, "type") == "request") else {
            continue;
        };
        let (key, versions) = (&schema["apiKey"], schema::text(&schema, "validVersions"));
        match (here.contains(&name), left_out.remove(api)) {
            (true, false) | (false, true) => {}
            (true, true) => problems.push(format!("{api} is here and in the list of what is left out")),
            (false, false) => {
                problems.push(format!("{api} (key {key}, versions {versions}) is neither here nor left out"))
            }
        }
    }
    problems.extend(left_out.iter().map(|api| format!("{api} is left out, and Kafka has no such API")));
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}
