//! Admin and producer against brokers: each case runs on the embedded broker, alone and of three nodes, and on the real Kafka that `ACKFLOW_BOOTSTRAP`
//! names (`cargo xtask kafka --fast -- cargo test -p ackflow-client -- --ignored real_kafka_`).

#![expect(clippy::unwrap_used, reason = "a test fails where it unwraps nothing")]

mod admin;
#[cfg(feature = "graviola")]
mod entry;
mod java;
mod producer;
#[path = "../support/mod.rs"]
mod support;
mod telemetry;
mod transactions;

use ackflow_testkit::EmbeddedBroker;

use support::{eventually, unique};

/// Makes three tests of each case, which gets the bootstrap servers.
macro_rules! cases {
    ($($module:ident::$case:ident;)*) => {
        mod embedded {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $case() {
                    let broker = crate::EmbeddedBroker::builder().fast().start().await.unwrap();
                    crate::$module::$case(&broker.bootstrap_servers()).await;
                }
            )*
        }

        mod three_nodes {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $case() {
                    let broker = crate::EmbeddedBroker::builder().fast().nodes(3).start().await.unwrap();
                    crate::$module::$case(&broker.bootstrap_servers()).await;
                }
            )*
        }

        mod real_kafka_ {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                #[ignore = "needs a real Kafka"]
                async fn $case() {
                    let servers = std::env::var("ACKFLOW_BOOTSTRAP").expect("ACKFLOW_BOOTSTRAP has to name a Kafka");
                    crate::$module::$case(&servers).await;
                }
            )*
        }
    };
}

cases! {
    admin::topics_are_created_described_listed_and_deleted;
    admin::replicas_are_placed_as_asked;
    admin::configs_of_groups_and_topics_are_changed_and_read;
    admin::settings_are_awaited_until_every_broker_knows_them;
    admin::configs_of_brokers_are_read_from_the_broker_that_is_asked_about;
    admin::the_cluster_and_its_features_are_described;
    admin::a_share_group_that_does_not_exist_is_an_error_that_names_it;
    admin::a_share_group_is_described_with_its_members_and_lag;
    producer::every_record_is_confirmed_with_its_own_offset_whatever_the_compression;
    producer::what_is_consumed_is_what_was_produced_whatever_the_compression;
    producer::records_without_a_key_reach_every_partition;
    producer::the_brokers_time_is_reported_where_the_topic_wants_it;
    producer::what_the_broker_refuses_is_an_error_and_the_rest_goes_on;
    producer::a_topic_that_cannot_be_is_refused_at_once;
    producer::a_partition_that_does_not_exist_is_refused;
    producer::a_topic_that_is_deleted_and_created_again_is_produced_to;
    producer::records_of_many_tasks_are_all_written_in_the_order_of_each;
}
