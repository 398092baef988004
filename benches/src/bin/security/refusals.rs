//! What does not fit: told once and clearly to an admin client, a producer and a share consumer, and tried again with pauses or not at all.

use std::time::{Duration, Instant};

use ackflow_benches::secure::{CREDENTIALS, PLAIN, Properties, SCRAM, SecureCluster, sasl, unsigned_token};
use ackflow_client::share::{OwnedShareConsumer, ShareConsumerConfig};
use ackflow_client::{Admin, ClientConfig, ClientError, Producer, ProducerConfig, ProducerRecord};
use ackflow_testkit::{TokenAnswer, TokenEndpoint};
use anyhow::Result;
use tokio::task::JoinSet;

use crate::outcome::{Outcome, faults_of};
use crate::proxy::Proxy;

/// How long a share consumer is watched that is refused.
pub(crate) const WATCHED: Duration = Duration::from_secs(5);
/// The most connections in that time, for which pauses double from 50 ms to 1 s.
const MOST_ATTEMPTS: usize = 25;
/// When an error has to be told at the latest. Three clients each of many cases share the machine.
const SOON: Duration = Duration::from_secs(6);

/// A case: its name, the listener, further properties, and what its error has to say.
type Case<'a> = (&'a str, &'a str, Vec<(&'a str, &'a str)>, &'a [&'a str]);

/// Tries all of them.
pub(crate) async fn all(cluster: &SecureCluster) -> Result<Vec<Outcome>> {
    let expired = TokenEndpoint::start(|_| TokenAnswer::token(&unsigned_token(-3600, -60), 3600)).await?;
    let denied = r#"{"error":"invalid_client","error_description":"client-secret-of-me is wrong"}"#;
    let denying = TokenEndpoint::start(move |_| TokenAnswer::new(401, denied)).await?;
    let (expired_url, denying_url) = (expired.url(), denying.url());
    let [stranger, strangers, encrypted] =
        ["stranger.pem", "stranger-ca.pem", "encrypted.pem"].map(|name| cluster.pem(name));
    let (plain, scram) = (PLAIN.replace("bob-secret", "bobs-secret"), SCRAM.replace("alice-secret", "bobs-secret"));
    let tokens =
        |url| [&sasl("OAUTHBEARER", CREDENTIALS)[..], &[("sasl.oauthbearer.token.endpoint.url", url)]].concat();
    let denied_says = [&*denying_url, "401", "invalid_client", "check client id, secret and scope"];
    let passwords: &[&str] = &["SASL_AUTHENTICATION_FAILED", "check user and password in sasl.jaas.config"];
    let cases: Vec<Case<'_>> = vec![
        (
            "a certificate of an unknown authority",
            "EC",
            vec![("ssl.truststore.location", &strangers)],
            &["UnknownIssuer", "add the certificate of the authority"],
        ),
        ("a certificate for another name", "OTHER", vec![], &["other.example.com", "subjectAltName"]),
        ("an expired certificate", "EXPIRED", vec![], &["xpired", "renew the broker's certificate"]),
        ("no certificate of the client", "MTLS", vec![], &["TLS: received fatal alert", "ssl.keystore.location"]),
        (
            "a client's certificate of an unknown authority",
            "MTLS",
            vec![("ssl.keystore.location", &stranger)],
            &["TLS: received fatal alert", "that the broker trusts"],
        ),
        (
            "a wrong password of a key",
            "MTLS",
            vec![("ssl.keystore.location", &encrypted), ("ssl.key.password", "changeme")],
            &["ssl.key.password=[hidden]", "give the key's own password"],
        ),
        ("a wrong password, PLAIN", "SASL_SSL", sasl("PLAIN", &plain).to_vec(), passwords),
        ("a wrong password, SCRAM-SHA-256", "SASL_SSL", sasl("SCRAM-SHA-256", &scram).to_vec(), passwords),
        ("a wrong password, SCRAM-SHA-512", "SASL_SSL", sasl("SCRAM-SHA-512", &scram).to_vec(), passwords),
        ("an expired token", "SASL_SSL", tokens(&expired_url), &["invalid_token", "has not expired"]),
        ("a wrong secret at the token endpoint", "SASL_SSL", tokens(&denying_url), &denied_says),
    ];
    let mut running = JoinSet::new();
    for (name, listener, more, expected) in cases {
        let properties = cluster.properties(listener, &more)?;
        let expected: Vec<String> = expected.iter().map(|part| (*part).to_owned()).collect();
        running.spawn(one(name.to_owned(), properties, expected));
    }
    let mut outcomes = Vec::new();
    while let Some(outcome) = running.join_next().await {
        let outcome = outcome??;
        outcome.print();
        outcomes.push(outcome);
    }
    // Three clients of it, whose pauses double from 100 ms to 10 s.
    let asked = denying.asked().len();
    if let Some(outcome) = outcomes.iter_mut().find(|outcome| outcome.case.contains("token endpoint"))
        && !(1..=MOST_ATTEMPTS).contains(&asked)
    {
        outcome.faults.push(format!("the endpoint is asked {asked} times"));
        outcome.print();
    }
    Ok(outcomes)
}

