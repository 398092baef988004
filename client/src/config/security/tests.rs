use std::collections::BTreeMap;

use super::*;
use crate::config::ClientConfig;

fn read_all(pairs: &[(&str, &str)]) -> Result<Security, ClientError> {
    let mut values: BTreeMap<String, String> = BTreeMap::from([("bootstrap.servers".to_owned(), "a:1".to_owned())]);
    values.extend(pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())));
    ClientConfig::from_properties(&values).map(|config| config.net.security)
}

const PLAIN: &str =
    "org.apache.kafka.common.security.plain.PlainLoginModule required username=\"bob\" password=\"hunter2\";";
const SCRAM: &str =
    "org.apache.kafka.common.security.scram.ScramLoginModule required username=\"bob\" password=\"hunter2\";";

#[test]
fn credentials_come_out_of_jaas() {
    let expected = Credentials { username: "bob".into(), password: Secret::new("hunter2") };
    for (mechanism, jaas, sasl) in [
        ("PLAIN", PLAIN, Sasl::Plain(expected.clone())),
        ("SCRAM-SHA-256", SCRAM, Sasl::ScramSha256(expected.clone())),
        ("SCRAM-SHA-512", SCRAM, Sasl::ScramSha512(expected.clone())),
    ] {
        let pairs =
            [("security.protocol", "SASL_PLAINTEXT"), ("sasl.mechanism", mechanism), ("sasl.jaas.config", jaas)];
        assert_eq!(read_all(&pairs).unwrap().sasl, Some(sasl));
    }
    let unused = [("sasl.jaas.config", "nonsense"), ("sasl.mechanism", "GSSAPI"), ("sasl.login.class", "x")];
    assert_eq!(read_all(&unused).unwrap(), Security::default(), "PLAINTEXT looks at none of it");
}

#[test]
fn what_cannot_work_is_refused_by_name_and_without_the_secret() {
    let sasl = ("security.protocol", "sasl_plaintext");
    let cases: [(&[(&str, &str)], &str); 6] = [
        (&[("security.protocol", "TLS")], "security.protocol=TLS"),
        (&[sasl], "sasl.mechanism=GSSAPI: this client does not have the mechanism; use PLAIN"),
        (&[sasl, ("sasl.mechanism", "PLAIN")], "sasl.jaas.config=: a value is required"),
        (
            &[sasl, ("sasl.mechanism", "PLAIN"), ("sasl.jaas.config", SCRAM)],
            "ScramLoginModule is no login module of sasl.mechanism=PLAIN",
        ),
        (
            &[sasl, ("sasl.mechanism", "PLAIN"), ("sasl.jaas.config", &PLAIN[..PLAIN.len() - 1])],
            "; at the end is expected",
        ),
        (
            &[sasl, ("sasl.mechanism", "PLAIN"), ("sasl.jaas.config", "PlainLoginModule required password=hunter2;")],
            "username is missing",
        ),
    ];
    for (pairs, expected) in cases {
        let error = read_all(pairs).map(|_| pairs).unwrap_err().to_string();
        assert!(error.contains(expected) && !error.contains("hunter2"), "{expected}: {error}");
    }
    let pairs = [sasl, ("sasl.mechanism", "PLAIN"), ("sasl.jaas.config", PLAIN)];
    assert!(!format!("{:?}", read_all(&pairs).unwrap()).contains("hunter2"));
}

#[cfg(feature = "tls")]
#[test]
fn stores_of_java_and_contradictions_are_refused() {
    let ssl = ("security.protocol", "SSL");
    let cases: [(&[(&str, &str)], &str); 8] = [
        (
            &[ssl, ("ssl.truststore.location", "/no/such.pem")],
            "ssl.truststore.location=/no/such.pem: it cannot be read",
        ),
        (&[ssl, ("ssl.truststore.type", "JKS"), ("ssl.truststore.location", "/a.jks")], "ssl.truststore.type=JKS"),
        (
            &[ssl, ("ssl.truststore.location", "/a.pem"), ("ssl.truststore.password", "hunter2")],
            "ssl.truststore.password=[hidden]",
        ),
        (&[ssl, ("ssl.key.password", "hunter2")], "ssl.key.password=[hidden]"),
        (&[ssl, ("ssl.keystore.key", "hunter2")], "ssl.keystore.certificate.chain=: a value is required"),
        (&[ssl, ("ssl.enabled.protocols", "TLSv1.1")], "ssl.enabled.protocols=TLSv1.1"),
        (&[ssl, ("ssl.truststore.certificates", "hunter2")], "there is no certificate in it"),
        (&[ssl, ("ssl.endpoint.identification.algorithm", "ldaps")], "use https"),
    ];
    for (pairs, expected) in cases {
        let error = read_all(pairs).map(|_| pairs).unwrap_err().to_string();
        assert!(error.contains(expected) && !error.contains("hunter2"), "{expected}: {error}");
    }
}
