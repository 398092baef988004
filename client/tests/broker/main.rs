//! What brokers answer to bare requests: each case runs on the embedded broker and on the real Kafka that `ACKFLOW_BOOTSTRAP` names
//! (`cargo xtask kafka --fast -- cargo test -p ackflow-client --test broker -- --ignored real_kafka_`), and both have to say the same.

#![expect(clippy::unwrap_used, reason = "a test fails where it unwraps nothing")]

mod classic;
mod commits;
mod listings;
mod logs;
mod members;
mod share;
mod share_offsets;
#[path = "../support/mod.rs"]
mod support;
mod transactional_offsets;
mod transactions;

use std::fmt::Write;
use std::time::Duration;

use ackflow_client::ClientConfig;
use ackflow_client::net::{Connection, Pool};
use ackflow_protocol::messages::create_topics::{CreatableTopic, CreateTopicsRequest};
use ackflow_protocol::messages::describe_transactions::DescribeTransactionsRequest;
use ackflow_protocol::messages::find_coordinator::FindCoordinatorRequest;
use ackflow_protocol::messages::list_offsets::{ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic};
use ackflow_protocol::messages::metadata::{MetadataRequest, MetadataRequestTopic};
use ackflow_protocol::wire::{ErrorCode, Request, Uuid, decode_response, encode_request};
use ackflow_testkit::EmbeddedBroker;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use support::{eventually, unique};

const TIMEOUT: Duration = Duration::from_secs(20);

/// One broker that leads and coordinates everything.
struct Broker {
    servers: String,
    connection: Connection,
    _embedded: Option<EmbeddedBroker>,
}

impl Broker {
    async fn embedded() -> Self {
        let embedded = EmbeddedBroker::start().await.unwrap();
        let servers = embedded.bootstrap_servers();
        Self { connection: Self::connect(&servers).await, servers, _embedded: Some(embedded) }
    }

    async fn real() -> Self {
        let servers = std::env::var("ACKFLOW_BOOTSTRAP").expect("ACKFLOW_BOOTSTRAP has to name a Kafka");
        Self { connection: Self::connect(&servers).await, servers, _embedded: None }
    }

    async fn connect(servers: &str) -> Connection {
        Pool::new(ClientConfig::new(servers).unwrap()).any().await.unwrap()
    }

    async fn call<R: Request>(&self, request: &R) -> R::Response {
        self.connection.call(request, TIMEOUT).await.unwrap()
    }

    /// A call in a version that is not the newest, on a connection of its own.
    async fn call_version<R: Request>(&self, version: i16, request: &R) -> R::Response {
        let mut stream = TcpStream::connect(&self.servers).await.unwrap();
        stream.write_all(&encode_request(request, version, 7, None).unwrap()).await.unwrap();
        let size = stream.read_u32().await.unwrap();
        let mut frame = vec![0; usize::try_from(size).unwrap()];
        stream.read_exact(&mut frame).await.unwrap();
        decode_response::<R::Response>(frame.into(), version).unwrap().1
    }

    /// A new topic, which the broker knows.
    async fn topic(&self, partitions: i32) -> (String, Uuid) {
        let name = unique("topic");
        let topic = CreatableTopic {
            name: name.clone(),
            num_partitions: partitions,
            replication_factor: 1,
            ..Default::default()
        };
        let request = CreateTopicsRequest { topics: vec![topic], timeout_ms: 10_000, ..Default::default() };
        let created = self.call(&request).await.topics.remove(0);
        assert!(created.error_code.is_none(), "{created:?}");
        let asked = MetadataRequestTopic { name: Some(name.clone()), ..Default::default() };
        let request = MetadataRequest { topics: Some(vec![asked]), ..Default::default() };
        eventually("the topic", async || {
            let topic = self.call(&request).await.topics.remove(0);
            (topic.error_code.is_none() && topic.partitions.iter().all(|p| p.leader_id >= 0)).then_some(())
        })
        .await;
        let partition = |partition_index| ListOffsetsPartition { partition_index, timestamp: -1, ..Default::default() };
        let asked = ListOffsetsTopic { name: name.clone(), partitions: (0..partitions).map(partition).collect() };
        let request = ListOffsetsRequest { replica_id: -1, topics: vec![asked], ..Default::default() };
        eventually("a leader that leads", async || {
            let topic = self.call(&request).await.topics.remove(0);
            topic.partitions.iter().all(|partition| partition.error_code.is_none()).then_some(())
        })
        .await;
        (name, created.topic_id)
    }

    /// Waits until what coordinates a group (0) or a transactional id (1) is there.
    async fn coordinator(&self, key_type: i8, key: &str) {
        let find = FindCoordinatorRequest { key_type, coordinator_keys: vec![key.to_owned()], ..Default::default() };
        eventually("the coordinator", async || {
            self.call(&find).await.coordinators[0].error_code.is_none().then_some(())
        })
        .await;
        if key_type == 1 {
            let request = DescribeTransactionsRequest { transactional_ids: vec![key.to_owned()] };
            eventually("a coordinator that has loaded", async || {
                let code = self.call(&request).await.transaction_states[0].error_code;
                (code == ErrorCode::TRANSACTIONAL_ID_NOT_FOUND).then_some(())
            })
            .await;
        }
    }

    /// A new group, whose coordinator is there.
    async fn group(&self) -> String {
        let group = unique("group");
        self.coordinator(0, &group).await;
        group
    }
}

/// What happened, line by line.
#[derive(Default)]
struct Log(String);

impl Log {
    fn say(&mut self, what: &str, how: impl std::fmt::Display) {
        writeln!(self.0, "{what}: {how}").unwrap();
    }

    fn code(&mut self, what: &str, code: ErrorCode) {
        self.say(what, code.name().unwrap_or("?"));
    }
}

/// Makes two tests of each case, which has to say what stands beside it.
macro_rules! cases {
    ($($module:ident::$case:ident;)*) => {
        mod embedded {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $case() {
                    crate::$module::$case(&crate::Broker::embedded().await).await;
                }
            )*
        }

        mod real_kafka_ {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                #[ignore = "needs a real Kafka"]
                async fn $case() {
                    crate::$module::$case(&crate::Broker::real().await).await;
                }
            )*
        }
    };
}

cases! {
    members::heartbeats_that_are_refused;
    members::partitions_go_to_the_next_member_when_they_are_given_up;
    members::static_members;
    members::groups_are_described_and_deleted;
    commits::commits_that_are_refused;
    commits::offsets_are_read_back;
    commits::offsets_are_deleted;
    commits::offsets_of_topics_that_are_deleted;
    classic::members_join_and_the_leader_assigns;
    classic::what_members_say_wrong;
    classic::static_members_of_the_classic_protocol_come_back;
    listings::topics_are_described_in_pages;
    listings::what_has_settings_is_listed;
    logs::fetches_are_bounded;
    logs::sessions_of_fetches;
    logs::open_and_aborted_transactions_are_told;
    logs::markers_that_brokers_write;
    logs::offsets_are_found_and_records_deleted;
    share::share_groups_read_what_is_committed;
    share_offsets::offsets_of_share_groups_are_deleted;
    share_offsets::offsets_of_share_groups_are_set;
    transactional_offsets::offsets_count_when_their_transaction_is_committed;
    transactional_offsets::transactional_commits_that_are_refused;
    transactions::a_producer_that_comes_back_gets_another_epoch;
    transactions::an_open_transaction_is_aborted_by_who_comes_next;
    transactions::each_end_begins_another_epoch;
    transactions::older_ends_keep_the_epoch;
    transactions::records_that_are_refused;
    transactions::transactions_are_described;
}
