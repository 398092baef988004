//! Who coordinates transactions.

use ackflow_protocol::messages::end_txn::EndTxnRequest;
use ackflow_protocol::messages::find_coordinator::FindCoordinatorRequest;
use ackflow_protocol::wire::ErrorCode;

use crate::broker::case::cases;
use crate::broker::lab::producer::{describe, init};
use crate::broker::lab::{Isolation, Kind, Lab, Outcome, Stop};

cases! {
    Transactions;
    transactional_ids_have_a_coordinator_each:
        "FindCoordinator with key type 1 names a broker of the cluster for each of several transactional ids, and the same one each time.",
        "KIP-98, FindCoordinatorRequest; KIP-699";
    a_kind_of_coordinator_that_nobody_knows_is_refused:
        "FindCoordinator with a key type that there is not is refused with INVALID_REQUEST.",
        "FindCoordinator schema: KeyType";
    who_does_not_coordinate_a_transactional_id_says_so:
        "InitProducerId, EndTxn and DescribeTransactions are answered NOT_COORDINATOR by a broker that does not coordinate the transactional id.",
        "KIP-98, Transaction coordinator";
    a_transaction_ends_on_all_brokers:
        "A transaction over partitions of several leaders ends in all of them.",
        "KIP-98, WriteTxnMarkerRequest";
}

async fn transactional_ids_have_a_coordinator_each(lab: &Lab) -> Outcome {
    let keys: Vec<String> = (0..5).map(|_| lab.unique("transaction")).collect();
    // The first of all makes the topic of transactions, which takes its time.
    lab.coordinator(Kind::Transaction, &keys[0]).await?;
    let request = FindCoordinatorRequest { key_type: 1, coordinator_keys: keys.clone(), ..Default::default() };
    if lab.target.version::<FindCoordinatorRequest>()? < 4 {
        return Err(Stop::NotOffered("FindCoordinator 4 is not advertised".into()));
    }
    let mut before = None;
    for node in &lab.target.info.nodes {
        let found = lab.link_to(*node).await?.call(&request).await?.coordinators;
        let mut found: Vec<_> = found.into_iter().map(|found| (found.key, found.node_id, found.error_code)).collect();
        found.sort_unstable_by(|one, other| one.0.cmp(&other.0));
        let asked = found.iter().map(|(key, ..)| key).collect::<std::collections::BTreeSet<_>>();
        lab.check("the keys that are answered", asked.len(), keys.len())?;
        let known = found.iter().all(|(_, node, code)| code.is_none() && lab.target.nodes.contains_key(node));
        lab.check_that("the coordinators", known, "brokers of the cluster", &found)?;
        let same = before.get_or_insert_with(|| found.clone());
        lab.check("the coordinators that each broker names", &found, &*same)?;
    }
    Ok(())
}

async fn a_kind_of_coordinator_that_nobody_knows_is_refused(lab: &Lab) -> Outcome {
    let request =
        FindCoordinatorRequest { key_type: 9, coordinator_keys: vec![lab.unique("nobody")], ..Default::default() };
    let response = lab.link().await?.call(&request).await?;
    let code = response.coordinators.first().map_or(response.error_code, |found| found.error_code);
    lab.check("the error", code, ErrorCode::INVALID_REQUEST)
}

async fn who_does_not_coordinate_a_transactional_id_says_so(lab: &Lab) -> Outcome {
    lab.needs_brokers(2)?;
    let mut producer = lab.producer().await?;
    let request =
        FindCoordinatorRequest { key_type: 1, coordinator_keys: vec![producer.id.clone()], ..Default::default() };
    let found = producer.link.call(&request).await?.coordinators.into_iter().map(|found| found.node_id).next();
    let other = lab.target.info.nodes.iter().find(|node| Some(**node) != found).copied().unwrap_or_default();
    let mut other = lab.link_to(other).await?;
    lab.check("InitProducerId", other.call(&init(Some(&producer.id))).await?.error_code, ErrorCode::NOT_COORDINATOR)?;
    let version = producer.version::<EndTxnRequest>()?;
    let ended = other.call_in(version, &producer.end_request(true)).await?.error_code;
    lab.check("EndTxn", ended, ErrorCode::NOT_COORDINATOR)?;
    let described = describe(&mut other, &producer.id).await?.error_code;
    lab.check("DescribeTransactions", described, ErrorCode::NOT_COORDINATOR)
}

async fn a_transaction_ends_on_all_brokers(lab: &Lab) -> Outcome {
    lab.needs_brokers(2)?;
    let topic = lab.topic(6).await?;
    let mut producer = lab.producer().await?;
    for partition in 0..6 {
        producer.write(&topic, partition, 1).await?;
    }
    producer.end(true).await?;
    for partition in 0..6 {
        let what = format!("committed records of partition {partition}, led by {}", topic.leader(partition));
        let seen = lab.eventually("the marker is readable", async || {
            let seen = lab.read(&topic, partition, Isolation::Committed).await?;
            Ok((seen.data.last_stable_offset == 2).then_some(seen))
        });
        lab.check(&what, seen.await?.committed(), vec![0])?;
    }
    Ok(())
}
