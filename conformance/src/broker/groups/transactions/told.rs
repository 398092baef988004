//! DescribeTransactions and ListTransactions.

use ackflow_protocol::messages::list_transactions::{ListTransactionsRequest, ListTransactionsResponse};
use ackflow_protocol::wire::ErrorCode;

use crate::broker::case::cases;
use crate::broker::lab::producer::describe;
use crate::broker::lab::{Kind, Lab, Outcome, Producer};

cases! {
    Transactions;
    an_open_transaction_is_described:
        "DescribeTransactions tells of an open transaction the state Ongoing, its producer, its timeout, when it began, and its partitions.",
        "KIP-664, DescribeTransactions";
    an_ended_transaction_is_described_without_partitions:
        "When a transaction has ended everywhere, DescribeTransactions tells CompleteCommit or CompleteAbort, and no partitions.",
        "KIP-664, DescribeTransactions";
    a_transactional_id_without_a_transaction_is_empty:
        "A transactional id that was initialised, and has had no transaction, is described as Empty.",
        "KIP-664, DescribeTransactions";
    a_transactional_id_that_nobody_knows_is_not_found:
        "DescribeTransactions of a transactional id that was never initialised is TRANSACTIONAL_ID_NOT_FOUND.",
        "KIP-664, DescribeTransactions";
    transactions_are_listed_by_state:
        "ListTransactions with states lists transactions in one of them, and tells which of the states it does not know.",
        "KIP-664, ListTransactions";
    transactions_are_listed_by_producer:
        "ListTransactions with producer ids lists the transactions of these alone.",
        "KIP-664, ListTransactions";
    transactions_are_listed_by_age:
        "ListTransactions with a duration lists only what has been open for longer.",
        "KIP-994, ListTransactions v1";
    transactions_are_listed_by_pattern:
        "ListTransactions with a pattern lists transactional ids that match it as a whole, and refuses what is no regular expression with INVALID_REGULAR_EXPRESSION.",
        "KIP-1152, ListTransactions v2";
}

async fn an_open_transaction_is_described(lab: &Lab) -> Outcome {
    let topic = lab.topic(2).await?;
    let mut producer = lab.producer_with_timeout(45_000).await?;
    producer.write(&topic, 1, 1).await?;
    let found = producer.described().await?;
    lab.check("the error", found.error_code, ErrorCode::NONE)?;
    lab.check("the state", found.transaction_state, "Ongoing".into())?;
    let who = (found.producer_id, found.producer_epoch, found.transaction_timeout_ms);
    lab.check("producer id, epoch and timeout", who, (producer.producer_id, producer.epoch, 45_000))?;
    let began = found.transaction_start_time_ms;
    lab.check_that("when it began", began > 0, "a time", &began)?;
    let parts: Vec<_> = found.topics.into_iter().map(|topic| (topic.topic, topic.partitions)).collect();
    lab.check("its partitions", parts, vec![(topic.name, vec![1])])
}

async fn an_ended_transaction_is_described_without_partitions(lab: &Lab) -> Outcome {
    let topic = lab.topic(1).await?;
    let mut producer = lab.producer().await?;
    for (committed, state) in [(true, "CompleteCommit"), (false, "CompleteAbort")] {
        producer.write(&topic, 0, 1).await?;
        producer.end(committed).await?;
        let found = producer.described().await?;
        lab.check("the state", found.transaction_state, state.into())?;
        lab.check("its partitions", found.topics.len(), 0)?;
        let who = (found.producer_id, found.producer_epoch);
        lab.check("producer id and epoch", who, (producer.producer_id, producer.epoch))?;
    }
    Ok(())
}

async fn a_transactional_id_without_a_transaction_is_empty(lab: &Lab) -> Outcome {
    let mut producer = lab.producer().await?;
    let found = producer.described().await?;
    lab.check("the error", found.error_code, ErrorCode::NONE)?;
    lab.check("the state", found.transaction_state, "Empty".into())?;
    lab.check("the producer id", found.producer_id, producer.producer_id)
}