async fn one(case: String, mut properties: Properties, expected: Vec<String>) -> Result<Outcome> {
    let expected: Vec<&str> = expected.iter().map(String::as_str).collect();
    let proxy = Proxy::start(properties["bootstrap.servers"].clone()).await?;
    properties.insert("bootstrap.servers".into(), proxy.address());
    let (mut faults, mut told, mut last) = (Vec::new(), Duration::ZERO, None);
    for who in ["an admin client", "a producer"] {
        let began = Instant::now();
        let refused = match who {
            "a producer" => produce(&properties).await,
            _ => ask(&properties).await,
        };
        told = told.max(began.elapsed());
        match refused {
            Ok(()) => faults.push(format!("{who} is let in")),
            Err(error) => {
                faults.extend(faults_of(who, &error.to_string(), &expected));
                last = Some(error.to_string());
            }
        }
    }
    if told > SOON {
        faults.push(format!("it takes {told:?} to be told"));
    }
    let before = proxy.count();
    faults.extend(consume(properties, &expected).await);
    let attempts = proxy.count() - before;
    if attempts > MOST_ATTEMPTS {
        faults.push(format!("{attempts} connections in {WATCHED:?}"));
    }
    Ok(Outcome { case, faults, error: last, told_ms: Some(told.as_millis()), attempts: Some(attempts) })
}

async fn ask(properties: &Properties) -> Result<(), ClientError> {
    Admin::new(ClientConfig::from_properties(properties)?).describe_cluster().await.map(drop)
}

async fn produce(properties: &Properties) -> Result<(), ClientError> {
    let producer = Producer::new(ProducerConfig::from_properties(properties)?)?;
    producer.send(ProducerRecord::new("refused", "value")).await?.await.map(drop)
}

/// Polls as long as it is watched. Each poll that fails is paused after, as a program would.
async fn consume(mut properties: Properties, expected: &[&str]) -> Vec<String> {
    properties.insert("group.id".into(), "refused".into());
    let consumer = ShareConsumerConfig::from_properties(&properties).and_then(OwnedShareConsumer::new);
    let mut consumer = match consumer {
        Ok(consumer) => consumer,
        Err(error) => return faults_of("a share consumer", &error.to_string(), expected),
    };
    if let Err(error) = consumer.subscribe(["refused"]) {
        return vec![error.to_string()];
    }
    let (began, mut told, mut faults) = (Instant::now(), 0, Vec::new());
    while began.elapsed() < WATCHED {
        match consumer.poll(Duration::from_secs(1)).await {
            Ok(Some(_)) => faults.push("a share consumer is given records".to_owned()),
            Ok(None) => {}
            Err(error) => {
                told += 1;
                faults.extend(faults_of("a share consumer", &error.to_string(), expected));
            }
        }
    }
    if told == 0 {
        faults.push("a share consumer is told nothing".to_owned());
    }
    if told > MOST_ATTEMPTS {
        faults.push(format!("a share consumer is told {told} times"));
    }
    faults
}
