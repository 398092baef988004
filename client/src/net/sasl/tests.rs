//! Authentication against brokers that refuse, lie, and let sessions end.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use ackflow_protocol::messages::metadata::{MetadataRequest, MetadataResponse};
use ackflow_protocol::messages::sasl_authenticate::{SaslAuthenticateRequest, SaslAuthenticateResponse};
use ackflow_protocol::messages::sasl_handshake::{SaslHandshakeRequest, SaslHandshakeResponse};
use ackflow_protocol::wire::{ApiKey, ErrorCode};
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};

use super::scram::{Hash, Scram};
use super::*;
use crate::config::{ClientConfig, Secret};
use crate::net::testing::{Peer, Received, Wire, all_versions};
use crate::net::{Connection, NetConfig};

const SOON: Duration = Duration::from_secs(10);

fn bob() -> Credentials {
    Credentials { username: "bob".into(), password: Secret::new("hunter2") }
}

fn config(sasl: Sasl) -> NetConfig {
    let mut config = NetConfig::default();
    config.security.sasl = Some(sasl);
    config
}

fn connect(peer: &Peer, sasl: Sasl) -> JoinHandle<Result<Connection, ClientError>> {
    let port = peer.port();
    tokio::spawn(async move { Connection::connect("127.0.0.1", port, &config(sasl)).await })
}

/// Agrees to a mechanism and takes the first message.
async fn begin(wire: &mut Wire) -> (String, Received) {
    let asked = wire.request().await;
    let mechanism = asked.decode::<SaslHandshakeRequest>().mechanism;
    wire.answer(&asked, &SaslHandshakeResponse { mechanisms: vec![mechanism.clone()], ..Default::default() }).await;
    (mechanism, wire.request().await)
}

fn message(received: &Received) -> String {
    String::from_utf8(received.decode::<SaslAuthenticateRequest>().auth_bytes.to_vec()).unwrap()
}

fn said(message: &str) -> SaslAuthenticateResponse {
    SaslAuthenticateResponse { auth_bytes: message.as_bytes().to_vec().into(), ..Default::default() }
}

fn session(lasts: i64) -> SaslAuthenticateResponse {
    SaslAuthenticateResponse { session_lifetime_ms: lasts, ..Default::default() }
}

/// Plays a whole authentication by PLAIN and the second exchange of versions.
async fn accept(peer: &Peer, lasts: i64) -> Wire {
    let mut wire = peer.accept().await;
    let (mechanism, first) = begin(&mut wire).await;
    assert_eq!((&*mechanism, &*message(&first)), ("PLAIN", "\0bob\0hunter2"));
    wire.answer(&first, &session(lasts)).await;
    wire.exchange_versions(&all_versions()).await;
    wire
}

#[tokio::test]
async fn a_connection_is_authenticated_before_anything_else_is_asked() {
    let peer = Peer::bind().await;
    let connecting = connect(&peer, Sasl::Plain(bob()));
    let mut wire = accept(&peer, 0).await;
    let connection = connecting.await.unwrap().unwrap();
    let asking = tokio::spawn(async move { connection.call(&MetadataRequest::default(), SOON).await });
    let asked = wire.request().await;
    wire.answer(&asked, &MetadataResponse::default()).await;
    asking.await.unwrap().unwrap();
}

