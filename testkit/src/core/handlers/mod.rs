//! The APIs, one file each.

pub(super) mod acknowledgements;
pub(super) mod add_offsets_to_txn;
pub(super) mod add_partitions_to_txn;
pub(super) mod alter_share_group_offsets;
pub(super) mod api_versions;
pub(super) mod consumer_group_describe;
pub(super) mod consumer_group_heartbeat;
pub(super) mod create_partitions;
pub(super) mod create_topics;
pub(super) mod delete_groups;
pub(super) mod delete_records;
pub(super) mod delete_share_group_offsets;
pub(super) mod delete_topics;
pub(super) mod describe_cluster;
pub(super) mod describe_configs;
pub(super) mod describe_groups;
pub(super) mod describe_producers;
pub(super) mod describe_share_group_offsets;
pub(super) mod describe_topic_partitions;
pub(super) mod describe_transactions;
pub(super) mod end_txn;
pub(super) mod fetch;
pub(super) mod find_coordinator;
pub(super) mod heartbeat;
pub(super) mod incremental_alter_configs;
pub(super) mod init_producer_id;
pub(super) mod join_group;
pub(super) mod leave_group;
pub(super) mod list_config_resources;
pub(super) mod list_groups;
pub(super) mod list_offsets;
pub(super) mod list_transactions;
pub(super) mod metadata;
pub(super) mod offset_commit;
pub(super) mod offset_delete;
pub(super) mod offset_fetch;
pub(super) mod offset_for_leader_epoch;
pub(super) mod produce;
pub(super) mod sasl_authenticate;
pub(super) mod sasl_handshake;
pub(super) mod share_acknowledge;
pub(super) mod share_fetch;
pub(super) mod share_group_describe;
pub(super) mod share_group_heartbeat;
pub(super) mod sync_group;
pub(super) mod txn_offset_commit;
#[cfg(feature = "unstable-kip-1289")]
pub(super) mod txn_share_acknowledge;
pub(super) mod write_txn_markers;

/// What anybody may do with the cluster, a topic and a group, as bits of Kafka's operation codes: there are no ACLs.
const CLUSTER_OPERATIONS: i32 = 8096;
const TOPIC_OPERATIONS: i32 = 3576;
const GROUP_OPERATIONS: i32 = 3400;
/// Of a partition that does not exist, in Kafka's words.
const NOT_HOSTED: &str = "This server does not host this topic-partition.";
/// Stands for a node where there is none.
const NO_NODE: i32 = -1;
/// What stands in their place where they were not asked for.
const NO_OPERATIONS: i32 = i32::MIN;

/// The operations where they were asked for.
fn operations(asked: bool, operations: i32) -> i32 {
    if asked { operations } else { NO_OPERATIONS }
}
