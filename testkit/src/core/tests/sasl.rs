//! Clients that prove who they are. That PLAIN and SCRAM work is seen with a client (client/tests/clients), and with Kafka's.

use std::time::Duration;

use ackflow_protocol::messages::api_versions::ApiVersionsRequest;
use ackflow_protocol::messages::describe_cluster::DescribeClusterRequest;
use ackflow_protocol::messages::sasl_authenticate::{SaslAuthenticateRequest, SaslAuthenticateResponse};
use ackflow_protocol::messages::sasl_handshake::{SaslHandshakeRequest, SaslHandshakeResponse};
use ackflow_protocol::wire::ErrorCode;
use bytes::Bytes;

use super::rig::{Rig, decode};
use crate::core::Answer;

const USERS: &[(&str, &str)] = &[("bob", "secret"), ("eve", "secret too")];

fn handshake(mechanism: &str) -> SaslHandshakeRequest {
    SaslHandshakeRequest { mechanism: mechanism.to_owned() }
}

fn token(token: &'static [u8]) -> SaslAuthenticateRequest {
    SaslAuthenticateRequest { auth_bytes: Bytes::from_static(token) }
}

fn is_closed(answer: &Answer) -> bool {
    matches!(answer, Answer::Close(_))
}

/// What is said before the connection is closed.
fn last_words(answer: Answer) -> SaslAuthenticateResponse {
    match answer {
        Answer::Cut(frame) => decode::<SaslAuthenticateRequest>(frame, 2),
        other => panic!("{other:?}"),
    }
}

// Mutation: testkit/src/core/dispatch.rs
// - return Answer::Close(reason);
// + let _ = reason;
#[test]
fn nothing_is_told_to_a_client_that_has_not_proved_who_it_is() {
    let mut rig = Rig::with_users(USERS, &[]);
    assert_eq!(rig.call(1, &ApiVersionsRequest::default()).error_code, ErrorCode::INVALID_REQUEST, "but answered");
    assert!(is_closed(&rig.send(1, 1, &DescribeClusterRequest::default())));

    rig.call(2, &handshake("PLAIN"));
    assert!(is_closed(&rig.send(2, 1, &DescribeClusterRequest::default())));

    assert_eq!(rig.call(3, &handshake("PLAIN")).error_code, ErrorCode::NONE);
    let taken = rig.call(3, &token(b"\0bob\0secret"));
    assert_eq!((taken.error_code, taken.session_lifetime_ms), (ErrorCode::NONE, 0));
    assert_eq!(rig.call(3, &DescribeClusterRequest::default()).brokers.len(), 1);
}

#[test]
fn a_mechanism_that_is_not_enabled_is_refused_with_those_that_are() {
    let mut rig = Rig::with_users(USERS, &[("sasl.enabled.mechanisms", "PLAIN,SCRAM-SHA-512")]);
    let Answer::Cut(frame) = rig.send(1, 1, &handshake("SCRAM-SHA-256")) else { panic!("the connection goes on") };
    let refused: SaslHandshakeResponse = decode::<SaslHandshakeRequest>(frame, 1);
    assert_eq!(refused.error_code, ErrorCode::UNSUPPORTED_SASL_MECHANISM);
    assert_eq!(refused.mechanisms, ["PLAIN", "SCRAM-SHA-512"]);
}

// Mutation: testkit/src/core/sasl/plain.rs
// - if !users.has(user, password) {
// + if false {
#[test]
fn a_wrong_password_is_told_as_kafka_tells_it_and_ends_the_connection() {
    for (sent, message) in [
        (&b"\0bob\0guess"[..], "Authentication failed: Invalid username or password"),
        (b"\0nobody\0secret", "Authentication failed: Invalid username or password"),
        (b"\0\0secret", "Authentication failed: username not specified"),
        (b"\0bob\0", "Authentication failed: password not specified"),
        (b"bob", "Authentication failed: Invalid SASL/PLAIN response: expected 3 tokens"),
        (
            b"eve\0bob\0secret",
            "Authentication failed: Client requested an authorization id that is different from username",
        ),
    ] {
        let mut rig = Rig::with_users(USERS, &[]);
        rig.call(1, &handshake("PLAIN"));
        let refused = last_words(rig.send(1, 2, &token(sent)));
        assert_eq!(refused.error_code, ErrorCode::SASL_AUTHENTICATION_FAILED);
        assert_eq!(refused.error_message.as_deref(), Some(message));
    }
}

