//! Listeners with TLS and SASL beside the plain one of a broker.

mod certificates;

use std::path::Path;

pub(super) use certificates::make as make_certificates;

/// A listener of its own.
pub(super) struct Listener {
    pub(super) name: &'static str,
    protocol: &'static str,
    /// The certificate that it shows.
    certificate: Option<&'static str>,
    /// Further settings, which go after `listener.name.<name>.`.
    settings: &'static [(&'static str, &'static str)],
}

/// All of them. Sessions of SHORT last 3 s; MTLS asks for a certificate; that of EXPIRED has expired, that of OTHER names another host.
pub(super) const LISTENERS: [Listener; 8] = [
    listener("SASL_PLAINTEXT", "SASL_PLAINTEXT", None),
    listener("SASL_SSL", "SASL_SSL", Some("rsa")),
    Listener { settings: SHORT, ..listener("SHORT", "SASL_SSL", Some("rsa")) },
    listener("EC", "SSL", Some("ec")),
    listener("ED", "SSL", Some("ed")),
    Listener { settings: &[("ssl.client.auth", "required")], ..listener("MTLS", "SSL", Some("rsa")) },
    listener("EXPIRED", "SSL", Some("expired")),
    listener("OTHER", "SSL", Some("other")),
];

const fn listener(name: &'static str, protocol: &'static str, certificate: Option<&'static str>) -> Listener {
    Listener { name, protocol, certificate, settings: &[] }
}

const SHORT: &[(&str, &str)] = &[
    ("plain.connections.max.reauth.ms", "3000"),
    ("scram-sha-256.connections.max.reauth.ms", "3000"),
    ("scram-sha-512.connections.max.reauth.ms", "3000"),
    ("oauthbearer.connections.max.reauth.ms", "3000"),
];

/// Who may come by SCRAM, as `StorageTool format --add-scram` takes it.
pub(super) const SCRAM_USERS: [&str; 2] =
    ["SCRAM-SHA-256=[name=alice,password=alice-secret]", "SCRAM-SHA-512=[name=alice,password=alice-secret]"];

/// Each mechanism with its login module; tokens are those that nobody has signed.
const MECHANISMS: [(&str, &str); 4] = [
    ("plain", "plain.PlainLoginModule required user_bob=\"bob-secret\";"),
    ("scram-sha-256", "scram.ScramLoginModule required;"),
    ("scram-sha-512", "scram.ScramLoginModule required;"),
    ("oauthbearer", "oauthbearer.OAuthBearerLoginModule required;"),
];

/// Where a node's listeners are, for `listeners` and `advertised.listeners`.
pub(super) fn addresses(ports: &[u16]) -> String {
    let addresses =
        LISTENERS.iter().zip(ports).map(|(listener, port)| format!(",{}://127.0.0.1:{port}", listener.name));
    addresses.collect()
}

/// What the listeners need beyond their addresses.
pub(super) fn properties(certificates: &Path) -> String {
    let protocols: String = LISTENERS.iter().map(|l| format!(",{}:{}", l.name, l.protocol)).collect();
    let mut lines = vec![
        format!("listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT{protocols}"),
        "sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER".to_owned(),
        "ssl.truststore.type=PEM".to_owned(),
        format!("ssl.truststore.location={}", certificates.join("ca.pem").display()),
    ];
    for Listener { name, protocol, certificate, settings } in &LISTENERS {
        let mut set =
            |key: &str, value: &str| lines.push(format!("listener.name.{}.{key}={value}", name.to_lowercase()));
        if let Some(certificate) = certificate {
            // Kafka reads no private key of Ed25519 out of PEM.
            set("ssl.keystore.type", "PKCS12");
            set("ssl.keystore.location", &certificates.join(format!("{certificate}.p12")).display().to_string());
            set("ssl.keystore.password", certificates::PASSWORD);
            set("ssl.key.password", certificates::PASSWORD);
        }
        if protocol.starts_with("SASL") {
            for (mechanism, module) in MECHANISMS {
                set(&format!("{mechanism}.sasl.jaas.config"), &format!("org.apache.kafka.common.security.{module}"));
            }
        }
        settings.iter().for_each(|(key, value)| set(key, value));
    }
    lines.join("\n") + "\n"
}
