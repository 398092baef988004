//! Partitions: their number, places, leaders, offsets, producers.

use ackflow_client::admin::{
    Admin, ElectionType, IsolationLevel, ListedOffset, NewPartitions, OffsetSpec, PartitionReassignment, ProducerState,
    RecordsToDelete,
};
use anyhow::Result;
use serde_json::{Value, json};

use crate::{all, done, number, numbers, outcomes, partition};

pub(crate) async fn call(admin: &Admin, call: &str, arguments: &[&str]) -> Result<Option<Value>> {
    Ok(Some(match (call, arguments) {
        ("create_partitions", [topic, total]) => {
            done(admin.create_partitions([(*topic, NewPartitions::increase_to(number(total)?))]).await?)?
        }
        ("validate_partitions", [topic, total]) => {
            outcomes(admin.validate_partitions([(*topic, NewPartitions::increase_to(number(total)?))]).await?)
        }
        ("elect_leaders", [topic, index]) => {
            let partitions = [partition(topic, index)?];
            done(admin.elect_leaders(ElectionType::Preferred, Some(&partitions)).await?)?
        }
        ("alter_partition_reassignments", [topic, index, brokers]) => {
            let brokers = if *brokers == "cancel" { None } else { Some(numbers(brokers)?) };
            done(admin.alter_partition_reassignments([(partition(topic, index)?, brokers)]).await?)?
        }
        ("list_partition_reassignments", []) => {
            let moves = admin.list_partition_reassignments(None).await?;
            Value::Object(
                moves.into_iter().map(|(partition, moving)| (partition.to_string(), reassigned(moving))).collect(),
            )
        }
        ("delete_records", [topic, index, offset]) => {
            let records =
                if *offset == "all" { RecordsToDelete::All } else { RecordsToDelete::Before(number(offset)?) };
            all(admin.delete_records([(partition(topic, index)?, records)]).await, Value::from)?
        }
        ("list_offsets", [topic, index, spec, isolation]) => {
            let spec = match *spec {
                "earliest" => OffsetSpec::Earliest,
                "latest" => OffsetSpec::Latest,
                "max-timestamp" => OffsetSpec::MaxTimestamp,
                time => OffsetSpec::Timestamp(number(time)?),
            };
            let isolation = match *isolation {
                "committed" => IsolationLevel::ReadCommitted,
                _ => IsolationLevel::ReadUncommitted,
            };
            all(admin.list_offsets([(partition(topic, index)?, spec)], isolation).await, listed)?
        }
        ("describe_producers", [topic, index]) => {
            let described = admin.describe_producers([partition(topic, index)?]).await;
            all(described, |producers| producers.into_iter().map(producer).collect())?
        }
        _ => return Ok(None),
    }))
}

fn reassigned(moving: PartitionReassignment) -> Value {
    json!({ "replicas": moving.replicas, "adding": moving.adding, "removing": moving.removing })
}

fn listed(found: ListedOffset) -> Value {
    json!({ "offset": found.offset, "timestamp": found.timestamp, "leader_epoch": found.leader_epoch })
}

fn producer(producer: ProducerState) -> Value {
    json!({
        "producer_id": producer.producer_id,
        "producer_epoch": producer.producer_epoch,
        "last_sequence": producer.last_sequence,
        "coordinator_epoch": producer.coordinator_epoch,
        "transaction_start": producer.transaction_start,
    })
}