#[test]
fn scram_wants_a_user_that_there_is_and_a_proof_of_the_password() {
    let mut rig = Rig::with_users(USERS, &[]);
    let message =
        "Authentication failed during authentication due to invalid credentials with SASL mechanism SCRAM-SHA-256";
    rig.call(1, &handshake("SCRAM-SHA-256"));
    let refused = last_words(rig.send(1, 2, &token(b"n,,n=nobody,r=abc")));
    assert_eq!(refused.error_message.as_deref(), Some(message));

    rig.call(2, &handshake("SCRAM-SHA-256"));
    let challenge = rig.call(2, &token(b"n,,n=bob,r=abc"));
    let challenge = String::from_utf8(challenge.auth_bytes.to_vec()).unwrap();
    assert!(challenge.starts_with("r=abc") && challenge.ends_with(",i=4096"), "{challenge}");
    let nonce = challenge[2..].split(',').next().unwrap();
    let guess = SaslAuthenticateRequest { auth_bytes: format!("c=biws,r={nonce},p=Z3Vlc3M=").into() };
    assert_eq!(last_words(rig.send(2, 2, &guess)).error_message.as_deref(), Some(message));
}

// Mutation: testkit/src/core/sasl/mod.rs
// - Some(Session { until: Some(until), .. }) if *until <= now && !is_of_login => {
// + Some(Session { until: Some(until), .. }) if *until > now && *until <= now && !is_of_login => {
#[test]
fn a_session_ends_unless_the_client_proves_itself_again_as_the_same_user() {
    let mut rig = Rig::with_users(USERS, &[("connections.max.reauth.ms", "3000")]);
    rig.call(1, &handshake("PLAIN"));
    assert_eq!(rig.call(1, &token(b"\0bob\0secret")).session_lifetime_ms, 3000);
    rig.advance(Duration::from_millis(2999));
    rig.call(1, &DescribeClusterRequest::default());
    assert_eq!(rig.call(1, &handshake("PLAIN")).error_code, ErrorCode::NONE);
    rig.call(1, &token(b"\0bob\0secret"));
    rig.advance(Duration::from_millis(2999));
    rig.call(1, &DescribeClusterRequest::default());
    rig.advance(Duration::from_millis(1));
    assert!(is_closed(&rig.send(1, 1, &DescribeClusterRequest::default())));

    rig.call(2, &handshake("PLAIN"));
    rig.call(2, &token(b"\0bob\0secret"));
    rig.call(2, &handshake("PLAIN"));
    let refused = last_words(rig.send(2, 2, &token(b"\0eve\0secret too")));
    let message = "Cannot change principals during re-authentication from User.bob: User.eve";
    assert_eq!(refused.error_message.as_deref(), Some(message));
}

#[test]
fn sasl_out_of_turn_is_refused_and_the_connection_goes_on() {
    let mut rig = Rig::new();
    assert_eq!(rig.call(1, &handshake("PLAIN")).error_code, ErrorCode::ILLEGAL_SASL_STATE);
    assert_eq!(rig.call(1, &token(b"\0bob\0secret")).error_code, ErrorCode::ILLEGAL_SASL_STATE);
    rig.call(1, &DescribeClusterRequest::default());

    let mut rig = Rig::with_users(USERS, &[]);
    assert_eq!(rig.call(1, &token(b"\0bob\0secret")).error_code, ErrorCode::ILLEGAL_SASL_STATE);
    rig.call(1, &handshake("PLAIN"));
    rig.call(1, &token(b"\0bob\0secret"));
    assert_eq!(rig.call(1, &handshake("PLAIN")).error_code, ErrorCode::ILLEGAL_SASL_STATE, "sessions last for ever");
    assert_eq!(rig.call(1, &token(b"\0bob\0secret")).error_code, ErrorCode::ILLEGAL_SASL_STATE);
}