#[tokio::test]
async fn tokens_are_asked_for_and_what_the_broker_says_of_them_is_told() {
    let peer = Peer::bind().await;
    let token = Token { extensions: BTreeMap::from([("traceId".into(), "7".into())]), ..Token::new("s3cr3t") };
    let give = move || std::future::ready(Ok::<_, TokenError>(token.clone()));
    let connecting = connect(&peer, Sasl::OAuthBearer(Tokens(Arc::new(give))));
    let mut wire = peer.accept().await;
    let (_, first) = begin(&mut wire).await;
    assert_eq!(message(&first), "n,,\x01auth=Bearer s3cr3t\x01traceId=7\x01\x01");
    let reason = format!(r#"{{"token":"s3cr3t","status":"invalid_token"}}{}"#, " ".repeat(1_000));
    wire.answer(&first, &said(&reason)).await;
    let second = wire.request().await;
    assert_eq!(message(&second), "\x01");
    let failed = SaslAuthenticateResponse {
        error_code: ErrorCode::SASL_AUTHENTICATION_FAILED,
        error_message: Some("s3cr3t\nis no token".into()),
        ..Default::default()
    };
    wire.answer(&second, &failed).await;
    let error = connecting.await.unwrap().unwrap_err();
    let text = error.to_string();
    assert_eq!(error.kind(), ErrorKind::Authentication);
    assert!(
        text.contains("invalid_token")
            && text.contains("([hidden] is no token; ")
            && text.contains("expired")
            && !text.contains("s3cr3t"),
        "{text}"
    );

    let none = || std::future::ready(Err::<Token, TokenError>("the issuer is down".into()));
    let connecting = connect(&peer, Sasl::OAuthBearer(Tokens(Arc::new(none))));
    let mut wire = peer.accept().await;
    assert!(wire.try_request().await.is_none(), "nothing is said before there is a token");
    let text = connecting.await.unwrap().unwrap_err().to_string();
    assert!(text.contains("the issuer is down"), "{text}");
}

/// An endpoint that fails is as a broker that cannot be reached; one that refuses is as a broker that refuses.
#[cfg(feature = "oidc")]
#[tokio::test]
async fn where_there_is_no_token_the_endpoint_is_named_and_calls_go_on_only_where_that_may_pass() {
    use super::oauth::{Failure, Keeper, Refresh, Source};
    let source = Source::File { path: "/no/such/token".into(), extensions: BTreeMap::new() };
    let keeper = Keeper::new(source, Refresh::default(), crate::net::Backoff::new(SOON, SOON));
    let lasting = Failure { reason: "it refuses".into(), remedy: "ask nicely".into(), passes: false };
    let refuses = move || std::future::ready(Err::<Token, TokenError>(lasting.clone().into()));
    for (tokens, kind, expected) in [
        (Tokens(Arc::new(keeper)), ErrorKind::Unreachable, "/no/such/token: it cannot be read"),
        (Tokens(Arc::new(refuses)), ErrorKind::Authentication, "there is no token: it refuses; ask nicely"),
    ] {
        let peer = Peer::bind().await;
        let connecting = connect(&peer, Sasl::OAuthBearer(tokens));
        let mut wire = peer.accept().await;
        assert!(wire.try_request().await.is_none());
        let error = connecting.await.unwrap().unwrap_err();
        assert!(error.kind() == kind && error.to_string().contains(expected), "{error:?}");
    }
}

#[tokio::test]
async fn refusals_name_the_mechanism_the_user_and_the_remedy() {
    let peer = Peer::bind().await;
    let refusals = [
        (
            ErrorCode::UNSUPPORTED_SASL_MECHANISM,
            "does not offer sasl.mechanism=PLAIN, it offers SCRAM-SHA-512,  [2J; set sasl.mechanism",
        ),
        (ErrorCode::ILLEGAL_SASL_STATE, "a listener without SASL"),
    ];
    for (error_code, expected) in refusals {
        let connecting = connect(&peer, Sasl::Plain(bob()));
        let mut wire = peer.accept().await;
        let asked = wire.request().await;
        wire.answer(
            &asked,
            &SaslHandshakeResponse { error_code, mechanisms: vec!["SCRAM-SHA-512".into(), "\u{1b}[2J".into()] },
        )
        .await;
        let error = connecting.await.unwrap().unwrap_err();
        assert_eq!((error.kind(), error.is_retriable()), (ErrorKind::Authentication, false));
        assert!(error.to_string().contains(expected), "{error}");
    }
    let connecting = connect(&peer, Sasl::Plain(bob()));
    let mut wire = peer.accept().await;
    let (_, first) = begin(&mut wire).await;
    let denied = SaslAuthenticateResponse {
        error_code: ErrorCode::SASL_AUTHENTICATION_FAILED,
        error_message: Some("Invalid username or password".into()),
        ..Default::default()
    };
    wire.answer(&first, &denied).await;
    let text = connecting.await.unwrap().unwrap_err().to_string();
    let whole = text.contains("SASL PLAIN as bob")
        && text.contains("Invalid username or password")
        && text.contains("sasl.jaas.config");
    assert!(whole && !text.contains("hunter2"), "{text}");
}

/// The server's side of SCRAM, as far as a test needs it: what it says first to a client with this nonce.
fn first_of(nonce: &str, rest: &str) -> String {
    format!("r={nonce}{rest}")
}

// Mutation: client/src/net/sasl/scram.rs
// - if !(MIN_ITERATIONS..=MAX_ITERATIONS).contains(&first.iterations) {
// + if !(1..=MAX_ITERATIONS).contains(&first.iterations) {
#[test]
fn row_65_no_work_is_done_for_what_scram_does_not_allow() {
    let salt = BASE64.encode("salt");
    let huge = "x".repeat(1 << 20);
    let cases = [
        (format!("r=other,s={salt},i=4096"), "a nonce that does not go on"),
        (first_of("abc", &format!(",s={salt},i=4096")), "a nonce that does not go on"),
        (first_of("abcd", &format!(",s={salt},i=1")), "1 iterations"),
        (first_of("abcd", &format!(",s={salt},i=4095")), "4095 iterations"),
        (first_of("abcd", &format!(",s={salt},i=2000000000")), "2000000000 iterations"),
        (format!("m=x,{}", first_of("abcd", &format!(",s={salt},i=4096"))), "SCRAM does not have"),
        (first_of("abcd", ",s=QQ=Q,i=4096"), "a salt that is no base64"),
        (first_of("abcd", &format!(",s={huge},i=4096")), "no text of SCRAM"),
        ("e=unknown-user".to_owned(), "unknown-user"),
    ];
    for (said, expected) in cases {
        let mut scram = Scram::new(Hash::Sha512, bob(), "abc".into());
        scram.first();
        let refusal = scram.next(said.as_bytes()).unwrap_err();
        assert!(refusal.reason.contains(expected), "{expected}: {}", refusal.reason);
    }
}

// Mutation: client/src/net/sasl/scram.rs
// - Ok(signature) if bool::from(signature.ct_eq(expected)) => Ok(()),
// + Ok(_) => Ok(()),
#[tokio::test]
async fn row_65_a_broker_that_does_not_prove_itself_is_left() {
    let peer = Peer::bind().await;
    let connecting = connect(&peer, Sasl::ScramSha256(bob()));
    let mut wire = peer.accept().await;
    let (mechanism, first) = begin(&mut wire).await;
    assert_eq!(mechanism, "SCRAM-SHA-256");
    let first_message = message(&first);
    let nonce = first_message.strip_prefix("n,,n=bob,r=").unwrap();
    wire.answer(&first, &said(&first_of(&format!("{nonce}more"), ",s=c2FsdA==,i=4096"))).await;
    let last = wire.request().await;
    assert!(message(&last).starts_with(&format!("c=biws,r={nonce}more,p=")), "{}", message(&last));
    wire.answer(&last, &said(&format!("v={}", BASE64.encode([0; 32])))).await;
    let text = connecting.await.unwrap().unwrap_err().to_string();
    assert!(text.contains("does not prove that it knows the password"), "{text}");
    assert!(wire.try_request().await.is_none(), "the connection is closed");
}

// Mutation: client/src/net/queue.rs
// - let ready = !state.unsent.is_empty() && !state.held;
// + let ready = !state.unsent.is_empty();
#[tokio::test]
async fn row_63_requests_wait_while_a_session_is_renewed_and_go_on_in_their_order() {
    let peer = Peer::bind().await;
    let connecting = connect(&peer, Sasl::Plain(bob()));
    let mut wire = accept(&peer, 1_000).await;
    let began = Instant::now();
    let connection = connecting.await.unwrap().unwrap();
    let ask = |name: &str| {
        let topics = vec![ackflow_protocol::messages::metadata::MetadataRequestTopic {
            name: Some(name.into()),
            ..Default::default()
        }];
        connection.start(&MetadataRequest { topics: Some(topics), ..Default::default() }, SOON).unwrap()
    };
    // One is under way the whole time, as a fetch that waits at the broker.
    let under_way = ask("a");
    let parked = wire.request().await;
    let asked = timeout(SOON, wire.request()).await.unwrap();
    assert!((600..1_000).contains(&began.elapsed().as_millis()), "{:?}", began.elapsed());
    assert_eq!(asked.header.request_api_key, ApiKey::SASL_HANDSHAKE);
    let (second, third) = (ask("b"), ask("c"));
    wire.answer(&parked, &MetadataResponse { cluster_id: Some("a".into()), ..Default::default() }).await;
    assert_eq!(under_way.await.unwrap().cluster_id.as_deref(), Some("a"));
    wire.answer(&asked, &SaslHandshakeResponse::default()).await;
    let first = wire.request().await;
    assert_eq!((first.header.request_api_key, &*message(&first)), (ApiKey::SASL_AUTHENTICATE, "\0bob\0hunter2"));
    wire.answer(&first, &session(0)).await;
    for (answer, name) in [(second, "b"), (third, "c")] {
        let asked = wire.request().await;
        assert_eq!(asked.decode::<MetadataRequest>().topics.unwrap()[0].name.as_deref(), Some(name));
        wire.answer(&asked, &MetadataResponse { cluster_id: Some(name.into()), ..Default::default() }).await;
        assert_eq!(answer.await.unwrap().cluster_id.as_deref(), Some(name));
    }
    // A lifetime of 0 is for ever.
    assert!(timeout(Duration::from_millis(300), wire.try_request()).await.is_err());
}

// Mutation: client/src/net/sasl/renewal.rs
// - Err(error) => return ClientError::new(ErrorKind::Disconnected, "authenticating again", error.to_string()),
// + Err(_) => renewal.session = (Instant::now(), None),
#[tokio::test]
async fn row_63_a_session_that_cannot_be_renewed_ends_the_connection() {
    let peer = Peer::bind().await;
    let connecting = connect(&peer, Sasl::Plain(bob()));
    let mut wire = accept(&peer, 200).await;
    let connection = connecting.await.unwrap().unwrap();
    let (_, first) = begin(&mut wire).await;
    let waiting = connection.start(&MetadataRequest::default(), SOON).unwrap();
    let failed = SaslAuthenticateResponse { error_code: ErrorCode::SASL_AUTHENTICATION_FAILED, ..Default::default() };
    wire.answer(&first, &failed).await;
    let error = timeout(SOON, waiting).await.unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotSent, "the request goes to a new connection: {error}");
    assert!(connection.is_closed() && error.to_string().contains("SASL_AUTHENTICATION_FAILED"), "{error}");
}

