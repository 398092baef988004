//! The messages: one file an API, request and response together.
//!
//! A struct has the schema's name and its fields in the schema's order and types, so that Apache Kafka's
//! documentation of a message is the documentation of its struct; the nested structs of one API are scoped in its
//! module. Versions follow three rules:
//!
//! - A field that a version lacks reads as the schema's default, which is not always zero (a leader epoch is -1).
//! - Writing to a version that lacks a field drops the value where the schema calls the field ignorable; elsewhere a
//!   value other than the default is an [`EncodeError`](crate::wire::EncodeError).
//! - `Option` means null on the wire, never "absent by version". A nullable field for which the schema names no default
//!   is `None` by default.

pub mod add_offsets_to_txn;
pub mod add_partitions_to_txn;
pub mod alter_configs;
pub mod alter_partition_reassignments;
pub mod alter_share_group_offsets;
pub mod alter_user_scram_credentials;
pub mod api_versions;
pub mod consumer_group_describe;
pub mod consumer_group_heartbeat;
pub mod consumer_protocol;
pub mod control_record;
pub mod create_acls;
pub mod create_partitions;
pub mod create_topics;
pub mod delete_acls;
pub mod delete_groups;
pub mod delete_records;
pub mod delete_share_group_offsets;
pub mod delete_share_group_state;
pub mod delete_topics;
pub mod describe_acls;
pub mod describe_cluster;
pub mod describe_configs;
pub mod describe_groups;
pub mod describe_producers;
pub mod describe_share_group_offsets;
pub mod describe_topic_partitions;
pub mod describe_transactions;
pub mod describe_user_scram_credentials;
#[cfg(feature = "json")]
pub mod dynamic;
pub mod elect_leaders;
pub mod embedded;
pub mod end_txn;
pub mod fetch;
pub mod find_coordinator;
pub mod get_telemetry_subscriptions;
pub mod heartbeat;
pub mod incremental_alter_configs;
pub mod init_producer_id;
pub mod initialize_share_group_state;
pub mod join_group;
pub mod leave_group;
pub mod list_config_resources;
pub mod list_groups;
pub mod list_offsets;
pub mod list_partition_reassignments;
pub mod list_transactions;
pub mod metadata;
pub mod offset_commit;
pub mod offset_delete;
pub mod offset_fetch;
pub mod offset_for_leader_epoch;
pub mod produce;
pub mod push_telemetry;
pub mod read_share_group_state;
pub mod read_share_group_state_summary;
mod redacted;
mod registry;
pub mod sasl_authenticate;
pub mod sasl_handshake;
pub mod share_acknowledge;
pub mod share_fetch;
pub mod share_group_describe;
pub mod share_group_heartbeat;
pub mod sync_group;
#[cfg(test)]
mod tests;
pub mod txn_offset_commit;
#[cfg(feature = "unstable-kip-1289")]
pub mod txn_share_acknowledge;
pub mod update_features;
pub mod write_share_group_state;
pub mod write_txn_markers;

/// The value of authorized operations that were not asked for.
pub const OPERATIONS_NOT_REQUESTED: i32 = i32::MIN;
