//! Positions in partitions.

use std::collections::BTreeMap;

use ackflow_client::share::TopicPartition;

/// For each partition the offset after the highest one that was put.
///
/// In a share group these are no positions in a stream: the records below such an offset may be with other tasks, and a record that was
/// released comes again with its old, lower offset.
pub type Offsets = BTreeMap<TopicPartition, i64>;
