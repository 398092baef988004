//! SaslHandshake: a client says by which mechanism it wants to prove itself.

use ackflow_protocol::messages::sasl_handshake::{SaslHandshakeRequest, SaslHandshakeResponse};
use ackflow_protocol::wire::ErrorCode;

use crate::core::Cluster;
use crate::core::dispatch::{Answer, RequestContext};

pub(crate) fn handle(cluster: &mut Cluster, cx: &RequestContext<'_>, request: SaslHandshakeRequest) -> Answer {
    let begun = cluster.begin_login(cx.connection, &request.mechanism);
    let enabled = cluster.sasl.iter().flat_map(|sasl| &sasl.mechanisms);
    let mechanisms = enabled.map(|mechanism| mechanism.name().to_owned()).collect();
    let error_code = begun.err().unwrap_or(ErrorCode::NONE);
    let answer = cx.reply(&SaslHandshakeResponse { error_code, mechanisms });
    if error_code == ErrorCode::UNSUPPORTED_SASL_MECHANISM { answer.and_close() } else { answer }
}
