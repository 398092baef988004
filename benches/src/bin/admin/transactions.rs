//! Transactions.

use ackflow_client::admin::{Admin, HangingTransaction, TransactionDescription, TransactionFilter, TransactionListing};
use anyhow::Result;
use serde_json::{Value, json};

use crate::{all, number, partition};

pub(crate) async fn call(admin: &Admin, call: &str, arguments: &[&str]) -> Result<Option<Value>> {
    Ok(Some(match (call, arguments) {
        ("list_transactions", states) => {
            let states = states.iter().map(|state| (*state).to_owned()).collect();
            let listed = admin.list_transactions(&TransactionFilter { states, ..TransactionFilter::default() }).await?;
            Value::Object(listed.into_iter().map(listing).collect())
        }
        ("describe_transactions", [id]) => all(admin.describe_transactions([*id]).await, described)?,
        ("abort_transaction", [topic, index, producer_id, producer_epoch, coordinator_epoch]) => {
            let transaction = HangingTransaction {
                partition: partition(topic, index)?,
                producer_id: number(producer_id)?,
                producer_epoch: number(producer_epoch)?,
                coordinator_epoch: number(coordinator_epoch)?,
            };
            admin.abort_transaction(&transaction).await?;
            true.into()
        }
        _ => return Ok(None),
    }))
}

fn listing(transaction: TransactionListing) -> (String, Value) {
    let TransactionListing { transactional_id, producer_id, state, coordinator } = transaction;
    (transactional_id, json!({ "producer_id": producer_id, "state": state, "coordinator": coordinator }))
}

fn described(transaction: TransactionDescription) -> Value {
    json!({
        "coordinator": transaction.coordinator,
        "state": transaction.state,
        "producer_id": transaction.producer_id,
        "producer_epoch": transaction.producer_epoch,
        "timeout_ms": transaction.timeout.as_millis() as u64,
        "started": transaction.started,
        "partitions": transaction.partitions.iter().map(ToString::to_string).collect::<Vec<_>>(),
    })
}
