//! Tokens by properties: made here, from an endpoint with TLS, and those that a broker refuses.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ackflow_client::admin::NewTopic;
use ackflow_client::share::{OwnedShareConsumer, ShareConsumerConfig};
use ackflow_client::{Admin, ClientConfig, ErrorKind};
use ackflow_testkit::{TokenAnswer, TokenEndpoint};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::TlsAcceptor;

use crate::{enter, pem, properties};

const MODULE: &str = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required";

/// A token that nobody has signed, which the broker's default takes from `began` to `ends`, in seconds from now.
fn token(began: i64, ends: i64) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() as i64;
    let claims = format!(r#"{{"sub":"carol","iat":{},"exp":{}}}"#, now + began, now + ends);
    format!("eyJhbGciOiJub25lIn0.{}.", URL_SAFE_NO_PAD.encode(claims))
}

fn server_tls() -> TlsAcceptor {
    let text = std::fs::read(pem("rsa.pem")).unwrap();
    let chain = CertificateDer::pem_slice_iter(&text).collect::<Result<Vec<_>, _>>().unwrap();
    let key = PrivateKeyDer::from_pem_slice(&text).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(rustls_graviola::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .unwrap();
    TlsAcceptor::from(Arc::new(config))
}

#[tokio::test]
#[ignore = "needs a broker: cargo xtask kafka --secure"]
async fn real_kafka_tokens_that_nobody_signed_let_their_client_in() {
    let jaas = format!("{MODULE} unsecuredLoginStringClaim_sub=\"carol\";");
    for name in ["SASL_PLAINTEXT", "SASL_SSL"] {
        let properties = properties(name, &[("sasl.mechanism", "OAUTHBEARER"), ("sasl.jaas.config", &jaas)]);
        enter(&properties).await.unwrap_or_else(|error| panic!("{name}: {error}"));
    }
}

#[tokio::test]
#[ignore = "needs a broker: cargo xtask kafka --secure"]
async fn real_kafka_tokens_of_an_endpoint_with_tls_let_their_client_in() {
    let acceptor = server_tls();
    let answer = |_| TokenAnswer::token(&token(0, 3600), 3600);
    let endpoint = TokenEndpoint::start_on(answer, move |stream| acceptor.accept(stream)).await.unwrap();
    let url = format!("https://localhost:{}/token", endpoint.port());
    let jaas = format!("{MODULE} clientId=\"me\" clientSecret=\"my-secret\";");
    let strangers = pem("stranger-ca.pem");
    let with = |more: &[(&str, &str)]| {
        let tokens = [
            ("sasl.mechanism", "OAUTHBEARER"),
            ("sasl.jaas.config", &*jaas),
            ("sasl.oauthbearer.token.endpoint.url", &*url),
        ];
        properties("SASL_PLAINTEXT", &[&tokens, more].concat())
    };
    let config = ClientConfig::from_properties(&with(&[])).unwrap();
    for _ in 0..3 {
        Admin::new(config.clone()).describe_cluster().await.unwrap();
    }
    assert_eq!(endpoint.asked().len(), 1, "clients of one configuration share a token");
    let error = enter(&with(&[("ssl.truststore.location", &strangers)])).await.unwrap_err();
    let text = error.to_string();
    assert_eq!(error.kind(), ErrorKind::Authentication);
    for expected in [&url, "UnknownIssuer", "ssl.truststore.location"] {
        assert!(text.contains(expected) && !text.contains("my-secret"), "{expected}: {text}");
    }
}

#[tokio::test]
#[ignore = "needs a broker: cargo xtask kafka --secure"]
async fn real_kafka_a_token_that_has_expired_is_one_clear_error() {
    let endpoint = TokenEndpoint::start(|_| TokenAnswer::token(&token(-3600, -60), 3600)).await.unwrap();
    let (url, jaas) = (endpoint.url(), format!("{MODULE} clientId=\"me\" clientSecret=\"my-secret\";"));
    let tokens = [
        ("sasl.mechanism", "OAUTHBEARER"),
        ("sasl.jaas.config", &*jaas),
        ("sasl.oauthbearer.token.endpoint.url", &*url),
    ];
    let text = enter(&properties("SASL_SSL", &tokens)).await.unwrap_err().to_string();
    assert!(text.contains("invalid_token") && text.contains("has not expired"), "{text}");
    assert!(!text.contains("eyJ") && !text.contains("my-secret"), "{text}");
}

/// Sessions last as long as their tokens, 4 s, and go on with the next one.
#[tokio::test]
#[ignore = "needs a broker: cargo xtask kafka --secure"]
async fn real_kafka_row_64_sessions_go_on_with_tokens_that_are_replaced_though_the_endpoint_fails_now_and_then() {
    let answer = |before| match before % 2 {
        0 => TokenAnswer::token(&token(0, 4), 4),
        _ => TokenAnswer::new(500, "not now"),
    };
    let endpoint = TokenEndpoint::start(answer).await.unwrap();
    let (url, jaas) = (endpoint.url(), format!("{MODULE} clientId=\"me\" clientSecret=\"my-secret\";"));
    let tokens = [
        ("sasl.mechanism", "OAUTHBEARER"),
        ("sasl.jaas.config", &*jaas),
        ("sasl.oauthbearer.token.endpoint.url", &*url),
        ("group.id", "tokens-that-are-replaced"),
    ];
    let config = ShareConsumerConfig::from_properties(&properties("SASL_PLAINTEXT", &tokens)).unwrap();
    let admin = Admin::new(config.client.clone());
    for created in admin.create_topics([NewTopic::new("nothing-comes", 1)]).await.unwrap().into_values() {
        created.unwrap();
    }
    let mut consumer = OwnedShareConsumer::new(config).unwrap();
    consumer.subscribe(["nothing-comes"]).unwrap();
    assert!(consumer.poll(Duration::from_millis(500)).await.unwrap().is_none());
    // Nobody asks it for anything while two tokens end.
    tokio::time::sleep(Duration::from_secs(9)).await;
    assert!(endpoint.asked().len() >= 4, "{} questions", endpoint.asked().len());
    assert!(consumer.poll(Duration::from_secs(2)).await.unwrap().is_none());
    consumer.close(Duration::from_secs(5)).await.unwrap();
}
