//! What cannot be done, and how it is said.

use std::fs::OpenOptions;
use std::process::{Command, Stdio};

use crate::{ACKFLOW, embedded, failure, records, text, with_stdin};

/// Words that cannot be understood, and what is said of them. The exit code is 2, and no broker is asked.
#[tokio::test(flavor = "multi_thread")]
async fn words_that_mean_nothing_are_refused_before_a_broker_is_asked() {
    for (words, expected) in [
        ("groups describe", "<GROUP|--group <GROUP>|--all-groups>"),
        ("groups describe g --all-groups", "cannot be used with"),
        ("groups configs g --group h", "cannot be used with"),
        ("groups list --type queue", "possible values: share, consumer, classic, streams"),
        ("groups list --state asleep", "use one of Assigning"),
        ("groups offsets g --to-earliest", "<--topic <TOPIC[:0,1,..]>|--all-topics|--from-file <FILE>>"),
        ("groups offsets g --all-topics", "--to-earliest|--to-latest"),
        ("groups offsets g --all-topics --to-earliest --to-latest", "cannot be used with"),
        ("groups offsets g --all-topics --to-earliest --dry-run --execute", "cannot be used with"),
        ("groups offsets g --from-file f --to-latest", "cannot be used with"),
        ("groups offsets g --from-file f --topic t", "cannot be used with"),
        ("groups offsets g --all-topics --to-latest --export --json", "cannot be used with"),
        (
            "groups offsets g --all-topics --to-offset -5",
            "'-5' for '--to-offset <OFFSET>': give a whole number from 0 to",
        ),
        ("groups offsets g --all-topics --to-offset x", "'x'"),
        ("groups offsets g --all-topics --shift-by x", "'x' for '--shift-by <RECORDS>': give a whole number from -"),
        ("groups offsets g --all-topics --to-datetime -1", "2026-11-30T12:00:00.000"),
        ("groups offsets g --all-topics --by-duration -PT1S", "PT30M"),
        ("groups offsets g --all-topics --to-datetime yesterday", "2026-11-30T12:00:00.000"),
        ("groups offsets g --all-topics --to-datetime 2026-02-30T00:00:00", "2026-11-30T12:00:00.000"),
        ("groups offsets g --all-topics --by-duration 1h30", "PT30M"),
        ("groups offsets g --topic t:x --to-latest", "x names no partitions"),
        ("groups offsets g --topic :1 --to-latest", "expected TOPIC"),
        ("groups delete-offsets g", "--topic"),
        ("groups configs g --set share.isolation.level", "KEY=VALUE"),
        ("groups configs g --add-config a=1,b", "KEY=VALUE"),
        ("topics create t --partitions 0", "'0'"),
        ("topics create t --partitions many", "'many'"),
        (
            "topics create t --replication-factor -1",
            "'-1' for '--replication-factor <COUNT>': give a whole number from 1 to",
        ),
        ("topics partitions t --partitions -3", "'-3' for '--partitions <COUNT>': give a whole number from 1 to"),
        ("consume --topic t --max-messages -1", "'-1' for '--max-messages <COUNT>': give a whole number from 0 to"),
        ("consume --topic t --timeout-ms -1", "'-1' for '--timeout-ms <MS>': give a whole number from 0 to"),
        ("perf share-consume --topic t --num-records -1", "'-1' for '--num-records <COUNT>': give a whole number from"),
        ("groups configs g --set a=1 --unset a", "--set a (or --add-config) and --unset a (or --delete-config)"),
        ("topics configs t --add-config b=1,a=1 --delete-config c,a", "--set a (or --add-config) and --unset a"),
        ("topics configs t --set a=1 --add-config a=2", "--set a (or --add-config) gives two values"),
        ("topics create t --replica-assignment 1:2,3", "same number of brokers"),
        ("topics create t --replica-assignment 1 --partitions 1", "cannot be used with"),
        ("topics create t --config retention.ms", "KEY=VALUE"),
        ("topics create", "<TOPIC|--topic <TOPIC>>"),
        ("topics partitions t", "--partitions"),
        ("topics offsets t --time now", "milliseconds"),
        ("topics offsets t:2-1", "2-1 names no partitions"),
        ("topics describe --topics-with-overrides --unavailable-partitions", "cannot be used with"),
    ] {
        // Nobody listens there; who asked would wait for longer than this test.
        let output = with_stdin(&format!("{words} --bootstrap-server 127.0.0.1:1"), "").await;
        let stderr = failure(2, &output);
        assert!(stderr.contains(expected), "{words}: {stderr}");
    }
    let stderr = failure(2, &with_stdin("groups list", "").await);
    assert!(stderr.contains("--bootstrap-server"), "{stderr}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_cluster_does_not_have_is_named() {
    let (_broker, site) = embedded().await;
    site.produce("t", &records(1)).await;
    site.consume("t", "g", 1).await;
    for (words, expected) in [
        ("groups describe gone", "there is no group gone; `ackflow groups list`"),
        ("groups offsets gone --topic t --to-earliest", "--type share or --type consumer creates it"),
        ("groups offsets g --type consumer --topic t --to-earliest", "group g is a share group; leave --type out"),
        ("groups offsets g --topic t --shift-by -1", "--shift-by: group g is a share group"),
        ("groups offsets g --topic gone --to-offset 1", "gone"),
        ("groups offsets g --topic t:7 --to-offset 1", "topic t has no partition 7; it has 2"),
        ("groups offsets g --from-file no/such/file", "cannot read --from-file no/such/file"),
        ("groups offsets g --from-file Cargo.toml", "--from-file Cargo.toml: line 1"),
        (
            "groups offsets g --from-file /dev/zero",
            "cannot read --from-file /dev/zero: it is longer than 67108864 bytes",
        ),
        ("groups delete-offsets gone --topic t", "there is no group gone"),
        ("groups delete-offsets g --topic t:1", "forgets whole topics; use --topic t"),
        ("groups configs g --set share.islation.level=read_committed", "did you mean share.isolation.level?"),
        ("groups configs g --set share.isolation.level=none", "share.isolation.level"),
        ("topics describe gone", "topic gone"),
        ("topics create t", "TOPIC_ALREADY_EXISTS"),
        ("topics create a/b", "a/b"),
        ("topics create big --replication-factor 3", "INVALID_REPLICATION_FACTOR"),
        ("topics delete gone", "deleting topic gone"),
        ("topics partitions t --partitions 2", "--partitions 2: topic t has 2 partitions; give more"),
        ("topics partitions gone --partitions 2", "topic gone"),
        ("topics configs gone --all", "topic gone"),
        ("topics offsets gone", "topic gone"),
        ("topics offsets t:2", "topic t has no partition 2"),
    ] {
        let stderr = site.error(words).await;
        assert!(stderr.contains(expected), "{words}: {stderr}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn unreachable_broker_is_told_once_with_its_address() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    for words in ["groups list", "topics offsets t", "topics create t"] {
        let stderr = failure(1, &with_stdin(&format!("{words} --bootstrap-server {free}"), "").await);
        assert_eq!(stderr.matches("Connection refused").count(), 1, "{stderr}");
        assert!(stderr.contains(&free), "{stderr}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_with_json_that_could_do_nothing_says_so_in_json() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let impatient = "--command-property bootstrap.resolve.timeout.ms=1";
    let everything = [
        "groups list",
        "groups configs g",
        "groups offsets g --from-file no/such/file",
        "topics describe --command-config no/such/file",
        "topics partitions t --partitions 2",
        "perf share-consume --topic t --num-records 1 --command-property no.such=1",
    ];
    for words in everything {
        let output = with_stdin(&format!("{words} --json --bootstrap-server {free} {impatient}"), "").await;
        let stderr = failure(1, &output);
        let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let error = json["errors"][0].as_str().unwrap();
        assert_eq!(stderr, format!("ackflow: {error}\n"), "{words}");
        assert_eq!(json, serde_json::json!({ "errors": [error] }), "{words}");
    }
    assert!(with_stdin(&format!("groups list --bootstrap-server {free} {impatient}"), "").await.stdout.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn file_of_properties_is_kafkas_and_keeps_its_secrets() {
    let (_broker, site) = embedded().await;
    let dir = tempfile::TempDir::new().unwrap();
    let file = dir.path().join("client.properties");
    let shown = file.display();
    let words = format!("topics list --command-config {shown}");
    // What consumers and producers have beside it means nothing here, as in Kafka's own tools.
    std::fs::write(&file, "request.timeout.ms=5000\nenable.auto.commit=false\nacks=all\ngroup.id=g\nretries=3\n")
        .unwrap();
    assert_eq!(site.table(&words).await, "TOPIC\nt\n");

    let jaas =
        "org.apache.kafka.common.security.plain.PlainLoginModule required username=\"bob\" password=\"hunter-2\";";
    for (properties, expected) in [
        ("request.timeout.ms=soon", "request.timeout.ms=soon"),
        ("request.timeout=5000", "did you mean request.timeout.ms?"),
        ("client.id=a\n\nnovalue\n", "client.properties, line 3: reading the configuration: novalue=: no such setting"),
        ("\u{feff}request.timeout.ms=soon", "client.properties, line 1: reading the configuration: request.timeout.ms"),
        ("security.protocol=TLS", "security.protocol=TLS"),
        ("a=\\u00g0", "client.properties"),
        (&format!("sasl.jaas.confg={jaas}"), "did you mean sasl.jaas.config?"),
        (
            &format!("security.protocol=SASL_PLAINTEXT\nsasl.mechanism=GSSAPI\nsasl.jaas.config={jaas}"),
            "sasl.mechanism=GSSAPI",
        ),
        (&format!("security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\nsasl.jaas.config={jaas}"), &site.servers),
    ] {
        std::fs::write(&file, properties).unwrap();
        let stderr = site.error(&words).await;
        assert!(stderr.contains(expected), "{properties}: {stderr}");
        assert!(!stderr.contains("hunter-2"), "{stderr}");
    }
    std::fs::write(&file, "\u{feff}request.timeout.ms=5000\n").unwrap();
    assert_eq!(site.table(&words).await, "TOPIC\nt\n");
    // What the command line says stands in no line of the file.
    let stderr = site.error(&format!("{words} --command-property request.timeout.ms=soon")).await;
    assert!(stderr.contains("request.timeout.ms=soon") && !stderr.contains("line"), "{stderr}");
    let endless = site.error("topics list --command-config /dev/zero").await;
    assert!(endless.contains("--command-config /dev/zero: it is longer than 16777216 bytes"), "{endless}");
    let missing = site.error("topics list --command-config no/such/file").await;
    assert!(missing.contains("--command-config no/such/file"), "{missing}");
}

#[tokio::test(flavor = "multi_thread")]
async fn reader_that_has_gone_is_no_error_and_a_full_disk_is() {
    let (_broker, site) = embedded().await;
    let mut command = Command::new(ACKFLOW);
    command
        .args(["topics", "describe", "--bootstrap-server", &site.servers])
        .stdin(Stdio::null())
        .stderr(Stdio::piped());
    let run = |mut command: Command| {
        tokio::task::spawn_blocking(move || command.spawn().unwrap().wait_with_output().unwrap())
    };
    let (reader, closed) = std::io::pipe().unwrap();
    drop(reader);
    command.stdout(closed);
    let output = run(command).await.unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{}", text(&output.stderr));

    let mut command = Command::new(ACKFLOW);
    command
        .args(["groups", "list", "--json", "--bootstrap-server", &site.servers])
        .stdin(Stdio::null())
        .stderr(Stdio::piped());
    command.stdout(OpenOptions::new().write(true).open("/dev/full").unwrap());
    let stderr = failure(1, &run(command).await.unwrap());
    assert!(stderr.contains("cannot write to stdout: No space left on device"), "{stderr}");
}
