//! InitProducerId, for idempotent producers. There are no transactions.

use ackflow_protocol::messages::init_producer_id::{InitProducerIdRequest, InitProducerIdResponse};
use ackflow_protocol::wire::ErrorCode;

use crate::core::Cluster;
use crate::core::dispatch::RequestContext;

pub(crate) fn handle(
    cluster: &mut Cluster,
    _: &RequestContext<'_>,
    request: InitProducerIdRequest,
) -> InitProducerIdResponse {
    if request.transactional_id.is_some() {
        return InitProducerIdResponse {
            error_code: ErrorCode::INVALID_REQUEST,
            producer_epoch: -1,
            ..InitProducerIdResponse::default()
        };
    }
    let producer_id = cluster.next_producer_id;
    cluster.next_producer_id += 1;
    InitProducerIdResponse { producer_id, producer_epoch: 0, ..InitProducerIdResponse::default() }
}
