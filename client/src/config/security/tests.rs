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
    let cases: [(&[(&str, &str)], &str); 7] = [
        (&[("security.protocol", "TLS")], "security.protocol=TLS"),
        (&[sasl], "sasl.mechanism=: a value is required; use PLAIN"),
        (
            &[sasl, ("sasl.mechanism", "GSSAPI")],
            "sasl.mechanism=GSSAPI: this client does not have the mechanism; use PLAIN",
        ),
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

#[cfg(feature = "oidc")]
const OAUTH: &str = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required";

// Mutation: client/src/config/security/jaas.rs
// - match module.options.keys().find(|name| !self.has(name)) {
// + match module.options.keys().find(|_| false) {
#[test]
fn options_of_a_login_module_that_are_misspelt_are_named_and_those_of_kafka_are_taken() {
    let read = |mechanism: &str, module: &str, options: &str| {
        let jaas = format!("{module} required {options};");
        read_all(&[
            ("security.protocol", "SASL_PLAINTEXT"),
            ("sasl.mechanism", mechanism),
            ("sasl.jaas.config", &jaas),
            ("sasl.oauthbearer.token.endpoint.url", "http://127.0.0.1:1/token"),
        ])
    };
    let good = "username=bob password=hunter2";
    let client = "clientId=me clientSecret=hunter2";
    for (mechanism, module, options, expected) in [
        ("PLAIN", "PlainLoginModule", "usrname=bob password=hunter2", "has no option usrname; did you mean username?"),
        ("PLAIN", "PlainLoginModule", &format!("{good} tokenauth=true"), "has no option tokenauth; remove it"),
        ("SCRAM-SHA-256", "ScramLoginModule", "username=bob pasword=hunter2", "did you mean password?"),
        ("SCRAM-SHA-512", "ScramLoginModule", &format!("{good} tokenAuth=true"), "did you mean tokenauth?"),
        ("OAUTHBEARER", "OAuthBearerLoginModule", "clientid=me clientSecret=hunter2", "did you mean clientId?"),
        ("OAUTHBEARER", "OAuthBearerLoginModule", &format!("{client} extensoin_a=7"), "did you mean extension_a?"),
        (
            "OAUTHBEARER",
            "OAuthBearerLoginModule",
            &format!("{client} ssl.truststore.locaton=x"),
            "ssl.truststore.location?",
        ),
    ] {
        if mechanism == "OAUTHBEARER" && cfg!(not(feature = "oidc")) {
            continue;
        }
        let error = read(mechanism, module, options).unwrap_err().to_string();
        assert!(error.contains("sasl.jaas.config=[hidden]") && error.contains(expected), "{expected}: {error}");
        assert!(!error.contains("hunter2"), "{error}");
    }
    assert!(read("PLAIN", "PlainLoginModule", &format!("{good} user_alice=hunter2")).is_ok());
    assert!(read("SCRAM-SHA-512", "ScramLoginModule", &format!("{good} tokenauth=false")).is_ok());
    #[cfg(feature = "oidc")]
    for options in ["scope=a extension_traceId=1", "unsecuredLoginStringClaim_sub=a unsecuredValidatorRequiredScope=b"]
    {
        assert!(read("OAUTHBEARER", "OAuthBearerLoginModule", &format!("{client} {options}")).is_ok(), "{options}");
    }
}

// Mutation: client/src/config/security.rs
// - return Err(p.missing(JAAS, module.example()));
// + return Err(ClientError::config(JAAS, "", "a value is required", module.example()));
#[test]
fn a_key_that_is_misspelt_is_named_before_what_is_missing_without_it() {
    let sasl = ("security.protocol", "SASL_PLAINTEXT");
    let cases: [(&[(&str, &str)], &str); 3] = [
        (&[sasl, ("sasl.mechansim", "PLAIN")], "sasl.mechansim=...: no such setting; did you mean sasl.mechanism?"),
        (
            &[sasl, ("sasl.mechanism", "SCRAM-SHA-512"), ("sasl.jas.config", SCRAM)],
            "sasl.jas.config=...: no such setting; did you mean sasl.jaas.config?",
        ),
        (
            &[sasl, ("sasl.mechanism", "PLAIN"), ("sasl.jaas.confg", PLAIN)],
            "sasl.jaas.confg=...: no such setting; did you mean sasl.jaas.config?",
        ),
    ];
    for (pairs, expected) in cases {
        let error = read_all(pairs).map(|_| pairs).unwrap_err().to_string();
        assert!(error.contains(expected) && !error.contains("hunter2"), "{expected}: {error}");
    }
    for (mechanism, module) in
        [("PLAIN", "PlainLoginModule"), ("SCRAM-SHA-256", "ScramLoginModule"), ("SCRAM-SHA-512", "ScramLoginModule")]
    {
        let error = read_all(&[sasl, ("sasl.mechanism", mechanism)]).unwrap_err().to_string();
        assert!(error.contains(module) && error.ends_with(&format!("with sasl.mechanism={mechanism}")), "{error}");
    }
}

#[cfg(feature = "oidc")]
#[test]
fn kafkas_own_handler_of_logins_does_what_is_done_here_and_others_are_told_of() {
    let is_taken = |class: &str| {
        let values = BTreeMap::from([("sasl.login.callback.handler.class".to_owned(), class.to_owned())]);
        let mut properties = Properties::new(&values);
        read(&mut properties).unwrap();
        // What is not taken would be warned of, were it among the keys without effect.
        properties.finish(&[]).is_ok()
    };
    let package = "org.apache.kafka.common.security.oauthbearer";
    assert!(is_taken(&format!("{package}.OAuthBearerLoginCallbackHandler")));
    assert!(is_taken(&format!("{package}.secured.OAuthBearerLoginCallbackHandler")));
    assert!(!is_taken("com.example.OAuthBearerLoginCallbackHandler"));
}

#[cfg(feature = "tls")]
#[test]
fn a_key_that_is_encrypted_or_half_written_is_named_with_its_file() {
    let path = std::env::temp_dir().join(format!("ackflow-key-{}.pem", std::process::id()));
    let shown = path.display().to_string();
    let certificate = "-----BEGIN CERTIFICATE-----\nQUJD\n-----END CERTIFICATE-----\n";
    for (key, expected) in [
        (
            "-----BEGIN ENCRYPTED PRIVATE KEY-----\nQUJD\n-----END ENCRYPTED PRIVATE KEY-----\n",
            format!("ssl.key.password=: {shown}: the private key is encrypted; give its password"),
        ),
        (
            "-----BEGIN PRIVATE KEY-----\nQUJD\n",
            format!("={shown}: it cannot be read: its last line, -----END PRIVATE KEY-----, is missing"),
        ),
    ] {
        std::fs::write(&path, format!("{certificate}{key}")).unwrap();
        let error =
            read_all(&[("security.protocol", "SSL"), ("ssl.keystore.location", &shown)]).unwrap_err().to_string();
        assert!(error.contains(&expected), "{expected}: {error}");
    }
    std::fs::remove_file(&path).unwrap();
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
        (
            &[ssl, ("ssl.keystore.location", "/no/key.pem"), ("ssl.key.password", "hunter2")],
            "/no/key.pem: it cannot be read",
        ),
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

#[cfg(feature = "oidc")]
#[test]
fn tokens_come_from_an_endpoint_from_a_file_or_from_here() {
    let url = "sasl.oauthbearer.token.endpoint.url";
    let of_jaas = format!("{OAUTH} clientId=\"me\" clientSecret=\"hunter2\" scope=\"a\" extension_traceId=\"1\";");
    let bare = format!("{OAUTH};");
    let unsecured = format!("{OAUTH} unsecuredLoginStringClaim_sub=\"carol\";");
    let cases: [&[(&str, &str)]; 5] = [
        &[(url, "http://127.0.0.1:1/token"), ("sasl.jaas.config", &of_jaas)],
        &[
            (url, "http://127.0.0.1:1/token"),
            ("sasl.jaas.config", &bare),
            ("sasl.oauthbearer.client.credentials.client.id", "me"),
            ("sasl.oauthbearer.client.credentials.client.secret", "hunter2"),
            ("sasl.oauthbearer.scope", "a b"),
            ("sasl.oauthbearer.header.urlencode", "true"),
            ("sasl.login.connect.timeout.ms", "1000"),
            ("sasl.login.read.timeout.ms", "1000"),
            ("sasl.login.retry.backoff.ms", "10"),
            ("sasl.login.retry.backoff.max.ms", "1000"),
            ("sasl.login.refresh.window.factor", "0.5"),
            ("sasl.login.refresh.window.jitter", "0.1"),
            ("sasl.login.refresh.min.period.seconds", "1"),
            ("sasl.login.refresh.buffer.seconds", "2"),
        ],
        &[(url, "file:///etc/token.jwt")],
        &[("sasl.jaas.config", &unsecured)],
        // The module is there for Kafka's own client, which also wants a handler that is a class of Java.
        &[(url, "file:/etc/token.jwt"), ("sasl.jaas.config", &bare), ("sasl.login.callback.handler.class", "x.Y")],
    ];
    for pairs in cases {
        let pairs = [&[("security.protocol", "SASL_PLAINTEXT"), ("sasl.mechanism", "OAUTHBEARER")], pairs].concat();
        let security = read_all(&pairs).unwrap();
        assert!(matches!(security.sasl, Some(Sasl::OAuthBearer(_))) && !format!("{security:?}").contains("hunter2"));
    }
}

#[cfg(feature = "oidc")]
#[test]
fn what_gives_no_tokens_is_refused_by_name_and_without_the_secret() {
    let url = ("sasl.oauthbearer.token.endpoint.url", "http://127.0.0.1:1/token");
    let secret = ("sasl.oauthbearer.client.credentials.client.secret", "hunter2");
    let bare = format!("{OAUTH};");
    let unnamed = format!("{OAUTH} unsecuredLoginStringClaim_name=\"hunter2\";");
    let cases: [(&[(&str, &str)], &str); 9] = [
        (&[], "sasl.jaas.config=: a value is required"),
        (&[("sasl.jaas.config", &bare)], "sasl.oauthbearer.token.endpoint.url=: it is not said where tokens come from"),
        (&[("sasl.jaas.config", PLAIN)], "PlainLoginModule is no login module of sasl.mechanism=OAUTHBEARER"),
        (&[("sasl.jaas.config", &unnamed)], "unsecuredLoginStringClaim_sub is missing"),
        (&[url, secret], "client.id=: a value is required, here or as clientId in sasl.jaas.config"),
        (
            &[url, ("sasl.oauthbearer.client.credentials.client.id", "me")],
            "client.secret=: a value is required, here or as clientSecret in sasl.jaas.config",
        ),
        (
            &[("sasl.oauthbearer.token.endpoint.url", "ftp://hunter2"), secret],
            "sasl.oauthbearer.token.endpoint.url=...: not an address of HTTP; give the token endpoint's address",
        ),
        (&[url, secret, ("sasl.login.refresh.window.factor", "0.4")], "sasl.login.refresh.window.factor=0.4"),
        (&[url, secret, ("sasl.login.read.timeout.ms", "0")], "sasl.login.read.timeout.ms=0"),
    ];
    for (pairs, expected) in cases {
        let sasl = [("security.protocol", "SASL_PLAINTEXT"), ("sasl.mechanism", "OAUTHBEARER")];
        let error = read_all(&[&sasl, pairs].concat()).map(|_| pairs).unwrap_err().to_string();
        assert!(error.contains(expected) && !error.contains("hunter2"), "{expected}: {error}");
        assert!(read_all(pairs).is_ok(), "PLAINTEXT looks at none of it");
    }
}

// Mutation: client/src/config/security/oauth.rs
// - results.push(no_other_way(p));
// + results.push(no_other_way(p).or(Ok(())));
#[cfg(feature = "oidc")]
#[test]
fn what_asks_for_tokens_in_another_way_is_refused_and_not_ignored() {
    let endpoint = [
        ("security.protocol", "SASL_PLAINTEXT"),
        ("sasl.mechanism", "OAUTHBEARER"),
        ("sasl.oauthbearer.token.endpoint.url", "http://127.0.0.1:1/token"),
        ("sasl.oauthbearer.client.credentials.client.id", "me"),
        ("sasl.oauthbearer.client.credentials.client.secret", "hunter2"),
    ];
    let package = "org.apache.kafka.common.security.oauthbearer";
    let jwt_bearer = format!("{package}.JwtBearerJwtRetriever");
    for (key, value, expected) in [
        ("sasl.oauthbearer.assertion.file", "hunter2", "file=...: this client makes and sends no assertions; have the"),
        ("sasl.oauthbearer.assertion.private.key.file", "hunter2", "private.key.file=...: this client makes"),
        ("sasl.oauthbearer.assertion.private.key.passphrase", "hunter2", "private.key.passphrase=...: this client"),
        (
            "sasl.oauthbearer.jwt.retriever.class",
            &jwt_bearer,
            "JwtBearerJwtRetriever: classes of Java are not run here",
        ),
    ] {
        let error = read_all(&[&endpoint[..], &[(key, value)]].concat()).map(|_| key).unwrap_err().to_string();
        assert!(error.contains(expected) && !error.contains("hunter2"), "{expected}: {error}");
        assert!(read_all(&[(key, value)]).is_ok(), "PLAINTEXT looks at none of it");
    }
    for (key, value) in [
        ("sasl.oauthbearer.jwt.retriever.class", format!("{package}.DefaultJwtRetriever")),
        ("sasl.oauthbearer.jwt.validator.class", format!("{package}.DefaultJwtValidator")),
        ("sasl.oauthbearer.assertion.file", String::new()),
        ("sasl.oauthbearer.assertion.algorithm", "RS256".to_owned()),
    ] {
        assert!(read_all(&[&endpoint[..], &[(key, &value)]].concat()).is_ok(), "{key}");
    }
}

#[cfg(all(feature = "oidc", feature = "tls"))]
#[test]
fn an_endpoint_of_https_is_trusted_as_brokers_are_or_as_its_login_module_says() {
    let endpoint = [
        ("security.protocol", "SASL_PLAINTEXT"),
        ("sasl.mechanism", "OAUTHBEARER"),
        ("sasl.oauthbearer.token.endpoint.url", "https://127.0.0.1:1/token"),
    ];
    let of_module =
        format!("{OAUTH} clientId=\"me\" clientSecret=\"hunter2\" ssl.truststore.location=\"/no/module.pem\";");
    let plain = format!("{OAUTH} clientId=\"me\" clientSecret=\"hunter2\";");
    for (jaas, expected) in [(&of_module, "/no/module.pem"), (&plain, "/no/client.pem")] {
        let more = [("sasl.jaas.config", &**jaas), ("ssl.truststore.location", "/no/client.pem")];
        let error = read_all(&[&endpoint[..], &more].concat()).unwrap_err().to_string();
        assert!(error.contains(expected) && error.contains("it cannot be read"), "{error}");
    }
}