// Mutation: client/src/metrics/connections.rs
// - if event.authenticates {
// + if !event.authenticates {
#[tokio::test]
async fn row_63_what_is_let_in_renewed_and_refused_is_counted_by_kafkas_names() {
    let peer = Peer::bind().await;
    let mut client = ClientConfig::new(&format!("127.0.0.1:{}", peer.port())).unwrap();
    let metrics = crate::metrics::watch_admin(&mut client);
    let plain = client.net.clone();
    client.net.security.sasl = Some(Sasl::Plain(bob()));
    let port = peer.port();
    let connecting = tokio::spawn(async move { Connection::connect("127.0.0.1", port, &client.net).await });
    let mut wire = accept(&peer, 200).await;
    let connection = connecting.await.unwrap().unwrap();
    let (_, first) = begin(&mut wire).await;
    wire.answer(&first, &session(200)).await;
    let (_, first) = begin(&mut wire).await;
    let failed = SaslAuthenticateResponse { error_code: ErrorCode::SASL_AUTHENTICATION_FAILED, ..Default::default() };
    wire.answer(&first, &failed).await;
    timeout(SOON, connection.closed()).await.unwrap();
    // Those that ask for nothing have nothing to count.
    for _ in 0..2 {
        let plain = plain.clone();
        let connecting = tokio::spawn(async move { Connection::connect("127.0.0.1", port, &plain).await });
        let _wire = peer.accept().await;
        connecting.await.unwrap().unwrap();
    }
    let counted = [
        ("connection-creation-total", 3.0),
        ("successful-authentication-total", 1.0),
        ("failed-authentication-total", 0.0),
        ("successful-reauthentication-total", 1.0),
        ("failed-reauthentication-total", 1.0),
    ];
    for (name, expected) in counted {
        assert_eq!(metrics.value(name), Some(expected), "{name}");
    }
    let latency = metrics.value("reauthentication-latency-max").unwrap();
    assert!(latency > 0.0 && latency < 10_000.0, "{latency}");
    assert!(metrics.value("successful-reauthentication-rate").unwrap() > 0.0);
}

// Mutation: client/src/net/sasl/renewal.rs
// - lasts.mul_f64(part).min(lasts - spare).max(LEAST_PAUSE)
// + lasts.mul_f64(part).min(lasts - spare)
#[tokio::test]
async fn row_63_lifetimes_beyond_reason_are_borne() {
    for (lasts, asks_again) in [(1, true), (i64::MAX, false)] {
        let peer = Peer::bind().await;
        let connecting = connect(&peer, Sasl::Plain(bob()));
        let mut wire = accept(&peer, lasts).await;
        let connection = connecting.await.unwrap().unwrap();
        let began = Instant::now();
        let again = timeout(Duration::from_millis(400), wire.try_request()).await;
        assert_eq!(again.is_ok(), asks_again, "{lasts}");
        assert!(!asks_again || began.elapsed() >= Duration::from_millis(50), "not all the time");
        assert!(!connection.is_closed());
    }
}
