//! Every case on the embedded broker, and on the real Kafka that `ACKFLOW_BOOTSTRAP` names (`cargo xtask kafka --fast -- cargo test -p ackflow-conformance --test
//! broker -- --ignored real_kafka_`): both keep every rule.

use std::collections::BTreeSet;

use ackflow_client::ClientConfig;
use ackflow_conformance::Verdict;
use ackflow_conformance::broker::{self, Group, Options, Selection};
use ackflow_testkit::{EmbeddedBroker, EmbeddedBrokerBuilder};

/// Plays all cases, of which none may fail, and says which are not offered.
async fn not_offered(servers: &str) -> BTreeSet<String> {
    let config = ClientConfig::new(servers).expect("the address of a broker");
    let report = broker::run(&config, &Options::default(), |_| {}).await.expect("a broker");
    let failed: Vec<_> = report.cases.iter().filter(|case| case.verdict == Verdict::Failed).collect();
    let told: Vec<_> = failed.iter().map(|case| case.to_line()).collect();
    assert!(failed.is_empty(), "{}", told.join("\n"));
    assert_eq!(report.cases.len(), Selection::default().cases().count());
    let cases = report.cases.into_iter().filter(|case| case.verdict == Verdict::NotOffered);
    cases.map(|case| format!("{} {}", case.group, case.name)).collect()
}

async fn embedded(builder: EmbeddedBrokerBuilder) -> BTreeSet<String> {
    let broker = builder.fast().start().await.expect("a broker that starts");
    let missing = not_offered(&broker.bootstrap_servers()).await;
    broker.shutdown().await;
    missing
}

/// Sees that nothing else is missing than these cases or groups.
fn excused(missing: &BTreeSet<String>, groups: &[&str]) {
    let unexpected: Vec<_> =
        missing.iter().filter(|case| !groups.iter().any(|group| case.starts_with(group))).collect();
    assert!(unexpected.is_empty(), "not offered: {unexpected:#?}");
}

/// What one broker with default limits does not have.
const OF_OTHER_CLUSTERS: &[&str] = &[
    "versions all-brokers-offer-the-same-share-apis",
    "acquisition a-broker-that-does-not-lead-names-who-does",
    "transactions who-does-not-coordinate-a-transactional-id-says-so",
    "transactions a-transaction-ends-on-all-brokers",
    "limits a-broker-has-no-more-sessions-than-it-may",
    "limits a-session-that-ends-makes-room",
];

#[tokio::test]
async fn one_broker_keeps_every_rule() {
    let missing = embedded(EmbeddedBroker::builder()).await;
    excused(&missing, &[OF_OTHER_CLUSTERS, &["transactional-acknowledgement "]].concat());
}

#[tokio::test]
async fn three_brokers_keep_every_rule() {
    let builder = EmbeddedBroker::builder().nodes(3).config("group.share.max.share.sessions", "300");
    excused(&embedded(builder).await, &["transactional-acknowledgement "]);
}

#[tokio::test]
async fn a_broker_without_dead_letters_keeps_every_rule_but_theirs() {
    let missing = embedded(EmbeddedBroker::builder().share_version(1)).await;
    assert!(missing.iter().any(|case| case.starts_with("dlq ")), "{missing:#?}");
    excused(&missing, &[OF_OTHER_CLUSTERS, &["dlq ", "transactional-acknowledgement "]].concat());
}

#[tokio::test]
async fn a_broker_without_share_groups_is_told_so() {
    let missing = embedded(EmbeddedBroker::builder().share_version(0)).await;
    for group in [Group::Membership, Group::Sessions, Group::Renewal, Group::Lag] {
        let cases = broker::all().filter(|case| case.group == group).count();
        let of_group = missing.iter().filter(|case| case.starts_with(&format!("{} ", group.name())));
        assert_eq!(of_group.count(), cases, "{group:?}: {missing:#?}");
    }
}

#[cfg(feature = "unstable-kip-1289")]
#[tokio::test]
async fn a_broker_with_the_draft_keeps_its_rules() {
    excused(&embedded(EmbeddedBroker::builder().share_version(3)).await, OF_OTHER_CLUSTERS);
}

#[tokio::test]
#[ignore = "needs a broker: cargo xtask kafka"]
async fn real_kafka_keeps_every_rule() {
    let servers = std::env::var("ACKFLOW_BOOTSTRAP").expect("ACKFLOW_BOOTSTRAP has to name a Kafka");
    excused(&not_offered(&servers).await, &[OF_OTHER_CLUSTERS, &["transactional-acknowledgement "]].concat());
}
