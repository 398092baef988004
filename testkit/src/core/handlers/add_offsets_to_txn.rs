//! AddOffsetsToTxn: makes the offsets of a group part of a transaction.

use ackflow_protocol::messages::add_offsets_to_txn::{AddOffsetsToTxnRequest, AddOffsetsToTxnResponse};
use ackflow_protocol::wire::ErrorCode;

use super::init_producer_id::older;
use crate::core::Cluster;
use crate::core::dispatch::RequestContext;
use crate::core::transactions::{Part, Producer};

/// Since this version a producer that is fenced hears so in the word for it.
const FENCED_SINCE: i16 = 2;

pub(crate) fn handle(
    cluster: &mut Cluster,
    cx: &RequestContext<'_>,
    request: AddOffsetsToTxnRequest,
) -> AddOffsetsToTxnResponse {
    let error_code = match add(cluster, cx, request) {
        Ok(()) => ErrorCode::NONE,
        Err(code) => older(code, cx.version >= FENCED_SINCE),
    };
    AddOffsetsToTxnResponse { error_code, ..AddOffsetsToTxnResponse::default() }
}

fn add(cluster: &mut Cluster, cx: &RequestContext<'_>, request: AddOffsetsToTxnRequest) -> Result<(), ErrorCode> {
    if request.transactional_id.is_empty() {
        return Err(ErrorCode::INVALID_REQUEST);
    }
    cluster.check_transaction_coordinator(cx.node, &request.transactional_id)?;
    let producer = Producer { id: request.producer_id, epoch: request.producer_epoch };
    cluster.add_to_transaction(cx.now, &request.transactional_id, producer, &[Part::Group(request.group_id)])
}
