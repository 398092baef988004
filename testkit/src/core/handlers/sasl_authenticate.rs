//! SaslAuthenticate: a client proves who it is.

use ackflow_protocol::messages::sasl_authenticate::{SaslAuthenticateRequest, SaslAuthenticateResponse};
use ackflow_protocol::wire::ErrorCode;

use crate::core::Cluster;
use crate::core::dispatch::{Answer, RequestContext};

pub(crate) fn handle(cluster: &mut Cluster, cx: &RequestContext<'_>, request: SaslAuthenticateRequest) -> Answer {
    match cluster.authenticate(cx.now, cx.connection, &request.auth_bytes) {
        Ok(taken) => cx.reply(&SaslAuthenticateResponse {
            auth_bytes: taken.bytes,
            session_lifetime_ms: i64::try_from(taken.lifetime.as_millis()).unwrap_or(i64::MAX),
            ..SaslAuthenticateResponse::default()
        }),
        Err(refusal) => {
            let (error_code, error_message) = (refusal.code, Some(refusal.message));
            let answer = cx.reply(&SaslAuthenticateResponse {
                error_code,
                error_message,
                ..SaslAuthenticateResponse::default()
            });
            if error_code == ErrorCode::SASL_AUTHENTICATION_FAILED { answer.and_close() } else { answer }
        }
    }
}
