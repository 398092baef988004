//! EndTxn: commits or aborts a transaction.

use ackflow_protocol::messages::end_txn::{EndTxnRequest, EndTxnResponse};
use ackflow_protocol::wire::ErrorCode;

use super::init_producer_id::older;
use crate::core::Cluster;
use crate::core::dispatch::RequestContext;
use crate::core::transactions::{Ended, NO_EPOCH, NO_PRODUCER, Producer};

/// Since this version each end begins another epoch (KIP-890).
const RAISES_EPOCH_SINCE: i16 = 5;
/// Since this version a producer that is fenced hears so in the word for it.
const FENCED_SINCE: i16 = 2;

pub(crate) fn handle(cluster: &mut Cluster, cx: &RequestContext<'_>, request: EndTxnRequest) -> EndTxnResponse {
    let (error_code, Producer { id, epoch }) = match end(cluster, cx, &request) {
        Ok(producer) => (ErrorCode::NONE, producer),
        Err(code) => (older(code, cx.version >= FENCED_SINCE), Producer { id: NO_PRODUCER, epoch: NO_EPOCH }),
    };
    EndTxnResponse { error_code, producer_id: id, producer_epoch: epoch, ..EndTxnResponse::default() }
}

fn end(cluster: &mut Cluster, cx: &RequestContext<'_>, request: &EndTxnRequest) -> Ended {
    let id = &request.transactional_id;
    if id.is_empty() {
        return Err(ErrorCode::INVALID_REQUEST);
    }
    cluster.check_transaction_coordinator(cx.node, id)?;
    let producer = Producer { id: request.producer_id, epoch: request.producer_epoch };
    cluster.end_transaction(cx.now, id, producer, request.committed, cx.version >= RAISES_EPOCH_SINCE)
}
