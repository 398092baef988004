//! ListTransactions: the transactions that the node coordinates.

use ackflow_protocol::messages::list_transactions::{
    ListTransactionsRequest, ListTransactionsResponse, TransactionState,
};
use ackflow_protocol::wire::ErrorCode;

use crate::core::Cluster;
use crate::core::dispatch::RequestContext;
use crate::core::groups::consumer::pattern::TopicPattern;
use crate::core::transactions::State;

pub(crate) fn handle(
    cluster: &mut Cluster,
    cx: &RequestContext<'_>,
    request: ListTransactionsRequest,
) -> ListTransactionsResponse {
    let pattern = request.transactional_id_pattern.filter(|pattern| !pattern.is_empty());
    let Ok(pattern) = pattern.as_deref().map(TopicPattern::new).transpose() else {
        let error_code = ErrorCode::INVALID_REGULAR_EXPRESSION;
        return ListTransactionsResponse { error_code, ..ListTransactionsResponse::default() };
    };
    let by_state = !request.state_filters.is_empty();
    let is_state = |name: &String| State::ALL.iter().any(|state| state.name() == name);
    let (states, unknown_state_filters): (Vec<String>, Vec<String>) =
        request.state_filters.into_iter().partition(is_state);
    let now_ms = cluster.clock.millis(cx.now);
    let transaction_states = cluster
        .transactions
        .iter()
        .filter(|(id, _)| cluster.transaction_coordinator(id) == Some(cx.node))
        .filter(|(id, _)| pattern.as_ref().is_none_or(|pattern| pattern.matches(id)))
        .filter(|(_, transaction)| !by_state || states.iter().any(|name| name == transaction.state.name()))
        .filter(|(_, transaction)| {
            request.producer_id_filters.is_empty() || request.producer_id_filters.contains(&transaction.producer.id)
        })
        .filter(|(_, transaction)| {
            request.duration_filter < 0 || now_ms.saturating_sub(transaction.started_ms) > request.duration_filter
        })
        .map(|(id, transaction)| TransactionState {
            transactional_id: id.clone(),
            producer_id: transaction.producer.id,
            transaction_state: transaction.state.name().to_owned(),
        })
        .collect();
    ListTransactionsResponse { unknown_state_filters, transaction_states, ..ListTransactionsResponse::default() }
}