async fn a_transactional_id_that_nobody_knows_is_not_found(lab: &Lab) -> Outcome {
    let nobody = lab.unique("nobody");
    let mut link = lab.coordinator(Kind::Transaction, &nobody).await?;
    let found = describe(&mut link, &nobody).await?;
    lab.check("the error", found.error_code, ErrorCode::TRANSACTIONAL_ID_NOT_FOUND)
}

/// The state in which a list has the producer's transaction.
fn listed(found: &ListTransactionsResponse, producer: &Producer<'_>) -> Option<String> {
    let ours = found.transaction_states.iter().find(|state| state.transactional_id == producer.id);
    ours.map(|ours| ours.transaction_state.clone())
}

async fn transactions_are_listed_by_state(lab: &Lab) -> Outcome {
    let topic = lab.topic(1).await?;
    let mut producer = lab.producer().await?;
    producer.write(&topic, 0, 1).await?;
    for (states, wanted, unknown) in [
        (&[][..], true, &[][..]),
        (&["Ongoing"], true, &[]),
        (&["Empty", "CompleteCommit"], false, &[]),
        (&["Ongoing", "Odd"], true, &["Odd"]),
    ] {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let request = ListTransactionsRequest { state_filters: owned(states), ..Default::default() };
        let found = producer.link.call(&request).await?;
        lab.check("the error", found.error_code, ErrorCode::NONE)?;
        let got = listed(&found, &producer);
        lab.check(&format!("in the list of {states:?}"), got, wanted.then(|| "Ongoing".to_owned()))?;
        lab.check("states that are not known", found.unknown_state_filters, owned(unknown))?;
    }
    Ok(())
}

async fn transactions_are_listed_by_producer(lab: &Lab) -> Outcome {
    let mut producer = lab.producer().await?;
    let other = lab.producer().await?;
    let request = ListTransactionsRequest { producer_id_filters: vec![other.producer_id], ..Default::default() };
    let found = producer.link.call(&request).await?;
    let ids: Vec<_> = found.transaction_states.into_iter().map(|state| state.transactional_id).collect();
    // Another broker may coordinate the other one.
    let holds = ids.iter().all(|id| *id == other.id);
    lab.check_that("the list of another's producer id", holds, "nothing but what it has", &ids)?;
    let request = ListTransactionsRequest { producer_id_filters: vec![producer.producer_id], ..Default::default() };
    let found = producer.link.call(&request).await?;
    let ids: Vec<_> = found.transaction_states.into_iter().map(|state| state.transactional_id).collect();
    lab.check("the list of its own", ids, vec![producer.id])
}

async fn transactions_are_listed_by_age(lab: &Lab) -> Outcome {
    let topic = lab.topic(1).await?;
    let mut producer = lab.producer().await?;
    producer.write(&topic, 0, 1).await?;
    let old = ListTransactionsRequest { duration_filter: 600_000, ..Default::default() };
    let found = producer.link.call(&old).await?;
    lab.check("in the list of what is ten minutes old", listed(&found, &producer), None)?;
    let young = ListTransactionsRequest { duration_filter: 0, ..Default::default() };
    lab.eventually("it is in the list of what is older than 0 ms", async || {
        let found = producer.link.call(&young).await?;
        Ok(listed(&found, &producer))
    })
    .await
    .map(drop)
}

async fn transactions_are_listed_by_pattern(lab: &Lab) -> Outcome {
    let mut producer = lab.producer().await?;
    let half = producer.id[..producer.id.len() - 1].to_owned();
    for (pattern, wanted) in [(format!("{half}."), true), (half, false), (".*".into(), true)] {
        let request = ListTransactionsRequest { transactional_id_pattern: Some(pattern.clone()), ..Default::default() };
        let found = producer.link.call(&request).await?;
        let got = listed(&found, &producer).is_some();
        lab.check(&format!("whether {pattern} lists it"), got, wanted)?;
    }
    let request = ListTransactionsRequest { transactional_id_pattern: Some("(".into()), ..Default::default() };
    let refused = producer.link.call(&request).await?.error_code;
    lab.check("the error of what is no pattern", refused, ErrorCode::INVALID_REGULAR_EXPRESSION)
}
