//! InitProducerId, for idempotent and transactional producers.

use ackflow_protocol::messages::init_producer_id::{InitProducerIdRequest, InitProducerIdResponse};
use ackflow_protocol::wire::ErrorCode;

use crate::core::Cluster;
use crate::core::dispatch::RequestContext;
use crate::core::transactions::{Init, Initialized, NO_EPOCH, NO_PRODUCER, Producer};

/// Since this version a producer that is fenced hears so in the word for it.
const FENCED_SINCE: i16 = 4;

pub(crate) fn handle(
    cluster: &mut Cluster,
    cx: &RequestContext<'_>,
    request: InitProducerIdRequest,
) -> InitProducerIdResponse {
    match init(cluster, cx, &request) {
        Ok(Producer { id, epoch }) => {
            InitProducerIdResponse { producer_id: id, producer_epoch: epoch, ..InitProducerIdResponse::default() }
        }
        Err(error_code) => InitProducerIdResponse {
            error_code: older(error_code, cx.version >= FENCED_SINCE),
            producer_id: NO_PRODUCER,
            producer_epoch: NO_EPOCH,
            ..InitProducerIdResponse::default()
        },
    }
}

fn init(cluster: &mut Cluster, cx: &RequestContext<'_>, request: &InitProducerIdRequest) -> Initialized {
    let expected = match (request.producer_id, request.producer_epoch) {
        (NO_PRODUCER, NO_EPOCH) => None,
        (NO_PRODUCER, _) | (_, NO_EPOCH) => return Err(ErrorCode::INVALID_REQUEST),
        (id, epoch) => Some(Producer { id, epoch }),
    };
    let Some(id) = request.transactional_id.as_deref() else {
        return Ok(Producer { id: cluster.transactions.new_producer_id(), epoch: 0 });
    };
    if id.is_empty() {
        return Err(ErrorCode::INVALID_REQUEST);
    }
    cluster.check_transaction_coordinator(cx.node, id)?;
    let longest = i32::try_from(cluster.config.int("transaction.max.timeout.ms")).unwrap_or(i32::MAX);
    if !(1..=longest).contains(&request.transaction_timeout_ms) {
        return Err(ErrorCode::INVALID_TRANSACTION_TIMEOUT);
    }
    cluster.init_producer(cx.now, id, Init { timeout_ms: request.transaction_timeout_ms, expected })
}

/// What clients hear that may not know the word PRODUCER_FENCED.
pub(crate) fn older(code: ErrorCode, knows_fenced: bool) -> ErrorCode {
    if code == ErrorCode::PRODUCER_FENCED && !knows_fenced { ErrorCode::INVALID_PRODUCER_EPOCH } else { code }
}
