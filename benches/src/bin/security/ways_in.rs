//! Each kind of certificate, version of TLS and mechanism of SASL.

use ackflow_benches::secure::{CREDENTIALS, PLAIN, Properties, SCRAM, SecureCluster, UNSECURED, sasl, unsigned_token};
use ackflow_client::{Admin, ClientConfig};
use ackflow_testkit::{TokenAnswer, TokenEndpoint};
use anyhow::Result;

use crate::outcome::Outcome;

const BOTH: &[&str] = &["TLSv1.2", "TLSv1.3"];

/// A way: its name, the listener, versions of TLS, and further properties.
type Way<'a> = (&'a str, &'a str, &'a [&'a str], Vec<(&'a str, &'a str)>);

/// Goes all of them.
pub(crate) async fn all(cluster: &SecureCluster) -> Result<Vec<Outcome>> {
    let endpoint = TokenEndpoint::start(|_| TokenAnswer::token(&unsigned_token(0, 3600), 3600)).await?;
    let (url, client, encrypted) = (endpoint.url(), cluster.pem("client.pem"), cluster.pem("encrypted.pem"));
    let with_url = [&sasl("OAUTHBEARER", CREDENTIALS)[..], &[("sasl.oauthbearer.token.endpoint.url", &url)]].concat();
    let of_mechanism = |mechanism, jaas| sasl(mechanism, jaas).to_vec();
    // The listener of SASL shows a certificate of RSA. Ed25519 in TLS 1.2 is beyond the default provider.
    let ways: [Way<'_>; 9] = [
        ("ECDSA", "EC", BOTH, vec![]),
        ("Ed25519", "ED", &BOTH[1..], vec![]),
        ("mTLS", "MTLS", BOTH, vec![("ssl.keystore.location", &client)]),
        (
            "mTLS, encrypted key",
            "MTLS",
            &BOTH[1..],
            vec![("ssl.keystore.location", &encrypted), ("ssl.key.password", "changeit")],
        ),
        ("RSA, PLAIN", "SASL_SSL", BOTH, of_mechanism("PLAIN", PLAIN)),
        ("RSA, SCRAM-SHA-256", "SASL_SSL", BOTH, of_mechanism("SCRAM-SHA-256", SCRAM)),
        ("RSA, SCRAM-SHA-512", "SASL_SSL", BOTH, of_mechanism("SCRAM-SHA-512", SCRAM)),
        ("RSA, OAUTHBEARER unsecured", "SASL_SSL", BOTH, of_mechanism("OAUTHBEARER", UNSECURED)),
        ("RSA, OAUTHBEARER of an endpoint", "SASL_SSL", BOTH, with_url),
    ];
    let mut outcomes = Vec::new();
    for (name, listener, versions, more) in ways {
        for version in versions {
            let properties =
                cluster.properties(listener, &[&more[..], &[("ssl.enabled.protocols", version)]].concat())?;
            let error = enter(&properties).await.err().map(|error| error.to_string());
            let faults = error.iter().cloned().collect();
            let case = format!("{name}, {version}");
            let outcome = Outcome { case, faults, error, told_ms: None, attempts: None };
            outcome.print();
            outcomes.push(outcome);
        }
    }
    Ok(outcomes)
}

/// Asks the broker something that needs all of the way in.
async fn enter(properties: &Properties) -> Result<(), ackflow_client::ClientError> {
    Admin::new(ClientConfig::from_properties(properties)?).describe_cluster().await.map(drop)
}
